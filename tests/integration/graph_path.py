# SPDX-License-Identifier: Apache-2.0
"""
`brick path` on recordings of real threads: the path is as long as what was measured, the barriers
are found, what it says adds up, agrees with the report, and fits the terminal.
"""
import json
import os
import subprocess

from libcli import BUILD, TMP, brick, brick_json, expect, expect_true, on_terminal, plain, recording

ENGINE = os.path.join(BUILD, "bin", "program-whatif")
STEPS = 40
# An execution is on the path in parts, between nested bricks and where its thread was preempted; each part's tenth is
# rounded to a nanosecond.
ROUNDED_NS = 0.5 * 20


def engine(*args):
    path = os.path.join(TMP, "whatif.pftrace")
    out = subprocess.run([ENGINE, "--record", path, "--steps", str(STEPS), *args], check=True,
                         capture_output=True, timeout=600).stdout
    return path, json.loads(out)


def check_section(section):
    length = section["path_ns"]
    expect("the path is what was measured", length, section["measured_ns"])
    rows = section["bricks"]
    expect("the rows' path", sum(row["on_path_ns"] for row in rows), length)
    expect("the threads' path", sum(t["on_path_ns"] for t in section["threads"]), length)
    for row in rows:
        less, nothing = row["ten_percent_less"]["time_ns"], row["nothing"]["time_ns"]
        expect_true(f"{row['name']}: less is less", nothing <= less <= length)
        expect_true(f"{row['name']}: not more than it has", length - nothing <= row["on_path_ns"])
        expect_true(f"{row['name']}: not more than a tenth: {length - less} of {row}",
                    length - less <= row["on_path_ns"] / 10 + ROUNDED_NS * row["count"] + 1)
        expect_true(f"{row['name']}: on the path is part of all", row["on_path_ns"] <= row["own_ns"])
        slack = row["slack"]
        if slack["mean_ns"] is not None:
            expect_true("slack", slack["min_ns"] <= slack["mean_ns"] <= slack["max_ns"])
    waits = [row["category"] == "Wait" or row["category"] is None and row["name"] != "unattributed"
             for row in rows]
    gains = [(wait, row["ten_percent_less"]["time_ns"]) for wait, row in zip(waits, rows)]
    expect("best first, waits last", gains, sorted(gains))
    if "path" in section:
        at = 0
        for hop in section["path"]:
            expect("hops follow each other", hop["begin_ns"], at)
            at += hop["time_ns"]
        expect("the hops", at, length)
        for i, thread in enumerate(section["threads"]):
            expect(f"hops of {thread['name']}", sum(
                hop["time_ns"] for hop in section["path"] if hop["thread"] == i),
                   thread["on_path_ns"])


def check_engine():
    path, _ = engine()
    section, = brick_json("path", "--json", path)["sections"]
    check_section(section)
    expect("steps", section["steps"], STEPS)
    expect("barriers", section["known"]["barriers"], 3 * STEPS)
    expect("threads", len(section["threads"]), 2)
    expect("contradictions", section["known"]["contradictions"], 0)
    step = brick_json("path", "--json", "--step", "decode", path)["sections"][0]
    check_section(step)
    expect("one step's barriers", step["known"]["barriers"], 3)
    rates = {row["name"]: row["nothing"]["tokens_per_s"] for row in step["bricks"]}
    expect_true("a brick gone is faster, or as fast", min(rates.values()) >= step["tokens_per_s"])
    screen = plain(on_terminal("path", "--all", path))
    for brick_name in ("AttentionScore", "DownProjection", "BarrierWait"):
        expect_true(f"{brick_name} is shown", brick_name in screen)


def check_report(path):
    """The same steps, as the report has them."""
    report = brick_json("report", "--json", path)
    sections = brick_json("path", "--json", path)["sections"]
    expect("phases", [s["phase"] for s in sections], ["decode", "prefill"])
    for section in sections:
        check_section(section)
        phase = report["steps"][section["phase"]]
        expect("time of the phase", section["measured_ns"], phase["total_ns"])
        expect("tokens of the phase", section["tokens"], phase["tokens"])
        expect_true("rate of the phase",
                    abs(section["tokens_per_s"] - phase["tokens_per_s"]) < 1e-6 * phase["tokens_per_s"])
    expect("again", brick_json("path", "--json", path)["sections"], sections)
    number = brick_json("path", "--json", "--step", "1", path)["sections"][0]
    expect("a step by its number", number["step"], 1)


def check_terminal(path):
    for columns in (80, 200):
        for args in (["path", path], ["path", "--step", "decode", path], ["path", "--all", path]):
            screen = plain(on_terminal(*args, columns=columns))
            widest = max(len(line) for line in screen.splitlines())
            expect_true(f"{args} fits {columns} columns", widest <= columns)
    ascii_only = brick("path", path, LC_ALL="C")[0]
    expect_true("plain in the C locale", all(c < 128 for c in ascii_only))
    one = plain(on_terminal("path", "--top", "1", path, columns=200))
    expect_true("the rest is counted", "more rows." in one)
    expect_true(f"rates say their unit: {one}", one.count(" tok/s ") >= 2)


def main():
    check_engine()
    path = recording()
    check_report(path)
    check_terminal(path)
    for args in (["--step", "0"], ["--step", "decoed"], ["--top", "0"], ["--top", "1", "--all"]):
        expect_true(f"{args} is explained", brick("path", *args, path, code=2)[1].startswith(b"brick: "))
    brick("path", "/nowhere", code=3)
    brick("path", path, path, code=2)


main()
