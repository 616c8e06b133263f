# SPDX-License-Identifier: Apache-2.0
"""Steps of training of a Llama of transformers hold the operators, outermost ones and inner ones, that PyTorch's own profiler
sees in their forward pass, backward pass and optimizer's step, and no others; in a forward pass each outermost one has the
path of the module that hooks say. Skipped where PyTorch 2.13 cannot be installed."""
import collections
import csv
import io
import json
import os
import subprocess

from librecord import *

WORK = os.path.join(os.environ["BRICK_SOURCE"], "tests", "programs", "torch_counts.py")
STEPS, PHASES, INNER = 2, ("Forward", "Backward", "OptimizerStep"), "(inner)"


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    same(done.returncode, 0, done.stderr)
    return done.stdout


def recorded(name, kind):
    """As much of an operator's name as a recording has: a brick's of 47 bytes if it is inner, else an operation's of 31."""
    return name[:47 - len(INNER) if kind == "inner" else 31]


def counted(rows):
    """What torch_counts.py counts, from a recording."""
    counts = {key: {} for key in ("outermost", "inner", "modules")}
    phases = [(row["brick"], row["tid"], int(row["begin_ns"]), int(row["duration_ns"])) for row in rows if row["brick"] in PHASES]
    for row in rows:
        phase = next((name for name, tid, begin, length in phases
                      if tid == row["tid"] and 0 <= int(row["begin_ns"]) - begin < length), None)
        if not phase or row["brick"] in PHASES:
            continue
        is_inner = row["brick"].endswith(INNER)
        name = row["brick"][:-len(INNER)] if is_inner else row["operation"]
        counts["inner" if is_inner else "outermost"].setdefault(phase, collections.Counter())[name] += 1
        if phase == "Forward" and not is_inner:
            counts["modules"].setdefault(row["label"], collections.Counter())[name] += 1
    return counts


with Scratch() as scratch:
    python, path = python_with_torch(), scratch.file("run.pftrace")
    losses, counts = run(python, WORK, str(STEPS), "profile").splitlines()
    same(run(BRICK, "record", "-q", "--inner", "-o", path, "--", python, WORK, str(STEPS)).strip(), losses, "what is computed")
    ours, theirs = counted(list(csv.DictReader(io.StringIO(run(BRICK, "export", "--format", "csv", path))))), json.loads(counts)
    for kind, wanted in theirs.items():
        same(set(ours[kind]), set(wanted), kind)
        for place, names in wanted.items():
            short = collections.Counter()
            for name, count in names.items():
                short[recorded(name, kind)] += count
            same(ours[kind][place], short, f"{kind}: {place}")
