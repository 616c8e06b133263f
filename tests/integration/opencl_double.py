# SPDX-License-Identifier: Apache-2.0
"""
Description: an OpenCL library that fails calls on purpose, whose clock is not the host's, and that
counts its objects. Under `brick record` the program sees the same failures and nothing else; all
events are given back; what could not be timed is counted; the clock is found, with its residual.
"""
import json
import re
import statistics

from librecord import Scratch, check, same as equal
from libopencl import (DOUBLE, EMBED, FORKS, PROGRAM, causal, commands, counted, losses, need_build, notes,
                       queues_come_and_go, record, report, run, same, waits)

VARIANTS = ([], ["--profiling"], ["--no-events"], ["--dlopen"], ["--out-of-order"],
            ["--user-event", "--old"], ["--early"], ["--no-finish"], ["--wrong"])
FAULTS = "queue-profiling", "event", "third", "times", "execution", "retain"
COMMANDS = 15  # of the program without options


def environment(scratch, faults="", **more):
    return dict({"LD_LIBRARY_PATH": DOUBLE, "DOUBLE_FAULTS": faults,
                 "DOUBLE_REPORT": scratch.file("alive.json")}, **more)


def alive(scratch):
    with open(scratch.file("alive.json")) as file:
        return json.load(file)


def without_queries(counts):
    return {key: value for key, value in counts.items() if key != "event_queries"}


def fault(scratch, path, faults, variant):
    env = environment(scratch, faults)
    run([PROGRAM, *variant], env)
    plain = alive(scratch)
    same(path, [PROGRAM, *variant], env)
    recorded = alive(scratch)
    if "execution" not in faults or "--no-events" in variant:
        equal(without_queries(recorded), without_queries(plain), f"objects, {faults} {variant}")


def clock(scratch, path):
    """Its timer, or the times that commands were queued at: the same lengths, placed as well. A command that begins before its
    predecessor's end is cut there: by no more than both may be off, and the note says how far each may be."""
    for env, how in (({"DOUBLE_TIMER": "1", "DOUBLE_DRIFT_PPM": "200"}, "its timer"),
                     ({"DOUBLE_DRIFT_PPM": "200"}, "queued")):
        run_env = environment(scratch, **env)
        recorded = same(path, [PROGRAM, "--times"], run_env, mask=lambda text: "")
        events = [json.loads(line) for line in recorded[1].splitlines()]
        rows = commands(path)
        equal(len(rows), COMMANDS, f"commands, by {how}")
        note = " ".join(notes(path, "opencl.clock"))
        within = re.search(r"within (\d+) ns", note)
        check(how in note and within, "the clock's note:", note)
        off = [row["duration_ns"] - (event["end"] - event["begin"]) for row, event in zip(rows, events)]
        for row, event, ns in zip(rows, events, off):
            check(-2 * int(within[1]) - 3 <= ns <= 3, "length of", event["name"], row["duration_ns"], event, note)
        check(statistics.median(map(abs, off)) <= 3, "lengths are off by", off)
        for row in rows:
            check(row["launch_ns"] <= row["queued_ns"] + int(within[1]), "queued before its launch", row, note)
        equal(losses(path), {}, f"losses, by {how}")


def poor_readings(scratch, path):
    """A thread off the CPU spoils the first reading: all commands are placed alike all the same."""
    for env in {}, {"DOUBLE_TIMER": "1"}:
        env = environment(scratch, DOUBLE_STALL_US="3000", **env)
        done = record(path, [PROGRAM, "--times"], env)
        rows, events = commands(path), [json.loads(line) for line in done[1].splitlines()]
        equal(len(rows), COMMANDS, "commands behind a poor reading")
        note = " ".join(notes(path, "opencl.clock"))
        within = int(re.search(r"within (\d+) ns", note)[1])
        offsets = [row["begin_ns"] - event["begin"] for row, event in zip(rows, events)]
        check(max(offsets) - min(offsets) <= 2 * within, "placed at offsets from",
              min(offsets), "to", max(offsets), "though", note)
        check(within < 3000000, "a poor reading counts:", note)
        causal(path)


def wrong_timer(scratch, path):
    """A timer that is not quite the clock of events: commands lie between the call and the end of the wait, and the
    residual says how far they were moved, or cut behind one that was placed too late."""
    for off in "600", "-600":
        env = environment(scratch, DOUBLE_TIMER="1", DOUBLE_TIMER_OFF_US=off)
        done = record(path, [PROGRAM, "--times"], env)
        rows, events = commands(path), [json.loads(line) for line in done[1].splitlines()]
        equal(len(rows), COMMANDS, f"commands by a timer that is off by {off} us")
        causal(path)
        within = int(re.search(r"within (\d+) ns", " ".join(notes(path, "opencl.clock")))[1])
        for row, event in zip(rows, events):
            check(-2 * within - 3 <= row["duration_ns"] - (event["end"] - event["begin"]) <= 3, "a timer off by", off,
                  "us: length of", event["name"], row["duration_ns"], event)
        check(within >= 100000, "a timer off by", off, "us: said to be within", within, "ns")


def account(scratch, path):
    """What is not timed is counted, and the recording says why."""
    for faults, variant, there, lost, why in (
            ("times", [], 0, COMMANDS, None),
            ("event", ["--no-events"], 0, COMMANDS, "refused with an event"),
            ("execution", ["--no-events"], 12, 3, None),
            ("retain", [], 0, COMMANDS, None),
            ("queue-profiling", [], 0, COMMANDS, "could not be created with profiling")):
        same(path, [PROGRAM, *variant], environment(scratch, faults))
        equal(counted(path), (there, lost), f"commands recorded and counted, {faults}")
        if why:
            check(why in " ".join(notes(path, "opencl.trouble")), "no note says", why)


def long_kernels(scratch, path):
    """A kernel that runs for long is waited for, where each command is."""
    same(path, [PROGRAM, "--kernels", "2"], environment(scratch, DOUBLE_KERNEL_MS="400"), options=["--mode", "immediate"])
    equal(notes(path, "opencl.trouble"), [], "trouble")
    check(max(end - begin for begin, end in waits(path)) > 300e6, "the kernels are not waited for:", waits(path))


def forks(scratch, path):
    """A thread that forks while another is about to note something: neither waits for the other."""
    env = environment(scratch, LD_PRELOAD=FORKS)
    code, _, errors = record(path, [PROGRAM], env)
    check(code == 0 and "forks in brick_note" in errors, "forked meanwhile:", code, errors)


def first_wait(scratch, path):
    """The first that a thread does is a wait, which lasts until another thread has begun and ended."""
    same(path, [PROGRAM, "--waits"], environment(scratch))
    begins = [row["launch_ns"] for row in commands(path)]
    check(any(begin < min(begins) and end > max(begins) for begin, end in waits(path)), "the wait:", waits(path), begins)
    equal(losses(path), {}, "losses behind a wait")


def told_once(scratch, path):
    """What the program records of itself, and nothing else and no longer, is left to it."""
    for what, bricks in ("timer", 0), ("closed", 1):
        done = record(path, [EMBED, what], environment(scratch, DOUBLE_TIMER="1"))
        equal(done[0], 0, f"exit code of {what}: {done[1]} {done[2]}")
        counts = {row["name"]: row["count"] for row in report(path, "--by", "kernel")["kernels"]}
        equal((counts.get("one", 0), counts.get("RmsNorm", 0)), (10, bricks), f"{what}: {counts}")
        equal(counts.get("Marker", 0), 0, f"markers of the backend, {what}: {counts}")
        equal(losses(path), {}, f"losses, {what}")


def main():
    need_build()
    with Scratch() as scratch:
        path = scratch.file("run.pftrace")
        for faults in ("", *FAULTS):
            for variant in VARIANTS:
                fault(scratch, path, faults, variant)
        clock(scratch, path)
        poor_readings(scratch, path)
        wrong_timer(scratch, path)
        account(scratch, path)
        long_kernels(scratch, path)
        forks(scratch, path)
        first_wait(scratch, path)
        queues_come_and_go(path, environment(scratch, DOUBLE_TIMER="1"))
        told_once(scratch, path)


main()
