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

from liboffcpu import BRICK, PROGRAM, agree, check, complaints_of_bricks, disturbed, report


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
    rep = json.loads(report(path, "--json"))
    blocked = {row["name"]: row["blocked_ns"] for row in rep["bricks"]}["sleep-5ms"]
    check((blocked or 0) > 0.9 * 50e6, f"asleep for 50 ms, blocked in a time namespace: {blocked}, {rep['presence']}")


def main():
    cpu = min(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "off.pftrace")
        recorder = [BRICK, "record", "-q", "-o", path]
        # by default they are given up where they cost too much, as they may on a busy machine
        asked = [*recorder, "--off-cpu", "on"]

        def recorded():
            truth, took = disturbed([*asked, "--", PROGRAM, str(cpu)], cpu)
            rep = json.loads(report(path, "--json"))
            found = complaints_of_bricks(rep, truth)
            found.update(complaints_of_machine(rep, took, report(path, "--trust")))
            return found

        def embedded():
            truth, took = disturbed([PROGRAM, str(cpu), path], cpu)
            rep = json.loads(report(path, "--json"))
            found = complaints_of_bricks(rep, truth)
            found.update(complaints_of_machine(rep, took, report(path, "--trust")))
            return found

        agree("recorded", recorded)
        agree("a program that records itself", embedded)

        in_another_time(asked, path)
        subprocess.run([*recorder, "--off-cpu", "off", "--", PROGRAM], check=True,
                       capture_output=True)
        has_none(path)
        subprocess.run([PROGRAM, str(cpu), path, "off"], check=True, capture_output=True)
        has_none(path)


main()
