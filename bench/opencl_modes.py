# SPDX-License-Identifier: Apache-2.0
"""What timing a device costs by mode: the decoder of examples/ with its products on OpenCL.

Within each process the mode changes from repetition to repetition, there and back (deferred, per-layer,
immediate, none, none, immediate, ...), so that what the machine does meanwhile meets all modes
alike; the first eight repetitions warm up. A block is eight repetitions, two of each mode; the
effect is the Hodges-Lehmann shift of the blocks' log ratios to mode none, with a 95 % interval. Then
the times on the device of each product, deferred's against immediate's. Immediate's are the
host's, around launch and synchronisation, so that small products hold the way there and back.
`bench/opencl_modes.py [PROCESSES [BLOCKS]]`
"""
import collections
import csv
import io
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

BUILD = os.environ.get("BRICK_BUILD", "build")
MODEL = os.environ.get("BRICK_MODEL", os.path.join("build", "demo", "model-f16.gguf"))
PROCESSES = int(sys.argv[1]) if len(sys.argv) > 1 else 4
BLOCKS = int(sys.argv[2]) if len(sys.argv) > 2 else 6
BLOCK = 8
MODES = "deferred", "per-layer", "immediate"
PHASES = "prefill", "decode", "decode_p50"
PROMPT, PREDICT = 256, 24
SOURCES = {"device-event": "deferred", "sync-wall": "immediate"}  # per-layer's are events as well


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
    found = collections.defaultdict(list)
    for row in csv.DictReader(io.StringIO(done.stdout)):
        if row["source"] in SOURCES and row["flops"]:
            found[row["brick"], int(row["flops"]), SOURCES[row["source"]]].append(
                int(row["duration_ns"]))
    for key, lengths in found.items():
        times[key].append(statistics.median(lengths[len(lengths) // (BLOCKS + 1):]))


def shift(values):
    """Hodges-Lehmann estimate and 95 % interval of the centre of paired differences."""
    walsh = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(values, 2))
    n = len(values)
    rank = n * (n + 1) / 4 - 1.96 * math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    low = walsh[max(0, math.floor(rank))]
    high = walsh[min(len(walsh) - 1, len(walsh) - 1 - max(0, math.floor(rank)))]
    return statistics.median(walsh), low, high


def percent(x):
    return f"{(math.exp(x) - 1) * 100:+.2f} %"


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
        if mode == "immediate" or (brick, flops, "immediate") not in times:
            continue
        event = statistics.median(times[brick, flops, "deferred"])
        wall = statistics.median(times[brick, flops, "immediate"])
        print(f"    {brick:16} {flops / 1e6:8.1f} MFLOP: by events {event / 1e3:8.1f} us, "
              f"immediate {wall / 1e3:8.1f} us: {(event / wall - 1) * 100:+.1f} % (limit +-2 %)")


main()
