# SPDX-License-Identifier: Apache-2.0
"""
Description: one program's work on two queues, from the recording to every answer: times are those
that the device had, launches and waits are connected, host and device time stay apart.
"""
import collections
import csv
import io
import json
import os
import subprocess

import libgpus
import libprotoc
import libtrace
from libwire import one
from libcli import BUILD, TMP, brick, brick_json, expect, expect_true

STEPS = 25
LAYERS = 2
KERNELS = {1: "rmsnorm_kernel", 2: "gemv", 3: "copy to the device", 4: "copy from the device"}
ROUNDING_NS = 3
RATE = 1 / 5000  # lengths on a device's clock are right to that, however poorly a busy machine lets it be read (correlation.c)
CLOCKS_NS = 2000  # between the clock that the program reads and the line fitted to it later
Command = collections.namedtuple("Command", "number brick kernel begin end")


def record():
    path = os.path.join(TMP, "device.pftrace")
    done = subprocess.run([os.path.join(BUILD, "bin", "program-device_recording"), path,
                           str(STEPS)], check=True, timeout=600, stdout=subprocess.PIPE)
    commands = []
    for line in done.stdout.decode().splitlines():
        number, name, kernel, begin, end, _ = line.split()
        commands.append(Command(int(number), name, KERNELS[int(kernel)], int(begin), int(end)))
    expect("commands", len(commands), (STEPS + 1) * (LAYERS * 3 + 1))
    return path, commands


def near(what, got, want, most=ROUNDING_NS):
    expect_true(f"{what}: {got}, the device says {want}", abs(got - want) <= most)


def length(commands):
    return sum(c.end - c.begin for c in commands)


def slack(commands):
    return ROUNDING_NS * len(commands) + RATE * length(commands)


def in_perfetto(path, commands):
    found = libtrace.load(path, allow_open=False)
    expect("problems", found.problems, [])
    expect_true("protoc", not libprotoc.protoc_problems(path, os.environ["BRICK_SOURCE"]))
    tracks = {one(d, 1): one(d, 2, b"").decode() for d in found.tracks.values()}
    for track in ("null: compute", "null: copies"):
        expect_true(f"a track {track}", track in tracks.values())
    slices = sorted((s for s in found.slices if tracks[s.track].startswith("null: ")),
                    key=lambda s: s.begin)
    want = sorted(commands, key=lambda c: c.begin)
    expect("slices on queues", len(slices), len(want))
    for s, c in zip(slices, want):
        expect("name", s.name, c.kernel)
        expect("kernel", s.arguments["kernel"]["name"], c.kernel)
        expect("source", s.arguments["source"], "device-event")
        near("begin", s.begin, c.begin, CLOCKS_NS)
        near("length", s.end - s.begin, c.end - c.begin, slack([c]))
        if c.brick != "-":
            expect("brick", s.arguments["brick"], c.brick)
        expect_true("a launch before the start", s.arguments["launch_to_start_ns"] > -CLOCKS_NS)
    expect("gemv", next(s for s in slices if s.name == "gemv").arguments["kernel"]["grid"],
           [32, 1, 1])
    stages = sorted(found.stages)
    expect("render stages", len(stages), len(slices))
    for stage, s in zip(stages, sorted(slices, key=lambda s: (s.begin, s.end - s.begin, s.name))):
        expect("render stage", stage, (s.begin, s.end - s.begin, s.name, tracks[s.track]))
    flows = list(found.flows.values())
    expect("a flow for each command", len(flows), len(commands))
    for events in flows:
        events.sort(key=lambda e: e[0])
        expect("from its launch", events[0][2].name, "Launch")
        expect_true("to the command", tracks[events[1][2].track].startswith("null: "))
    waits = [e for e in flows if e[-1][1] and e[-1][2].name == "Synchronize"]
    expect("flows to who waited", len(waits), STEPS + 1)
    expect_true("of what they waited for",
                all(e[1][2].name == "copy from the device" for e in waits))


def by_brick(path, commands):
    report = brick_json("report", "--json", path)
    rows = {row["name"]: row for row in report["bricks"]}
    for name in ("RmsNorm", "QkvProjection"):
        mine = [c for c in commands if c.brick == name]
        row = rows[name]
        near(name, row["device_ns"], length(mine), slack(mine))
        expect("commands of " + name, row["device_count"], len(mine))
        expect("calls of " + name, row["count"], LAYERS * (STEPS + 1))
        expect("sources", row["source"], "tsc+device-event")
        expect("ran on", row["backend"], "cpu")
    # its commands take 50 us; of many executions one was left alone on its CPU
    expect_true("no device time in the host's", rows["QkvProjection"]["min_ns"] < 25000)
    device = rows["copy from the device"]
    expect("only on the device", (device["count"], device["total_ns"], device["share"],
                                  device["backend"]), (0, 0, 0, "null"))
    share = sum(row["share"] for row in report["bricks"] + report["rests"])
    expect_true(f"shares add up to {share}", abs(share - 1) < 1e-6)
    expect("losses", {k: v for k, v in report["losses"].items() if v}, {"complete": True})
    expect("backends", report["run"]["backends"], ["cpu", "null"])
    check_queues(report, commands)
    check_coverage(path, report["device"], commands)
    layers = brick_json("report", "--json", "--by", "layer", path)["layers"]
    near("device time of layers", sum(r["device_ns"] or 0 for r in layers), length(commands),
         slack(commands))
    threads = brick_json("report", "--json", "--by", "thread", path)["threads"]
    expect("a queue is no thread", len(threads), 1)
    return report


def check_coverage(path, device, commands):
    covered = length([c for c in commands if c.brick != "-"])
    near("covered", device["covered_ns"], covered, slack(commands))
    expect_true("coverage of device time",
                abs(device["coverage"] - covered / length(commands)) < 1e-3)
    waits = device["waits"]
    expect("waits", [(w["kernel"], w["queue"], w["count"]) for w in waits],
           [("copy from the device", "copies", STEPS + 1)])
    expect("waited", sum(w["time_ns"] for w in waits), device["wait_ns"])
    text = " ".join(brick("report", "-v", path, COLUMNS="300")[0].decode().split())
    expect_true("names in text", "of commands is of bricks" in text
                and "of the wall time: for copy from the device" in text)


def check_queues(report, commands):
    queues = {queue["name"]: queue for queue in report["device"]["queues"]}
    for name, copies in (("compute", False), ("copies", True)):
        mine = [c for c in commands if c.kernel.startswith("copy") == copies]
        queue = queues[name]
        near("busy " + name, queue["busy_ns"], length(mine), slack(mine))
        expect("commands", queue["commands"], len(mine))
        near("busy and idle", queue["busy_ns"] + queue["idle_ns"], queue["queue_wall_ns"], 0)
        # all of its work lies within the steps
        near("idle " + name, queue["idle_ns"], queue["steps_ns"] - queue["busy_ns"], 0)
        expect("launches", queue["launch"]["count"], len(mine))
        expect_true("a delay of 4 µs or so, at least", queue["launch"]["p50_ns"] >= 4000 - CLOCKS_NS)
        expect_true("the call comes before the submission",
                    queue["launch"]["p95_ns"] + CLOCKS_NS >= queue["submit"]["p95_ns"])


def by_kernel_and_queue(path, commands):
    report = brick_json("report", "--json", "--by", "kernel", path)
    rows = {row["name"]: row for row in report["kernels"]}
    expect("kernels", set(rows), set(KERNELS.values()))
    for name, row in rows.items():
        mine = [c for c in commands if c.kernel == name]
        expect("count of " + name, row["count"], len(mine))
        near(name, row["total_ns"], length(mine), slack(mine))
        for what, key, one_of in (("least", "min_ns", min), ("most", "max_ns", max)):
            command = one_of(mine, key=lambda c: c.end - c.begin)
            near(what, row[key], length([command]), slack([command]))
        expect("backend", row["backend"], "null")
        expect("no part of the host's time", row["wall_ns"], None)
    gemv = rows["gemv"]
    expect("shape", (gemv["kind"], gemv["grid"], gemv["block"], gemv["shared_bytes"]),
           ("compute", [32, 1, 1], [256, 1, 1], 1024))
    expect("work", (gemv["bytes"], gemv["flops"]), (gemv["count"] * 100000, gemv["count"] * 400000))
    expect_true("20 GFLOP/s", abs(gemv["flops_per_s"] / 20e9 - 1) < 0.001)
    for by in ("kernel", "queue"):
        part = brick_json("report", "--json", "--by", by, path)
        total = sum(row["share"] for row in part[by + "s"])
        expect_true(f"shares by {by} add up to {total}", abs(total - 1) < 1e-6)
        expect("coverage stays that of the host", part["coverage"], report["coverage"])
        text = brick("report", "--by", by, path, COLUMNS="300")[0].decode()
        expect_true("no unattributed row", "unattributed" not in text)
    text = brick("report", "-v", path, COLUMNS="300")[0].decode()
    expect_true("a column for devices", "DEVICE" in text and "Queue        null: compute (1)" in text)
    lines = list(csv.DictReader(io.StringIO(
        brick("report", "--csv", "--by", "kernel", path)[0].decode())))
    expect("CSV", [line["name"] for line in lines if not line["phase"]], [row["name"] for row in report["kernels"]])
    decode = brick_json("report", "--json", "--by", "kernel", "--phase", "decode", path)
    expect("of one phase", {row["name"]: row["count"] for row in decode["kernels"]},
           {"rmsnorm_kernel": STEPS * LAYERS, "gemv": STEPS * LAYERS,
            "copy to the device": STEPS * LAYERS, "copy from the device": STEPS})


def find(node, kind):
    return ([node] if node["kind"] == kind else []) + \
        [n for child in node["children"] for n in find(child, kind)]


def in_tree(path, commands):
    text = brick("tree", "--step", "3", path)[0].decode()
    expect_true("a kernel with its shape",
                "rmsnorm_kernel  <<<(16,1,1),(256,1,1)>>> smem=1024B" in text)
    tree = brick_json("tree", "--json", "--step", "3", path)["trees"][0]["tree"]
    norms = [n for n in find(tree, "brick") if n["name"] == "RmsNorm"]
    expect("below the brick that launched it",
           [[k["name"] for k in n["children"] if k["kind"] == "kernel"] for n in norms],
           [["rmsnorm_kernel"]] * LAYERS)
    kernels = find(tree, "kernel")
    near("in a step", sum(k["time_ns"] for k in kernels), length(commands[14:21]), slack(commands[14:21]))
    expect_true("host time is apart", sum(n["time_ns"] for n in tree["children"]
                                          if n["kind"] != "kernel") + tree["self_ns"]
                == tree["time_ns"])


def came_in_time(path):
    """Of each step: whether its thread waited before the device was done. One that was kept from its CPU did not."""
    run = brick_json("export", "--format", "json", path)

    def sample(lane, number):
        return dict(zip(run["sample_fields"], run["lanes"][lane]["samples"][number]))
    waits = []
    for wait in (dict(zip(run["wait_fields"], values)) for values in run["waits"]):
        command = dict(zip(run["command_fields"], run["commands"][wait["command"]]))
        waits.append((sample(wait["lane"], wait["sample"])["begin_ns"], sample(command["lane"], command["sample"])["end_ns"]))
    return [begin < end for begin, end in sorted(waits)]


def in_graph(path):
    step = str(1 + came_in_time(path).index(True, 2))
    graph = json.loads(brick("graph", "--step", step, "--format", "json", path)[0])
    nodes = {n["id"]: n for n in graph["nodes"]}
    kinds = collections.Counter(n["kind"] for n in graph["nodes"])
    expect("kernels and transfers", (kinds["kernel"], kinds["transfer"]), (4, 3))
    ways = {(n.get("source"), n.get("target")) for n in graph["nodes"] if n["kind"] == "transfer"}
    expect_true(f"from where to where: {ways}", ways <= {("host", "null"), ("null", "host"), ("null", "null")})

    def edges(kind):
        return [(nodes[e["from"]]["name"], nodes[e["to"]]["name"]) for e in graph["edges"]
                if e["kind"] == kind]
    launches = edges("launches")
    expect("launches", len([e for e in launches if e[0] == "Launch"]), 7)
    depends = edges("depends-on")
    for edge in (("copy to the device", "gemv"), ("gemv", "copy from the device"),
                 ("copy from the device", "Synchronize")):
        expect_true(f"{edge} in {depends}", edge in depends)
    expect_true("in order on its queue", ("rmsnorm_kernel", "gemv") in edges("sequence"))
    expect_true("source", any("kernel void gemv" in c.get("source", "") for c in graph["code"]))
    folded = brick("graph", "--step", step, "--format", "folded", path)[0].decode()
    expect_true("device time is not in the thread's stacks",
                not any("gemv" in line for line in folded.splitlines()
                        if line.startswith("thread")))
    dot = brick("graph", "--step", step, path)[0].decode()
    expect_true("dot", "rmsnorm_kernel" in dot)


def in_path(path):
    shares = []
    for step, is_in_time in enumerate(came_in_time(path), 1):
        section = brick_json("path", "--json", "--step", str(step), path)["sections"][0]
        expect("the path is as long as was measured", section["path_ns"], section["measured_ns"])
        rows = {row["name"]: row for row in section["bricks"]}
        shares.append(rows["QkvProjection"]["on_path_ns"] / section["path_ns"])
        expect_true("launches are on it", not is_in_time or rows["launch latency"]["on_path_ns"] > 0)
    # the thread of one step or the other was kept from its CPU
    expect_true(f"most of it is the device's: {shares}", max(shares) > 1 / 3)


def exported(path, commands):
    out = os.path.join(TMP, "device.json")
    brick("export", "--format", "chrome", path, "-o", out)
    with open(out, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    ends = collections.Counter(e["ph"] for e in events if e["ph"] in "sf")
    # a launch each, a wait each step, and what each product and the copy back had to wait for
    arrows = len(commands) + (STEPS + 1) * (1 + LAYERS + 1)
    expect("flows", ends, {"s": arrows, "f": arrows})
    begins = {e["id"]: e for e in events if e["ph"] == "s"}
    for e in (e for e in events if e["ph"] == "f"):
        expect_true("forward", e["ts"] >= begins[e["id"]]["ts"])
    expect("kernels", sum(e["ph"] == "X" and e["name"] == "gemv" for e in events),
           LAYERS * (STEPS + 1))
    dump = brick_json("export", "--format", "json", path)
    expect("commands", len(dump["commands"]), len(commands))
    command = dict(zip(dump["command_fields"], dump["commands"][0]))
    expect("the first", dump["kernels"][command["kernel"]]["name"], "rmsnorm_kernel")
    sample = dump["lanes"][command["launch_lane"]]["samples"][command["launch_sample"]]
    expect("launched by", dump["bricks"][dump["sites"][sample[2]]["brick"]]["name"], "Launch")
    expect("waits", len(dump["waits"]), STEPS + 1)
    expect("source", dump["code"][0]["name"], "gemv.cl")
    brick("export", "--format", "csv", path, "-o", out)
    with open(out, encoding="utf-8", newline="") as f:
        rows = [row for row in csv.DictReader(f) if row["kernel"]]
    expect("rows with kernels", len(rows), len(commands))


def main():
    path, commands = record()
    in_perfetto(path, commands)
    by_brick(path, commands)
    by_kernel_and_queue(path, commands)
    in_tree(path, commands)
    in_graph(path)
    in_path(path)
    exported(path, commands)
    expect("GPUs", len(libgpus.check_gpus(path)), 1)


main()
