# SPDX-License-Identifier: Apache-2.0
"""`brick scaling` of the real engine: its text, its picture and the page say what its JSON says, also of what is too
noisy to say anything of, and that threads were preempted."""
import os
import re
import subprocess
import xml.etree.ElementTree

import libggml as g
from libcli import BRICK, TMP, brick, brick_json, environment, expect, expect_true
from libhtml import page_of

PROMPT, PREDICT, POINTS, SHOWN = 16, 160, 24, 6
SVG = "{http://www.w3.org/2000/svg}"


def recorded():
    path = os.path.join(TMP, "run.pftrace")
    subprocess.run([BRICK, "record", "-q", "--no-history", "-o", path, "--", g.LLAMA, "--libs", g.libraries(), "--model",
                    g.demo("model-f16.gguf"), "--prompt-tokens", str(PROMPT), "--predict", str(PREDICT)],
                   env=environment(), stdout=subprocess.DEVNULL, check=True, timeout=280)
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
    overtakes = [row for row in text.splitlines() if "overtakes the FFN at" in row or "as long as the FFN" in row]
    for row in overtakes:
        expect(row, "if the FFN stays level" in row, is_level(series["ffn"]))
    expect("says where it overtakes", bool(overtakes), series["attention_overtakes_ffn"]["is"] is not None)
    expect("preempted", "Threads were preempted for" in text, (answer["preempted_share"] or 0) > 0.02)


def same_points(series):
    for name, line in lines_of(series).items():
        contexts = [context for context, _ in line["measured"]]
        expect(f"points of {name}", len(contexts), POINTS)
        expect_true("in order", contexts == sorted(contexts) and contexts[0] >= series["shortest_context"]
                    and contexts[-1] <= series["longest_context"])
        expect_true("the median lies between them",
                    min(ns for _, ns in line["measured"]) <= line["median_ns"] <= max(ns for _, ns in line["measured"]))


def same_picture(path, series):
    out = os.path.join(TMP, "scaling.svg")
    expect("text beside a picture", brick("scaling", "--svg", out, path)[0], brick("scaling", path)[0])
    with open(out, "rb") as file:
        data = file.read()
    expect("to stdout", brick("scaling", "--svg", "-", path)[0], data)
    root = xml.etree.ElementTree.fromstring(data)
    dots = root.iter(SVG + "circle")
    titles = [dot.find(SVG + "title").text for dot in dots]
    shown = sorted({title.split(", context")[0] for title in titles})
    expect("dots", len(titles), POINTS * SHOWN)
    expect_true(f"the main ones: {shown}", {"FlashAttention", "FFN, together", "the step"} <= set(shown))
    expect_true("known names", set(shown) <= set(lines_of(series)))
    bands = sum("band" in (p.get("class") or "") for p in root.iter(SVG + "path"))
    expect("what goes on", bands, sum(bool(lines_of(series)[name]["modelled"]) for name in shown))
    for each in root.iter():
        for key in ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy"):
            expect_true(f"inside: {each.attrib}", 0 <= float(each.get(key, 0)) <= 1000)
    return shown


def same_page(path, series, shown):
    out = os.path.join(TMP, "page.html")
    made = subprocess.run([BRICK, "report", "--html", out, path], env=environment(), capture_output=True, timeout=60)
    if made.returncode == 4:
        return  # this build has no page
    chart = page_of(out)[0]["scaling"]
    expect("steps", (chart["steps"], chart["tokens"]), (series["steps"], 1))
    expect("bricks", sorted(line["name"] for line in chart["lines"]), shown)
    for line in chart["lines"]:
        for key in ("median_ns", "measured", "ns_per_token", "too_noisy", "modelled"):
            expect(f"{key} of {line['name']}", line[key], lines_of(series)[line["name"]][key])
        expect("goes on", bool(line["beyond"]), bool(line["modelled"]))
        if line["beyond"]:
            expect_true("to 4 times", abs(line["beyond"][-1][0] - 4 * series["longest_context"]) < 1e-6)


def main():
    path = recorded()
    answer = brick_json("scaling", "--json", path)
    expect("series", len(answer["series"]), 1)
    series = answer["series"][0]
    expect("steps and contexts", [series[key] for key in ("steps", "shortest_context", "longest_context")],
           [PREDICT - 1, PROMPT + 1, PROMPT + PREDICT - 1])
    same_points(series)
    same_text(brick("scaling", path)[0].decode(), answer, series)
    same_page(path, series, same_picture(path, series))


main()
