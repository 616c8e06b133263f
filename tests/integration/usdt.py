# SPDX-License-Identifier: Apache-2.0
"""The library's static probes (USDT): each is one instruction that does nothing, with its arguments where they
are; and, where this user may have the kernel count them, they are as many as bricks, ends and steps."""
import os
import re
import shutil
import struct
import subprocess

from librecord import *

LIBRARY = os.path.realpath(os.path.join(BUILD, "lib", "libbrick.so"))
NOP = 0x90


def probes():
    """(name, address, arguments) of all notes."""
    text = subprocess.run(["readelf", "-nW", LIBRARY], capture_output=True, text=True, check=True).stdout
    return [(name, int(at, 16), arguments.split()) for name, at, arguments in re.findall(
        r"Provider: brick\n\s+Name: (\w+)\n\s+Location: 0x(\w+),.*\n\s+Arguments: (.*)", text)]


def byte_at(data, address):
    """Of the file, by its program headers."""
    start, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for i in range(count):
        kind, _, offset, low, _, bytes_in_file = struct.unpack_from("<IIQQQQ", data, start + i * size)
        if kind == 1 and low <= address < low + bytes_in_file:
            return data[address - low + offset]
    return None


def notes():
    found = probes()
    if not found:
        print("skipped: the library was built without <sys/sdt.h> (Debian: systemtap-sdt-dev)")
        sys.exit(77)
    same({name for name, _, _ in found}, {"begin", "end", "step", "name"}, "names of probes")
    with open(LIBRARY, "rb") as file:
        data = file.read()
    for name, address, arguments in found:
        same(len(arguments), {"begin": 1, "end": 1, "step": 2, "name": 2}[name], f"arguments of {name}")
        if os.uname().machine == "x86_64":
            same(byte_at(data, address), NOP, f"what stands at {name}, {address:#x}")


def perf(*arguments):
    return subprocess.run(["perf", *arguments], capture_output=True, text=True)


def counted(scratch):
    """By perf and the kernel's uprobes. Events are the machine's: those of somebody else are left alone."""
    if not shutil.which("perf") or "sdt_brick" in perf("probe", "-l").stdout:
        print("without perf, or while others use these probes")
        return
    try:
        perf("buildid-cache", "--add", LIBRARY)
        for name in "begin", "end", "step":
            added = perf("probe", "-x", LIBRARY, "%sdt_brick:" + name)
            if added.returncode:
                print("probes cannot be counted here:", added.stderr.strip().splitlines()[-1:])
                return
        listed = perf("probe", "-l")
        events = sorted(set(re.findall(r"sdt_brick:\w+", listed.stdout + listed.stderr)))
        counts = scratch.file("counts")
        run = perf("stat", "-x,", "-o", counts, *("-e" + event for event in events), BRICK, "record", "-q", "-o",
                   scratch.file("run.pftrace"), "--", PRODUCER, "samples=300", "steps=20")
        same(run.returncode, 0, f"the program: {run.stderr}")
        totals = {}
        with open(counts, encoding="utf-8") as file:
            for value, event in re.findall(r"^(\d+),,sdt_brick:([a-z]+)", file.read(), re.M):
                totals[event] = totals.get(event, 0) + int(value)
        trace = Trace(scratch.file("run.pftrace"))
        same(totals["step"], 20, "steps")
        same(totals["begin"], totals["end"], "bricks that ended")
        # a session begins with pairs by which Brick measures what a pair costs
        check(totals["begin"] >= trace.begins - trace.counts.get("ProfilerReady", 0) >= 320, totals, trace.counts)
    finally:
        perf("probe", "-d", "sdt_brick:*")


notes()
with Scratch() as scratch:
    counted(scratch)
