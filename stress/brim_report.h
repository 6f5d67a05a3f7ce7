/*
 * The report of a run: a line per field for people, one JSON object on one line for programs.
 */
#ifndef STRESS_BRIM_REPORT_H
#define STRESS_BRIM_REPORT_H

#include "brim_run.h"

void brim_report_text(const struct brim_result *result, const struct brim_cpus *cpus);
void brim_report_json(const struct brim_result *result, const struct brim_cpus *cpus);

#endif
