#!/usr/bin/env bash
# Counts the instructions of the kernels under callgrind and holds them against bench/instructions.txt:
# `make bench-count`. `bench/instructions.sh --record` writes that file anew. A count more than 5 % above the
# recorded one is an error: find out why, or record it with the reason in the commit.
set -euo pipefail
cd "$(dirname "$0")/.."
recorded=bench/instructions.txt
if ! command -v valgrind > /dev/null; then
    apt-get update -qq && apt-get install -y -qq valgrind > /dev/null
fi
cargo build --release --quiet -p obcut --example kernels
out=$(mktemp)
trap 'rm -f "$out"' EXIT
count() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/kernels "$1" 2>&1 |
        sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
nothing=$(count nothing)
status=0
printf '%-10s %14s %14s %8s\n' kernel instructions recorded change
for kernel in lloyd distance local global loop cut rows; do
    now=$(($(count "$kernel") - nothing))
    echo "$kernel $now" >> "$out"
    before=$(sed -n "s/^$kernel //p" "$recorded" 2> /dev/null || true)
    change=-
    if [ -n "$before" ]; then
        change=$(awk -v a="$now" -v b="$before" 'BEGIN { printf "%+.1f%%", 100 * (a / b - 1) }')
        if awk -v a="$now" -v b="$before" 'BEGIN { exit !(a > 1.05 * b) }'; then
            change="$change !"
            status=1
        fi
    fi
    printf '%-10s %14s %14s %8s\n' "$kernel" "$now" "${before:--}" "$change"
done
if [ "${1:-}" = --record ]; then
    mv "$out" "$recorded"
    chmod 644 "$recorded"
    echo "written to $recorded"
    exit 0
fi
exit $status
