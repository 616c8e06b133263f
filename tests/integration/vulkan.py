# SPDX-License-Identifier: Apache-2.0
"""
The Vulkan layer on lavapipe: a program that times itself, programs not written here, the validation
layer without a message; the same output and exit code as without; times that the program's own
timestamps confirm; every submission's results on that submission.
"""
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys

from libcli import BUILD, TMP, brick, brick_json, environment, expect, expect_true, fail
from libgpus import check_gpus

WORK = os.path.join(BUILD, "bin", "program-vulkan_work")
BLOCKED = os.path.join(BUILD, "bin", "program-vulkan_blocked")
ORDER = os.path.join(BUILD, "bin", "program-vulkan_order")
NAMED = os.path.join(BUILD, "bin", "program-vulkan_named")


def run(*command, record=None, **changes):
    before = [os.path.join(BUILD, "bin", "brick"), "record", "-q", "-o", record, "--"] if record else []
    return subprocess.run([*before, *command], capture_output=True, env=environment(**changes),
                          timeout=600)


def commands(path):
    """Executions on queues: (name, begin, length), in ns, from the exported trace."""
    events = json.loads(brick("export", "--format", "chrome", path)[0])["traceEvents"]
    queues = {e["tid"] for e in events if e.get("ph") == "M" and "queue" in str(e["args"].get("name"))}
    return sorted((e["ts"] * 1e3, e["dur"] * 1e3, e["name"]) for e in events
                  if e.get("ph") == "X" and e["tid"] in queues)


def check_causes(path):
    """Nothing begins before its submission, or ends after the wait for it (one thread, one queue)."""
    rows = list(csv.DictReader(io.StringIO(brick("export", "--format", "csv", path)[0].decode())))
    waits = sorted((int(row["begin_ns"]), int(row["begin_ns"]) + int(row["duration_ns"]))
                   for row in rows if row["brick"] == "Synchronize")
    done = [row for row in rows if row["source"] == "timestamp-query"]
    expect_true("there are commands and waits", done and waits)
    for row in done:
        begin, launch = int(row["begin_ns"]), int(row["launch_ns"])
        over = [end for at, end in waits if at >= launch]
        expect_true(f"begins {launch - begin} ns before its launch: {row}", launch <= begin)
        expect_true(f"ends after the wait for it, {over[:1]}: {row}; waits {waits}",
                    not over or begin + int(row["duration_ns"]) <= over[0])


def own_times(path):
    with open(path, encoding="ascii") as lines:
        return [tuple(map(float, line.split())) for line in lines]


def check_times(path, times, slack):
    """Each dispatch lies inside of the program's own timestamps around it, and takes what it takes."""
    kernels = [c for c in commands(path) if c[2].startswith("main")]
    expect("kernels", len(kernels), len(times) + 2)
    for (_, length, _), (rounds, _, own) in zip(kernels, times):
        expect_true(f"{rounds:.0f} rounds: {length:.0f} ns, the program says {own:.0f}: {kernels}, "
                    f"{times}", length <= own + 1)
    # There is one distance between the clocks at which all of them do.
    least = max(begin + length - own_begin - own
                for (begin, length, _), (_, own_begin, own) in zip(kernels, times))
    most = min(begin - own_begin for (begin, _, _), (_, own_begin, _) in zip(kernels, times))
    expect_true(f"clocks apart by {least} to {most}: {kernels}, {times}", least <= most + slack)
    # No round is faster than the fastest that the program saw. Between its timestamps and ours
    # somebody may come in, but not for half of a dispatch in each of them.
    fastest = min(own / rounds for rounds, _, own in times)
    best = max(length / rounds for (_, length, _), (rounds, _, _) in zip(kernels, times))
    expect_true(f"rounds of at least {fastest} ns took {best} ns at most: {kernels}, {times}",
                best >= fastest / 2)
    ordered = commands(path)
    for one, two in zip(ordered, ordered[1:]):
        expect_true(f"{one} overlaps {two}: there are barriers between them",
                    one[0] + one[1] <= two[0] + 1)


def itself(**changes):
    path, times = os.path.join(TMP, "work.pftrace"), os.path.join(TMP, "times")
    plain = run(WORK)
    if plain.returncode == 77:
        print("no Vulkan driver")
        sys.exit(77)
    for _ in range(5):
        recorded = run(WORK, times, record=path, **changes)
        expect("output", (recorded.stdout, recorded.stderr, recorded.returncode),
               (plain.stdout, plain.stderr, 0))
        report = brick_json("report", "--by", "kernel", "--json", path)
        notes = {note["key"]: note["value"] for note in report["run"]["notes"]}
        residual = int(re.search(r"residual (\d+) ns", notes["vulkan.clock"]).group(1))
        if residual < 1000000:  # else the clock could not be read well: dispatches may swap places
            break
    check_causes(path)
    expect("GPUs", len(check_gpus(path)), 1)
    check_times(path, own_times(times), 3 * residual + 10)  # and what is lost in rounding to ticks
    rows = {row["name"]: row for row in report["kernels"]}
    kernel = next(row for name, row in rows.items() if name.startswith("main"))
    expect("dispatches", kernel["count"], 10)
    expect("source", kernel["source"], "timestamp-query")
    expect("copies", rows["vkCmdCopyBuffer"]["count"], 6)
    expect("bytes", rows["vkCmdCopyBuffer"]["bytes"], 6 * 4096)
    expect("fills", rows["vkCmdFillBuffer"]["count"], 1)
    lost = {k: v for k, v in report["losses"].items() if k != "complete" and v}
    expect("losses", lost, {})
    cost = report["distortion"]
    expect_true(f"the layer's own time is in the estimate: {cost}", cost["hooks"] and cost["hooks"] > 0)
    expect_true(f"what is not, is said: {cost}", "write timestamps is not in it" in cost["method"])
    expect_true("names the device", any(b.startswith("vulkan ") for b in report["run"]["backends"]))


def bounds():
    """A clock that is off by 300 µs, and said to be: nothing begins before its cause, all the same."""
    path, times = os.path.join(TMP, "bounds.pftrace"), os.path.join(TMP, "bounds")
    for planted in ("300000", "-300000"):
        recorded = run(WORK, times, record=path, BRICK_VULKAN_CALIBRATION=planted)
        expect("runs", (recorded.returncode, recorded.stderr), (0, b""))
        check_causes(path)
        check_times(path, own_times(times), 1e9)
        expect("losses", losses(path), {})


def validation():
    found = run("vulkaninfo", "--summary") if shutil.which("vulkaninfo") else None
    if not found or b"VK_LAYER_KHRONOS_validation" not in found.stdout:
        print("no validation layer: not tried under it")
        return
    path = os.path.join(TMP, "valid.pftrace")
    for command, count in (((WORK,), 10), ((ORDER, "batches"), 6), ((BLOCKED, "first"), 2)):
        for calibration in (None, "off"):
            done = run(*command, record=path, BRICK_VULKAN_CALIBRATION=calibration,
                       VK_INSTANCE_LAYERS="VK_LAYER_KHRONOS_validation")
            text = done.stdout + done.stderr
            expect_true(f"validation: {text}", done.returncode == 0 and b"alidation" not in text)
            expect("dispatches", len([c for c in commands(path) if c[2].startswith("main")]), count)


def plain_text(text):
    """vulkaninfo's answer without what lists layers, and without what memory is used now."""
    text = re.sub(rb"(?m)^\s*(usage|budget)\s*=.*$", b"", text)
    text = re.sub(rb"(?m)^Layers: count = \d+$", b"", text)
    return re.sub(rb"(?ms)^VK_LAYER_BRICK_profile.*?\n\n", b"", text)


def others():
    if shutil.which("vulkaninfo"):
        path = os.path.join(TMP, "info.pftrace")
        one, two = run("vulkaninfo"), run("vulkaninfo", record=path)
        expect("vulkaninfo's exit code", two.returncode, one.returncode)
        expect("vulkaninfo's messages", two.stderr, one.stderr)
        expect("vulkaninfo's answer", plain_text(two.stdout), plain_text(one.stdout))
    if shutil.which("vkcube") and shutil.which("xvfb-run"):
        path = os.path.join(TMP, "cube.pftrace")
        one = run("xvfb-run", "-a", "vkcube", "--c", "20")
        two = run("xvfb-run", "-a", "vkcube", "--c", "20", record=path)
        if one.returncode:
            print(f"vkcube does not run here: {one.stderr[-200:]!r}")
            return
        expect("vkcube", (two.returncode, two.stdout), (one.returncode, one.stdout))
        row = brick_json("report", "--by", "kernel", "--json", path)["kernels"][0]
        expect("a render pass a frame", (row["name"], row["count"]), ("render pass", 20))


def losses(path):
    found = brick_json("report", "--json", path)["losses"]
    return {k: v for k, v in found.items() if k != "complete" and v}


def order_of(path, *arguments):
    """What each command comes after, by their places in the order of begins; and the waits' places."""
    done = run(ORDER, *arguments, record=path)
    expect("runs", (done.returncode, done.stderr), (0, b""))
    trace = json.loads(brick("export", "--format", "json", path)[0])
    found = [dict(zip(trace["command_fields"], c)) for c in trace["commands"]]
    begins = [trace["lanes"][c["lane"]]["samples"][c["sample"]][
        trace["sample_fields"].index("begin_ns")] for c in found]
    place = {i: n for n, i in enumerate(sorted(range(len(found)), key=lambda i: begins[i]))}
    after = sorted((place[i], [place[j] for j in c["after"]]) for i, c in enumerate(found))
    waits = [dict(zip(trace["wait_fields"], w))["command"] for w in trace["waits"]]
    return [places for _, places in after], [place.get(i) for i in waits]


def order():
    """What waits for a semaphore comes after what signals it; the end of the program loses nothing."""
    path = os.path.join(TMP, "order.pftrace")
    after, waits = order_of(path)
    expect("what each comes after", after, [[], [0], [1], [], []])
    expect("the program waits for the third", waits, [2])
    expect("losses", losses(path), {})
    after, waits = order_of(path, "poll")
    expect("polled: no command but those", len(after), 8)
    expect_true("polled: waits in the order of what they are for", waits and waits == sorted(set(waits)))
    polls = [row for row in brick_json("report", "--json", path)["bricks"] if row["name"] == "Synchronize"]
    commands_ns = sum(length for _, length, _ in commands(path))
    expect_true(f"polled: the time is waiting: {polls}, commands took {commands_ns}",
                polls[0]["total_ns"] > 0.5 * commands_ns)
    for call in ("batches", "batches2"):
        after, _ = order_of(path, call)
        expect(f"{call}: what P, A, C, B, D and E come after", after,
               [[], [], [0], [1], [3], [4]])


def named():
    """By the program's labels where nothing else names a kernel, the innermost first; by its pipeline's name where there is one."""
    path = os.path.join(TMP, "named.pftrace")
    done = run(NAMED, record=path)
    expect("named: runs", (done.returncode, done.stderr), (0, b""))
    counts = {}
    for _, _, name in commands(path):
        counts[name.split(" (SPIR-V ")[0]] = counts.get(name.split(" (SPIR-V ")[0], 0) + 1
    expect("named: kernels", counts, {"main": 10, "attention": 8, "softmax": 6, "spin": 1})


def blocked():
    """Queues that wait for what the program does next: it ends, and all that it did is timed."""
    path = os.path.join(TMP, "blocked.pftrace")
    for what, calibration, count in (("first", None, 2), ("first", "off", 2), ("fork", None, 1),
                                     ("waits", None, 1)):
        done = run(BLOCKED, what, record=path, BRICK_VULKAN_CALIBRATION=calibration)
        expect(f"{what} runs", (done.returncode, done.stdout, done.stderr), (0, b"", b""))
        expect(f"{what}, calibration {calibration}: commands", len(commands(path)), count)
        expect(f"{what}, calibration {calibration}: losses", losses(path), {})


def without():
    """Switched off by its own variable, and not there for programs that are not recorded."""
    path = os.path.join(TMP, "off.pftrace")
    done = run(WORK, record=path, BRICK_VULKAN_DISABLE="1")
    expect("runs", done.returncode, 0)
    expect("nothing is recorded", commands(path), [])


def main():
    if not os.path.exists(WORK) or not os.path.exists(
            os.path.join(BUILD, "lib", "libbrick-vulkan.so")):
        print("built without Vulkan's headers or glslang")
        sys.exit(77)
    itself()
    itself(BRICK_VULKAN_CALIBRATION="off")
    bounds()
    validation()
    order()
    named()
    blocked()
    others()
    without()


main()
