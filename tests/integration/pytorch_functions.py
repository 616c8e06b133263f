# SPDX-License-Identifier: Apache-2.0
"""`record --sample` names the Python function of the time between PyTorch's operators: as often as the program calls an
operator from it, in its layer, with its file and line; samples break no rule, operators and results are as without.
Skipped where PyTorch 2.13 cannot be installed."""
import collections
import csv
import io
import json
import os
import re
import subprocess

from librecord import *

SOURCE = os.environ["BRICK_SOURCE"]
WORK = os.path.join(SOURCE, "tests", "programs", "torch_functions.py")
STEPS, LAYERS = 12, 3


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def line_of(function):
    with open(WORK, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if re.match(rf" *def {function}\(", line))


def rows_of(path):
    return list(csv.DictReader(io.StringIO(run(BRICK, "export", "--format", "csv", path).stdout)))


def names(scratch, python):
    plain = run(python, WORK)
    same(plain.returncode, 0, plain.stderr)
    paths = [scratch.file("with.pftrace"), scratch.file("without.pftrace")]
    for path, options in zip(paths, (["--sample"], [])):
        done = run(BRICK, "record", *options, "-o", path, "--", python, WORK)
        same((done.returncode, done.stdout), (0, plain.stdout), "what is computed")
    rows, without = map(rows_of, paths)
    same([row for row in without if "torch_functions.py" in row["brick"]], [], "functions that nobody asked for")
    operators = [collections.Counter((row["operation"], row["label"]) for row in of if row["operation"].startswith("aten::"))
                 for of in (rows, without)]
    same(operators[0], operators[1], "operators")
    dawdle = f"dawdlé (torch_functions.py:{line_of('dawdlé')})"
    for layer in range(LAYERS):
        here = [row for row in rows if row["brick"] == dawdle and row["layer"] == str(layer)]
        same(len(here), 2 * STEPS, f"times of the function in layer {layer}")
        same({row["label"] for row in here}, {f"{WORK}:{line_of('dawdlé')}"}, "its place")
    # before PyTorch's first operator in the step, and of steps whose training is not known yet
    check(all(row["layer"] == "-1" for row in rows if row["brick"].startswith("Model.forward")), rows[:50])
    same({row["brick"] for row in rows if "site-packages" in row["label"]}, set(), "functions of PyTorch itself")
    losses = json.loads(run(BRICK, "report", paths[0], "--json").stdout)["losses"]
    same((losses["unmatched"], losses["clamped"], losses["bad_records"]), (0, 0, 0), "rules of the ring")


with Scratch() as scratch:
    names(scratch, python_with_torch())
