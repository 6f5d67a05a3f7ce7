/*
 * The word of the head in FIFO (core/wait/wait_fifo.c): it is signaled to try, tries under the
 * lock, and may be signaled again. Here it needs two segments, so that one signal is not enough;
 * segments come one at a time.
 *
 * Processes: the waiter, which parks again and again, with or without a deadline; the giver, which
 * frees a segment, signals the head in the same lock section and wakes it afterwards; a stopper
 * that aborts once, after which the waiter does not park; and nature (word.pml).
 *
 * Bound: one waiter, any number of rounds, one giver, one stopper, two segments; all interleavings;
 * sequentially consistent memory. Exhaustive: 20,000 states.
 */
#define NONE             0
#define SIGNAL_UNLOCKED  1 /* the word is set after the unlock */
#define SLEEP_BY_STORE   2 /* the waiter stores asleep over whatever the word has become */
#define SLEEP_UNCOMPARED 3 /* the futex does not compare */
#define STALE_SIGNAL     4 /* a parking thread keeps the mark of a signal to its last wait */
#define SIGNAL_KEPT      5 /* a failed try leaves the mark of its signal */
#define TRY_BY_STORE     6 /* a try stores awake over whatever the word has become */
#define SIGNAL_SELF_LOST 7 /* a parking thread takes a signal to itself for granted and drops it */

#ifndef MUTANT
#define MUTANT NONE
#endif

#include "word.pml"

#define NEEDED 2

bool queued;      /* LOCK */
bool is_signaled; /* LOCK */
bool aborting;    /* LOCK */
byte free = 1;    /* LOCK */
byte units;       /* LOCK: gathered */
bool parked;      /* from queueing until it knows the outcome */

inline serve()
{
    if
    :: queued && free > 0 && !is_signaled ->
        is_signaled = true;
        if
        :: MUTANT != SIGNAL_UNLOCKED ->
            sleeps = (word == asleep);
            word = granted
        :: else -> must_set = true
        fi
    :: else
    fi
}

inline serve_after()
{
    if
    :: must_set ->
        atomic { /* exchange */
            sleeps = (word == asleep);
            word = granted
        }
    :: !must_set
    fi;
    if
    :: sleeps -> futex_wake()
    :: !sleeps
    fi;
    atomic {
        sleeps = false;
        must_set = false
    }
}

proctype waiter()
{
    bool has_looked, sleeps, must_set;
    mtype seen;
ask:
    atomic { /* lock: too little is free, so it queues, and serves the head, which it is */
        if
        :: aborting -> goto end_aborted
        :: !aborting -> has_deadline = true
        :: !aborting -> has_deadline = false
        fi;
        word = awake;
        queued = true;
        parked = true;
        is_signaled = is_signaled && MUTANT == STALE_SIGNAL;
        serve();
        if
        :: MUTANT == SIGNAL_SELF_LOST -> word = awake
        :: else
        fi
    };
    serve_after();
wait:
    waiter_sleep();
    if
    :: atomic { seen == aborted ->
            seen = 0;
            parked = false
        };
        goto ask
    :: atomic { seen == granted -> /* lock: one try */
            seen = 0;
            if
            :: MUTANT == TRY_BY_STORE || word == granted -> word = awake /* compare-and-swap */
            :: else
            fi;
            if
            :: queued ->
                is_signaled = is_signaled && MUTANT == SIGNAL_KEPT;
                units = units + free;
                free = 0;
                if
                :: units == NEEDED ->
                    units = 0;
                    queued = false;
                    parked = false;
                    goto ask
                :: else
                fi
            :: else
            fi
        };
        goto wait
    :: atomic { seen == 0 -> /* lock: gives up */
            has_deadline = false;
            if
            :: queued ->
                queued = false;
                free = free + units;
                units = 0;
                parked = false;
                goto ask
            :: else
            fi
        };
        goto wait /* the closer has popped it; its word follows */
    fi;
end_aborted:
    false
}

proctype giver()
{
    bool sleeps, must_set;
end:
    do
    :: atomic { /* lock */
            free + units < NEEDED ->
            free++;
            serve()
        };
        serve_after()
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
        queued = false;
        units = 0
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
        run giver();
        run stopper();
        run nature()
    }
}

/* No lost signal, no lost abort: a waiter that parks comes back. */
ltl wakes { [] (parked -> <> !parked) }

/* These must fail, or the others prove nothing. */
ltl never_signaled_asleep { [] !(in_kernel && word == granted) }
ltl never_half { [] !(in_kernel && units == 1) }
