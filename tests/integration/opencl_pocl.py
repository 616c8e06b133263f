# SPDX-License-Identifier: Apache-2.0
"""
Description: programs on a real OpenCL driver (PoCL) under `brick record`. Times in the recording are
those that the program reads from its own events; commands of an in-order queue never overlap;
output and exit code are those without Brick, of programs not written here, too; a hundred thousand
kernels in a row take bounded memory, and none is lost without being counted.
"""
import json
import os
import re
import shutil
import signal
import sys
import time

from libgpus import check_gpus
from librecord import BRICK, BUILD, Scratch, check, same as equal, start
from libopencl import (PROGRAM, ROUNDING_NS, causal, commands, counted, losses, need_device, notes,
                       queues_come_and_go, record, report, run, same, unpacked)

VARIANTS = ([], ["--old"], ["--profiling"], ["--old", "--profiling", "--wrong"], ["--dlopen"],
            ["--out-of-order"], ["--out-of-order", "--profiling", "--threads", "2"], ["--wrong"],
            ["--threads", "4"], ["--no-events"], ["--early"], ["--no-finish"], ["--user-event"],
            ["--fork"], ["--dlopen", "--old", "--user-event", "--threads", "2"])
MANY = 100000
RUNS = 100
MOST_GROWTH_KB = 64 * 1024


# A single command, which blocks, from an interpreter that looks up its functions.
CTYPES = """
import ctypes
from ctypes import byref, c_int, c_size_t, c_ulong, c_void_p
cl = ctypes.CDLL("libOpenCL.so.1")
platform, device, error = c_void_p(), c_void_p(), c_int()
for name in "clCreateContext", "clCreateCommandQueue", "clCreateBuffer":
    getattr(cl, name).restype = c_void_p
cl.clGetPlatformIDs(1, byref(platform), None)
cl.clGetDeviceIDs(platform, c_ulong(0xffffffff), 1, byref(device), None)
context = c_void_p(cl.clCreateContext(None, 1, byref(device), None, None, byref(error)))
queue = c_void_p(cl.clCreateCommandQueue(context, device, c_ulong(0), byref(error)))
buffer = c_void_p(cl.clCreateBuffer(context, c_ulong(1), c_size_t(4096), None, byref(error)))
data = (ctypes.c_char * 4096)()
print(cl.clEnqueueReadBuffer(queue, buffer, 1, c_size_t(0), c_size_t(4096), data, 0, None, None))
"""


def near(what, got, want, slack=ROUNDING_NS):
    check(abs(got - want) <= slack, what, "is", got, "by the recording,", want, "by the event")


def overlaps(rows):
    end = 0
    for row in rows:
        check(row["begin_ns"] >= end, row["brick"], "begins at", row["begin_ns"],
              "before the one before has ended at", end)
        end = row["end_ns"]


def same_times(path):
    code, out, err = record(path, [PROGRAM, "--times"])
    check(code == 0, err)
    events = [json.loads(line) for line in out.splitlines()]
    rows = commands(path)
    equal([row["kernel"] for row in rows], [event["name"] for event in events], "commands")
    for row, event in zip(rows, events):
        length = event["end"] - event["begin"]
        near("length of " + event["name"], row["duration_ns"], length, ROUNDING_NS + length // 5000)  # correlation.c
    # places on the host's clock: as far from each other as on the device's, but for its drift
    first, last = (rows[0], events[0]), (rows[-1], events[-1])
    span = last[1]["begin"] - first[1]["begin"]
    near("distance of the commands", last[0]["begin_ns"] - first[0]["begin_ns"], span,
         ROUNDING_NS + span // 1000)
    within = re.search(r"within (\d+) ns", " ".join(notes(path, "opencl.clock")))
    check(within, "no residual is noted")
    for row, event in zip(rows, events):
        near("queued", row["begin_ns"] - row["queued_ns"], event["begin"] - event["queued"],
             ROUNDING_NS + span // 1000)
        near("submitted", row["begin_ns"] - row["submitted_ns"],
             event["begin"] - event["submitted"], ROUNDING_NS + span // 1000)
        check(row["launch_ns"] <= row["queued_ns"] + int(within[1]), "queued before it was launched", row, within[0])
    overlaps(rows)
    equal([row["bytes"] for row in rows if row["kernel"] == "ReadBuffer"], [4096], "bytes read")
    equal(losses(path), {}, "losses")
    equal(len(check_gpus(path)), 1, "GPUs")


def in_order_of_cause(path):
    """Kernels begin behind their launch and end before the wait for them has, in every run."""
    for _ in range(RUNS):
        code, _, err = record(path, [PROGRAM, "--no-events"])
        equal(code, 0, err)
        causal(path)


def shapes(path):
    """Global and local sizes, local memory as the driver tells it, and source of the kernels."""
    code, said, err = record(path, [PROGRAM])
    equal(code, 0, err)
    local = int(re.search(r"scale: (\d+) bytes of local memory", said)[1])
    code, out, _ = run([BRICK, "tree", path])
    equal(code, 0, "tree")
    scale = "scale  <<<(16,1,1),(64,1,1)>>> " + (f"smem={local}B" if local else "code=")
    for text in scale, "spin  <<<(512,1,1)>>>":
        check(text in out, "not in the tree:", text, "\n", out)
    check(b"get_local_id" in unpacked(path), "the source is not in the recording")


def same_output(path):
    for variant in VARIANTS:
        same(path, [PROGRAM, *variant])
        lost = losses(path)
        equal(lost, {}, f"losses of {variant}")
        if "--out-of-order" not in variant and "--threads" not in variant:
            overlaps(commands(path))


def more(path):
    """Every other kind of command, by a program that opens the library itself."""
    same(path, [os.path.join(BUILD, "bin", "program-opencl_more")])
    equal(losses(path), {}, "losses of other commands")
    bytes_of = {row["kernel"]: row["bytes"] for row in commands(path)}
    for name, bytes_moved in (("WriteBufferRect", 192), ("CopyBufferRect", 192),
                              ("ReadBufferRect", 192), ("FillImage", 4096), ("WriteImage", 512),
                              ("CopyImage", 512), ("CopyImageToBuffer", 4096),
                              ("CopyBufferToImage", 512), ("ReadImage", 4096), ("MapImage", 0),
                              ("Unmap", 0), ("SVMMemFill", 4096), ("SVMMemcpy", 200),
                              ("SVMMap", 4096), ("SVMUnmap", 0), ("SVMMigrateMem", 0),
                              ("SVMFree", 0), ("one", 0), ("two", 0), ("NativeKernel", 0),
                              ("MigrateMemObjects", 0), ("Marker", 0)):
        check(name in bytes_of, name, "is not in the recording:", bytes_of)
        equal(bytes_of[name], bytes_moved, f"bytes of {name}")


def single(path):
    same(path, [sys.executable, "-c", CTYPES])
    equal(counted(path), (1, 0), "a single command, that blocks")
    equal(commands(path)[0]["bytes"], 4096, "its bytes")


def waits(path):
    return sum(row["count"] for row in report(path)["bricks"] if row["name"] == "Synchronize")


def modes(path):
    """Immediate looks after every command; a queue that waits for its program is let alone."""
    counts = {}
    for mode in "deferred", "immediate":
        same(path, [PROGRAM], options=["--mode", mode])
        equal(counted(path), (15, 0), f"commands in mode {mode}")
        counts[mode] = waits(path)
        overlaps(commands(path))
    check(counts["immediate"] >= counts["deferred"] + 10, "synchronisations by mode:", counts)
    same(path, [PROGRAM, "--user-event"], options=["--mode", "immediate"])
    equal(counted(path), (17, 0), "commands behind a user event in mode immediate")
    code, out, _ = record(path, [PROGRAM], options=["--mode", "none"])
    equal((code, report(path)["bricks"]), (0, []), "with --mode none")


def killed(path):
    """What was recorded until then is there."""
    recorder = start(path, PROGRAM, "--kernels", str(100 * MANY), options=["-q"])
    part, deadline = path + ".part", time.monotonic() + 600
    while not os.path.exists(part) or run([BRICK, "report", part])[0] or not counted(part)[0]:
        check(time.monotonic() < deadline and recorder.poll() is None, "no command is recorded")
        time.sleep(0.1)
    with open(f"/proc/{recorder.pid}/task/{recorder.pid}/children") as file:
        program = file.read().split()
    os.kill(int(program[0]), signal.SIGKILL)
    recorder.communicate()
    equal(recorder.returncode, 128 + signal.SIGKILL, "exit code of a program that was killed")
    check(counted(path)[0] > 0, "nothing is there of a program that was killed")


def many(path):
    command = [PROGRAM, "--kernels", str(MANY)]
    code, out, grown = run(command)
    equal(code, 0, "exit code")
    recorded = record(path, command)
    equal(recorded[:2], (code, out), "exit code and output")
    growth = [int(re.search(r"grew by (\d+) kB", text)[1]) for text in (grown, recorded[2])]
    check(growth[1] <= growth[0] + MOST_GROWTH_KB, "memory grew by", growth, "kB")
    there, lost = counted(path)
    equal(there + lost, MANY, "kernels recorded, and counted as lost")
    print(f"{there} of {MANY} kernels recorded, the rest counted; grew by {growth} kB")


def numbers(text):
    """What varies from run to run."""
    return re.sub(r"[0-9.]+", "N", text)


def others(path):
    """Programs that Debian packages."""
    if shutil.which("clinfo"):
        same(path, ["clinfo"])
    if shutil.which("clpeak"):
        same(path, ["clpeak", "--kernel-latency"], mask=numbers)
        there, lost = counted(path)
        check(there > 1000 and not lost, "clpeak: recorded", there, "lost", lost)
    print("clinfo:", shutil.which("clinfo"), "clpeak:", shutil.which("clpeak"))


def main():
    need_device()
    with Scratch() as scratch:
        path = scratch.file("run.pftrace")
        same_times(path)
        in_order_of_cause(path)
        shapes(path)
        same_output(path)
        more(path)
        single(path)
        many(path)
        killed(path)
        others(path)
        modes(path)
        queues_come_and_go(path)


main()
