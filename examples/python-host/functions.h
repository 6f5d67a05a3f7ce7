/*
 * Gives functions small numbers.
 *
 * A code object keeps its number in its extra data, which dies with it: no reference is held, and
 * another code object at the same address begins without a number. A C function is known by its
 * PyMethodDef, which is static in nearly all modules, and by the address of its code.
 *
 * What a reader needs to know of a function is copied into memory that Python does not own, so that
 * the rundown can walk it without the GIL, also when the function is long gone. All other functions
 * here need the GIL.
 */
#ifndef PYTHON_HOST_FUNCTIONS_H
#define PYTHON_HOST_FUNCTIONS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

struct weir_rundown;

/* Once a process. False with an exception. */
bool functions_init(void);

/* Where the numbers of code objects are in their extra data. */
extern Py_ssize_t functions_extra_index;

uint64_t functions_define_code(PyCodeObject *code);

/* The number of a code object or of a C function, which the caller keeps alive. May emit `Function`,
 * and so let go of the GIL. 0 if memory ran out. */
static inline uint64_t functions_of_code(PyCodeObject *code)
{
    /* What _PyCode_GetExtra() reads, in CPython 3.11; its call costs a tenth of an event. */
    const struct {
        Py_ssize_t count;
        void *values[];
    } *extra = code->co_extra;
    void *number = extra != NULL && functions_extra_index < extra->count
                       ? extra->values[functions_extra_index]
                       : NULL;
    return number != NULL ? (uintptr_t)number : functions_define_code(code);
}
uint64_t functions_of_builtin(PyObject *builtin);

/* A source of rundown: emits every function again. Any thread, also while new functions appear. */
void functions_rundown(void *context, const struct weir_rundown *rundown);

#endif
