# SPDX-License-Identifier: Apache-2.0
"""Programs that say what they do by ITT: three objects with a static part each, by a double of it, and two
libraries as Debian ships them: LLVM's OpenMP, whose own count of regions is the truth, and oneDNN."""
import json
import os
import subprocess

from libannotated import PROGRAM, Recorded, exported, objects, check_ranges
from librecord import *

need(PROGRAM)


def every_range(scratch):
    got = Recorded(scratch, "work", 300, objects("itt", "double", 3))
    truth = list(got.truth())
    same(len(truth), 3 * 300 * 8, "what the program said")
    for thread in {t[0] for t in truth}:  # each has one task more, which loads the collector
        first = got.lane(thread)[0]
        same(first["brick"], "outer task", "the first task")
        got.forget(first)
    check_ranges(got, truth)
    data = subprocess.check_output([BRICK, "export", "--format", "chrome", got.path])
    for name, least in (("queued", 900), ("total", 1800), ("size", 1800)):
        check(data.count(b'"%s"' % name.encode()) >= least, name, data.count(b'"%s"' % name.encode()))


def frames_as_steps(scratch):
    rules = scratch.file("frames.rules")
    with open(rules, "w", encoding="utf-8") as file:
        file.write("brick-rules 1\nstep Simulation decode\n")
    got = Recorded(scratch, "work", 50, objects("itt", "double", 3), options=("--rules", rules))
    same(got.report["steps"]["decode"]["count"], 150, "frames that the rules call steps")
    text = subprocess.check_output([BRICK, "report", got.path], text=True)
    check("150 steps" in text and "tok" not in text.replace(got.path, ""), "what has no tokens has none:", text)
    same(sum(s["brick"] == "Simulation" for s in got.asynchronous()), 150, "frames that were submitted")


def bricks_of(path):
    counts = {}
    for lane in exported(path)["lanes"]:
        for sample in lane["samples"]:
            counts[sample["brick"]] = counts.get(sample["brick"], 0) + 1
    return counts


def openmp(scratch):
    program = os.path.join(BUILD, "bin", "program-omp_work")
    if not os.path.exists(program):
        print("without LLVM's OpenMP runtime (Debian: libomp-dev)")
        return
    path = scratch.file("omp.pftrace")
    run = record(path, program, "500", env=dict(os.environ, OMP_NUM_THREADS="2"))
    regions = int(run.stdout.split()[0])
    same(regions, 500, "regions by the runtime's own tool interface")
    same(bricks_of(path).get("ParallelRegion"), regions, "regions by ITT")


def onednn(scratch):
    program = os.path.join(BUILD, "bin", "program-dnnl_work")
    if not os.path.exists(program):
        print("without oneDNN (Debian: libdnnl-dev)")
        return
    path = scratch.file("dnnl.pftrace")
    alone = subprocess.run([program, "200"], capture_output=True, timeout=600)
    run = record(path, program, "200", env=dict(os.environ, OMP_NUM_THREADS="1"))
    same(run.stdout, alone.stdout, "its output")
    same(bricks_of(path).get("matmul"), 200, "products")


with Scratch() as scratch:
    every_range(scratch)
    frames_as_steps(scratch)
    openmp(scratch)
    onednn(scratch)
