# SPDX-License-Identifier: Apache-2.0
"""Whether a neighbour on the same CPU changes what a recording says of the engine.

The demo's model decodes on one CPU in one process after another. A shell that spins on that CPU is stopped and continued
meanwhile, so both kinds of steps share the process's memory, the host and the hour. For decode steps with and without the
neighbour the bench prints percentiles of the time on the CPU of all steps and of those that were not preempted, and of
the wall-clock time. It also prints the first advice of `path` for processes recorded wholly with and without the
neighbour, how far p99 moves by chance (processes drawn again and again), and what interrupts and the host took of that
CPU (/proc/stat, by ticks).

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
DRAWN = 500
BESIDE = 3  # times as long beside it as by itself: there most steps are preempted


class Spinner:
    """A shell that spins on a CPU, and when it did: (when, whether) by CLOCK_REALTIME."""

    def __init__(self, cpu):
        self.shell = subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"])
        self.switches = []
        self.turn(False)

    def turn(self, on):
        self.shell.send_signal(signal.SIGCONT if on else signal.SIGSTOP)
        self.switches.append((time.time_ns(), on))

    @contextlib.contextmanager
    def alternating(self, period, first):
        """Switch it on and off in turns while the body runs."""
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
        """Whether it spun all that time; None if it was switched within or just before."""
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
    return [{"begin": start + s["step_begin_ns"], "wall": s["step_ns"], "cpu": s["step_ns"] - s["preempted_ns"] - s["blocked_ns"],
             "preempted": s["preempted_ns"] > 0}
            for s in run["each_step"] if s["name"].startswith("decode")][2:]


def advice(path):
    paths = subprocess.run([BRICK, "path", "--json", path], check=True, capture_output=True)
    return next(s for s in json.loads(paths.stdout)["sections"] if s["phase"] == "decode")["bricks"][0]["name"]


def taken(cpu):
    """The CPU's ticks so far in interrupts, soft interrupts, steal, and in all; block interrupts."""
    with open("/proc/stat") as f:
        ticks = next([int(v) for v in line.split()[1:]] for line in f if line.startswith(f"cpu{cpu} "))
    with open("/proc/softirqs") as f:
        block = next(int(line.split()[1 + cpu]) for line in f if line.lstrip().startswith("BLOCK:"))
    return ticks[5], ticks[6], ticks[7], sum(ticks[:8]), block


# What of a step is looked at: how long it took; None: nothing of it
def as_it_was(step):
    return step["cpu"]


def if_not_preempted(step):
    return None if step["preempted"] else step["cpu"]


def on_the_wall(step):
    return step["wall"]


def times(turns, beside, look):
    """(ns, turn), by time."""
    return sorted((look(step), number) for number, turn in enumerate(turns) for step in turn
                  if step["beside"] is beside and look(step))


def at(sorted_times, share, weights):
    """A percentile in ms, each turn weighted; None: one step would carry more than lies above it."""
    total, longer = sum(weights[turn] for _, turn in sorted_times), 1.0
    for ns, turn in sorted_times:
        longer -= weights[turn] / total
        if weights[turn] and longer <= 1 - share + 1e-9:
            return ns / 1e6 if 1 / total <= 1 - share + 1e-9 else None
    return None


def more(pair, share, weights):
    """By how many per cent a percentile is greater beside a competitor."""
    itself, beside = (at(each, share, weights) for each in pair)
    return 100 * (beside / itself - 1) if itself and beside else None


def difference(pair, share, count):
    """In words, with the range of 95 % of drawn sets of processes."""
    middle = more(pair, share, [1] * count)
    drawn = []
    for _ in range(DRAWN):
        chosen = collections.Counter(random.choices(range(count), k=count))
        drawn.append(more(pair, share, [chosen[i] for i in range(count)]))
    known = sorted(d for d in drawn if d is not None)
    if middle is None or len(known) < .975 * DRAWN:
        return "not known"
    return f"{middle:+.1f} % ({known[len(known) // 40]:+.1f} to {known[-1 - len(known) // 40]:+.1f})"


def show(turns):
    print("| | processes | steps | p50, ms | p95 | p99 | p50, p95, p99 differ by (95 % of processes drawn again) |\n|---|---|---|---|---|---|---|")
    for name, look in (("on the CPU, all", as_it_was), ("those not preempted", if_not_preempted), ("on the wall", on_the_wall)):
        pair = [times(turns, beside, look) for beside in (False, True)]
        once = [1] * len(turns)
        for each, place in zip(pair, ("by itself", "beside a competitor")):
            found = (at(each, share, once) for share in (.5, .95, .99))
            print(f"| {name}, {place} | {len(turns)} | {len(each)} | "
                  + " | ".join(f"{f:.3f}" if f else "-" for f in found)
                  + (f" | {', '.join(difference(pair, share, len(turns)) for share in (.5, .95, .99))} |" if each is pair[1] else " | |"))


def measure(options):
    """Each turn's steps, with whether they were beside a competitor; and the first advice of each."""
    turns, first = [], {False: collections.Counter(), True: collections.Counter()}
    spinner, ends = Spinner(options.cpu), time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "run.pftrace")
        try:
            while len(turns) < options.turns and time.monotonic() < ends:
                with spinner.alternating(options.period / 1e3, bool(len(turns) % 2)):
                    steps = record(path, options)
                turns.append([{"beside": spinner.state(s["begin"], s["begin"] + s["wall"]), **s} for s in steps])
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
    show(turns)
    for beside, name in ((False, "by itself"), (True, "beside a competitor")):
        print(f"first advice {name}: {', '.join(f'{k} {v}' for k, v in first[beside].most_common())}")
    if everything:  # not where turns that were kept are shown only
        print(f"of CPU {options.cpu} interrupts took {100 * irq / everything:.2f} %, soft ones {100 * soft / everything:.2f} % "
              f"({block} of BLOCK), the host {100 * steal / everything:.2f} %")


if __name__ == "__main__":
    main()
