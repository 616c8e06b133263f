# SPDX-License-Identifier: Apache-2.0
"""`brick record -p PID` records the NVTX ranges of a program that runs already, by objects that have not called NVTX, that
have, or that are loaded while it records, against NVTX's real headers where they are and a double of them; and again at
its next entry. Between entries no call comes to Brick, and the environment is never touched. Another tool keeps what it has."""
import ast
import json
import os
import subprocess
import sys
import tempfile

import libggml as g
from libannotated import exported, objects
from libcuda import DOUBLES
from librecord import check, same
from librunning import BRICK, FAR_AHEAD, Program, is_entered, record_while, report, state, until

PROGRAM = os.path.join(g.SOURCE, "tests", "programs", "nvtx_running.py")
TOOL = os.path.join(DOUBLES, "libnvtx-tool.so")
STORMS = int(os.environ.get("ATTACK_ROUNDS", "5"))
NO_TOOL = -2  # what a push says that nobody counts


class Target(Program):
    def __init__(self, folder, kind, **more):
        super().__init__(folder, [sys.executable, PROGRAM, g.libraries()], stdin=subprocess.PIPE, **more)
        self.files = objects("nvtx", kind, 5)

    def ask(self, question):
        count = len(self.lines())
        self.process.stdin.write(question.encode() + b"\n")
        self.process.stdin.flush()
        self.has_said(count + 1)
        return ast.literal_eval(self.lines()[count])

    def load(self, number):
        self.ask(f"load({number}, {self.files[number]!r})")

    def ranges(self, number, count=1):
        return self.ask(f"ranges({number}, {count})")

    def recorded(self, folder, act):
        """What act() does is recorded: how often each name is there, notes, and what the recorder said."""
        out = os.path.join(folder, "run.pftrace")

        def wait():
            until(lambda: is_entered(self.pid), "it is not entered")
            wanted = self.ask("graphs[0]") + 2
            act()
            until(lambda: self.ask("graphs[0]") >= wanted, "it computes nothing")
        said = record_while(self.pid, out, wait, FAR_AHEAD)
        check("attached to ggml" in said and "stay" not in said, said)
        run, counts = exported(out), {}
        for lane in run["lanes"]:
            for sample in lane["samples"]:
                counts[sample["brick"], lane["kind"]] = counts.get((sample["brick"], lane["kind"]), 0) + 1
        losses = json.loads(report(out, "--json"))["losses"]
        same([losses[kind] for kind in ("dropped", "clamped")], [0, 0], "losses")
        return counts, run["notes"], losses["unmatched"] + losses["open"]


def named(counts):
    return {f"{name} {kind}": n for (name, kind), n in counts.items() if name in ("outer", "inner", "handed over", "(unnamed)")}


def expected(count):
    return {"outer thread": count, "inner thread": count, "handed over queue": count}


def every_object(folder, kind):
    with Target(folder, kind) as program:
        for number in (0, 1, 2):
            program.load(number)
        same(program.ranges(1), [NO_TOOL], "what NVTX says without a tool")
        before, environment = state(program.pid), program.ask("environment()")

        def act():
            same(program.ranges(0, 100), [0, 1], "levels of an object that had not called NVTX")
            same(program.ranges(1, 10), [0, 1], "levels of an object that had")
            program.load(3)
            # it is found half a second later, or two if it is still relocated when it is found
            until(lambda: program.ask("objects[3].pop()") != NO_TOOL, "an object that was loaded meanwhile is not seen")
            same(program.ranges(3), [0, 1], "its levels")
            same(program.ask("environment()"), environment, "the environment while it is recorded")
        counts, notes, cut = program.recorded(folder, act)
        same((named(counts), cut), (expected(111), 0), "ranges")
        check(notes["nvtx.entered"].startswith("NVTX of 4 libraries is recorded; 2 of them were in use before"), notes)

        for number in (0, 1, 2, 3):  # 2 was initialised by us, and calls for the first time
            same(program.ranges(number), [NO_TOOL], f"object {number} after the recorder has left")
        same(state(program.pid), before, "the program")
        same(program.ask("environment()"), environment, "the environment afterwards")

        def again():
            for number in (0, 1, 2, 3):
                same(program.ranges(number, 5), [0, 1], f"object {number} at the next entry")
            same(program.ask("child(0)"), 1, "in a child that is forked meanwhile")
            program.ask("unload(3)")
        counts, notes, cut = program.recorded(folder, again)
        same((named(counts), cut), (expected(21), 0), "ranges of the next entry")
        check("nvtx.ranges" not in notes, notes)
        check(notes["nvtx.entered"].startswith("NVTX of 4 libraries is recorded; 4 of them"), notes)


def open_at_both_ends(folder, kind):
    """A range that is open when the recorder comes or goes is nobody's at the next entry."""
    with Target(folder, kind) as program:
        program.load(0)
        program.ask("objects[0].push(b'outer')")

        def act():
            same(program.ask("objects[0].pop()"), -1, "a pop of what began before")
            same(program.ask("[objects[0].push(b'outer'), objects[0].push(b'inner')]"), [0, 1], "levels")
            program.ask("globals().update(number=objects[0].start(b'handed over'))")
        counts, notes, cut = program.recorded(folder, act)
        same(cut, 2, "ranges that never ended")
        check("1 ended, and their begin was not seen" in notes["nvtx.ranges"], notes)
        check("1 had not ended" in notes["nvtx.ranges"], notes)

        def act_again():
            program.ask("objects[0].end(number)")
            same(program.ranges(0), [0, 1], "levels of the next entry")
            same(program.ask("objects[0].pop()"), -1, "a pop of what began before")
        counts, notes, cut = program.recorded(folder, act_again)
        same((named(counts), cut), (expected(1), 0), "ranges of the next entry")
        check("2 ended, and their begin was not seen" in notes["nvtx.ranges"], notes)


def killed(folder, kind):
    with Target(folder, kind) as program:
        program.load(0)
        before = state(program.pid)
        recorder = subprocess.Popen([BRICK, "record", "-q", "-p", str(program.pid), "-o", folder + "/killed.pftrace", "--no-history"])
        until(lambda: is_entered(program.pid), "it is not entered")
        same(program.ranges(0), [0, 1], "levels")
        recorder.kill()
        recorder.wait()
        until(lambda: state(program.pid) == before, "it is not left")
        same(program.ranges(0), [NO_TOOL], "after a recorder that was killed")


def another_tool(folder, kind):
    log = os.path.join(folder, "tool.log")
    with Target(folder, kind, env={**os.environ, "NVTX_INJECTION64_PATH": TOOL, "NVTX_TOOL_LOG": log, "NVTX_TOOL": "plain"}) as program:
        program.load(0)
        program.load(1)
        theirs = program.ranges(0)

        def act():
            same((program.ranges(0), program.ranges(1)), (theirs, theirs), "what the tool says")
        counts, notes, _ = program.recorded(folder, act)
        same((named(counts), notes["nvtx.entered"]), ({}, "NVTX of 0 libraries is recorded; 2 have another tool"), "ranges")
        same(program.ranges(1), theirs, "what the tool says afterwards")


def storm(folder, kind):
    """Entered and left while threads make ranges and change the environment without end."""
    with Target(folder, kind) as program:
        program.load(0)
        program.ask("storm(0, 4)")
        before = state(program.pid)

        def some_rounds():
            wanted = program.ask("storms[0].rounds") + 10
            until(lambda: program.ask("storms[0].rounds") > wanted, "the storm is over")
        for _ in range(STORMS):
            counts, _, cut = program.recorded(folder, some_rounds)
            check(counts.get(("QkvProjection", "thread"), 0) > 1000, counts)
            same(cut, 0, "ranges that never ended")
            same(state(program.pid), before, "the program")
        same(program.ask("storms[0].end()"), [], "changes of the environment that were lost")


g.libraries()
for kind in ["double"] + ["real"] * os.path.exists(objects("nvtx", "real", 1)[0]):
    with tempfile.TemporaryDirectory() as folder:
        every_object(folder, kind)
        open_at_both_ends(folder, kind)
        killed(folder, kind)
        another_tool(folder, kind)
        storm(folder, kind)
