# SPDX-License-Identifier: Apache-2.0
"""Traces of simulated programs on a GPU (bench/import/simulator.py): explain names a planted cause first, and none in a clean program; diff
tells which operators changed, and why."""
import os
import sys

from libcli import TMP, brick, brick_json, expect

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/import"))
import simulator  # noqa: E402

PLANTED = ("launch-bound-repeats", "launch-bound-varies", "item-each-layer", "exposed-allreduce", "pageable-input", "input-not-prefetched",
           "small-kernels", "eager-attention", "products-in-f32", "optimizer-loop", "data-loader", "compilation", "cuda-malloc", "padding",
           "unbalanced-streams", "tensor-copies")
CLEAN = ("inference", "training-data-parallel", "graph-replay", "one-item-a-step", "balanced-streams")


def rules(name, text):
    source, recording = os.path.join(TMP, name + ".json"), os.path.join(TMP, name + ".pftrace")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    brick("import", "-o", recording, source)
    return [f["rule"] for f in brick_json("explain", "--json", recording)["findings"]]


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
        expect(name, rules(name, simulator.planted(name))[:1], [simulator.PLANTED[name][0]])
    for name in CLEAN:
        expect(name, rules("clean-" + name, simulator.clean(name)), [])


main()
