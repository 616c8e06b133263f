# SPDX-License-Identifier: Apache-2.0
"""
brick/device.h on Vulkan (lavapipe): bricks of an engine's own command buffers in all four modes,
confirmed by the engine's own timestamps around the same work.
"""
import collections
import csv
import io
import os
import statistics
import subprocess
import sys

from libcli import BUILD, TMP, brick, brick_json, environment, expect, expect_true

EMBED = os.path.join(BUILD, "bin", "program-vulkan_embed")
COUNT = 8  # of each brick: four steps of two layers


def run(mode, **changes):
    path = os.path.join(TMP, f"{mode}.pftrace")
    done = subprocess.run([EMBED, mode, path], capture_output=True, text=True, timeout=120,
                          env=environment(**changes))
    if done.returncode == 77:
        print("no Vulkan driver")
        sys.exit(77)
    expect(f"{mode}: exit code ({done.stderr})", done.returncode, 0)
    own = collections.defaultdict(list)
    for line in done.stdout.splitlines():
        if len(line.split()) == 2 and line.split()[1].isdigit():
            own[line.split()[0]].append(float(line.split()[1]))
    expect_true(f"{mode}: {done.stdout}", set(own) == {"UpProjection", "RmsNorm"})
    rows = csv.DictReader(io.StringIO(brick("export", "--format", "csv", path)[0].decode()))
    lengths = collections.defaultdict(list)
    for row in rows:
        if row["source"] != "tsc":
            lengths[row["brick"]].append(float(row["duration_ns"]))
    return own, lengths, brick_json("report", "--json", path), done.stdout + done.stderr


def main():
    if not os.path.exists(EMBED):
        print("built without Vulkan's headers or glslang")
        sys.exit(77)
    for mode, source in (("deferred", "timestamp-query"), ("per-layer", "timestamp-query"),
                         ("immediate", "timestamp-query")):
        own, lengths, report, _ = run(mode)
        rows = {row["name"]: row for row in report["bricks"]}
        for name, times in own.items():
            expect(f"{mode}: {name}", len(lengths[name]), COUNT)
            # What is timed holds what the engine timed; somebody may come in between now and then.
            more = [ours - theirs for ours, theirs in zip(lengths[name], times)]
            expect_true(f"{mode}: {name} {lengths[name]}, its own {times}", min(more) >= -1)
            expect_true(f"{mode}: {name} {lengths[name]}, its own {times}",
                        statistics.median(more) <= statistics.median(times) * 0.02 + 50000)
            expect_true(f"{mode}: {name}, all: {rows[name]['device_ns']}, {lengths[name]}",
                        abs(rows[name]["device_ns"] - sum(lengths[name])) <= COUNT)
            expect(f"{mode}: source", rows[name]["source"], source)
        waits = rows.get("Synchronize", {"count": 0})["count"]
        expect(f"{mode}: synchronisations", waits, {"deferred": 0, "per-layer": COUNT,
                                                    "immediate": 4 * COUNT // 2}.get(mode))
        lost = {k: v for k, v in report["losses"].items() if k != "complete" and v}
        expect(f"{mode}: losses", lost, {})
    _, _, report, _ = run("none")
    expect("none records nothing", report["bricks"], [])
    layer = "/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json"
    if os.path.exists(layer):
        _, _, _, text = run("deferred", VK_INSTANCE_LAYERS="VK_LAYER_KHRONOS_validation")
        expect_true(f"validation: {text}", "alidation" not in text)


main()
