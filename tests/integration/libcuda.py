# SPDX-License-Identifier: Apache-2.0
"""What tests of CUDA share: programs on the doubles, what they did, and what the recording says of it."""
import glob
import json
import os
import re
import subprocess

import libggml
from librecord import BRICK, BUILD

PROGRAM = os.path.join(BUILD, "bin", "program-cuda_work")
EVENTS = os.path.join(BUILD, "bin", "program-cuda_events")
EMBED = os.path.join(BUILD, "bin", "program-cuda_embed")
DOUBLES = os.path.join(BUILD, "lib", "doubles")
ALL_CALLED = "; 0 commands without their call"
SLACK_NS = 200  # of ticks and rounding, beyond the residual that the recording states


def engine():
    found = glob.glob(os.path.join(libggml.BUILD, "demo", "engine-cuda", "*", "libggml-cuda.so"))
    if not found:
        libggml.skip("no CUDA backend: run examples/demo/engine-device.sh cuda")
    return os.path.dirname(sorted(found)[-1])


def environment(scenario, **more):
    env = dict(os.environ, **{"LD_LIBRARY_PATH": DOUBLES, "FAKE_CUDA": scenario, "BRICK_CUDA": "full", **more})
    env.pop("CUDA_INJECTION64_PATH", None)
    return env


class Result:
    """One program run alone and recorded; what it did, and what the recording says that it did."""

    def __init__(self, scratch, scenario, *arguments, program=PROGRAM, **more):
        path, log = scratch.file("run.pftrace"), scratch.file("truth")
        self.path = path
        self.label = " ".join((scenario, *arguments))
        for name in (path, log):
            if os.path.exists(name):
                os.unlink(name)
        alone = subprocess.run([program, *arguments], env=environment(scenario, **more),
                               capture_output=True, text=True, timeout=600)
        recorded = subprocess.run([BRICK, "record", "-o", path, "--", program, *arguments],
                                  env=environment(scenario, FAKE_CUDA_LOG=log, **more),
                                  capture_output=True, text=True, timeout=600)
        assert recorded.stdout == alone.stdout, (self.label, alone.stdout, recorded.stdout)
        assert recorded.returncode == alone.returncode, (self.label, recorded)
        assert "double:" not in recorded.stderr, recorded.stderr
        self.output, self.code = alone.stdout, alone.returncode
        assert (self.code == 0) == ("fail" not in scenario), (self.label, alone)
        with open(log, encoding="utf-8") as file:
            # without the kernels that the attacher launches to see what tracing costs (cuda_calibration.h)
            self.truth = [self.line(text) for text in file if not text.startswith("brick_calibration ")]
        self.read(path)

    @staticmethod
    def line(text):
        name, stream, correlation, begin, end, size, node = text.split()
        return {"name": name, "stream": int(stream), "begin": int(begin), "end": int(end),
                "bytes": int(size), "node": int(node), "call": int(correlation)}

    def read(self, path):
        run = json.loads(subprocess.check_output([BRICK, "export", "--format", "json", path]))
        fields = run["sample_fields"]
        names = [brick["name"] for brick in run["bricks"]]
        self.notes = {}
        for note in run["notes"]:
            self.notes.setdefault(note["key"], note["value"])
        self.commands, self.lanes, self.launches = [], 0, 0
        self.afters, self.waits = self.order(run)
        for lane in run["lanes"]:
            samples = [dict(zip(fields, values)) for values in lane["samples"]]
            for sample in samples:
                site = run["sites"][sample["site"]]
                sample["brick"], sample["layer"] = names[site["brick"]], site["layer"]
            if lane["kind"] != "queue":
                self.launches += sum(sample["brick"] == "Launch" for sample in samples)
                continue
            self.lanes += 1
            stream = int(re.search(r"stream (\d+)", lane["name"]).group(1))
            last = 0
            for sample in samples:
                assert sample["begin_ns"] >= last, (self.label, "overlap", sample)
                last = sample["end_ns"]
                self.commands.append(dict(sample, stream=stream))
        self.commands.sort(key=lambda c: c["begin_ns"])
        report = json.loads(subprocess.check_output([BRICK, "report", "--json", path]))
        self.dropped = report["losses"]["dropped"]
        self.clamped = report["losses"]["clamped"]

    @staticmethod
    def order(run):
        """Commands as (kernel, stream, what they come after), by begin; which were waited for."""
        fields, commands = run["sample_fields"], []
        for values in run["commands"]:
            command = dict(zip(run["command_fields"], values))
            lane = run["lanes"][command["lane"]]
            sample = dict(zip(fields, lane["samples"][command["sample"]]))
            stream = int(re.search(r"stream (\d+)", lane["name"]).group(1))
            commands.append((sample["begin_ns"], run["kernels"][command["kernel"]]["name"], stream,
                             command["after"]))
        places = sorted(range(len(commands)), key=lambda i: commands[i][0])
        rank = {place: i for i, place in enumerate(places)}
        afters = [(commands[i][1], commands[i][2], sorted(rank[a] for a in commands[i][3]))
                  for i in places]
        return afters, [rank[dict(zip(run["wait_fields"], wait))["command"]]
                        for wait in run["waits"]]

    def residual(self):
        return int(re.search(r"residual (\d+) ns", self.notes["cuda.clock"]).group(1))

    def same_times(self, slack=SLACK_NS):
        """Each command of the device is in the recording, on its stream, when it happened."""
        assert len(self.commands) == len(self.truth), (
            self.label, len(self.commands), len(self.truth), self.notes)
        most = self.residual() + slack
        for stream in {c["stream"] for c in self.truth}:
            real = sorted((c for c in self.truth if c["stream"] == stream),
                          key=lambda c: c["begin"])
            seen = [c for c in self.commands if c["stream"] == stream]
            assert len(real) == len(seen), (self.label, stream, len(real), len(seen))
            for a, b in zip(real, seen):
                assert abs(a["begin"] - b["begin_ns"]) <= most, (self.label, most, a, b)
                length = b["end_ns"] - b["begin_ns"]
                assert abs(a["end"] - a["begin"] - length) <= slack, (self.label, a, b)
        assert self.dropped == 0 and self.clamped == 0, (self.label, self.dropped, self.clamped)
