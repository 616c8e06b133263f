# SPDX-License-Identifier: Apache-2.0
"""Ranks that torchrun starts (DDP and FSDP over gloo): what is computed is the same, each rank has the collectives that
the program counts, with their bytes and its waiting, and the report says which rank came last to how many of them. Skipped
where PyTorch 2.13 cannot be installed."""
import collections
import csv
import io
import json
import os
import subprocess

from librecord import *

SOURCE = os.environ["BRICK_SOURCE"]
WORK = os.path.join(SOURCE, "tests", "programs", "torch_ranks.py")
RANKS = 2


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def trains(scratch, python):
    job = [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS), WORK, "hand+ddp+fsdp"]
    plain = run(*job)
    same(plain.returncode, 0, plain.stderr)
    path = scratch.file("run.pftrace")
    done = run(BRICK, "record", "-o", path, "--", *job)
    same(done.returncode, 0, done.stderr)
    same(done.stdout, plain.stdout, "what is computed")
    rows = list(csv.DictReader(io.StringIO(run(BRICK, "export", "--format", "csv", path).stdout)))
    ranks = json.loads(run(BRICK, "report", path, "--json").stdout)["ranks"]
    same([(row["rank"], row["world"]) for row in ranks], [(rank, RANKS) for rank in range(RANKS)], "ranks")
    same(len({row["collectives"] for row in ranks}), 1, ranks)
    same(sum(row["last"] for row in ranks), ranks[0]["collectives"], "who came last")
    same(sum(row["waited_ns"] for row in ranks), sum(row["caused_ns"] for row in ranks), "waiting for others")
    check(all(row["waited_ns"] <= row["exposed_ns"] > 0 for row in ranks), ranks)
    check("\nRanks        2 of 2, " in run(BRICK, "report", path).stdout, "ranks in the report")
    for row in ranks:
        mine = [r for r in rows if r["pid"] == str(row["pid"]) and r["operation"].startswith(("c10d::", "_c10d_functional::all"))]
        # beside these: one byte of a barrier or more, and how ranks tell each other the shapes of their models
        wanted = collections.Counter()
        for said in map(json.loads, done.stdout.splitlines()):
            wanted.update({(brick, given // count): count for brick, (count, given) in said["counts"].items()})
        found = collections.Counter((r["brick"], int(r["bytes"] or 0)) for r in mine)
        same({key: found[key] for key in wanted}, dict(wanted), found)
        same(sum(int(r["bytes"] or 0) for r in mine), row["bytes"], "bytes")
        for brick in "CollectiveWait", "GradientReduction":
            check(any(r["brick"] == brick and r["pid"] == str(row["pid"]) for r in rows), brick, "of rank", row["rank"])


with Scratch() as scratch:
    trains(scratch, python_with_torch())
