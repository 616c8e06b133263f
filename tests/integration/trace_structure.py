# SPDX-License-Identifier: Apache-2.0
"""
Description: what Perfetto makes of a recording, without Perfetto: the trace that unit/trace_structure
leaves behind is sound, and each defect of former versions, planted into it or its Chrome export, is found.
(In recordings, waits of an embedding program are there once: integration/opencl_decoder; totals of
unfinished ones: unit/analysis_summary.)
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import time

import libtrace
from libsites import SITE
from libwire import fields, message, one, packets as packets_of

BUILD = os.environ["BRICK_BUILD"]
TENSOR, OPERATION = 1, 4  # in the extension of track events
SYNCHRONIZE = 31  # id of the brick


def encoded(number, wire, value):
    if wire == 1:
        return struct.pack("<B", number << 3 | 1) if number < 16 else \
            bytes([number << 3 & 0x7F | 0x81, number >> 4]) + struct.pack("<Q", value)
    return message(number, value if wire == 0 else bytes(value))


def edited(data, edit):
    """A message with each field that edit(number, value) leaves: None: gone."""
    out = b""
    for number, wire, value in fields(data):
        value = edit(number, value)
        if value is not None:
            out += encoded(number, wire, value)
    return out


def without(path):
    """An edit that takes a field out, however deep: (60, 15)."""
    def edit(number, value):
        if number != path[0]:
            return value
        return None if len(path) == 1 else edited(value, without(path[1:]))
    return edit


def one_time(packet):
    """All of the run's events at one time."""
    if one(one(packet, 11, b""), 23, b"").startswith(b"brick."):
        return edited(packet, lambda number, value: 5000000 if number == 8 else value)
    return packet


class Owners:
    """Every thread on the track of the lane's first one."""
    def __init__(self):
        self.first = {}

    def __call__(self, packet):
        sequence = one(packet, 10)
        defaults = one(packet, 59)
        if defaults is None or sequence < 2:
            return packet
        uuid = one(one(defaults, 11), 11)
        if self.first.setdefault(sequence, uuid) == uuid:
            return packet
        return edited(packet, lambda number, value: None if number in (59, 60) else value)


def late_counters(packet):
    """Counters where they were read: at the end of the step."""
    event = one(packet, 11, b"")
    if one(event, 9) == 4 and one(packet, 58) == 3:
        return edited(packet, lambda number, value: value + 190 if number == 8 else value)
    return packet


class Backwards:
    """Flows of waits on the wait's end instead of the instant before it."""
    def __init__(self):
        self.flow = None

    def __call__(self, packet):
        event = one(packet, 11, b"")
        ending = one(event, 48)
        if ending is not None and one(event, 9) == 3:
            self.flow = encoded(48, 1, ending)
            return edited(packet, lambda number, value: edited(value, without((48,)))
                          if number == 11 else value)
        if self.flow and one(event, 9) == 2:
            flow, self.flow = self.flow, None
            return edited(packet, lambda number, value: bytes(value) + flow
                          if number == 11 else value)
        return packet


def no_arguments(packet):
    """What a site is stands in its JSON alone."""
    def event(number, value):
        return edited(edited(value, without((TENSOR,))), without((OPERATION,))) \
            if number == SITE else value
    return edited(packet, lambda number, value: edited(value, event) if number == 11 else value)


def misread_boottime(packet):
    """As far off as one reading of two clocks was, if somebody came in between."""
    def clock(number, value):
        return value + 20000 if number == 2 else value

    def snapshot(number, value):
        return edited(value, clock) if number == 1 and one(value, 1) == 6 else value
    return edited(packet, lambda number, value: edited(value, snapshot) if number == 6 else value)


class EarlyDevice:
    """A device's clock that is placed so badly that a command begins before its launch."""
    def __init__(self):
        self.queue = None

    def __call__(self, packet):
        if one(one(packet, 60, b""), 15) and self.queue is None:
            self.queue = one(packet, 10)
        event = one(packet, 11, b"")
        if one(packet, 10) == self.queue and one(event, 9) == 1 and one(event, 47):
            self.queue = 0
            return edited(packet, lambda number, value: value - 100 if number == 8 else value)
        return packet


class OffCpu:
    """When any thread was off its CPU is on the track of the lane's last one."""
    def __init__(self):
        self.thread = None

    def __call__(self, packet):
        track = one(packet, 60, b"")
        if one(track, 4) is not None:
            self.thread = one(track, 1)
        if bytes(one(track, 2, b"")) != b"Off CPU":
            return packet
        return edited(packet, lambda number, value: value if number != 60 else
                      edited(value, lambda n, v: self.thread if n == 5 else v))


class LateDevice:
    """A device's clock that is placed so badly that a command ends behind who waited for it."""
    def __init__(self):
        self.queue = None

    def __call__(self, packet):
        if one(one(packet, 60, b""), 15) and self.queue is None:
            self.queue = one(packet, 10)
        if one(packet, 10) == self.queue and one(one(packet, 11, b""), 9) == 2:
            self.queue = 0
            return edited(packet, lambda number, value: value + 100 if number == 8 else value)
        return packet


def twice(packet):
    """What waits is told by the program and by who is attached to its driver."""
    event = one(packet, 11, b"")
    if one(event, 10) != 1 + SYNCHRONIZE or one(event, 9) != 1:
        return packet
    again = edited(packet, lambda number, value: 0 if number == 8 else value)
    end = edited(again, lambda number, value: edited(value, lambda n, v: 2 if n == 9 else v)
                 if number == 11 else value)
    return packet, again, end


def boottime_problems(checker):
    """Outside of what thousands of readings between two of the other clock leave possible."""
    read, mono, boot = time.clock_gettime_ns, time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME
    least, most = -1 << 62, 1 << 62
    for _ in range(20000):
        before, between, after = read(mono), read(boot), read(mono)
        least, most = max(least, between - after), min(most, between - before)
    return ["BOOTTIME is read %d ns off MONOTONIC, which are %d to %d apart" % (offset, least, most)
            for offset in checker.boot_offsets if not least <= offset <= most]


def chrome_problems(trace, checker):
    """Dependencies of commands are arrows there, too; all arrows lead forward; it says when it was."""
    problems, ends = [], {}
    if not str(trace.get("otherData", {}).get("start_unix_ns", "")).isdigit():
        problems.append("Chrome: without an absolute time")
    for e in trace["traceEvents"]:
        if e.get("ph") in "sf":
            ends.setdefault((e["name"], e["id"]), {})[e["ph"]] = e["ts"]
    after = sum(len(s.arguments.get("after") or []) for s in checker.slices if "kernel" in s.arguments)
    if sum(name == "after" for name, _ in ends) != after:
        problems.append("Chrome: not %d dependencies of commands" % after)
    problems += ["Chrome: arrow %r leads back" % (key,) for key, at in ends.items()
                 if len(at) != 2 or at["s"] > at["f"]]
    return problems


def without_dependencies(trace):
    trace["traceEvents"] = [e for e in trace["traceEvents"] if e.get("name") != "after"]


def without_time(trace):
    del trace["otherData"]["start_unix_ns"]


def waits_lead_back(trace):
    for e in trace["traceEvents"]:
        if e.get("ph") == "f" and e["name"] == "wait":
            e["ts"] -= 0.1


CHROME_DEFECTS = (
    ("Chrome: no dependencies", without_dependencies, "dependencies of commands"),
    ("Chrome: no absolute time", without_time, "absolute time"),
    ("Chrome: arrows of waits", waits_lead_back, "leads back"),
)


def taking_out(*path):
    return lambda packet: edited(packet, without(path))


DEFECTS = (
    ("run events at one time", one_time, "two events of the run at one time"),
    ("queues merge", taking_out(60, 15), "would be one"),
    ("a lane keeps its first thread", Owners(), "on the track of another"),
    ("arrows of waits", Backwards(), "leads back"),
    ("counters one step late", late_counters, "not at the begin of one"),
    ("counters without unit", taking_out(60, 8, 3), "is of unit"),
    ("no uuid", taking_out(89), "does not say its uuid"),
    ("no machine", taking_out(45), "does not say its machine"),
    ("no command line", taking_out(2, 1, 3), "without its command"),
    ("no start", taking_out(60, 3, 7), "without its start"),
    ("sites as JSON only", no_arguments, "has no arguments of its site"),
    ("a command before its launch", EarlyDevice(), "before its launch"),
    ("a command behind its wait", LateDevice(), "ends behind its wait"),
    ("waits twice", twice, "is there twice"),
    ("off the CPU on another's track", OffCpu(), "before it had its lane"),
    ("views of GPUs empty", lambda packet: b"" if one(packet, 53) is not None else packet, "no render stage"),
    ("BOOTTIME read once", misread_boottime, "off MONOTONIC"),
)


def planted_as(plant, packet):
    made = plant(packet)
    return made if isinstance(made, tuple) else (made,) if made else ()


def check_all(path):
    checker = libtrace.load(path)
    return checker, checker.problems + boottime_problems(checker)


def check_chrome(path, checker):
    exported = subprocess.run([os.path.join(BUILD, "bin", "brick"), "export", "--format", "chrome", path],
                              check=True, capture_output=True).stdout
    failed = 0
    for what, plant, sentence in (("as it is", None, None), *CHROME_DEFECTS):
        trace = json.loads(exported)
        if plant:
            plant(trace)
        problems = chrome_problems(trace, checker)
        if not any(sentence in problem for problem in problems) if plant else problems:
            print("%s: %r" % (what, problems))
            failed += 1
    return failed


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([os.path.join(BUILD, "bin", "test-trace_structure")], cwd=work, check=True,
                       env=dict(os.environ, BRICK_KEEP_TRACES=work),
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        path, planted = os.path.join(work, "0.pftrace"), os.path.join(work, "planted.pftrace")
        checker, problems = check_all(path)
        for problem in problems:
            print("as it is: " + problem)
            failed += 1
        failed += check_chrome(path, checker)
        with open(path, "rb") as f:
            packets = [packet for packet, _ in packets_of(f.read())]
        for what, plant, sentence in DEFECTS:
            with open(planted, "wb") as f:
                f.write(b"".join(message(1, made) for packet in packets for made in planted_as(plant, packet)))
            problems = check_all(planted)[1]
            if not any(sentence in problem for problem in problems):
                print("%s: not found, but %r" % (what, problems))
                failed += 1
    print("%d packets, %d planted defects, %d failures" % (len(packets), len(DEFECTS) + len(CHROME_DEFECTS), failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
