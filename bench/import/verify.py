#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verify.py BRICK [--table] FILE...: imports files of Kineto (also packed), Nsight Systems, XLA and rocprofv3 (kernel_trace.csv), and counts independently:
the number of commands of devices, their summed time, the busy time of each queue, and the commands whose launch is known. All must equal
those of the recording. So must, for each GPU, its time from the first to the last command of steps, busy, idle, and with only transfers or
collectives running; the causes of its idle time must add up to it. Beside them: steps, layers, the part of the devices' time in rows that
a rule named, and the first finding of explain."""
import collections
import csv
import decimal
import gzip
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

COMMANDS = {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"}
LEFT_OUT = {"Trace", "gpu_user_annotation", "overhead", "cuda_sync"}
COLLECTIVE = re.compile(r"^(nccl|rccl)|cross_device_reduce|allreduce_|AllReduceKernel")
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
    commands, calls = [], {}
    for event in events["traceEvents"] if isinstance(events, dict) else events:
        args = event.get("args") or {}
        if event.get("ph") != "X":
            continue
        if event.get("cat", "").lower() in COMMANDS:
            queue = (args.get("device", event["pid"]), args.get("stream", event["tid"]))
            begin = ns(event["ts"])
            work = "transfer" if event["cat"] != "kernel" else "collective" if COLLECTIVE.search(event["name"]) else "compute"
            commands.append((queue, begin, begin + ns(event["dur"]), args.get("correlation"), work))
        elif args.get("correlation", "0") != "0" and event.get("cat") not in LEFT_OUT:
            calls.setdefault(args["correlation"], ns(event["ts"]))
    return commands, calls


def of_nsight(path):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    commands, calls = [], {}
    texts = dict(db.execute("SELECT id, value FROM StringIds")) if "StringIds" in tables else {}
    for table in ("KERNEL", "MEMCPY", "MEMSET"):
        if "CUPTI_ACTIVITY_KIND_" + table not in tables:
            continue
        name = "demangledName" if table == "KERNEL" else "NULL"
        for begin, end, device, stream, link, process, text in db.execute(
                f"SELECT start, end, deviceId, streamId, correlationId, globalPid, {name} FROM CUPTI_ACTIVITY_KIND_{table}"):
            work = "transfer" if table != "KERNEL" else "collective" if COLLECTIVE.search(str(texts.get(text, text))) else "compute"
            process = process >> 24 & 0xffffff
            commands.append(((process, device, stream), begin, end, (process, link), work))
    if "CUPTI_ACTIVITY_KIND_RUNTIME" in tables:
        for begin, thread, link in db.execute("SELECT start, globalTid, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY rowid"):
            calls.setdefault((thread >> 24 & 0xffffff, link), begin)
    return commands, calls


def of_rocprof(path):
    with open(path, newline="") as file:
        return [((row["Agent_Id"], row["Queue_Id"]), int(row["Start_Timestamp"]), int(row["End_Timestamp"]), None, "compute")
                for row in csv.DictReader(file)], {}


def fields(data):
    """(number, int or bytes) of a protobuf."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        key = varint()
        kind = key & 7
        value = varint() if kind == 0 else None
        if kind:
            length = {1: 8, 5: 4}.get(kind) or varint()
            value = data[at:at + length]
            at += length
        yield key >> 3, value


def of_xplane(path):
    """Streams of GPUs, and the first event of the host with each correlation."""
    with open(path, "rb") as file:
        planes = [list(fields(plane)) for number, plane in fields(file.read()) if number == 1]
    commands, calls = [], {}
    for plane in planes:
        title = next((v.decode() for n, v in plane if n == 2), "")
        device = re.match(r"/device:[GT]PU:(\d+)", title)
        if not device and title != "/host:CPU":
            continue
        tables = {4: {}, 5: {}}
        for number, entry in plane:
            if number in tables:
                entry = dict(fields(entry))
                tables[number][entry.get(1, 0)] = dict(fields(entry.get(2, b""))).get(2, b"").decode()
        for line in (list(fields(v)) for n, v in plane if n == 3):
            name, start = (next((v for n, v in line if n == k), d) for k, d in ((2, b""), (3, 0)))
            stream = re.match(r"Stream #(\d+)", name.decode())
            if device and not stream and name != b"XLA Ops":
                continue
            for event in (list(fields(v)) for n, v in line if n == 4):
                kernel, offset, length = (next((v for n, v in event if n == k), 0) for k in (1, 2, 3))
                begin, end = start + offset // 1000, start + (offset + length) // 1000
                stats = {tables[5].get(st.get(1)): st.get(3, st.get(4)) for st in (dict(fields(v)) for n, v in event if n == 4)}
                link, text = stats.get("correlation_id"), tables[4].get(kernel, "")
                work = "transfer" if text.lower().startswith(("memcpy", "memset")) else "collective" if COLLECTIVE.search(text) else "compute"
                if device:
                    queue = (int(device[1]), stream[1] if stream else dict(line).get(1))
                    commands.append((queue, begin, end, link or None, work))
                elif link and length:
                    calls[link] = min(begin, calls.get(link, begin))
    return commands, calls


def of_gpus(commands, calls, run):
    """Of each GPU (wall, busy, idle, only collectives, only transfers): its commands of steps say from when to when."""
    first = min((c[1] for c in commands), default=0)
    begin = min((s[0] for lane in run["lanes"] if lane["kind"] == "queue" and lane["backend"] != "host" for s in lane["samples"]), default=0)
    steps = [(s["begin_ns"] - begin + first, s["end_ns"] - begin + first, run["processes"][run["lanes"][s["lane"]]["process"]]["pid"])
             for s in run["steps"]]
    gpus, found = collections.defaultdict(list), []
    for command in commands:
        gpus[command[0][:-1]].append(command)
    for key, own in gpus.items():
        spans = [c for c in own if any(a <= calls.get(c[3], c[1]) < b and (len(key) == 1 or key[0] == pid) for a, b, pid in steps)] or own
        low, high = min(c[1] for c in spans), max(c[2] for c in spans)

        def until(*works):
            return busy([(max(c[1], low), min(c[2], high)) for c in own if c[4] in works and c[2] > low and c[1] < high])
        both, everything = until("compute", "collective"), until("compute", "collective", "transfer")
        found.append((high - low, everything, high - low - everything, both - until("compute"), everything - both))
    return sorted(found)


def of_report(report):
    gpus = report["device"]["gpus"] if report["device"] else []
    wrong = [g["name"] for g in gpus if sum(part["time_ns"] for part in g["idle"].values()) != g["idle_ns"]]
    return wrong, sorted((g["wall_ns"], g["busy_ns"], g["idle_ns"], g["exposed_collective_ns"], g["exposed_transfer_ns"]) for g in gpus)


def of_recording(run):
    queues, count, launched = collections.defaultdict(list), 0, sum(c[3] >= 0 for c in run["commands"])
    for lane in run["lanes"]:
        if lane["kind"] == "queue" and lane["backend"] != "host":
            queues[lane["name"].split(" (")[0]] += [(s[0], s[1]) for s in lane["samples"]]
            count += len(lane["samples"])
    return count, sum(e - b for spans in queues.values() for b, e in spans), sorted(map(busy, queues.values())), launched


def named_share(run):
    """A brick without a rule has the name of a kernel or of an event."""
    own = {k["name"] for k in run["kernels"]} | {s[key] for s in run["sites"] for key in ("label", "op") if s.get(key)}
    named = total = 0
    for lane in run["lanes"]:
        for s in lane["samples"] if lane["kind"] == "queue" else ():
            brick = run["bricks"][run["sites"][s[2]]["brick"]]
            total += s[1] - s[0]
            named += s[1] - s[0] if brick["category"] not in OWN_NAME or brick["name"] not in own else 0
    return named / total if total else 1


def main():
    brick, bad, shares = sys.argv[1], 0, []
    is_table = "--table" in sys.argv

    def row(*cells):
        print("| " + " | ".join(map(str, cells)) + " |" if is_table else "\t".join(map(str, cells)), flush=True)
    row("file", "equal", "commands", "device ns", "launched", "busy", "idle", "threads", "steps", "layers", "named", "first finding")
    if is_table:
        print("|---|---|" + "--:|" * 9 + "---|")
    for path in (a for a in sys.argv[2:] if a != "--table"):
        with tempfile.TemporaryDirectory() as folder:
            recording = os.path.join(folder, "run.pftrace")
            subprocess.run([brick, "import", "-o", recording, path], check=True, stderr=subprocess.DEVNULL)
            run = json.loads(subprocess.run([brick, "export", "--format", "json", recording], check=True, capture_output=True).stdout)
            report = json.loads(subprocess.run([brick, "report", "--json", recording], check=True, capture_output=True).stdout)
            said = subprocess.run([brick, "explain", recording], capture_output=True, text=True).stdout
        readers = {"sqlite": of_nsight, "csv": of_rocprof, "pb": of_xplane}
        commands, calls = readers.get(path.rsplit(".", 1)[-1], of_kineto)(path)
        queues = collections.defaultdict(list)
        for queue, begin, end, *_ in commands:
            queues[queue].append((begin, end))
        want = (len(commands), sum(c[2] - c[1] for c in commands), sorted(map(busy, queues.values())), sum(c[3] in calls for c in commands))
        got = of_recording(run)
        wrong, gpus = of_report(report)
        want, got = (*want, of_gpus(commands, calls, run), []), (*got, gpus, wrong)
        bad += got != want
        finding = next((line[2:] for line in said.splitlines() if line.startswith("1 ")), "none")
        origin = next((n["key"] for n in run["notes"] if n["key"] in ("steps.none", "steps.detected")), None)
        steps = {"steps.none": "none", "steps.detected": f"{len(run['steps'])} detected"}.get(origin, len(run["steps"]))
        shares.append(named_share(run))
        row(os.path.basename(path), "yes" if got == want else f"NO: {got} is {want}", got[0], got[1], got[3],
            sum(g[1] for g in gpus), sum(g[2] for g in gpus),
            sum(lane["kind"] == "thread" for lane in run["lanes"]), steps,
            len({s["layer"] for s in run["sites"] if s["layer"] >= 0}), f"{shares[-1]:.1%}", finding.split("  ", 1)[-1].strip())
    if shares:
        print(f"\nnamed by rules: {sorted(shares)[len(shares) // 2]:.1%} in the median, {min(shares):.1%} at least")
    sys.exit(bad > 0)


main()
