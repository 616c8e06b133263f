# SPDX-License-Identifier: Apache-2.0
"""
Single steps on the page: what it holds of them is what `brick report --steps N`, `brick tree` and
`brick export` say; in a browser any can be opened, compared and zoomed into (tests/html/single.mjs);
and the page of `brick diff`.
"""
import base64
import csv
import io
import json
import os
import shutil
import subprocess
import sys

from libcli import BRICK, BUILD, TMP, brick, brick_json, environment, expect, expect_true, recording
from libhtml import DEMO, DEVICE, MODULES, need_browser, page_of

COMPARED = os.path.join(BUILD, "bin", "program-compare_recording")


def unpack(text):
    values, value, shift = [], 0, 0
    for byte in base64.b64decode(text):
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            values.append(value)
            value = shift = 0
    return values


def make(path, name):
    out = os.path.join(TMP, name)
    brick("report", path, "--html", out)
    return page_of(out)[0]


def write(name, value):
    with open(os.path.join(TMP, name), "w") as file:
        json.dump(value, file)


def report_of(path, number):
    return brick_json("report", "--json", "--phase", "all", "--steps", str(number), path)


def parts_add_up(path, page, numbers):
    """Each step by brick, and the sum of all."""
    each = page["each"]
    listed = unpack(each["number"])
    parts = unpack(each["brick_ns"])
    rest = unpack(each["unattributed_ns"])
    total = unpack(each["total_ns"])
    names = [row["name"] for row in page["report"]["bricks"][:each["bricks"]]]
    width = len(names) + 3  # all others, preempted, blocked
    expect("columns", len(parts), len(listed) * width)
    for i, number in enumerate(listed):
        expect(f"step {number}", sum(parts[i * width:(i + 1) * width]) + rest[i], total[i])
    for number in numbers:
        i = listed.index(number)
        report = report_of(path, number)
        wall = {row["name"]: row["wall_ns"] for row in report["bricks"]}
        for k, name in enumerate(names):
            expect(f"{name} in step {number}", parts[i * width + k], wall.get(name, 0))
    return listed


def trees_are_those(path, page, few):
    """Packed trees are those of `brick tree`, without operations."""
    trees = page["trees"]
    expect_true("steps with packed trees", len(trees["others"]) >= few)
    for other in trees["others"][::max(1, len(trees["others"]) // few)]:
        shape = unpack(trees["shapes"][other["shape"]])
        times, selves = unpack(other["time_ns"]), unpack(other["self_ns"])
        got = [(trees["names"][shape[i + 1]], trees["kinds"][shape[i + 2]], shape[i + 4], times[i // 5], selves[i // 5])
               for i in range(0, len(shape), 5)]
        want = []

        def walk(node):
            want.append((node["name"], node["kind"], node["count"], node["time_ns"], node["self_ns"]))
            for inner in node["children"]:
                walk(inner)
        walk(brick_json("tree", "--json", "--step", str(other["number"]), path)["trees"][0]["tree"])
        expect(f"tree of step {other['number']}", sorted(got), sorted(want))


def slices_are_samples(path, page):
    """Each slice is a sample of the recording; every window holds all that begin in it."""
    line = page["timeline"]
    rows = list(csv.DictReader(io.StringIO(brick("export", "--format", "csv", path)[0].decode())))
    begins = sorted((int(row["begin_ns"]), int(row["duration_ns"]), row["brick"]) for row in rows)
    everything = set(begins)
    count = 0
    for window in line["windows"]:
        inside = 0
        for lane in window["lanes"]:
            flat, at = unpack(lane["slices"]), 0
            expect("slices", len(flat), 5 * lane["count"])
            for i in range(0, len(flat), 5):
                at += flat[i]
                name = line["names"][line["sites"]["brick"][flat[i + 2]]]
                expect_true(f"{name} at {at} is a sample", (at, flat[i + 1], name) in everything)
                inside += window["begin_ns"] <= at < window["end_ns"]
        expect("all samples of a window", inside,
               sum(window["begin_ns"] <= begin < window["end_ns"] for begin, _, _ in begins))
        count += inside
    return count


def columns_are_time(page):
    """What a lane's columns say of its time in bricks is about what its report says."""
    columns = page["timeline"]["columns"]
    for lane in columns["lanes"]:
        percent, bricks = unpack(lane["percent"]), unpack(lane["brick"])
        expect("columns", (len(percent), len(bricks)), (columns["count"], columns["count"]))
        expect_true("a share", all(0 <= p <= 100 for p in percent))
        expect_true("named where there is something", all(b for p, b in zip(percent, bricks) if p))


def many_steps(path):
    """Too many for the page: it says how many it holds, and what it holds is right."""
    page = make(path, "many.html")
    expect_true("not all with samples", len(page["timeline"]["windows"]) < page["each"]["of"])
    expect("all by brick", page["each"]["count"], page["each"]["of"])
    listed = unpack(page["each"]["number"])
    parts_add_up(path, page, [listed[0], listed[len(listed) // 2], listed[-1]])
    trees_are_those(path, page, 2)


def steps_for_browser(path, numbers):
    steps = []
    for number in numbers:
        tree = brick_json("tree", "--json", "--step", str(number), path)["trees"][0]["tree"]
        text = brick("export", "--format", "csv", "--steps", str(number), path)[0].decode()
        steps.append({"number": number, "report": report_of(path, number), "tree": tree,
                      "samples": [row["brick"] for row in csv.DictReader(io.StringIO(text))]})
    write("steps.json", steps)


def compared():
    sides = [[], []]
    for i in range(4):
        for side, more in ((0, []), (1, ["20", "KernelWithAVeryLongName" * 4])):
            path = os.path.join(TMP, f"{'ab'[side]}{i}.pftrace")
            subprocess.run([COMPARED, path, *more], check=True, timeout=600)
            sides[side].append(path)
    out = os.path.join(TMP, "diff.html")
    done = subprocess.run([BRICK, "diff", "--disturbed", "--html", out, "--json", *sides[0], "--", *sides[1]],
                          capture_output=True, env=environment(), timeout=600)
    expect_true(f"diff: {done.stderr!r}", done.returncode in (0, 1))
    text = done.stdout
    write("diff.json", json.loads(text))
    page, _, _ = page_of(out)
    expect("schema", page["schema"], "brick/diff-page/2")
    expect("the same comparison", page["diff"], json.loads(text))
    for phase, part in page["diff"]["phases"].items():
        cells = page["layers"][phase]
        for side, key in ((2, "a_ns"), (3, "b_ns")):
            for row in part["bricks"]:
                own = sum(c[side] for c in cells if page["bricks"][c[1]] == row["name"])
                # of a prefill's few steps the page takes the mean: one that was held up shows
                if phase == "decode" and row["name"] == "DownProjection" and row[key]:
                    expect_true(f"{phase} {row['name']}: {own} and {row[key]}",
                                0.5 < own / row[key] < 2)


def main():
    chromium = need_browser()
    path = recording("single.pftrace")
    page = make(path, "single.html")
    listed = parts_add_up(path, page, unpack(page["each"]["number"])[:6])
    expect("each step", len(listed), page["each"]["of"])
    expect_true("slices", slices_are_samples(path, page) > 20)
    expect("of each step", len(page["timeline"]["windows"]), len(listed))
    columns_are_time(page)
    many = os.path.join(TMP, "many.pftrace")
    subprocess.run([DEMO, many, "300000", "32", "2"], check=True, timeout=600)
    many_steps(many)
    device = os.path.join(TMP, "device.pftrace")
    subprocess.run([DEVICE, device, "20"], check=True, timeout=600, stdout=subprocess.DEVNULL)
    columns_are_time(make(device, "device.html"))
    phases = unpack(page["each"]["phase"])
    decode = [n for n, p in zip(listed, phases) if page["each"]["phases"][p] == "decode"]
    # in a step that others preempted, samples are too narrow to be drawn
    lengths = {int(row["name"].split()[-1]): row["step_ns"]
               for row in brick_json("report", "--by", "step", "--json", path)["each_step"] if row["step_ns"] is not None}
    third = len(decode) // 3
    steps_for_browser(path, [min(part, key=lengths.get) for part in (decode[:third], decode[-third:-1], decode[third:-third])])
    for phase in ("prefill", "decode"):
        write(f"threads-{phase}.json",
              brick_json("report", "--json", "--by", "thread", "--phase", phase, path))
    compared()
    script = os.path.join(os.environ["BRICK_SOURCE"], "tests", "html", "single.mjs")
    done = subprocess.run([shutil.which("node"), script, MODULES, chromium, TMP], timeout=600,
                          capture_output=True, text=True)
    sys.stdout.write(done.stdout)
    if done.returncode:
        sys.exit(done.stderr[-4000:])


main()
