/*
 * The wake strategies of mode BLOCK: the one list. A row has the name in enum weir_wake, the name
 * of the strategy's table (wait_*.c, see strategy.h), the word on command lines and in results, and
 * whether waits are served in the order of their arrival, which tests rely on. Also for programs
 * outside of core/ that name strategies.
 */
#ifndef WR_WAIT_STRATEGIES_H
#define WR_WAIT_STRATEGIES_H

#define WR_WAKE_STRATEGIES(X)      \
    X(RELAY, relay, "relay", true) \
    X(FIFO, fifo, "fifo", true)    \
    X(AUTO_RESET, auto_reset, "auto-reset", false)

#define WR_WAKE_ONE_(name, table, word, is_ordered) +1
enum { WR_WAKE_COUNT = 0 WR_WAKE_STRATEGIES(WR_WAKE_ONE_) };

#endif
