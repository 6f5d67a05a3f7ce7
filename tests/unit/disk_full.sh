#!/usr/bin/env bash
# usage: disk_full.sh UNIT_SINK: runs it on a tmpfs of one megabyte, in a new mount namespace.
set -euo pipefail
program=$1
if ! unshare --mount true 2>/dev/null; then
    echo "skipped: this user may not create a mount namespace"
    exit 77
fi
directory=$(mktemp -d)
trap 'rmdir "$directory"' EXIT
unshare --mount bash -c 'mount -t tmpfs -o size=1m tmpfs "$1" && exec "$2" "$1"' _ "$directory" "$program"
