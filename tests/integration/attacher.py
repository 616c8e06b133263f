# SPDX-License-Identifier: Apache-2.0
"""An attacher written by docs/ATTACHERS.md (examples/attacher) gets into a program that knows nothing
of Brick; and of Brick's own, one that is missing keeps no other out."""
import json
import os
import shutil
import subprocess

from librecord import *

PLACE = os.path.join(BUILD, "examples", "attacher", "bin")
PROGRAM = os.path.join(PLACE, "toy-program")
RECORD = os.path.join(PLACE, "toy-record")
need(RECORD)


def run(*command, **more):
    return subprocess.run(command, capture_output=True, timeout=600, **more)


def example(scratch):
    out = scratch.file("toy.pftrace")
    alone, recorded = run(PROGRAM), run(RECORD, out, PROGRAM)
    if b"ASan runtime" in recorded.stderr:
        return  # built so that it tolerates no preloading
    same((recorded.returncode, recorded.stdout), (0, alone.stdout), "the program")
    for note in (b"attach=toy_decode\n", b"toy.version=1.0\n"):
        check(note in recorded.stderr, note, "is not among the notes", recorded.stderr)
    report = run(BRICK, "report", out, "--json").stdout
    steps = json.loads(report)["steps"]
    same((steps["prefill"]["count"], steps["prefill"]["tokens"]), (1, 8), "prompts and their tokens")
    same(steps["decode"]["count"], 20, "decoded tokens")


def missing(scratch):
    """Without libbrick-ggml.so OpenCL is attached to all the same."""
    others = os.path.join(BUILD, "lib", "libbrick-opencl.so")
    if not os.path.exists(others):
        return
    here = os.path.dirname(scratch.file("x"))
    for name in "bin", "lib":
        os.makedirs(os.path.join(here, name))
    brick = shutil.copy(BRICK, os.path.join(here, "bin"))
    for name in os.listdir(os.path.join(BUILD, "lib")):
        if name.startswith("libbrick.so"):
            shutil.copy(os.path.join(BUILD, "lib", name), os.path.join(here, "lib"))
    library = shutil.copy(others, os.path.join(here, "lib"))
    done = run(brick, "record", "-q", "-o", scratch.file("run.pftrace"), "--", "sh", "-c", "echo $LD_PRELOAD",
               env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"})
    if b"ASan runtime" not in done.stderr:
        same(done.stdout.decode().strip(), os.path.realpath(library), "what is preloaded")
    text = run(brick, "doctor").stdout.decode()
    check("libbrick-ggml.so was not found" in " ".join(text.split()), "doctor does not miss it:", text)


with Scratch() as scratch:
    example(scratch)
    missing(scratch)
