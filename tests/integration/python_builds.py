# SPDX-License-Identifier: Apache-2.0
"""Builds of Python: `brick record -p` gets into a static one by each of the functions by which it may, also where the
linker has put the others into their callers, and where BOLT has laid code into a second segment; into an interpreter of any
name, while it waits for a lock or a descriptor. A free-threaded one is told by name, and none of its functions is called."""
import os
import subprocess
import sys

from librecord import *
from librunning import Program, is_entered, record_while, until

SOURCE = os.environ["BRICK_SOURCE"]
PROGRAMS = os.path.join(SOURCE, "tests", "programs")
FUNCTIONS = ("PyEval_SaveThread", "PyEval_RestoreThread", "PyErr_CheckSignals", "Py_MakePendingCalls",
             "_PyEval_MakePendingCalls", "_Py_Dealloc")
LOADS = f"import ctypes, select, socket, sys, threading; ctypes.CDLL(sys.argv[1]); print('waits', flush=True); "
WAITS = {"a lock": "lock = threading.Lock(); lock.acquire(); lock.acquire()",
         "a descriptor": "pair = socket.socketpair(); select.select(pair, [], [])"}
REFUSED = "modules of PyTorch are not seen, nor steps: Python 3.14.7 is a free-threaded build, of which Brick records operators only"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def double(scratch, version, calls, rounds=0):
    path = scratch.file("python3.14")
    built = run("cc", "-O2", "-rdynamic", "-fcf-protection=none", f"-I{SOURCE}/src", f'-DVERSION="{version}"', f"-DCALLS={calls}",
                f"-DROUNDS={rounds}", "-Wl,--section-start=far=0x1000000", "-o", path, os.path.join(PROGRAMS, "python_double.c"), "-ldl")
    same(built.returncode, 0, built.stderr)
    return path


def enters(scratch, what, *command):
    """What the program said after it was entered and left."""
    with Program(scratch.path, command) as program:
        record_while(program.pid, scratch.file("run.pftrace"), lambda: until(lambda: is_entered(program.pid), f"not entered: {what}"))
        check(program.process.poll() is None, what)
        return program.lines()


with Scratch() as scratch:
    torch = scratch.file("libtorch_cpu.so")
    if not os.path.exists(os.path.join(BUILD, "lib", "libbrick-torch.so")) or \
            run("cc", "-DFAULT=0", "-shared", "-fPIC", "-o", torch, os.path.join(PROGRAMS, "torch_fake.c")).returncode:
        print("skipped: Brick was built without the attacher of PyTorch, or there is no compiler")
        sys.exit(77)
    for function in FUNCTIONS:
        enters(scratch, function, double(scratch, "3.14.7", function), torch)
    without_lock = "3.14.7 free-threading build"
    said = enters(scratch, "free-threaded", double(scratch, without_lock, FUNCTIONS[0]), torch)
    same(said, ["runs"], "calls of a free-threaded Python")
    path = scratch.file("free.pftrace")
    done = run(BRICK, "record", "-o", path, "--", double(scratch, without_lock, FUNCTIONS[0], 3), torch)
    same((done.returncode, done.stdout), (0, "runs\n"), "calls of a free-threaded Python")
    check(f"brick: {REFUSED}" in done.stderr, done.stderr)
    check("is a free-threaded build" in " ".join(run(BRICK, "report", "--trust", path).stdout.split()), "its note")
    same(run(sys.executable, "-m", "venv", "--copies", "--without-pip", scratch.file("copied")).returncode, 0, "a copied interpreter")
    for python in sys.executable, scratch.file("copied/bin/python"):
        for wait, line in WAITS.items():
            enters(scratch, f"{python} waits for {wait}", python, "-c", LOADS + line, torch)
