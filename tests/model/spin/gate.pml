/*
 * The gate of a BLOCK session, its producers and its drain: core/wait/gate.c, the strategy that
 * -DWAKE names (wait_relay.pml, wait_fifo.pml, wait_auto_reset.pml, as in core/wait/),
 * core/buffers/mode_block.c, and of core/session/ what decides who is served: the drain's attend() and
 * sweep, the stop. Names are those of the C code; the rules that are spoken of are RELAY's.
 *
 * Units (segments) are counted, not distinguished. A lock section is one `atomic`. So are sections
 * that follow each other directly, and everything that a thread does between two points at which
 * others could notice a difference. A goto out of an `atomic` ends it. With -DFINE, a popped
 * waiter's word is set after the unlock, as in the code; without it, in the lock section.
 * grant_word.pml and signal_word.pml show that a waiter sleeps and wakes as if its word were a
 * flag.
 *
 * A producer emits. Between two events it may also stop for ever, with whatever it holds; anything
 * that it does only for a while is among the interleavings. The drain collects what is retired and
 * hands it over at a grant's worth, or when nothing more is retired. Then it asks the gate. If the
 * gate is stuck, it takes back unused grants, and segments that it met in the previous sweep. It
 * sleeps until it is rung; if it has seen that a thread waits, its timer ends the sleep. Nothing
 * else is timed: a wait that ends by itself, as some in the code do, would hide a lost wake. A
 * retired segment may ring the drain if a thread waits; the hint that it should may be out of date.
 *
 * Left out: no-block scopes, nested emission, fork, the size of a grant, the length of a spin. A
 * thread that need not wait takes a whole grant or only what it needs.
 *
 * Bound: PRODUCERS 3, UNITS 3, GRANT 1, CAP 1, PLENTY 1, TURN 0, ROOM 1 unless a run says otherwise;
 * any number of events; all interleavings; sequentially consistent memory. PLENTY stands for three
 * quarters of the units, with which it would never be reached. Exhaustive within the bound: 35,000 to 5 million
 * states per run where a property holds (check.py prints them).
 *
 * Parts, each by -D: LARGE (any event may need two segments at once), DEADLINE (any wait may have a
 * deadline, which may pass at any time), EXIT (threads exit), UNWANTED (an event may be disabled
 * while its thread waits), STOP (the session is stopped, once, at any time), SINK (the drain may
 * stay in the sink for ever), TIMED (any look may be the timer's, which also sweeps).
 */
#define RELAY      0
#define FIFO       1
#define AUTO_RESET 2

#ifndef WAKE
#define WAKE RELAY
#endif
#ifndef PRODUCERS
#define PRODUCERS 3 /* at most 3 */
#endif
#ifndef UNITS
#define UNITS 3
#endif
#ifndef GRANT
#define GRANT 1 /* RELAY: the most that a grant gives */
#endif
#ifndef CAP
#define CAP 1
#endif
#ifndef PLENTY
#define PLENTY 1 /* more free units than this lift the cap */
#endif
#ifndef TURN
#define TURN 0 /* RELAY: units in a turn; 0: a thread parks behind those that wait */
#endif
#ifndef HALF
#define HALF 1 /* only while more are free does a turn go on after the grant */
#endif
#ifndef ROOM
#define ROOM 1 /* events that fit into a segment */
#endif

/* Mutants: what is left out or done wrong. */
#define NONE             0
#define NO_RULE_5        1  /* a drain without work sleeps until it is rung */
#define IDLE_OBEYS_CAP   2  /* rule 5, but it does not lift the cap */
#define NO_RULE_6        3  /* plenty does not lift the cap */
#define NO_REVOCATION    4  /* idle threads keep what they hold */
#define GRANTS_ONLY      5  /* unused grants are revoked, segments are not */
#define SEGMENTS_ONLY    6  /* segments are revoked, unused grants are not */
#define CREDIT_WHOLE     7  /* a waiter's whole grant may be revoked before its first use */
#define NO_REST          8  /* no thread that was granted is ever seen to rest */
#define UNSERVED_REST    9  /* a thread that stops running does not serve the queue */
#define UNSERVED_GIVE    10 /* a thread that gives units does not serve the queue */
#define NO_RING          11 /* a thread that parks does not ring the drain */
#define EARLY_SLEEP      12 /* the bell's ticket is taken after the look */
#define BARGE            13 /* rule 1 without "the queue is empty" */
#define LIFO             14 /* the youngest waiter is served first */
#define NO_HAND_ON       15 /* rule 2 without passing on; a setting of ours, not an error */
#define NO_HAND_OVER     16 /* the drain hands over only at a grant's worth */
#define UNSERVED_TIMEOUT 17 /* a thread that gives up does not serve the queue */
#define LATE_TIMEOUT     18 /* a thread that gives up does not check whether it was granted */
#define KEPT_GATHERED    19 /* a thread that gives up keeps what it has gathered */
#define KEPT_UNWANTED    20 /* a thread whose event is no longer wanted keeps its grant */
#define RUNS_UNWANTED    21 /* the same, but it gives it back and counts as running */
#define KEPT_ON_EXIT     22 /* an exiting thread keeps its unused grant */
#define UNTIMED_SLEEP    23 /* the drain's timer does not end its sleep while a thread waits */
#define NO_RECHECK       24 /* no thread serves the head while the drain is in the sink */
#define ONE_SIGNAL       25 /* FIFO: the head does not signal the next one */
#define STALE_SIGNAL     26 /* FIFO: a parking thread keeps the mark of a signal to its last wait */
#define SIGNAL_UNLOCKED  27 /* FIFO: the signal is stored after the unlock */
#define EVENT_REOPENED   28 /* AUTO_RESET: an aborted waiter may reset the event of another */
#define EVENT_ONCE       29 /* AUTO_RESET: a thread that leaves units does not set it again */
#define ABORT_UNPOPPED   30 /* the closer does not remove the waiters from the queue */
#define PARK_WHEN_CLOSED 31 /* a thread that asks does not check whether the gate is closed */
#define RING_IF_LAST     32 /* a thread that parks rings the drain only if no other runs */
#define WHOLE_GRANTS     33 /* an idle drain lifts the cap for whole grants only */
#define ENDLESS_TURN     34 /* a thread goes on ahead of the queue for as long as enough is free */

#ifndef MUTANT
#define MUTANT NONE
#endif

/* enum wr_waiter_word */
#define AWAKE   0 /* or asleep */
#define GRANTED 1
#define ABORTED 2

/* enum wr_serve */
#define GIVE    0
#define PARK    1
#define IDLE    2
#define RECHECK 3 /* like GIVE, while the drain is in the sink */

/* enum wr_gate_state; 0: not asked */
#define QUIET  1
#define SERVED 2
#define STUCK  3

/* enum wr_waited; 0: not over */
#define WAITED_GRANTED  1
#define WAITED_ABORTED  2
#define WAITED_DEADLINE 3

/* LOCK */
byte free_count = UNITS;
byte line[PRODUCERS]; /* the queue, oldest first */
byte waiting;
byte large; /* waiters that need more than one unit */
byte running;
bool is_running[PRODUCERS];
#if TURN
byte turn[PRODUCERS]; /* units that it has had in its turn, up to TURN */
#define TURN_BEGINS(i)  turn[i] = MIN(TURN, units[i])
#define TURN_GOES_ON(i) turn[i] = MIN(TURN, turn[i] + units[i])
#define TURN_ENDS(i)    turn[i] = 0
#define KEEPS_TURN(i)   (is_running[i] && free_count > HALF && (turn[i] < TURN || MUTANT == ENDLESS_TURN))
#else
#define TURN_BEGINS(i)  skip
#define TURN_GOES_ON(i) skip
#define TURN_ENDS(i)    skip
#define KEEPS_TURN(i)   false
#endif
byte units[PRODUCERS]; /* gathered or granted; owned by its thread once the word is set */
bool is_closing;

/* ANY */
byte word[PRODUCERS];
byte credit[PRODUCERS];  /* the unused units of a grant, in the lane's word */
byte current[PRODUCERS]; /* the segment being written: 0, or 1 + the events that still fit */
byte retired;            /* segments to read */
byte parked;
bool rung;
byte pins; /* a bit for each producer that is inside */
bool away; /* the drain is in the sink */

/* DRAIN */
byte returned; /* read but not yet handed over */
bool is_still; /* RELAY: no waiter was granted for a while */
byte swept;    /* a bit for each lane whose segment the last sweep met */

/* State that the properties refer to. */
bool need[PRODUCERS]; /* it emits; the event is neither written nor lost */
byte told;            /* threads whose loss the closer has counted */
byte gone;            /* threads that have exited: no process looks at their lanes again */
byte rests;           /* threads that compute for ever */
bool is_stopping;     /* the masks are clear */
bool is_stopped;

#ifdef LARGE
byte needed[PRODUCERS];
#define NEEDED(i) needed[i]
#else
#define NEEDED(i) 1
#endif
#if WAKE == AUTO_RESET
#define OLDER large /* with the single event, only large records queue */
#else
#define OLDER waiting
#endif
#ifdef UNWANTED
#define IS_UNWANTED true
#else
#define IS_UNWANTED is_stopping
#endif

#define BIT(i)     (1 << (i))
#define LOWEST(m)  ((m) & 1 -> 0 : ((m) & 2 -> 1 : 2))
#define MIN(a, b)  ((a) < (b) -> (a) : (b))
#define MAX(a, b)  ((a) > (b) -> (a) : (b))
#define IN_LINE(i) ((waiting > 0 && line[0] == i) || (waiting > 1 && line[1] == i) || \
                    (waiting > 2 && line[2] == i))

/* Scratch variables of lock sections. */
hidden byte h, n, k, lane, count, wanted, sum, is_served;

#ifdef FINE
#define WAKE_IN skip
#define WAKE_OUT wake_all();
#define WAKE_OUT_LAST wake_all()
#else
#define WAKE_IN wake_all()
#define WAKE_OUT
#define WAKE_OUT_LAST
#endif

/* --- The gate, inside its lock. --------------------------------------------------------------- */

/* Takes `wanted` units, or fewer if fewer are free. */
inline take(i)
{
    n = MIN(wanted, free_count);
    units[i] = units[i] + n;
    free_count = free_count - n
}

inline enqueue(i)
{
    line[waiting] = i;
    waiting++;
    large = large + (NEEDED(i) > 1)
}

inline unlink(i)
{
    h = 0;
    do
    :: line[h] != i -> h++
    :: else -> break
    od;
    do
    :: h + 1 < waiting ->
        line[h] = line[h + 1];
        h++
    :: else -> break
    od;
    waiting--;
    line[waiting] = 0;
    large = large - (NEEDED(i) > 1)
}

inline set_running(i)
{
    running = running + !is_running[i];
    is_running[i] = true
}

inline set_resting(i)
{
    running = running - is_running[i];
    is_running[i] = false
}

inline all_rest()
{
    h = 0;
    do
    :: h < PRODUCERS ->
        is_running[h] = false;
        h++
    :: else -> break
    od;
    running = 0
}

inline grant(i)
{
    assert(WAKE == AUTO_RESET || line[0] == i); /* no older thread waits */
    unlink(i);
    is_still = false;
    TURN_BEGINS(i);
    set_running(i)
}

#if WAKE == RELAY
#include "wait_relay.pml"
#elif WAKE == FIFO
#include "wait_fifo.pml"
#else
#include "wait_auto_reset.pml"
#endif

/* Gives `count` units. */
inline give()
{
    free_count = free_count + count;
    if
    :: MUTANT != UNSERVED_GIVE -> serve(GIVE)
    :: else
    fi
}

inline rest(i)
{
    if
    :: is_running[i] ->
        set_resting(i);
        if
        :: MUTANT != UNSERVED_REST -> serve(GIVE)
        :: else
        fi
    :: else
    fi
}

/* Checks what holds whenever the lock is free. */
inline unlock()
{
    sum = free_count + retired + returned;
    n = 0;
    h = 0;
    do
    :: h < PRODUCERS ->
        sum = sum + units[h] + credit[h] + (current[h] > 0);
        n = n + is_running[h];
        h++
    :: else -> break
    od;
    assert(sum == UNITS); /* never above the budget, and no unit gets lost */
    assert(n == running);
    assert(IS_SERVED)
}

inline wake_all()
{
    do
    :: wakes != 0 ->
        atomic {
            k = LOWEST(wakes);
            wakes = wakes & ~BIT(k);
            word[k] = GRANTED
        }
    :: else -> break
    od;
#if WAKE == AUTO_RESET
    if
    :: set_event ->
        atomic {
            set_event = false;
            event_set()
        }
    :: else
    fi
#endif
}

/* --- A producer. ------------------------------------------------------------------------------ */

inline retire(i)
{
    if
    :: current[i] > 0 ->
        current[i] = 0;
        swept = swept & ~BIT(i);
        retired++;
        if
        :: waiting > 0 -> rung = true
        :: true
        fi
    :: else
    fi
}

inline leave(i)
{
    need[i] = false;
    pins = pins & ~BIT(i)
}

/* Uses what it needs of `count` units, and keeps the rest. */
inline use(i)
{
    credit[i] = count - NEEDED(i);
    retired = retired + NEEDED(i) - 1;
    current[i] = ROOM;
    leave(i)
}

/* The same for the units of its grant. */
inline use_granted(i)
{
    assert(units[i] >= NEEDED(i) && !(told & BIT(i))); /* not both granted and lost */
    count = units[i];
    units[i] = 0;
    waited = 0;
    use(i)
}

proctype producer(byte i)
{
    byte wakes, waited;
    bool must_ring;
#if WAKE == AUTO_RESET
    bool set_event, took;
#endif
#ifdef DEADLINE
    bool has_deadline, is_late;
#endif

emit:
    atomic { /* inside the pin, unless it is idle */
        if
        :: is_stopping -> goto end_stopped
        :: !is_stopping -> /* computes for ever */
#if WAKE == AUTO_RESET
            rests = rests | BIT(i);
#endif
            goto end_rests
#ifdef EXIT
        :: !is_stopping -> goto exit
#endif
        :: !is_stopping ->
            need[i] = true;
            pins = pins | BIT(i)
        fi;
#ifdef LARGE
        if
        :: needed[i] = 1
        :: needed[i] = 2
        fi;
#endif
        if
        :: current[i] > 1 && NEEDED(i) == 1 ->
            current[i]--;
            leave(i);
            goto emit
        :: else -> retire(i)
        fi
    };
room:
    if
    :: atomic { credit[i] > 0 && NEEDED(i) == 1 ->
            count = credit[i]; /* exchange; stores the rest back */
            use(i)
        };
        goto emit
#ifdef LARGE
    :: atomic { credit[i] > 0 && NEEDED(i) > 1 -> /* exchange; lock: gives it back */
            count = credit[i];
            credit[i] = 0;
            give();
            unlock();
            WAKE_IN
        };
        WAKE_OUT
        goto room
#endif
    :: atomic { credit[i] == 0 -> /* lock: asks */
            if
            :: is_closing && MUTANT != PARK_WHEN_CLOSED -> waited = WAITED_ABORTED
            :: !is_closing && free_count >= NEEDED(i) && (OLDER == 0 || KEEPS_TURN(i) || MUTANT == BARGE) ->
                assert(OLDER == 0 || KEEPS_TURN(i)); /* no thread takes while an older one waits */
                if
                :: wanted = MAX(NEEDED(i), GRANT_UNITS)
                :: wanted = NEEDED(i)
                fi;
                take(i);
                TURN_GOES_ON(i);
                set_running(i);
                waited = WAITED_GRANTED
            :: else ->
                word[i] = AWAKE;
                FORGET_SIGNAL(i);
                set_resting(i);
                TURN_ENDS(i);
                must_ring = (waiting == 0 && MUTANT != RING_IF_LAST);
                enqueue(i);
                parked++;
#ifdef DEADLINE
                if
                :: has_deadline = true
                :: has_deadline = false
                fi;
#endif
                serve(PARK);
                must_ring = (must_ring || running == 0)
            fi;
            unlock();
            WAKE_IN
        };
        WAKE_OUT
        if
        :: atomic { waited == WAITED_GRANTED -> use_granted(i) };
            goto emit
        :: atomic { waited == WAITED_ABORTED ->
                waited = 0;
                leave(i)
            };
            goto emit
        :: atomic { waited == 0 ->
                rung = rung || (must_ring && MUTANT != NO_RING);
                must_ring = false;
                pins = pins & ~BIT(i)
            }
        fi
    fi;

sleep:
    sleep_until_granted(i);
    goto resume;

#ifdef DEADLINE
late:
    atomic { /* lock: gives up, unless it was granted meanwhile */
        has_deadline = false;
        if
        :: IN_LINE(i) ->
            unlink(i);
            if
            :: MUTANT != KEPT_GATHERED ->
                free_count = free_count + units[i];
                units[i] = 0
            :: else
            fi;
            if
            :: MUTANT != UNSERVED_TIMEOUT -> serve(GIVE)
            :: else
            fi;
            waited = WAITED_DEADLINE
        :: else ->
            if
            :: MUTANT == LATE_TIMEOUT -> waited = WAITED_DEADLINE
            :: else
            fi
        fi;
        unlock();
        WAKE_IN
    };
    WAKE_OUT
    if
    :: waited == 0 -> goto sleep
    :: else
    fi;
#endif

resume:
    atomic { /* inside the pin again: does the session still want the event? */
        pins = pins | BIT(i);
        word[i] = AWAKE;
#ifdef DEADLINE
        has_deadline = false;
#endif
        if
        :: waited == WAITED_GRANTED && !is_stopping -> waited = 0
#if defined(STOP) || defined(UNWANTED)
        :: waited == WAITED_GRANTED && IS_UNWANTED -> /* lock, twice: sends it back */
            if
            :: MUTANT != KEPT_UNWANTED ->
                count = units[i];
                units[i] = 0;
                give()
            :: else
            fi;
            if
            :: MUTANT != RUNS_UNWANTED -> rest(i)
            :: else
            fi;
            assert(!is_running[i]) /* a thread that holds nothing does not run */
#endif
        :: waited == WAITED_ABORTED ->
            assert(told & BIT(i)); /* its loss is counted */
            told = told & ~BIT(i)
        :: waited == WAITED_DEADLINE
        fi;
        unlock();
        WAKE_IN
    };
    WAKE_OUT
    if
    :: atomic { waited == 0 && MUTANT != CREDIT_WHOLE ->
            parked--;
            use_granted(i)
        };
        goto emit
    :: atomic { waited == 0 && MUTANT == CREDIT_WHOLE ->
            parked--;
            credit[i] = units[i];
            units[i] = 0
        };
        goto room
    :: atomic { waited != 0 ->
            assert(units[i] == 0 && !(told & BIT(i))); /* lost once, and nothing is kept */
            waited = 0;
            parked--;
            leave(i)
        };
        goto emit
    fi;

#ifdef EXIT
exit:
    atomic {
        pins = pins | BIT(i);
        retire(i)
    };
    atomic { /* exchange; lock, twice */
        if
        :: credit[i] > 0 && MUTANT != KEPT_ON_EXIT ->
            count = credit[i];
            credit[i] = 0;
            give()
        :: else
        fi;
        rest(i);
        unlock();
        WAKE_IN
    };
    WAKE_OUT
    atomic {
        assert(credit[i] == 0 && !is_running[i]);
        gone = gone | BIT(i);
        leave(i)
    };
#endif
end_rests:
end_stopped:
    false
}

/* --- The drain. ------------------------------------------------------------------------------- */

inline revoke_grants()
{
    lane = 0;
    count = 0;
    do
    :: lane < PRODUCERS ->
        if
        :: credit[lane] > 0 && !(gone & BIT(lane)) ->
            count = count + credit[lane];
            credit[lane] = 0
        :: else
        fi;
        lane++
    :: else -> break
    od;
    if
    :: count > 0 -> give()
    :: else
    fi
}

/* Takes the segments that the last sweep met, from lanes whose thread is outside its pin. */
inline sweep()
{
    lane = 0;
    do
    :: lane < PRODUCERS ->
        if
        :: current[lane] > 0 && (swept & BIT(lane)) ->
            if
            :: !(pins & BIT(lane)) ->
                current[lane] = 0;
                swept = swept & ~BIT(lane);
                retired++
            :: else
            fi;
            if
            :: MUTANT != NO_REST -> rest(lane)
            :: else
            fi
        :: current[lane] > 0 && !(swept & BIT(lane)) -> swept = swept | BIT(lane)
        :: else
        fi;
        lane++
    :: else -> break
    od
}

inline hand_over()
{
    atomic { /* lock */
        count = returned;
        returned = 0;
        give();
        unlock();
        WAKE_IN
    };
    WAKE_OUT_LAST
}

proctype drain()
{
    byte wakes, state;
    bool is_timed;
#if WAKE == AUTO_RESET
    bool set_event;
#endif

look:
    rung = false; /* takes a ticket of the bell */
#ifdef TIMED
    if
    :: atomic { true -> /* lock sections: the timer's look also sweeps */
            sweep();
            unlock();
            WAKE_IN
        };
        WAKE_OUT
    :: true
    fi;
#endif
    do
    :: atomic { retired > 0 && returned < GRANT_UNITS ->
            retired--;
            returned++
        }
    :: returned == GRANT_UNITS -> hand_over()
    :: retired == 0 && (returned < GRANT_UNITS) -> break
    od;
#ifdef SINK
    if
    :: MUTANT != NO_HAND_OVER -> hand_over()
    :: else
    fi;
    away = true;
    if
    :: away = false
    :: goto end_away
    fi;
#endif
    if
    :: retired > 0 -> goto look
    :: retired == 0 && returned > 0 && MUTANT != NO_HAND_OVER -> hand_over()
    :: retired == 0 && (returned == 0 || MUTANT == NO_HAND_OVER)
    fi;
    atomic { /* lock: idle */
        state = QUIET;
        is_served = false;
        if
        :: waiting > 0 && MUTANT != NO_RULE_5 ->
            serve(IDLE);
            state = (wakes != 0 || is_served -> SERVED : (free_count == 0 -> STUCK : QUIET))
        :: else
        fi;
        unlock();
        WAKE_IN
    };
    WAKE_OUT
    if
    :: state == SERVED ->
        state = 0;
        goto look
    :: atomic { state == STUCK -> /* exchanges; lock sections */
            state = 0;
            if
            :: MUTANT != NO_REVOCATION && MUTANT != SEGMENTS_ONLY -> revoke_grants()
            :: else
            fi;
            if
            :: MUTANT != NO_REVOCATION && MUTANT != GRANTS_ONLY -> sweep()
            :: else
            fi;
            unlock();
            WAKE_IN
        };
        WAKE_OUT
        goto look /* after at most a millisecond */
    :: atomic { state == QUIET ->
            state = 0;
            /* A head that was signaled may take the last unit after this; below the cap, or with
             * less than a grant free, nobody may be on the way. */
            is_timed = parked > 0;
            is_still = true /* unless a waiter is granted before the timer ends */
        }
    fi;
    if
    :: MUTANT == EARLY_SLEEP -> rung = false
    :: MUTANT != EARLY_SLEEP
    fi;
end_sleep:
    if
    :: atomic { rung ->
            is_timed = false;
            is_still = false
        }
    :: atomic { is_timed && MUTANT != UNTIMED_SLEEP -> is_timed = false }
    fi;
    goto look;
end_away:
    false
}

/* --- The stop. -------------------------------------------------------------------------------- */

#ifdef STOP
proctype stopper()
{
    byte left, at;
    is_stopping = true; /* the masks are clear */
    atomic { /* lock: close */
        is_closing = true;
        n = 0;
        do
        :: n < waiting ->
            at = line[n];
            left = left | BIT(at);
            free_count = free_count + units[at];
            units[at] = 0;
            n++
        :: else -> break
        od;
        if
        :: MUTANT != ABORT_UNPOPPED ->
            n = 0;
            do
            :: n < waiting -> line[n] = 0; n++
            :: else -> break
            od;
            waiting = 0;
            large = 0
        :: else
        fi;
        at = 0;
        unlock()
    };
    do
    :: left != 0 ->
        atomic {
            at = LOWEST(left);
            left = left & ~BIT(at);
            told = told | BIT(at)
        };
        word[at] = ABORTED;
#if WAKE == AUTO_RESET
        atomic {
            event_close()
        };
#endif
        at = 0
    :: left == 0 -> break
    od;
    pins == 0; /* each pin has been even; then */
    parked == 0;
    pins == 0;
    atomic {
        n = 0;
        do
        :: n < PRODUCERS -> assert(units[n] == 0 && !need[n]); n++
        :: else -> break
        od;
        assert(told == 0 && waiting == 0);
        is_stopped = true
    }
}
#endif

init {
    atomic {
        byte i;
        do
        :: i < PRODUCERS -> run producer(i); i++
        :: else -> break
        od;
        i = 0;
        run drain();
#ifdef STOP
        run stopper()
#endif
    }
}

/* --- Properties. ------------------------------------------------------------------------------ */

#ifndef WHO
#define WHO 0
#endif
#define ALL      (BIT(PRODUCERS) - 1)
#define ALL_NEED (need[0] && need[PRODUCERS - 1])

/* Each producer that needs room gets it. */
ltl served { [] (need[WHO] -> <> !need[WHO]) }
/* AUTO_RESET: if all need room, one of them gets it; and the last one does if the others need
 * none. */
ltl served_some { [] (ALL_NEED -> <> !ALL_NEED) }
ltl served_last { [] ((need[0] && rests == ALL - 1) -> <> !need[0]) }
/* No thread waits for ever while something is free, wherever the drain is. */
ltl not_kept { ! <> [] (need[WHO] && free_count + returned > 0) }
/* A stop ends. */
ltl stops { <> is_stopped }
/* These must fail, or the others prove nothing: all threads do wait, and a revocation does
 * happen. */
ltl never_all_wait { [] (waiting < PRODUCERS) }
ltl never_stuck { [] !(waiting > 0 && free_count + retired + returned == 0) }
