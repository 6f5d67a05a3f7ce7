/*
 * AUTO_RESET: core/wait/wait_auto_reset.c. There is one event; the first thread to wake or to
 * arrive takes a unit. A waiter that needs several gathers them one at a time and sleeps on its own
 * word.
 *
 * The futex wakes in the order of the sleeps: a thread that starves here starves even so.
 */

#define GRANT_UNITS 1
#define FORGET_SIGNAL(i) skip

/* enum wr_gate_event */
#define EVENT_RESET  0
#define EVENT_SET    1
#define EVENT_CLOSED 2

byte event;
chan sleepers = [PRODUCERS] of { byte }; /* threads that sleep in the futex */

inline serve(why)
{
    do
    :: free_count > 0 && large > 0 -> /* the first large waiter */
        k = 0;
        do
        :: NEEDED(line[k]) == 1 -> k++
        :: else -> break
        od;
        k = line[k];
        wanted = NEEDED(k) - units[k];
        take(k);
        if
        :: units[k] == NEEDED(k) ->
            grant(k);
            wakes = wakes | BIT(k)
        :: else -> break
        fi
    :: else -> break
    od;
    set_event = large == 0 && free_count > 0 && waiting > 0 && event == EVENT_RESET;
    is_served = is_served || set_event
}

#define IS_SERVED true

inline event_set()
{
    if
    :: event == EVENT_RESET ->
        event = EVENT_SET;
        if
        :: nempty(sleepers) -> sleepers?_
        :: empty(sleepers)
        fi
    :: else
    fi
}

inline event_close()
{
    event = (MUTANT == EVENT_REOPENED -> EVENT_SET : EVENT_CLOSED);
    do
    :: nempty(sleepers) -> sleepers?_
    :: empty(sleepers) -> break
    od
}

inline sleep_on_word(i)
{
    atomic {
        if
        :: word[i] == GRANTED -> waited = WAITED_GRANTED
        :: word[i] == ABORTED -> waited = WAITED_ABORTED
#ifdef DEADLINE
        :: word[i] == AWAKE && has_deadline -> goto late
#endif
        fi
    };
    goto resume
}

inline sleep_until_granted(i)
{
#ifdef LARGE
    if
    :: NEEDED(i) > 1 -> sleep_on_word(i)
    :: NEEDED(i) == 1
    fi;
#endif
    atomic { /* compare-and-swap */
        if
        :: event == EVENT_SET ->
            event = EVENT_RESET;
            took = true
        :: event == EVENT_RESET
        :: event == EVENT_CLOSED -> goto closed
        fi
    };
    if
    :: took ->
        atomic { /* lock: one try */
            took = false;
            if
            :: IN_LINE(i) && large == 0 && free_count > 0 ->
                wanted = 1;
                take(i);
                grant(i);
                if
                :: MUTANT != EVENT_ONCE -> serve(GIVE)
                :: else
                fi;
                waited = WAITED_GRANTED
            :: else
            fi;
            unlock();
            WAKE_IN
        };
        WAKE_OUT
        if
        :: waited == WAITED_GRANTED -> goto resume
        :: waited == 0
        fi
    :: !took
    fi;
    if
    :: MUTANT == EVENT_REOPENED && word[i] == ABORTED -> goto closed
    :: else
    fi;
#ifdef DEADLINE
    if
    :: atomic { is_late -> is_late = false };
        goto late
    :: !is_late
    fi;
#endif
    atomic { /* futex_wait(event, RESET) */
        if
        :: event == EVENT_RESET -> sleepers!i
        :: event != EVENT_RESET -> goto sleep
        fi
    };
    if
    :: !(sleepers??[eval(i)])
#ifdef DEADLINE
    :: atomic { has_deadline && sleepers??[eval(i)] ->
            sleepers??eval(i);
            is_late = true
        }
#endif
    fi;
    goto sleep;
closed:
    sleep_on_word(i)
}
