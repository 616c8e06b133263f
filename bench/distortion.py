# SPDX-License-Identifier: Apache-2.0
"""What recording costs the real engine, and whether the report's own estimate holds.

build/bin/engine-pair has two copies of the engine in one process, of which `brick record` reaches one; they evaluate the
same batches in turns. The cost of a step is the recorded copy's time less the other's, less the same difference in a run
without the recorder. Other load only ever adds time and falls on both, so the mean of the faster quarter counts. Two copies
also differ by where their memory happens to lie, differently in each process. So processes with and without the recorder
take turns, --repeats of each, and the error (95 %, Welch's) is that of processes, or of rounds drawn again if there is one
of each. Beside the cost stands what the recordings state (`report --json`: distortion), per step, for the same processes
and steps. A row is decided when the error is below half of the stated interval's width; else it is "not resolved".

--keep DIR keeps rounds and recordings of each process and goes on from them, because a quiet machine can be had a minute
at a time. The programs must stay the same meanwhile. --for SECONDS: when each row has its --repeats, the rows that are
furthest from being decided get more. --show only prints what is there.

--kinds null,run,whole: one more process of each kind, without the second copy, is recorded with --measure-distortion for
all of --seconds. One in five of its steps has no hooks, in the same memory as the steps beside it. That resolves what lies
between processes, and counts beside the two copies by its own error. It leaves out what is left of the recorder in such a
step; the two copies with BRICK_PLAIN_STEPS=1,60001, where no step has hooks, show how much that is. Beside it stands how
often the report's interval of that process's steps holds. --libs: other libraries than the package's
(examples/demo/engine-static.sh has one that is bound within itself: static.py).

The package's engine spins in its barriers until it is preempted, so with more threads than CPUs a step would take a tenth
of a second and more. Those rows use llama.cpp built with OpenMP, as CMake does by default, with
OMP_WAIT_POLICY=passive: its threads sleep. Until they are stopped, the kernel's records of context switches cost all of the
process, so these rows are also judged by recorded processes less those before them that are not recorded (lower deciles,
pairs).

A table of thirty rows, a quarter of an hour on a machine that is otherwise quiet:

  examples/demo/engine-static.sh openmp        once, ten minutes
  bench/distortion.py --models tiny,demo --threads 1,2,4 --kinds null,run,whole --rounds 150 --seconds 4 --repeats 3 \\
                      --for 800 --keep DIR

--floor: instead of the recorder, hooks that do nothing (engine-floor), that read the clock, that read it twice.

  bench/distortion.py [--rounds N] [--repeats N] [--threads 1,2,4] [--models tiny,short,demo] [--attach METHOD]
                      [--libs DIR] [--kinds null,run,whole] [--keep DIR [--for SECONDS | --show]] [--floor]
"""
import argparse
import glob
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

from distortion_reports import beside, distortion_us, faster, mean, report, share_recorded, stated

BUILD = os.environ.get("BRICK_BUILD", "build")
LIBS = f"{BUILD}/demo/engine/libs"
OPENMP = f"{BUILD}/demo/engine-static/openmp/bin"
FLOOR = f"{BUILD}/lib/engine-floor.so"
TINY = ["--type", "f32", "--embd", "64", "--heads", "4", "--kv-heads", "2", "--ff", "176", "--vocab", "512"]
# Its file, by how much its steps are longer, and how it is made.
MODELS = {"tiny": (f"{BUILD}/demo/model-tiny.gguf", 1, [*TINY, "--layers", "24"]),
          "short": (f"{BUILD}/demo/model-short.gguf", 1, [*TINY, "--layers", "1"]),
          "demo": (f"{BUILD}/demo/model-f16.gguf", 4, None)}
HEAD = ("| model | threads | batches | processes x rounds | step, us | two copies: more, us | beside whole steps: more, us (whole ones) | "
        "recorded processes: more, us | so recording costs, us a step | % | stated, us a step (low .. high) | holds | "
        "`--measure-distortion` says; of its reports |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|")
RESAMPLED = 200
FOREVER = 1e9
ENDLESS = 10 ** 8  # rounds: --seconds ends them
DECIDED = 0.8  # of half a width, as more processes may move both
# Of Student's distribution, two-sided 95 %, by degrees of freedom.
STUDENT = [None, 12.7, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23]
CASES = {"1 token": "c 1 1 1 1", "1 and 2 tokens": "c 1 2 1 2", "4 tokens": "c 4 4 4 4", "2 to 5 tokens": "c 2 3 4 5",
         "prompt of 16": "c 16 1 1 1"}


class Row:
    """One row of the table: the processes with and without the recorder, and the recordings."""

    def __init__(self, options, model, threads, case, floor=None):
        self.options, self.model, self.threads, self.case, self.floor = options, model, threads, case, floor
        self.path, slower, _ = MODELS[model]
        self.rounds = max(options.rounds // slower, 20)
        self.sleeps = threads > os.cpu_count()
        self.last = 0, 0.0
        self.libs = options.libs or (OPENMP if self.sleeps else LIBS)
        library = os.path.basename(os.path.abspath(self.libs).removesuffix("/bin"))
        name = f"{library}-{model}-{threads}-{case.replace(' ', '_')}"
        self.of = {"null": name + "-null", "run": f"{name}-{options.attach}-run", "whole": f"{name}-{options.attach}-whole"}

    def kept(self, kind, ending):
        return sorted(glob.glob(os.path.join(glob.escape(self.options.keep), f"{self.of[kind]}-*.{ending}")))

    def pair(self, kind):
        """Run one process, which writes files of its own."""
        place = os.path.join(self.options.keep, f"{self.of[kind]}-{time.time_ns()}")
        alone = kind == "whole"
        command = [f"{BUILD}/bin/engine-pair", self.libs, self.path, str(self.threads),
                   f"{ENDLESS if alone else self.rounds},{self.options.seconds},{1 if alone else 2}", *CASES[self.case].split()]
        if kind != "null" and not self.floor:
            command = [f"{BUILD}/bin/brick", "record", "-q", "--attach", self.options.attach, "-o", place + ".pftrace",
                       *(["--measure-distortion"] if kind == "whole" else []), "--", *command]
        env = {"OMP_WAIT_POLICY": "passive", **os.environ,
               **({"LD_PRELOAD": FLOOR, "FLOOR": self.floor} if self.floor and kind == "run" else {})}
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
        with open(place + ".json", "w", encoding="utf-8") as file:
            file.write(done.stdout.splitlines()[-1])

    def measure(self):
        for kind in self.options.kinds.split(","):
            self.pair(kind)

    def found(self):
        """Cost and error in us, by the two copies and by steps without hooks, each with what recordings of the same kind state."""
        runs, nulls = self.steps("run"), self.steps("null")
        processes = by_turns(levels(runs), levels(nulls)) if self.sleeps else (cost_of(runs, nulls), error_of(runs, nulls))
        found, whole = [(*processes, self.stated_by("run"))], self.by_whole_steps()
        return found + [(*whole[:2], self.stated_by("whole"))] if whole else found

    def judged(self):
        """Cost and error in us, each method weighed by its error, because they are of different processes; and low, middle and
        high of what is stated, with the same weights. None: not stated."""
        found = self.found()
        weights = [1 / error ** 2 for _, error, _ in found]
        columns = zip(*(interval for _, _, interval in found))
        stated = [None if None in column else weighed(column, weights) for column in columns]
        return weighed([cost for cost, _, _ in found], weights), sum(weights) ** -0.5, stated

    def undecided(self):
        """The error, in half widths of the stated interval; kept until there are more processes."""
        there = sum(len(self.kept(kind, "json")) for kind in self.of)
        if self.last[0] != there:
            _, error, (low, _, high) = self.judged()
            self.last = there, 0 if low is None else 2 * error / max(high - low, 0.1)
        return self.last[1]

    def steps(self, kind):
        """For each process the steps of a round, each with its times in all rounds."""
        runs = []
        for path in self.kept(kind, "json"):
            with open(path, encoding="utf-8") as file:
                runs.append(json.load(file)["steps"])
        return runs

    def stated_by(self, kind):
        """The mean of what recordings state for the compared steps, us a step."""
        said = [stated(path, len(steps)) for steps, path in zip(self.steps(kind), self.kept(kind, "pftrace"))]
        return [None if None in column else mean(column) for column in zip(*said)]

    def lost(self):
        return {k: v for path in self.kept("run", "pftrace") for k, v in report(path)["losses"].items() if v and k != "complete"}

    def beside(self):
        """For each process with some steps without hooks: what beside() finds, and what its report says."""
        found, intervals = [], []
        for steps, recording in zip(self.steps("whole"), self.kept("whole", "pftrace")):
            found.append(beside(recording, self.threads, len(steps), len(steps[0]["each_ns"])))
            each = share_recorded(recording)  # a share is of all steps, the cost of those taken apart
            intervals.append([us and us / each for us in distortion_us(recording)])
        return [one for one in found if one], intervals

    def by_whole_steps(self):
        """Cost in us, its error over processes, and the number of steps. None: too few."""
        found, _ = self.beside()
        if len(found) < 2:
            return None
        shifts, counts = zip(*found)
        return mean(shifts), student(len(shifts) - 1) * statistics.stdev(shifts) / len(shifts) ** 0.5, sum(counts)


def cases(names):
    """Cases as the command line names them."""
    unknown = [name for name in names.split(",") if name not in CASES]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]}: no such case; there are: {', '.join(CASES)}")
    return names.split(",")


def difference(step, pick=None):
    """By how much the first copy's faster quarter is above the second's, in ns; over all rounds, or as many drawn ones."""
    rounds = step["each_ns"]
    chosen = pick.choices(rounds, k=len(rounds)) if pick else rounds
    first, second = map(faster, zip(*chosen))
    return first - second


def weighed(values, weights):
    return sum(w * v for w, v in zip(weights, values)) / sum(weights)


def costs(runs, pick=None):
    """By how much a step of the first copy is longer, us, in each process."""
    return [mean(difference(step, pick) for step in run) / 1e3 for run in runs]


def cost_of(runs, nulls, pick=None):
    """Cost in us a step, from processes with and without the recorder."""
    return mean(costs(runs, pick)) - mean(costs(nulls, pick))


def student(freedom):
    return STUDENT[freedom] if freedom < len(STUDENT) else 1.96 + 2.5 / freedom


def levels(runs):
    """What a step of the first copy takes, us, in each process."""
    return [mean(statistics.quantiles((each[0] for each in step["each_ns"]), n=10)[0] for step in run) / 1e3 for run in runs]


def by_turns(some, others):
    """The same for processes that took turns, because the host may be slower for a minute."""
    differences = [a - b for a, b in zip(some, others)]
    return mean(differences), student(len(differences) - 1) * statistics.stdev(differences) / len(differences) ** 0.5


def between(some, others):
    """Difference of the means, and half of Welch's interval; needs two of each."""
    a, b = (statistics.variance(x) / len(x) for x in (some, others))
    freedom = (a + b) ** 2 / (a * a / (len(some) - 1) + b * b / (len(others) - 1))
    return mean(some) - mean(others), student(max(int(freedom), 1)) * (a + b) ** 0.5


def error_of(runs, nulls):
    """Half the interval, over processes; with one process, over drawn rounds."""
    if min(len(runs), len(nulls)) < 2:
        pick = random.Random(1)
        return 2 * statistics.stdev(cost_of(runs, nulls, pick) for _ in range(RESAMPLED))
    return between(costs(runs), costs(nulls))[1]


def verdict(cost, error, low, high):
    if low is None:
        return "not stated"
    if not low - error <= cost <= high + error:
        return "no"
    if error > (high - low) / 2:
        return "not resolved"
    return "yes" if low <= cost <= high else "by its error"


def shown(value):
    return "     -" if value is None else f"{value:6.1f}"


def make_model(name):
    path, _, how = MODELS[name]
    if how:
        subprocess.run([f"{BUILD}/bin/brick-model", *how, path], check=True, stdout=subprocess.DEVNULL)


def holds(interval, cost, error):
    """Whether a report's interval holds a cost that has an error itself; both are of 95 %, so one in twenty may not."""
    low, middle, high = interval
    return (cost >= middle - math.hypot(middle - low, error) or low <= 0) and cost <= middle + math.hypot(high - middle, error)


def of_whole_steps(row):
    """The cells about steps without hooks, and how many of how many reports hold."""
    found, intervals = row.by_whole_steps(), [i for i in row.beside()[1] if i[0] is not None]
    if not found or not intervals:
        return "-", "-", (0, 0)
    held = sum(holds(i, *row.judged()[:2]) for i in intervals)
    low, high = (mean(i[k] for i in intervals) for k in (0, 2))
    return "{:.1f} +- {:.1f} ({})".format(*found), f"{low:.0f} .. {high:.0f}; {held} of {len(intervals)} hold", (held, len(intervals))


def show(row):
    """Print one line; returns how many of how many reports about steps without hooks hold."""
    runs, nulls = row.steps("run"), row.steps("null")
    if not runs or not nulls or row.sleeps and min(len(runs), len(nulls)) < 2:
        return 0, 0
    cost, error, (low, mid, high) = row.judged()
    lost = row.lost()
    copies = f"{cost_of(runs, nulls):.1f} +- {error_of(runs, nulls):.1f}"
    processes = "{:.0f} +- {:.0f}".format(*by_turns(levels(runs), levels(nulls))) if min(len(runs), len(nulls)) > 1 else "-"
    found, measured, held = of_whole_steps(row)
    plain = mean(levels(nulls)) if row.sleeps else mean(statistics.median(s[1] for s in step["each_ns"]) for run in runs for step in run) / 1e3
    rounds = sum(len(run[0]["each_ns"]) for run in runs)
    print(f"| {row.model} | {row.threads} | {row.case} | {len(runs)} x {rounds // len(runs)} | {plain:.0f} | {copies} | {found} | {processes} | "
          f"{cost:.1f} +- {error:.1f} | {100 * cost / plain:.1f} | {shown(mid)} ({shown(low)} .. {shown(high)}) | "
          f"{verdict(cost, error, low, high)} | {measured} |" + (f" lost: {lost}" if lost else ""), flush=True)
    return (0, 0) if row.sleeps else held


def show_floors(rows):
    cells = []
    for row in rows:
        runs, nulls = row.steps("run"), row.steps("null")
        cells.append(f"{cost_of(runs, nulls):.1f} +- {error_of(runs, nulls):.1f}")
    print(f"| {rows[0].model} | {rows[0].case} | {' | '.join(cells)} |", flush=True)


def floors(options):
    """A directory for each kind of hook, because only their environment differs."""
    print("| model | batches | hooks that lead on, us a step | and read the clock | and read it twice |\n"
          "|---|---|---|---|---|")
    for model, case in ((m, c) for m in options.models.split(",") for c in options.cases):
        make_model(model)
        rows = []
        for floor in "012":
            own = argparse.Namespace(**dict(vars(options), keep=tempfile.mkdtemp(dir=options.keep)))
            rows.append(Row(own, model, 1, case, floor))
            for _ in range(options.repeats):
                rows[-1].measure()
        show_floors(rows)


def table(options):
    rows = [Row(options, model, threads, case) for model in options.models.split(",")
            for case in options.cases for threads in map(int, options.threads.split(","))]
    for model in options.models.split(","):
        make_model(model)
    last = options.kinds.split(",")[-1]
    end = time.monotonic() + options.until
    while not options.show and time.monotonic() < end:
        fewest = min(rows, key=lambda row: len(row.kept(last, "json")))
        if len(fewest.kept(last, "json")) < options.repeats:
            fewest.measure()
            continue
        worst = max(rows, key=Row.undecided)
        if options.until == FOREVER or worst.undecided() < DECIDED:
            break
        worst.measure()
    if options.silent:
        return
    print(HEAD)
    held = [show(row) for row in rows]
    if sum(n for _, n in held):
        print(f"\nOf the reports of steps left whole {sum(n for n, _ in held)} of {sum(n for _, n in held)} hold, of one and two threads.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--threads", default="1,2,4")
    parser.add_argument("--models", default="tiny,demo")
    parser.add_argument("--cases", type=cases, default=list(CASES))
    parser.add_argument("--attach", default="auto")
    parser.add_argument("--floor", action="store_true")
    parser.add_argument("--libs")
    parser.add_argument("--kinds", default="null,run")
    parser.add_argument("--keep")
    parser.add_argument("--for", type=float, default=FOREVER, dest="until")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--silent", action="store_true", help="no table")
    options = parser.parse_args()
    if not os.path.exists(options.libs or LIBS):
        sys.exit(f"{options.libs or LIBS} is not there: examples/demo/models.sh makes it")
    if not options.libs and max(map(int, options.threads.split(","))) > os.cpu_count() and not os.path.exists(OPENMP):
        sys.exit(f"{OPENMP} is not there: examples/demo/engine-static.sh openmp makes it")
    with tempfile.TemporaryDirectory() as scratch:
        options.keep = options.keep or scratch
        os.makedirs(options.keep, exist_ok=True)
        (floors if options.floor else table)(options)


if __name__ == "__main__":
    main()
