#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording a static llama.cpp costs, and whether its nodes take as long there as in shared libraries. Runs take turns,
and CPU time on one thread counts, so that neighbours on the machine matter less. Effects are Hodges-Lehmann shifts of log
ratios with 95 % intervals.

On a busy machine processes differ. So the cost is measured once more with two copies of llama.cpp in one process
(engine-pair): one library of the same objects that is bound within itself, whose functions get jumps, and the same in a
namespace that Brick does not reach.

  examples/demo/engine-static.sh llama     once, a quarter of an hour on one CPU
  bench/static.py [ROUNDS]        20 by default
  bench/static.py --nodes [ROUNDS] [WIDTHxROWS,TYPE|llama]...   nodes only; examples/demo/engine-static.sh will do for shapes

The last measurement is the finest: one process takes the jumps away and puts them back, in turns (patched_toggle.cc).

Nodes have 16384 numbers, so that none lasts only a few steps of the clock. Two differences between the programs are
removed. Code: both have the same object files, each at the beginning of a page. Data: with 512 x 32 and weights of 8 bits
all of it stays in the second-level cache. (With 1024 x 16 and f32, a product's weights drive out what the next sum adds,
so that sum depends on the process's pages and on other users of the third-level cache.) The programs also time the same
executions with a clock of their own, which shows the remaining difference (node_clock.c).
"""
import argparse
import csv
import glob
import io
import json
import math
import os
import re
import statistics
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
SHAPES = ("512x32,Q8_0", "1024x16,F32", "llama")
NODES = ("UpProjection", "RmsNorm", "Activation", "ResidualAdd")
CLOCKED = "-Wl," + ",".join("--wrap=ggml_compute_forward_" + name for name in ("rms_norm", "add", "unary"))


def archives(of, *names):
    return [os.path.join(STATIC, of, "ggml", "src", f"lib{n}.a") for n in names or ("ggml", "ggml-cpu", "ggml-base")]


def include(*parts):
    return "-I" + os.path.join(STATIC, "source", *parts, "include")


def shared_objects():
    return sorted(o for part in ("src", "ggml/src")
                  for o in glob.glob(os.path.join(STATIC, "shared", part, "CMakeFiles", "*.dir", "**", "*.o"), recursive=True))


def at_pages(scratch, objects):
    """Copy objects or archives so that their code begins at a page."""
    os.makedirs(os.path.join(scratch, "paged"), exist_ok=True)
    copies_of = [os.path.join(scratch, "paged", f"{i}-{os.path.basename(o)}") for i, o in enumerate(objects)]
    for original, paged in zip(objects, copies_of):
        subprocess.run(["objcopy", "--set-section-alignment", ".text=4096", original, paged], check=True)
    return copies_of


def link(scratch, name, *inputs):
    name = os.path.join(scratch, name)
    subprocess.run(["c++", "-O2", *inputs, "-o", name, "-lpthread", "-lm", "-ldl"], check=True)
    return name


def compile_c(scratch, name, source, *options):
    name = os.path.join(scratch, name)
    subprocess.run(["cc", "-c", "-O2", "-fPIC", "-D_GNU_SOURCE", include("ggml"), source, "-o", name, *options], check=True)
    return name


def build_llama(scratch):
    """llama.cpp in a program, and in one that takes jumps away."""
    whole = [include(), include("ggml"), os.path.join(STATIC, "llama", "src", "libllama.a"), *archives("llama")]
    return (link(scratch, "llama", os.path.join(TOP, "tests", "programs", "llama_static.cc"), *whole),
            link(scratch, "toggle", os.path.join(TOP, "bench", "patched_toggle.cc"), *whole))


def build_nodes(scratch, shape):
    """ggml in a program, and the same objects of ggml as libraries; code at the same places of pages in both."""
    width, rows, weights = re.split("[x,]", shape)
    ours = compile_c(scratch, "main.o", os.path.join(TOP, "tests", "programs", "ggml_static.c"), "-DWIDTH=" + width, "-DROWS=" + rows,
                     "-DWEIGHTS=" + weights)
    clock = [compile_c(scratch, "clock.o", os.path.join(TOP, "bench", "node_clock.c")), CLOCKED]
    paged = at_pages(scratch, archives("ggml"))
    inside = link(scratch, "inside", ours, *clock, *paged)
    libraries = []
    for archive in reversed(paged):
        libraries.insert(0, link(scratch, os.path.basename(archive).replace(".a", ".so"), "-shared",
                                 *(clock if "cpu" in archive else []), "-Wl,--whole-archive", archive,
                                 "-Wl,--no-whole-archive", *libraries, "-Wl,-rpath," + scratch))
    return {"inside": inside, "beside": link(scratch, "beside", ours, *libraries, "-Wl,-rpath," + scratch)}


def build_llama_twice(scratch):
    """llama.cpp in a program, and the same objects as a library."""
    objects = at_pages(scratch, shared_objects())
    main_object = os.path.join(scratch, "llama.o")
    subprocess.run(["c++", "-c", "-O2", include(), include("ggml"), os.path.join(TOP, "tests", "programs", "llama_static.cc"),
                    "-o", main_object], check=True)
    library = link(scratch, "liball.so", "-shared", *objects)
    return {"inside": link(scratch, "inside", main_object, *objects),
            "beside": link(scratch, "beside", main_object, library, "-Wl,-rpath," + scratch)}


def record(scratch, *command, look=("report", "--json")):
    out = os.path.join(scratch, "run.pftrace")
    run = subprocess.run([BRICK, "record", "-q", "--no-history", "-o", out, "--", *command], capture_output=True, text=True, check=True)
    return run, subprocess.run([BRICK, *look, out], capture_output=True, text=True, check=True).stdout


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
                report = json.loads(report)
            else:
                run = subprocess.run(command, capture_output=True, text=True, check=True)
            turns.setdefault(is_recorded, []).append(float(run.stderr.split()[-1]))
            assert tokens in (None, run.stdout), "other tokens"
            tokens = run.stdout
        ratios.append(sum(turns[1]) / sum(turns[0]))
    tell("CPU time of a token, recorded over plain", ratios)
    print(f"coverage {report['coverage']['share']:.4f}; stated cost {report['distortion']['share']:.4f}")


def copies(scratch, rounds):
    """Two copies in one process: the second's lower decile over the first's, recorded and not."""
    folder = os.path.join(scratch, "pair")
    os.mkdir(folder)
    subprocess.run(["c++", "-shared", "-Wl,-Bsymbolic-functions", *shared_objects(), "-o", os.path.join(folder, "libllama.so"),
                    "-lpthread", "-lm", "-ldl"], check=True)
    distortion.BUILD, distortion.MODELS["static"] = BUILD, (MODEL, 1, None)
    print(distortion.HEAD)
    for libraries in (folder, os.path.join(BUILD, "demo", "engine", "libs")):
        options = argparse.Namespace(rounds=rounds, seconds=60, attach="auto", libs=libraries, kinds="null,run", keep=scratch)
        row = distortion.Row(options, "static", 1, "1 token")
        for _ in range(3):
            row.measure()
        distortion.show(row)
    print("The second row is that of the package's own libraries.")


def middles(scratch, program, is_recorded):
    """For each node, in ns: by Brick, or None, and by the program's own clock."""
    command = [program, "1", GRAPHS]
    if not is_recorded:
        return None, own(subprocess.run(command, capture_output=True, text=True, check=True))
    took, run = durations(scratch, command)
    return {name: middle(took[name]) for name in NODES}, own(run)


def durations(scratch, command):
    run, text = record(scratch, *command, look=("export", "--format", "csv"))
    took = {}
    for row in csv.DictReader(io.StringIO(text)):
        if row["category"] != "Engine":
            took.setdefault(row["brick"].replace("RMS_NORM", "RmsNorm"), []).append(int(row["duration_ns"]))
    return took, run


def middle(values):
    """The mean of the middle half: a median is a whole step of the clock, which is 10 ns here."""
    return statistics.fmean(sorted(values)[len(values) // 4:len(values) - len(values) // 4])


def own(run):
    return {name: float(ns) for name, ns in re.findall(r"(\w+) ([0-9.]+)$", run.stderr, re.M)}


def nodes(scratch, shape, rounds):
    """Each node's time with ggml inside, over its time in the run beside it."""
    programs = build_nodes(scratch, shape)
    ratios = {(what, name): [] for what in ("Brick", "own", "own, not recorded") for name in NODES}
    took = {name: [] for name in NODES}
    for i in range(rounds):
        for is_recorded in (1, 0):
            runs = {p: middles(scratch, programs[p], is_recorded) for p in list(programs)[::1 if i % 2 else -1]}
            for name in NODES:
                if is_recorded:
                    took[name].append(runs["inside"][0][name])
                    ratios["Brick", name].append(math.log(runs["inside"][0][name] / runs["beside"][0][name]))
                ratios["own" if is_recorded else "own, not recorded", name].append(
                    math.log(runs["inside"][1][name] / runs["beside"][1][name]))
    print(f"{shape}, {rounds} pairs: ggml inside over beside, by Brick, by the programs' clock, by that in other runs, Brick's over the clock's")
    for name in NODES:
        low, middle, high = (sorted(took[name])[int(q * (rounds - 1))] / 1000 for q in (0.1, 0.5, 0.9))
        same = [a - b for a, b in zip(ratios["Brick", name], ratios["own", name])]
        print(f"| {name} | {middle:.2f} us ({low:.2f} to {high:.2f}) | " + " | ".join(
            "{} ({} to {})".format(*map(percent, shift(r))) for r in
            (ratios["Brick", name], ratios["own", name], ratios["own, not recorded", name], same)) + " |")


def llama_nodes(scratch, rounds):
    """The same for each brick of llama.cpp's tokens."""
    programs = build_llama_twice(scratch)
    ratios = {}
    for i in range(rounds):
        runs = {p: durations(scratch, [programs[p], MODEL, "60", "1"])[0] for p in list(programs)[::1 if i % 2 else -1]}
        for name in set(runs["inside"]) & set(runs["beside"]):
            a, b = (runs[p][name] for p in ("inside", "beside"))
            if min(len(a), len(b)) >= 50:
                ratios.setdefault(name, []).append((middle(a), math.log(middle(a) / middle(b))))
    print(f"llama.cpp, {rounds} pairs: inside over beside")
    for name, values in sorted(ratios.items(), key=lambda r: -max(r[1])[0]):
        us = statistics.median(v for v, _ in values) / 1000
        print(f"| {name} | {us:.2f} us | {{}} ({{}} to {{}}) |".format(*map(percent, shift([r for _, r in values]))))


def main():
    only_nodes = sys.argv[1:2] == ["--nodes"]
    arguments = sys.argv[2:] if only_nodes else sys.argv[1:]
    rounds = int(arguments[0]) if arguments else 20
    with tempfile.TemporaryDirectory() as scratch:
        if not only_nodes:
            copies(scratch, 20 * rounds)
            llama, toggle = build_llama(scratch)
            for _ in range(3):
                print("CPU time of a token without jumps, and more with them:", record(scratch, toggle, MODEL, "300")[0].stdout.strip())
            cost(llama, scratch, rounds)
        for shape in arguments[1:] or SHAPES:
            folder = tempfile.mkdtemp(dir=scratch)
            if shape == "llama":
                llama_nodes(folder, rounds)
            else:
                nodes(folder, shape, rounds)


main()
