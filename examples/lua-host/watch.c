#include "watch.h"

#include "functions.h"
#include "provider.h"
#include "safepoint.h"

#include <pthread.h>
#include <stdio.h>

static struct weir_provider *provider;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct watch_session known[WATCH_SESSIONS_MAX];
static size_t known_count;

/* The keywords of events that a session wants and that come from an instrument. */
static uint64_t keywords_of(const struct weir_provider_change *change)
{
    uint64_t possible = 0;
    if (change->level >= WEIR_LEVEL_INFO)
        possible |= LUA_GC;
    if (change->level >= WEIR_LEVEL_VERBOSE)
        possible |= LUA_CALLS | LUA_ALLOCATION;
    return change->what != WEIR_CHANGE_DISABLED ? change->keywords & possible : 0;
}

/* The session's entry, or the one behind the last; NULL: there is none, and the table is full. */
static struct watch_session *entry_of(uint64_t id)
{
    size_t i = 0;
    while (i < known_count && known[i].id != id)
        i++;
    return i < WATCH_SESSIONS_MAX ? &known[i] : NULL;
}

/* False if nothing has changed. */
static bool note(uint64_t id, uint64_t keywords)
{
    struct watch_session *session = entry_of(id);
    bool is_known = session != NULL && session != &known[known_count];
    if (session == NULL)
        return true; /* it gets its events, but neither Attach nor Frame */
    if ((is_known ? session->keywords : 0) == keywords)
        return false;
    if (keywords == 0) {
        *session = known[--known_count];
        return true;
    }
    if (!is_known) {
        *session = (struct watch_session){.id = id};
        known_count++;
    }
    session->keywords = keywords;
    session->is_new = true;
    if ((keywords & LUA_CALLS) == 0)
        session->calls_since = 0;
    return true;
}

/* On any thread. The events are enabled or disabled already, so the safe point finds them so. */
static void on_change(void *context, const struct weir_provider_change *change)
{
    (void)context;
    pthread_mutex_lock(&lock);
    bool changed = note(change->session_id, keywords_of(change));
    pthread_mutex_unlock(&lock);
    if (changed)
        safepoint_request();
}

size_t watch_take(uint64_t change, struct watch_session *sessions)
{
    pthread_mutex_lock(&lock);
    size_t count = known_count;
    for (size_t i = 0; i < count; i++) {
        if (known[i].calls_since == 0 && (known[i].keywords & LUA_CALLS) != 0)
            known[i].calls_since = change;
        sessions[i] = known[i];
        known[i].is_new = false;
    }
    pthread_mutex_unlock(&lock);
    return count;
}

bool watch_begin(const char *program)
{
    struct weir_error error = {""};
    if (weir_provider_register(&weir_provider_Lua, NULL, NULL, &provider, &error) == WEIR_OK &&
        weir_rundown_register(provider, functions_rundown, NULL, &error) == WEIR_OK &&
        weir_provider_watch(provider, on_change, NULL, &error) == WEIR_OK)
        return true;
    fprintf(stderr, "%s: Lua's events cannot be registered: %s\n", program, error.text);
    return false;
}
