# SPDX-License-Identifier: Apache-2.0
"""Several sessions in one process (examples/models.c): each model's recording and its answers in the program have its own
bricks and counts, and the process's session has neither. Under `brick record` all of it goes into the one recording."""
import json
import os
import subprocess

from libcli import BUILD, TMP, brick, expect, expect_true

PROGRAM = os.path.join(BUILD, "bin", "example-models")
# model: steps, executions of Router, its category
MODELS = {"large": (10, 40, "FFN"), "draft": (50, 50, "Attention")}


def counts(report):
    return {row["name"]: row["count"] for row in report["bricks"]}


def rows(report):
    return {row["name"]: row for row in report["bricks"]}


done = subprocess.run([PROGRAM, TMP], capture_output=True, text=True, timeout=600)
expect("exit: " + done.stderr, done.returncode, 0)
expect("the process's own", counts(json.loads(done.stdout)), {"UbatchProcess": 10})
for name, (steps, times, category) in MODELS.items():
    path = os.path.join(TMP, name)
    for ending, options in ("txt", ()), ("json", ("--json",)):
        with open(path + "." + ending, encoding="utf-8") as file:
            expect(f"{name}.{ending}", file.read(), brick("report", path + ".pftrace", *options, LC_ALL="C")[0].decode())
    report = json.loads(brick("report", path + ".pftrace", "--json")[0])
    expect(name + ": bricks", {b: n for b, n in counts(report).items() if b != "ProfilerReady"},
           {"Router": times, "DownProjection": times})
    expect(name + ": category", rows(report)["Router"]["category"], category)
    expect(name + ": steps", report["steps"]["decode"]["count"], steps)
    expect_true(name + ": note", {"process": 0, "key": "model", "value": name} in report["run"]["notes"])
    expect_true(name + ": nothing lost", not any(n for loss, n in report["losses"].items() if loss != "complete"))

recorded = os.path.join(TMP, "all.pftrace")
os.mkdir(os.path.join(TMP, "own"))
brick("record", "-q", "-o", recorded, "--", PROGRAM, os.path.join(TMP, "own"))
report = json.loads(brick("report", recorded, "--json")[0])
expect("all: Router", counts(report)["Router"], 90)
expect("all: steps", report["steps"]["decode"]["count"], 60)
expect("all: UbatchProcess", counts(report)["UbatchProcess"], 10)
expect_true("no recordings of its own", not os.path.exists(os.path.join(TMP, "own", "large.pftrace")))
