#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verify.py BRICK FILE...: imports files of Kineto (also packed) and Nsight Systems, and counts independently: the number of commands of
devices, their summed time, the busy time of each queue, and the commands whose launch is known. All must equal those of the recording.
Beside them: steps, layers, the part of the devices' time in rows that a rule named, and the first finding of explain."""
import collections
import decimal
import gzip
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

COMMANDS = {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"}
LEFT_OUT = {"Trace", "gpu_user_annotation", "overhead", "cuda_sync"}
OWN_NAME = ("Other", "Python", "Module")  # categories of bricks that may have no rule


def ns(us):
    return int((decimal.Decimal(us) * 1000).to_integral_value(rounding=decimal.ROUND_HALF_UP))


def busy(spans):
    total, until = 0, None
    for begin, end in sorted(spans):
        if until is None or end > until:
            total += end - (begin if until is None else max(begin, until))
            until = end
    return total


def of_kineto(path):
    with (gzip.open if path.endswith(".gz") else open)(path) as file:
        events = json.load(file, parse_float=str, parse_int=str)
    commands, calls = [], set()
    for event in events["traceEvents"] if isinstance(events, dict) else events:
        args = event.get("args") or {}
        if event.get("ph") != "X":
            continue
        if event.get("cat", "").lower() in COMMANDS:
            queue = (args.get("device", event["pid"]), args.get("stream", event["tid"]))
            begin = ns(event["ts"])
            commands.append((queue, begin, begin + ns(event["dur"]), args.get("correlation")))
        elif args.get("correlation", "0") != "0" and event.get("cat") not in LEFT_OUT:
            calls.add(args["correlation"])
    return commands, calls


def of_nsight(path):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    commands, calls = [], set()
    for table in ("KERNEL", "MEMCPY", "MEMSET"):
        if "CUPTI_ACTIVITY_KIND_" + table in tables:
            commands += [((device, stream), begin, end, (process >> 24 & 0xffffff, link)) for begin, end, device, stream, link, process in
                         db.execute(f"SELECT start, end, deviceId, streamId, correlationId, globalPid FROM CUPTI_ACTIVITY_KIND_{table}")]
    if "CUPTI_ACTIVITY_KIND_RUNTIME" in tables:
        calls = {(thread >> 24 & 0xffffff, link)
                 for thread, link in db.execute("SELECT globalTid, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME")}
    return commands, calls


def of_recording(run):
    queues, count, launched = collections.defaultdict(list), 0, sum(c[3] >= 0 for c in run["commands"])
    for lane in run["lanes"]:
        if lane["kind"] == "queue" and lane["backend"] != "host":
            queues[lane["name"].split(" (")[0]] += [(s[0], s[1]) for s in lane["samples"]]
            count += len(lane["samples"])
    return count, sum(e - b for spans in queues.values() for b, e in spans), sorted(map(busy, queues.values())), launched


def named_share(run):
    """A brick without a rule has the name of a kernel or of an event."""
    own = {k["name"] for k in run["kernels"]} | {s["label"] for s in run["sites"]}
    named = total = 0
    for lane in run["lanes"]:
        for s in lane["samples"] if lane["kind"] == "queue" else ():
            brick = run["bricks"][run["sites"][s[2]]["brick"]]
            total += s[1] - s[0]
            named += s[1] - s[0] if brick["category"] not in OWN_NAME or brick["name"] not in own else 0
    return named / total if total else 1


def main():
    brick, bad = sys.argv[1], 0
    print("file\tequal\tcommands\tdevice ns\tlaunched\tthreads\tsteps\tlayers\tnamed\tfirst finding")
    for path in sys.argv[2:]:
        with tempfile.TemporaryDirectory() as folder:
            recording = os.path.join(folder, "run.pftrace")
            subprocess.run([brick, "import", "-o", recording, path], check=True, stderr=subprocess.DEVNULL)
            run = json.loads(subprocess.run([brick, "export", "--format", "json", recording], check=True, capture_output=True).stdout)
            said = subprocess.run([brick, "explain", recording], capture_output=True, text=True).stdout
        commands, calls = (of_nsight if path.endswith(".sqlite") else of_kineto)(path)
        queues = collections.defaultdict(list)
        for queue, begin, end, _ in commands:
            queues[queue].append((begin, end))
        want = (len(commands), sum(c[2] - c[1] for c in commands), sorted(map(busy, queues.values())), sum(c[3] in calls for c in commands))
        got = of_recording(run)
        bad += got != want
        finding = next((line[2:] for line in said.splitlines() if line.startswith("1 ")), "none")
        print(os.path.basename(path), "yes" if got == want else f"NO: {want[:2]}", got[0], got[1], got[3],
              sum(lane["kind"] == "thread" for lane in run["lanes"]), len(run["steps"]),
              len({s["layer"] for s in run["sites"] if s["layer"] >= 0}), f"{named_share(run):.1%}", finding, sep="\t")
    sys.exit(bad > 0)


main()
