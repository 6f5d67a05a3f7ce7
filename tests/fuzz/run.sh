#!/usr/bin/env bash
# usage: run.sh PROGRAM SECONDS FOLDER SEEDS
# Replays the files of SEEDS and those that earlier runs have found, then fuzzes. FOLDER/inputs keeps what reaches new
# code, FOLDER/log what libFuzzer says, FOLDER itself each input that breaks the program. Exit code 1 if there is one.
set -euo pipefail
program=$1 seconds=$2 folder=$3 seeds=$4
mkdir -p "$folder/inputs"
rm -f "$folder/log"
status=0
"$program" -max_total_time="$seconds" -timeout=60 -print_final_stats=1 -artifact_prefix="$folder/" \
    "$folder/inputs" "$seeds" >"$folder/log" 2>&1 || status=$?
if [ "$status" -eq 0 ]; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/log")
    echo "$(basename "$program"): $(find "$seeds" -type f | wc -l) seeds and ${runs:-no} inputs in $seconds s; none breaks it"
    exit 0
fi
tail -n 60 "$folder/log"
# Not 77: libFuzzer's status for a crash is the one that ctest takes for a skipped test.
broken=$(sed -n 's/.*Test unit written to //p' "$folder/log" | tail -n 1)
if [ -n "$broken" ]; then
    echo "An input breaks $(basename "$program"): $broken"
    echo "Run it alone with: $program $broken"
else
    echo "$(basename "$program") ended with status $status; $folder/log is its output"
fi
exit 1
