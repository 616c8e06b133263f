# SPDX-License-Identifier: Apache-2.0
"""What recording costs a CUDA program: each way in processes of its own, interleaved, medians with
the spread of the same program against itself. Of a replay, activity times its four kernels and events
its two bricks. cost.py OUT [ROUNDS]; environment BRICK_BUILD."""
import json
import os
import statistics
import subprocess
import sys
import time

BUILD = os.environ["BRICK_BUILD"]
BRICK = os.path.join(BUILD, "bin", "brick")
PROGRAM = os.path.join(BUILD, "bin", "program-cuda_work")
WORK = {"many launches": ["many", os.environ.get("LAUNCHES", "200000")],
        "graph replays": ["graph", os.environ.get("REPLAYS", "20000")]}


def seconds(text):
    """The program says how long its loop took, so that start-up does not count."""
    return float(next(line.split()[1] for line in text.splitlines() if line.startswith("loop ")))


def run(way, arguments, out):
    environment = dict(os.environ, CUDA_WORK_TIME="1")
    command = [PROGRAM, *arguments]
    if way == "activity":
        command = [BRICK, "record", "-o", os.path.join(out, "cost.pftrace"), "--", *command]
    elif way == "off":
        environment["BRICK_CUDA"] = "off"
        command = [BRICK, "record", "-o", os.path.join(out, "cost.pftrace"), "--", *command]
    elif way == "events":
        environment["CUDA_WORK_EVENTS"] = os.path.join(out, "events.pftrace")
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return seconds(result.stderr)


def kernels_in(out):
    """That were recorded: where tracing is refused the program runs on, and costs nothing."""
    path = os.path.join(out, "cost.pftrace")
    report = json.loads(subprocess.check_output([BRICK, "report", "--by", "kernel", "--json", path]))
    return sum(row["count"] for row in report["kernels"] if row["kind"] == "compute")


def main():
    out = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    results = {"when": time.strftime("%Y-%m-%d"), "rounds": rounds}
    for name, arguments in WORK.items():
        ways = ["alone", "again", "off", "activity", "events"]
        times = {way: [] for way in ways}
        for i in range(rounds):
            for way in ways if i % 2 == 0 else reversed(ways):
                times[way].append(run(way, arguments, out))
                if way == "activity" and kernels_in(out) < int(arguments[1]):
                    sys.exit(f"{name}: {kernels_in(out)} kernels were recorded")
        alone = statistics.median(times["alone"])
        results[name] = {way: {"median_s": statistics.median(t), "all_s": t,
                               "over_alone": statistics.median(t) / alone - 1}
                         for way, t in times.items()}
        for way in ways:
            print(f"{name:15} {way:9} {statistics.median(times[way]) * 1e3:9.1f} ms "
                  f"{100 * (statistics.median(times[way]) / alone - 1):+6.1f} %")
    with open(os.path.join(out, "cost.json"), "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
