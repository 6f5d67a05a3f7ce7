/* The extension module `weir._weir`: the provider, the hooks for the GIL, and sessions. The package's
 * `__init__.py` has what users call. */
#include "functions.h"
#include "instruments.h"
#include "provider.h"

#include <weir/session.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

WEIR_PROVIDER_DEFINE(Python, PYTHON_EVENTS)

/* ---- The GIL, around the waits of the library. ----------------------------------------------- */

static _Thread_local PyThreadState *parked; /* this thread, while it has let go of the GIL */

/* PyGILState_Check() would say yes on every thread once there has been a sub-interpreter. */
static bool has_gil(void)
{
    PyThreadState *thread = PyGILState_GetThisThreadState();
    return thread != NULL && thread == _PyThreadState_UncheckedGet();
}

static void before_wait(void *context)
{
    (void)context;
    parked = has_gil() ? PyEval_SaveThread() : NULL;
}

static void after_wait(void *context)
{
    (void)context;
    if (parked != NULL)
        PyEval_RestoreThread(parked);
    parked = NULL;
}

/* ---- Sessions. ------------------------------------------------------------------------------- */

/* Of a capsule. In a list, for the child of a fork. */
struct session {
    struct weir_session *weir;
    PyObject *sink;    /* NULL: a file */
    PyObject *failure; /* what the sink has raised; NULL: nothing */
    struct session *next;
};

static struct session *sessions;

static void keep_failure(struct session *session)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL)
        PyException_SetTraceback(value, traceback);
    Py_XSETREF(session->failure, value);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
}

/* The sink of a session with a Python function. On the drain thread. */
static bool write_to_sink(void *context, const void *bytes, size_t count)
{
    struct session *session = context;
    if (!Py_IsInitialized() || _Py_IsFinalizing())
        return false;
    PyGILState_STATE state = PyGILState_Ensure();
    instruments_exempt_thread();
    PyObject *result = PyObject_CallFunction(session->sink, "y#", bytes, (Py_ssize_t)count);
    bool taken = result != NULL;
    if (!taken)
        keep_failure(session);
    Py_XDECREF(result);
    PyGILState_Release(state);
    return taken;
}

/* Returns NULL with the exception; `cause` may be NULL. */
static PyObject *raise(enum weir_result result, const struct weir_error *error, PyObject *cause)
{
    bool is_argument = result == WEIR_BAD_ARGUMENT || result == WEIR_NOT_FOUND;
    PyObject *type = is_argument ? PyExc_ValueError : PyExc_RuntimeError;
    if (cause == NULL) {
        PyErr_SetString(type, error->text);
        return NULL;
    }
    PyErr_Format(type, "%s: the sink raised %R", error->text, cause);
    PyObject *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyException_SetCause(value, Py_NewRef(cause));
    PyErr_Restore(type, value, traceback);
    return NULL;
}

/* What a destroy cannot free, because the drain is stuck in the sink, stays for good. */
static void session_free(struct session *session)
{
    if (weir_session_destroy(session->weir) != WEIR_OK)
        return;
    struct session **link = &sessions;
    while (*link != session)
        link = &(*link)->next;
    *link = session->next;
    Py_XDECREF(session->sink);
    Py_XDECREF(session->failure);
    free(session);
}

static void capsule_free(PyObject *capsule)
{
    session_free(PyCapsule_GetPointer(capsule, NULL));
}

static bool mode_of(const char *name, enum weir_mode *mode)
{
    static const char *const names[] = {[WEIR_MODE_DROP] = "drop",
                                        [WEIR_MODE_BLOCK] = "block",
                                        [WEIR_MODE_OVERWRITE] = "overwrite"};
    for (unsigned int i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0) {
            *mode = (enum weir_mode)i;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "mode is '%s'; it may be drop, block or overwrite", name);
    return false;
}

static PyObject *session_start(const struct weir_session_config *config, PyObject *sink)
{
    struct weir_error error = {""};
    struct session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return PyErr_NoMemory();
    struct weir_session_config own = *config;
    if (sink != Py_None) {
        own.sink.write = write_to_sink;
        own.sink.context = session;
        session->sink = Py_NewRef(sink);
    }
    session->next = sessions;
    sessions = session;
    enum weir_result result = weir_session_create(&own, &session->weir, &error);
    if (result == WEIR_OK)
        result = weir_session_start(session->weir, &error);
    PyObject *capsule = result == WEIR_OK ? PyCapsule_New(session, NULL, capsule_free)
                                          : raise(result, &error, session->failure);
    if (capsule == NULL)
        session_free(session);
    return capsule;
}

static PyObject *start(PyObject *module, PyObject *arguments)
{
    (void)module;
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    PyObject *file, *path = NULL, *sink, *capsule = NULL;
    const char *mode;
    unsigned long long budget, max_block_ms;
    if (!PyArg_ParseTuple(arguments, "OOssKIK", &file, &sink, &config.providers, &mode, &budget,
                          &config.segment_bytes, &max_block_ms) ||
        !mode_of(mode, &config.mode) || (file != Py_None && !PyUnicode_FSConverter(file, &path)))
        return NULL;
    config.sink.file = path != NULL ? PyBytes_AS_STRING(path) : NULL;
    config.budget_bytes = budget;
    config.max_block_ns = max_block_ms * 1000000;
    config.stop_serves_waiting =
        config.mode == WEIR_MODE_BLOCK; /* which then loses nothing in the end either */
    capsule = session_start(&config, sink);
    Py_XDECREF(path);
    return capsule;
}

/* In the child of a fork, the session is its parent's, and there is nothing to stop. */
static PyObject *stop(PyObject *module, PyObject *capsule)
{
    (void)module;
    struct session *session = PyCapsule_GetPointer(capsule, NULL);
    if (session == NULL)
        return NULL;
    struct weir_error error = {""};
    enum weir_result result =
        session->weir != NULL ? weir_session_stop(session->weir, &error) : WEIR_OK;
    if (result != WEIR_OK)
        return raise(result, &error, session->failure);
    Py_RETURN_NONE;
}

static PyObject *stats(PyObject *module, PyObject *capsule)
{
    (void)module;
    struct session *session = PyCapsule_GetPointer(capsule, NULL);
    struct weir_stats stats = WEIR_STATS_INIT;
    if (session == NULL)
        return NULL;
    if (session->weir == NULL || weir_session_stats(session->weir, &stats) != WEIR_OK)
        Py_RETURN_NONE;
    unsigned long long lost = stats.counts.attempted - stats.counts.written;
    return Py_BuildValue("{sKsKsKsK}", "attempted", stats.counts.attempted, "written",
                         stats.counts.written, "lost", lost, "parks", stats.parks);
}

/* ---- The ends. ------------------------------------------------------------------------------- */

enum { SESSIONS_MAX = 128 };

/* All sessions, also those of the environment, while there is still an interpreter. Returns what went
 * wrong, a line each. */
static PyObject *stop_all(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    static struct weir_session_info infos[SESSIONS_MAX];
    struct weir_session_table table = WEIR_SESSION_TABLE_INIT;
    struct weir_error error = {""};
    table.sessions = infos;
    table.sessions_max = SESSIONS_MAX;
    PyObject *lines = PyList_New(0);
    if (lines == NULL || weir_session_list(&table) != WEIR_OK)
        return lines;
    for (uint32_t i = 0; i < table.session_count && i < SESSIONS_MAX; i++) {
        enum weir_result result = weir_session_stop_id(infos[i].session_id, &error);
        PyObject *line = result != WEIR_OK && result != WEIR_NOT_FOUND
                             ? PyUnicode_FromFormat("%s: %s", infos[i].name, error.text)
                             : NULL;
        if (line != NULL)
            (void)PyList_Append(lines, line);
        Py_XDECREF(line);
    }
    return lines;
}

/* Events are off in the child of a fork, and the library has no thread there. */
static PyObject *after_fork(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    for (struct session *session = sessions; session != NULL; session = session->next) {
        (void)weir_session_destroy(session->weir);
        session->weir = NULL;
    }
    instruments_update();
    Py_RETURN_NONE;
}

/* ---- The module. ----------------------------------------------------------------------------- */

/* On any thread, also on one that Python does not know. */
static void on_change(void *context, bool enabled, uint8_t level, uint64_t keywords)
{
    (void)context;
    (void)enabled;
    (void)level;
    (void)keywords;
    if (!Py_IsInitialized() || _Py_IsFinalizing())
        return;
    PyGILState_STATE state = PyGILState_Ensure();
    instruments_update();
    PyGILState_Release(state);
}

static bool weir_init(void)
{
    struct weir_park_hooks hooks = WEIR_PARK_HOOKS_INIT;
    struct weir_provider *provider;
    struct weir_error error = {""};
    hooks.before = before_wait;
    hooks.after = after_wait;
    enum weir_result result = weir_park_hooks_set(&hooks);
    if (result == WEIR_OK)
        result = weir_provider_register(&weir_provider_Python, on_change, NULL, &provider, &error);
    if (result == WEIR_OK)
        result = weir_rundown_register(provider, functions_rundown, NULL, &error);
    if (result != WEIR_OK)
        raise(result, &error, NULL);
    return result == WEIR_OK;
}

/* Profile functions, the numbers of code objects and the list of threads are of one interpreter. */
static int execute(PyObject *module)
{
    static bool is_done;
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError,
                        "weir traces the main interpreter, and cannot be imported in another one");
        return -1;
    }
    if (is_done) {
        PyErr_SetString(PyExc_ImportError,
                        "weir._weir is loaded already, and cannot be loaded twice");
        return -1;
    }
    is_done = instruments_init(module) && weir_init();
    return is_done ? 0 : -1;
}

static PyMethodDef methods[] = {
    {"start", start, METH_VARARGS, NULL},
    {"stop", stop, METH_O, NULL},
    {"stats", stats, METH_O, NULL},
    {"stop_all", stop_all, METH_NOARGS, NULL},
    {"after_fork", after_fork, METH_NOARGS, NULL},
    {"begin_thread", instruments_begin_thread, METH_VARARGS, NULL},
    {"collect", instruments_collect, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_weir",
                                        .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit__weir(void);

PyMODINIT_FUNC PyInit__weir(void)
{
    return PyModuleDef_Init(&definition);
}
