#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All benches, one after the other. They print ratios within one run; figures worth keeping go to
# docs/PERFORMANCE.md with their date and machine.
set -u
cd "$(dirname "$0")/.."
for bench in build/bin/bench-*; do
	printf '\n== %s\n' "$(basename "$bench")"
	"$bench" || exit 1
done
bench/peer/lttng.sh || exit 1
bench/peer/tracy.sh || exit 1
for bench in bench/*.py; do
	[ -e "$bench" ] || continue
	printf '\n== %s\n' "$(basename "$bench")"
	BRICK_BUILD=build python3 "$bench" || exit 1
done
