# SPDX-License-Identifier: Apache-2.0
"""A job of Lightning, and a notebook whose cells a kernel of Jupyter runs, are recorded as other training is: the process
that computes is found, each of its steps is one, with its passes and the optimizer's step, and the output is what it is
without Brick. Skipped where these packages or PyTorch 2.13 cannot be installed."""
import json
import os
import subprocess
import sys

from librecord import *

SOURCE = os.environ["BRICK_SOURCE"]
PROGRAM = os.path.join(SOURCE, "tests", "programs", "torch_jobs.py")


def fetch(name):
    fetched = subprocess.run([os.path.join(SOURCE, "examples", "demo", "torch.sh"), name], capture_output=True, text=True)
    if fetched.returncode:
        print("skipped:", fetched.stderr.strip())
        sys.exit(77)
    return fetched.stdout.strip()


def run(*command, **variables):
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env={**os.environ, **variables})
    same(done.returncode, 0, done.stderr)
    return done.stdout


if not os.path.exists(os.path.join(BUILD, "lib", "libbrick-torch.so")):
    print("skipped: Brick was built without the attacher of PyTorch")
    sys.exit(77)
python, jobs = fetch("torch-2.13.0"), fetch("torch-jobs")
with Scratch() as scratch:
    more = {"PYTHONPATH": os.path.join(os.path.dirname(os.path.dirname(jobs)), "lib", "python3.11", "site-packages"),
            "PYTHONWARNINGS": "ignore", "HOME": scratch.file(""), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    plain = run(python, PROGRAM, "lightning", **more)
    for job in "lightning", "notebook":  # which compute the same
        path = scratch.file(job + ".pftrace")
        same(run(BRICK, "record", "-o", path, "--", python, PROGRAM, job, **more), plain, job)
        losses = len(plain.split())
        same(losses, 6, plain)
        said = json.loads(run(BRICK, "export", "--format", "json", path))
        steps = [step for step in said["steps"] if step["phase"] == "other"]
        same(len(steps), losses, f"{job}: steps")
        rows = json.loads(run(BRICK, "report", "--json", "--phase", "other", path))["bricks"]
        counts = {row["name"]: row["count"] for row in rows}
        for brick in "Forward", "Backward", "OptimizerStep":
            same(counts[brick], losses, f"{job}: {brick}")
