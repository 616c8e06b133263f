# SPDX-License-Identifier: Apache-2.0
"""What tests of annotations share: program-annotated_work, what it said of its ranges, and what the recording
has of them."""
import json
import os
import subprocess

from librecord import *

PROGRAM = os.path.join(BUILD, "bin", "program-annotated_work")
SLACK_NS = 3000  # between the program's clock and ticks, and rounding


def objects(interface, kind, count):
    return [os.path.join(BUILD, "lib", "doubles", f"{interface}-{kind}-{i}.so") for i in range(count)]


def exported(path):
    run = json.loads(subprocess.check_output([BRICK, "export", "--format", "json", path]))
    names = [brick["name"] for brick in run["bricks"]]
    for lane in run["lanes"]:
        lane["samples"] = [dict(zip(run["sample_fields"], values)) for values in lane["samples"]]
        for sample in lane["samples"]:
            site = run["sites"][sample["site"]]
            sample.update(brick=names[site["brick"]], layer=site["layer"], label=site["label"], bytes=site["bytes"])
    run["notes"] = {note["key"]: note["value"] for note in run["notes"]}
    return run


class Recorded:
    def __init__(self, scratch, what, count, files, options=(), **more):
        path = self.path = scratch.file("run.pftrace")
        env = dict(os.environ, **more)
        run = record(path, PROGRAM, what, str(count), *files, env=env, options=options)
        same((run.returncode, run.stderr.count(b"nvtx.next")), (0, 0), f"{what}: {run.stderr}")
        self.output = run.stdout.decode()
        self.run = exported(path)
        self.notes = self.run["notes"]
        self.report = json.loads(subprocess.check_output([BRICK, "report", "--json", path]))
        same([self.report["losses"][k] for k in ("dropped", "unmatched", "clamped")], [0, 0, 0], "losses of " + what)

    def truth(self):
        for line in self.output.splitlines():
            thread, brick, layer, kind, level, *times = line.split("\t")
            yield thread, brick, int(layer), kind, int(level), [int(t) for t in times]

    def forget(self, sample):
        for lane in self.run["lanes"]:
            if sample in lane["samples"]:
                lane["samples"].remove(sample)

    def lane(self, name):
        samples = [s for lane in self.run["lanes"] if lane["kind"] == "thread" and lane["name"] == name
                   for s in lane["samples"]]
        return [s for s in samples if not s["brick"].startswith("Profiler")]

    def asynchronous(self):
        return [s for lane in self.run["lanes"] if lane["name"] == "Asynchronous" for s in lane["samples"]]


def within(sample, times):
    return (times[0] - SLACK_NS <= sample["begin_ns"] <= times[1] + SLACK_NS
            and times[2] - SLACK_NS <= sample["end_ns"] <= times[3] + SLACK_NS)


def check_ranges(got, truth):
    """Every range is there, once, with its brick, layer, thread and times."""
    for thread in {t[0] for t in truth}:
        said = sorted((t for t in truth if t[0] == thread and t[3] == "stack"), key=lambda t: t[5][0])
        found = sorted(got.lane(thread), key=lambda s: (s["begin_ns"], -s["end_ns"]))
        same(len(found), len(said), "ranges of " + thread)
        for sample, (_, brick, layer, _, _, times) in zip(found, said):
            same((sample["brick"], sample["layer"]), (brick, layer), f"a range of {thread} at {times}")
            check(within(sample, times), thread, brick, sample, "is not where it was said:", times)
    places = {}
    for sample in got.asynchronous():
        places.setdefault(sample["brick"], []).append(sample)
    said = [t for t in truth if t[3] == "async"]
    same(sum(map(len, places.values())), len(said), "ranges that lie in no stack")
    for _, brick, _, _, _, times in said:
        check(any(within(sample, times) for sample in places[brick]), brick, times, "has no range")
