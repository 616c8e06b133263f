#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The long form of tests/attack, with so many kills, hostile sessions and hostile recordings:
# run.sh [KILLS [SESSIONS [RECORDINGS]]]; all commands read each 500th recording. It runs in pieces and ends with
# 0 findings, or at the first.
# Pieces that passed are named in build/attack/passed: started again, it goes on behind them
# (rm -r build/attack: from the start). What a piece said is in build/attack/PIECE.log.
set -eu
kills=${1:-1000} sessions=${2:-20000} recordings=${3:-200000} storms=20
cd "$(dirname "$0")/../.."
cmake --preset default >/dev/null
cmake --preset asan >/dev/null
cmake --preset tsan >/dev/null
cmake --build build >/dev/null
cmake --build build-tsan --target test-session_storm >/dev/null
cmake --build build-asan --target test-session_storm brick-cli fuzz-live fuzz-load fuzz-seeds >/dev/null

BRICK_BUILD=$PWD/build BRICK_SOURCE=$PWD
export BRICK_BUILD BRICK_SOURCE
place=build/attack
mkdir -p $place
touch $place/passed

# piece NAME COMMAND...
piece()
{
	name=$1
	shift
	! grep -q "^$name " $place/passed || return 0
	start=$(date +%s)
	if ! "$@" >"$place/$name.log" 2>&1; then
		tail -40 "$place/$name.log"
		echo "$(date +%T) FINDING in $name: $place/$name.log"
		exit 1
	fi
	seconds=$(($(date +%s) - start))
	echo "$name $seconds s, commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)" >>$place/passed
	echo "$(date +%T) passed: $name ($seconds s)"
}

# pieces TOTAL SIZE: the counts of pieces of at most that size, numbered: NUMBER:COUNT
pieces()
{
	number=0 left=$1
	while [ "$left" -gt 0 ]; do
		number=$((number + 1))
		echo "$number:$((left < $2 ? left : $2))"
		left=$((left - $2))
	done
}

# hostile FUZZER RUNS: inputs beyond those that its corpus has already
hostile()
{
	corpus=$place/$1-corpus
	mkdir -p "$corpus"
	[ "$1" != fuzz-load ] || build-asan/bin/fuzz-seeds "$corpus"
	known=$(find "$corpus" -type f | wc -l)
	build-asan/bin/"$1" -runs=$(($2 + known)) -max_len=16384 -len_control=10 -rss_limit_mb=2048 \
		-timeout=60 -artifact_prefix="$place/" "$corpus"
}

for test in auditors guest hosts namesakes starts recorder failing_machine; do
	piece $test env ATTACK_ROUNDS=300 python3 tests/attack/$test.py
done
piece elsewhere ctest --test-dir build -L attack -E '^attack/' --output-on-failure
for i in $(seq $storms); do
	piece "storm-tsan-$i" build-tsan/bin/test-session_storm
	piece "storm-asan-$i" build-asan/bin/test-session_storm
done
for part in $(pieces "$kills" 50); do
	piece "kills-${part%:*}" env ATTACK_ROUNDS="${part#*:}" python3 tests/attack/storm.py
done
for part in $(pieces "$kills" 50); do
	piece "running-${part%:*}" env ATTACK_ROUNDS="${part#*:}" python3 tests/integration/record_running.py
	piece "torch-${part%:*}" env ATTACK_ROUNDS="${part#*:}" python3 tests/integration/record_running_torch.py
done
for part in $(pieces "$kills" 50); do
	piece "entries-${part%:*}" python3 bench/entries.py "${part#*:}"
done
for part in $(pieces "$sessions" 2000); do
	piece "sessions-${part%:*}" hostile fuzz-live "${part#*:}"
done
for part in $(pieces "$recordings" 20000); do
	piece "recordings-${part%:*}" hostile fuzz-load "${part#*:}"
done
for part in $(pieces "$((recordings / 500))" 100); do
	piece "damaged-${part%:*}" env ATTACK_ROUNDS="${part#*:}" SEED="${part%:*}" ATTACK_FOUND="$place" \
		BRICK_PROGRAM="$PWD/build-asan/bin/brick" python3 tests/attack/damaged.py
done
echo "$(wc -l <$place/passed) pieces: $kills kills, $sessions sessions, $recordings recordings; 0 findings"
