/* The command line that all peers have in common. */
#ifndef BENCH_PEER_OPTIONS_H
#define BENCH_PEER_OPTIONS_H

#include "peer.h"

/* Ends the program with status 2 if the options make no sense, with 0 after --help. */
void peer_options_parse(int argc, char **argv, struct peer_options *options);

/* The word of the command line, and of the report. */
const char *peer_case_word(enum peer_case kind);

#endif
