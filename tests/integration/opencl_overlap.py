# SPDX-License-Identifier: Apache-2.0
"""
Description: commands of OpenCL that overlap (PoCL), against what the program reads from its own events. A wait
for a long command and a short one, given later, is one for the long one: by their events, with clFinish on an
out-of-order queue, and when another thread gave the short one while clFinish waited. Of an out-of-order queue whose program is
thousands of commands ahead of the device every command is recorded and none is bent, however many the driver says
ran at once (PoCL: hundreds), and what the queue was busy and idle is its wall time. A program that ends with _exit() says how many
commands it had launched whose times never came.
"""
import json
import os
import re

from librecord import BRICK, BUILD, Scratch, check
from libopencl import commands, losses, need_device, record, report, run, waits

PROGRAM = os.path.join(BUILD, "bin", "program-opencl_overlap")
ROUNDS = 4
MANY = 3000 + 2  # and those that warm up
ROUNDING_NS = 3
LEFT = 20


def lines_of(path, mode):
    code, out, err = record(path, [PROGRAM, mode])
    check(code == 0, mode, "exit code", code, err)
    return [line.split() for line in out.splitlines()]


def waited_for_long(path, mode):
    """Each wait that the program counts is one for the long command, and no longer than the program waited."""
    lines = lines_of(path, mode)
    told = [int(line[1]) for line in lines if line[0] == "wait"]
    counts = [line[0] == "counts" for line in lines if line[0] in ("counts", "again")]
    check(sum(counts) == ROUNDS, mode, "rounds", lines)
    found = waits(path)[1::3]  # one of a queue that warms up; and in each round two more, for the events that it prints
    check(len(found) == len(told), mode, "waits", found)
    lengths = [end - begin for (begin, end), is_counted in zip(found, counts) if is_counted]
    most = [ns + ns // 5000 + ROUNDING_NS for ns, is_counted in zip(told, counts) if is_counted]
    check(all(length <= ns for length, ns in zip(lengths, most)), mode, lengths, "in waits of", most)
    by_kernel = {}
    for row in report(path)["device"]["waits"]:
        name = row.get("kernel")
        by_kernel[name] = by_kernel.get(name, 0) + row["time_ns"]
    check(by_kernel.get("slow", 0) >= sum(lengths) - ROUNDS * ROUNDING_NS, mode, "waited", lengths, "ns for the long one, by the report",
          by_kernel)
    slow = [row["end_ns"] for row in commands(path) if row["kernel"] == "slow"][1:]  # without the one that warms up
    for (begin, end), slow_end, is_counted in zip(found, slow, counts):
        check(not is_counted or begin < slow_end <= end, mode, "a wait from", begin, "to", end, "for a command until", slow_end)
    check(not losses(path), mode, losses(path))


def union(times):
    """How long at least one of them ran, and from the first one's begin to the last one's end."""
    busy, over = 0, 0
    for begin, end in sorted(times):
        busy += max(0, end - max(begin, over))
        over = max(over, end)
    return busy, over - min(begin for begin, _ in times)


def moved(path):
    """How far the device's clock was placed anew meanwhile: it has been read once more after half a second."""
    clock = next(note["value"] for note in json.loads(run([BRICK, "export", path, "--format", "json"])[1])["notes"] if note["key"] == "opencl.clock")
    anchors, within = map(int, re.search(r"(\d+) anchors, within (\d+) ns", clock).groups())
    return within if anchors > 1 else 0


def ahead(path):
    times = [(int(begin), int(end)) for _, begin, end in lines_of(path, "ahead")]
    check(not losses(path), "ahead:", losses(path))
    recorded = sorted(row["duration_ns"] for row in commands(path))
    check(len(recorded) == MANY, "ahead:", len(recorded), "commands of", MANY)
    off = abs(sum(recorded) - sum(end - begin for begin, end in times))
    check(off <= ROUNDING_NS * MANY + sum(recorded[-2:]), "ahead: lengths are off by", off)
    queue = max(report(path, "--by", "queue")["queues"], key=lambda row: row["count"])
    busy, wall = union(times)
    most = MANY * ROUNDING_NS + wall // 5000 + moved(path)  # lengths are right to 1 in 5000 (correlation.c)
    check(abs(queue["busy_ns"] - busy) <= most, "ahead: busy", queue["busy_ns"], "and not", busy)
    check(abs(queue["busy_ns"] + queue["idle_ns"] - wall) <= most, "ahead:", queue, "in", wall)


def ends_at_once(path):
    code, out, err = record(path, [PROGRAM, "leave"])
    check(code == 0, "leave: exit code", code, err)
    code, out, err = run([BRICK, "report", path])
    launched = sum(row["count"] for row in report(path)["bricks"] if row["name"] == "Launch")
    told = re.search(r"(\d+) commands of those were launched", " ".join(out.split()))
    check(told and launched >= LEFT and int(told.group(1)) + len(commands(path)) == launched, "leave:", launched,
          "launched,", len(commands(path)), "recorded;", out[out.find("Losses"):][:300])


def main():
    need_device()
    with Scratch() as scratch:
        for mode in "events", "finish", "thread":
            waited_for_long(scratch.file(mode + ".pftrace"), mode)
        ahead(scratch.file("ahead.pftrace"))
        ends_at_once(scratch.file("leave.pftrace"))


if __name__ == "__main__":
    main()
