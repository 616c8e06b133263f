# SPDX-License-Identifier: Apache-2.0
"""What recording costs a step of one token, by blocks of steps that are recorded and blocks that are left whole, in
turns, in the same memory (BRICK_PLAIN_STEPS=2,47).

Single steps that are left whole (`--measure-distortion`, distortion.py) still have the hooks of phases and graphs, which are
only muted. In a block calls lead past these as well. That takes the CPU some steps to get used to, so the cost is told by how
many steps behind such a change it is of; the last one is what holds for a program that is recorded all the time. What a step's own
begin and end cost is in both. The control is recorded blocks of even number less those of odd number. One thread; of each
process the mean of the faster half of the steps, each less the lower quartile of its place in a round; of 60 % of the processes in
the middle, +- 95 %.

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


def middle(values):
    """The mean of 60 % of them, and its error by what they differ by when the others are moved to its ends."""
    values = sorted(values)
    cut = len(values) // 5
    inner = values[cut:len(values) - cut]
    moved = [min(max(value, inner[0]), inner[-1]) for value in values]
    return statistics.mean(inner), 1.96 * statistics.stdev(moved) / 0.6 / len(values) ** 0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--model", default=f"{BUILD}/demo/model-tiny.gguf")
    options = parser.parse_args()
    found, end = [], time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as scratch:
        while len(found) < 5 or time.monotonic() < end:
            found.append(costs(steps_of(options.model, scratch)))
    print("| processes | " + " | ".join(f"steps {low} to {high - 1} behind a change" for low, high in BEHIND) + " | control |")
    print("|---|---|---|---|---|---|")
    cells = ("{:.2f} +- {:.2f}".format(*middle(values)) for values in zip(*found))
    print(f"| {len(found)} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
