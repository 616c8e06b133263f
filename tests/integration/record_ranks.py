# SPDX-License-Identifier: Apache-2.0
"""Ranks that a launcher starts: each `brick record` writes a file of its own, and a recording knows rank, world and
launcher of each process, from the environment of Open MPI, PMI, Slurm and torchrun alone. Recordings of a program of Open MPI are one job."""
import json
import os
import shutil
import subprocess

from librecord import *

need(PRODUCER)
LAUNCHERS = {
    "Open MPI": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    "PMI": ("PMI_RANK", "PMI_SIZE"),
    "Slurm": ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    "torchrun": ("RANK", "WORLD_SIZE"),
}


def launch(directory, variables, *options):
    """Returns what the recorder said, and the names of its files."""
    known = {v for pair in LAUNCHERS.values() for v in pair}
    env = {k: v for k, v in os.environ.items() if k not in known} | variables
    done = subprocess.run([BRICK, "record", *options, "--", PRODUCER, "samples=3"], env=env, cwd=directory, capture_output=True,
                          text=True, timeout=600)
    return done, sorted(os.listdir(directory))


def told(path):
    trace = Trace(path)
    process = trace.last("brick.process")
    said = sorted({line for e in trace.all("brick.notes") for line in e["text"].split("\n") if line.startswith("launcher=")})
    return process["rank"], process["world"], said


for title, (rank, world) in LAUNCHERS.items():
    with Scratch() as scratch:
        same(launch(scratch.path, {rank: "3", world: "8"})[1], ["run.3.pftrace"], title)
        same(told(scratch.file("run.3.pftrace")), (3, 8, ["launcher=" + title]), title)
with Scratch() as scratch:
    env = {"PMI_RANK": "1", "PMI_SIZE": "2"}
    done, files = launch(scratch.path, env, "-o", "a.b/none")
    check("a.b/none.1: " in done.stderr and not files, "a directory that is not there:", done.stderr)
    same(launch(scratch.path, env, "-o", "x%r.pftrace")[1], ["x1.pftrace"], "%r")
    same(launch(scratch.path, env, "-o", ".job")[1], [".job.1", "x1.pftrace"], "no ending")
    os.remove(scratch.file(".job.1"))
    os.remove(scratch.file("x1.pftrace"))
    # one rank alone, the script of sbatch, and a rank that is none: no job
    for env in ({"PMI_RANK": "0", "PMI_SIZE": "1"}, {"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, {"RANK": "4", "WORLD_SIZE": "4"},
                {"RANK": "two", "WORLD_SIZE": "4"}):
        same(launch(scratch.path, env)[1], ["run.pftrace"], env)
        os.remove(scratch.file("run.pftrace"))
    done, files = launch(scratch.path, {}, "-o", "x%r.pftrace")
    same((done.returncode, files), (2, []), "%r without a launcher")
    check("%r is the rank" in done.stderr, done.stderr)
    # one recorder before the launcher: one file
    script = f"PMI_RANK=0 PMI_SIZE=2 {PRODUCER} samples=1 & PMI_RANK=1 PMI_SIZE=2 {PRODUCER} samples=1; wait"
    run = subprocess.run([BRICK, "record", "-o", scratch.file("all.pftrace"), "--", "sh", "-c", script], capture_output=True, text=True)
    same(run.returncode, 0, run.stderr)
    trace = Trace(scratch.file("all.pftrace"))
    same(sorted({(e["rank"], e["world"]) for e in trace.all("brick.process") if e["world"] > 0}), [(0, 2), (1, 2)], "ranks")
if shutil.which("mpirun.openmpi"):
    with Scratch() as scratch:
        run = subprocess.run(["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2", BRICK, "record", "-q", "--", PRODUCER,
                              "samples=3"], cwd=scratch.path, capture_output=True, text=True, timeout=600)
        same(run.returncode, 0, run.stderr)
        same(sorted(os.listdir(scratch.path)), ["run.0.pftrace", "run.1.pftrace"], "mpirun's ranks")
        same(told(scratch.file("run.1.pftrace")), (1, 2, ["launcher=Open MPI"]), "mpirun's second rank")


def job(scratch, ranks, work, *arguments):
    """Each rank of a program of Open MPI is recorded by a recorder of its own: the job's report, and one recorder's of all."""
    launch_all = [shutil.which("mpirun.openmpi"), "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]
    command = [*launch_all, BRICK, "record", "-q", "-o", scratch.file("job/run.pftrace"), "--", work, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    same(done.returncode, 0, done.stderr)
    report = subprocess.run([BRICK, "report", "--json", scratch.file("job")], capture_output=True, text=True, timeout=600)
    same(report.returncode, 0, report.stderr)
    said = sorted(map(json.loads, done.stdout.splitlines()), key=lambda line: line["rank"])
    return said, json.loads(report.stdout)


compiler = shutil.which("mpicc.openmpi")
if compiler and shutil.which("mpirun.openmpi") and os.path.exists(os.path.join(BUILD, "lib", "libbrick-mpi.so")):
    with Scratch() as scratch:
        work = scratch.file("mpi_work")
        source = os.path.join(os.environ["BRICK_SOURCE"], "tests", "programs", "mpi_work.c")
        subprocess.run([compiler, "-O1", "-o", work, source], check=True, timeout=600)
        for ranks, slow in (2, 1), (4, 2):
            os.mkdir(scratch.file("job"))
            said, report = job(scratch, ranks, work, "late", str(slow), "20", scratch.file(f"come.{ranks}"))
            rows = report["ranks"]
            same([(row["rank"], row["world"], row["collectives"]) for row in rows],
                 [(rank, ranks, told["collectives"]) for rank, told in enumerate(said)], "ranks")
            # of one machine: one clock, as all that they did together agrees with it
            same({(row["clock"], row["clock_bound_ns"]) for row in rows}, {(0, 0.0)}, "clocks")
            same(report["disordered"], 0, report)
            same(max(rows, key=lambda row: row["caused_ns"])["rank"], slow, rows)
            shutil.rmtree(scratch.file("job"))
        # who paired messages to anybody by their numbers would find some that came before they were sent
        os.mkdir(scratch.file("job"))
        said, report = job(scratch, 2, work, "any")
        same({(row["clock"], row["clock_bound_ns"]) for row in report["ranks"]}, {(0, 0.0)}, "clocks of messages to anybody")
