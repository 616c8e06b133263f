#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does `brick explain` name what is wrong with a PyTorch program? Each program of bench/torch_causes is a small training,
scoring or generation with one known fault planted into it, or none. planted.py was there when rules were written,
heldout.py was written after them. A fault that stands beside other lines costs the time that these lines took, as the
program measures it. For any other, the program and its counterpart without the fault run in turns, step by step, without
Brick (measured.py): it costs the part by which the steps of the first take longer, applied to the recorded run's own
time. Competitors cost what the thread waited for a CPU. A fault is found if the first finding has its rule in
most rounds: findings about the CPUs that other programs take are passed over, but where such a fault is planted. Its cost
is near if the median of rounds is within 30 %; growth of memory costs no time. Programs without a fault must have no finding
but those, in any run. The C library keeps memory that is freed: page faults of each step are a fault, too, and none that is
planted here.

usage: torch_causes.py [--programs planted|heldout|clean] [--only NAME,...] [--rounds N] [--beside N] [--python PATH] [--keep DIR]
       rounds: 3 where it is not said; beside: processes that take what CPU they get, meanwhile; PATH: an interpreter with
       PyTorch 2.x; DIR gets the recordings"""
import argparse
import ast
import atexit
import json
import os
import re
import statistics
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BRICK = os.path.join(ROOT, "build", "bin", "brick")
# what the machine does to the program, and no fault of it
CROWD = {"preempted-by-others", "preempted", "steal", "slow-steps", "slow-first-step", "memory-limit"}
WAITS = {"gil", "prefetcher"}  # they cost time without waiting for a CPU, and that is no CPU time of the thread
THREADS = {"threads", "omp"}  # they cost that time, and more waiting for a CPU
SUMMED = {"recompile", "batch_sizes"}  # a few steps have the whole cost
UNPRICED = {"grows", "history"}
CROWDED = {"same_cores"}  # what they cost is the time for which other programs have their CPU
ENVIRONMENT = {**os.environ, "MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
PHASES = {"decode": "decode", "gpt2": "decode", "score": "prefill", "gpt2_batch": "prefill", "long": "prefill"}
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--programs", default="planted", choices=("planted", "heldout", "clean"))
parser.add_argument("--only")
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--beside", type=int, default=0)
parser.add_argument("--python")
parser.add_argument("--keep")
given = parser.parse_args()
python = given.python or subprocess.run([os.path.join(ROOT, "examples", "demo", "torch.sh"), "torch-2.13.0"],
                                        capture_output=True, text=True, check=True).stdout.strip()
programs = os.path.join(ROOT, "bench", "torch_causes", given.programs + ".py")


def table(name):
    """A table of the programs' file, which this interpreter cannot import without PyTorch."""
    for node in ast.parse(open(programs, encoding="utf-8").read()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == name:
            return ast.literal_eval(node.value)
    raise SystemExit(f"{programs}: no table {name}")


def steps_of(name, output, said):
    """Times of a program's steps, and of its planted lines."""
    took = re.search(r"^took (.*)$", output, re.M)
    if not took:
        raise SystemExit(f"{name}: {said[-2000:]}")
    return json.loads(took[1])


def run(name, path):
    done = subprocess.run([BRICK, "record", "-o", path, "--", python, programs, name], env=ENVIRONMENT, capture_output=True,
                          text=True, timeout=600)
    return steps_of(name, done.stdout, done.stderr)


def matters(name, step):
    """Of a step's CPU time, wall time and wait for a CPU, the time that the fault lengthens."""
    cpu, wall, waited = step
    return wall if name in THREADS else wall - waited if name in WAITS else cpu


def total(name, times):
    return sum(times) if name in SUMMED else statistics.median(times) * len(times)


def part_of_fault(name, base):
    """The part of a program's time that its fault takes, by steps in turns with its counterpart's."""
    theirs, ours = os.pipe(), os.pipe()
    os.write(theirs[1], b".")
    pairs = []
    for program, turns in (name, (theirs[0], ours[1])), (base, (ours[0], theirs[1])):
        pairs.append(subprocess.Popen([python, programs, program], pass_fds=turns, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      text=True, env={**ENVIRONMENT, "TURNS": f"{turns[0]},{turns[1]}"}))
    for end in (*theirs, *ours):
        os.close(end)
    faulty, usual = ([matters(name, step) for step in steps_of(program, *pair.communicate(timeout=600))[0]]
                     for program, pair in zip((name, base), pairs))
    return total(name, [x - y for x, y in zip(faulty, usual)]) / total(name, faulty)


def findings(path, kind, passed_over):
    answer = json.loads(subprocess.run([BRICK, "explain", path, "--json"], capture_output=True, text=True, check=True).stdout)
    return [f for f in answer["findings"] if f["phase"] in (PHASES.get(kind, "other"), f["phase"] if kind == "any" else None)
            and f["rule"] not in passed_over]


def said(found):
    return f"{found['rule']}: {found['what'][:60]}" if found else "nothing"


def first_finding(name, kind, number):
    """The program's times, and its first finding, of one recorded run."""
    path = os.path.join(given.keep or scratch, f"{name}.{number}.pftrace")
    took = run(name, path)
    return took, next(iter(findings(path, kind, set() if name in CROWDED else CROWD)), None)


def true_cost(name, base, took):
    """Of a recorded run, in ns."""
    steps, planted = took
    if planted:
        return planted
    if name in CROWDED:
        return sum(step[2] for step in steps)
    return part_of_fault(name, base) * total(name, [matters(name, step) for step in steps])


causes, clean = table("CAUSES"), table("CLEAN")
chosen = given.only.split(",") if given.only else [*clean, *causes]
found = priced = planted = prices = false = judged = 0
for _ in range(given.beside):
    atexit.register(subprocess.Popen(["sh", "-c", "while :; do :; done"]).kill)
with tempfile.TemporaryDirectory() as scratch:
    for name, kind in clean.items():
        for number in range(given.rounds if name in chosen else 0):
            first = first_finding(name, kind, number)[1]
            judged += 1
            false += first is not None
            print(f"{name:14} {'false: ' + said(first) if first else 'nothing, as it should'}", flush=True)
    for name, (kind, base, words) in causes.items():
        if name not in chosen:
            continue
        ratios = []
        for number in range(given.rounds):
            took, first = first_finding(name, kind, number)
            cost = 0 if name in UNPRICED else true_cost(name, base, took)
            is_first = first is not None and re.search(words, first["rule"]) is not None
            if is_first:
                ratios.append(first["cost_ns"] / cost if cost > 0 else float("inf"))
            near = is_first and (name in UNPRICED or abs(ratios[-1] - 1) <= 0.3)
            print(f"{name:14} {'first' if is_first else 'missed':7} true cost {cost / 1e6:7.0f} ms, said "
                  f"{first['cost_ns'] / 1e6 if first else 0:7.0f} ms {'' if near else '*'}  {said(first)}", flush=True)
        planted += 1
        prices += name not in UNPRICED
        is_found = 2 * len(ratios) > given.rounds
        found += is_found
        priced += is_found and name not in UNPRICED and abs(statistics.median(ratios) - 1) <= 0.3
print(f"{planted} planted: true cause first {found}; its cost within 30 % {priced} of {prices}; "
      f"false findings in {judged} runs without a fault: {false}")
