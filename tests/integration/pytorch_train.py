# SPDX-License-Identifier: Apache-2.0
"""Loops of training: what is computed is the same; steps, phases, clipping of gradients and forward passes that backward
passes compute again are those that the program counts, with layers. Gradients are accumulated, models are several, types
are mixed, weights are evaluated between. Skipped where PyTorch 2.13 cannot be installed."""
import csv
import io
import json
import os
import subprocess

from librecord import *

SOURCE = os.environ["BRICK_SOURCE"]
WORK = os.path.join(SOURCE, "tests", "programs", "torch_train.py")
STEPS, LAYERS = 3, 2
WAYS = ["accumulated", "plain", "checkpointed", "reentrant", "mixed", "two", "evaluated", "closure", "distilled"]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def parts_of(rows):
    """Bricks by the outermost brick that they lie in, for steps; other outermost bricks by themselves. In their order."""
    steps, end = [], 0
    for row in sorted(rows, key=lambda row: (int(row["begin_ns"]), int(row["depth"]))):
        begin = int(row["begin_ns"])
        if row["brick"] in ("OtherStep", "Prefill"):
            steps.append([])
            end = begin + int(row["duration_ns"])
        elif begin < end:
            steps[-1].append(row)
    return steps


def trains(scratch, python):
    plain = run(python, WORK, *WAYS)
    same(plain.returncode, 0, plain.stderr)
    path = scratch.file("run.pftrace")
    done = run(BRICK, "record", "-o", path, "--", python, WORK, *WAYS)
    same((done.returncode, done.stdout), (0, plain.stdout), "what is computed")
    rows = list(csv.DictReader(io.StringIO(run(BRICK, "export", "--format", "csv", path).stdout)))
    steps = parts_of(rows)
    phases = ("Forward", "Backward", "OptimizerStep", "ClipGradients")
    for said in map(json.loads, done.stdout.splitlines()):
        way, counts = said["way"], said["counts"]
        # the first step of two optimizers ends with the first, since nobody knows of the second
        wanted = {"accumulated": [["Forward", "Backward"] * 2 + ["OptimizerStep"]] * STEPS,
                  "two": [["Forward", "Forward", "Backward", "OptimizerStep"]]
                         + [["Forward", "Forward", "Backward", "OptimizerStep", "OptimizerStep"]] * (STEPS - 1),
                  # a teacher's first calls come before the step
                  "distilled": [["Forward"]] * 2 + ([["Forward", "Forward", "Backward"] + ["Forward"] * 4 + ["Backward", "OptimizerStep"]]
                               + [["Forward"]] * 2) * STEPS + [["Forward", "Forward", "Backward"]] + [["Forward"]] * 3,
                  "closure": [["OptimizerStep", "Forward", "Backward"]] * STEPS,
                  "evaluated": ([["Forward", "Backward", "OptimizerStep"]] * STEPS + [["Forward"]]) * 2
                  }.get(way, [["Forward", "Backward"] + ["ClipGradients"] * ("clip" in str(counts)) + ["OptimizerStep"]] * STEPS)
        here, steps = steps[:len(wanted)], steps[len(wanted):]
        same([[row["brick"] for row in step if row["brick"] in phases] for step in here], wanted, f"{way}: phases")
        seen = [row for step in here for row in step]
        recomputed = counts["Block"] - LAYERS * counts["Model"]
        same(sum(row["brick"] == "Recomputation" for row in seen), recomputed, f"{way}: forward passes computed again")
        same(sum(row["brick"] == "ClipGradients" for row in seen),
             counts.get("clip_grad_norm_", 0) + counts.get("clip_grad_value_", 0), f"{way}: clipping")
        for layer in range(LAYERS):
            same(sum(row["operation"] == "aten::linear" and row["label"] == f"layers.{layer}.up_proj"
                     and row["layer"] == str(layer) for row in seen), counts["Block"] // LAYERS, f"{way}: layer {layer}")
        same([row["label"] for row in seen if row["operation"] == "AddmmBackward0" and row["layer"] == "-1"
              and row["label"] != "lm_head"], [], f"{way}: nodes without a layer")
    same(steps, [], "other steps")
    same(sum(row["brick"] == "OptimizerStep" for row in rows),
         sum(json.loads(line)["counts"]["step"] for line in done.stdout.splitlines()), "optimizers' steps, in a step of training or not")
    # batches of each loader, and each loader's end
    same(sum(row["brick"] == "DataLoading" for row in rows), 6 * (STEPS + 1) + 2 * STEPS + 1 + 2 * (STEPS + 1 + 2) + 2 * STEPS + 2 + 4, "loading")
    report = json.loads(run(BRICK, "report", path, "--json").stdout)["steps"]["training"]
    same(report["count"], (len(WAYS) + 1) * STEPS + 1, "steps of training")
    # of batches of 4 x 8: one a step, two where gradients are accumulated, as in two ways; and a last step
    same(report["tokens"], 4 * 8 * ((len(WAYS) + 1 + 2) * STEPS + 1), "tokens of training")
    parts = sum(report[key] for key in ("forward_ns", "backward_ns", "optimizer_ns", "clipping_ns"))
    check(report["forward_ns"] > 0 and parts <= report["total_ns"], report)
    check(0 < report["recomputed_ns"] < report["backward_ns"] and report["clipping_ns"] > 0, report)


with Scratch() as scratch:
    trains(scratch, python_with_torch())
