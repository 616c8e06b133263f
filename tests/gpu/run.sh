#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What can only be tested on a machine with an NVIDIA GPU: records tests/programs/cuda_work.c there,
# checks what the recordings say (check.py), times backend and graphs through events (events.c), and
# measures what recording costs against the unprofiled program, interleaved. Exit 77: no GPU.
#
#   tests/gpu/run.sh [BUILD] [OUT]    build directory (build), directory for results (build/gpu)

set -u
cd "$(dirname "$0")/../.."
build=${1:-build} out=${2:-build/gpu}
mkdir -p "$out"
if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L >"$out/gpu.txt" 2>&1; then
	echo "gpu: no NVIDIA GPU here" >&2
	exit 77
fi
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | tee -a "$out/gpu.txt"
"$build/bin/brick" doctor | sed -n '/Recording/,$p' >"$out/doctor.txt"
failed=0
echo "== recordings"
BRICK_BUILD=$build python3 tests/gpu/check.py "$out" || failed=1
echo "== events"
"$build/bin/program-cuda_events" | tee "$out/events.txt"
[ "${PIPESTATUS[0]}" = 0 ] || failed=1
echo "== what it costs"
BRICK_BUILD=$build python3 tests/gpu/cost.py "$out" || failed=1
exit $failed
