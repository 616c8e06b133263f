# SPDX-License-Identifier: Apache-2.0
"""program-off_cpu beside a program that wants the same CPU; shared by the tests of off-CPU times."""
import json
import os
import subprocess
import sys

BUILD = os.environ["BRICK_BUILD"]
BRICK = os.path.join(BUILD, "bin", "brick")
PROGRAM = os.path.join(BUILD, "bin", "program-off_cpu")
TICK_NS = 1e9 / os.sysconf("SC_CLK_TCK")


def check(condition, what):
    if not condition:
        sys.exit("FAILED: " + what)


def report(path, *options):
    out = subprocess.run([BRICK, "report", path, *options], check=True, capture_output=True,
                         text=True)
    return out.stdout


def spin_beside(cpu):
    def pin():
        os.sched_setaffinity(0, {cpu})
    return subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=pin)


def cpu_ns(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_NS


def disturbed(command, cpu):
    competitor = spin_beside(cpu)
    try:
        before = cpu_ns(competitor.pid)
        out = subprocess.run(command, check=True, capture_output=True, text=True)
        took = cpu_ns(competitor.pid) - before
    finally:
        competitor.kill()
        competitor.wait()
    return json.loads(out.stdout), took
