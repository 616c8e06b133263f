# SPDX-License-Identifier: Apache-2.0
"""What timing a device costs by mode: the decoder of examples/ with its products on OpenCL, in
fresh processes whose order of modes turns from round to round, so that what the machine does
meanwhile meets all modes alike. The effect is the Hodges-Lehmann shift of the log ratios to mode
none in the same round, with a 95 % interval. Then the times on the device of each brick: deferred's
against immediate's, prompts and single tokens apart. Immediate's times are the host's, around launch
and synchronisation, so that small bricks hold the way there and back.
`bench/opencl_modes.py [ROUNDS [REPEATS]]`
"""
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
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 12
REPEATS = int(sys.argv[2]) if len(sys.argv) > 2 else 4
MODES = "none", "deferred", "per-layer", "immediate"
PHASES = "prefill", "decode", "decode_p50"
PROMPT, PREDICT = 256, 24


def decode(mode, path):
    """Medians of a process's repetitions but the first, in ns."""
    done = subprocess.run([f"{BUILD}/bin/example-decoder", "--model", MODEL, "--backend", "opencl",
                           "--mode", mode, "--record", path, "--timing", "--prompt-tokens",
                           str(PROMPT), "--predict", str(PREDICT), "--repeat", str(REPEATS + 1)],
                          capture_output=True, text=True)
    if done.returncode == 4:
        print("skipped:", done.stderr.strip())
        sys.exit(0)
    if done.returncode:
        sys.exit(done.stderr)
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")][1:]
    return {phase: statistics.median(line[f"{phase}_ns"] for line in lines) for phase in PHASES}


def device_times(path):
    """Mean time on the device of an execution, by (phase, brick)."""
    times = {}
    for phase in "prefill", "decode":
        done = subprocess.run([f"{BUILD}/bin/brick", "report", path, "--json", "--phase", phase],
                              check=True, capture_output=True)
        for row in json.loads(done.stdout)["bricks"]:
            if row.get("device_count"):
                times[phase, row["name"]] = row["device_ns"] / row["device_count"]
    return times


def shift(values):
    """Hodges-Lehmann estimate and 95 % interval of the centre of paired differences."""
    walsh = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(values, 2))
    n = len(values)
    rank = n * (n + 1) / 4 - 1.96 * math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    low = walsh[max(0, math.floor(rank))]
    high = walsh[min(len(walsh) - 1, len(walsh) - 1 - math.floor(rank))]
    return statistics.median(walsh), low, high


def percent(x):
    return f"{(math.exp(x) - 1) * 100:+.2f} %"


def main():
    times = {mode: [] for mode in MODES}
    bricks = {mode: [] for mode in MODES[1:]}
    with tempfile.TemporaryDirectory() as tmp:
        for turn in range(ROUNDS):
            first = turn % len(MODES)
            order = MODES[first:] + MODES[:first]
            for mode in order if turn // len(MODES) % 2 == 0 else reversed(order):
                path = os.path.join(tmp, f"{mode}.pftrace")
                times[mode].append(decode(mode, path))
                if mode != "none":
                    bricks[mode].append(device_times(path))
    print(f"{ROUNDS} rounds of fresh processes, {REPEATS} repetitions each; "
          f"load average {os.getloadavg()[0]:.1f}")
    for phase in PHASES:
        none = statistics.median(t[phase] for t in times["none"])
        print(f"{phase}: none {none / 1e6:.2f} ms")
        for mode in MODES[1:]:
            logs = [math.log(t[phase] / n[phase]) for t, n in zip(times[mode], times["none"])]
            mid, low, high = map(percent, shift(logs))
            limit = ", limit +3 %" if mode == "deferred" else ""
            print(f"    {mode:10} {mid} (95 %: {low} .. {high}{limit})")
    print("time on the device of an execution, deferred against immediate (limit +-2 %):")
    for key in sorted(bricks["immediate"][0]):
        pairs = [(d[key], i[key]) for d, i in zip(bricks["deferred"], bricks["immediate"])
                 if key in d and key in i]
        mid, low, high = map(percent, shift([math.log(d / i) for d, i in pairs]))
        print(f"    {key[0]:8} {key[1]:17} {statistics.median(d for d, _ in pairs) / 1e3:9.1f} us  "
              f"{mid} (95 %: {low} .. {high})")


main()
