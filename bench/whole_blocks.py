# SPDX-License-Identifier: Apache-2.0
"""What recording costs a step, by blocks of steps with and without hooks, in turns, in the same memory
(BRICK_PLAIN_STEPS=2,47).

Single steps without hooks (`--measure-distortion`, distortion.py) still have the hooks of phases and graphs, which are only
muted. In a block, calls lead past these as well. The CPU needs some steps to get used to that, so the bench prints the cost
by how many steps ago the change was; the last figure holds for a program that is recorded all the time. Both kinds have a
step's own begin and end. The control is recorded blocks of even number less those of odd number. One thread. For each
process the bench takes the mean of the faster half of the steps, each less the lower quartile of its place in a round;
then the mean of the middle 60 % of the processes, +- 95 %. Cases are those of distortion.py, in turns. After the rows comes
the ratio of batches whose shapes change to those whose shapes do not, 95 % by drawing processes again.

  bench/whole_blocks.py [--seconds 90] [--model FILE] [--cases "1 token,4 tokens,2 to 5 tokens"] [--keep FILE]
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile
import time

from distortion import CASES, cases

BUILD = os.environ.get("BRICK_BUILD", "build")
BLOCK, STEPS = 47, 6000
BEHIND = [(1, 4), (4, 8), (8, 16), (16, BLOCK)]  # steps since calls lead where they do
NODES_LEAST = 16  # A step with fewer samples was left whole.
DRAWN = 4000
CHANGING = {"1 and 2 tokens": "1 token", "2 to 5 tokens": "4 tokens"}  # to be held against


def steps_of(model, scratch, batches):
    """For each step in order: its time on the CPU in us, and whether it had no hooks."""
    rounds = STEPS // len(batches)
    out = os.path.join(scratch, "run.pftrace")
    command = [f"{BUILD}/bin/engine-pair", f"{BUILD}/demo/engine/libs", model, "1", f"{rounds},60,1", "c", *batches]
    subprocess.run([f"{BUILD}/bin/brick", "record", "-q", "--no-history", "-o", out, "--", *command], check=True,
                   capture_output=True, env={**os.environ, "BRICK_PLAIN_STEPS": f"2,{BLOCK}"})
    done = subprocess.run([f"{BUILD}/bin/brick", "report", "--by", "step", "--json", out], check=True, capture_output=True)
    rows = [row for row in json.loads(done.stdout)["each_step"] if row["name"] != "outside of steps"][-rounds * len(batches):]
    return [((row["step_ns"] - (row["off_ns"] or 0)) / 1e3, row["count"] < NODES_LEAST) for row in rows]


def faster(times):
    return statistics.mean(sorted(times)[:len(times) // 2])


def costs(steps, places):
    """Cost by the number of steps after a change, and the control."""
    usual = [statistics.quantiles([us for us, _ in steps[place::places]], n=4)[0] for place in range(places)]
    times, block, since = {}, 0, 0
    for i, (us, whole) in enumerate(steps):
        since += 1
        if i and whole != steps[i - 1][1]:
            block, since = block + 1, 0
        for low, high in BEHIND:
            if low <= since < high:
                times.setdefault((whole, block // 2 % 2, low), []).append(us - usual[i % places])
    both = {(whole, low): faster(times[whole, 0, low] + times[whole, 1, low]) for whole in (False, True) for low, _ in BEHIND}
    last = BEHIND[-1][0]
    return [*(both[False, low] - both[True, low] for low, _ in BEHIND),
            faster(times[False, 0, last]) - faster(times[False, 1, last])]


def middle(values):
    """The mean of the middle 60 %, and its error when the others are moved to the ends."""
    values = sorted(values)
    cut = len(values) // 5
    inner = values[cut:len(values) - cut]
    moved = [min(max(value, inner[0]), inner[-1]) for value in values]
    return statistics.mean(inner), 1.96 * statistics.stdev(moved) / 0.6 / len(values) ** 0.5


def ratio(changing, usual):
    """The ratio of their middles, and its 95 % range over drawn processes."""
    def drawn(values):
        return middle(random.choices(values, k=len(values)))[0]
    ratios = sorted(drawn(changing) / max(drawn(usual), 0.01) for _ in range(DRAWN))
    return middle(changing)[0] / middle(usual)[0], ratios[DRAWN // 40], ratios[-1 - DRAWN // 40]


def show(found):
    print("| batches | processes | " + " | ".join(f"steps {low} to {high - 1} behind a change" for low, high in BEHIND) + " | control |")
    print("|---|---|---|---|---|---|---|")
    for case, processes in found.items():
        cells = ("{:.2f} +- {:.2f}".format(*middle(values)) for values in zip(*processes))
        print(f"| {case} | {len(processes)} | " + " | ".join(cells) + " |", flush=True)
    for case in found:
        if CHANGING.get(case) in found:
            settled = [[process[len(BEHIND) - 1] for process in found[which]] for which in (case, CHANGING[case])]
            print("{}: {:.2f} times ({:.2f} .. {:.2f}) what {} cost".format(case, *ratio(*settled), CHANGING[case]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--model", default=f"{BUILD}/demo/model-tiny.gguf")
    parser.add_argument("--cases", type=cases, default=["1 token"])
    parser.add_argument("--keep", help="a line of JSON for each process is added to it; those there count as well")
    options = parser.parse_args()
    found, end = {case: [] for case in options.cases}, time.monotonic() + options.seconds
    if options.keep and os.path.exists(options.keep):
        with open(options.keep, encoding="utf-8") as file:
            for case, process in map(json.loads, file):
                found.setdefault(case, []).append(process)
    with tempfile.TemporaryDirectory() as scratch:
        while time.monotonic() < end or min(map(len, found.values())) < 5:
            for case in options.cases:
                batches = CASES[case].split()[1:]
                process = costs(steps_of(options.model, scratch, batches), len(batches))
                found[case].append(process)
                if options.keep:
                    with open(options.keep, "a", encoding="utf-8") as file:
                        file.write(json.dumps([case, process]) + "\n")
    show(found)


if __name__ == "__main__":
    main()
