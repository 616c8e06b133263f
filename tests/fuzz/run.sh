#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fuzz each target for so many seconds (default 600): run.sh [SECONDS]. What is found is left in
# build-fuzz/TARGET/ as crash-*, leak-* or timeout-*; corpora stay there and grow from run to run.
set -eu
seconds=${1:-600}
cd "$(dirname "$0")/../.."
cmake --preset fuzz >/dev/null
cmake --build build-fuzz --target fuzz-load fuzz-write fuzz-seeds
for target in fuzz-load fuzz-write; do
	corpus=build-fuzz/$target/corpus
	mkdir -p "$corpus"
	[ $target = fuzz-write ] || build-fuzz/bin/fuzz-seeds "$corpus"
	echo "$target: $seconds s"
	build-fuzz/bin/$target -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=20 \
		-max_len=16384 -print_final_stats=1 \
		-artifact_prefix=build-fuzz/$target/ "$corpus" 2>build-fuzz/$target/log || {
		tail -40 build-fuzz/$target/log
		exit 1
	}
	grep -E 'stat::number_of_executed_units|stat::peak_rss_mb' build-fuzz/$target/log
done
