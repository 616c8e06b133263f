# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of the program, of the recorder, of both: what was drained until then can be read, and
what the recorder had no time to remove is removed by the next one."""
import os
import signal
import subprocess
import time

from librecord import *

need(PRODUCER)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def started(scratch, name, *actions, **keywords):
    """A recording whose program has said "ready", and the pids of recorder and program."""
    out = scratch.file(name)
    run = start(out, PRODUCER, *actions, **keywords)
    same(run.stdout.readline(), b"ready\n", "first line")
    return out, run, children(run.pid)[0]


def program(scratch):
    out, run, pid = started(scratch, "program.pftrace", "samples=1000", "open", "nested=3", "open",
                            "say=ready", "sleep=3600000")
    os.kill(pid, signal.SIGKILL)
    same(run.wait(timeout=600), 128 + 9, "exit code")
    stderr = run.stderr.read()
    check(b"1 process ended by _exit() or a signal" in stderr, stderr)
    trace = Trace(out)
    same((trace.counts["RmsNorm"], trace.counts["GraphCompute"]), (1000, 3), "samples")
    # two that were open: one had others inside, the other only its frame tells of
    same(trace.counts["Sampling"], 2, "open bricks")
    same((trace.last("brick.process_end")["closed"], trace.last("brick.account")["exit_code"]),
         (0, 137), "closed, exit code")
    check(not trace.cut and trace.last("brick.end"), "the file is not whole")
    check("1 process ended by _exit() or a signal" in report(out, "--trust"), report(out, "--trust"))


def report(out, *options):
    done = subprocess.run([BRICK, "report", *options, out], check=True, capture_output=True, timeout=600)
    return " ".join(done.stdout.decode().split())


def first_step(scratch):
    """A program that ends in its first step: each brick of it has a row."""
    out, run, pid = started(scratch, "step.pftrace", "open-step", "samples=100", "nested=3", "say=ready", "sleep=3600000")
    os.kill(pid, signal.SIGKILL)
    same(run.wait(timeout=600), 128 + 9, "exit code")
    said = report(out)
    check("Steps none ended" in said, said)
    for brick in "RmsNorm", "LmHead", "GraphCompute":
        check(brick in said, brick, "is not in", said)


def between(scratch):
    """No brick was open, and all is there."""
    out, run, pid = started(scratch, "between.pftrace", "steps=3", "say=ready", "sleep=3600000")
    os.kill(pid, signal.SIGKILL)
    same(run.wait(timeout=600), 128 + 9, "exit code")
    said = report(out, "--trust")
    check("no records were lost" in said and "session.end: dead" in said, said)


def wait_for_samples(path, count, deadline_s=120):
    """Read PATH.part while it grows until it holds that many samples."""
    until = time.monotonic() + deadline_s
    trace = None
    while time.monotonic() < until:
        if os.path.exists(path + ".part"):
            trace = Trace(path + ".part")
            if trace.begins >= count:
                return trace
        time.sleep(0.1)
    check(False, "PATH.part holds", trace and trace.begins, "samples instead of", count)


def recorder(scratch):
    out, run, pid = started(scratch, "recorder.pftrace", "samples=1000", "say=ready", "copy", "samples=2000000",
                            "say=done", stdin=subprocess.PIPE)
    wait_for_samples(out, 1000)
    run.kill()
    run.stdin.close()  # which the program waits for
    # the program goes on, and ends as if nothing had happened
    same((run.stdout.readline(), run.wait()), (b"done\n", -9), "after the recorder's death")
    check(not os.path.exists(out), "a file stands under the final name")
    same(Trace(out + ".part").counts["RmsNorm"], 1000, "samples in PATH.part")
    record(scratch.file("next.pftrace"), "true")
    same(sessions(), set(), "session directories after the next recording")


def both(scratch):
    out, run, pid = started(scratch, "both.pftrace", "samples=1000", "say=ready",
                            "paced=1,100000000,20")
    wait_for_samples(out, 50000)
    run.kill()
    os.kill(pid, signal.SIGKILL)
    run.wait()
    trace = Trace(out + ".part")
    check(trace.counts["RmsNorm"] >= 50000, "samples in PATH.part", trace.counts)
    same(trace.negative, 0, "ends without a begin")
    record(scratch.file("next.pftrace"), "true")
    same(sessions(), set(), "session directories after the next recording")


def stale(scratch):
    """A living recorder's directory stays; so does what only looks like one."""
    out, run, pid = started(scratch, "stale.pftrace", "say=ready", "copy", "samples=5", stdin=subprocess.PIPE)
    imitation = tempfile.mkdtemp(prefix="brick-1-", suffix="-notes", dir="/dev/shm")
    os.chmod(imitation, 0o755)
    try:
        record(scratch.file("next.pftrace"), "true")
        check(os.path.isdir(imitation), "a directory that others may read was removed")
    finally:
        os.rmdir(imitation)
    run.stdin.close()
    same((run.wait(timeout=600), Trace(out).begins), (0, 5), "the first recording")


with Scratch() as scratch:
    for test in (program, first_step, between, recorder, both, stale):
        test(scratch)
    same(sessions(), set(), "session directories left")
