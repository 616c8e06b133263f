# SPDX-License-Identifier: Apache-2.0
"""Where the kernel refuses its records of context switches, other accounts say how busy it was.

program-no_perf has perf_event_open(2) fail, for the recorder and for a program that records itself.
Then no brick has a time on the CPU, the report names what it goes by, and what it says of the steps
is what the program read from its own CPU clock.
"""
import json
import os
import subprocess
import sys
import tempfile

import liboffcpu as o

NO_PERF = os.path.join(o.BUILD, "bin", "program-no_perf")
STEP_NS = 60000  # what the program itself does in a step beside its brick


def examine(path, truth):
    rep = json.loads(o.report(path, "--json"))
    presence = rep["presence"]
    o.check({row["cpu_ns"] for row in rep["bricks"]} == {None}, "a brick's CPU is known")
    o.check(presence["off_cpu"] is None, f"switches are known: {presence}")
    o.check(presence["off_cpu_fallback"] == "schedstat", f"{presence}")
    o.check(presence["threads_queued"] > 0.1, f"beside a competitor: {presence}")

    steps = rep["steps"]["decode"]
    count = sum(t["count"] for t in truth.values())
    low, high = (sum(t[end] for t in truth.values()) for end in ("low_ns", "high_ns"))
    o.check(steps["count"] == count, f"{steps['count']} steps, {count} bricks")
    each = json.loads(o.report(path, "--by", "step", "--json"))["each_step"]
    rows = [row for row in each if row["step_ns"] is not None]
    o.check(len(rows) == count, f"{len(rows)} rows, {count} steps")
    o.check(all(row["cpu_ns"] + row["off_ns"] == row["step_span_ns"] for row in rows), "CPU and OFF")
    cpu = (1 - presence["steps_off"]) * sum(row["step_span_ns"] for row in rows)
    # the clock is read outside of the step, which may so have a little more CPU than time
    found = sum(row["cpu_ns"] for row in rows)
    o.check(abs(found - cpu) < 0.01 * cpu + STEP_NS * count, f"CPU {found} of rows, {cpu} of steps")
    o.check(0.99 * low <= cpu <= 1.01 * high + STEP_NS * count,
            f"steps ran for {cpu} ns, truly {low}..{high}: {presence}")
    text = " ".join(o.report(path, "--trust").split())
    for part in ("perf_event_open: Permission denied", "by schedstat, per interval",
                 "by getrusage, per step", "not known per brick"):
        o.check(part in text, f"the report does not say: {part}")


def main():
    cpu = min(os.sched_getaffinity(0))
    allowed = subprocess.run([NO_PERF, "true"])
    if allowed.returncode:
        print("skipped: seccomp filters are refused")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "off.pftrace")
        recorder = [NO_PERF, o.BRICK, "record", "-q", "-o", path, "--"]
        truth, _ = o.disturbed([*recorder, o.PROGRAM, str(cpu)], cpu)
        examine(path, truth)
        truth, _ = o.disturbed([NO_PERF, o.PROGRAM, str(cpu), path], cpu)
        examine(path, truth)


main()
