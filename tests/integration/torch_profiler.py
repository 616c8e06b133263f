# SPDX-License-Identifier: Apache-2.0
"""docs/TORCHPROFILER.md: each row's command answers of a recording of a PyTorch program, and says what the row promises.
Skipped where PyTorch 2.13 cannot be installed."""
import os
import re
import shlex
import subprocess
import sys

from librecord import *

SOURCE = os.environ["BRICK_SOURCE"]
WORK = os.path.join(SOURCE, "tests", "programs", "torch_work.py")
# words that a command's answer has, by a part of the command
SAYS = {"--steps": "steps", "--by brick": "QkvProjection", "--layer 1": "QkvProjection", "--json": '"flops"',
        "roofline": "GB/s", "explain": "run.pftrace"}
FILES = {"chrome": "trace.json", "pprof": "run.pb.gz", "csv": "run.csv", "--html": "run.html", "flame": "flame.svg"}


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=600, **more)


fetched = run(os.path.join(SOURCE, "examples", "demo", "torch.sh"), "torch-2.13.0")
if fetched.returncode:
    print("skipped:", fetched.stderr.strip())
    sys.exit(77)
with open(os.path.join(SOURCE, "docs", "TORCHPROFILER.md"), encoding="utf-8") as file:
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in file if line.startswith("|")][2:]
commands = [command for row in rows for command in re.findall("`(brick [^`]*)`", row[2])]
check(len(commands) >= 12, commands)
with Scratch() as scratch:
    os.environ["XDG_CACHE_HOME"] = scratch.file("cache")
    done = run(BRICK, "ceilings", "--quick")  # a new machine has none
    same(done.returncode, 0, done.stderr)
    os.environ["XDG_CACHE_HOME"] = scratch.path  # for ceilings, which a machine need not have
    done = run(BRICK, "ceilings", "--quick")
    same(done.returncode, 0, done.stderr)
    done = run(BRICK, "record", "-o", "run.pftrace", "--", fetched.stdout.strip(), WORK, "decode+train", "6",
               cwd=scratch.path)
    same(done.returncode, 0, done.stderr)
    for command in commands:
        done = run(BRICK, *shlex.split(command)[1:], cwd=scratch.path)
        same(done.returncode, 0, command + "\n" + done.stderr)
        for part, words in SAYS.items():
            check(part not in command or words in done.stdout + done.stderr, command, part)
        for part, name in FILES.items():
            check(part not in command or os.path.getsize(scratch.file(name)) > 0, command)
