# SPDX-License-Identifier: Apache-2.0
"""How often `brick diff` is wrong on this machine.

A/A: recordings of one run of the real engine, taken one after the other; sides are drawn from them at random (fixed
seed). Mann and Whitney's test of each brick by itself at 5 % (benchstat's method) judges the same recordings. A/B: an
engine of spinning bricks with one brick 2, 5 and 10 % slower, recorded in turns. Is the right brick found, and does the
interval of the drawn recordings hold the effect of all?
`bench/compare.py [RECORDINGS [TRIALS]]`
"""
import json
import os
import random
import subprocess
import sys
import tempfile

BUILD = os.environ.get("BRICK_BUILD", "build")
RECORDINGS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
TRIALS = int(sys.argv[2]) if len(sys.argv) > 2 else 200
BRICK = f"{BUILD}/bin/brick"
ENGINE = [f"{BUILD}/bin/brick-llama", "--libs", f"{BUILD}/demo/engine/libs", "--model",
          f"{BUILD}/demo/model-q8_0.gguf", "--prompt-tokens", "64", "--predict", "96"]
SIDES = (10, 5, 4, 3, 2, 1)
SIDE, BOUND = 10, 23  # of U, two-sided 5 %, 10 and 10
DIFFERENT = {"slower", "faster", "only in A", "only in B"}


def diff(a, b):
    done = subprocess.run([BRICK, "diff", "--disturbed", "--json", *a, "--", *b], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def rows(answer):
    named = [("", answer["ttft"])] if answer["ttft"] else []
    for name, phase in answer["phases"].items():
        named += [(f"{name} rate", phase["rate"]), (f"{name} time", phase["time"])]
        named += [(f"{name} {row['name']}", row) for row in phase["bricks"]]
    return named


def alarms(answer):
    return [name for name, row in rows(answer) if row["verdict"] in DIFFERENT]


def totals(path):
    """Self time of each brick, as a report has it."""
    done = subprocess.run([BRICK, "report", "--json", path], check=True, capture_output=True, text=True)
    return {b["name"]: b["self_ns"] for b in json.loads(done.stdout)["bricks"]}


def differs(a, b):
    above = sum((y > x) + (y == x) / 2 for x in a for y in b)
    return min(above, len(a) * len(b) - above) <= BOUND


def identical(folder):
    paths = []
    for i in range(RECORDINGS):
        paths.append(f"{folder}/{i}.pftrace")
        subprocess.run([BRICK, "record", "-q", "-o", paths[-1], "--", *ENGINE], check=True,
                       stdout=subprocess.DEVNULL)
    values = {path: totals(path) for path in paths}
    draw, called = random.Random(1), {f"{n} and {n}": 0 for n in SIDES}
    whole, each = dict(called), 0
    for _ in range(TRIALS):
        some = draw.sample(paths, 2 * SIDE)
        for what, side in zip(called, SIDES):
            answer = diff(some[:side], some[side:2 * side])
            called[what] += bool(alarms(answer))
            whole[what] += answer["verdict"] in DIFFERENT
        each += any(differs([values[p][name] for p in some[:SIDE]], [values[p][name] for p in some[SIDE:]])
                    for name in values[some[0]])
    for what, count in called.items():
        print(f"A/A, {what}: {count} of {TRIALS} families called different, {whole[what]} on the whole",
              flush=True)
    print(f"A/A, 10 and 10, each brick by itself (Mann-Whitney, 5 %): {each} of {TRIALS} families", flush=True)


def planted(folder, percent):
    sides = ([], [])
    for i in range(2 * RECORDINGS):
        side = (i + 1) // 2 % 2
        sides[side].append(f"{folder}/{percent}-{i}.pftrace")
        # One layer of three has it: 3 times as much there.
        subprocess.run([f"{BUILD}/bin/program-compare_recording", sides[side][-1],
                        str(3 * percent * side)], check=True)
    draw, found, covered, others = random.Random(percent), 0, 0, 0
    truth = dict(rows(diff(*sides)))["decode DownProjection"]["effect"]
    for _ in range(TRIALS // 2):
        answer = diff(draw.sample(sides[0], SIDE), draw.sample(sides[1], SIDE))
        row = dict(rows(answer))["decode DownProjection"]
        found += row["verdict"] == "slower"
        covered += row["low"] <= truth <= row["high"]
        others += any("QkvProjection" in name or "UpProjection" in name for name in alarms(answer))
    print(f"A/B, {percent} % (all recordings: {100 * truth:.3f}), 10 and 10: found in {found} of {TRIALS // 2}, the interval holds it in {covered}, "
          f"another brick called different in {others}", flush=True)


def main():
    with tempfile.TemporaryDirectory(prefix="brick-compare-") as folder:
        for percent in (2, 5, 10):
            planted(folder, percent)
        identical(folder)


main()
