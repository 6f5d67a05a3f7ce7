#include "trace.h"

#include "options.h"
#include "serve.h"
#include "stopper.h"

#include <weir/session.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct weir_session *session;
static const char *program_name;
static char *trace_file;

static void complain(const char *what, const char *detail)
{
    fprintf(stderr, "%s: %s: %s\n", program_name, what, detail);
}

static void on_error(void *context, enum weir_result result, const char *text)
{
    (void)context;
    complain(weir_result_text(result), text);
}

enum { SESSIONS_MAX = 64 }; /* that run at a time */

static uint32_t sessions_list(struct weir_session_info *infos)
{
    struct weir_session_table table = WEIR_SESSION_TABLE_INIT;
    table.sessions = infos;
    table.sessions_max = infos != NULL ? SESSIONS_MAX : 0;
    return weir_session_list(&table) == WEIR_OK ? table.session_count : 0;
}

/* A session that is no longer there is no failure: its owner has stopped and destroyed it, and knows
 * whether the trace is whole. */
static void stop_other(uint64_t id)
{
    struct weir_error error = {""};
    enum weir_result result = weir_session_stop_id(id, &error);
    if (result != WEIR_OK && result != WEIR_NOT_FOUND)
        complain("a trace is not whole", error.text);
}

/* All others: those of the environment, and of tools. The library would do it too, but only at the
 * very end. */
static void stop_others(void)
{
    static struct weir_session_info infos[SESSIONS_MAX];
    uint32_t count = sessions_list(infos);
    for (uint32_t i = 0; i < count && i < SESSIONS_MAX; i++)
        if (infos[i].session_id != weir_session_id(session) &&
            infos[i].state == WEIR_SESSION_RUNNING)
            stop_other(infos[i].session_id);
}

/* Runs on the stopper's thread when the process is about to die of a signal. */
static void stop_for_signal(void)
{
    struct weir_error error = {""};
    serve_end(program_name);
    if (session != NULL && weir_session_stop(session, &error) != WEIR_OK)
        complain("the trace is not whole", error.text);
    stop_others();
}

static void finish_at_exit(void)
{
    trace_finish(EXIT_SUCCESS);
}

void (*trace_fatal_handler(void))(int)
{
    return stopper_handler();
}

/* 2 if the command line asked for something impossible, 1 for any other failure. */
static int exit_status(enum weir_result result)
{
    return result == WEIR_BAD_ARGUMENT || result == WEIR_NOT_FOUND ? 2 : EXIT_FAILURE;
}

static enum weir_result create(const struct options *options, struct weir_error *error)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    config.providers = options->providers;
    config.sink.file = options->trace;
    config.budget_bytes = options->budget_bytes;
    config.on_error = on_error;
    return weir_session_create(&config, &session, error);
}

static void discard(void)
{
    weir_session_destroy(session);
    session = NULL;
}

static int session_start(const struct options *options)
{
    struct weir_error error = {{0}};
    trace_file = strdup(options->trace); /* a copy, because argv may be overwritten */
    if (trace_file == NULL) {
        complain("cannot trace", "out of memory");
        return EXIT_FAILURE;
    }
    enum weir_result result = create(options, &error);
    if (result == WEIR_OK)
        result = weir_session_start(session, &error);
    if (result != WEIR_OK) {
        complain("cannot trace", error.text);
        if (exit_status(result) == 2)
            fprintf(stderr, "Try '%s --help'.\n", program_name);
        discard();
        free(trace_file);
        return exit_status(result);
    }
    return EXIT_SUCCESS;
}

int trace_start(const struct options *options, const char *program)
{
    program_name = program;
    int status = options->trace != NULL ? session_start(options) : EXIT_SUCCESS;
    if (status == EXIT_SUCCESS && !serve_begin(options->diagnostics, program)) {
        trace_finish(EXIT_SUCCESS);
        return EXIT_FAILURE;
    }
    if (status != EXIT_SUCCESS || (sessions_list(NULL) == 0 && !serve_is_on()))
        return status;
    if (!stopper_begin(stop_for_signal) || atexit(finish_at_exit) != 0) {
        complain("cannot trace", "no thread or exit handler is available");
        trace_finish(EXIT_SUCCESS);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

static void tell_losses(void)
{
    struct weir_stats stats = WEIR_STATS_INIT;
    enum weir_result result = weir_session_stats(session, &stats);
    if (result != WEIR_OK) {
        complain("the number of lost events is unknown", weir_result_text(result));
        return;
    }
    uint64_t lost = stats.counts.attempted - stats.counts.written;
    if (lost == 0)
        return;
    fprintf(stderr, "%s: %s: %" PRIu64 " of %" PRIu64 " events lost:", program_name, trace_file,
            lost, stats.counts.attempted);
    for (int cause = 0; cause < WEIR_LOSS_COUNT; cause++)
        if (stats.counts.lost[cause] != 0)
            fprintf(stderr, " %s %" PRIu64, weir_loss_name((enum weir_loss)cause),
                    stats.counts.lost[cause]);
    fputc('\n', stderr);
}

int trace_finish(int status)
{
    struct weir_error error = {""};
    serve_end(program_name);
    enum weir_result result = session != NULL ? weir_session_stop(session, &error) : WEIR_OK;
    stop_others();
    stopper_end(); /* if a signal is being handled, the process ends in this call */
    if (session == NULL)
        return status;
    if (result != WEIR_OK)
        complain("the trace is not whole", error.text);
    tell_losses();
    discard();
    free(trace_file);
    /* A parent sees only eight bits of the status. */
    return result != WEIR_OK && (status & 0xff) == 0 ? EXIT_FAILURE : status;
}
