# SPDX-License-Identifier: Apache-2.0
"""
`brick record --counters`: what was counted per step is in the recording, in the report as text and
JSON, and what cannot be counted is in its notes with the reason; wrong names are wrong usage.
"""
import json
import os
import subprocess
import sys

from libcli import BRICK, BUILD, TMP, brick, brick_json, environment, expect, expect_true

PROGRAM = os.path.join(BUILD, "bin", "example-embed")


def counters_here():
    checks = brick_json("doctor", "--json")["checks"]
    return {c["name"]: c for c in checks if "counters" in c["name"]}


def record(path, *options):
    done = subprocess.run([BRICK, "record", "-q", "-o", path, *options, "--", PROGRAM],
                          capture_output=True, env=environment(), cwd=TMP, timeout=600)
    expect(f"{options}: {done.stderr!r}", done.returncode, 0)


def main():
    here = counters_here()
    expect("doctor looks at", sorted(here), ["counters", "sw counters"])
    if "page-faults" not in here["sw counters"]["finding"] or here["sw counters"]["status"] == "no":
        print("skipped:", here["sw counters"]["finding"])
        sys.exit(77)
    path = os.path.join(TMP, "counted.pftrace")
    record(path, "--counters")
    counted = brick_json("report", "--json", path)["counters"]
    steps = brick_json("report", "--json", path)["steps"]
    expect_true("something was counted", counted)
    seen = 0
    for phase in ("prefill", "decode"):
        for name, sums in counted[phase].items():
            if name == "instructions_per_cycle":
                continue
            expect(f"{phase} {name}: each step", sums["steps"], steps[phase]["count"])
            expect_true(f"{name} in order", sums["min"] <= sums["mean"] <= sums["max"])
            seen += 1
        if steps[phase]["count"]:
            expect_true("the CPU was used", counted[phase]["task-clock"]["sum"] > 0)
            expect_true("reading costs", counted[phase]["counter-reading"]["sum"] > 0)
    expect_true("several were counted", seen >= 3)
    text = brick("report", "-v", path)[0].decode()
    expect_true("the report says so", "Counters" in text and "page-faults" in text)
    if here["counters"]["status"] != "ok":
        expect_true("and what is missing", "cycles: " in text)
        expect("no instructions per cycle", counted["decode"]["instructions_per_cycle"], None)

    plain_path = os.path.join(TMP, "plain.pftrace")
    record(plain_path)
    expect("not asked for", brick_json("report", "--json", plain_path)["counters"], None)
    record(path, "--counters=page-faults")
    only = brick_json("report", "--json", path)["counters"]
    expect_true("only what was asked for", "task-clock" not in json.dumps(only))
    for bad in ("cycle", "", "cycles,"):
        error = brick("record", f"--counters={bad}", "--", PROGRAM, code=2)[1]
        expect_true(f"{bad!r} is explained", b"--counters" in error)


main()
