#include "functions.h"

#include "provider.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Appended to the list and never changed or freed: see functions.h. */
struct function {
    uint64_t id;
    char *name;
    char *file;
    const char *kind;
    int32_t line;
    struct function *_Atomic next;
};

static struct function *_Atomic first_function;
static struct function *_Atomic *last_link = &first_function;
static uint64_t function_count;

/* C functions: open addressing; an id of 0 is a free slot. */
struct builtin {
    const PyMethodDef *method;
    PyCFunction code;
    uint64_t id;
};

static struct builtin *builtins;
static size_t builtin_capacity; /* a power of two */
static size_t builtin_count;

Py_ssize_t functions_extra_index;

bool functions_init(void)
{
    functions_extra_index = _PyEval_RequestCodeExtraIndex(NULL);
    if (functions_extra_index < 0)
        PyErr_SetString(PyExc_RuntimeError, "code objects have no room for another module's data");
    return functions_extra_index >= 0;
}

/* Publishes the function: pairs with the acquire loads in functions_rundown(). NULL without memory. */
static struct function *function_append(const char *name, const char *file, int line,
                                        const char *kind)
{
    struct function *function = calloc(1, sizeof *function);
    char *name_copy = strdup(name);
    char *file_copy = strdup(file);
    if (function == NULL || name_copy == NULL || file_copy == NULL) {
        free(function);
        free(name_copy);
        free(file_copy);
        return NULL;
    }
    function->id = ++function_count;
    function->name = name_copy;
    function->file = file_copy;
    function->kind = kind;
    function->line = line;
    atomic_store_explicit(last_link, function, memory_order_release);
    last_link = &function->next;
    return function;
}

/* The last step of a definition: other threads may run Python in it, and define functions. */
static uint64_t function_tell(const struct function *function)
{
    WEIR_EMIT(Python, Function, function->id, function->name, function->file, function->line,
              function->kind);
    return function->id;
}

/* Valid as long as the string; "?" if it has no UTF-8. */
static const char *text_of(PyObject *string)
{
    const char *text = PyUnicode_AsUTF8(string);
    if (text == NULL)
        PyErr_Clear();
    return text != NULL ? text : "?";
}

uint64_t functions_define_code(PyCodeObject *code)
{
    const struct function *function = function_append(
        text_of(code->co_qualname), text_of(code->co_filename), code->co_firstlineno, "Python");
    if (function == NULL)
        return 0;
    if (_PyCode_SetExtra((PyObject *)code, functions_extra_index, (void *)(uintptr_t)function->id) <
        0)
        PyErr_Clear(); /* a new number at the next call */
    return function_tell(function);
}

/* ---- C functions. ---------------------------------------------------------------------------- */

static struct builtin *builtin_slot(const PyMethodDef *method, PyCFunction code)
{
    size_t at = (size_t)(((uintptr_t)method >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    for (at &= builtin_capacity - 1; builtins[at].id != 0; at = (at + 1) & (builtin_capacity - 1))
        if (builtins[at].method == method && builtins[at].code == code)
            break;
    return &builtins[at];
}

static bool builtins_grow(void)
{
    struct builtin *old = builtins;
    size_t old_capacity = builtin_capacity;
    size_t capacity = old_capacity != 0 ? 2 * old_capacity : 1024;
    struct builtin *table = calloc(capacity, sizeof *table);
    if (table == NULL)
        return false;
    builtins = table;
    builtin_capacity = capacity;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].id != 0)
            *builtin_slot(old[i].method, old[i].code) = old[i];
    free(old);
    return true;
}

/* The type among these bases whose table of methods has this one. Runs no Python code. */
static const PyTypeObject *type_with(const PyTypeObject *type, const PyMethodDef *method)
{
    for (; type != NULL; type = type->tp_base)
        for (const PyMethodDef *each = type->tp_methods; each != NULL && each->ml_name != NULL;
             each++)
            if (each == method)
                return type;
    return NULL;
}

/* The module, or the type that defines it; "" for builtins. Valid as long as `self`. */
static const char *owner_of(PyObject *self, const PyMethodDef *method)
{
    if (self == NULL)
        return "";
    if (PyModule_Check(self)) {
        const char *name = PyModule_GetName(self);
        if (name == NULL)
            PyErr_Clear();
        return name != NULL && strcmp(name, "builtins") != 0 ? name : "";
    }
    const PyTypeObject *type = Py_TYPE(self);
    if (PyType_Check(self) && type_with(type, method) == NULL)
        type = (PyTypeObject *)self;
    const PyTypeObject *base = type_with(type, method);
    return base != NULL ? base->tp_name : type->tp_name;
}

static uint64_t define_builtin(PyObject *builtin, const PyMethodDef *method, PyCFunction code)
{
    char name[256];
    const char *owner = owner_of(PyCFunction_GET_SELF(builtin), method);
    snprintf(name, sizeof name, "%.120s%s%.120s", owner, owner[0] != 0 ? "." : "", method->ml_name);
    if (2 * builtin_count >= builtin_capacity && !builtins_grow())
        return 0;
    const struct function *function = function_append(name, "", -1, "C");
    if (function == NULL)
        return 0;
    *builtin_slot(method, code) = (struct builtin){method, code, function->id};
    builtin_count++;
    return function_tell(function);
}

uint64_t functions_of_builtin(PyObject *builtin)
{
    const PyMethodDef *method = ((PyCFunctionObject *)builtin)->m_ml;
    PyCFunction code = method->ml_meth;
    uint64_t id = builtin_capacity != 0 ? builtin_slot(method, code)->id : 0;
    return id != 0 ? id : define_builtin(builtin, method, code);
}

/* To .NET's tools, functions are what a runtime's jitted code is to them. */
#define RUNDOWN_FUNCTIONS 0x10

void functions_rundown(void *context, const struct weir_rundown *rundown)
{
    (void)context;
    if ((rundown->keywords & RUNDOWN_FUNCTIONS) == 0)
        return;
    struct function *function = atomic_load_explicit(&first_function, memory_order_acquire);
    for (; function != NULL; function = atomic_load_explicit(&function->next, memory_order_acquire))
        Python_Function(function->id, function->name, function->file, function->line,
                        function->kind);
}
