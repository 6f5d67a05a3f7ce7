/* The sessions that the library owns, because a text has described them. */
#include "session/configure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "os/os.h"

static struct weir_session *configured; /* LOCK(registry): started or being started, in no order */

static bool is_inherited(const struct weir_session *session)
{
    return session->generation != wr_process_generation();
}

WR_COLD static bool is_any(const struct weir_session *session, const void *unused)
{
    (void)unused;
    return !is_inherited(session);
}

WR_COLD static bool is_this(const struct weir_session *session, const void *this)
{
    return session == this;
}

/* Somebody has stopped it by its id. */
WR_COLD static bool is_closed(const struct weir_session *session, const void *unused)
{
    (void)unused;
    return !is_inherited(session) && wr_session_is_stopped(session);
}

/* Takes a session out of the list, and forgets those of the parent process. Only the caller
 * may then destroy it. NULL if there is none. */
static struct weir_session *configured_take(bool (*is_wanted)(const struct weir_session *session,
                                                              const void *context),
                                            const void *context)
{
    struct weir_session *found = NULL;
    wr_registry_lock();
    for (struct weir_session **link = &configured; *link && !found;) {
        if (is_wanted(*link, context))
            found = *link;
        if (found || is_inherited(*link))
            *link = (*link)->next_configured;
        else
            link = &(*link)->next_configured;
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

/* Each session has its stop_ms_max; one that is not done by then is left as it is. The host's hooks
 * are not called: what they are for may be gone. */
WR_COLD static void stop_all(void)
{
    struct weir_session *session;
    wr_self.has_let_go = true;
    while ((session = configured_take(is_any, NULL)) != NULL) {
        struct weir_error error = {""};
        if (weir_session_stop(session, &error) != WEIR_OK)
            fprintf(stderr, "weir: at exit: session %s: %s\n", session->name, error.text);
    }
    wr_self.has_let_go = false;
}

WR_COLD static void stop_all_at_exit(void)
{
    atexit(stop_all);
}

/* One that cannot be destroyed, because its sink is stuck, stays for the exit to wait for. */
static void closed_destroy(void)
{
    struct weir_session *session, *kept = NULL, *next;
    while ((session = configured_take(is_closed, NULL)) != NULL) {
        if (weir_session_destroy(session) == WEIR_OK)
            continue;
        session->next_configured = kept;
        kept = session;
    }
    for (; kept; kept = next) {
        next = kept->next_configured;
        configured_add(kept);
    }
}

WR_COLD enum weir_result wr_described_create(struct wr_described *described,
                                             struct wr_described_list *list,
                                             struct weir_error *error)
{
    struct weir_session *session = NULL;
    described->config.sink.file = described->file;
    described->config.enables = described->entries;
    if (!described->config.name && strlen(described->file) <= WR_NAME_BYTES_MAX)
        described->config.name = described->file;
    enum weir_result result = weir_session_create(&described->config, &session, error);
    if (result != WEIR_OK)
        return result;
    session->next_configured = NULL;
    *list->last = session;
    list->last = &session->next_configured;
    return WEIR_OK;
}

/* Before it starts, it is in the list: the process may exit meanwhile. */
static enum weir_result configured_start(struct weir_session *session, struct weir_error *error)
{
    configured_add(session);
    enum weir_result result = weir_session_start(session, error);
    if (result != WEIR_OK && configured_take(is_this, session))
        (void)weir_session_destroy(session);
    return result;
}

WR_COLD enum weir_result wr_described_start(struct wr_described_list *list,
                                            enum weir_result created, struct weir_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    enum weir_result first_result = created;
    struct weir_session *session, *next;
    pthread_once(&once, stop_all_at_exit);
    closed_destroy();
    for (session = list->first; session; session = next) {
        next = session->next_configured;
        enum weir_result result = created;
        if (created == WEIR_OK)
            result = configured_start(session, first_result == WEIR_OK ? error : NULL);
        else
            (void)weir_session_destroy(session);
        if (first_result == WEIR_OK)
            first_result = result;
    }
    return first_result;
}

#ifdef WEIR_SINGLE_THREADED
WR_COLD enum weir_result wr_configured_poll(struct weir_error *error)
{
    enum weir_result first_result = WEIR_OK;
    for (struct weir_session *session = configured; session; session = session->next_configured) {
        if (is_inherited(session) || is_closed(session, NULL))
            continue;
        enum weir_result result =
            weir_session_poll(session, first_result == WEIR_OK ? error : NULL);
        if (first_result == WEIR_OK)
            first_result = result;
    }
    return first_result;
}
#endif
