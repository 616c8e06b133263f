#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fuzz each target for so many seconds (default 600): run.sh [SECONDS [TARGET]]; one that is named is there already. What
# is found is left in build-asan/fuzz/TARGET/ as crash-*, leak-* or timeout-*; corpora stay there and grow from run to run.
set -eu
seconds=${1:-600}
cd "$(dirname "$0")/../.."
targets=${2-}

if [ -z "$targets" ]; then
	targets="fuzz-load fuzz-live fuzz-write fuzz-gguf fuzz-rules fuzz-ceilings fuzz-budget fuzz-import"
	cmake --preset asan >/dev/null
	cmake --build build-asan --target fuzzers
fi
for target in $targets; do
	place=build-asan/fuzz/$target
	mkdir -p "$place/corpus"
	[ "$target" != fuzz-load ] || build-asan/bin/fuzz-seeds "$place/corpus"
	[ "$target" != fuzz-ceilings ] || cp tests/fuzz/ceilings.json "$place/corpus"
	[ "$target" != fuzz-import ] || cp tests/fuzz/import*.json "$place/corpus"
	[ "$target" != fuzz-budget ] || cp tests/fuzz/budget.txt "$place/corpus"
	[ "$target" != fuzz-rules ] || cp src/attach/rules/*.rules "$place/corpus"
	echo "$target: $seconds s"
	build-asan/bin/"$target" -max_total_time="$seconds" -max_len=16384 -len_control=10 \
		-rss_limit_mb=2048 -timeout=20 -print_final_stats=1 -artifact_prefix="$place/" \
		"$place/corpus" 2>"$place/log" || {
		tail -40 "$place/log"
		exit 1
	}
	grep -E 'stat::(number_of_executed_units|peak_rss_mb)' "$place/log"
done
