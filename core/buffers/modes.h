/*
 * The single list of modes. A row has the name in enum weir_mode, the name of the mode's table
 * (mode_*.c, see mode.h), and the word used on command lines and in results. Programs outside core/
 * that name modes use it too.
 */
#ifndef WR_BUFFERS_MODES_H
#define WR_BUFFERS_MODES_H

#ifdef WEIR_SINGLE_THREADED /* the configuration refuses it: one thread cannot wait for itself */
#define WR_MODE_BLOCK_ROW(X)
#else
#define WR_MODE_BLOCK_ROW(X) X(BLOCK, block, "block")
#endif

#define WR_MODES(X)       \
    X(DROP, drop, "drop") \
    WR_MODE_BLOCK_ROW(X)  \
    X(OVERWRITE, overwrite, "overwrite")

#define WR_MODE_ONE_(name, table, word) +1
enum { WR_MODE_COUNT = 0 WR_MODES(WR_MODE_ONE_) };

#endif
