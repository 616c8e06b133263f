# SPDX-License-Identifier: Apache-2.0
"""brick explain on traces of simulated programs on a GPU (bench/import/simulator.py): a planted cause comes first, a clean program has none."""
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


def main():
    for name in PLANTED:
        expect(name, rules(name, simulator.planted(name))[:1], [simulator.PLANTED[name][0]])
    for name in CLEAN:
        expect(name, rules("clean-" + name, simulator.clean(name)), [])


main()
