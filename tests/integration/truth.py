# SPDX-License-Identifier: Apache-2.0
"""What Brick reports of bricks of known length is what was really done.

program-truth spins in bricks of 2 us to 50 ms and in a nest, on 1 and 4 threads, and says between
which bounds each total lies. The report must agree within 1 % or 200 ns per sample, whichever is
larger; self times never sum to more than wall x threads; counts are exact. Recorded both ways: by
`brick record` from outside and by the program itself.
"""
import json
import os
import subprocess
import sys
import tempfile

BUILD = os.environ["BRICK_BUILD"]
BRICK = os.path.join(BUILD, "bin", "brick")
TRUTH = os.path.join(BUILD, "bin", "program-truth")


def report(path):
    out = subprocess.run([BRICK, "report", path, "--json"], check=True, capture_output=True)
    return json.loads(out.stdout)


def within(value, low, high, count, what):
    slack = max(0.01 * high, 200 * count)
    if not low - slack <= value <= high + slack:
        sys.exit(f"{what}: reported {value} ns, true {low}..{high} ns, slack {slack:.0f} ns")


def compare(truth, rep, what):
    rows = {row["name"]: row for row in rep["bricks"]}
    for name, t in truth["bricks"].items():
        row = rows.get(name)
        if not row:
            sys.exit(f"{what}: {name} is missing from the report")
        if row["count"] != t["count"]:
            sys.exit(f"{what}: {name} ran {t['count']} times, reported {row['count']}")
        within(row["total_ns"], t["low_ns"], t["high_ns"], t["count"], f"{what}: {name} total")
        within(row["self_ns"], t["self_low_ns"], t["self_high_ns"], t["count"],
               f"{what}: {name} self")
        mean = t["low_ns"] / t["count"]
        if not row["min_ns"] <= row["p50_ns"] * 1.01 or not row["p50_ns"] <= row["max_ns"] * 1.01:
            sys.exit(f"{what}: {name}: min, median and max out of order: {row}")
        # of its time on the CPU, less that of what it holds; the true one is by the wall
        off = (row["off_ns"] or 0) / t["count"]
        if name.startswith("spin") and row["avg_ns"] + off < mean * 0.99 - 200:
            sys.exit(f"{what}: {name}: average {row['avg_ns']} and {off:.0f} off the CPU below the true {mean:.0f}")
        if name.startswith("spin") and row["elements"] != 10 * t["count"]:
            sys.exit(f"{what}: {name}: {row['elements']} elements")
    self_sum = sum(row["self_ns"] for row in rep["bricks"])
    if self_sum > truth["wall_ns"] * truth["threads"] * 1.001:
        sys.exit(f"{what}: self times sum to {self_sum}, more than wall x threads")
    losses = {k: v for k, v in rep["losses"].items() if v and k != "complete"}
    if losses:
        sys.exit(f"{what}: losses {losses}")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        for threads in "1", "4":
            path = os.path.join(tmp, f"outside-{threads}.pftrace")
            out = subprocess.run([BRICK, "record", "-q", "-o", path, "--", TRUTH, threads],
                                 check=True, capture_output=True)
            compare(json.loads(out.stdout), report(path), f"recorded, {threads} threads")
            path = os.path.join(tmp, f"embedded-{threads}.pftrace")
            out = subprocess.run([TRUTH, threads, path], check=True, capture_output=True)
            compare(json.loads(out.stdout), report(path), f"embedded, {threads} threads")
        env = dict(os.environ, BRICK_CLOCK="monotonic")
        path = os.path.join(tmp, "fallback.pftrace")
        out = subprocess.run([TRUTH, "1", path], check=True, capture_output=True, env=env)
        rep = report(path)
        compare(json.loads(out.stdout), rep, "OS clock")
        if rep["run"]["clock"]["source"] != "monotonic":
            sys.exit("the fall-back clock is not named in the report")


main()
