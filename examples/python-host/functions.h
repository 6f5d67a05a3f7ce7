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

/* The number of a code object or of a C function, which the caller keeps alive. May emit `Function`,
 * and so let go of the GIL. 0 if memory ran out. */
uint64_t functions_of_code(PyCodeObject *code);
uint64_t functions_of_builtin(PyObject *builtin);

/* A source of rundown: emits every function again. Any thread, also while new functions appear. */
void functions_rundown(void *context, const struct weir_rundown *rundown);

#endif
