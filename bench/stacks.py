#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What taking stacks costs a program that spins, by its own CPU clock: the same work without, with 99 and with
997 stacks a second, in turns. Prints medians of the ratios within a turn, their quartiles, and the ratio of the
shortest runs, which a busy machine disturbs least.

  bench/stacks.py [TURNS] [ROUNDS of program-spins]
"""
import os
import statistics
import subprocess
import sys
import tempfile

BUILD = os.environ.get("BRICK_BUILD", "build")
KINDS = {"none": [], "99": ["--sample"], "997": ["--sample=997"]}


def main():
    turns, rounds = (sys.argv[1:] + ["30", "5000"][len(sys.argv) - 1:])[:2]
    seconds = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as work:
        for turn in range(int(turns)):
            kinds = list(KINDS)
            for kind in kinds[turn % 3:] + kinds[:turn % 3]:
                said = subprocess.run([f"{BUILD}/bin/brick", "record", "-q", "--no-history", "-o", work + "/run.pftrace", *KINDS[kind],
                                       "--", f"{BUILD}/bin/program-spins", rounds], check=True, capture_output=True, text=True)
                seconds[kind].append(sum(int(ns) for ns in said.stdout.split()) / 1e9)
    for kind in ("99", "997"):
        more = sorted(a / b - 1 for a, b in zip(seconds[kind], seconds["none"]))
        print(f"{kind} Hz: median {statistics.median(more):+.2%}, quartiles {more[len(more) // 4]:+.2%} to {more[3 * len(more) // 4]:+.2%}; "
              f"shortest {min(seconds[kind]) / min(seconds['none']) - 1:+.2%}, of {statistics.median(seconds['none']):.3f} s")


if __name__ == "__main__":
    main()
