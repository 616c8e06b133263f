# SPDX-License-Identifier: Apache-2.0
"""Memory of PyTorch: what is alive of each kind is what the program's own tensors have, to the byte; sums of kinds and of
operators agree; a list that grows is found with its operator, a loop without one is not; what is computed is the same.
Skipped where PyTorch 2.13 cannot be installed."""
import json
import os
import subprocess

from librecord import *

SOURCE = os.environ["BRICK_SOURCE"]
WORK = os.path.join(SOURCE, "tests", "programs", "torch_memory.py")
KEPT, STEPS, LAYERS = 1 << 16, 48, 3


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def recorded(scratch, python, way):
    """Bytes that the program says, rows of the report, and the causes that explain names."""
    plain = run(python, WORK, way)
    same(plain.returncode, 0, plain.stderr)
    path = scratch.file(f"{way}.pftrace")
    done = run(BRICK, "record", "-o", path, "--", python, WORK, way)
    same((done.returncode, done.stdout), (0, plain.stdout), f"{way}: what is computed")
    report = json.loads(run(BRICK, "report", path, "--by", "memory", "--json").stdout)
    same(report["schema"], "brick/memory/1", "schema")
    found = json.loads(run(BRICK, "explain", path, "--json").stdout)["findings"]
    text = run(BRICK, "report", path).stdout
    check("\nMemory  " in text, "no memory on the first screen", text)
    return json.loads(done.stdout), report, [finding for finding in found if finding["rule"] == "memory-growth"]


def check_rows(said, report, way):
    totals = {row["kind"]: row for row in report["rows"] if row["brick"] is None and row["gpu"] is None}
    sites = [row for row in report["rows"] if row["brick"] is not None and row["gpu"] is None]
    for kind in said.keys() - {"result"}:
        same(totals[kind]["live_bytes"], said[kind], f"{way}: {kind}")
        same(sum(row["live_bytes"] for row in sites if row["kind"] == kind), said[kind], f"{way}: operators of {kind}")
    kinds = [row["live_bytes"] for kind, row in totals.items() if kind not in ("all", "system")]
    same(totals["all"]["live_bytes"], sum(kinds), f"{way}: sum of kinds")
    check(totals["all"]["live_bytes"] <= totals["all"]["peak_bytes"] < totals["system"]["peak_bytes"], way, totals)
    weights = {row["module"]: row["live_bytes"] for row in sites if row["kind"] == "weights"}
    same(weights["layers.1.self_attn.q_proj"], 4 * (64 * 64 + 64), f"{way}: weights of a module")
    same(weights["layers.2.self_attn"], 4 * 64, f"{way}: a buffer")
    steps = [step for step in report["steps"] if step["kind"] == "all" and step["gpu"] is None]
    check(steps and max(step["peak_bytes"] for step in steps) == totals["all"]["peak_bytes"], way, steps)
    return sites


def remembers(scratch, python):
    said, report, growth = recorded(scratch, python, "generate")
    sites = check_rows(said, report, "generate")
    cache = [row for row in sites if row["kind"] == "cache" and row["operation"] == "aten::cat"]
    same(sorted((row["layer"], row["module"], row["live_bytes"]) for row in cache),
         [(i, f"layers.{i}.self_attn", said["cache"] // LAYERS) for i in range(LAYERS)], "caches by layer")
    same(growth, [], "a cache is no growth")
    # at the end of a step two blocks live on the first GPU, but in the first step, and one on the second
    gpus = {row["gpu"]: (row["live_bytes"], row["peak_bytes"]) for row in report["rows"] if row["gpu"] is not None and row["kind"] == "all"}
    same(gpus, {0: (2 << 20, 2 << 20), 1: (4096, 4096)}, "blocks of GPUs")
    said, report, growth = recorded(scratch, python, "train")
    check_rows(said, report, "train")
    same(growth, [], "growth of nothing")
    said, report, growth = recorded(scratch, python, "leak")
    sites = check_rows(said, report, "leak")
    full = next(row for row in sites if row["operation"] == "aten::full" and row["kind"] == "activations")
    same(full["live_bytes"], KEPT * STEPS, "what the list holds")
    check(len(growth) == 1 and "aten::full" in growth[0]["evidence"] and growth[0]["cost_ns"] == 0, growth)


with Scratch() as scratch:
    remembers(scratch, python_with_torch())
