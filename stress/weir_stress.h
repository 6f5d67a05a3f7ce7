/*
 * The command weir-stress: its options, and the report of a run: one line per field for people, or
 * one JSON object on one line for programs.
 */
#ifndef STRESS_WEIR_STRESS_H
#define STRESS_WEIR_STRESS_H

#include "brim_run.h"

/* The words of the command line, and of the report. */
const char *brim_mode_word(enum weir_mode mode);
const char *brim_wake_word(enum weir_wake wake);

/* Ends the program with status 2 if the options make no sense, with 0 after --help. */
void brim_options_parse(int argc, char **argv, struct brim_options *options);

void brim_report_text(const struct brim_result *result, const struct brim_cpus *cpus);
void brim_report_json(const struct brim_result *result, const struct brim_cpus *cpus);

#endif
