#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What can only be settled on a machine with an NVIDIA GPU, in one run of eight minutes: part by part, each with
# a limit of its own and its results written at once, so that a part that hangs or crashes costs nothing but itself.
# First CUPTI alone, without Brick; then recordings of tests/programs/cuda_work.c (check.py), how they end, the backend
# through events, other programs where they are there; what it costs comes last. Exit 77: no GPU.
#
#   tests/gpu/run.sh [--dry] [BUILD] [OUT]    build directory (build), directory for results (build/gpu)
#
# --dry runs the same on the doubles of driver and CUPTI, but for what needs a device. Environment: GPU_PART_S, seconds
# for a part (60); GPU_COST_S, for what recording costs (240); GPU_LLAMA, a command that runs a model through ggml's CUDA backend; BRICK_CUPTI, libcupti.so;
# GPU_CUDART, libcudart.so.

set -u
cd "$(dirname "$0")/../.."
dry=0
if [ "${1:-}" = --dry ]; then
	dry=1
	shift
fi
build=${1:-build} out=${2:-build/gpu} limit=${GPU_PART_S:-60} cost_s=${GPU_COST_S:-240}
mkdir -p "$out"
if [ $dry = 1 ]; then
	export LD_LIBRARY_PATH=$build/lib/doubles
	export BRICK_CUPTI=$build/lib/doubles/libcupti.so GPU_ROUNDS=${GPU_ROUNDS:-1} LAUNCHES=2000 REPLAYS=200 STEPS=20 CROWD=16 WIDE=4
elif ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L >"$out/gpu.txt" 2>&1; then
	echo "gpu: no NVIDIA GPU here" >&2
	exit 77
else
	nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | tee -a "$out/gpu.txt"
fi
export BRICK_BUILD=$build PYTHONUNBUFFERED=1 # results at once
failed=0

find_library() { # NAME DIRECTORY...
	local name=$1 directory
	shift
	for directory in "$@"; do
		[ -e "$directory/$name" ] && echo "$directory/$name" && return
	done
}

part() { # NAME COMMAND...
	local name=$1 code
	shift
	echo "== $name"
	timeout -k 5 "$limit" "$@" >"$out/$name.txt" 2>&1
	code=$?
	tail -n 25 "$out/$name.txt"
	case $code in
	0) echo "-- $name: passed" ;;
	77) echo "-- $name: skipped" ;;
	124 | 137) echo "-- $name: still ran after $limit s" ;;
	*) echo "-- $name: failed ($code)" ;;
	esac | tee -a "$out/results.txt"
	[ $code = 0 ] || [ $code = 77 ] || failed=1
}

: >"$out/results.txt"
for engine in "$build"/demo/engine-cuda/*/; do # of examples/demo/engine-device.sh cuda
	[ -e "$engine/libggml-cuda.so" ] && : "${GPU_LLAMA:=$build/bin/brick-llama --libs $engine --model $build/demo/model-f16.gguf --prompt-tokens 64 --predict 32}"
done
[ -z "${GPU_LLAMA:-}" ] || export GPU_LLAMA
toolkit=${CUDA_HOME:-/usr/local/cuda}
cupti=${BRICK_CUPTI:-$(find_library libcupti.so "$toolkit/extras/CUPTI/lib64" "$toolkit/lib64" "$toolkit"/targets/*/lib)}
cudart=${GPU_CUDART:-$(find_library libcudart.so "$toolkit/lib64" "$toolkit"/targets/*/lib)}
[ $dry = 1 ] && cudart=
[ -n "$cupti" ] && export BRICK_CUPTI=$cupti
part probe "$build/bin/program-cuda_probe" "${cupti:-libcupti.so}" ${cudart:+"$cudart"}
part doctor "$build/bin/brick" doctor
for what in plain graph light events streams threads crowd wide child inside early many leave fork killed; do
	part "$what" python3 tests/gpu/check.py "$out" "$what"
done
[ $dry = 1 ] || part events_backend "$build/bin/program-cuda_events"
part torch python3 tests/gpu/others.py "$out" torch
part llama python3 tests/gpu/others.py "$out" llama
limit=$((cost_s + 60)) # its last round may take longer than it thought
part cost python3 tests/gpu/cost.py "$out" "$cost_s"
echo "== to commit: the table and calibrations above into docs/PERFORMANCE.md, of $(tail -n 1 "$out/gpu.txt" 2>/dev/null)"
echo "== results"
cat "$out/results.txt"
exit $failed
