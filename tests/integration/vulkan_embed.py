# SPDX-License-Identifier: Apache-2.0
"""
brick/device.h on Vulkan (lavapipe): bricks of an engine's own command buffers in all four modes,
confirmed by the engine's own timestamps around the same work.
"""
import csv
import io
import os
import re
import subprocess
import sys

from libcli import BUILD, TMP, brick, brick_json, environment, expect, expect_true

BLOCKED = os.path.join(BUILD, "bin", "program-vulkan_blocked")
EMBED = os.path.join(BUILD, "bin", "program-vulkan_embed")
BRICK = os.path.join(BUILD, "bin", "brick")
COUNT = 8  # of each brick: four steps of two layers


def run(mode, *before, **changes):
    """What the program says, what the recording says: (brick, begin, length) in order; its report."""
    path = os.path.join(TMP, f"{mode}.pftrace")
    if before:
        before = [*before, "-q", "-o", path, "--"]
    done = subprocess.run([*before, EMBED, mode, path], capture_output=True, text=True, timeout=600,
                          env=environment(**changes))
    if done.returncode == 77:
        print("no Vulkan driver")
        sys.exit(77)
    expect(f"{mode}: exit code ({done.stderr})", done.returncode, 0)
    lines = [line.split() for line in done.stdout.splitlines()]
    own = [(line[0], float(line[1]), float(line[2])) for line in lines if len(line) == 3]
    rows = csv.DictReader(io.StringIO(brick("export", "--format", "csv", path)[0].decode()))
    found = [(row["brick"], float(row["begin_ns"]), float(row["duration_ns"])) for row in rows
             if row["source"] != "tsc"]
    found.sort(key=lambda command: command[1])
    return own, found, brick_json("report", "--json", path), done.stdout + done.stderr


def slack_ns(report):
    """How far the line between the clocks may move (brick/correlation.h)."""
    notes = [note["value"] for note in report["run"]["notes"] if note["key"] == "vulkan.clock"]
    return 3 * max(int(re.search(r"residual (\d+) ns", note).group(1)) for note in notes) + 10


def check_times(mode, own, found, slack):
    """
    Each brick holds what the engine timed, and nothing of the next one. Its length was placed on the host's
    clock: of 363 ms, in which the device had no CPU, by a line right within 20 us, 5 us were missing.
    """
    expect(f"{mode}: bricks", [name for name, _, _ in found], [name for name, _, _ in own])
    expect(f"{mode}: of each", len(own), 2 * COUNT)
    for ours, theirs in zip(found, own):
        expect_true(f"{mode}: {ours}, its own {theirs}, {slack}", ours[2] >= theirs[2] - slack)
    # There is one distance between the clocks at which all of them do.
    least = max(ours[1] - theirs[1] for ours, theirs in zip(found, own))
    most = min(ours[1] + ours[2] - theirs[1] - theirs[2] for ours, theirs in zip(found, own))
    apart = max([least, *(ours[1] + ours[2] - after[1] for ours, after in zip(found, own[1:]))])
    expect_true(f"{mode}: clocks apart by {least}, {apart} to {most}: {found}, {own}",
                apart <= most + slack)


def check_report(mode, report, found):
    rows = {row["name"]: row for row in report["bricks"]}
    for name in ("UpProjection", "RmsNorm"):
        total = sum(length for brick_name, _, length in found if brick_name == name)
        expect_true(f"{mode}: {name}, all: {rows[name]['device_ns']}, {total}",
                    abs(rows[name]["device_ns"] - total) <= COUNT)
        expect(f"{mode}: source", rows[name]["source"], "timestamp-query")
    waits = rows.get("Synchronize", {"count": 0})["count"]
    expect(f"{mode}: synchronisations", waits,
           {"deferred": 0, "per-layer": COUNT, "immediate": 4 * COUNT // 2}[mode])
    lost = {k: v for k, v in report["losses"].items() if k != "complete" and v}
    expect(f"{mode}: losses", lost, {})


def check_recorded(mode, alone):
    """Under `brick record`: what the engine asks of the driver itself, and nothing of the backend's."""
    own, found, report, _ = run(mode, BRICK, "record", "--mode", mode)
    check_times(f"recorded {mode}", own, found, slack_ns(report))
    counts = [{row["name"]: row["count"] for row in rep["bricks"]} for rep in (alone, report)]
    submits = {"deferred": 5, "per-layer": 5 + COUNT, "immediate": 5 + 4 * COUNT}[mode]
    expect(f"recorded {mode}: launches", counts[1]["Launch"], counts[0]["Launch"] + submits)
    expect(f"recorded {mode}: synchronisations", counts[1]["Synchronize"],
           counts[0].get("Synchronize", 0) + 1)  # until the device is idle, at the end
    lost = {k: v for k, v in report["losses"].items() if k != "complete" and v}
    expect(f"recorded {mode}: losses", lost, {})


def blocked(what, **changes):
    """The queue waits for what the program does after a drain: it ends, and the brick is timed."""
    path = os.path.join(TMP, f"{what}.pftrace")
    done = subprocess.run([BLOCKED, what, path], capture_output=True, text=True, timeout=600,
                          env=environment(**changes))
    expect(f"{what}: it ends, one brick", (done.returncode, done.stdout, done.stderr), (0, "1\n", ""))
    report = brick_json("report", "--json", path)
    lost = {k: v for k, v in report["losses"].items() if k != "complete" and v}
    expect(f"{what}: losses", lost, {})


def main():
    if not os.path.exists(EMBED):
        print("built without Vulkan's headers or glslang")
        sys.exit(77)
    for mode in ("deferred", "per-layer", "immediate"):
        own, found, report, _ = run(mode)
        check_times(mode, own, found, slack_ns(report))
        check_report(mode, report, found)
        check_recorded(mode, report)
    _, _, report, _ = run("none")
    expect("none records nothing", report["bricks"], [])
    # What the engine only runs timers in, which record nothing, is left to the layer.
    _, found, _, _ = run("timer", BRICK, "record")
    expect("kernels between timers", len(found), 2 * COUNT)
    blocked("drain")
    blocked("open")
    layer = "/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json"
    if os.path.exists(layer):
        _, _, _, text = run("deferred", VK_INSTANCE_LAYERS="VK_LAYER_KHRONOS_validation")
        expect_true(f"validation: {text}", "alidation" not in text)
        blocked("drain", VK_INSTANCE_LAYERS="VK_LAYER_KHRONOS_validation")


main()
