# SPDX-License-Identifier: Apache-2.0
"""`record --nvtx`: another tool gets bricks as NVTX ranges, and nodes of ggml by name. As many as are recorded,
nested as they are, and none where nobody asked for them."""
import collections
import json
import os
import subprocess

from librecord import *

TOOL = os.path.join(BUILD, "lib", "doubles", "libnvtx-tool.so")
LLAMA = os.path.join(BUILD, "bin", "brick-llama")


def said(scratch, *command, options=("--nvtx",)):
    """{thread: [(name, layer, depth)]} of what the tool was told, in order; and the recording."""
    log, path = scratch.file("ranges"), scratch.file("run.pftrace")
    if os.path.exists(log):
        os.unlink(log)
    env = dict(os.environ, NVTX_INJECTION64_PATH=TOOL, NVTX_TOOL_RANGES=log)
    run = record(path, *command, options=options, env=env)
    same(run.returncode, 0, f"the program: {run.stderr}")
    ranges, depth = collections.defaultdict(list), collections.Counter()
    if os.path.exists(log):
        with open(log, encoding="utf-8") as file:
            for line in file:
                kind, thread, *what = line.rstrip("\n").split("\t")
                if kind == "-":
                    depth[thread] -= 1
                    check(depth[thread] >= 0, "an end without a begin on", thread)
                    continue
                ranges[thread].append((what[0], int(what[1]), depth[thread]))
                depth[thread] += 1
    return ranges, depth, path, run


def notes(path):
    run = json.loads(subprocess.check_output([BRICK, "export", "--format", "json", path]))
    return {note["key"]: note["value"] for note in run["notes"]}


def bricks(scratch):
    ranges, depth, path, _ = said(scratch, PRODUCER, "samples=5", "nested=3", "steps=2", "threads=2,4")
    same(set(depth.values()), {0}, "ranges that were left open")
    expected = 5 * [("RmsNorm", -1, 0)] + 3 * [("GraphCompute", -1, 0), ("LmHead", -1, 1)] + \
        2 * [("Decode", -1, 0), ("LmHead", -1, 1)]
    same(sorted(map(len, ranges.values())), [4, 4, len(expected)], "ranges of each thread")
    check(expected in ranges.values(), "the main thread's ranges are", list(ranges.values()))
    same(notes(path)["emit.nvtx"], TOOL, "who listens")
    same(Trace(path).counts["LmHead"], 5, "recorded all the same")


def off(scratch):
    ranges, _, path, _ = said(scratch, PRODUCER, "samples=5", options=())
    same((dict(ranges), "emit.nvtx" in notes(path)), ({}, False), "ranges that nobody asked for")


def nobody(scratch):
    path = scratch.file("nobody.pftrace")
    env = {k: v for k, v in os.environ.items() if k != "NVTX_INJECTION64_PATH"}
    run = record(path, PRODUCER, "samples=5", options=("--nvtx",), env=env)
    same(run.returncode, 0, "the program")
    same(notes(path)["emit.nvtx"], "NVTX_INJECTION64_PATH names no tool", "why nothing is said")


def nodes(scratch):
    """One thread and two: as many nodes by name as were recorded, all within their graph."""
    model = os.path.join(BUILD, "demo", "model-f16.gguf")
    if not os.path.exists(model) or not os.path.exists(LLAMA):
        print("without the demo engine (run `make demo`)")
        return
    command = [LLAMA, "--libs", os.path.join(BUILD, "demo", "engine", "libs"), "--model", model,
               "--prompt-tokens", "16", "--predict", "3"]
    plain = subprocess.run(command, capture_output=True, timeout=600).stdout
    for threads in "1", "2":
        ranges, depth, path, run = said(scratch, *command, "--threads", threads)
        same(run.stdout, plain, "tokens")
        run = json.loads(subprocess.check_output([BRICK, "export", "--format", "json", path]))
        labels = collections.Counter()
        for lane in run["lanes"]:
            for values in lane["samples"]:
                site = run["sites"][dict(zip(run["sample_fields"], values))["site"]]
                if site["label"] and site["operation"]:
                    labels[f'{site["label"]} ({site["operation"]})'] += 1
        named = collections.Counter(name for thread in ranges.values() for name, _, _ in thread if name in labels)
        check(sum(labels.values()) > 300, "nodes that were recorded:", sum(labels.values()))
        same(named, labels, f"nodes by name with {threads} threads")
        if threads == "1":
            same({layers[2] for thread in ranges.values() for layers in thread if layers[0] in labels}, {3},
                 "how deep nodes lie: in a step, in UbatchProcess, in GraphCompute")


with Scratch() as scratch:
    bricks(scratch)
    off(scratch)
    nobody(scratch)
    nodes(scratch)
