# SPDX-License-Identifier: Apache-2.0
"""brick tree: the structure of a step, sums at every node, the choice of the step, both forms."""
import json
import os
import re

from libcli import TMP, brick, brick_json, expect, expect_true, on_terminal, plain, recording


def check_sums(node):
    parts = [child for child in node["children"] if child["kind"] != "operation"]
    own = 0 if node["kind"] == "layer" else node["self_ns"]
    expect(f"time of {node['name']}", node["time_ns"],
           own + sum(child["time_ns"] for child in parts))
    for child in parts:
        check_sums(child)


def several(path, decode):
    """Of several steps: a tree of each phase with the sums; as text the mean."""
    both = brick_json("tree", "--json", "--steps", "1,5-9", path)["trees"]
    steps = both[0]["steps"]
    expect("by phase", [tree["step"] and tree["step"]["phase"] for tree in both], [None, "prefill"])
    expect("steps", (steps["phase"], steps["count"], steps["of"], steps["tokens"]),
           ("decode", 5, 31, 5))
    expect("sum over them", (steps["total_ns"], both[0]["tree"]["time_ns"]),
           (sum(decode[3:8]),) * 2)
    for tree in both:
        check_sums(tree["tree"])
    layer = both[0]["tree"]["children"][0]["children"][0]
    one = brick_json("tree", "--json", path)["trees"][0]["tree"]["children"][0]["children"][0]
    expect("five times", [child["count"] for child in layer["children"]],
           [5 * child["count"] for child in one["children"]])
    expect("elements, too", layer["children"][0]["elements"], 5 * one["children"][0]["elements"])
    text = brick("tree", "--steps", "1,5-9", path)[0].decode()
    expect_true(text, "Decode: mean of 5 steps (of 31), 1 token, " in text and
                "\n\nPrefill: step 1 of 31, 16 tokens, " in text)
    expect_true("means", "(512 elem)" in text and "2560 elem" not in text)
    expect_true("one of them", "Decode: step " in
                brick("tree", "--steps", "5-9", "--step", "decode", path)[0].decode())


def no_wider(columns, *arguments):
    lines = plain(on_terminal("tree", *arguments, columns=columns)).splitlines()
    expect(f"{columns} columns", [line for line in lines if len(line) > columns], [])
    return lines


def deep():
    """Ranges of long names, one in another 24 times: each has a name and its time on any terminal."""
    names = [f"level_{i:02}_" + "x" * 200 for i in range(24)]
    trace = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": 1000}]
    trace += [{"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": 10 + i, "dur": 900 - 10 * i}
              for i, name in enumerate(names)]
    source, path = os.path.join(TMP, "deep.json"), os.path.join(TMP, "deep.pftrace")
    with open(source, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "traceEvents": trace}, file)
    brick("import", "-o", path, source)
    for columns in 40, 60, 80, 100, 240:
        lines = no_wider(columns, path)
        ranges = [line for line in lines if "µs" in line and "level" in line]
        expect(f"each range at {columns} columns", len(ranges), 24)
    lines = no_wider(60, path)
    expect_true(f"levels that are left out are counted: {lines}", any(re.match(r"9… (│ )+├ level", line) for line in lines))


def main():
    path = recording()
    answer = brick_json("tree", "--json", path)
    expect("schema", answer["schema"], "brick/tree/2")
    expect("one tree", len(answer["trees"]), 1)
    tree = answer["trees"][0]
    expect("step", (tree["step"]["phase"], tree["step"]["tokens"], tree["step"]["of"]),
           ("decode", 1, 31))
    expect_true("the worker, if it had a CPU", tree["other_threads"] in (0, 1))
    root = tree["tree"]
    check_sums(root)
    expect("total", root["time_ns"], tree["step"]["total_ns"])
    expect("in order", [node["name"] for node in root["children"]], ["GraphCompute", "Sampling"])
    layers = root["children"][0]["children"]
    expect("layers", [node["name"] for node in layers], ["Layer 0", "Layer 1", "Layer 2"])
    for node in layers:
        expect("bricks", [child["name"] for child in node["children"]],
               ["RmsNorm", "QkvProjection", "DownProjection", "BarrierWait"])

    decode = [brick_json("tree", "--json", "--step", str(i), path)["trees"][0]["step"]["total_ns"]
              for i in range(2, 32)]
    expect("the median step", tree["step"]["total_ns"], sorted(decode)[14])
    slow = brick_json("tree", "--json", "--step", "slowest", path)["trees"][0]["step"]
    expect("the slowest step", (slow["phase"], slow["total_ns"]), ("decode", max(decode)))
    prefill = brick_json("tree", "--json", "--step", "prefill", path)["trees"][0]["step"]
    expect("prefill", (prefill["phase"], prefill["number"], prefill["tokens"]), ("prefill", 1, 16))

    several(path, decode)

    nodes = brick_json("tree", "--json", "--nodes", path)["trees"][0]["tree"]
    brick_node = nodes["children"][0]["children"][1]["children"][1]
    expect("operations", [child["name"] for child in brick_node["children"]], ["MUL_MAT Qcur-1"])

    text = brick("tree", path)[0].decode()
    expect_true("branches", "├── GraphCompute" in text and "│   │   ├── RmsNorm" in text and
                "└── unattributed" in text)
    expect_true("elements", "(512 elem)" in text)
    expect_true("operations only when asked", "Qcur" not in text and
                "MUL_MAT Qcur-1" in brick("tree", "--nodes", path)[0].decode())
    shallow = brick("tree", "--depth", "1", path)[0].decode()
    expect_true("depth", "GraphCompute" in shallow and "Layer" not in shallow)
    ascii_text = brick("tree", path, LC_ALL="C")[0].decode("ascii")
    expect_true("ASCII branches", "|-- GraphCompute" in ascii_text and "`-- " in ascii_text)
    no_wider(60, "--nodes", path)
    deep()


main()
