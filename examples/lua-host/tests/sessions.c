/*
 * A global `sessions` for scripts of the tests: sessions that other threads of the process control
 * while Lua runs. Linked with all of lua-host; luaL_openlibs() is wrapped by the linker.
 *
 *     id = sessions.start(file, providers)   on another thread, for which it waits
 *     sessions.stop(id)                      the same
 *     sessions.visit(file, providers, n, what)    returns at once. Another thread starts a session,
 *                                            waits until it has n events, and stops it. Then it
 *                                            interrupts Lua or exits
 *     sessions.storm(directory)              another thread starts and stops sessions, up to three
 *                                            at a time, about 100 times. Returns when one runs
 *     hook, allocator = sessions.instruments([coroutine])    are they there?
 */

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <weir/session.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void __real_luaL_openlibs(lua_State *L);
void __wrap_luaL_openlibs(lua_State *L);

enum { SESSIONS_MAX = 64, TEXT_MAX = 4096, CHANGES_MAX = 100 };

struct job {
    char file[TEXT_MAX];
    char providers[TEXT_MAX];
    bool exits;
    uint64_t events;
    struct weir_session *session;
    struct weir_error error;
    pthread_t thread;
    pthread_t lua_thread;
};

static struct job jobs[SESSIONS_MAX];
static int job_count;
static lua_Alloc plain_allocate;
static atomic_bool storm_began;
static atomic_bool storm_ends;

static bool start(struct job *job)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    config.providers = job->providers;
    config.sink.file = job->file;
    config.budget_bytes = UINT64_C(64) << 20;
    return weir_session_create(&config, &job->session, &job->error) == WEIR_OK &&
           weir_session_start(job->session, &job->error) == WEIR_OK;
}

static bool stop(struct job *job)
{
    bool whole = weir_session_stop(job->session, &job->error) == WEIR_OK;
    weir_session_destroy(job->session);
    job->session = NULL;
    return whole;
}

static void pause_ms(long ms)
{
    struct timespec time = {0, ms * 1000000};
    nanosleep(&time, NULL);
}

static void die(const struct job *job)
{
    fprintf(stderr, "sessions: %s\n", job->error.text);
    _exit(9);
}

static void *run_start(void *job)
{
    return start(job) ? job : NULL;
}

static void *run_stop(void *job)
{
    return stop(job) ? job : NULL;
}

/* Until the Lua thread has run for a while, so that it is where the script is to be interrupted. */
static void wait_until_busy(const struct job *job)
{
    clockid_t clock;
    struct timespec used;
    pthread_getcpuclockid(job->lua_thread, &clock);
    clock_gettime(clock, &used);
    long long end = used.tv_sec * 1000LL + used.tv_nsec / 1000000 + 100;
    while (clock_gettime(clock, &used) == 0 && used.tv_sec * 1000LL + used.tv_nsec / 1000000 < end)
        pause_ms(1);
}

static void *run_visit(void *context)
{
    struct job *job = context;
    struct weir_stats stats = WEIR_STATS_INIT;
    wait_until_busy(job);
    if (!start(job))
        die(job);
    while (weir_session_stats(job->session, &stats) == WEIR_OK &&
           stats.counts.written < job->events)
        pause_ms(1);
    if (!stop(job))
        die(job);
    if (job->exits)
        _exit(0);
    pthread_kill(job->lua_thread, SIGINT);
    return job;
}

static bool any_runs(const struct job *storm)
{
    return storm[0].session != NULL || storm[1].session != NULL || storm[2].session != NULL;
}

static void *run_storm(void *context)
{
    static const char *const providers[] = {"Lua:1", "Lua:6", "Lua", "Lua:0x38", "Lua:3:4"};
    struct job *storm = context;
    for (unsigned int i = 0; !storm_ends || any_runs(storm); i++) {
        struct job *job = &storm[i % 3];
        bool may_start = !storm_ends && i < CHANGES_MAX;
        snprintf(job->providers, sizeof job->providers, "%s", providers[i % 5]);
        if (job->session != NULL ? !stop(job) : may_start && !start(job))
            die(job);
        storm_began = true;
        pause_ms(i % 4);
    }
    return NULL;
}

/* The handlers of the host are for the thread that runs Lua. */
static void run(struct job *job, void *(*function)(void *job))
{
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    if (pthread_create(&job->thread, NULL, function, job) != 0)
        _exit(9);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void wait_for(lua_State *L, struct job *job)
{
    void *result;
    pthread_join(job->thread, &result);
    if (result == NULL)
        luaL_error(L, "sessions: %s", job->error.text);
}

static struct job *new_job(lua_State *L)
{
    if (job_count == SESSIONS_MAX)
        luaL_error(L, "sessions: too many");
    struct job *job = &jobs[job_count++];
    snprintf(job->file, sizeof job->file, "%s", luaL_checkstring(L, 1));
    snprintf(job->providers, sizeof job->providers, "%s", luaL_optstring(L, 2, ""));
    job->lua_thread = pthread_self();
    return job;
}

static int sessions_start(lua_State *L)
{
    struct job *job = new_job(L);
    run(job, run_start);
    wait_for(L, job);
    lua_pushinteger(L, job - jobs);
    return 1;
}

static int sessions_stop(lua_State *L)
{
    lua_Integer id = luaL_checkinteger(L, 1);
    luaL_argcheck(L, id >= 0 && id < job_count && jobs[id].session != NULL, 1, "not running");
    run(&jobs[id], run_stop);
    wait_for(L, &jobs[id]);
    return 0;
}

static int sessions_visit(lua_State *L)
{
    struct job *job = new_job(L);
    job->events = (uint64_t)luaL_checkinteger(L, 3);
    job->exits = strcmp(luaL_checkstring(L, 4), "exit") == 0;
    run(job, run_visit);
    pthread_detach(job->thread);
    return 0;
}

static struct job storm[3];

static void end_storm(void)
{
    storm_ends = true;
    pthread_join(storm[0].thread, NULL);
}

static int sessions_storm(lua_State *L)
{
    for (int i = 0; i < 3; i++)
        snprintf(storm[i].file, sizeof storm[i].file, "%s/%d.nettrace", luaL_checkstring(L, 1), i);
    run(storm, run_storm);
    while (!storm_began)
        pause_ms(1);
    atexit(end_storm);
    return 0;
}

static int sessions_instruments(lua_State *L)
{
    lua_pushboolean(L, lua_gethook(lua_isthread(L, 1) ? lua_tothread(L, 1) : L) != NULL);
    lua_pushboolean(L, lua_getallocf(L, NULL) != plain_allocate);
    return 2;
}

static int open_sessions(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"start", sessions_start},
        {"stop", sessions_stop},
        {"visit", sessions_visit},
        {"storm", sessions_storm},
        {"instruments", sessions_instruments},
        {NULL, NULL},
    };
    luaL_newlib(L, functions);
    return 1;
}

void __wrap_luaL_openlibs(lua_State *L)
{
    plain_allocate = lua_getallocf(L, NULL);
    __real_luaL_openlibs(L);
    luaL_requiref(L, "sessions", open_sessions, 1);
    lua_pop(L, 1);
}
