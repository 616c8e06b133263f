#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hta.py BRICK [--table] FILE...: HolisticTraceAnalysis (0.5.0 of PyPI, with a pandas below 3) beside Brick on Kineto's files. Of the GPU,
in ms: its time, idle, computing, collectives and copies alone; the part of the collectives' time that computing hides; how many kernels
have the same name and, in whole us, the same time in both; and why it was idle. HTA is asked twice: as it comes; and "mended", which
tells what all differences are: with HTA_DISABLE_NS_ROUNDING=1 (else it moves each begin up and each end down to a whole us), and with a copy
of the file whose times count from its first event (doubles of a time since 1970 have steps of a quarter us) and whose events of the host and
of synchronisation have no stream (else they count as commands of the GPU). "=" is put where Brick's number is HTA's to 2 ns a command."""
import collections
import decimal
import gzip
import json
import logging
import os
import subprocess
import sys
import tempfile
import warnings

sys.path.pop(0)  # this file is called like the package
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
CAUSES = {"host": ("between-operators", "operator", "allocation", "wait", "data-loader", "compilation", "interpreter-lock", "preempted", "nothing-to-do"),
          "launches": ("launch", "replay"), "streams": ("dependency", "transfer", "collective"), "unknown": ("unknown",)}
CHILD = "--child"


def of_hta(path):
    from hta.trace_analysis import TraceAnalysis
    trace = TraceAnalysis(trace_files={0: path}, trace_dir="", include_last_profiler_step=True)
    said = {"fails": {}}

    def ask(what, call):
        try:
            return call()
        except Exception as error:
            said["fails"][what] = f"{type(error).__name__}: {error}"[:120]
            return None
    row = ask("temporal breakdown", lambda: trace.get_temporal_breakdown(visualize=False).iloc[0])
    if row is not None:
        said["times"] = [float(row[key + "(us)"]) for key in ("kernel_time", "idle_time", "compute_time", "non_compute_time")]
    kernels = ask("kernel breakdown", lambda: trace.get_gpu_kernel_breakdown(visualize=False, duration_ratio=1.0, num_kernels=10 ** 6))
    if kernels is not None and "times" in said:
        said["kernels"] = [[row["name"], float(row["sum (us)"])] for _, row in kernels[1].iterrows()]
    overlap = ask("overlap", lambda: trace.get_comm_comp_overlap(visualize=False).iloc[0]["comp_comm_overlap_pctg"])
    said["overlap"] = None if overlap is None or overlap != overlap else float(overlap)
    causes = ask("idle breakdown", lambda: trace.get_idle_time_breakdown(visualize=False)[0])
    if causes is not None:
        said["causes"] = {k: float(v) / 1000 for k, v in causes.groupby("idle_category").idle_time.sum().items()}
        said["streams"] = int(causes["stream"].nunique())
    print(json.dumps(said))


def mended(path, folder):
    with (gzip.open if path.endswith(".gz") else open)(path) as file:
        said = json.load(file, parse_float=decimal.Decimal)
    events = said["traceEvents"]
    first = min(e["ts"] for e in events if e.get("ph") == "X")
    for event in events:
        if "ts" in event:
            event["ts"] = event["ts"] - first
        if event.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset") and "stream" in (event.get("args") or {}):
            del event["args"]["stream"]
    out = os.path.join(folder, "mended.json")
    with open(out, "w", encoding="utf-8") as file:
        json.dump(said, file, default=float)
    return out


def ask_hta(path, exact):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, os.path.abspath(__file__), CHILD, mended(path, folder) if exact else path],
                              capture_output=True, text=True, timeout=900, env={**os.environ, "HTA_DISABLE_NS_ROUNDING": "1" if exact else "0"})
    if done.returncode:
        return {"fails": {"reading": done.stderr.strip().splitlines()[-1][:160]}}
    return json.loads(done.stdout.splitlines()[-1])


def of_brick(brick, path):
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, "run.pftrace")
        subprocess.run([brick, "import", "-o", recording, path], check=True, stderr=subprocess.DEVNULL)
        said, run = (json.loads(subprocess.run([brick, *ask, recording], check=True, capture_output=True).stdout)
                     for ask in (["report", "--json", "--phase", "all"], ["export", "--format", "json"]))
    gpus = said["device"]["gpus"] if said["device"] else []
    kernels, spans = collections.Counter(), []
    for lane in run["lanes"]:
        for sample in lane["samples"] if lane["kind"] == "queue" and lane["backend"] != "host" else ():
            if run["bricks"][run["sites"][sample[2]]["brick"]]["category"] == "Communication":
                spans.append(sample[:2])
    for command in run["commands"]:
        lane = run["lanes"][command[0]]
        sample = lane["samples"][command[1]]
        kernels[run["kernels"][command[2]]["name"]] += sample[1] - sample[0]
    if not gpus:
        return None, None, {}, kernels, None
    gpu = max(gpus, key=lambda g: g["commands"])
    alone = gpu["exposed_collective_ns"] + gpu["exposed_transfer_ns"]
    times = [gpu["wall_ns"], gpu["idle_ns"], gpu["busy_ns"] - alone, alone]
    causes = {name: sum(gpu["idle"][k]["time_ns"] for k in keys if k in gpu["idle"]) / 1e6 for name, keys in CAUSES.items()}
    busy, until = 0, 0
    for begin, end in sorted(spans):
        busy, until = busy + max(0, end - max(begin, until)), max(until, end)
    return [t / 1000 for t in times], causes, gpu, kernels, 1 - gpu["exposed_collective_ns"] / busy if busy else None


def main():
    brick, is_table = sys.argv[1], "--table" in sys.argv

    def row(*cells):
        print("| " + " | ".join(map(str, cells)) + " |" if is_table else "\t".join(map(str, cells)), flush=True)
    row("file", "", "GPU", "idle", "computing", "not computing", "hidden", "kernels", "idle because")
    if is_table:
        print("|---|---|" + "--:|" * 6 + "---|")
    for path in (a for a in sys.argv[2:] if a != "--table"):
        name = os.path.basename(path).split(".")[0]
        times, causes, gpu, kernels, hidden = of_brick(brick, path)
        for exact in (False, True):
            said = ask_hta(path, exact)
            fails = "; ".join(f"{what} fails: {why}" for what, why in said["fails"].items())
            if "times" not in said:
                row(name, "HTA, mended" if exact else "HTA", *["-"] * 6, fails)
                continue
            slack = 0.002 * max(1, gpu.get("commands", 0))
            same = [abs(a - b) <= slack for a, b in zip(said["times"], times or [])]
            mine = collections.Counter(round(ns / 1000) for ns in kernels.values())
            theirs = collections.Counter(round(us) for _, us in said.get("kernels", ()))
            row(name, "HTA, mended" if exact else "HTA", *(f"{t / 1000:.2f}{' =' if s else ''}" for t, s in zip(said["times"], same)),
                "-" if said["overlap"] is None else f"{said['overlap']:.1f} %", f"{sum((mine & theirs).values())} of {sum(theirs.values())}",
                ", ".join(f"{k} {v:.2f}" for k, v in said.get("causes", {}).items() if v >= 0.05)
                + (f" (sums of {said['streams']} streams)" if said.get("streams", 1) > 1 else "") + (f"; {fails}" if fails else ""))
        if times:
            row("", "Brick", *(f"{t / 1000:.2f}" for t in times), "-" if hidden is None else f"{hidden:.1%}", len(kernels),
                ", ".join(f"{k} {v:.2f}" for k, v in causes.items() if v >= 0.05))
        else:
            row("", "Brick", *["-"] * 6, "no GPU")


of_hta(sys.argv[2]) if sys.argv[1] == CHILD else main()
