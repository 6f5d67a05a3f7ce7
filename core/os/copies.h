/*
 * Copies of the library in one process: each program or plug-in that links the static library has
 * one, and the shared library is another. They share nothing. The environment and the tools' port
 * belong to the process, and so to the copy that was loaded first: the executable's, if it has one,
 * and otherwise the oldest in the loader's list. No two copies take themselves for the first at
 * once, since each looks at the list when it is in it. A namespace of dlmopen() has a list of its
 * own.
 */
#ifndef WR_OS_COPIES_H
#define WR_OS_COPIES_H

#include <weir/result.h>

/* WEIR_EXISTS unless this copy is the first; the text names both, and ends with `what`: what only
 * the first one does. Takes the loader's lock, so it is called without a lock that a plug-in's
 * constructor may wait for; for weir_server_start(), which calls it, others wait with a limit. Does
 * not allocate. */
enum weir_result wr_copies_check(const char *what, struct weir_error *error);

#endif
