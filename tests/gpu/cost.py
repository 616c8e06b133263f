# SPDX-License-Identifier: Apache-2.0
"""What recording costs CUDA programs, and whether reports say so truly: each program alone, attached with
BRICK_CUDA=off, recorded in full, recorded lightly if it replays graphs, and under other profilers where they are there, in processes of its own, in turns. The truth
is 1 - alone / recorded, of medians, and of the extremes of all rounds; a report holds if its interval meets theirs.
cost.py OUT [SECONDS]: a round of all programs begins if it can end in time, the first one always. Environment:
BRICK_BUILD; GPU_LLAMA; GPU_ROUNDS, most rounds; LAUNCHES, REPLAYS and STEPS of a program. Results in OUT/cost.json; the
table is for docs/PERFORMANCE.md."""
import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import time

BUILD = os.environ["BRICK_BUILD"]
BRICK = os.path.join(BUILD, "bin", "brick")
LAUNCHES, REPLAYS = os.environ.get("LAUNCHES", "100000"), os.environ.get("REPLAYS", "10000")
STEPS = os.environ.get("STEPS", "400")
RECORDED = {"recorded": "full", "light": "light"}  # way: --cuda
OURS = "alone", "again", "off", "recorded", "light", "events"
TORCH = """
import contextlib, os, sys, time, torch
torch.manual_seed(0)
wide, rows, steps = (512, 1, 200) if sys.argv[2] == "small" else (4096, 512, 40)
layers = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(wide, wide), torch.nn.ReLU()) for _ in range(12)))
layers = layers.cuda().half()
x = torch.ones(rows, wide, device="cuda", dtype=torch.half)
step = torch.compile(layers) if sys.argv[1] == "compile" else layers
with torch.no_grad():
    for _ in range(5):
        step(x)
    torch.cuda.synchronize()
    if sys.argv[1] == "graph":
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step(x)
        step = lambda x: graph.replay()
    with torch.profiler.profile() if os.environ.get("GPU_KINETO") else contextlib.nullcontext():
        step(x)
        torch.cuda.synchronize()
        begin = time.monotonic()
        for _ in range(steps):
            step(x)
            torch.cuda.synchronize()
        end = time.monotonic()
        print(f"loop {end - begin:.6f} s", file=sys.stderr)
"""


def programs():
    """Name -> its command, how many kernels it launches at least, and whether it can time launches by events itself."""
    work, cost = (os.path.join(BUILD, "bin", name) for name in ("program-cuda_work", "program-cuda_cost"))
    found = {f"{LAUNCHES} launches": ([work, "many", LAUNCHES], int(LAUNCHES), True),
             f"{REPLAYS} replays of 4 nodes": ([work, "graph", REPLAYS], 4 * int(REPLAYS), True)}
    for name, (launches, replays, blocks, host_us) in {
            "118 small kernels": (118, 0, 1, 0), "118 large kernels": (118, 0, 20000, 0),
            "118 small kernels, 10 us apart": (118, 0, 1, 10),
            "8 replays of 16 small nodes": (0, 8, 1, 0), "8 replays of 16 large nodes": (0, 8, 20000, 0)}.items():
        found[f"{STEPS} steps of {name}"] = ([cost, STEPS, *map(str, (launches, replays, blocks, host_us))],
                                             (launches + 16 * replays) * int(STEPS), False)
    if os.environ.get("GPU_LLAMA"):
        llama = shlex.split(os.environ["GPU_LLAMA"]) + ["--timing"]
        found["llama.cpp, decode"] = (llama, 100, False)
        found["llama.cpp, decode without graphs"] = (["env", "GGML_CUDA_DISABLE_GRAPHS=1", *llama], 100, False)
    if subprocess.run([sys.executable, "-c", "import torch; assert torch.cuda.is_available()"],
                      capture_output=True, check=False).returncode == 0:
        for way in "eager", "graph", "compile":
            for size in "small", "large":
                found[f"PyTorch, {way}, {size} steps"] = ([sys.executable, "-c", TORCH, way, size], 100, False)
    return found


def ways_of(name, has_events):
    peers = (["nsys"] if shutil.which("nsys") else []) + (["kineto"] if name.startswith("PyTorch") else [])
    missing = {"events": not has_events, "light": not re.search("replays|decode$|, graph", name)}
    return [way for way in OURS if not missing.get(way)] + peers


def seconds(text):
    """The program says how long its loop took, so that start-up does not count."""
    loops = re.findall(r"^loop ([0-9.]+) s", text, re.M)
    return float(loops[-1]) if loops else json.loads(text[text.rindex("{\"repeat\""):].splitlines()[0])["decode_ns"] / 1e9


def report_of(path):
    report = json.loads(subprocess.check_output([BRICK, "report", "--json", path]))
    kernels = json.loads(subprocess.check_output([BRICK, "report", "--by", "kernel", "--json", path]))["kernels"]
    stated = report["distortion"]["decode"] or report["distortion"]
    notes = {note["key"]: note["value"] for note in report["run"]["notes"]}
    return {"share": stated["share"], "low": stated["low"], "high": stated["high"],
            "tracing": report["distortion"]["tracing"], "calibration": notes.get("cuda.calibration"),
            "kernels": sum(row["count"] for row in kernels if row["kind"] == "compute")}


def run(way, command, out):
    """The loop's seconds, and what the report states if it is recorded. None: another profiler does not run here."""
    path = os.path.join(out, "cost.pftrace")
    environment = dict(os.environ, CUDA_WORK_TIME="1")
    if way in RECORDED:
        command = [BRICK, "record", "-q", "-o", path, "--cuda", RECORDED[way], "--", *command]
    if way == "off":
        command = [BRICK, "record", "-q", "-o", path, "--", *command]
    if way == "off":
        environment["BRICK_CUDA"] = "off"
    elif way == "events":
        environment["CUDA_WORK_EVENTS"] = os.path.join(out, "events.pftrace")
    elif way == "kineto":
        environment["GPU_KINETO"] = "1"
    elif way == "nsys":
        command = ["nsys", "profile", "-t", "cuda", "--sample=none", "--cpuctxsw=none", "--cuda-graph-trace=node",
                   "--force-overwrite=true", "-o", os.path.join(out, "peer"), *command]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode and way not in OURS:
        return None, None
    if done.returncode:
        sys.exit(f"{way}: {shlex.join(command)[:200]}: {done.stderr[-500:]}")
    return seconds(done.stderr), report_of(path) if way in RECORDED else None


def measure(out, limit_s):
    found = programs()
    times = {name: {way: [] for way in ways_of(name, events)} for name, (_, _, events) in found.items()}
    reports = {name: {way: [] for way in RECORDED if way in times[name]} for name in found}
    begin = time.monotonic()
    for i in range(int(os.environ.get("GPU_ROUNDS", "9"))):
        for name, (command, least, _) in found.items():
            for way in list(times[name])[::-1 if i % 2 else 1]:
                loop_s, report = run(way, command, out)
                if loop_s is not None:
                    times[name][way].append(loop_s)
                if report and report["kernels"] < least:  # where tracing is refused nothing costs anything
                    sys.exit(f"{name}: {report['kernels']} of {least} kernels were recorded")
                if report:
                    reports[name][way].append(report)
        now = time.monotonic()
        if now + (now - begin) / (i + 1) > begin + limit_s:
            break
    return times, reports


def judged(times, reports, way):
    """The truth with its extremes, the medians of what reports state, and how many of them hold."""
    alone, recorded = sorted(times["alone"] + times["again"]), sorted(times[way])
    low, high = 1 - alone[-1] / recorded[0], 1 - alone[0] / recorded[-1]
    known = [r for r in reports if r["share"] is not None]
    return {"truth": 1 - statistics.median(alone) / statistics.median(recorded), "low": low, "high": high,
            "reports": len(reports), "holds": sum(r["low"] <= high and low <= r["high"] for r in known),
            "stated": {key: statistics.median(r[key] for r in known) if known else None for key in ("share", "low", "high")}}


def interval(of, key):
    return f"{100 * of[key]:.1f} ({100 * of['low']:.1f} .. {100 * of['high']:.1f})" if of[key] is not None else "not known"


def main():
    out, limit_s = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 240
    times, reports = measure(out, limit_s)
    verdicts = {(name, way): judged(times[name], reports[name][way], way) for name in times for way in reports[name]}
    print("| program | ms, medians | truth, % | stated, % | hold |\n|---|---|---|---|---|")
    for (name, way), verdict in verdicts.items():
        medians = ", ".join(f"{way} {statistics.median(t) * 1e3:.1f}" for way, t in times[name].items() if t)
        print(f"| {name}, {RECORDED[way]} | {medians} | {interval(verdict, 'truth')} | {interval(verdict['stated'], 'share')} | "
              f"{verdict['holds']} of {verdict['reports']} |")
    for name in reports:
        print(f"calibrated for {name}: {list(reports[name].values())[-1][-1]['calibration']}")
    print(f"{sum(v['holds'] for v in verdicts.values())} of {sum(v['reports'] for v in verdicts.values())} reports hold, "
          f"in {len(next(iter(reports.values()))['recorded'])} rounds")
    with open(os.path.join(out, "cost.json"), "w", encoding="utf-8") as file:
        json.dump({"when": time.strftime("%Y-%m-%d"), "times_s": times, "verdicts": {", ".join(key): v for key, v in verdicts.items()}, "reports": reports}, file,
                  indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
