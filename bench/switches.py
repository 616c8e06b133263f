# SPDX-License-Identifier: Apache-2.0
"""What a step of the engine pays for the records of its times off the CPU.

`engine-pair` without its second copy decodes in one process after another, eight tokens at a time. The kernel's records of
its context switches are on and off in turns (`bench-switches PID MS`), and the recorder, which times the steps, asks for
none itself. So both kinds of steps have the same memory, minute and neighbours. For each process the bench takes the mean
of the steps with records less that of the steps without, of the faster half and of all but the slowest twentieth. Over
processes it prints the mean, and 95 % by drawing processes again. Steps in a change, or within 2 ms after one, are left
out.

With --auto the recorder decides itself, as it does by default: it stops the records after some ms and tries again later.
The bench then prints what steps in such trials took beyond the mean of the others, per trial and as a share of all time.
The first ms, in which the engine warms up, are left out.

  bench/switches.py [--seconds S] [--each S] [--threads N] [--model GGUF] [--engine DIR] [--turn MS] [--keep FILE] [--auto]
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile
import time
from datetime import datetime

BUILD = os.environ.get("BRICK_BUILD", "build")
BRICK = f"{BUILD}/bin/brick"
SETTLES = 2_000_000  # ns behind a change
DRAWN = 2000
WARM_UP = 40
SHARES = {"faster half": .5, "all but 5 %": .95}


def child_of(process):
    """The engine, once the recorder has started it; None: it has ended already."""
    path = f"/proc/{process.pid}/task/{process.pid}/children"
    while process.poll() is None:
        with open(path, encoding="ascii") as f:
            pids = f.read().split()
        if pids:
            return pids[0]
        time.sleep(.01)
    return None


def command(path, options, off_cpu):
    engine = [f"{BUILD}/bin/engine-pair", options.engine, options.model, str(options.threads), f"1000000,{options.each},1", "c", *8 * ["1"]]
    return [BRICK, "record", "-q", "--no-history", "--off-cpu", off_cpu, "-o", path, "--", *engine]


def report(path):
    """The recording, and its steps: (begin, ns)."""
    run = json.loads(subprocess.run([BRICK, "report", "--by", "step", "--json", path], check=True, capture_output=True).stdout)
    return run, [(s["step_begin_ns"], s["step_ns"]) for s in run["each_step"] if s["name"] != "outside of steps"][WARM_UP:]


def record(path, options):
    """The recorder's steps of one process, (begin, ns), by CLOCK_REALTIME; the changes: (begin, end, on, switches so far)."""
    with subprocess.Popen(command(path, options, "off"), stdout=subprocess.DEVNULL) as process:
        turns = subprocess.run([f"{BUILD}/bin/bench-switches", child_of(process), str(options.turn)], check=True, capture_output=True, text=True)
    run, steps = report(path)
    second, fraction = run["run"]["start"].rstrip("Z").split(".")
    start = int(datetime.fromisoformat(second + "+00:00").timestamp()) * 10**9 + int(fraction)
    return [(start + begin, ns) for begin, ns in steps], [tuple(map(int, line.split())) for line in turns.stdout.splitlines()]


def sort(steps, changes):
    """{on: ns of the steps}, and how many times off the CPU a recorded step had."""
    kinds, now, switches, recorded = {0: [], 1: []}, 0, 0, 0
    for i, (_, begin, on, seen) in enumerate(changes[:-1]):
        end, _, _, seen_then = changes[i + 1]
        inside = []
        while now < len(steps) and steps[now][0] < end:
            if steps[now][0] >= begin + SETTLES and sum(steps[now]) <= end:
                inside.append(steps[now][1])
            now += 1
        kinds[on] += inside
        if on and inside:
            switches += (seen_then - seen) * sum(inside) / (end - begin)
            recorded += len(inside)
    return kinds, switches / 2 / recorded if recorded else 0


def mean_of(values, share):
    return statistics.mean(sorted(values)[:max(1, int(len(values) * share))])


def drawn(values):
    means = sorted(statistics.mean(random.choices(values, k=len(values))) for _ in range(DRAWN))
    return means[DRAWN // 40], means[-1 - DRAWN // 40]


def show(runs, options):
    step = statistics.mean(mean_of(run["0"], .95) for run in runs)
    print(f"{options.model}, {options.threads} threads: {len(runs)} processes, {sum(len(run['1']) for run in runs)} steps with records, "
          f"{sum(len(run['0']) for run in runs)} without; a step {step / 1e3:.1f} us, {statistics.mean(run['off'] for run in runs):.2f} times off the CPU")
    for name, share in SHARES.items():
        more = [mean_of(run["1"], share) - mean_of(run["0"], share) for run in runs]
        low, high = drawn(more)
        print(f"  {name}: {statistics.mean(more) / 1e3:+.2f} us a step ({low / 1e3:+.2f} .. {high / 1e3:+.2f}), "
              f"{100 * statistics.mean(more) / step:+.3f} % ({100 * low / step:+.3f} .. {100 * high / step:+.3f})")


def of_trials(path, options):
    """For one process: (trials, their ms, ns that their steps took beyond the others' mean, ns of all steps)."""
    subprocess.run(command(path, options, "auto"), check=True, stdout=subprocess.DEVNULL)
    run, steps = report(path)
    gaps = [(g["from_s"] * 1e9, g["to_s"] * 1e9 if g["to_s"] else float("inf")) for g in run["presence"]["off_cpu_gaps"]]
    trials = [(end, begin) for (_, end), (begin, _) in zip(gaps, gaps[1:])]
    inside = lambda step: any(step[0] < end and sum(step) > begin for begin, end in trials)
    steps = [step for step in steps if gaps and step[0] >= gaps[0][0]]
    others = [ns for begin, ns in steps if not inside((begin, ns))]
    usual = statistics.mean(others) if others else 0
    return len(trials), sum(end - begin for begin, end in trials), sum(step[1] - usual for step in steps if inside(step)), sum(ns for _, ns in steps)


def show_trials(runs, options):
    trials, lasted, more, everything = map(sum, zip(*runs))
    if not trials:
        print(f"{options.model}, {options.threads} threads: the records were never stopped and tried again in {everything / 1e9:.1f} s")
        return
    low, high = drawn([100 * run[2] / run[3] for run in runs])
    print(f"{options.model}, {options.threads} threads, {len(runs)} processes, {everything / 1e9:.1f} s of steps: {trials} trials of {lasted / trials / 1e6:.1f} ms; their "
          f"steps took {more / trials / 1e6:+.2f} ms a trial beyond the others, {100 * more / everything:+.3f} % of all ({low:+.3f} .. {high:+.3f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--each", type=float, default=5, help="s of a process")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--model", default=f"{BUILD}/demo/model-f16.gguf")
    parser.add_argument("--engine", default=f"{BUILD}/demo/engine/libs")
    parser.add_argument("--turn", type=int, default=50, help="ms of records, and as many without")
    parser.add_argument("--keep", help="file of runs: those there count as well, those of now are added")
    parser.add_argument("--auto", action="store_true", help="what it takes where the recorder decides itself")
    options = parser.parse_args()
    runs, ends = [], time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as directory:
        while time.monotonic() < ends:
            path = os.path.join(directory, "run.pftrace")
            if options.auto:
                runs.append(of_trials(path, options))
                continue
            kinds, off = sort(*record(path, options))
            if min(map(len, kinds.values())) >= 20:
                runs.append({**{str(k): v for k, v in kinds.items()}, "off": off})
    if options.keep:
        with open(options.keep, "a+", encoding="ascii") as f:
            f.writelines(json.dumps(run) + "\n" for run in runs)
            f.seek(0)
            runs = [json.loads(line) for line in f]
    (show_trials if options.auto else show)(runs, options)


if __name__ == "__main__":
    main()
