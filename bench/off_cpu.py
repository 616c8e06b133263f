# SPDX-License-Identifier: Apache-2.0
"""Whether a neighbour on the same CPU changes what a recording says of the engine.

The demo's model decodes on one CPU, by itself and beside a shell that spins there, in turns. Of all decode
steps of all turns together: p50 and p99 of the time on the CPU (`report --by step`), which should be the same, and
of the time on the wall, which is not; and the first advice of `path`. How far p99 moves by chance: turns drawn
again and again. What interrupts and the host took of that CPU: /proc/stat, which counts it by ticks.

  bench/off_cpu.py [--turns N] [--tokens N] [--cpu N]
"""
import argparse
import collections
import csv
import io
import json
import os
import random
import subprocess
import tempfile

BUILD = os.environ.get("BRICK_BUILD", "build")
BRICK = f"{BUILD}/bin/brick"
ENGINE = [f"{BUILD}/bin/brick-llama", "--libs", f"{BUILD}/demo/engine/libs", "--model", f"{BUILD}/demo/model-f16.gguf",
          "--prompt-tokens", "16", "--threads", "1"]


def record(path, options):
    pin = lambda: os.sched_setaffinity(0, {options.cpu})
    subprocess.run([BRICK, "record", "-q", "-o", path, "--", *ENGINE, "--predict", str(options.tokens)], check=True,
                   stdout=subprocess.DEVNULL, preexec_fn=pin)
    rows = subprocess.run([BRICK, "report", "--by", "step", "--csv", path], check=True, capture_output=True, text=True)
    steps = [r for r in csv.DictReader(io.StringIO(rows.stdout)) if r["name"].startswith("decode")]
    paths = subprocess.run([BRICK, "path", "--json", path], check=True, capture_output=True)
    section = next(s for s in json.loads(paths.stdout)["sections"] if s["phase"] == "decode")
    # the first steps of a run fill caches that the competitor takes again and again
    return [(float(r["cpu_ns"]), float(r["self_ns"])) for r in steps[2:]], section["bricks"][0]["name"]


def taken(cpu):
    """Of the CPU so far: ticks by interrupts, by soft interrupts, by the host, and of all; block interrupts."""
    with open("/proc/stat") as f:
        ticks = next([int(v) for v in line.split()[1:]] for line in f if line.startswith(f"cpu{cpu} "))
    with open("/proc/softirqs") as f:
        block = next(int(line.split()[1 + cpu]) for line in f if line.lstrip().startswith("BLOCK:"))
    return ticks[5], ticks[6], ticks[7], sum(ticks[:8]), block


def moves(turns):
    """The share by which p99 is greater beside a competitor: found, and the middle 95 % of turns drawn again."""
    def more(draw):
        p99 = [at([cpu for turn in draw(turns[beside]) for cpu, _ in turn], .99) for beside in (0, 1)]
        return 100 * (p99[1] / p99[0] - 1)
    drawn = sorted(more(lambda all: random.choices(all, k=len(all))) for _ in range(1000))
    return more(list), drawn[25], drawn[974]


def at(values, share):
    return sorted(values)[min(int(share * len(values)), len(values) - 1)] / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--cpu", type=int, default=0)
    options = parser.parse_args()
    turns, advice = collections.defaultdict(list), collections.defaultdict(collections.Counter)
    took = {0: [0] * 5, 1: [0] * 5}
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "run.pftrace")
        for turn in range(2 * options.turns):
            beside = (turn + turn // 2) % 2
            spinner = subprocess.Popen(["taskset", "-c", str(options.cpu), "sh", "-c", "while :; do :; done"]) \
                if beside else None
            before = taken(options.cpu)
            try:
                found, first = record(path, options)
            finally:
                if spinner:
                    spinner.kill()
                    spinner.wait()
            took[beside] = [sum(v) for v in zip(took[beside], (b - a for a, b in zip(before, taken(options.cpu))))]
            turns[beside].append(found)
            advice[beside][first] += 1
    print("| | steps | CPU p50, ms | CPU p95 | CPU p99 | wall p50 | wall p99 | first advice |\n|---|---|---|---|---|---|---|---|")
    for beside, name in ((0, "by itself"), (1, "beside a competitor")):
        cpu, wall = zip(*(step for turn in turns[beside] for step in turn))
        print(f"| {name} | {len(cpu)} | {at(cpu, .5):.3f} | {at(cpu, .95):.3f} | {at(cpu, .99):.3f} | {at(wall, .5):.2f} | "
              f"{at(wall, .99):.2f} | {', '.join(f'{k} {v}' for k, v in advice[beside].most_common())} |")
    print("p99 on the CPU beside a competitor: %+.1f %% (%+.1f to %+.1f)" % moves(turns))
    for beside, name in ((0, "by itself"), (1, "beside a competitor")):
        irq, soft, steal, everything, block = took[beside]
        print(f"{name}: of CPU {options.cpu} interrupts took {100 * irq / everything:.2f} %, soft ones {100 * soft / everything:.2f} % "
              f"({block} of BLOCK), the host {100 * steal / everything:.2f} %")


if __name__ == "__main__":
    main()
