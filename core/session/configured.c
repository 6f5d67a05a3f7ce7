/* The sessions that the library owns, because a text has described them. */
#include "session/configure.h"

#include <stdio.h>
#include <stdlib.h>
#include "os/os.h"

static struct weir_session *configured; /* LOCK(registry): started, in no order */

/* Takes a session out of the list: any, or one that has been stopped; NULL: there is none. Sessions of
 * the parent process are only forgotten. */
static struct weir_session *configured_take(bool is_any)
{
    struct weir_session *found = NULL;
    wr_registry_lock();
    for (struct weir_session **link = &configured; *link && !found;) {
        struct weir_session *session = *link;
        bool is_inherited = session->generation != wr_process_generation();
        bool is_wanted = is_any || wr_u32_load_acquire(&session->state) == WR_SESSION_CLOSED;
        if (!is_inherited && is_wanted)
            found = session;
        if (is_inherited || is_wanted)
            *link = session->next_configured;
        else
            link = &session->next_configured;
    }
    wr_registry_unlock();
    return found;
}

static void configured_add(struct weir_session *session)
{
    wr_registry_lock();
    session->next_configured = configured;
    configured = session;
    wr_registry_unlock();
}

/* Each session has its stop_ms_max; one that is not done by then is left as it is. */
static void stop_all(void)
{
    struct weir_session *session;
    while ((session = configured_take(true)) != NULL) {
        struct weir_error error = {""};
        if (weir_session_stop(session, &error) != WEIR_OK)
            fprintf(stderr, "weir: at exit: session %s: %s\n", session->name, error.text);
        (void)weir_session_destroy(session);
    }
}

static void stop_all_at_exit(void)
{
    atexit(stop_all);
}

enum weir_result wr_described_create(struct wr_described *described, struct wr_described_list *list,
                                     struct weir_error *error)
{
    struct weir_session *session = NULL;
    described->config.sink.file = described->file;
    described->config.enables = described->entries;
    enum weir_result result = weir_session_create(&described->config, &session, error);
    if (result != WEIR_OK)
        return result;
    session->next_configured = NULL;
    *list->last = session;
    list->last = &session->next_configured;
    return WEIR_OK;
}

enum weir_result wr_described_start(struct wr_described_list *list, enum weir_result created,
                                    struct weir_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    enum weir_result first_result = created;
    struct weir_session *session, *next;
    pthread_once(&once, stop_all_at_exit);
    while ((session = configured_take(false)) != NULL) /* somebody has stopped it by its id */
        (void)weir_session_destroy(session);
    for (session = list->first; session; session = next) {
        next = session->next_configured;
        enum weir_result result = created;
        if (created == WEIR_OK)
            result = weir_session_start(session, first_result == WEIR_OK ? error : NULL);
        if (result == WEIR_OK)
            configured_add(session);
        else
            (void)weir_session_destroy(session);
        if (first_result == WEIR_OK)
            first_result = result;
    }
    return first_result;
}
