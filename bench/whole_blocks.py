# SPDX-License-Identifier: Apache-2.0
"""What recording costs a step of one token, by blocks of steps that are recorded and blocks that are left whole, in
turns, in the same memory (BRICK_PLAIN_STEPS=2,47).

Single steps that are left whole (`--measure-distortion`, distortion.py) find the CPU's branch predictors set for the
other way: calls lead past the hooks, or to them again. So here the cost is told by how many steps after such a change
it is of, and the last column, when all has settled, is what holds for a program that is recorded all the time. A control is
in it: recorded blocks of even number less those of odd number. One thread; of each process the mean of the faster half of
the steps, less the lower quartile of their place in a round; the error is that of processes (95 %).

  bench/whole_blocks.py [--seconds 90] [--model FILE]
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

BUILD = os.environ.get("BRICK_BUILD", "build")
BLOCK, PLACES, ROUNDS = 47, 16, 500
BEHIND = [(1, 4), (4, 8), (8, 16), (16, BLOCK)]  # steps since calls lead where they do
NODES_LEAST = 16  # A step with fewer samples was left whole.


def steps_of(model, scratch):
    """Of each step its time on the CPU, us, and whether it was left whole, in their order."""
    out = os.path.join(scratch, "run.pftrace")
    command = [f"{BUILD}/bin/engine-pair", f"{BUILD}/demo/engine/libs", model, "1", f"{ROUNDS},60,1", "c", *["1"] * PLACES]
    subprocess.run([f"{BUILD}/bin/brick", "record", "-q", "--no-history", "-o", out, "--", *command], check=True,
                   capture_output=True, env={**os.environ, "BRICK_PLAIN_STEPS": f"2,{BLOCK}"})
    done = subprocess.run([f"{BUILD}/bin/brick", "report", "--by", "step", "--json", out], check=True, capture_output=True)
    rows = [row for row in json.loads(done.stdout)["each_step"] if row["name"] != "outside of steps"][-PLACES * ROUNDS:]
    return [((row["step_ns"] - (row["off_ns"] or 0)) / 1e3, row["count"] < NODES_LEAST) for row in rows]


def faster(times):
    return statistics.mean(sorted(times)[:len(times) // 2])


def costs(steps):
    """Cost by steps behind a change, and the control."""
    usual = [statistics.quantiles([us for us, _ in steps[place::PLACES]], n=4)[0] for place in range(PLACES)]
    times, block, since = {}, 0, 0
    for i, (us, whole) in enumerate(steps):
        since += 1
        if i and whole != steps[i - 1][1]:
            block, since = block + 1, 0
        for low, high in BEHIND:
            if low <= since < high:
                times.setdefault((whole, block // 2 % 2, low), []).append(us - usual[i % PLACES])
    both = {(whole, low): faster(times[whole, 0, low] + times[whole, 1, low]) for whole in (False, True) for low, _ in BEHIND}
    last = BEHIND[-1][0]
    return [*(both[False, low] - both[True, low] for low, _ in BEHIND),
            faster(times[False, 0, last]) - faster(times[False, 1, last])]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--model", default=f"{BUILD}/demo/model-tiny.gguf")
    options = parser.parse_args()
    found, end = [], time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as scratch:
        while len(found) < 3 or time.monotonic() < end:
            found.append(costs(steps_of(options.model, scratch)))
    print("| processes | " + " | ".join(f"steps {low} to {high - 1} behind a change" for low, high in BEHIND) + " | control |")
    print("|---|---|---|---|---|---|")
    cells = (f"{statistics.mean(x):.2f} +- {1.96 * statistics.stdev(x) / len(x) ** 0.5:.2f}" for x in zip(*found))
    print(f"| {len(found)} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
