#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording a static llama.cpp costs, and whether its nodes take as long there as in shared libraries: runs
that take turns, CPU time on one thread, so that neighbours on the machine count less. Effects are Hodges-Lehmann shifts of log ratios,
with 95 % intervals.

Processes that take turns are as far apart as the machine is busy. So the cost is measured once more with two
copies of llama.cpp in one process (engine-pair): one library that is bound within itself, of the objects of
shared/, whose functions get jumps, and the same in a namespace that Brick does not reach.

  demo/engine-static.sh llama     once, a quarter of an hour on one CPU
  bench/static.py [ROUNDS]        20 by default

The last measurement of the cost is the finest: one process takes the jumps away and puts them back, in turns
(patched_toggle.cc). Nodes are of 1024 x 16 numbers, so that none is a few steps of the clock long.
"""
import argparse
import glob
import json
import math
import os
import subprocess
import sys
import tempfile

import distortion
from lib.paired import percent, shift

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(os.environ.get("BRICK_BUILD", os.path.join(TOP, "build")))
BRICK = os.path.join(BUILD, "bin", "brick")
STATIC = os.path.join(BUILD, "demo", "engine-static")
MODEL = os.path.join(BUILD, "demo", "model-f16.gguf")
TOKENS, GRAPHS = "100", "100"


def archives(of, *names):
    return [os.path.join(STATIC, of, "ggml", "src", f"lib{n}.a") for n in names or ("ggml", "ggml-cpu", "ggml-base")]


def include(*parts):
    return "-I" + os.path.join(STATIC, "source", *parts, "include")


def build(scratch):
    """llama.cpp in a program; ggml in a program; and the same objects of ggml as libraries."""
    def link(name, *inputs):
        name = os.path.join(scratch, name)
        subprocess.run(["c++", "-O2", *inputs, "-o", name, "-lpthread", "-lm", "-ldl"], check=True)
        return name

    programs = os.path.join(TOP, "tests", "programs")
    whole = [include(), include("ggml"), os.path.join(STATIC, "llama", "src", "libllama.a"), *archives("llama")]
    llama = link("llama", os.path.join(programs, "llama_static.cc"), *whole)
    toggle = link("toggle", os.path.join(TOP, "bench", "patched_toggle.cc"), *whole)
    ours = os.path.join(scratch, "main.o")
    subprocess.run(["cc", "-c", "-O2", "-DWIDTH=1024", "-DROWS=16", include("ggml"), os.path.join(programs, "ggml_static.c"), "-o", ours], check=True)
    inside = link("inside", ours, *archives("ggml"))
    libraries = []
    for archive in reversed(archives("ggml")):
        name = os.path.basename(archive).replace(".a", ".so")
        libraries.insert(0, link(name, "-shared", "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive",
                                 *libraries, "-Wl,-rpath," + scratch))
    return llama, toggle, inside, link("beside", ours, *libraries, "-Wl,-rpath," + scratch)


def record(scratch, *command):
    out = os.path.join(scratch, "run.pftrace")
    run = subprocess.run([BRICK, "record", "-q", "-o", out, "--", *command], capture_output=True, text=True, check=True)
    report = subprocess.run([BRICK, "report", out, "--json"], capture_output=True, text=True, check=True)
    return run, json.loads(report.stdout)


def tell(what, ratios):
    print(f"{what}: " + ", ".join(percent(x) for x in shift([math.log(r) for r in ratios])))


def cost(llama, scratch, rounds):
    ratios, report, tokens = [], None, None
    for i in range(rounds):
        command = [llama, MODEL, TOKENS, "1"]
        turns = {}
        for is_recorded in (0, 1, 1, 0) if i % 2 else (1, 0, 0, 1):
            if is_recorded:
                run, report = record(scratch, *command)
            else:
                run = subprocess.run(command, capture_output=True, text=True, check=True)
            turns.setdefault(is_recorded, []).append(float(run.stderr.split()[-1]))
            assert tokens in (None, run.stdout), "other tokens"
            tokens = run.stdout
        ratios.append(sum(turns[1]) / sum(turns[0]))
    tell("CPU time of a token, recorded over plain", ratios)
    print(f"coverage {report['coverage']['share']:.4f}; stated cost {report['distortion']['share']:.4f}")


def copies(scratch, rounds):
    """Of two copies in one process: the second's lower decile over the first's, recorded and not."""
    folder = os.path.join(scratch, "pair")
    os.mkdir(folder)
    objects = [o for part in ("src", "ggml/src")
               for o in glob.glob(os.path.join(STATIC, "shared", part, "CMakeFiles", "*.dir", "**", "*.o"), recursive=True)]
    subprocess.run(["c++", "-shared", "-Wl,-Bsymbolic-functions", *objects, "-o", os.path.join(folder, "libllama.so"),
                    "-lpthread", "-lm", "-ldl"], check=True)
    distortion.BUILD, distortion.MODELS["static"] = BUILD, (MODEL, 1, None)
    print(distortion.HEAD)
    for libraries in (folder, os.path.join(BUILD, "demo", "engine", "libs")):
        options = argparse.Namespace(rounds=rounds, seconds=60, attach="auto", libs=libraries, measured=False, keep=scratch)
        row = distortion.Row(options, "static", 1, "1 token")
        for _ in range(3):
            row.measure()
        distortion.show(row)
    print("The second row is that of the package's own libraries.")


def nodes(inside, beside, scratch, rounds):
    """Each brick's median in a run over its median in the run beside it."""
    ratios = {}
    for i in range(rounds):
        runs = [record(scratch, program, "1", GRAPHS)[1] for program in (inside, beside)[::1 if i % 2 else -1]]
        a, b = ({r["name"]: r for r in run["bricks"]} for run in runs[::1 if i % 2 else -1])
        for name in ("UpProjection", "Activation", "ResidualAdd", "RmsNorm", "RMS_NORM"):
            if name in a and name in b:
                ratios.setdefault(name, []).append(a[name]["p50_ns"] / b[name]["p50_ns"])
    for name, values in ratios.items():
        tell(f"median {name}, in a program over in a library", values)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as scratch:
        copies(scratch, 20 * rounds)
        llama, toggle, inside, beside = build(scratch)
        for _ in range(3):
            print("CPU time of a token without jumps, and more with them:", record(scratch, toggle, MODEL, "300")[0].stdout.strip())
        cost(llama, scratch, rounds)
        nodes(inside, beside, scratch, rounds)


main()
