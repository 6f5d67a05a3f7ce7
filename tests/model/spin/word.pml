/*
 * Shared by grant_word.pml and signal_word.pml: the word of one waiter, the futex under it, and
 * wr_waiter_sleep() of core/wait/gate.c.
 *
 * The futex is the kernel's: it compares the word and goes to sleep in one step. It returns when it
 * is woken, when its time is over, or without a reason. Sleeps that end by themselves, like those
 * in the code, are left out: they would hide a lost wake.
 */
mtype = { awake, asleep, granted, aborted };

mtype word = awake;
bool in_kernel;    /* the waiter sleeps in the futex */
bool has_deadline; /* of the current wait */

/* The futex compares. If it did not, the word could have changed before the sleep. */
inline futex_wait_asleep()
{
    atomic {
        if
        :: word == asleep || MUTANT == SLEEP_UNCOMPARED -> in_kernel = true
        :: else
        fi
    }
}

inline futex_wake()
{
    in_kernel = false
}

/* Returns in `seen` what the word has become. `seen` is 0 before, and stays 0 if the deadline has
 * passed. The word is looked at once more before each sleep: this stands for the bounded time that
 * the head waits awake. */
inline waiter_sleep()
{
    do
    :: atomic { word == granted || word == aborted -> seen = word };
        break
    :: word == awake && !has_looked -> has_looked = true
    :: word == awake && has_looked ->
        if
        :: MUTANT == SLEEP_BY_STORE -> word = asleep
        :: MUTANT != SLEEP_BY_STORE ->
            atomic { /* compare-and-swap */
                if
                :: word == awake -> word = asleep
                :: else
                fi
            }
        fi
    :: word == asleep ->
        futex_wait_asleep();
        if
        :: !in_kernel -> has_looked = false
        :: atomic { in_kernel && has_deadline -> in_kernel = false };
            break
        fi
    od;
    has_looked = false
}

/* May end a sleep without a reason; nothing may rely on it. */
proctype nature()
{
end:
    do
    :: in_kernel -> in_kernel = false
    :: in_kernel -> break
    od
}
