# SPDX-License-Identifier: Apache-2.0
"""What a brick was on the CPU, beside a program that wants the same CPU, is what the kernel counted.

program-off_cpu reads the clock of its own CPU time around bricks that spin and one that sleeps,
while a competitor spins on the same CPU. CPU of each brick must agree within 1 % or 2 us an
execution; a sleep is blocked, not preempted; the report says how much others took. What a
virtual machine's host stole without a switch is CPU for Brick and not for that clock: the program
counts it by other means.
"""
import json
import os
import subprocess
import sys
import tempfile

from liboffcpu import BRICK, PROGRAM, check, disturbed, report


ATTEMPTS = 6


def complaints_of_brick(truth, row, name):
    slack = max(0.01 * truth["high_ns"], 2000 * truth["count"])
    low, high = truth["low_ns"] - slack, truth["high_ns"] + truth["stolen_ns"] + slack
    check(abs(row["cpu_ns"] + row["off_ns"] - row["self_ns"]) <= 1,
          f"{name}: CPU and OFF are not SELF: {row}")
    check(row["off_ns"] == row["preempted_ns"] + row["blocked_ns"], f"{name}: parts of OFF: {row}")
    # a sleep's CPU time is that of a context switch, of which the kernel books a part to either
    if name.startswith("sleep") or low <= row["cpu_ns"] <= high:
        return {}
    return {name: f"{row['cpu_ns']} ns on the CPU, truly {truth['low_ns']}..{truth['high_ns']} "
                  f"and {truth['stolen_ns']} stolen"}


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


def complaints_of_machine(rep, took, text):
    presence = rep["presence"]
    # whatever else runs here: the competitor is in what others took; both begin a little late
    seen = presence["others"] * rep["run"]["cpus"] * rep["run"]["wall_ns"]
    found = {}
    if seen <= 0.8 * took - 0.1e9:
        found["others"] = f"they took {seen:.0f} ns, the competitor alone {took}"
    if not presence["neighbour"] or presence["neighbour"] not in text:
        found["neighbour"] = f"none is named: {presence}"
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


def has_none(path):
    rep = json.loads(report(path, "--json"))
    check({row["cpu_ns"] for row in rep["bricks"]} == {None}, "CPU is known without switches")
    check(rep["presence"]["off_cpu"] is None, "off_cpu without switches")


# Becomes the program in a time namespace of its own, as a container may: its CLOCK_MONOTONIC is not ours.
ENTER = """import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x80) and libc.unshare(0x10000080):
    sys.exit(75)
with open("/proc/self/timens_offsets", "w") as file:
    file.write("monotonic 100000 0")
os.execv(sys.argv[1], sys.argv[1:])
"""


def in_another_time(recorder, path):
    done = subprocess.run([*recorder, "--", sys.executable, "-c", ENTER, PROGRAM], check=False, capture_output=True)
    if done.returncode == 75:
        print("not tried: no time namespace can be had")
        return
    check(not done.returncode, f"in a time namespace: {done.stderr}")
    rows = {row["name"]: row for row in json.loads(report(path, "--json"))["bricks"]}
    asleep = rows["sleep-5ms"]
    check(asleep["blocked_ns"] > 0.9 * 50e6, f"asleep for 50 ms, blocked in a time namespace: {asleep}")


def by_other_numbers(recorder, path):
    """In a PID namespace of its own the kernel's numbers of threads are not the program's: not known, never 0."""
    unshare = ["unshare", "--fork", "--pid"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--fork", "--pid"]
    if subprocess.run([*unshare, "true"], check=False, capture_output=True).returncode:
        print("not tried: no PID namespace can be had")
        return
    subprocess.run([*recorder, "--", *unshare, PROGRAM], check=True, capture_output=True)
    answer = json.loads(report(path, "--json"))
    check(answer["presence"]["off_cpu_known"] is None and answer["presence"]["preempted"] is None, f"known: {answer['presence']}")
    check(all(row["off_ns"] is None for row in answer["bricks"]), "times off the CPU of another's threads")
    check("PID namespace" in report(path), "the report does not say why")


def main():
    cpu = min(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "off.pftrace")
        recorder = [BRICK, "record", "-q", "-o", path]

        def recorded():
            truth, took = disturbed([*recorder, "--", PROGRAM, str(cpu)], cpu)
            rep = json.loads(report(path, "--json"))
            found = complaints_of_bricks(rep, truth)
            found.update(complaints_of_machine(rep, took, report(path)))
            return found

        def embedded():
            truth, took = disturbed([PROGRAM, str(cpu), path], cpu)
            rep = json.loads(report(path, "--json"))
            found = complaints_of_bricks(rep, truth)
            found.update(complaints_of_machine(rep, took, report(path)))
            return found

        agree("recorded", recorded)
        agree("a program that records itself", embedded)

        in_another_time(recorder, path)

        by_other_numbers(recorder, path)
        subprocess.run([*recorder, "--off-cpu", "off", "--", PROGRAM], check=True,
                       capture_output=True)
        has_none(path)
        subprocess.run([PROGRAM, str(cpu), path, "off"], check=True, capture_output=True)
        has_none(path)


main()
