# SPDX-License-Identifier: Apache-2.0
"""What recording costs the real engine, and whether the report's own estimate holds.

build/bin/engine-pair has two copies of the engine in one process, of which `brick record` reaches one;
they evaluate the same batches in turns. The cost of a step is the lower decile of the recorded copy's times less
that of the other's, less the same difference in a run without the recorder: other load on the machine only ever
adds, and falls on both. Two copies also differ by where their memory happens to lie, another time in each process,
so that processes with and without the recorder take turns, --repeats of each; the error (95 %) is that of
resampling processes and rounds. Beside it stands what the recordings say of themselves (`report --json`:
distortion), per step. What cannot be told from nothing is "not resolved".

Steps of more threads than there are CPUs take a tenth of a second and more, since the engine's threads spin until
they are preempted: "short" is for them, a model of one layer, and --seconds ends each process.

--floor: instead of the recorder, hooks that do nothing (engine-floor), that read the clock, that read it twice.

  bench/distortion.py [--rounds N] [--repeats N] [--threads 1,2,4] [--models tiny,short,demo] [--attach METHOD]
                      [--floor]
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

BUILD = os.environ.get("BRICK_BUILD", "build")
LIBS = f"{BUILD}/demo/engine/libs"
FLOOR = f"{BUILD}/lib/engine-floor.so"
TINY = ["--type", "f32", "--embd", "64", "--heads", "4", "--kv-heads", "2", "--ff", "176", "--vocab", "512"]
# Its file, by how much its steps are longer, and how it is made.
MODELS = {"tiny": (f"{BUILD}/demo/model-tiny.gguf", 1, [*TINY, "--layers", "24"]),
          "short": (f"{BUILD}/demo/model-short.gguf", 1, [*TINY, "--layers", "1"]),
          "demo": (f"{BUILD}/demo/model-f16.gguf", 4, None)}
HEAD = ("| model | threads | batches | step, us | recording costs, us a step | % | stated, us a step (low .. high) | holds |"
        "\n|---|---|---|---|---|---|---|---|")
RESAMPLED = 200
# Of Student's distribution, two-sided 95 %, by degrees of freedom.
STUDENT = [None, 12.7, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26]
CASES = {"1 token": "c 1 1 1 1", "1 and 2 tokens": "c 1 2 1 2", "4 tokens": "c 4 4 4 4", "2 to 5 tokens": "c 2 3 4 5",
         "prompt of 16": "c 16 1 1 1"}


def pair(options, model, threads, rounds, batches, recording=None, floor=None):
    command = [f"{BUILD}/bin/engine-pair", LIBS, model, str(threads), f"{rounds},{options.seconds}",
               *batches.split()]
    if recording:
        command = [f"{BUILD}/bin/brick", "record", "-q", "--attach", options.attach, "-o", recording, "--"] + command
    env = dict(os.environ, LD_PRELOAD=FLOOR, FLOOR=floor) if floor else None
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    return json.loads(done.stdout.splitlines()[-1])["steps"]


def stated(recording):
    done = subprocess.run([f"{BUILD}/bin/brick", "report", recording, "--json"], check=True, capture_output=True)
    report = json.loads(done.stdout)
    steps, distortion = report["steps"], report["distortion"]
    wall = steps["prefill"]["total_ns"] + steps["decode"]["total_ns"]
    count = steps["prefill"]["count"] + steps["decode"]["count"]
    lost = {k: v for k, v in report["losses"].items() if v and k != "complete"}
    return [None if distortion[k] is None else distortion[k] * wall / count / 1e3
            for k in ("low", "share", "high")], lost


def decile(step, pick=None):
    """By how much the first copy's lower decile is above the second's, ns; of the rounds, or as many picked of them."""
    rounds = step["each_ns"]
    chosen = pick.choices(rounds, k=len(rounds)) if pick else rounds
    first, second = (sorted(column)[len(chosen) // 10] for column in zip(*chosen))
    return first - second


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def cost_of(runs, nulls, pick=None):
    """us a step, of processes with and without the recorder."""
    return mean(mean(map(lambda s: decile(s, pick), run)) for run in runs) / 1e3 - \
        mean(mean(map(lambda s: decile(s, pick), null)) for null in nulls) / 1e3


def error_of(runs, nulls):
    """Half the interval: by the rounds that each process happened to have, and by the processes."""
    pick = random.Random(1)
    by_rounds = 2 * statistics.stdev(cost_of(runs, nulls, pick) for _ in range(RESAMPLED))
    if len(runs) < 2:
        return by_rounds
    each = [cost_of([run], [null]) for run, null in zip(runs, nulls)]
    student = STUDENT[min(len(each), len(STUDENT)) - 1]
    return max(by_rounds, student * statistics.stdev(each) / len(each) ** 0.5)


def measure(options, name, threads, batches, floor=None):
    """Processes with the recorder and without, in turns; and what the recordings say of themselves."""
    path, slower, _ = MODELS[name]
    rounds = max(options.rounds // slower, 20)
    runs, nulls, estimates, losses = [], [], [], {}
    for _ in range(options.repeats):
        nulls.append(pair(options, path, threads, rounds, batches))
        if floor:
            runs.append(pair(options, path, threads, rounds, batches, floor=floor))
            continue
        with tempfile.TemporaryDirectory() as directory:
            recording = os.path.join(directory, "run.pftrace")
            runs.append(pair(options, path, threads, rounds, batches, recording))
            estimate, lost = stated(recording)
        estimates.append(estimate)
        losses.update(lost)
    return runs, nulls, estimates, losses


def verdict(cost, error, low, high):
    if low is None:
        return "not stated"
    if not low - error <= cost <= high + error:
        return "no"
    return "not resolved" if error > max(cost, high) else "yes"


def shown(value):
    return "     -" if value is None else f"{value:6.1f}"


def make_model(name):
    path, _, how = MODELS[name]
    if how:
        subprocess.run([f"{BUILD}/bin/brick-model", *how, path], check=True, stdout=subprocess.DEVNULL)


def row(options, model, threads, case):
    runs, nulls, estimates, lost = measure(options, model, threads, CASES[case])
    cost, error = cost_of(runs, nulls), error_of(runs, nulls)
    low, mid, high = [None if None in column else mean(column) for column in zip(*estimates)]
    each = "/".join(f"{mean(decile(run[i]) for run in runs) / 1e3 - mean(decile(n[i]) for n in nulls) / 1e3:.0f}"
                    for i in range(len(runs[0])))
    plain = mean(statistics.median(s[1] for s in step["each_ns"]) for run in runs for step in run) / 1e3
    print(f"| {model} | {threads} | {case} | {plain:.0f} | {cost:.1f} +- {error:.1f} ({each}) | "
          f"{100 * cost / plain:.1f} | {shown(mid)} ({shown(low)} .. {shown(high)}) | "
          f"{verdict(cost, error, low, high)} |" + (f" lost: {lost}" if lost else ""), flush=True)


def floor_row(options, model, case):
    cells = []
    for floor in "012":
        runs, nulls, _, _ = measure(options, model, 1, CASES[case], floor)
        cells.append(f"{cost_of(runs, nulls):.1f} +- {error_of(runs, nulls):.1f}")
    print(f"| {model} | {case} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--threads", default="1,2,4")
    parser.add_argument("--models", default="tiny,demo")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--attach", default="auto")
    parser.add_argument("--floor", action="store_true")
    options = parser.parse_args()
    if not os.path.exists(LIBS):
        sys.exit(f"{LIBS} is not there: demo/models.sh makes it")
    if options.floor:
        print("| model | batches | hooks that lead on, us a step | and read the clock | and read it twice |\n"
              "|---|---|---|---|---|")
    else:
        print(HEAD)
    for model in options.models.split(","):
        make_model(model)
        for case in options.cases.split(","):
            if options.floor:
                floor_row(options, model, case)
                continue
            for threads in map(int, options.threads.split(",")):
                row(options, model, threads, case)


if __name__ == "__main__":
    main()
