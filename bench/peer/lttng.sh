#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the LTTng-UST peer in a tracing session of its own, with a daemon of its own if none runs.
cd "$(dirname "$0")/../.." || exit 1
program=build/bin/peer-lttng
if [ ! -x "$program" ]; then
	echo "not built: liblttng-ust-dev is missing"
	exit 0
fi
command -v lttng >/dev/null || {
	echo "no lttng (package lttng-tools): its tracepoints are off in this run"
	exec "$program"
}
out=$(mktemp -d)
LTTNG_HOME=$out
export LTTNG_HOME
lttng-sessiond --daemonize >/dev/null 2>&1
lttng create brick-peer --output="$out/trace" >/dev/null
lttng enable-channel --userspace big --subbuf-size=4M --num-subbuf=8 >/dev/null
lttng enable-event --userspace --channel=big 'brick_peer:*' >/dev/null
lttng start >/dev/null
"$program"
lttng destroy >/dev/null 2>&1
rm -rf "$out"
