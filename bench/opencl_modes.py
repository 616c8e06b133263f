# SPDX-License-Identifier: Apache-2.0
"""What timing a device costs by mode: the decoder of examples/ with its products on OpenCL.

Within each process the mode changes there and back (deferred, per-layer, immediate, none, none, immediate, ...), so other
load meets all modes alike. Each mode has two repetitions in a row, of which the second counts, because the recorder still
works for the mode before during the first. A block is sixteen repetitions, of which two of each mode count; the first
block warms up. Effects are Hodges-Lehmann shifts of the blocks' log ratios with 95 % intervals: of times to mode none, and
of the products' times on the device to mode immediate. PoCL's device is threads on this machine, so they are pinned
(POCL_AFFINITY), as a device's cores are.
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
BLOCKS = int(sys.argv[2]) if len(sys.argv) > 2 else 16
BLOCK = 16
MODES = "deferred", "per-layer", "immediate"
PHASES = "prefill", "decode", "decode_p50"
PROMPT, PREDICT = 128, 8
os.environ.setdefault("POCL_AFFINITY", "1")


def decode(path):
    """One line for each repetition."""
    done = subprocess.run([f"{BUILD}/bin/example-decoder", "--model", MODEL, "--backend", "opencl",
                           "--modes", "--record", path, "--timing", "--prompt-tokens", str(PROMPT),
                           "--predict", str(PREDICT), "--repeat", str(BLOCK * (BLOCKS + 1))],
                          capture_output=True, text=True)
    if done.returncode == 4:
        print("skipped:", done.stderr.strip())
        sys.exit(0)
    if done.returncode:
        sys.exit(done.stderr)
    return [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]


def counts(repetition):
    """The second of each two repetitions, after the block that warms up."""
    return repetition >= BLOCK and repetition % 2


def ratios(lines, logs):
    sums = collections.Counter()
    for i, line in enumerate(lines):
        for phase in PHASES:
            if counts(i):
                sums[i // BLOCK, phase, line["mode"]] += line[f"{phase}_ns"]
    for block in range(1, BLOCKS + 1):
        for phase in PHASES:
            for mode in MODES:
                logs[phase, mode].append(
                    math.log(sums[block, phase, mode] / sums[block, phase, "none"]))


def products(path, lines, logs):
    """Median times on the device by brick and size in a block, as ratios to mode immediate."""
    done = subprocess.run([f"{BUILD}/bin/brick", "export", path, "--format", "csv"], check=True,
                          capture_output=True, text=True)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    steps = sorted(int(row["begin_ns"]) for row in rows if row["brick"] in ("Prefill", "Decode"))
    recorded = [i for i, line in enumerate(lines) if line["mode"] != "none"]
    if len(steps) != len(recorded) * PREDICT:
        sys.exit(f"{path}: {len(steps)} steps, of {len(recorded)} repetitions with {PREDICT} each")
    lengths = collections.defaultdict(list)
    for row in rows:
        if row["source"] != "device-event":
            continue
        step = bisect.bisect_right(steps, int(row["begin_ns"])) - 1
        i = recorded[step // PREDICT]
        if counts(i):
            key = row["brick"], int(row["flops"]), i // BLOCK, lines[i]["mode"]
            lengths[key].append(int(row["duration_ns"]))
    bricks = collections.Counter()  # each size as often as it ran, with its median
    for (brick, flops, block, mode), some in lengths.items():
        bricks[brick, "all", block, mode] += statistics.median(some) * len(some)
        bricks[brick, f"{flops / 1e6:.1f}", block, mode] = statistics.median(some)
    for brick, size, block, mode in bricks:
        if mode == "deferred":
            logs[brick, size].append(math.log(bricks[brick, size, block, mode] /
                                              bricks[brick, size, block, "immediate"]))


def line_of(logs):
    mid, low, high = map(percent, shift(logs))
    return f"{mid} (95 %: {low} .. {high})"


def main():
    logs, times = collections.defaultdict(list), collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "modes.pftrace")
        for _ in range(PROCESSES):
            lines = decode(path)
            ratios(lines, logs)
            products(path, lines, times)
    print(f"{PROCESSES} processes of {BLOCKS} blocks, {PROMPT} tokens of prompt, {PREDICT} predicted;"
          f" load average {os.getloadavg()[0]:.1f}")
    for phase in PHASES:
        for mode in MODES:
            limit = "  limit +3 %" if mode == "deferred" else ""
            print(f"{phase:10} {mode:9} / none: {line_of(logs[phase, mode])}{limit}")
    print("a brick's time on the device in mode deferred, of that in mode immediate (limit +-2 %),"
          " by MFLOP:")
    for brick, size in sorted(times):
        print(f"    {brick:16} {size:>6} {line_of(times[brick, size])}")


main()
