#!/usr/bin/env bash
# usage: test_run.sh FUZZ_CANARY: run.sh must find what is wrong with it, keep the input and name it.
set -euo pipefail
canary=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/seeds"
printf 'a seed that is fine' >"$folder/seeds/fine"
status=0
said=$("$(dirname "$0")/run.sh" "$canary" 60 "$folder/found" "$folder/seeds") || status=$?
if [ "$status" -ne 1 ]; then
    echo "status $status instead of 1"
    exit 1
fi
input=$(sed -n 's/^An input breaks fuzz_canary: //p' <<<"$said")
if [ "$(dirname "$input")" != "$folder/found" ] || [ ! -s "$input" ]; then
    echo "no input was kept: $said"
    exit 1
fi
"$canary" "$folder/seeds/fine" 2>/dev/null || { echo "the seed breaks it"; exit 1; }
if "$canary" "$input" 2>/dev/null; then
    echo "what was kept does not break it: $input"
    exit 1
fi
