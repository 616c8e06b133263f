# SPDX-License-Identifier: Apache-2.0
"""What timing a device costs by mode: the decoder of examples/ with its products on OpenCL.

Within each process the mode changes from repetition to repetition, there and back (deferred, per-layer,
immediate, none, none, immediate, ...), so that what the machine does meanwhile meets all modes
alike; the first eight repetitions warm up. A block is eight repetitions, two of each mode; the
effect is the Hodges-Lehmann shift of the blocks' log ratios to mode none, with a 95 % interval. Then
the times on the device of each product, deferred's against immediate's.
`bench/opencl_modes.py [PROCESSES [BLOCKS]]`
"""
import bisect
import collections
import csv
import io
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

from lib.paired import percent, shift

BUILD = os.environ.get("BRICK_BUILD", "build")
MODEL = os.environ.get("BRICK_MODEL", os.path.join("build", "demo", "model-f16.gguf"))
PROCESSES = int(sys.argv[1]) if len(sys.argv) > 1 else 4
BLOCKS = int(sys.argv[2]) if len(sys.argv) > 2 else 6
BLOCK = 8
MODES = "deferred", "per-layer", "immediate"
PHASES = "prefill", "decode", "decode_p50"
PROMPT, PREDICT = 256, 24
THERE = "deferred", "per-layer", "immediate", "none"
ORDER = THERE + THERE[::-1]


def decode(path):
    """Lines of the repetitions behind the first block."""
    done = subprocess.run([f"{BUILD}/bin/example-decoder", "--model", MODEL, "--backend", "opencl",
                           "--modes", "--record", path, "--timing", "--prompt-tokens", str(PROMPT),
                           "--predict", str(PREDICT), "--repeat", str(BLOCK * (BLOCKS + 1))],
                          capture_output=True, text=True)
    if done.returncode == 4:
        print("skipped:", done.stderr.strip())
        sys.exit(0)
    if done.returncode:
        sys.exit(done.stderr)
    return [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")][BLOCK:]


def ratios(lines, logs):
    for first in range(0, len(lines), BLOCK):
        block = lines[first:first + BLOCK]
        for phase in PHASES:
            sums = collections.Counter()
            for line in block:
                sums[line["mode"]] += line[f"{phase}_ns"]
            for mode in MODES:
                logs[phase, mode].append(math.log(sums[mode] / sums["none"]))


def products(path, times):
    """Medians of the lengths on the device, by brick and size; without what warmed up."""
    done = subprocess.run([f"{BUILD}/bin/brick", "export", path, "--format", "csv"], check=True,
                          capture_output=True, text=True)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    steps = sorted(int(row["begin_ns"]) for row in rows if row["brick"] in ("Prefill", "Decode"))
    found = collections.defaultdict(list)
    for row in rows:
        if row["source"] == "device-event" and row["flops"]:
            step = bisect.bisect_right(steps, int(row["begin_ns"])) - 1
            mode = ORDER[step // PREDICT % BLOCK]
            found[row["brick"], int(row["flops"]), mode].append(int(row["duration_ns"]))
    for key, lengths in found.items():
        times[key].append(statistics.median(lengths[len(lengths) // (BLOCKS + 1):]))


def main():
    logs, times = collections.defaultdict(list), collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "modes.pftrace")
        for _ in range(PROCESSES):
            ratios(decode(path), logs)
            products(path, times)
    print(f"{PROCESSES} processes of {BLOCKS} blocks, {PROMPT} tokens of prompt, {PREDICT} predicted;"
          f" load average {os.getloadavg()[0]:.1f}")
    for phase in PHASES:
        for mode in MODES:
            mid, low, high = map(percent, shift(logs[phase, mode]))
            limit = ", limit +3 %" if mode == "deferred" else ""
            print(f"{phase:10} {mode:9} / none: {mid} (95 %: {low} .. {high}{limit})")
    print("median length of a product on the device, by size:")
    for brick, flops, mode in sorted(times):
        if mode != "deferred" or (brick, flops, "immediate") not in times:
            continue
        event = statistics.median(times[brick, flops, "deferred"])
        wall = statistics.median(times[brick, flops, "immediate"])
        print(f"    {brick:16} {flops / 1e6:8.1f} MFLOP: deferred {event / 1e3:8.1f} us, "
              f"immediate {wall / 1e3:8.1f} us: {(event / wall - 1) * 100:+.1f} % (limit +-2 %)")


main()
