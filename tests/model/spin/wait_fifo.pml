/* FIFO: core/wait/wait_fifo.c. The head is signaled, takes what it needs, and signals the next
 * one. */

#define GRANT_UNITS 1
#define FORGET_SIGNAL(i) signaled = (MUTANT == STALE_SIGNAL -> signaled : signaled & ~BIT(i))

byte signaled; /* LOCK: waiters that were signaled to try */

inline serve(why)
{
    if
    :: waiting > 0 && free_count > 0 && !(signaled & BIT(line[0])) ->
        signaled = signaled | BIT(line[0]);
        is_served = true;
        if
        :: MUTANT != SIGNAL_UNLOCKED -> word[line[0]] = GRANTED
        :: else -> wakes = wakes | BIT(line[0])
        fi
    :: else
    fi
}

/* The waiter that may take what is free has been signaled. */
#define IS_SERVED (waiting == 0 || free_count == 0 || (signaled & BIT(line[0])))

inline sleep_until_granted(i)
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
    if
    :: waited == WAITED_ABORTED
    :: atomic { waited == WAITED_GRANTED -> /* lock: one try */
            waited = 0;
            if
            :: word[i] == GRANTED -> word[i] = AWAKE /* compare-and-swap: an abort stays */
            :: else
            fi;
            if
            :: IN_LINE(i) ->
                signaled = signaled & ~BIT(i);
                if
                :: line[0] == i ->
                    wanted = NEEDED(i) - units[i];
                    take(i)
                :: else
                fi;
                if
                :: units[i] == NEEDED(i) ->
                    grant(i);
                    if
                    :: MUTANT != ONE_SIGNAL -> serve(GIVE)
                    :: else
                    fi;
                    waited = WAITED_GRANTED
                :: else
                fi
            :: else
            fi;
            unlock();
            WAKE_IN
        };
        WAKE_OUT
        if
        :: waited == 0 -> goto sleep
        :: else
        fi
    fi
}
