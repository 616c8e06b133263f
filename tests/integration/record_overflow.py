# SPDX-License-Identifier: Apache-2.0
"""Rings that overflow: what was written and what was dropped add up to what was produced, and
statistics and histograms hold all of it."""
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
