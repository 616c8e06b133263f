#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is the late rank of a real job named, and its brick, and nobody in a job whose ranks are alike?

`bench/ranks.py [--rounds N] [--percent P] [--steps N] [--ms N] [--ranks 2,4] [--work cpu|ddp|fsdp]
[openmpi|mpich|torchrun ...]` runs jobs of tests/programs/mpi_late.c and torch_late.py in turns: alike, and with one rank
that takes P (5) percent longer in one brick of three, which takes MS (200). A job is recorded by one recorder before the
launcher, or by one for each rank. Work is sleep, as CPUs may be fewer than ranks: what is tried is what ranks tell of
each other, not how busy CPUs are. Prints how many answers were right, and each wrong one. It needs a quiet machine: a
rank whose sleep others' work makes longer is late, too. With --work cpu it is CPU time, of which Brick knows when others
had the CPU, so that a busy machine will do. With ddp and fsdp ranks of torchrun train a small model, of which one takes P
percent of a step longer in one module."""
import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(os.environ.get("BRICK_BUILD", "build"))
SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BRICK, PROGRAMS = os.path.join(BUILD, "bin", "brick"), os.path.join(SOURCE, "tests", "programs")


def launcher(name, folder):
    """A function from the number of ranks, the arguments, and what stands before the program, to a command; None: no such."""
    if name == "torchrun":
        found = subprocess.run([os.path.join(SOURCE, "examples", "demo", "torch.sh"), "torch-2.13.0"], capture_output=True, text=True, check=False)
        python = found.stdout.strip()
        return None if found.returncode else lambda ranks, arguments, before: [
            python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), "--no-python", *before, python,
            os.path.join(PROGRAMS, "torch_late.py"), *arguments]
    cc, mpirun, program = shutil.which("mpicc." + name), shutil.which("mpirun." + name), os.path.join(folder, "late." + name)
    if not cc or not mpirun:
        return None
    subprocess.run([cc, "-O1", "-o", program, os.path.join(PROGRAMS, "mpi_late.c"), "-I", os.path.join(SOURCE, "include"),
                    "-L", os.path.join(BUILD, "lib"), "-lbrick",
                    "-Wl,-rpath," + os.path.join(BUILD, "lib")], check=True)
    options = ["--allow-run-as-root", "--oversubscribe"] if name == "openmpi" else []
    return lambda ranks, arguments, before: [mpirun, *options, "-n", str(ranks), *before, program, *arguments]


def late_of(job, folder, is_each, ranks, arguments):
    """[(rank, brick)] that the report calls late."""
    path = os.path.join(folder, "job")
    shutil.rmtree(path, ignore_errors=True)
    os.mkdir(path)
    record = [BRICK, "record", "-q", "--no-history", "-o", os.path.join(path, "run.pftrace"), "--"]
    command = job(ranks, arguments, record) if is_each else [*record, *job(ranks, arguments, [])]
    subprocess.run(command, check=True, capture_output=True, timeout=300, env={**os.environ, "BRICK_DB": "none", "OMP_NUM_THREADS": "1"})
    report = json.loads(subprocess.run([BRICK, "report", "--json", path], check=True, capture_output=True).stdout)
    return [(row["rank"], row["longer_in"]) for row in report["ranks"] or [] if row["is_late"]], report


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--percent", type=float, default=5)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--ms", type=float, default=200)
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--work", choices=("sleep", "cpu", "ddp", "fsdp"), default="sleep")
    parser.add_argument("launchers", nargs="*", default=["openmpi", "mpich", "torchrun"])
    options = parser.parse_args()
    right, all_of = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        jobs = {name: launcher(name, folder) for name in options.launchers if name == "torchrun" or options.work in ("sleep", "cpu")}
        for i in range(options.rounds):
            for name, job in jobs.items():
                for ranks in map(int, options.ranks.split(",")) if job else ():
                    for slow in (-1, i % ranks):
                        is_each = i % 2 == 1
                        swaps = ["swap"] if name != "torchrun" and i % 4 > 1 else []
                        late, report = late_of(job, folder, is_each, ranks, [
                            str(options.steps), str(slow), str(options.percent), str(options.ms), options.work, *swaps])
                        key = name, ranks, "alike" if slow < 0 else f"one {options.percent:g} % slower"
                        brick = "UpProjection" if options.work in ("ddp", "fsdp") else "Solve"
                        good = late == ([] if slow < 0 else [(slow, brick)])
                        all_of[key] += 1
                        right[key] += good
                        if not good:
                            told = [(row["rank"], row["behind_ns"], row["longer_in"], row["longer_ns"]) for row in report["ranks"] or []]
                            print("wrong:", *key, "each" if is_each else "one recorder", *swaps, f"slow {slow}: {late}, {told}", flush=True)
            print(f"round {i + 1}:", {key: f"{right[key]}/{count}" for key, count in all_of.items()}, file=sys.stderr, flush=True)
    for key, count in all_of.items():
        print(f"{key[0]}, {key[1]} ranks, {key[2]}: {right[key]} of {count} right")


main()
