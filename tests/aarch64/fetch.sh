#!/usr/bin/env bash
# Unpacks Debian's arm64 packages that the preset aarch64 links, into FOLDER, once. apt's lists for that
# architecture are kept apart, so that this system's packages stay what they are; root is not needed.
#
# usage: fetch.sh FOLDER
set -euo pipefail

packages=(libck-dev libck0 libcmocka-dev libcmocka0 libjansson-dev libjansson4)
folder=$1
[ "$(cat "$folder/complete" 2>/dev/null)" != "${packages[*]}" ] || exit 0

rm -rf "$folder"
mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial"
cd "$folder"
touch apt/status
options=(-qq -o Dir::State="$PWD/apt" -o Dir::State::status="$PWD/apt/status" -o Dir::Cache="$PWD/apt/cache"
    -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User= -o Acquire::Languages=none)
if ! { apt-get "${options[@]}" update && apt-get "${options[@]}" download "${packages[@]}"; } >apt.log 2>&1; then
    cat apt.log >&2
    echo "The tests for aarch64 need Debian's arm64 packages ${packages[*]}, and apt cannot download them." >&2
    exit 1
fi
for package in *.deb; do
    dpkg -x "$package" .
done
rm -rf apt ./*.deb
echo "${packages[*]}" >complete
