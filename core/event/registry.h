/*
 * What the registry's files share: registry.c (the lock), providers.c, definitions.c, slots.c,
 * callbacks.c and sources.c. Private to event/.
 *
 * LOCK is the registry's lock. Functions named _locked are called with it held. Those named
 * _after_fork are called by the only thread of a forked child, which inherits the lock.
 */
#ifndef WR_EVENT_REGISTRY_H
#define WR_EVENT_REGISTRY_H

#include <pthread.h>
#include "event/define.h"

/* What a slot's session wanted when the provider's callback was last told of it. */
struct wr_told {
    uint64_t session_id; /* 0: nothing */
    struct wr_interest *interest;
};

struct weir_provider {
    char *name; /* CONST, as the next one */
    unsigned long name_hash;
    weir_provider_callback callback; /* of these two, one at most */
    weir_provider_watcher watcher;
    void *context;
    struct weir_status status;               /* LOCK for stores; hosts read it */
    struct wr_event_definition *definitions; /* LOCK, as all that follows */
    struct weir_provider *next;
    struct wr_told *told;               /* by slot; NULL without callback and watcher */
    struct wr_provider_state told_all;  /* by the last callback */
    struct weir_provider *next_pending; /* in the queue of those whose callback may be due */
    bool is_pending;
    uint64_t updated; /* the change that its masks were last updated for */
    bool is_calling;
    bool is_destroyed;
    pthread_t caller;
    struct weir_provider *outer; /* the caller's: the callback that it is in as well */
    weir_rundown_source source;  /* NULL: none */
    void *source_context;
    struct weir_provider *next_source;
    uint64_t source_number; /* ascending from one source to the next */
    uint32_t source_calls;  /* that have not returned */
};

/* Is the provider destroyed, and has the last call left it? Whoever finds that frees it. */
static inline bool wr_provider_is_over_locked(const struct weir_provider *provider)
{
    return provider->is_destroyed && !provider->is_calling && provider->source_calls == 0;
}

/* --- registry.c ------------------------------------------------------------------------------ */

/* This process was forked while its thread was inside the library, so it can neither register nor
 * start anything. Changes in fork only. */
extern bool wr_registry_is_broken;
enum weir_result wr_registry_fail_broken(struct weir_error *error);

/* --- providers.c ----------------------------------------------------------------------------- */

/* The first provider; the others follow by `next`. */
struct weir_provider *wr_providers_locked(void);
/* NULL if there is none of that name. */
struct weir_provider *wr_provider_find_locked(const char *name);
/* For a provider that is not in the list. Needs no lock. */
void wr_provider_free(struct weir_provider *provider);

/* --- definitions.c --------------------------------------------------------------------------- */

/* Gives the definition an index and adds it to the provider's. If an orphan defines the same event,
 * the definition is freed, and `*definition` receives the orphan. */
enum weir_result wr_definition_insert_locked(struct weir_provider *provider,
                                             struct wr_event_definition **definition,
                                             struct weir_error *error);
/* Makes the event, the host's or the definition's own, usable, and enables it for the sessions that
 * want it. */
void wr_event_connect_locked(struct wr_event_definition *definition, struct weir_event *event);
/* Disables the provider's events, and makes orphans of its definitions. */
void wr_definitions_orphan_locked(struct weir_provider *provider);
/* Clears all masks. */
void wr_definitions_after_fork(void);

/* --- slots.c --------------------------------------------------------------------------------- */

/* Stores the mask of the definition's event, if it has one with another mask. LOCK, or a forked
 * child's only thread. */
void wr_mask_store(struct wr_event_definition *definition, uint64_t mask);
/* Computes the mask from what the sessions want. */
void wr_mask_update_locked(struct wr_event_definition *definition);
/* What the sessions together want of the provider. */
struct wr_provider_state wr_provider_state_locked(const struct weir_provider *provider);
/* Stores it in the words that hosts read. */
void wr_status_update_locked(struct weir_provider *provider);
/* What the slot's session is, and what it wants. */
struct wr_slot {
    uint64_t session_id;
    /* When this session was enabled and last changed, and when the one before it was disabled:
     * ascending from one change to the next, of any slot. */
    uint64_t started, changed, ended;
    struct wr_interest *interest; /* NULL: not enabled */
};
extern struct wr_slot wr_slots[WR_SESSIONS_MAX]; /* LOCK */
/* What nobody refers to any more is freed when the lock has been released: free() may wait. */
void wr_interest_release_locked(struct wr_interest *interest);
struct wr_interest *wr_interests_take_dead_locked(void);
void wr_interests_free(struct wr_interest *dead);
/* Keeps the marker's slot taken. LOCK, or a forked child's only thread. */
void wr_marker_keep_locked(void);
/* Takes the lock. Sets the marker, and disables and ends all sessions: at this moment all of them
 * have plain pins. Their masks and the marker change in one critical section, so that every session
 * enabled after it has the marker in its masks, and seq_cst pins. */
void wr_slots_on_membarrier_error(void);
/* Empties all slots. */
void wr_slots_after_fork(void);

/* --- callbacks.c ----------------------------------------------------------------------------- */

/* The sessions may want something else of the provider than its callback was told. */
void wr_callbacks_note_locked(struct weir_provider *provider);
/* For a provider that is not in the list any more. */
void wr_callbacks_unqueue_locked(struct weir_provider *provider);
/* The same, later: waits until no other thread is in the provider's callback, and releases the lock
 * while it waits. */
void wr_callbacks_end_locked(struct weir_provider *provider);
/* Forgets the calls of the parent's other threads, and what the callbacks were called with. */
void wr_callbacks_after_fork(void);

/* --- sources.c ------------------------------------------------------------------------------- */

/* No session calls the provider's source any more, if it has one, apart from calls under way. */
void wr_source_remove_locked(struct weir_provider *provider);
/* Waits until no other thread is in the source, and releases the lock while it waits. */
void wr_source_calls_end_locked(struct weir_provider *provider);
/* Forgets the calls of the parent's other threads. */
void wr_sources_after_fork(void);

#endif
