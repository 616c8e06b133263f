# SPDX-License-Identifier: Apache-2.0
"""Traces of simulated programs on a GPU (bench/import/simulator.py, heldout.py): explain names a planted cause first, and none in a clean
program; its cost is near the time that the simulator saves without the cause, also where rounded times of commands overlap; diff tells which
operators changed, and why."""
import os
import re
import sys

from libcli import TMP, brick, brick_json, expect

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/import"))
import heldout  # noqa: E402
import simulator  # noqa: E402

PLANTED = ("launch-bound-repeats", "launch-bound-varies", "item-each-layer", "exposed-allreduce", "pageable-input", "input-not-prefetched",
           "small-kernels", "eager-attention", "products-in-f32", "optimizer-loop", "data-loader", "compilation", "cuda-malloc", "padding",
           "unbalanced-streams", "tensor-copies")
# waits and work by no operator, on another device and of another tool
OTHERS = ("image, synchronize() in each block", "training, loader of its own", "CUDA, a value each block")
CLEAN = ("inference", "training-data-parallel", "graph-replay", "one-item-a-step", "balanced-streams")


def findings(name, text):
    """Rules, each with its cost as a part of the steps' time."""
    source, recording = os.path.join(TMP, name + ".json"), os.path.join(TMP, name + ".pftrace")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    brick("import", "-o", recording, source)
    said = brick_json("explain", "--json", recording)
    ns = sum(phase["elapsed_ns"] for phase in said["phases"])
    return [(f["rule"], f["cost_ns"] / ns) for f in said["findings"]]


def changes(name, other, settings):
    """By operator: what changed between the clean program and one with these settings, and why."""
    paths = []
    for which, text in ((name, simulator.Program(1).run()), (other, simulator.Program(1, **settings).run())):
        source, recording = os.path.join(TMP, which + ".json"), os.path.join(TMP, which + ".pftrace")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        brick("import", "-o", recording, source)
        paths.append(recording)
    said = brick_json("diff", "--json", *paths)
    text = brick("diff", *paths)[0]
    expect(f"the text has it: {text}", b"time on GPUs, a step" in text, bool(said["operators"]))
    return {row["name"]: (row["change"], row["why"]) for row in said["operators"]}


def compared():
    expect("nothing", {k: v for k, v in changes("a", "same", {}).items()}, {})
    found = changes("a", "rows", {"rows": 1024, "big": 180.0})["aten::mm"]
    expect("shapes", found, ("shapes", "[1024,4096] [4096,4096] bf16 instead of [512,4096] [4096,4096] bf16"))
    found = changes("a", "kernels", {"product": simulator.SGEMM, "big": 200.0})["aten::mm"]
    expect("kernels", found, ("kernels", f"{simulator.SGEMM} instead of {simulator.GEMM}"))
    found = changes("a", "eager", {"attention": "eager"})
    expect("operators", [found[n][0] for n in ("aten::_flash_attention_forward", "aten::_softmax")], ["removed", "added"])
    expect("more of them", changes("a", "layers", {"layers": 16})["aten::mm"], ("count", "49 commands a step instead of 25"))
    # of a replay, no operator is known: rows are bricks
    found = changes("few", "graph", {"graph": True})
    expect("replays", found["MatrixProduct"][0], "launches")


def main():
    compared()
    for name in PLANTED:
        found = findings(name, simulator.planted(name))
        expect(name, found[:1] and found[0][0], simulator.PLANTED[name][0])
        # the first step's loading comes before the first command
        saved = simulator.gain(name) * (5 / 6 if name == "data-loader" else 1)
        expect(f"{name} costs {found[0][1]:.3f}, and without it {saved:.3f} is saved", abs(found[0][1] - saved) <= max(0.02, 0.15 * saved), True)
    for name in OTHERS:
        wanted, program, settings = heldout.PLANTED[name]
        recording = os.path.join(TMP, "other.pftrace")
        brick("import", "-o", recording, program(1, **settings).run(TMP))
        found = brick_json("explain", "--json", recording)["findings"]
        expect(name, found[:1] and found[0]["rule"], wanted)
    for name in CLEAN:
        expect(name, findings("clean-" + name, simulator.clean(name)), [])
    # the engine's thread waits for a busy GPU: what the GPU does is named, no wait
    said = " ".join(brick("explain", os.path.join(TMP, "clean-graph-replay.pftrace"))[0].decode().split())
    busy = re.search(r"the GPU computes or copies (\S+)% of it, (\S+) most \((\S+)% of the time\)", said)
    expect(f"the GPU first: {said}", bool(busy), True)
    expect(f"parts: {busy[0]}", busy[2] == "MatrixProduct" and float(busy[3]) <= float(busy[1]) <= 100, True)


main()
