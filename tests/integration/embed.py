# SPDX-License-Identifier: Apache-2.0
"""Embedding programs: the C example and the C++ scope, and what their recordings hold."""
import json
import os
import re
import subprocess
import sys
import tempfile

BUILD = os.environ["BRICK_BUILD"]


def report(path):
    out = subprocess.run([f"{BUILD}/bin/brick", "report", path, "--json"], check=True,
                         capture_output=True)
    return json.loads(out.stdout)


def expect(what, got, want):
    if got != want:
        sys.exit(f"{what}: got {got}, expected {want}")


def example(path):
    """Of a run in which the thread lost its CPU outside of its work for no longer than that took."""
    while True:
        subprocess.run([f"{BUILD}/bin/example-embed", path], check=True)
        rep = report(path)
        rows = {row["name"]: row for row in rep["bricks"]}
        if rows["LayerNorm"]["total_ns"] > 2 * rows["LayerNorm"]["self_ns"]:
            return rep, rows


def main():
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "embed.pftrace")
        rep, rows = example(path)
        expect("RmsNorm runs", rows["RmsNorm"]["count"], 100)
        expect("LayerNorm FLOPs", rows["LayerNorm"]["flops"], 100 * 2 * 4096)
        expect("LayerNorm elements", rows["LayerNorm"]["elements"], 100 * 4096)
        expect("RmsNorm FLOPs were never given", rows["RmsNorm"]["flops"], None)
        # the norm inside of it did the work: bytes in the rest of its time would be no rate
        expect("LayerNorm has no rate", [rows["LayerNorm"][key] for key in ("bytes_per_s", "flops_per_s")], [None, None])
        expect("decode steps", rep["steps"]["decode"]["count"], 100)
        expect("decode tokens", rep["steps"]["decode"]["tokens"], 100)
        inner, outer = rows["RmsNorm"], rows["LayerNorm"]
        expect("self time of the outer brick", abs(outer["self_ns"] + inner["total_ns"]
                                                   - outer["total_ns"]) < 2000, True)
        # what a pair costs warm, and with nothing of it in a cache, came from the process into the report
        costs = re.search(r"pairs.* at ([0-9.]+) ns, .*?: ([0-9.]+) in .*? to ([0-9.]+) behind .*: ([0-9.]+) at most",
                          rep["distortion"]["method"])
        expect("a pair's costs in order", costs and sorted(map(float, costs.groups())) == [
            float(costs[2]), float(costs[1]), float(costs[3]), float(costs[4])], True)
        expect("no .part is left", sorted(os.listdir(tmp)), ["embed.pftrace"])

        # under the recorder, whose file has it all, and which says so
        recorded, own = os.path.join(tmp, "recorded.pftrace"), os.path.join(tmp, "own.pftrace")
        run = subprocess.run([f"{BUILD}/bin/brick", "record", "-o", recorded, "--",
                              f"{BUILD}/bin/example-embed", own], check=True, capture_output=True, text=True)
        expect("what is said of the other file", f"brick: {own} is not written by the program itself: "
               f"its bricks are in {recorded}\n" in run.stderr, True)
        expect("recordings", sorted(os.listdir(tmp)), ["embed.pftrace", "recorded.pftrace"])
        rows = {row["name"]: row for row in report(recorded)["bricks"]}
        expect("RmsNorm runs under the recorder", rows["RmsNorm"]["count"], 100)

        path = os.path.join(tmp, "scope.pftrace")
        out = subprocess.run([f"{BUILD}/bin/program-scope", path], check=True,
                             capture_output=True, text=True)
        expect("C++ scopes", out.stdout, "42 10 10 5 1 unmatched 0\n")
        rows = {row["name"]: row for row in report(path)["bricks"]}
        out = subprocess.run([f"{BUILD}/bin/program-classes", os.path.join(tmp, "classes.pftrace")], check=True,
                             capture_output=True, text=True)
        expect("C++ classes", out.stdout.splitlines(), [
            "devices 0 1", "timed 1", "GateProjection 10 105 200 300", "UpProjection 5 0 0 25", "Activation 5 0 0 0",
            "Decode 10 10 0 0", "on a queue 0 10 30", "unmatched 0"])
        layers = [subprocess.run([f"{BUILD}/bin/brick", "report", "--json", "--layer", layer,
                                  os.path.join(tmp, "classes.pftrace")], check=True, capture_output=True).stdout
                  for layer in "56"]
        expect("layers nest", [[row["name"] for row in json.loads(text)["bricks"] if "Norm" in row["name"]] for text in layers],
               [["LayerNorm"], ["RmsNorm"]])
        out = subprocess.run([f"{BUILD}/bin/brick", "requests", "--json", os.path.join(tmp, "classes.pftrace")], check=True,
                             capture_output=True, text=True)
        request, = json.loads(out.stdout)["requests"]
        expect("a request of classes", [request[key] for key in ("number", "sequence", "steps", "output_tokens", "end")],
               [42, 5, 10, 10, "ended"])
        expect("it came before its first step", request["queue_ns"] > 0, True)
        expect("scopes in the recording", rows["Sampling"]["count"], 10)


main()
