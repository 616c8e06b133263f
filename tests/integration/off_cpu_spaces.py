# SPDX-License-Identifier: Apache-2.0
"""A program in a PID namespace of its own, where its threads have other numbers than the kernel tells its recorder.

It was on its CPU when the kernel says so; when it is killed the recorder sees that; a process whose number is
nobody's outside is not taken for one that has ended. Where /proc tells nothing, times off the CPU are not known, and
the report says why. Time namespaces, of the program or of its recorder too, shift the clock that programs read, and not
the kernel's.
"""
import json
import os
import subprocess
import sys
import tempfile
import time
import zlib

from librecord import fields
from liboffcpu import BRICK, PROGRAM, agree, check, complaints_of_bricks, disturbed, report

PRODUCER = os.path.join(os.path.dirname(PROGRAM), "program-record_producer")

# Is killed; its recorder sees that while the namespace lives on, and gives the session's file back.
KILLED = """
sessions() { ls "$BRICK_SESSION_DIR" | grep -c '[.]session$'; }
within() { for i in $(seq 300); do [ $(sessions) = $1 ] && return; sleep 0.1; done; exit 9; }
"$0" 0 & within 1; kill -9 $!; within 0"""

# The program has the number that is asked for.
NUMBERED = "i=2; while [ $i -lt $1 ]; do (:); i=$((i + 1)); done; \"$0\" 0; true"


def unshare(*options):
    found = ["unshare", "--fork", *options]
    if os.geteuid():
        found[1:1] = ["--user", "--map-root-user"]
    if subprocess.run([*found, "true"], check=False, capture_output=True).returncode:
        print("skipped: no namespace can be had:", *options)
        sys.exit(77)
    return found


def rows_of(path):
    return {row["name"]: row for row in json.loads(report(path, "--json"))["bricks"]}


def on_its_cpu(recorder, cpu, path):
    def attempt():
        truth, _ = disturbed([*recorder, PROGRAM, str(cpu)], cpu)
        return complaints_of_bricks(json.loads(report(path, "--json")), truth)
    agree("in a PID namespace", attempt)


def under_a_free_number(recorder, path):
    number = next((n for n in range(2, 200) if not os.path.exists(f"/proc/{n}")), None)
    if number:
        subprocess.run([*recorder, "sh", "-c", NUMBERED, PROGRAM, str(number)], check=True, capture_output=True)
        rows = rows_of(path)
        check(rows["sleep-as-wait-5ms"]["count"] == 10, f"number {number}: its session ended early: {rows}")


def not_told(path):
    """The recorder's own /proc is of another namespace."""
    subprocess.run([*unshare("--pid"), BRICK, "record", "-q", "-o", path, "--", PROGRAM], check=True, capture_output=True)
    answer = json.loads(report(path, "--json"))
    check(answer["presence"]["off_cpu_known"] is None and answer["presence"]["preempted"] is None, f"known: {answer['presence']}")
    check(all(row["off_ns"] is None for row in answer["bricks"]), "times off the CPU of another's threads")
    check("PID namespace" in report(path, "--trust"), "the report does not say why")


def boottimes(data):
    """Of all clock snapshots, in s."""
    for number, value in fields(data):
        if number == 50:
            yield from boottimes(zlib.decompress(value))
        elif number == 1:
            yield from boottimes(value)
        elif number == 6:
            clocks = [dict(fields(clock)) for n, clock in fields(value) if n == 1]
            yield from (clock[2] / 1e9 for clock in clocks if clock[1] == 6)


def in_time_namespaces(path):
    later = unshare("--time", "--monotonic", "1000", "--boottime", "3000")
    recorder, monotonic = [BRICK, "record", "-q", "--off-cpu", "on", "-o", path, "--"], ["env", "BRICK_CLOCK=monotonic"]
    for command in ([*recorder, *later, PROGRAM], [*later, *recorder, PROGRAM], [*later, PROGRAM, "0", path]):
        for clock in ([], monotonic):
            subprocess.run([*clock, *command], check=True, capture_output=True)
            asleep = rows_of(path)["sleep-5ms"]
            check(asleep["blocked_ns"] > 0.9 * 50e6, f"{clock} {command}: asleep for 50 ms, blocked: {asleep}")
            with open(path, "rb") as file:
                far = [t - time.clock_gettime(time.CLOCK_BOOTTIME) for t in boottimes(file.read())]
            check(far and all(-1000 < t < 0 for t in far), f"{clock} {command}: its BOOTTIME is off by {far} s")
    subprocess.run([*monotonic, *recorder, *later, PRODUCER, "open", "signal=9"], check=False, capture_output=True)
    answer = json.loads(report(path, "--json"))
    check(answer["losses"]["open"] == 1 and answer["run"]["wall_ns"] < 100e9, f"killed there: {answer['losses']}")


def main():
    cpu = min(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "off.pftrace")
        recorder = [BRICK, "record", "-q", "--off-cpu", "on", "-o", path, "--", *unshare("--pid", "--mount-proc")]
        not_told(path)
        in_time_namespaces(path)
        killed = subprocess.run([*recorder, "sh", "-c", KILLED, PROGRAM], check=False, capture_output=True, text=True)
        check(not killed.returncode, f"a killed process is not noticed: {killed.returncode} {killed.stderr}")
        under_a_free_number(recorder, path)
        on_its_cpu(recorder, cpu, path)


main()
