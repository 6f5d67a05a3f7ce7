/* RELAY: core/wait/wait_relay.c. */

#define GRANT_UNITS GRANT
#define FORGET_SIGNAL(i) skip
#ifdef BOUND /* no producer may use the drain's processor */
#define may_run_here false
#else
#define may_run_here true
#endif

#define MAY_GRANT(why) \
    ((free_count > PLENTY + waiting && MUTANT != NO_RULE_6) || \
     (!(why == PARK && MUTANT == NO_HAND_ON) && \
      ((why == IDLE && MUTANT != IDLE_OBEYS_CAP && free_count >= GRANT && may_run_here) || \
       running < CAP || (why == RECHECK && away))))

inline serve(why)
{
    if
    :: why == IDLE && is_still && MUTANT != IDLE_OBEYS_CAP && MUTANT != WHOLE_GRANTS -> all_rest()
    :: else
    fi;
    do
    :: waiting > 0 && free_count > 0 && MAY_GRANT(why) ->
        k = line[(MUTANT == LIFO -> waiting - 1 : 0)];
        wanted = MAX(NEEDED(k), GRANT); /* gathers it */
        if
        :: units[k] < wanted ->
            wanted = wanted - units[k];
            take(k)
        :: else
        fi;
        if
        :: units[k] >= NEEDED(k) ->
            grant(k);
            wakes = wakes | BIT(k);
            if
            :: why == IDLE && running >= CAP -> break /* above it, one for each look of the drain */
            :: else
            fi
        :: else -> break
        fi
    :: else -> break
    od
}

/* Rules 2, 4 and 6 after any change: no thread waits for what they would give. */
#define IS_SERVED \
    (waiting == 0 || free_count == 0 || (running >= CAP && free_count <= PLENTY + waiting) || MUTANT == NO_HAND_ON)

inline sleep_until_granted(i)
{
    atomic {
        if
        :: word[i] == GRANTED -> waited = WAITED_GRANTED
        :: word[i] == ABORTED -> waited = WAITED_ABORTED
#ifdef DEADLINE
        :: word[i] == AWAKE && has_deadline -> goto late
#endif
#ifdef SINK
        :: word[i] == AWAKE && away && MUTANT != NO_RECHECK -> /* lock: a tenth of a second is over */
            serve(RECHECK);
            unlock();
            wake_all();
            goto sleep
#endif
        fi
    }
}
