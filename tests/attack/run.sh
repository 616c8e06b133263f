#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The long form of tests/attack, with so many kills, hostile sessions and hostile recordings:
# run.sh [KILLS [SESSIONS [RECORDINGS]]]. Ends with 0 findings, or at the first.
set -eu
kills=${1:-1000} sessions=${2:-20000} recordings=${3:-200000}
cd "$(dirname "$0")/../.."
cmake --preset default >/dev/null
cmake --build --preset default
cmake --preset fuzz >/dev/null
cmake --build build-fuzz --target fuzz-live fuzz-load fuzz-seeds
cmake --preset tsan >/dev/null
cmake --build build-tsan --target test-session_storm

BRICK_BUILD=$PWD/build
export BRICK_BUILD
for test in guest recorder; do
	echo "$test"
	python3 tests/attack/$test.py
done
echo "session_storm under TSan"
build-tsan/bin/test-session_storm
echo "$kills kills"
ATTACK_ROUNDS=$kills python3 tests/attack/storm.py

# hostile FUZZER RUNS: a corpus of its own
hostile()
{
	place=build-fuzz/attack-$1
	rm -rf "$place"
	mkdir -p "$place/corpus"
	[ "$1" != fuzz-load ] || build-fuzz/bin/fuzz-seeds "$place/corpus"
	echo "$1: $2"
	build-fuzz/bin/"$1" -runs="$2" -max_len=16384 -len_control=10 -rss_limit_mb=2048 -timeout=20 \
		-artifact_prefix="$place/" "$place/corpus" 2>"$place/log" || {
		tail -40 "$place/log"
		exit 1
	}
}
hostile fuzz-live "$sessions"
hostile fuzz-load "$recordings"
echo "0 findings"
