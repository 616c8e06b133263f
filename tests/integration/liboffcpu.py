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
ATTEMPTS = 6


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
    truth = json.loads(out.stdout)
    switch_ns = truth.pop("switches")["ns"]
    return {name: known | {"switch_ns": switch_ns} for name, known in truth.items()}, took


def complaints_of_brick(truth, row, name):
    # a switch of threads takes its time, which the kernel's accounts book to either side
    slack = max(0.01 * truth["high_ns"], 2000 * truth["count"], truth["switches"] * truth["switch_ns"])
    low, high = truth["low_ns"] - slack, truth["high_ns"] + truth["stolen_ns"] + slack
    check(abs(row["cpu_ns"] + row["off_ns"] - row["self_ns"]) <= 1,
          f"{name}: CPU and OFF are not SELF: {row}")
    check(row["off_ns"] == row["preempted_ns"] + row["blocked_ns"], f"{name}: parts of OFF: {row}")
    # a sleep's CPU time is that of a context switch, of which the kernel books a part to either
    if name.startswith("sleep") or low <= row["cpu_ns"] <= high:
        return {}
    return {name: f"{row['cpu_ns']} ns on the CPU, truly {truth['low_ns']}..{truth['high_ns']} "
                  f"and {truth['stolen_ns']} stolen, within {slack:.0f}"}


def complaints_of_bricks(rep, truth):
    presence, rows = rep["presence"], {row["name"]: row for row in rep["bricks"]}
    if presence["off_cpu"] is None:
        print("skipped: the kernel does not say when threads are off their CPUs")
        sys.exit(77)
    check(not presence["switches_lost"], "context switches were lost")
    found = {}
    for name, known in truth.items():
        found.update(complaints_of_brick(known, rows[name], name))
    asleep, spun = rows["sleep-5ms"], rows["spin-20ms"]
    check(asleep["blocked_ns"] > 0.9 * 50e6, f"asleep for 50 ms, blocked: {asleep}")
    if spun["blocked_ns"] or not spun["preempted_ns"]:
        found["a spin is preempted"] = f"{spun}"
    return found


def agree(what, attempt):
    """Each thing must agree in one attempt at least. A host that takes the CPU away in the middle
    of a context switch has the kernel's two accounts differ by that; what is wrong is so always."""
    left = None
    for _ in range(ATTEMPTS):
        found = attempt()
        left = found if left is None else {k: v for k, v in found.items() if k in left}
        if not left:
            return
    sys.exit(f"FAILED: {what}, {ATTEMPTS} times: {left}")
