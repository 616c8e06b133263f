# SPDX-License-Identifier: Apache-2.0
"""
Bricks that an engine times on a device (brick/device.h) keep step, layer and brick after they are
measured. On PoCL and lavapipe, in all four modes: sums per layer and brick are those of the events,
within 10 ns an event, in report, tree and graph; every kernel stands under its brick and layer; the
engine's own wait lets the device's work onto the path.
"""
import collections
import csv
import io
import json
import os
import subprocess
import sys

from libcli import BUILD, TMP, brick, brick_json, environment, expect, expect_true

WITHIN_NS = 10
STEPS, LAYERS = 4, 2
BRICKS = ("UpProjection", "RmsNorm")
CATEGORIES = {"UpProjection": "FFN", "RmsNorm": "Norm"}
SOURCES = {"opencl": "device-event", "vulkan": "timestamp-query"}


def run(what, mode):
    """The program's own events where it has the same as Brick, what it says; commands recorded. None: no driver."""
    program = os.path.join(BUILD, "bin", {"opencl": "program-opencl_layers", "vulkan": "program-vulkan_embed"}[what])
    path = os.path.join(TMP, f"{what}-{mode}.pftrace")
    if not os.path.exists(program):
        return None
    done = subprocess.run([program, mode, path], capture_output=True, text=True, timeout=600, env=environment())
    if done.returncode == 77:
        return None
    expect(f"{what}, {mode}: exit code ({done.stderr})", done.returncode, 0)
    own = [line.split() for line in done.stdout.splitlines()]
    rows = csv.DictReader(io.StringIO(brick("export", "--format", "csv", path)[0].decode()))
    found = [(row["brick"], int(row["layer"]), int(float(row["begin_ns"])), int(float(row["duration_ns"])))
             for row in rows if row["source"] == SOURCES[what]]
    return path, own, sorted(found, key=lambda command: command[2])


def same(what, got, wanted, events):
    expect_true(f"{what}: {got}, the events say {wanted}", abs(got - wanted) <= WITHIN_NS * events)


def sums(commands):
    total = collections.Counter()
    for name, layer, _, length in commands:
        total[name, layer] += length
    return total


def check_own(what, own, found):
    """Each as long as the program's own event, by the line that placed it on the host's clock."""
    events = [(line[0], int(line[1]), int(line[3])) for line in own if line[0] != "stats"]
    expect(f"{what}: bricks and layers", [c[:2] for c in found], [e[:2] for e in events])
    for command, event in zip(found, events):
        line_ns = event[2] // 20000  # a clock's rate, known within 50 ppm
        expect_true(f"{what}: {command}, its event {event}", abs(command[3] - event[2]) <= WITHIN_NS + line_ns)
    stats = {line[1]: (int(line[2]), int(line[3])) for line in own if line[0] == "stats"}
    for name in BRICKS:
        count, total = stats[CATEGORIES[name]]
        wanted = sum(c[3] for c in found if c[0] == name)
        expect(f"{what}: {CATEGORIES[name]}, count", count, STEPS * LAYERS)
        # by the clock as it was then; the recording's line is drawn at the end
        expect_true(f"{what}: {CATEGORIES[name]}, category statistics: {total}, {wanted}",
                    abs(total - wanted) <= WITHIN_NS * count + wanted // 20000)


def check_report(what, path, found):
    report = brick_json("report", "--json", path)
    rows = {row["name"]: row for row in report["bricks"]}
    wall_ns, tokens = report["coverage"]["wall_ns"], report["steps"]["decode"]["tokens"]
    for name in BRICKS:
        lengths = sorted(c[3] for c in found if c[0] == name)
        row = rows[name]
        expect(f"{what}: {name}, count", row["device_count"], len(lengths))
        same(f"{what}: {name}", row["device_ns"], sum(lengths), len(lengths))
        same(f"{what}: {name}, each", row["avg_ns"], sum(lengths) // len(lengths), 1)
        same(f"{what}: {name}, a token", row["device_token_ns"], sum(lengths) // tokens, len(lengths))
        same(f"{what}: {name}, shortest", row["min_ns"], lengths[0], 1)
        same(f"{what}: {name}, longest", row["max_ns"], lengths[-1], 1)
        expect_true(f"{what}: {name}, median {row['p50_ns']} of {lengths}",
                    0.99 * lengths[0] <= row["p50_ns"] <= 1.01 * lengths[-1])
    layers = {row["layer"]: row for row in brick_json("report", "--json", "--by", "layer", path)["layers"]}
    for layer in range(LAYERS):
        lengths = [c[3] for c in found if c[1] == layer]
        same(f"{what}: layer {layer}", layers[layer]["device_ns"], sum(lengths), len(lengths))
    text = brick("report", "--columns", "name,count,share,token_ns,avg_ns,min_ns,p50_ns,max_ns", path)[0].decode()
    for name in BRICKS:
        line = next(line for line in text.splitlines() if line.startswith(name)).split()
        share = 100 * sum(c[3] for c in found if c[0] == name) / wall_ns
        expect_true(f"{what}: {line}", len(line) == 8 and "-" not in line and int(line[1]) == STEPS * LAYERS)
        expect_true(f"{what}: {line}, {share}", abs(float(line[2].strip("<%")) - share) < 0.2)


def kernels_of_tree(node, above=()):
    here = above + ((node["kind"], node["name"], node["layer"]),)
    if node["kind"] == "kernel":
        yield here, node
    for child in node["children"]:
        yield from kernels_of_tree(child, here)


def check_tree(what, path, found):
    total, count = collections.Counter(), 0
    for step in range(1, STEPS + 1):
        tree = brick_json("tree", "--json", "--step", str(step), path)["trees"][0]["tree"]
        for place, kernel in kernels_of_tree(tree):
            expect(f"{what}: where a kernel stands", [kind for kind, _, _ in place], ["root", "layer", "brick", "kernel"])
            name, layer = place[2][1], place[1][2]
            total[name, layer] += kernel["device_ns"]
            count += kernel["count"]
        same(f"{what}: tree of step {step}", tree["device_ns"],
             sum(k["time_ns"] for _, k in kernels_of_tree(tree)), 4)
    expect(f"{what}: kernels in trees", count, len(found))
    for key, ns in sums(found).items():
        same(f"{what}: {key} in trees", total[key], ns, STEPS)


def check_graph(what, path, found):
    graph = brick_json("graph", "--format", "json", path)
    nodes = {node["id"]: node for node in graph["nodes"]}
    holder = {}
    for edge in graph["edges"]:
        if edge["kind"] == "contains" or (edge["kind"] == "launches" and nodes[edge["from"]]["lane"] ==
                                          nodes[edge["to"]]["lane"]):
            holder[edge["to"]] = edge["from"]
    total, count = collections.Counter(), 0
    for node in graph["nodes"]:
        if node["kind"] != "kernel":
            continue
        above = nodes[holder[node["id"]]]
        layer = nodes[holder[above["id"]]]
        expect(f"{what}: a kernel's brick and layer", (above["kind"], layer["kind"]), ("brick", "layer"))
        expect(f"{what}: its names", (node["name"], above["time_ns"]), (above["name"], node["time_ns"]))
        total[above["name"], layer["layer"]] += node["time_ns"]
        count += 1
    expect(f"{what}: kernels in the graph", count, len(found))
    for key, ns in sums(found).items():
        same(f"{what}: {key} in the graph", total[key], ns, STEPS)


def check_path(what, path):
    """With switches off the CPU recorded: where the engine itself waited, the device is on the path."""
    section = brick_json("path", "--json", path)["sections"][0]
    known = section["known"] if "known" in section else section["counts"]
    rows = {row["name"]: row for row in section["bricks"]}
    on_path = sum(rows[name]["on_path_ns"] for name in BRICKS if name in rows)
    busy = sum(rows[name]["all_threads_ns"] if "all_threads_ns" in rows[name] else rows[name]["own_ns"]
               for name in BRICKS if name in rows)
    blocked = rows.get("blocked", {"on_path_ns": 0})["on_path_ns"]
    expect_true(f"{what}: {on_path} of {busy} on the path, blocked {blocked}, {known}",
                on_path > busy / 2 or known["beneath_ns"] > (busy - on_path) / 4 or not blocked)


def main():
    tried = 0
    for what in "opencl", "vulkan":
        for mode in "deferred", "per-layer", "immediate", "none":
            got = run(what, mode)
            if not got:
                print(f"{what}: not tried: no such device")
                break
            tried += 1
            path, own, found = got
            title = f"{what}, {mode}"
            if mode == "none":
                expect(f"{title}: nothing", found, [])
                continue
            expect(f"{title}: commands", len(found), STEPS * LAYERS * 2)
            if what == "opencl":
                check_own(title, own, found)
            check_report(title, path, found)
            check_tree(title, path, found)
            check_graph(title, path, found)
            check_path(title, path)
    return 0 if tried else 77


if __name__ == "__main__":
    sys.exit(main())
