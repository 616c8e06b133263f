# SPDX-License-Identifier: Apache-2.0
"""Recordings of CUDA programs on a real GPU: the same output as alone, every launch a kernel on the
device, parents also under graph replay, nothing lost. check.py OUT [PART...]; environment BRICK_BUILD."""
import json
import os
import re
import subprocess
import sys
from collections import Counter

BUILD = os.environ["BRICK_BUILD"]
BRICK = os.path.join(BUILD, "bin", "brick")
PROGRAM = os.path.join(BUILD, "bin", "program-cuda_work")
LIMITS = os.path.join(BUILD, "bin", "program-cuda_limits")
ROUNDING_NS = 32  # of the device's time stamps
failures = []


def expect(what, found, wanted):
    print(f"{'ok   ' if found == wanted else 'FAIL '} {what}: {str(found).strip()[:100]}")
    if found != wanted:
        failures.append(what)
        print(f"      found  {found}\n      wanted {wanted}")


def record(out, *arguments, program=PROGRAM, options=()):
    path = os.path.join(out, "-".join(arguments) + ".pftrace")
    alone = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    run = subprocess.run([BRICK, "record", "-o", path, *(options or ["--cuda", "full"]), "--", program, *arguments],
                         capture_output=True, text=True, check=False)
    label = " ".join(arguments)
    expect(f"{label}: output", run.stdout, alone.stdout)
    expect(f"{label}: exit code", run.returncode, alone.returncode)
    trace = json.loads(subprocess.check_output([BRICK, "export", "--format", "json", path]))
    report = json.loads(subprocess.check_output([BRICK, "report", "--json", path]))
    return label, trace, report


def commands(trace):
    fields = trace["sample_fields"]
    names = [brick["name"] for brick in trace["bricks"]]
    found = []
    for lane in trace["lanes"]:
        if lane["kind"] != "queue":
            continue
        for values in lane["samples"]:
            sample = dict(zip(fields, values))
            site = trace["sites"][sample["site"]]
            found.append((sample["begin_ns"], sample["end_ns"], names[site["brick"]],
                          site["layer"], lane["name"]))
    return sorted(found)


def launches(trace):
    fields = trace["sample_fields"]
    launch = next(i for i, b in enumerate(trace["bricks"]) if b["name"] == "Launch")
    return [dict(zip(fields, values)) for lane in trace["lanes"] if lane["kind"] != "queue"
            for values in lane["samples"]
            if trace["sites"][dict(zip(fields, values))["site"]]["brick"] == launch]


def of_bricks(found):
    return [(c[2], c[3]) for c in found if c[2] in ("RmsNorm", "QkvProjection", "LmHead", "DownProjection")]


def common(label, trace, report, unknown_nodes=0):
    notes = {note["key"]: note["value"] for note in trace["notes"]}
    print("     ", notes.get("cuda"), "|", notes.get("cuda.records"), "|", notes.get("cuda.clock"))
    expect(f"{label}: traced", notes.get("cuda", "").startswith("activity records"), True)
    expect(f"{label}: losses", {k: report["losses"][k] for k in ("dropped", "clamped")},
           {"dropped": 0, "clamped": 0})
    text = notes.get("cuda.records", "")
    expect(f"{label}: calls and nodes all known",
           f"; 0 commands without their call, {unknown_nodes} graph nodes unknown" in text, True)
    found = commands(trace)
    residual = int(re.search(r"residual (\d+)", notes.get("cuda.clock", "residual 0")).group(1))
    calls = launches(trace)
    expect(f"{label}: there are launches", bool(calls), True)
    first = min((call["begin_ns"] for call in calls), default=2 ** 63)
    early = [c for c in found if c[0] + residual < first]
    expect(f"{label}: commands before the first launch", len(early), 0)
    return found


def check_order(label, trace, wanted):
    """What comes after an event begins after what that stands for has ended: both are the device's."""
    fields, times = trace["sample_fields"], []
    rows = [dict(zip(trace["command_fields"], values)) for values in trace["commands"]]
    for row in rows:
        sample = dict(zip(fields, trace["lanes"][row["lane"]]["samples"][row["sample"]]))
        times.append((sample["begin_ns"], sample["end_ns"]))
    pairs = [(times[i][0], times[before][1]) for i, row in enumerate(rows) for before in row["after"]]
    expect(f"{label}: commands behind events", len(pairs), wanted)
    expect(f"{label}: of them too early", [pair for pair in pairs if pair[0] < pair[1] - ROUNDING_NS], [])


def plain(out):
    label, trace, report = record(out, "plain", "20")
    found = common(label, trace, report)
    expect(f"{label}: kernels", of_bricks(found), 20 * [
        ("RmsNorm", 0), ("QkvProjection", 0), ("RmsNorm", 1), ("QkvProjection", 1)])
    rows = json.loads(subprocess.check_output([BRICK, "report", "--by", "kernel", "--json",
                                               os.path.join(out, "plain-20.pftrace")]))
    print(json.dumps(rows["kernels"], indent=1)[:2000])


def graph(out):
    label, trace, report = record(out, "graph", "50")
    expect(f"{label}: kernels", of_bricks(common(label, trace, report)), 50 * [
        ("RmsNorm", 3), ("QkvProjection", 3), ("RmsNorm", 4), ("QkvProjection", 4)])


def streams(out):
    label, trace, report = record(out, "streams", "400")
    found = common(label, trace, report)
    expect(f"{label}: kernels", len(of_bricks(found)), 800)
    expect(f"{label}: streams", len({c[4] for c in found}), 5)


def events(out):
    label, trace, report = record(out, "events", "50")
    common(label, trace, report)
    check_order(label, trace, 50 + 49 + 1 + 2 + 1)  # adds, scales, a copy, a graph of two, a scale


def threads(out):
    label, trace, report = record(out, "threads", "500")
    expect(f"{label}: kernels", len(of_bricks(common(label, trace, report))), 4 * 500 * 2)


def many(out):
    count = os.environ.get("LAUNCHES", "100000")
    label, trace, report = record(out, "many", count)
    kernels = [c for c in common(label, trace, report) if c[2] == "scale"]
    expect(f"{label}: kernels", len(kernels), int(count))
    overlaps = [a[1] - b[0] for a, b in zip(kernels, kernels[1:]) if b[0] < a[1] - ROUNDING_NS]
    expect(f"{label}: overlaps", len(overlaps), 0)


def early(out):
    label, trace, report = record(out, "early", "20")
    common(label, trace, report)


def killed(out):
    """What had been delivered until then is there; a machine that does other things may take longer to begin."""
    path = os.path.join(out, "killed.pftrace")
    for seconds in ("3", "10", "30"):
        run = subprocess.run([BRICK, "record", "-q", "-o", path, "--", "timeout", "-s", "KILL", seconds, PROGRAM,
                              "many", "1000000000"], capture_output=True, text=True, check=False)
        report = json.loads(subprocess.check_output([BRICK, "report", "--by", "kernel", "--json", path]))
        count = sum(row["count"] for row in report["kernels"])
        if count > 1000:
            break
    print(f"      {count} kernels of a program that was killed, exit code {run.returncode}")
    expect("killed: kernels", count > 1000, True)


def crowd(out):
    count = int(os.environ.get("CROWD", "200"))
    label, trace, report = record(out, "crowd", str(count), program=LIMITS, options=["--ring", "16384", "--cuda", "full"])
    found = Counter(of_bricks(common(label, trace, report)))
    wanted = Counter((name, i % 8) for i in range(count) for name in ("RmsNorm", "QkvProjection"))
    expect(f"{label}: kernels by brick and layer", found, Counter({k: 100 * n for k, n in wanted.items()}))


def wide(out):
    count = int(os.environ.get("WIDE", "100"))
    label, trace, report = record(out, "wide", str(count), program=LIMITS)
    expect(f"{label}: kernels", of_bricks(common(label, trace, report)),
           count * [(name, i) for i in range(250) for name in ("RmsNorm", "QkvProjection")])


def child(out):
    """The driver does not say which record is which node of a graph within: those of several parents have none."""
    label, trace, report = record(out, "child", "50", program=LIMITS)
    found = common(label, trace, report, unknown_nodes=50 * 2 * 4)
    expect(f"{label}: kernels", sum("copy" not in c[2] for c in found), 50 * 2 * 4)
    expect(f"{label}: of them with a parent", of_bricks(found), [])


def inside(out):
    """Where all have the same parent, it is known."""
    label, trace, report = record(out, "inside", "50", program=LIMITS)
    expect(f"{label}: kernels", Counter(of_bricks(common(label, trace, report))), {
        ("RmsNorm", 0): 50, ("QkvProjection", 0): 50, ("DownProjection", 3): 100})


def leave(out):
    """What had been delivered before _exit() is there."""
    label, trace, report = record(out, "leave", "50", program=LIMITS)
    found = len(of_bricks(commands(trace)))
    print(f"      {found - 100} of the last 2 kernels before _exit() as well")
    expect(f"{label}: kernels until 2 s before _exit()", min(found, 100), 100)


def fork(out):
    """The parent's kernels are told once, and by the parent; the child leaves as it would."""
    label, trace, report = record(out, "fork", "50", program=LIMITS)
    expect(f"{label}: kernels", of_bricks(common(label, trace, report)),
           100 * [("RmsNorm", 0), ("QkvProjection", 0)])
    expect(f"{label}: bricks of the child", sum(row["count"] for row in report["bricks"]
                                                if row["name"] == "Sampling"), 1)


def light(out):
    """Whole replays: as many kernels of each brick as in full, and the same times within the stated intervals."""
    os.environ["CUDA_WORK_PAUSE"] = "1"
    kernels = {}
    for detail in "full", "light":
        label, trace, report = record(out, "paced", "200", options=["--cuda", detail])
        expect(f"{label}: kernels, {detail}", Counter(of_bricks(common(label, trace, report))), {
            (name, i): 3 * 200 for name in ("RmsNorm", "QkvProjection") for i in (3, 4)})
        notes = {note["key"]: note["value"] for note in trace["notes"]}
        print("     ", notes.get("cuda.detail"), "|", notes.get("cuda.calibration"))
        expect(f"{label}: {detail} is had", notes.get("cuda.detail", "").split(":")[0], detail)
        rows = json.loads(subprocess.check_output([BRICK, "report", "--by", "kernel", "--json",
                                                   os.path.join(out, "paced-200.pftrace")]))["kernels"]
        kernels[detail] = {row["name"]: row for row in rows if row["kind"] == "compute"}
    expect("light: estimates", sorted({row["source"] for row in kernels["light"].values()}), ["device-activity+estimated"])
    for name, row in kernels["light"].items():
        full, error = kernels["full"][name]["device_ns"], row["device_error_ns"] or 0
        print(f"      {name}: full {full} ns, light {row['device_ns']} +- {error} ns")
        expect(f"light: {name} within 10 % of full, and the interval", abs(row["device_ns"] - full) <= 0.1 * full + error, True)


def main():
    parts = {part.__name__: part for part in (plain, graph, light, streams, events, threads, crowd, wide, child, inside, many,
                                              early, leave, fork, killed)}
    for name in sys.argv[2:] or parts:
        parts[name](sys.argv[1])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
