/* The command line of all peers. */
#ifndef BENCH_PEER_OPTIONS_H
#define BENCH_PEER_OPTIONS_H

#include "peer.h"

/* Ends the program with status 2 if the options make no sense, with 0 after --help. */
void peer_options_parse(int argc, char **argv, struct peer_options *options);

/* The word for a case on the command line and in the report. */
const char *peer_case_word(enum peer_case kind);

#endif
