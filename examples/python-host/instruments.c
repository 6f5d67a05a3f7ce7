#define Py_BUILD_CORE_MODULE 1 /* for the code of a frame, and the lock of the list of threads */
#include "instruments.h"

#include "functions.h"
#include "provider.h"

#include <internal/pycore_frame.h>
#include <internal/pycore_runtime.h>

#include <string.h>

static PyObject *begin_thread; /* the functions of the module */
static PyObject *collect;
static bool collect_is_in;
static bool begin_thread_is_in;

/* The drain thread, while it runs a sink: an event there would be counted as lost (NESTED). */
static _Thread_local bool is_exempt;

/*
 * Before 3.11.3, and Debian has 3.11.2, a generator that was resumed under a profile function, of
 * whatever kind, can crash the collector (CPython's issue 101975): the interpreter leaves the depth of
 * the generator's stack behind that it had at that moment, and a collection follows what is long gone
 * from there. A trace function makes it correct the depth at the next instruction, so there is one
 * until the next event.
 */
static int on_settled(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
    (void)object;
    (void)frame;
    (void)what;
    (void)argument;
    PyThreadState *thread = PyThreadState_Get();
    if (thread->c_tracefunc == on_settled)
        thread->c_tracefunc = NULL;
    return 0;
}

#define CO_RESUMED (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)

static void settle(const PyCodeObject *code)
{
    PyThreadState *thread = PyThreadState_Get();
    if ((code->co_flags & CO_RESUMED) != 0 && thread->c_tracefunc == NULL)
        thread->c_tracefunc = on_settled;
}

/*
 * The profile function. An emit may park its thread and let other threads run Python, so nothing
 * borrowed is used after one: an event carries a number, and what the number is taken from is kept
 * alive by the interpreter, which has called this with it, until this returns.
 */
static int on_call(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
    PyCodeObject *code = frame->f_frame->f_code;
    switch (what) {
    case PyTrace_CALL:
        WEIR_EMIT(Python, Call, functions_of_code(code));
        settle(code);
        break;
    case PyTrace_RETURN:
        WEIR_EMIT(Python, Return, functions_of_code(code));
        break;
    case PyTrace_C_CALL:
        on_settled(object, frame, what, argument);
        WEIR_EMIT(Python, Call, functions_of_builtin(argument));
        break;
    case PyTrace_C_RETURN:
    case PyTrace_C_EXCEPTION:
        WEIR_EMIT(Python, Return, functions_of_builtin(argument));
        break;
    default:
        break;
    }
    return 0;
}

/* The exception's first argument if it is a string: code of its class does not run here. A new reference. */
static PyObject *message_of(PyObject *value)
{
    PyObject *arguments =
        PyExceptionInstance_Check(value) ? ((PyBaseExceptionObject *)value)->args : NULL;
    PyObject *first = arguments != NULL && PyTuple_GET_SIZE(arguments) > 0
                          ? PyTuple_GET_ITEM(arguments, 0)
                          : NULL;
    return first != NULL && PyUnicode_CheckExact(first) ? Py_NewRef(first) : NULL;
}

/* Valid as long as the string. */
static const char *text_of(PyObject *string)
{
    const char *text = string != NULL ? PyUnicode_AsUTF8(string) : NULL;
    if (text == NULL)
        PyErr_Clear();
    return text != NULL ? text : "";
}

static void emit_exception(PyFrameObject *frame, PyObject *type, PyObject *value)
{
    PyObject *name = PyType_GetName((PyTypeObject *)type);
    PyObject *message = message_of(value);
    WEIR_EMIT(Python, Exception, functions_of_code(frame->f_frame->f_code), text_of(name),
              text_of(message));
    Py_XDECREF(message);
    Py_XDECREF(name);
}

/* The trace function. It is called in each frame that an exception reaches; in the first one, the
 * traceback has one entry. */
static int on_trace(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
    (void)object;
    if (what != PyTrace_EXCEPTION || !PYTHON_WANTS(Exception))
        return 0;
    PyObject *traceback = PyTuple_GET_ITEM(argument, 2);
    if (PyTraceBack_Check(traceback) && ((PyTracebackObject *)traceback)->tb_next == NULL)
        emit_exception(frame, PyTuple_GET_ITEM(argument, 0), PyTuple_GET_ITEM(argument, 1));
    return 0;
}

/* ---- Putting in and taking out. -------------------------------------------------------------- */

static bool calls_wanted(void)
{
    return PYTHON_WANTS(Call) || PYTHON_WANTS(Return);
}

/* A profiler or debugger of the program's stays where it is; so does on_settled(), which goes by itself, unless
 * exceptions are wanted: their function settles a generator as well. What is set is what PyEval_SetProfile()
 * and PyEval_SetTrace() set, but without their audit events, which may run Python code. */
static void update_thread(PyThreadState *thread, Py_tracefunc profile, Py_tracefunc trace)
{
    if (thread->c_profilefunc == NULL || thread->c_profilefunc == on_call)
        thread->c_profilefunc = profile;
    if (thread->c_tracefunc == NULL || thread->c_tracefunc == on_trace ||
        (thread->c_tracefunc == on_settled && trace != NULL))
        thread->c_tracefunc = trace;
    bool is_traced =
        thread->tracing == 0 && (thread->c_profilefunc != NULL || thread->c_tracefunc != NULL);
    thread->cframe->use_tracing = is_traced ? 255 : 0;
}

/*
 * With the GIL, no thread state that has run Python leaves the list. But PyGILState_Ensure() enters a
 * new one without the GIL, and before it is initialized; so the list has its own lock, under which
 * nothing here calls anything.
 */
static void update_threads(void)
{
    Py_tracefunc profile = calls_wanted() ? on_call : NULL;
    Py_tracefunc trace = PYTHON_WANTS(Exception) ? on_trace : NULL;
    PyThread_acquire_lock(_PyRuntime.interpreters.mutex, WAIT_LOCK);
    PyThreadState *thread = PyInterpreterState_ThreadHead(PyInterpreterState_Main());
    for (; thread != NULL; thread = PyThreadState_Next(thread))
        update_thread(thread, profile, trace);
    PyThread_release_lock(_PyRuntime.interpreters.mutex);
}

/* Calls a method of an attribute of a module; what goes wrong is printed. */
static void call(const char *module_name, const char *attribute, const char *method,
                 PyObject *argument)
{
    PyObject *module = PyImport_ImportModule(module_name);
    PyObject *object = module == NULL || attribute == NULL
                           ? Py_XNewRef(module)
                           : PyObject_GetAttrString(module, attribute);
    PyObject *result = object != NULL ? PyObject_CallMethod(object, method, "O", argument) : NULL;
    if (result == NULL)
        PyErr_WriteUnraisable(argument);
    Py_XDECREF(result);
    Py_XDECREF(object);
    Py_XDECREF(module);
}

void instruments_update(void)
{
    bool threads = calls_wanted() || PYTHON_WANTS(Exception);
    bool collections = PYTHON_WANTS(GCStart) || PYTHON_WANTS(GCStop);
    if (threads != begin_thread_is_in)
        call("threading", NULL, "setprofile", threads ? begin_thread : Py_None);
    if (collections != collect_is_in)
        call("gc", "callbacks", collections ? "append" : "remove", collect);
    begin_thread_is_in = threads;
    collect_is_in = collections;
    update_threads();
}

void instruments_exempt_thread(void)
{
    is_exempt = true;
    PyThreadState_EnterTracing(PyThreadState_Get());
}

static int what_of(const char *event)
{
    static const char *const names[] = {
        [PyTrace_CALL] = "call",         [PyTrace_EXCEPTION] = "exception",
        [PyTrace_LINE] = "line",         [PyTrace_RETURN] = "return",
        [PyTrace_C_CALL] = "c_call",     [PyTrace_C_EXCEPTION] = "c_exception",
        [PyTrace_C_RETURN] = "c_return",
    };
    int what = 0;
    while (what < PyTrace_C_RETURN && strcmp(names[what], event) != 0)
        what++;
    return what;
}

/* The first event of a new thread, which is not lost. */
PyObject *instruments_begin_thread(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyFrameObject *frame;
    const char *event;
    PyObject *argument;
    if (!PyArg_ParseTuple(arguments, "O!sO", &PyFrame_Type, &frame, &event, &argument))
        return NULL;
    int what = what_of(event);
    if (what == PyTrace_C_CALL && !PyCFunction_Check(argument)) {
        PyErr_SetString(PyExc_TypeError, "the function that is called must be one of C");
        return NULL;
    }
    PyEval_SetProfile(calls_wanted() ? on_call : NULL, NULL);
    if (PYTHON_WANTS(Exception) && PyThreadState_Get()->c_tracefunc == NULL)
        PyEval_SetTrace(on_trace, NULL);
    on_call(NULL, frame, what, argument);
    Py_RETURN_NONE;
}

static uint64_t number_in(PyObject *info, const char *key)
{
    PyObject *number = PyDict_GetItemString(info, key);
    return number != NULL ? PyLong_AsUnsignedLongLongMask(number) : 0;
}

PyObject *instruments_collect(PyObject *module, PyObject *arguments)
{
    (void)module;
    const char *phase;
    PyObject *info;
    if (!PyArg_ParseTuple(arguments, "sO!", &phase, &PyDict_Type, &info))
        return NULL;
    uint32_t generation = (uint32_t)number_in(info, "generation");
    if (is_exempt)
        Py_RETURN_NONE;
    if (strcmp(phase, "start") == 0)
        WEIR_EMIT(Python, GCStart, generation);
    else
        WEIR_EMIT(Python, GCStop, generation, number_in(info, "collected"),
                  number_in(info, "uncollectable"));
    Py_RETURN_NONE;
}

bool instruments_init(PyObject *module)
{
    begin_thread = PyObject_GetAttrString(module, "begin_thread");
    collect = PyObject_GetAttrString(module, "collect");
    return begin_thread != NULL && collect != NULL && functions_init();
}
