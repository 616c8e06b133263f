# SPDX-License-Identifier: Apache-2.0
"""Embedding programs: the C example and the C++ scope, and what their recordings hold."""
import json
import os
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


def main():
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "embed.pftrace")
        subprocess.run([f"{BUILD}/bin/example-embed", path], check=True)
        rep = report(path)
        rows = {row["name"]: row for row in rep["bricks"]}
        expect("RmsNorm runs", rows["RmsNorm"]["count"], 100)
        expect("LayerNorm FLOPs", rows["LayerNorm"]["flops"], 100 * 2 * 4096)
        expect("LayerNorm elements", rows["LayerNorm"]["elements"], 100 * 4096)
        expect("RmsNorm FLOPs were never given", rows["RmsNorm"]["flops"], None)
        expect("decode steps", rep["steps"]["decode"]["count"], 100)
        expect("decode tokens", rep["steps"]["decode"]["tokens"], 100)
        inner, outer = rows["RmsNorm"], rows["LayerNorm"]
        expect("self time of the outer brick", abs(outer["self_ns"] + inner["total_ns"]
                                                   - outer["total_ns"]) < 2000, True)
        expect("no .part is left", sorted(os.listdir(tmp)), ["embed.pftrace"])

        path = os.path.join(tmp, "scope.pftrace")
        out = subprocess.run([f"{BUILD}/bin/program-scope", path], check=True,
                             capture_output=True, text=True)
        expect("C++ scopes", out.stdout, "42 10 10 5 1 unmatched 0\n")
        rows = {row["name"]: row for row in report(path)["bricks"]}
        expect("scopes in the recording", rows["Sampling"]["count"], 10)


main()
