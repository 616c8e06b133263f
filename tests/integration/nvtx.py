# SPDX-License-Identifier: Apache-2.0
"""Programs that say what they do by NVTX, from five objects with an NVTX each, compiled against its real
headers where they are and against a double of them: every range, mark, value, domain and name of a thread,
also through a tool that was there before."""
import os
import subprocess

from libannotated import *
from libcuda import DOUBLES, environment

GRAPH = os.path.join(BUILD, "bin", "program-nvtx_graph")
TOOL = os.path.join(DOUBLES, "libnvtx-tool.so")
need(PROGRAM)


def every_range(scratch, kind, **more):
    got = Recorded(scratch, "work", 200, objects("nvtx", kind, 5), **more)
    truth = list(got.truth())
    same(len(truth), 5 * 200 * 8, "what the program said")
    check_ranges(got, truth)
    bricks = {b["name"]: b for b in got.run["bricks"]}
    same(bricks["load weights"]["category"], "Loading", "the category that the program named")
    return got, truth


def marks(got):
    trace = Trace(got.path)
    same(trace.counts.get("token", 0), 0, "a mark is no slice")
    data = subprocess.check_output([BRICK, "export", "--format", "chrome", got.path])
    check(data.count(b'"token"') >= 1000, "marks in the export:", data.count(b'"token"'))
    check(data.count(b'"queue length"') >= 2000, "values in the export:", data.count(b'"queue length"'))


def levels(truth, chained):
    """What a push returned: the level in its domain, or what the other tool said."""
    wanted = {40} if chained else {0, 1}
    same({t[4] for t in truth if t[3] == "stack"}, wanted, "levels")


def chained(scratch, kind):
    """A tool that was there before is told of everything, by handles of its own; and so are we."""
    for how in "plain", "refuses":
        log = scratch.file("tool.log")
        more = {"NVTX_INJECTION64_PATH": TOOL, "NVTX_TOOL_LOG": log, "NVTX_TOOL": how}
        got, truth = every_range(scratch, kind, **more)
        check("gets all calls as well" in got.notes["nvtx.next"], got.notes)
        with open(log, encoding="utf-8") as file:
            told = dict(line.split() for line in file)
        stacks = str(sum(t[3] == "stack" for t in truth))
        if how == "refuses":
            same(told["objects"], "5", "objects of the tool that refuses")
            levels(truth, False)
            continue
        levels(truth, True)
        same(told, {"objects": "5", "pushes": stacks, "pops": stacks, "starts": "2000", "ends": "2000",
                    "marks": "2000", "domains": "10", "strings": "10", "bad": "0"}, "what the other tool was told")


def no_such_tool(scratch):
    got = Recorded(scratch, "threads", 10, objects("nvtx", "double", 5), NVTX_INJECTION64_PATH="/nonexistent.so")
    check("was not loaded" in got.notes["nvtx.next"], got.notes)
    same(len(got.asynchronous()), 10, "ranges")


def across(scratch, kind):
    """Ranges of two domains that end across each other: each one's whole time, the first in two pieces."""
    got = Recorded(scratch, "across", 50, objects("nvtx", kind, 1))
    truth = list(got.truth())
    pieces = {"early": [], "late": []}
    for sample in got.lane("object-0") + got.asynchronous():
        pieces[sample["brick"]].append((sample["begin_ns"], sample["end_ns"]))
    for brick in pieces:
        said = [t[5] for t in truth if t[1] == brick]
        cut = brick == "late"
        same(len(pieces[brick]), len(said) + cut, f"pieces of {brick}")
        found = sorted(pieces[brick])
        if cut:
            found[:2] = [(found[0][0], found[1][1])]
        for place, times in zip(found, said):
            check(within(dict(begin_ns=place[0], end_ns=place[1]), times), brick, place, times)
    check("1 were cut in two" in got.notes["nvtx.ranges"], got.notes)


def threads(scratch, kind):
    got = Recorded(scratch, "threads", 1000, objects("nvtx", kind, 5))
    found = got.asynchronous()
    same(({s["brick"] for s in found}, len(found)), ({"handed over"}, 1000), "ranges that another thread ended")


def steps(scratch, kind):
    """Engines' steps with their tokens, and their modules as layers and bricks."""
    got = Recorded(scratch, "steps", 4, objects("nvtx", kind, 1))
    phases = got.report["steps"]
    # vLLM: 512 tokens of a prompt, then 1, 2, 3 new ones; TensorRT-LLM: four times 3
    same((phases["prefill"]["count"], phases["prefill"]["tokens"]), (1, 512), "prompt")
    same((phases["decode"]["count"], phases["decode"]["tokens"]), (3 + 4, 6 + 12), "decode")
    layers = [(s["brick"], s["layer"]) for lane in got.run["lanes"] for s in lane["samples"]]
    same(layers.count(("DownProjection", 1)), 4, "modules")


def many(scratch, kind):
    """Texts without end: bounded names, nothing lost, numbers that change are not part of a name."""
    got = Recorded(scratch, "many", 6000, objects("nvtx", kind, 1))
    bricks = {}
    for lane in got.run["lanes"]:
        for s in lane["samples"]:
            bricks[s["brick"]] = bricks.get(s["brick"], 0) + 1
    same(bricks["aten::add"], 6000, "PyTorch's operation")
    others = sum(n for name, n in bricks.items() if not name.startswith(("aten", "Profiler")))
    same(others, 12000, "all others, by whatever name")
    check(len(bricks) <= 4096 + 2, len(bricks), "bricks: its own names, the operation, OtherRanges")
    check("in OtherRanges" in got.notes["nvtx.names"], got.notes)


def registered(scratch, kind):
    """More strings than there is room for: a handle stays what it was, or is of OtherRanges."""
    got = Recorded(scratch, "registered", 5000, objects("nvtx", kind, 1))
    found = [(s["brick"], s["layer"]) for lane in got.run["lanes"] for s in lane["samples"]
             if not s["brick"].startswith("Profiler")]
    own = found.index(("OtherRanges", -1))
    check(4000 < own <= 4096, own, "strings with a layer of their own")
    for i, one in enumerate(found):
        same(one, ("QkvProjection", i % 3) if i < own else ("OtherRanges", -1), f"range {i} of {len(found)}")
    same(len(found), 5000, "ranges")


def payload(scratch):
    got = Recorded(scratch, "payload", 4096, objects("nvtx", "real", 1))
    found = [s for lane in got.run["lanes"] for s in lane["samples"] if s["brick"] == "AllReduce"]
    same([s["bytes"] for s in found], [4096], "bytes of NCCL's message")


def graph(scratch, kind):
    """Kernels that a graph replays belong to the range that was open when it was captured."""
    path = scratch.file("graph.pftrace")
    run = record(path, GRAPH, "5", objects("nvtx", kind, 1)[0], env=environment("shuffle"))
    same(run.returncode, 0, f"the program: {run.stderr}")
    found = [(s["begin_ns"], s["brick"], s["layer"]) for lane in exported(path)["lanes"]
             if lane["kind"] == "queue" for s in lane["samples"]]
    kernels = [f[1:] for f in sorted(found) if f[2] >= 0]
    same(kernels, 5 * [("LayerNorms", 3), ("QkvProjection", 3), ("LayerNorms", 4), ("QkvProjection", 4)],
         "bricks of replayed kernels")


with Scratch() as scratch:
    kinds = ["double"] + ["real"] * os.path.exists(objects("nvtx", "real", 1)[0])
    if len(kinds) == 1:
        print("without NVTX's headers (they come with the CUDA toolkit): the double of them only")
    for kind in kinds:
        got, truth = every_range(scratch, kind)
        levels(truth, False)
        marks(got)
        chained(scratch, kind)
        threads(scratch, kind)
        steps(scratch, kind)
        across(scratch, kind)
        graph(scratch, kind)
    many(scratch, kinds[-1])
    registered(scratch, kinds[-1])
    no_such_tool(scratch)
    if "real" in kinds:
        payload(scratch)
