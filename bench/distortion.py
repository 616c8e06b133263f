# SPDX-License-Identifier: Apache-2.0
"""What recording costs the real engine, and whether the report's own estimate holds.

build/bin/engine-pair has two copies of the engine in one process, of which `brick record` reaches one;
they evaluate the same batches in turns. The cost of a step is the lower decile of the recorded copy's times less
that of the other's, less the same difference in a run without the recorder: other load on the machine only ever
adds, and falls on both. Its error is that of resampling the rounds. Beside it stands what the recording says of
itself (`report --json`: distortion), per step.

  bench/distortion.py [--rounds N] [--threads 1,2,4] [--models tiny,demo] [--attach METHOD]
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
TINY = ["--type", "f32", "--layers", "24", "--embd", "64", "--heads", "4", "--kv-heads", "2", "--ff", "176",
        "--vocab", "512"]
MODELS = {"tiny": (f"{BUILD}/demo/model-tiny.gguf", 1), "demo": (f"{BUILD}/demo/model-f16.gguf", 4)}
RESAMPLED = 100
CASES = {"1 token": "c 1 1 1 1", "1 and 2 tokens": "c 1 2 1 2", "4 tokens": "c 4 4 4 4", "2 to 5 tokens": "c 2 3 4 5",
         "prompt of 16": "c 16 1 1 1"}


def pair(model, threads, rounds, batches, recording=None, attach="auto"):
    command = [f"{BUILD}/bin/engine-pair", LIBS, model, str(threads), str(rounds), *batches.split()]
    if recording:
        command = [f"{BUILD}/bin/brick", "record", "-q", "--attach", attach, "-o", recording, "--"] + command
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def stated(recording):
    done = subprocess.run([f"{BUILD}/bin/brick", "report", recording, "--json"], check=True, capture_output=True)
    report = json.loads(done.stdout)
    steps, distortion = report["steps"], report["distortion"]
    wall = steps["prefill"]["total_ns"] + steps["decode"]["total_ns"]
    count = steps["prefill"]["count"] + steps["decode"]["count"]
    lost = {k: v for k, v in report["losses"].items() if v and k != "complete"}
    return [None if distortion[k] is None else distortion[k] * wall / count / 1e3
            for k in ("low", "share", "high")], lost


def floor(step, pick=None):
    """By how much the first copy's lower decile is above the second's, ns; of the rounds, or as many picked of them."""
    rounds = step["each_ns"]
    chosen = pick.choices(rounds, k=len(rounds)) if pick else rounds
    first, second = (sorted(column)[len(chosen) // 10] for column in zip(*chosen))
    return first - second


def measure(options, model, threads, batches):
    """Cost of a step, of each step of the round, its error, a step without the recorder: us."""
    path, slower = MODELS[model]
    rounds = max(options.rounds // slower // (8 if threads > 2 else 1), 20)
    null = pair(path, threads, rounds, batches)["steps"]
    with tempfile.TemporaryDirectory() as directory:
        recording = os.path.join(directory, "run.pftrace")
        recorded = pair(path, threads, rounds, batches, recording, options.attach)["steps"]
        estimate, lost = stated(recording)
    pick = random.Random(1)
    costs = [(floor(r) - floor(n)) / 1e3 for r, n in zip(recorded, null)]
    again = [sum(floor(r, pick) - floor(n, pick) for r, n in zip(recorded, null)) / len(costs) / 1e3
             for _ in range(RESAMPLED)]
    error = statistics.stdev(again)
    plain = sum(s["second_ns"] for s in recorded) / len(recorded) / 1e3
    return sum(costs) / len(costs), costs, error, plain, estimate, lost


def shown(value):
    return "     -" if value is None else f"{value:6.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--threads", default="1,2,4")
    parser.add_argument("--models", default="tiny,demo")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--attach", default="auto")
    options = parser.parse_args()
    if not os.path.exists(LIBS):
        sys.exit(f"{LIBS} is not there: demo/models.sh makes it")
    tiny = MODELS["tiny"][0]
    if not os.path.exists(tiny):
        subprocess.run([f"{BUILD}/bin/brick-model", *TINY, tiny], check=True, stdout=subprocess.DEVNULL)
    print("| model | threads | batches | step, us | recording costs, us a step | % | stated, us a step "
          "(low .. high) | holds |\n|---|---|---|---|---|---|---|---|")
    for model in options.models.split(","):
        for threads in map(int, options.threads.split(",")):
            for name in options.cases.split(","):
                cost, costs, error, plain, (low, mid, high), lost = measure(options, model, threads, CASES[name])
                # The truth is known to two standard errors.
                holds = "not stated" if low is None else \
                    "yes" if low - 2 * error <= cost <= high + 2 * error else "no"
                each = "/".join(f"{c:.0f}" for c in costs)
                print(f"| {model} | {threads} | {name} | {plain:.0f} | {cost:.1f} +- {2 * error:.1f} ({each}) | "
                      f"{100 * cost / plain:.1f} | {shown(mid)} ({shown(low)} .. {shown(high)}) | {holds} |"
                      + (f" lost: {lost}" if lost else ""), flush=True)


if __name__ == "__main__":
    main()
