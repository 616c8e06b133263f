# SPDX-License-Identifier: Apache-2.0
"""Times off the CPU are recorded while that costs the program next to nothing, and it is said when not.

program-hand_over has two threads on one CPU that hand a byte to and fro. As fast as they can, the
records are stopped: nothing that is made of them is known then, each answer says so, and most of
what the kernel counted was not recorded. Some hundred times a second beside a competitor they are
not, nor where they were asked for. After a burst they go on, and what `--since` chooses is known.
Nothing is stopped for what a program does before it records anything, as while it loads its model.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

import liboffcpu as o

PROGRAM = os.path.join(o.BUILD, "bin", "program-hand_over")
ATTEMPTS = 3


def record(path, cpu, parts, *options):
    out = subprocess.run([o.BRICK, "record", "-o", path, *options, "--", PROGRAM, str(cpu), *parts],
                         check=True, capture_output=True, text=True)
    rep = json.loads(o.report(path, "--json"))
    if rep["presence"]["off_cpu"] is None:
        print("skipped: the kernel does not say when threads are off their CPUs")
        sys.exit(77)
    return json.loads(out.stdout), out.stderr, rep


def times_recorded(rep):
    found = re.search(r"recording (\d+) times off the CPU", rep["distortion"]["method"])
    return int(found.group(1)) if found else 0


def row_of(rep, name):
    return next(row for row in rep["bricks"] if row["name"] == name)


def steps_from(path, begin_s):
    """Of 20 ms; or of longer ones, in which the program got its CPU, within the shortest pause."""
    for length_s in 0.02, 0.1, 0.9:
        found = subprocess.run([o.BRICK, "report", path, "--since", f"{begin_s}", "--until", f"{begin_s + length_s}", "--by", "step",
                                "--json"], capture_output=True, text=True)
        if not found.returncode or "has no such step" not in found.stderr:
            break
    return found


def many(path, cpu):
    truth, said, rep = record(path, cpu, ["400000"])
    presence, row = rep["presence"], row_of(rep, "part-0")
    o.check(presence["off_cpu_gaps"], f"{truth} and it was all recorded")
    gap = presence["off_cpu_gaps"][0]
    o.check(gap["per_s"] > 1000 and gap["each_ns"] > 0, f"why it was stopped: {gap}")
    o.check(times_recorded(rep) < truth["part-0"]["off"] / 2,
            f"{times_recorded(rep)} times recorded, {truth}: {presence}")
    o.check(presence["off_cpu_known"] < 0.9, f"{presence}")
    o.check(presence["off_cpu_fallback"] == "schedstat", f"{presence}")
    o.check(row["cpu_ns"] is None and row["off_ns"] is None and row["blocked_ns"] is None,
            f"known of steps that were not recorded: {row}")
    o.check(row["count"] == truth["part-0"]["rounds"], f"{row}, {truth}")
    o.check(row["min_ns"] <= row["p50_ns"] <= row["p99_ns"] <= row["max_ns"], f"{row}")
    o.check(rep["coverage"]["share"] > 0.5, f"{rep['coverage']}")
    o.check("it was stopped" in said, f"the summary does not say it: {said}")
    text = " ".join(o.report(path, "--trust").split())
    o.check(f"not recorded from {gap['from_s']:.3f} s" in text, f"the report does not say it: {text}")
    within = json.loads(steps_from(path, gap["from_s"]).stdout)
    o.check(within["presence"]["off_cpu_known"] == 0, f"{within['presence']}")
    o.check({step["cpu_ns"] for step in within["each_step"]} == {None}, "known within the gap")
    explained = subprocess.run([o.BRICK, "explain", path, "--json"], capture_output=True, text=True)
    o.check(json.loads(explained.stdout)["off_cpu_known"] is False, "explain knows it")


def few(path, cpu):
    competitor = o.spin_beside(cpu)
    try:
        truth, said, rep = record(path, cpu, ["1500:100"])
    finally:
        competitor.kill()
        competitor.wait()
    o.check(rep["presence"]["off_cpu_gaps"] == [], f"{truth}: {rep['presence']}")
    o.check(rep["presence"]["off_cpu_known"] == 1, f"{rep['presence']}")
    o.check(row_of(rep, "part-0")["off_ns"] > 0, f"{truth}: {row_of(rep, 'part-0')}")
    o.check("stopped" not in said, said)


def loading(path, cpu):
    """What a program does before it records anything is no reason to stop."""
    truth, said, rep = record(path, cpu, ["load:60000", "300:100"])
    o.check(rep["presence"]["off_cpu_gaps"] == [], f"{truth}: {rep['presence']}")
    o.check(rep["presence"]["off_cpu_known"] == 1, f"{rep['presence']}")
    o.check(row_of(rep, "part-0")["off_ns"] > 0, f"{truth}: {row_of(rep, 'part-0')}")
    o.check("stopped" not in said, said)


def stalled_loading(path, cpu):
    """Nor when the recorder gets no CPU meanwhile: the kernel tells what it lost then after the first step."""
    stop = 'kill -STOP $PPID; exec "$0" "$@"'
    recorder = subprocess.Popen([o.BRICK, "record", "-o", path, "--", "sh", "-c", stop, PROGRAM, str(cpu), "load:60000", "1:100", "1000:100"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    truth = os.read(recorder.stdout.fileno(), 1000)
    recorder.send_signal(signal.SIGCONT)
    rest, said = recorder.communicate()
    truth, said = (truth + rest).decode(), said.decode()
    rep = json.loads(o.report(path, "--json"))
    o.check(recorder.returncode == 0, f"{recorder.returncode}: {truth} {said}")
    o.check(rep["presence"]["switches_lost"] > 0, f"nothing was lost: {rep['presence']}")
    o.check(rep["presence"]["off_cpu_gaps"] == [], f"{truth}: {rep['presence']}")
    o.check("stopped" not in said, said)


def asked_for(path, cpu):
    truth, said, rep = record(path, cpu, ["20000"], "--off-cpu", "on")
    o.check(rep["presence"]["off_cpu_gaps"] == [], f"{truth}: {rep['presence']}")
    o.check(row_of(rep, "part-0")["off_ns"] > 0, f"{truth}: {row_of(rep, 'part-0')}")
    o.check("stopped" not in said, said)


def burst(path, cpu):
    """They go on when they were stopped for long enough, which is longer on a busy machine."""
    for attempt in range(ATTEMPTS):
        truth, said, rep = record(path, cpu, ["20000", f"{4000 * (attempt + 1)}:50"])
        gaps = rep["presence"]["off_cpu_gaps"]
        if gaps and gaps[-1]["to_s"] is not None:
            break
    else:
        sys.exit(f"FAILED: it never went on: {truth}, {rep['presence']}")
    o.check("for a while" in said, said)
    row = row_of(rep, "part-1")
    o.check(row["cpu_ns"] is None, f"a part of it is not known: {row}")
    rest = json.loads(o.report(path, "--since", f"{gaps[-1]['to_s'] + 0.03}", "--json"))
    row = row_of(rest, "part-1")
    o.check(rest["presence"]["off_cpu_known"] == 1, f"{rest['presence']}")
    o.check(row["cpu_ns"] and row["cpu_ns"] + row["off_ns"] == row["self_ns"], f"{row}")
    o.check(row["off_ns"] > 0, f"never off its CPU: {row}")


def main():
    cpu = min(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "many.pftrace")
        for part in (many, few, loading, stalled_loading, asked_for, burst):
            part(path, cpu)


main()
