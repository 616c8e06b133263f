# SPDX-License-Identifier: Apache-2.0
"""brick.record() of the Python package records PyTorch from inside: operators, modules, phases of training, memory and
their numbers are those of the program, in each of two sessions; what is computed is the same. The wheel carries the
library. Skipped where PyTorch 2.13 cannot be installed."""
import csv
import io
import json
import os
import shutil
import subprocess
import sys

from librecord import *

SOURCE = os.environ["BRICK_SOURCE"]
WORK = os.path.join(SOURCE, "tests", "programs", "torch_inside.py")
STEPS, LINEARS = 5, 3


def run(*command, **environment):
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment})


def installed(scratch):
    """A folder with the package, as pip installs it from libraries that are built; None: no Python can make a wheel."""
    target = scratch.file("installed")
    for python in (sys.executable, "/usr/bin/python3"):
        if run(python, "-c", "import setuptools, wheel, pip").returncode:
            continue
        source = shutil.copytree(os.path.join(SOURCE, "bindings", "python"), scratch.file("source"))
        done = run(python, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index",
                   "--disable-pip-version-check", "--target", target, source, BRICK_LIBRARY_PATH=os.path.join(BUILD, "lib"))
        same(done.returncode, 0, done.stdout + done.stderr)
        check(os.path.exists(os.path.join(target, "brick", "lib", "libbrick-torch.so")), "the wheel lacks the attacher")
        return target
    return None


def check_file(path, said, is_training):
    rows = list(csv.DictReader(io.StringIO(run(BRICK, "export", "--format", "csv", path).stdout)))

    def count(**wanted):
        return sum(all(row[key] == value for key, value in wanted.items()) for row in rows)

    same(count(operation="aten::linear"), LINEARS * STEPS, "products forward")
    same(count(operation="aten::linear", label="layers.1.0", layer="1"), STEPS, "products of a module")
    same(count(brick="Forward"), STEPS, "forward passes")
    for phase in ("Backward", "OptimizerStep"):
        same(count(brick=phase), STEPS * is_training, phase)
    same(count(operation="AddmmBackward0", label="layers.1.0", layer="1"), STEPS * is_training, "nodes of a module")
    memory = json.loads(run(BRICK, "report", path, "--by", "memory", "--json").stdout)["rows"]
    kinds = {row["kind"]: row["live_bytes"] for row in memory if row["brick"] is None}
    same(kinds.get("gradients"), said["gradients"], "gradients")
    notes = run(BRICK, "report", "-v", path).stdout
    check("PyTorch 2.13" in notes, "the version is not told", notes)


def inside(scratch, python):
    package = installed(scratch)
    there = {"PYTHONPATH": package or os.path.join(SOURCE, "bindings", "python"),
             "BRICK_LIBRARY_PATH": "" if package else os.path.join(BUILD, "lib")}
    plain = run(python, WORK, **there)
    same(plain.returncode, 0, plain.stderr)
    files = [scratch.file(name) for name in ("trained.pftrace", "evaluated.pftrace")]
    done = run(python, WORK, *files, **there)
    same((done.returncode, done.stdout), (0, plain.stdout), "what is computed: " + done.stderr)
    for file in files:
        check_file(file, json.loads(done.stdout), file == files[0])


with Scratch() as scratch:
    inside(scratch, python_with_torch())
