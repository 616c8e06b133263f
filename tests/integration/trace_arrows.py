# SPDX-License-Identifier: Apache-2.0
"""
Description: in what Perfetto makes of recordings of real runs each execution on a device (kernel, copy, fill; PoCL,
lavapipe, doubles of CUDA and HIP) has exactly one arrow from the call that launched it, which leads forward.
The defect of former versions (a call had an arrow to the first of its commands only) is planted and found.
"""
import os
import subprocess
import sys

import libtrace
from libwire import message, one, packets as packets_of
from librecord import BRICK, BUILD, Scratch
from trace_structure import edited

DOUBLES = {"LD_LIBRARY_PATH": os.path.join(BUILD, "lib", "doubles"), "BRICK_CUDA": "full"}
CUDA, HIP = dict(DOUBLES, FAKE_CUDA="shuffle,late=20"), dict(DOUBLES, FAKE_HIP="10300")
# what, program and arguments, environment, at least so many executions, more than so many by one call
RUNS = (
    ("Vulkan", ("vulkan_work",), {}, 17, 1),
    ("Vulkan, batches", ("vulkan_order", "batches"), {}, 6, 1),
    ("Vulkan, embedded", ("vulkan_embed", "deferred", "none"), {}, 16, 0),
    ("OpenCL", ("opencl",), {}, 14, 0),
    ("OpenCL, out of order", ("opencl", "--out-of-order", "--threads", "2"), {}, 14, 0),
    ("OpenCL, embedded", ("opencl_embed",), {}, 1, 0),
    ("CUDA", ("cuda_work", "plain", "3"), CUDA, 17, 0),
    ("CUDA, graphs", ("cuda_work", "graph", "5"), CUDA, 23, 3),
    ("CUDA, streams", ("cuda_work", "streams", "40"), CUDA, 80, 0),
    ("CUDA, embedded", ("cuda_embed",), CUDA, 3, 0),
    ("HIP", ("hip_work",), HIP, 21, 0),
)


def queues(checker):
    """Tracks of queues: neither of a thread nor a counter, and never one with another of their name."""
    return {uuid for uuid, track in checker.tracks.items()
            if one(track, 4) is None and one(track, 8) is None and one(track, 15) == libtrace.NO_MERGE
            and bytes(one(track, 2, b"")) != b"Off CPU"}


def arrows_of(checker, found):
    """How many arrows lead to each execution from a thread, and the most that lead away from one slice."""
    arrows, away = {}, {}
    for events in checker.flows.values():
        path = sorted((at, n, where) for n, (_, _, where, at) in enumerate(events) if where)
        for (at, _, source), (to, _, target) in zip(path, path[1:]):
            if target.track in found and source.track not in found and source.begin <= at <= to:
                arrows[target] = arrows.get(target, 0) + 1
                away[source] = away.get(source, 0) + 1
    return arrows, max(away.values(), default=0)


def problems_of(path):
    """And how many executions there are, and the most that one call launched."""
    checker = libtrace.load(path)
    found = queues(checker)
    arrows, most = arrows_of(checker, found)
    executions = [s for s in checker.slices if s.track in found]
    wrong = [f"{s.name!r} has {arrows.get(s, 0)} arrows from a launch" for s in executions if arrows.get(s, 0) != 1]
    return checker.problems + wrong, len(executions), most


def first_only(packet):
    """A slice has an arrow to the first command that it launched."""
    seen = []

    def event(number, value):
        if number != 47:
            return value
        seen.append(value)
        return value if len(seen) == 1 else None
    return edited(packet, lambda number, value: edited(value, event) if number == 11 else value)


def planted(path, plant, to):
    with open(path, "rb") as f:
        found = [packet for packet, _ in packets_of(f.read())]
    with open(to, "wb") as f:
        f.write(b"".join(message(1, plant(packet)) for packet in found))


def main():
    failed = tried = 0
    with Scratch() as scratch:
        path, defect = scratch.file("run.pftrace"), scratch.file("planted.pftrace")
        for what, (name, *arguments), environment, least, several in RUNS:
            program = os.path.join(BUILD, "bin", "program-" + name)
            done = os.path.exists(program) and subprocess.run(
                [BRICK, "record", "-q", "-o", path, "--", program, *arguments], capture_output=True,
                env=dict(os.environ, **environment), timeout=600, check=False)
            if not done or done.returncode in (77, 127):
                print(f"{what}: not tried: it does not run here")
                continue
            tried += 1
            problems, executions, most = problems_of(path)
            if done.returncode or problems or executions < least or most <= several:
                print(f"{what}: exit code {done.returncode}, {executions} executions, at most {most} by one call, {problems}")
                failed += 1
            if several:
                planted(path, first_only, defect)
                if not any("has 0 arrows" in problem for problem in problems_of(defect)[0]):
                    print(f"{what}: a call's first command only: not found")
                    failed += 1
            print(f"{what}: {executions} executions, at most {most} by one call")
    return 1 if failed else 0 if tried else 77


if __name__ == "__main__":
    sys.exit(main())
