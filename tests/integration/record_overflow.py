# SPDX-License-Identifier: Apache-2.0
"""Rings that overflow: what was written and what was dropped add up to what was produced, and
statistics and histograms hold all of it."""
import json
import subprocess

from librecord import *

need(PRODUCER)


def totals(trace):
    lanes = {}
    for event in trace.all("brick.statistics"):
        lane = lanes.setdefault(event["lane"], {"bricks": {}})
        lane["dropped"] = event["ledger"]["dropped"]
        lane["bricks"].update({b["brick"]: b["count"] for b in event.get("bricks", [])})
    return lanes.values()


def histogram(trace, brick):
    rows = [e["buckets"] for e in trace.all("brick.histogram") if e["brick"] == brick]
    return sum(int(pair.split(":")[1]) for row in rows for pair in row.split())


with Scratch() as scratch:
    out = scratch.file("overflow.pftrace")
    # three threads that fill 1024 records within microseconds, again and again
    run = record(out, PRODUCER, "threads=3,3000000", "nested=1000000", options=["--ring", "1024"])
    same(run.returncode, 0, "exit code")
    trace = Trace(out)
    produced = {"RmsNorm": 9000000, "GraphCompute": 1000000, "LmHead": 1000000}
    dropped = sum(lane["dropped"] for lane in totals(trace))
    check(dropped > 0, "nothing was dropped: this test tests nothing")
    same(sum(trace.counts.values()) + dropped, sum(produced.values()), "written + dropped")
    for brick, count in produced.items():
        same(sum(lane["bricks"].get(brick, 0) for lane in totals(trace)), count, f"count of {brick}")
        same(histogram(trace, brick), count, f"histogram of {brick}")
    same((trace.negative, [d for d in trace.open.values() if d]), (0, []), "unbalanced tracks")
    check(b"dropped (statistics are exact without them" in run.stderr, run.stderr)

    # what rows of one phase count is in the file; all that there was, only what threads counted knows
    record(out, PRODUCER, "steps=1000000", options=["--ring", "1024"])
    for phase in "all", "decode":
        text, rows = (subprocess.run([BRICK, "report", "--phase", phase, *how, out], check=True,
                                     capture_output=True, text=True).stdout for how in (["-v"], ["--json"]))
        counts = [row["count"] for row in json.loads(rows)["bricks"] if row["name"] != "unattributed"]
        same("counts and times are exact" in text, 1000000 in counts, f"exact, said of {phase}: {counts}")
        same("--phase all)" in text, phase != "all", f"where exact counts are, said of {phase}")
