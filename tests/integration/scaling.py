# SPDX-License-Identifier: Apache-2.0
"""`brick scaling` of the real engine: its text and the page say what its JSON says, also of what is too noisy to say
anything of, and that threads were preempted."""
import os
import re
import subprocess

import libggml as g
from libcli import BRICK, TMP, brick, brick_json, environment, expect, expect_true
from libhtml import page_of

PROMPT, PREDICT, POINTS = 16, 160, 24


def recorded():
    path = os.path.join(TMP, "run.pftrace")
    subprocess.run([BRICK, "record", "-q", "--no-history", "-o", path, "--", g.LLAMA, "--libs", g.libraries(), "--model",
                    g.demo("model-f16.gguf"), "--prompt-tokens", str(PROMPT), "--predict", str(PREDICT)],
                   env=environment(), stdout=subprocess.DEVNULL, check=True, timeout=600)
    return path


def is_level(line):
    return line["ns_per_token"]["low"] <= 0 <= line["ns_per_token"]["high"]


def lines_of(series):
    return {**{brick["name"]: brick for brick in series["bricks"]}, "FFN, together": series["ffn"], "the step": series["step"]}


def same_text(text, answer, series):
    rows = {re.split(r"  +", row.strip())[0]: row for row in text.splitlines()}
    expect_true("what a slope is of", "for each further token of context" in text and "NS/CONTEXT" in text)
    for name, line in lines_of(series).items():
        if name in rows:
            expect(f"{name} is too noisy", "too noisy" in rows[name], line["too_noisy"])
            expect_true(f"{name} is level", not line["too_noisy"] or is_level(line))
    expect("preempted", "Threads were preempted for" in text, (answer["preempted_share"] or 0) > 0.02)


def same_points(series):
    for name, line in lines_of(series).items():
        contexts = [context for context, _ in line["measured"]]
        expect(f"points of {name}", len(contexts), POINTS)
        expect_true("in order", contexts == sorted(contexts) and contexts[0] >= series["shortest_context"]
                    and contexts[-1] <= series["longest_context"])
        expect_true("the median lies between them",
                    min(ns for _, ns in line["measured"]) <= line["median_ns"] <= max(ns for _, ns in line["measured"]))


def same_fits(series):
    ends = [series["shortest_context"], series["longest_context"]]
    for name, line in lines_of(series).items():
        if not line["ns_per_token"] or line["too_noisy"]:
            expect(f"nothing is fitted to {name}", line["fitted"], [])
            continue
        expect(f"contexts of {name}", [fit["context"] for fit in line["fitted"]], ends)
        slope = (line["fitted"][1]["ns"]["value"] - line["fitted"][0]["ns"]["value"]) / (ends[1] - ends[0])
        expect_true(f"{name}: the line has its slope", abs(slope - line["ns_per_token"]["value"]) < 1e-3
                    or not line["fitted"][0]["ns"]["value"] or not line["fitted"][1]["ns"]["value"])
        for fit in line["fitted"]:
            expect_true(f"{name}: inside of its interval", fit["ns"]["low"] <= fit["ns"]["value"] <= fit["ns"]["high"])


def same_page(path, series):
    out = os.path.join(TMP, "page.html")
    made = subprocess.run([BRICK, "report", "--html", out, path], env=environment(), capture_output=True, timeout=600)
    if made.returncode == 4:
        return  # this build has no page
    expect("the page has the series", page_of(out)[0]["scaling"], series)


def main():
    path = recorded()
    answer = brick_json("scaling", "--json", path)
    expect("series", len(answer["series"]), 1)
    series = answer["series"][0]
    expect("steps and contexts", [series[key] for key in ("steps", "shortest_context", "longest_context")],
           [PREDICT - 1, PROMPT + 1, PROMPT + PREDICT - 1])
    same_points(series)
    same_text(brick("scaling", path)[0].decode(), answer, series)
    same_fits(series)
    same_page(path, series)


main()
