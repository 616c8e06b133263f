# SPDX-License-Identifier: Apache-2.0
"""libbrick-report: what a program is told of its own session, while that runs and afterwards, is what `brick report`
says of the recording: the same text, JSON and CSV once it is stopped, the same counts and times before."""
import json
import os
import subprocess
import tempfile

from libcli import BUILD, TMP, brick, expect, expect_true

PROGRAM = os.path.join(BUILD, "bin", "program-own_results")
STEPS, LAYERS = 200, 3


def run(kind, **environment):
    folder = tempfile.mkdtemp(dir=TMP)
    path = os.path.join(folder, "run.pftrace") if kind == "output" else kind
    done = subprocess.run([PROGRAM, path, folder], capture_output=True, text=True, timeout=600, env={**os.environ, **environment})
    expect("exit: " + done.stderr, done.returncode, 0)
    expect("nothing printed", done.stdout, "")

    def read(when, what):
        with open(os.path.join(folder, f"{when}.{what}"), encoding="utf-8") as file:
            return file.read()
    return path, read


def counts(report):
    return {row["name"]: (row["count"], row["elements"]) for row in report["bricks"]}


def expect_times(what, got, expected, apart):
    times = {row["name"]: row["self_ns"] for row in expected["bricks"]}
    for row in got["bricks"]:
        expect_true(f"{what}: {row}, {times}", abs(row["self_ns"] - times[row["name"]]) <= apart * times[row["name"]])


def check_totals(summary, report):
    rows = report["bricks"]
    expect("executions", summary["executions"], STEPS * (1 + 2 * LAYERS))
    expect("elements", summary["elements"], sum(row["elements"] or 0 for row in rows))
    expect("lost", summary["lost"], 0)


def check_reset(read):
    summary = json.loads(read("reset", "summary"))
    expect("after a reset", (summary["executions"], summary["decode_steps"], summary["lost"]),
           (STEPS * (1 + 2 * LAYERS), STEPS - 1, 0))


def with_output(clock, apart):
    path, read = run("output", BRICK_CLOCK=clock)
    check_reset(read)
    for what, options in ("txt", ()), ("json", ("--json",)), ("csv", ("--csv",)):
        expect("stopped: " + what, read("stopped", what), brick("report", path, *options, LC_ALL="C")[0].decode())
    report, running = json.loads(read("stopped", "json")), json.loads(read("running", "json"))
    expect("the same rows before", counts(running), counts(report))
    expect_times("the same times before", running, report, apart)
    for when in "running", "stopped":
        summary = json.loads(read(when, "summary"))
        check_totals(summary, report)
        expect("steps, " + when, (summary["decode_steps"], summary["decode_tokens"], summary["prefill_tokens"]),
               (STEPS - 1, STEPS - 1, 8))
        expect_true("wall time, " + when, abs(summary["wall_ns"] - report["coverage"]["wall_ns"]) <= apart * summary["wall_ns"])
        expect_true("coverage, " + when, 0.9 < summary["coverage"] <= 1)
        tree = read(when, "graph")
        expect("layers in the graph, " + when, tree.count("── Layer "), STEPS * LAYERS)
        expect("bricks in the graph, " + when, tree.count("── LmHead "), STEPS * LAYERS)


def without_output():
    _, read = run("-")
    check_reset(read)
    for when in "running", "stopped":
        report, summary = json.loads(read(when, "json")), json.loads(read(when, "summary"))
        check_totals(summary, report)
        expect("count, " + when, counts(report)["LmHead"][0], STEPS * LAYERS)
        expect("no records, no graph, " + when, read(when, "graph"), "-4005\n")
        expect_true("a text, " + when, "LmHead" in read(when, "txt"))
        # the CPU's backend is its vector instructions: in the head of the text, and in JSON
        run_facts = report["run"]
        expect_true("instructions, " + when, run_facts["isa"] in
                    ("avx512", "avx2", "sse4.2", "sse2", "sve", "neon", "scalar"))
        expect_true("backend in the head, " + when,
                    run_facts["cpu"] is None or f"({run_facts['isa']})" in " ".join(read(when, "txt").split("\n\n")[0].split()))


def in_memory():
    """Its first records are there, the totals are of all; what had no room was dropped, and is counted."""
    for records, steps in ("4096", STEPS), ("1024", None):
        _, read = run(records)
        for when in "running", "stopped":
            report, summary = json.loads(read(when, "json")), json.loads(read(when, "summary"))
            expect("count, " + when, counts(report)["LmHead"][0], STEPS * LAYERS)
            if steps:
                check_reset(read)
                check_totals(summary, report)
                expect("steps, " + when, summary["decode_steps"], steps - 1)
                expect("layers in the graph, " + when, read(when, "graph").count("── Layer "), steps * LAYERS)
            else:
                expect_true("lost, " + when, summary["lost"] > 0 and summary["executions"] == STEPS * (1 + 2 * LAYERS))


def trace_out():
    """BRICK_TRACE_OUT: all that the program did, though it starts a session of its own."""
    for name in "out.json", "out.pftrace":
        path = os.path.join(TMP, name)
        done = subprocess.run([os.path.join(BUILD, "bin", "example-own-report")], capture_output=True, text=True,
                              env={**os.environ, "BRICK_TRACE_OUT": path}, timeout=600)
        expect("exit: " + done.stderr, done.returncode, 0)
        expect_true("its own report", "RmsNorm" in done.stdout)
    with open(os.path.join(TMP, "out.json"), encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    expect("events", sum(event["ph"] == "X" and event["name"] == "RmsNorm" for event in events), 20)
    expect("recording", counts(json.loads(brick("report", path, "--json")[0]))["RmsNorm"][0], 20)
    expect_true("no recording beside it", not os.path.exists(os.path.join(TMP, "out.json.pftrace")))


with_output("monotonic", 0)
# Two lines through the counter: the process knows its rate from 2 ms, and believes it where it predicts the next 0.5 ms to 2 us.
with_output("", 2 / 500)
without_output()
in_memory()
trace_out()
