/*
 * The word of a waiter in RELAY, and of a waiter for several segments in AUTO_RESET: how it sleeps,
 * and how others end its sleep. The queue and its lock are reduced to one flag, `queued`, which
 * changes only in lock sections.
 *
 * Processes: the waiter, which parks again and again, with or without a deadline; the granter,
 * which pops it in a lock section and then exchanges the word; the keeper (rule 3), which has seen
 * the waiter queued and moves asleep back to awake at any later time, perhaps rounds later (the
 * code does it under the lock, which is less); a stopper that aborts once, after which the waiter
 * does not park; and nature (word.pml).
 *
 * Bound: one waiter, any number of rounds, one granter, one keeper, one stopper; all interleavings;
 * sequentially consistent memory (the explorer, one folder up, covers what C11 allows beyond that).
 * Exhaustive: 70,000 states.
 */
#define NONE              0
#define GRANT_LOOKS_FIRST 1 /* the granter tests for a sleeper, then stores: no exchange */
#define SLEEP_BY_STORE    2 /* the waiter stores asleep over whatever the word has become */
#define SLEEP_UNCOMPARED  3 /* the futex does not compare */
#define KEEP_BY_STORE     4 /* rule 3 stores awake instead of comparing and swapping */
#define KEEP_WITHOUT_WAKE 5 /* rule 3 moves the word and does not wake */
#define TIMEOUT_UNLOCKED  6 /* a waiter believes its deadline without the lock */
#define TIMEOUT_POPPED    7 /* a waiter that is popped at its deadline leaves instead of waiting */
#define ABORT_UNPOPPED    8 /* the stopper aborts but leaves the waiter in the queue */
#define GRANT_UNWRITTEN   9 /* the exchange comes before the list is written */

#ifndef MUTANT
#define MUTANT NONE
#endif

#include "word.pml"

bool queued;    /* LOCK: the waiter is in the queue */
bool aborting;  /* LOCK */
byte free = 1;  /* LOCK: there is one segment */
byte in_flight; /* segments on the waiter's list */
byte held;      /* segments that the waiter has taken off it */
bool parked;    /* from queueing until it knows the outcome */
bool timed_out;

proctype waiter()
{
    bool has_looked;
    mtype seen;
ask:
    atomic { /* lock: nothing is free for it, so it queues */
        if
        :: aborting -> goto end_aborted
        :: !aborting -> has_deadline = true
        :: !aborting -> has_deadline = false
        fi;
        word = awake;
        queued = true;
        parked = true;
        timed_out = false
    };
wait:
    waiter_sleep();
    if
    :: seen == 0 && MUTANT == TIMEOUT_UNLOCKED ->
        timed_out = true;
        queued = false
    :: seen == 0 && MUTANT != TIMEOUT_UNLOCKED ->
        atomic { /* lock */
            has_deadline = false;
            if
            :: queued ->
                queued = false;
                timed_out = true
            :: !queued && MUTANT == TIMEOUT_POPPED -> timed_out = true
            :: else /* popped: the grant is on its way */
            fi
        }
    :: seen != 0
    fi;
    if
    :: seen == 0 && !timed_out -> goto wait
    :: atomic { seen == 0 && timed_out -> parked = false };
        goto ask
    :: atomic { seen != 0 ->
            if
            :: seen == granted ->
                assert(in_flight == 1); /* the list was written before the exchange */
                held = in_flight;
                in_flight = 0
            :: seen == aborted -> assert(in_flight == 0)
            fi;
            seen = 0;
            parked = false
        }
    fi;
    atomic { /* lock: it is filled, read and given back */
        free = free + held;
        held = 0
    };
    goto ask;
end_aborted:
    false
}

inline list_write()
{
    assert(!timed_out && in_flight == 0); /* a waiter that has left is not granted */
    in_flight = 1
}

proctype granter()
{
    bool sleeps;
end:
    do
    :: atomic { /* lock: pops the head and takes a segment for it */
            queued && free > 0 ->
            queued = false;
            free--
        };
        if
        :: MUTANT != GRANT_UNWRITTEN -> list_write()
        :: MUTANT == GRANT_UNWRITTEN
        fi;
        if
        :: MUTANT == GRANT_LOOKS_FIRST ->
            sleeps = (word == asleep);
            word = granted
        :: MUTANT != GRANT_LOOKS_FIRST ->
            atomic { /* exchange */
                sleeps = (word == asleep);
                word = granted
            }
        fi;
        if
        :: MUTANT != GRANT_UNWRITTEN
        :: MUTANT == GRANT_UNWRITTEN -> list_write()
        fi;
        if
        :: sleeps -> futex_wake()
        :: else
        fi;
        sleeps = false
    od
}

proctype keeper()
{
    bool was_asleep;
end:
    do
    :: queued ->
        if
        :: MUTANT == KEEP_BY_STORE ->
            word = awake;
            was_asleep = true
        :: MUTANT != KEEP_BY_STORE ->
            atomic { /* compare-and-swap */
                if
                :: word == asleep ->
                    word = awake;
                    was_asleep = true
                :: else
                fi
            }
        fi;
        if
        :: was_asleep && MUTANT != KEEP_WITHOUT_WAKE -> futex_wake()
        :: else
        fi;
        was_asleep = false
    :: queued -> break /* nothing may rely on it */
    od
}

proctype stopper()
{
    bool sleeps, was_queued;
    if
    :: true
    :: goto end /* nothing may rely on it */
    fi;
    atomic { /* lock: pops all */
        aborting = true;
        was_queued = queued;
        if
        :: MUTANT != ABORT_UNPOPPED -> queued = false
        :: else
        fi
    };
    if
    :: was_queued ->
        atomic { /* exchange */
            sleeps = (word == asleep);
            word = aborted
        };
        if
        :: sleeps -> futex_wake()
        :: else
        fi
    :: else
    fi;
end:
    false
}

init {
    atomic {
        run waiter();
        run granter();
        run keeper();
        run stopper();
        run nature()
    }
}

/* No lost wake: a waiter that parks comes back. */
ltl wakes { [] (parked -> <> !parked) }

/* These must fail, or the others prove nothing: the waiter does sleep in the kernel with its grant
 * written, and a keeper does move the word of a sleeper. */
ltl never_granted_asleep { [] !(in_kernel && in_flight == 1) }
ltl never_kept { [] !(in_kernel && word == awake) }
