# SPDX-License-Identifier: Apache-2.0
"""`brick record -p PID` enters and leaves a program that runs PyTorch in Python, again and again. Its results are the
same to the last bit. It keeps no descriptor, thread, word or changed object of ours, but for libraries. From the next
step on all is covered as with `record --`: modules, tokens, phases of training."""
import json
import os
import re
import signal
import struct
import subprocess
import tempfile

from libggml import SOURCE
from librecord import python_with_torch
from librunning import BRICK, WAIT_S, Program, is_recorded, ours, proc, report, rows_so_far, state, until, words

TIMES = int(os.environ.get("ATTACK_ROUNDS", "3"))
PROGRAM = os.path.join(SOURCE, "tests", "programs", "torch_running.py")
TORCH = r"/lib(torch|c10)\w*\.so$"
PAUSE, LEAVE_QUIET, PAUSED = 3, 5, 3  # of brick/abi/enter.h


def has_products(out):
    """It has operators: from them on all is recorded."""
    rows = rows_so_far(out)
    return rows and any(row["name"] == "MatrixProduct" for row in rows["bricks"])


def record_rounds(program, out, rounds, between=lambda: None):
    if os.path.exists(out):
        os.unlink(out)
    recorder = subprocess.Popen([BRICK, "record", "-p", str(program.pid), "-o", out, "--no-history"],
                                stderr=subprocess.PIPE, text=True)
    try:
        until(lambda: has_products(out) or recorder.poll() is not None, "nothing is recorded")
        program.says_more(rounds)
        between()
        program.says_more(1)
        recorder.send_signal(signal.SIGINT)
        _, stderr = recorder.communicate(timeout=WAIT_S)
    finally:
        recorder.kill()
    assert recorder.returncode == 0 and "attached to PyTorch 2.13" in stderr, (recorder.returncode, stderr)
    assert "stay" not in stderr, stderr
    return json.loads(report(out, "--json"))


def per_step(rows, phase):
    steps = rows["steps"][phase]["count"]
    part = rows["by_phase"][phase] if "by_phase" in rows else rows
    return {r["name"]: r["count"] / steps for r in part["bricks"]}, rows["steps"][phase].get("tokens", 0) / steps


def expect_whole_steps(rows, phase, said):
    """A call that was in flight has ended with all of its modules, and nothing has begun outside of calls."""
    if phase == "decode" and "never ended" not in said:
        ours, _ = per_step(rows, phase)
        assert ours["MatrixProduct"] == 7, (ours, rows["steps"][phase])


def same_as_from_the_start(folder, command, rows, phase, said):
    whole = os.path.join(folder, "whole.pftrace")
    subprocess.run([BRICK, "record", "-o", whole, "--no-history", "-q", "--", *command, "4"], stdout=subprocess.DEVNULL,
                   timeout=WAIT_S, check=True)
    (ours, tokens), (theirs, all_tokens) = per_step(rows, phase), per_step(json.loads(report(whole, "--json")), phase)
    assert 0.9 * all_tokens <= tokens <= 1.1 * all_tokens, (tokens, all_tokens)
    for brick, count in theirs.items():
        if count >= 0.9:
            assert abs(ours.get(brick, 0) - count) < 0.2 * count, (brick, ours, theirs)
    assert "torch.modules: not seen" not in said, said
    if phase == "decode":
        assert theirs["MatrixProduct"] == 7, theirs


def enter_and_leave(folder, python, kind, phase):
    command = [python, PROGRAM, kind]
    plain = subprocess.run([*command, "1"], capture_output=True, text=True, timeout=WAIT_S, check=True)
    out = os.path.join(folder, kind + ".pftrace")
    with Program(folder, command) as program:
        program.says_more(2)
        before, slots, mappings = state(program.pid), words(program.pid, TORCH), []
        for i in range(TIMES):
            rows = record_rounds(program, out, 6)
            after = state(program.pid)
            assert after == before, f"{i}: {before} became {after}"
            assert words(program.pid, TORCH) == slots, f"{i}: words have changed"
            mappings.append(ours(program.pid))
            # a step that the machine lets take longer than our patience never ends
            assert re.search("no records were lost|1 sample never ended", report(out, "--trust")), report(out, "--trust")
            assert mappings[i] == mappings[0], f"{i}: {mappings[0]} became {mappings[i]}"
            expect_whole_steps(rows, phase, report(out, "--trust"))
        program.says_more(2)
        assert set(program.lines()) == set(plain.stdout.splitlines()), "its results have changed"
    same_as_from_the_start(folder, command, rows, phase, report(out, "--trust"))


def killed_recorder(folder, python):
    """What a killed recorder leaves behind takes all away, and another one gets in."""
    with Program(folder, [python, PROGRAM, "generate"]) as program:
        program.says_more(2)
        before, slots = state(program.pid), words(program.pid, TORCH)
        for delay in (0, 1):
            recorder = subprocess.Popen([BRICK, "record", "-q", "-p", str(program.pid), "-o", folder + "/killed",
                                         "--no-history"], stderr=subprocess.DEVNULL)
            until(lambda: ".session" in proc(program.pid, "maps"), "it is not entered")
            program.says_more(delay)
            recorder.kill()
            recorder.wait()
            until(lambda: state(program.pid) == before and words(program.pid, TORCH) == slots, "it is not left")
        record_rounds(program, os.path.join(folder, "after.pftrace"), 1)
        assert len(set(program.lines())) == 1, "its results have changed"


def patched_method(folder, python):
    """A method that is hooked has been replaced by the program before, and is replaced again while a recorder is in: it
    stays the program's, and the next recorder sees each call once."""
    out = os.path.join(folder, "patched.pftrace")
    with Program(folder, [python, PROGRAM, "patched"]) as program:
        for between in (lambda: None, lambda: os.kill(program.pid, signal.SIGUSR1), lambda: None):
            counts = {r["name"]: r["count"] for r in record_rounds(program, out, 6, between)["bricks"]}
            # the first call and the last one may be seen in part
            assert abs(counts["ModelExecute"] - counts["Sampling"] / 16) <= 2, counts
            program.says_more(2)
        assert len(set(program.lines())) == 1, "its results have changed"


def opens_libraries(folder, python):
    """A thread is in the dynamic linker most of the time: neither it nor ours waits for the other forever."""
    with Program(folder, [python, PROGRAM, "opens"]) as program:
        for _ in range(TIMES):
            record_rounds(program, os.path.join(folder, "opens.pftrace"), 6)
        assert len(set(program.lines())) == 1, "its results have changed"


def never_ends(folder, python):
    """A scope goes on while the recorder leaves, and so do operators in it, for 3 s: all of them are recorded."""
    out = os.path.join(folder, "endless.pftrace")
    with Program(folder, [python, PROGRAM, "generate"]) as program:
        before = state(program.pid)

        def begin():
            until(lambda: is_recorded(out), "no step is recorded")
            os.kill(program.pid, signal.SIGUSR1)
            program.says_more(1)  # the scope begins behind this line at the latest, and before the next one
        record_rounds(program, out, 1, begin)
        said = report(out, "--trust")
        assert "dropped" not in said and "1 sample never ended" in said, said
        assert state(program.pid) == before, state(program.pid)
        assert len(set(program.lines())) == 1, "its results have changed"


def answers_late(folder, python, seconds, cut):
    """The interpreter's lock is kept while a recorder leaves, and a scope never ends: nobody says that no thread is in a
    hook before recording has paused. Or (cut) somebody cuts the page that both share meanwhile, which ends no process."""
    out = os.path.join(folder, "late.pftrace")
    with Program(folder, [python, PROGRAM, "generate", "0", str(seconds)]) as program:
        recorder = subprocess.Popen([BRICK, "record", "-p", str(program.pid), "-o", out, "--no-history"],
                                    stderr=subprocess.PIPE, text=True)
        try:
            until(lambda: ".session" in proc(program.pid, "maps") or recorder.poll() is not None, "it is not entered")
            until(lambda: is_recorded(out), "no step is recorded")
            os.kill(program.pid, signal.SIGUSR1)
            program.says_more(2)
            path = re.search(r"/\S*/enter\.\d+\.control", proc(program.pid, "maps")).group(0)
            os.kill(program.pid, signal.SIGUSR2)
            until(lambda: proc(program.pid, "syscall").split()[0] in ("35", "230"), "it does not sleep")
            recorder.send_signal(signal.SIGINT)
            with open(path, "rb", buffering=0) as page:
                def said():
                    page.seek(0)
                    words = struct.unpack("5I", page.read(20))
                    assert words[1] != LEAVE_QUIET or words[2] >= PAUSED, "it is told to forget before it has paused"
                    return words
                until(lambda: said()[1] == PAUSE, "it is not told to pause")
                if cut:
                    os.truncate(path, 0)
                else:
                    until(lambda: said()[1] != PAUSE, "it is not told to leave")
            _, stderr = recorder.communicate(timeout=WAIT_S)
        finally:
            recorder.kill()
        assert recorder.returncode == 0 and ("stay" in stderr) == cut, (recorder.returncode, stderr)
        program.says_more(2)
        assert len(set(program.lines())) == 1, "its results have changed"


class Gate:
    """Of a program that stops in each call of its model while the gate is shut."""

    def __init__(self, folder, python):
        self.path = os.path.join(folder, "gate")
        self.program = Program(folder, [python, PROGRAM, "gate", "0", self.path])

    def stands(self):
        until(lambda: os.path.exists(self.path + ".in") or self.program.process.poll() is not None, "nobody is at the gate")
        os.unlink(self.path + ".in")

    def shut(self):
        with open(self.path, "wb"):
            pass
        self.stands()

    def let_pass(self):
        """One call, and the next one stands at the gate."""
        with open(self.path + ".pass", "wb"):
            pass
        self.stands()

    def open(self):
        os.unlink(self.path)
        for ending in ".hooked", ".in":
            if os.path.exists(self.path + ending):
                os.unlink(self.path + ending)


def whole_calls_only(folder, python):
    """Recording begins in the middle of a call, three times: by entering, by `brick on`, and by `brick on` in a call that
    has begun as it was switched off. Seven products belong to each call: nothing is recorded of one whose begin is not."""
    out = os.path.join(folder, "whole_calls.pftrace")

    def switch(which):
        subprocess.run([BRICK, which, str(program.pid)], check=True, stderr=subprocess.DEVNULL)
    for idle in (False, True):
        gate = Gate(folder, python)
        with gate.program as program:
            gate.shut()
            recorder = subprocess.Popen([BRICK, "record", "-p", str(program.pid), "-o", out, "--no-history",
                                         *(["--idle"] if idle else [])], stderr=subprocess.PIPE, text=True)
            try:
                while ".session" not in proc(program.pid, "maps"):
                    assert recorder.poll() is None, recorder.communicate()
                    gate.let_pass()
                until(lambda: os.path.exists(gate.path + ".hooked"), "it is not hooked")
                if idle:
                    gate.let_pass()
                    switch("on")
                    gate.open()
                    program.says_more(2)
                    gate.shut()
                    switch("off")
                    gate.let_pass()
                    switch("on")
                gate.open()
                program.says_more(2)
                recorder.send_signal(signal.SIGINT)
                _, stderr = recorder.communicate(timeout=WAIT_S)
            finally:
                recorder.kill()
            assert recorder.returncode == 0, stderr
            assert len(set(program.lines())) == 1, "its results have changed"
        rows = json.loads(report(out, "--json"))
        steps = sum(rows["steps"][phase]["count"] for phase in ("prefill", "decode") if phase in rows["steps"])
        counts = {r["name"]: r["count"] for r in rows["bricks"]}
        assert steps > 16 and counts["MatrixProduct"] == 7 * steps, (idle, steps, counts)


def a_call_goes_on(folder, python):
    """No call begins while it is recorded, and nothing is recorded of the one that goes on: that is said."""
    out = os.path.join(folder, "goes_on.pftrace")
    gate = Gate(folder, python)
    with gate.program as program:
        gate.shut()
        recorder = subprocess.Popen([BRICK, "record", "-p", str(program.pid), "-o", out, "--no-history"],
                                    stderr=subprocess.PIPE, text=True)
        try:
            while ".session" not in proc(program.pid, "maps"):
                assert recorder.poll() is None, recorder.communicate()
                gate.let_pass()
            until(lambda: os.path.exists(gate.path + ".hooked"), "it is not hooked")
            recorder.send_signal(signal.SIGINT)
            _, stderr = recorder.communicate(timeout=WAIT_S)
        finally:
            recorder.kill()
        gate.open()
        program.says_more(1)
        assert len(set(program.lines())) == 1, "its results have changed"
    assert recorder.returncode == 0 and "no step began in that time" in stderr, stderr


def main():
    python = python_with_torch()
    with tempfile.TemporaryDirectory() as folder:
        enter_and_leave(folder, python, "generate", "decode")
        enter_and_leave(folder, python, "train", "other")
        killed_recorder(folder, python)
        patched_method(folder, python)
        opens_libraries(folder, python)
        never_ends(folder, python)
        a_call_goes_on(folder, python)
        whole_calls_only(folder, python)
        answers_late(folder, python, 6, False)
        answers_late(folder, python, 2, True)


if __name__ == "__main__":
    main()
