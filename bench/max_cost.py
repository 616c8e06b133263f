#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording costs the program, with and without --max-cost: CPU time of the same decoding, unrecorded, recorded and
recorded with the limit, in turns, each run beside the same other programs.
    bench/max_cost.py [--limit 0.5%] [--rounds 20] [--model FILE] [--predict 200] [--repeat 20]"""
import argparse
import os
import random
import re
import statistics
import subprocess
import tempfile

BUILD = os.environ.get("BRICK_BUILD", os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build"))
BRICK = os.path.join(BUILD, "bin", "brick")


def cpu_s(text):
    user, system = re.search(r"^cpu ([0-9.]+) ([0-9.]+)$", text, re.M).groups()
    return float(user) + float(system)


def interval(values):
    """The median, and 95 % of it by resampling."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(2000))
    return statistics.median(values), medians[50], medians[-50]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit", default="0.5%")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--model", default=os.path.join(BUILD, "demo", "model-f16.gguf"))
    parser.add_argument("--predict", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=20)
    wanted = parser.parse_args()
    program = [os.path.join(BUILD, "bin", "brick-llama"), "--libs", os.path.join(BUILD, "demo", "engine", "libs"), "--model",
               wanted.model, "--prompt-tokens", "16", "--predict", str(wanted.predict), "--threads", "1", "--repeat",
               str(wanted.repeat)]
    timed = ["bash", "-c", "TIMEFORMAT='cpu %U %S'; time \"$@\" >/dev/null", "bash", *program]
    said = ""
    times = {"plain": [], "recorded": [], "limited": []}
    with tempfile.TemporaryDirectory() as scratch:
        record = [BRICK, "record", "--no-history", "--off-cpu", "off", "-o", os.path.join(scratch, "run.pftrace")]
        ways = {"plain": timed, "recorded": [*record, "--", *timed],
                "limited": [*record, "--max-cost", wanted.limit, "--", *timed]}
        for turn in range(wanted.rounds):
            names = list(ways) if turn % 2 else list(ways)[::-1]
            for name in names:
                done = subprocess.run(ways[name], stderr=subprocess.PIPE, check=True, text=True)
                times[name].append(cpu_s(done.stderr))
                if name == "limited":
                    said = next(line for line in done.stderr.splitlines() if "--max-cost" in line)
    for name in ("recorded", "limited"):
        cost = [100 * (with_it / without - 1) for with_it, without in zip(times[name], times["plain"])]
        middle, low, high = interval(cost)
        print(f"{name}: {middle:.2f} % more CPU time ({low:.2f} to {high:.2f}), {wanted.rounds} pairs")
    print(said)


if __name__ == "__main__":
    main()
