# SPDX-License-Identifier: Apache-2.0
"""
Whatever part of a random recording is asked for: counts are those of the samples, by a reading of
their own here; and report (text, JSON, CSV, page), top, export, tree, path, roofline, diff, explain and metrics say
the same numbers.
"""
import csv
import io
import json
import os
import random
import re
import subprocess

from libcli import BUILD, TMP, brick, brick_json, expect, expect_true
from libhtml import page_of
from libserve import Server, need_server
from libtop import keep_ceilings

PROGRAM = os.path.join(BUILD, "bin", "program-random_recording")
STEPS = ("Prefill", "Decode")
CEILINGS = os.path.join(keep_ceilings(), "brick", "ceilings-box-A-CPU.json")


class Sample:
    def __init__(self, row):
        self.thread, self.brick, self.layer = row["thread"], row["brick"], int(row["layer"])
        self.begin = int(row["begin_ns"])
        self.end = self.begin + int(row["duration_ns"])
        self.wait, self.elements = int(row["wait_ns"]), int(row["elements"] or 0)
        self.step = None  # number


def read(path, *options):
    text = brick("export", "--format", "csv", *options, path)[0].decode()
    return [Sample(row) for row in csv.DictReader(io.StringIO(text))]


def place(samples):
    """The step that each sample belongs to; returns the steps in their order."""
    steps = sorted((s for s in samples if s.brick in STEPS), key=lambda s: s.begin)
    for number, step in enumerate(steps, 1):
        step.step = number
    for s in samples:
        begun = [t for t in steps if t.begin <= s.begin]
        if s.brick in STEPS or not begun:
            continue
        if s.thread == "engine" or s.begin < begun[-1].end:  # what follows a step is its own, too
            s.step = begun[-1].step
    return steps


class Filter:
    """What is asked for, as options, and as questions about samples."""

    def __init__(self, chance, samples, steps):
        self.options, self.steps, self.layer, self.brick, self.thread = [], None, None, None, None
        self.since, self.until = 0, 1 << 62
        numbers = range(1, len(steps) + 1)
        kind = chance.choice(("range", "list", "phase", "time", "slowest", "none", "none"))
        if kind == "range":
            first = chance.choice(numbers)
            last = chance.randint(first, len(steps))
            self.steps = set(range(first, last + 1))
            self.options += ["--steps", f"{first}-{last}"]
        elif kind == "list":
            self.steps = set(chance.sample(numbers, 3))
            self.options += ["--steps", ",".join(map(str, self.steps))]
        elif kind == "time":
            self.since, self.until = steps[len(steps) // 3].begin, steps[-3].begin
            self.steps = {s.step for s in steps if self.since <= s.begin < self.until}
            self.options += ["--since", f"{self.since}ns", "--until", f"{self.until / 1e9:.9f}"]
        elif kind == "slowest":
            self.steps = {brick_json("tree", "--json", "--step", "slowest", PATH)["trees"][0]
                          ["step"]["number"]}
            self.options += ["--steps", "slowest"]
        elif kind == "phase":
            phase = chance.choice(STEPS)
            self.steps = {s.step for s in steps if s.brick == phase}
            self.phase = ["--phase", phase.lower()]
        self.kind = kind
        if chance.random() < 0.5:
            self.layer = chance.choice((-1, 0, 1, 2, 3))
            self.options += ["--layer", str(self.layer)]
        if chance.random() < 0.4:
            self.brick = chance.choice(("RmsNorm", "UpProjection", "GraphCompute", "BarrierWait"))
            if (self.brick, self.layer is None) == ("GraphCompute", False):
                self.brick = "RmsNorm"
            self.options += ["--brick", self.brick]
        if chance.random() < 0.3:
            self.thread = chance.choice(("engine", "worker"))
            self.options += ["--thread", self.thread]

    def when(self, s):
        if s.step is not None and self.steps is not None:
            return s.step in self.steps
        if self.kind == "time":
            return self.since <= s.begin and s.end <= self.until
        return self.steps is None

    def where(self, s):
        return (self.layer is None or s.layer == self.layer) and self.thread in (None, s.thread)

    def rows(self, samples):
        """Executions and elements by brick."""
        rows = {}

        def add(name, elements):
            count, before = rows.get(name, (0, 0))
            rows[name] = (count + 1, before + elements)
        for s in samples:
            if not self.when(s) or not self.where(s):
                continue
            if s.brick not in STEPS and self.brick in (None, s.brick):
                add(s.brick, s.elements)
            if s.wait and self.brick in (None, s.brick, "BarrierWait"):
                add("BarrierWait", 0)
        return rows


def of_report(rows):
    return {r["name"]: (r["count"], r["elements"] or 0) for r in rows if r["count"]}


def of_csv(text):
    return {r["name"]: (int(r["count"]), int(r["elements"] or 0))
            for r in csv.DictReader(io.StringIO(text)) if r["count"] and int(r["count"])}


def of_text(text):
    rows = {}
    for line in text.splitlines():
        match = re.match(r"(\w+) +(\d+) +(\d+|-)$", line)
        if match:
            rows[match[1]] = (int(match[2]), int(match[3]) if match[3] != "-" else 0)
    return rows


def metrics(*options):
    """Executions by brick; and those of each phase, with their time."""
    server = Server(*options, PATH)
    body = server.get("/metrics")[2].decode()
    server.stop()
    found = re.findall(r'brick_execution_seconds_count\{brick="(\w+)"[^}]*\} (\d+)', body)
    phases = {}
    for what in ("executions", "self_seconds"):
        for phase, name, value in re.findall(
                rf'brick_phase_{what}_total\{{phase="(\w+)",brick="(\w+)"[^}}]*\}} (\S+)', body):
            phases.setdefault(phase, {}).setdefault(name, []).append(float(value))
    return {name: int(count) for name, count in found if int(count)}, phases


def served(f, chosen, wanted):
    """The page and the metrics: as a whole, and each phase as the report of that phase."""
    what = " ".join(chosen) or "everything"
    out = os.path.join(TMP, "page.html")
    brick("report", *f.options, PATH, "--html", out)
    page = page_of(out)[0]
    counts, phases = metrics(*chosen)
    expect(f"{what}: metrics", counts, {n: c for n, (c, _) in wanted.items()})
    for phase in ("prefill", "decode"):
        if f.kind == "phase" and f.phase[1] != phase:
            expect(f"{what}: metrics of the other phase", phase in phases, False)
            continue
        if phase not in page["report"].get("by_phase", {}):
            brick("report", "--phase", phase, *f.options, PATH, code=3)
            expect(f"{what}: metrics of no step", phase in phases, False)
            continue
        report = brick_json("report", "--json", "--phase", phase, *f.options, PATH)
        expect(f"{what}: page, {phase}", page["report"]["by_phase"][phase]["bricks"], report["bricks"])
        got = {n: tuple(v) for n, v in phases.get(phase, {}).items() if v[0]}
        rows = {r["name"]: (r["count"], r["self_ns"] / 1e9) for r in report["bricks"] if r["count"]}
        expect(f"{what}: metrics, {phase}: bricks", sorted(got), sorted(rows))
        for name, (count, seconds) in rows.items():
            expect_true(f"{what}: metrics, {phase}: {name}: {got[name]}", got[name][0] == count and
                        abs(got[name][1] - seconds) < 1e-9)
    return page


def accounts(report, what):
    """What was asked for, what was not, and the rest are the wall time."""
    rows = sum(r["wall_ns"] for r in report["bricks"] + report["rests"])
    parts = report["coverage"]
    expect(f"{what}: wall time", rows, parts["wall_ns"])
    expect(f"{what}: left out", sum(r["wall_ns"] for r in report["rests"] if r["name"] == "left out"),
           parts["left_out_ns"])


def forms(f, wanted, steps):
    what = " ".join(f.options) or "everything"
    chosen = f.options + (f.phase if f.kind == "phase" else [])
    phase = f.phase if f.kind == "phase" else ["--phase", "all"]
    report = brick_json("report", "--json", *phase, *f.options, PATH)
    expect(f"{what}: report", of_report(report["bricks"]), wanted)
    accounts(report, what)
    if f.kind != "phase":
        expect(f"{what}: steps", sum(report["steps"][p]["count"] for p in ("prefill", "decode")),
               len(steps if f.steps is None else f.steps))
    expect(f"{what}: CSV",
           of_csv(brick("report", "--csv", *phase, *f.options, PATH)[0].decode()), wanted)
    text = brick("report", "-v", *phase, "--columns", "count,elements", *f.options, PATH,
                 COLUMNS="200")[0].decode()
    expect(f"{what}: text", of_text(text.split("CATEGORY ")[0]), wanted)
    top = brick_json("top", "--headless", "--json", *phase, *f.options, PATH)
    expect(f"{what}: top", top["bricks"], report["bricks"])
    page = served(f, chosen, wanted)
    if f.kind != "phase":
        expect(f"{what}: page", page["report"]["bricks"], report["bricks"])
    layers = brick_json("report", "--json", "--by", "layer", *phase, *f.options, PATH)["layers"]
    expect(f"{what}: layers", sum(r["count"] for r in layers),
           sum(c for n, (c, _) in wanted.items() if n != "BarrierWait"))
    exported = {}
    for s in read(PATH, *chosen):
        if s.brick not in STEPS and not (f.kind == "time" and s.step is None and not f.when(s)):
            exported[s.brick] = exported.get(s.brick, 0) + 1
    if f.brick != "BarrierWait" and f.kind != "time":
        expect(f"{what}: export", exported,
               {n: c for n, (c, _) in wanted.items() if n != "BarrierWait"})
    return chosen


def others(f, chosen, wanted):
    """Of steps only, with their own sums."""
    what = " ".join(chosen)
    for section in brick_json("path", "--json", *chosen, PATH)["sections"]:
        expect(f"{what}: path", section["path_ns"], section["measured_ns"])
        names = {row["name"] for row in section["bricks"] if row["category"]} - {"BarrierWait"}
        expect_true(f"{what}: only what was asked for is on the path",
                    f.brick == "BarrierWait" or names <= set(wanted))
    rows = brick_json("roofline", "--json", "--ceilings", CEILINGS, *chosen, PATH)["bricks"]
    counts = {}
    for row in rows:
        counts[row["name"]] = counts.get(row["name"], 0) + row["count"]
    with_work = {n: c for n, (c, e) in wanted.items() if e}
    expect(f"{what}: roofline", {n: c for n, c in counts.items() if n in with_work}, with_work)


def decide(f, chosen, wanted):
    """A comparison with itself, and findings: of what was asked for only, and the parts make up the whole."""
    what = " ".join(chosen)
    diff = brick_json("diff", "--disturbed", "--json", "--threshold", "3", *chosen, PATH, PATH)
    layers = brick_json("diff", "--disturbed", "--json", "--threshold", "3", "--by", "layer", *chosen, PATH, PATH)
    for phase, answer in diff["phases"].items():
        expect(f"{what}: of which phase", f.kind == "phase" and phase != f.phase[1], False)
        rows = {r["name"]: r["a_ns"] for r in answer["bricks"]}
        expect_true(f"{what}: {set(rows)} asked for", set(rows) <= set(wanted) | {"left out", "unattributed", "BarrierWait", "preempted", "blocked"})
        for parts in (rows.values(), [r["a_ns"] for r in layers["phases"][phase]["layers"]]):
            if answer["blocks_a"] == 1:  # of several each has a median of its own
                expect_true(f"{what}: {phase} adds up", abs(sum(parts) - answer["time"]["a_ns"]) < 1 + 1e-6 * answer["time"]["a_ns"])
        expect(f"{what}: itself", {r["verdict"] for r in answer["bricks"]} & {"slower", "faster"}, set())
    text = brick("explain", "--json", *chosen, PATH)[0]
    expect_true(f"{what}: {len(text)} bytes", len(text) <= 8192)
    for finding in json.loads(text)["findings"]:
        expect(f"{what}: finding", f.kind == "phase" and finding["phase"] not in (f.phase[1], None), False)


def of_all(count):
    """All steps are what nothing chosen is, but for the wall time of the run, which no steps have."""
    for args in (("explain", "--json"), ("diff", "--disturbed", "--json", PATH)):
        chosen, whole = brick_json(*args, "--steps", f"1-{count}", PATH), brick_json(*args, PATH)
        expect(f"{args}: wall time of steps", chosen.pop("wall", None), None)
        whole.pop("wall", None)
        expect(f"{args} of all steps", chosen, whole)


def tree(number, samples):
    nodes = {}

    def walk(node):
        if node["kind"] == "brick":
            nodes[node["name"]] = nodes.get(node["name"], 0) + node["count"]
        for inner in node["children"]:
            walk(inner)
    for each in brick_json("tree", "--json", "--steps", str(number), "--layer", "1", PATH)["trees"]:
        expect("number", each["step"]["number"], number)
        walk(each["tree"])
    wanted = {}
    for s in samples:
        if (s.step, s.layer, s.thread) == (number, 1, "engine"):
            wanted[s.brick] = wanted.get(s.brick, 0) + 1
    expect(f"tree of step {number}", nodes, wanted)


def trees(first, last, samples):
    """Of several steps: by phase, what their thread ran in them."""
    chosen = brick_json("tree", "--json", "--steps", f"{first}-{last}", PATH)["trees"]
    for each in chosen:
        about = each["steps"] or each["step"]
        numbers = {s.step for s in samples if s.brick.lower() == about["phase"] and
                   first <= s.step <= last}
        inside = [s for s in samples if s.step in numbers and s.thread == "engine"]
        expect("steps", about.get("count", 1), len(numbers))
        expect("total", each["tree"]["time_ns"], about["total_ns"])
        counts = {}

        def walk(node):
            if node["kind"] == "brick":
                counts[node["name"]] = counts.get(node["name"], 0) + node["count"]
            for inner in node["children"]:
                walk(inner)
        walk(each["tree"])
        wanted = {}
        for s in inside:
            if s.brick not in STEPS:
                wanted[s.brick] = wanted.get(s.brick, 0) + 1
        expect(f"trees of {first}-{last}", counts, wanted)
    expect("phases", len(chosen), len({s.brick for s in samples if s.brick in STEPS and
                                       first <= s.step <= last}))


def wrong(count):
    for options, said in (
            (["--steps", "0"], b"must be slowest"), (["--steps", "3-2"], b"must be slowest"),
            (["--steps", "1,,2"], b"must be slowest"), (["--layer", "x"], b"must be a number"),
            (["--since", "1h"], b"number of seconds"), (["--until", ""], b"number of seconds")):
        for command in ("report", "tree", "path", "tiles"):
            expect_true(f"{command} {options}", said in brick(command, *options, PATH, code=2)[1])
    for options, said in (
            (["--steps", str(count + 1)], b"has no such step; it has %d" % count),
            (["--layer", "99"], b"has no layer 99"), (["--thread", "x"], b"no thread or queue x"),
            (["--brick", "RmsNrom"], b"did you mean 'RmsNorm'?"),
            (["--since", "1000"], b"that ended, begun between 0.")):
        expect_true(f"{options}", said in brick("report", *options, PATH, code=3)[1])


seed = int(os.environ.get("BRICK_SEED", random.randrange(1 << 30)))
print(f"BRICK_SEED={seed}")
chance = random.Random(seed)
for round in range(3):
    PATH = os.path.join(TMP, f"random{round}.pftrace")
    subprocess.run([PROGRAM, PATH, str(chance.randrange(1 << 30))], check=True, timeout=600)
    if not round:
        need_server(PATH)
    samples = read(PATH)
    steps = place(samples)
    for _ in range(6):
        f = Filter(chance, samples, steps)
        wanted = f.rows(samples)
        if f.options and not wanted:
            continue
        chosen = forms(f, wanted, steps)
        others(f, chosen, wanted)
        decide(f, chosen, wanted)
    tree(chance.randint(1, len(steps)), samples)
    trees(*sorted(chance.sample(range(1, len(steps) + 1), 2)), samples)
    of_all(len(steps))
    wrong(len(steps))
