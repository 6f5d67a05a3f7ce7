/*
 * The wake strategies of mode BLOCK: the one list. A row has the name in enum weir_wake, the name
 * of the strategy's table (wait_*.c, see strategy.h), and the word on command lines and in results.
 * Also for programs outside of core/ that name strategies.
 */
#ifndef WR_WAIT_STRATEGIES_H
#define WR_WAIT_STRATEGIES_H

#define WR_WAKE_STRATEGIES(X) \
    X(RELAY, relay, "relay")  \
    X(FIFO, fifo, "fifo")     \
    X(AUTO_RESET, auto_reset, "auto-reset")

#define WR_WAKE_ONE_(name, table, word) +1
enum { WR_WAKE_COUNT = 0 WR_WAKE_STRATEGIES(WR_WAKE_ONE_) };

#endif
