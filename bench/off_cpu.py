# SPDX-License-Identifier: Apache-2.0
"""Whether a neighbour on the same CPU changes what a recording says of the engine.

A model (the demo's) decodes on one CPU in one process after another. A shell that spins there is stopped and continued while each decodes, so
that what a process's memory, the host and the hour make of it falls on both alike. Of all decode steps that lie within
a period with or without it: p50 and p99 of the time on the CPU (`report --by step`), which should be the same, and
of the time on the wall, which is not. The first advice of `path`, of processes recorded whole by themselves and beside it. How far p99 moves by
chance: processes drawn again and again. What interrupts and the host took of that CPU: /proc/stat, which counts it by ticks.

  bench/off_cpu.py [--turns N] [--tokens N] [--cpu N] [--model GGUF] [--period MS] [--seconds S] [--keep FILE]
"""
import argparse
import collections
import contextlib
import json
import os
import random
import signal
import subprocess
import tempfile
import threading
import time
from datetime import datetime

BUILD = os.environ.get("BRICK_BUILD", "build")
BRICK = f"{BUILD}/bin/brick"
ENGINE = [f"{BUILD}/bin/brick-llama", "--libs", f"{BUILD}/demo/engine/libs", "--prompt-tokens", "16", "--threads", "1"]
SETTLES = 10_000_000  # ns behind a switch: the scheduler's slice that had begun
BESIDE = 3  # times as long beside it as by itself: there most steps are interrupted


class Spinner:
    """A shell that spins on a CPU, and when it did so: (when, whether) by CLOCK_REALTIME."""

    def __init__(self, cpu):
        self.shell = subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"])
        self.switches = []
        self.turn(False)

    def turn(self, on):
        self.shell.send_signal(signal.SIGCONT if on else signal.SIGSTOP)
        self.switches.append((time.time_ns(), on))

    @contextlib.contextmanager
    def alternating(self, period, first):
        """On and off in turns while the body runs."""
        over = threading.Event()
        def turns():
            on = first
            while not over.is_set():
                self.turn(on)
                over.wait(period * (BESIDE if on else 1))
                on = not on
            self.turn(False)
        thread = threading.Thread(target=turns)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def state(self, begin, end):
        """Whether it spun all that time; None where it was switched within or just before."""
        last = None
        for when, on in self.switches:
            if when >= end:
                break
            if when > begin - SETTLES:
                return None
            last = on
        return last


def record(path, options):
    pin = lambda: os.sched_setaffinity(0, {options.cpu})
    subprocess.run([BRICK, "record", "-q", "-o", path, "--", *ENGINE, "--model", options.model,
                    "--predict", str(options.tokens)], check=True,
                   stdout=subprocess.DEVNULL, preexec_fn=pin)
    run = json.loads(subprocess.run([BRICK, "report", "--by", "step", "--json", path], check=True, capture_output=True).stdout)
    second, fraction = run["run"]["start"].rstrip("Z").split(".")
    start = int(datetime.fromisoformat(second + "+00:00").timestamp()) * 10**9 + int(fraction)
    # the first steps of a run fill caches
    return [(start + s["step_begin_ns"], s["step_ns"], s["step_ns"] - s["preempted_ns"] - s["blocked_ns"], s["undisturbed_ns"],
             s["interrupted"], s["preempted_ns"], s["behind"]) for s in run["each_step"] if s["name"].startswith("decode")][2:]


def advice(path):
    paths = subprocess.run([BRICK, "path", "--json", path], check=True, capture_output=True)
    return next(s for s in json.loads(paths.stdout)["sections"] if s["phase"] == "decode")["bricks"][0]["name"]


def taken(cpu):
    """Of the CPU so far: ticks by interrupts, by soft interrupts, by the host, and of all; block interrupts."""
    with open("/proc/stat") as f:
        ticks = next([int(v) for v in line.split()[1:]] for line in f if line.startswith(f"cpu{cpu} "))
    with open("/proc/softirqs") as f:
        block = next(int(line.split()[1 + cpu]) for line in f if line.lstrip().startswith("BLOCK:"))
    return ticks[5], ticks[6], ticks[7], sum(ticks[:8]), block


def more(turns):
    """The per cent by which p99 on the CPU is greater beside a competitor."""
    p99 = [at([cpu for turn in turns for state, cpu, _ in turn if state == beside], .99) for beside in (False, True)]
    return 100 * (p99[1] / p99[0] - 1)


def at(values, share):
    return sorted(values)[min(int(share * len(values)), len(values) - 1)] / 1e6


def measure(options):
    """Each turn's steps: whether beside a competitor, ns on the CPU, ns on the wall. And the first advice of each."""
    turns, first = [], {False: collections.Counter(), True: collections.Counter()}
    spinner, ends = Spinner(options.cpu), time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "run.pftrace")
        try:
            while len(turns) < options.turns and time.monotonic() < ends:
                with spinner.alternating(options.period / 1e3, bool(len(turns) % 2)):
                    steps = record(path, options)
                turns.append([(spinner.state(begin, begin + wall), wall, *rest) for begin, wall, *rest in steps])
            for turn in range(2 * options.advices):
                beside = bool(turn % 2)
                spinner.turn(beside)
                record(path, options)
                first[beside][advice(path)] += 1
        finally:
            spinner.shell.kill()
            spinner.shell.wait()
    return turns, first


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--tokens", type=int, default=400)
    parser.add_argument("--cpu", type=int, default=0)
    parser.add_argument("--model", default=f"{BUILD}/demo/model-f16.gguf")
    parser.add_argument("--period", type=float, default=100, help="ms between two switches of the competitor")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no turn after so long")
    parser.add_argument("--advices", type=int, default=2, help="processes by themselves and beside it for the first advice")
    parser.add_argument("--keep", help="file of turns: those there count as well, those of now are added")
    options = parser.parse_args()
    before = taken(options.cpu)
    turns, first = measure(options)
    irq, soft, steal, everything, block = (b - a for a, b in zip(before, taken(options.cpu)))
    if options.keep:
        with open(options.keep, "a+", encoding="ascii") as f:
            f.writelines(json.dumps(turn) + "\n" for turn in turns)
            f.seek(0)
            turns = [json.loads(line) for line in f]
    print("| | processes | steps | CPU p50, ms | CPU p95 | CPU p99 | wall p50 | wall p99 | first advice |\n|---|---|---|---|---|---|---|---|---|")
    for beside, name in ((False, "by itself"), (True, "beside a competitor")):
        cpu, wall = zip(*(step[1:] for turn in turns for step in turn if step[0] == beside))
        print(f"| {name} | {len(turns)} | {len(cpu)} | {at(cpu, .5):.3f} | {at(cpu, .95):.3f} | {at(cpu, .99):.3f} | {at(wall, .5):.2f} | "
              f"{at(wall, .99):.2f} | {', '.join(f'{k} {v}' for k, v in first[beside].most_common())} |")
    drawn = sorted(more(random.choices(turns, k=len(turns))) for _ in range(1000))
    print(f"p99 on the CPU beside a competitor: {more(turns):+.1f} % ({drawn[25]:+.1f} to {drawn[974]:+.1f})")
    print(f"of CPU {options.cpu} interrupts took {100 * irq / everything:.2f} %, soft ones {100 * soft / everything:.2f} % "
          f"({block} of BLOCK), the host {100 * steal / everything:.2f} %")


if __name__ == "__main__":
    main()
