# SPDX-License-Identifier: Apache-2.0
"""A program in a PID namespace of its own, where its threads have other numbers than the kernel tells its recorder.

It was on its CPU when the kernel says so; when it is killed the recorder sees that; a process whose number is
nobody's outside is not taken for one that has ended. Where /proc tells nothing, times off the CPU are not known, and
the report says why.
"""
import json
import os
import subprocess
import sys
import tempfile

from liboffcpu import BRICK, PROGRAM, agree, check, complaints_of_bricks, disturbed, report

# Is killed; its recorder sees that while the namespace lives on, and gives the session's file back.
KILLED = """
sessions() { ls "$BRICK_SESSION_DIR" | grep -c '[.]session$'; }
within() { for i in $(seq 300); do [ $(sessions) = $1 ] && return; sleep 0.1; done; exit 9; }
"$0" 0 & within 1; kill -9 $!; within 0"""

# The program has the number that is asked for.
NUMBERED = "i=2; while [ $i -lt $1 ]; do (:); i=$((i + 1)); done; \"$0\" 0; true"


def unshare(*options):
    found = ["unshare", "--fork", "--pid", *options]
    if os.geteuid():
        found[1:1] = ["--user", "--map-root-user"]
    if subprocess.run([*found, "true"], check=False, capture_output=True).returncode:
        print("skipped: no PID namespace can be had")
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
    subprocess.run([*unshare(), BRICK, "record", "-q", "-o", path, "--", PROGRAM], check=True, capture_output=True)
    answer = json.loads(report(path, "--json"))
    check(answer["presence"]["off_cpu_known"] is None and answer["presence"]["preempted"] is None, f"known: {answer['presence']}")
    check(all(row["off_ns"] is None for row in answer["bricks"]), "times off the CPU of another's threads")
    check("PID namespace" in report(path), "the report does not say why")


def main():
    cpu = min(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "off.pftrace")
        recorder = [BRICK, "record", "-q", "--off-cpu", "on", "-o", path, "--", *unshare("--mount-proc")]
        not_told(path)
        killed = subprocess.run([*recorder, "sh", "-c", KILLED, PROGRAM], check=False, capture_output=True, text=True)
        check(not killed.returncode, f"a killed process is not noticed: {killed.returncode} {killed.stderr}")
        under_a_free_number(recorder, path)
        on_its_cpu(recorder, cpu, path)


main()
