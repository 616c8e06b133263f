# SPDX-License-Identifier: Apache-2.0
"""
All views of one recording say the same of it: text, JSON, CSV, the page, top, the metrics of serve,
the tree, the path and the roofline of twelve kinds of recordings, with preemption, waits, devices,
several phases and threads. SHARE, /TOKEN and WALL are compared row by row, with the rows of time in
no brick, and so is what a step took.

They also measure a brick's executions by the same basis: its time on the CPU, and of a wait all its
time. A brick sleeps, another one sleeps and says that this is what it is for.
"""
import csv
import io
import json
import os
import re
import subprocess
import sys

from libcli import BUILD, TMP, brick, brick_json, expect, expect_true
from libhtml import need_page, page_of
from libserve import Server, need_server
from libtop import keep_ceilings, rows as rows_of_screen

PROGRAM = os.path.join(BUILD, "bin", "program-off_cpu")
LENGTHS = ["avg_ns", "min_ns", "p50_ns", "p95_ns", "p99_ns", "max_ns"]
SLEEPS, WAITS, SPINS = "sleep-5ms", "sleep-as-wait-5ms", "spin-200us"


def numbers(row):
    """Exact statistics and samples differ by the rounding of a ns."""
    times = {key: row[key] and Near(row[key]) for key in LENGTHS}
    return {**times, **{key: row[key] for key in ("basis", "bytes_per_s", "count")}}


class Near(int):
    def __eq__(self, other):
        return isinstance(other, int) and abs(self - other) <= 1

    __hash__ = None


def record(name, *options):
    path = os.path.join(TMP, name)
    subprocess.run([PROGRAM, "0", path, *options], check=True, capture_output=True, timeout=600)
    return path


def one_basis(row):
    """Each number of a row is within what the others allow."""
    known = [row[key] for key in ("min_ns", "p50_ns", "p95_ns", "p99_ns", "max_ns")
             if row[key] is not None]
    expect(f"{row['name']}: in order", known, sorted(known))
    expect_true(f"{row['name']}: mean", row["min_ns"] <= row["avg_ns"] <= row["max_ns"])
    if row["bytes_per_s"]:
        # each has a step of its own, so that none lies beside another; a microsecond of rounding
        ns = row["bytes"] * 1e9 / row["bytes_per_s"] / row["count"]
        expect_true(f"{row['name']}: {row['bytes_per_s']} B/s is of {ns} ns, AVG {row['avg_ns']}",
                    abs(ns - row["avg_ns"]) <= 1000 + 0.01 * row["avg_ns"])


def basis_of_rows(rows):
    for row in rows.values():
        one_basis(row)
    asleep, waiting = rows[SLEEPS], rows[WAITS]
    expect("a brick that sleeps", asleep["basis"], "cpu")
    expect_true(f"on the CPU: {asleep}", asleep["max_ns"] < asleep["length_min_ns"])
    expect_true(f"its length: {asleep}", asleep["length_min_ns"] >= 5_000_000)
    expect_true("both add up", abs(asleep["avg_ns"] * asleep["count"] - asleep["cpu_ns"]) <= 10)
    # what others moved while it was blocked is no rate of its own; a copy's is
    expect("it is no memory bandwidth", asleep["bytes_per_s"], None)
    expect_true("a rate is one on the CPU", rows[SPINS]["bytes_per_s"])
    expect("a brick that waits", waiting["basis"], "wall")
    expect_true(f"as long as it takes: {waiting}", waiting["min_ns"] >= 5_000_000)
    expect("waiting has no rate", waiting["bytes_per_s"], None)
    expect("the same", [waiting["length_" + key] for key in ("avg_ns", "min_ns", "max_ns")],
           [waiting[key] for key in ("avg_ns", "min_ns", "max_ns")])


def buckets_hold(name, flat, row):
    """A histogram, with edges, is of the same executions as its row."""
    buckets = list(zip(*[iter(flat)] * 3))
    expect(f"{name}: executions", sum(count for _, _, count in buckets), row["count"])
    slack = 1.01  # the report's own buckets
    expect_true(f"{name}: {buckets[0]} holds {row['min_ns']}",
                buckets[0][0] / slack <= row["min_ns"] <= buckets[0][1] * slack)
    expect_true(f"{name}: {buckets[-1]} holds {row['max_ns']}",
                buckets[-1][0] / slack <= row["max_ns"] <= buckets[-1][1] * slack)


def page(path, rows):
    need_page()
    out = path + ".html"
    brick("report", path, "--html", out)
    data, _, _ = page_of(out)
    for row in data["report"]["bricks"]:
        expect("page: " + row["name"], numbers(row), numbers(rows[row["name"]]))
    for lengths in data["lengths"]:
        row = rows[lengths["name"]]
        buckets_hold("page: " + row["name"], lengths["all"], row)
        buckets_hold("page, decode: " + row["name"], lengths["decode"], row)
    return data["basis"]


def metrics(path, rows):
    need_server(path)
    text = Server(path).get("/metrics")[2].decode()
    for row in rows.values():
        found = re.search(rf'brick_execution_seconds_sum{{brick="{row["name"]}".*}} (\S+)', text)
        expect_true(f"metrics: sum of {row['name']}",
                    abs(float(found[1]) * 1e9 / row["count"] - row["avg_ns"]) < 2)
        below = re.findall(
            rf'execution_seconds_bucket{{brick="{row["name"]}",.*le="(\S+)"}} (\S+)', text)
        for bound, count in below:
            expect_true(f"metrics: {row['name']}, none is below {bound}",
                        float(bound) * 1e9 * 1.02 > row["min_ns"] or not float(count))
            expect_true(f"metrics: {row['name']}, all are below {bound}",
                        float(bound) * 1e9 < row["max_ns"] * 1.02 or float(count) == row["count"])


def forms_of_report(path, rows, basis):
    table = {row["name"]: row for row in csv.DictReader(
        io.StringIO(brick("report", path, "--csv")[0].decode())) if not row["phase"]}
    for name, row in rows.items():
        for key in LENGTHS:
            expect(f"csv: {key} of {name}", table[name][key],
                   "" if row[key] is None else str(row[key]))
        expect(f"csv: basis of {name}", table[name]["basis"], row["basis"])
    phase = brick_json("report", "--json", "--phase", "decode", path)["bricks"]
    for row in phase:
        expect("decode: " + row["name"], numbers(row), numbers(rows[row["name"]]))
    screen = json.loads(brick("top", "--headless", "--json", path)[0].decode().splitlines()[-1])
    for row in screen["bricks"]:
        expect("top: " + row["name"], numbers(row), numbers(rows[row["name"]]))
    text = re.sub(r"\s+", " ", brick("report", "-v", path)[0].decode())
    expect_true(f"text names the basis: {basis}", basis in text)
    categories = {row["name"]: row for row in brick_json("report", "--json", path)["categories"]}
    expect("waits", numbers(categories["Wait"]), numbers(rows[WAITS]))
    expect("a category", categories["Other"]["min_ns"],
           min(row["min_ns"] for row in rows.values() if row["basis"] == "cpu"))


def unknown(path):
    """Without times off the CPU all is by the wall, and says so."""
    rows = {row["name"]: row for row in brick_json("report", "--json", path)["bricks"]}
    for row in rows.values():
        one_basis(row)
        expect("basis of " + row["name"], row["basis"], "wall")
        expect("its mean", row["avg_ns"], row["length_avg_ns"])
    expect_true("the shortest sleep", rows[SLEEPS]["min_ns"] >= 5_000_000)
    basis = page(path, rows)
    metrics(path, rows)
    expect_true(f"says so: {basis}", "not known" in basis)


# What every view says of a recording.

PHASES = ("prefill", "decode", "mixed", "warm-up")
found = []  # differences
CEILINGS = os.path.join(keep_ceilings(), "brick", "ceilings-box-A-CPU.json")


def differ(what, got, want, within=0):
    same = got == want if within == 0 or got is None or want is None else abs(got - want) <= within
    if not same:
        found.append(f"{what}: {got}, in JSON {want}")


def close(what, got, want):
    differ(what, got, want, 1e-6 * max(1, abs(want or 0)))


def reports(whole):
    """Of all together (None) and of each phase: what JSON says."""
    return {None: whole, **whole.get("by_phase", whole["alone"])}


def read(path, options):
    """A report; where there is one phase only, that one's, too."""
    whole = brick_json("report", "--json", *options, path)
    phases = [p for p in PHASES if whole["steps"][p.replace("-", "_")]["count"]]
    whole["alone"] = {} if "by_phase" in whole else {
        phase: brick_json("report", "--json", "--phase", phase, *options, path) for phase in phases}
    return whole


def add_up(what, whole):
    for phase, part in reports(whole).items():
        for rows in [part["bricks"]] + ([part["categories"]] if "categories" in part else []):
            differ(f"{what} {phase}: rows add up", sum(r["wall_ns"] for r in rows + part["rests"]),
                   part["coverage"]["wall_ns"])
        rest = {r["name"]: r["wall_ns"] for r in part["rests"]}
        for key in ("preempted_ns", "blocked_ns", "left_out_ns", "unattributed_ns"):
            differ(f"{what} {phase}: {key}", rest.get(key[:-3].replace("_", " "), 0), part["coverage"][key])
    for phase in whole.get("by_phase", {}):
        times = whole["steps"][phase.replace("-", "_")]
        differ(f"{what} {phase}: unattributed", times["unattributed_ns"],
               whole["by_phase"][phase]["coverage"]["unattributed_ns"])
        differ(f"{what} {phase}: wall", times["total_ns"], whole["by_phase"][phase]["coverage"]["wall_ns"])


def shown(ns):
    """As a cell shows a time."""
    if ns is None or ns == 0:
        return "-" if ns is None else "0"
    if ns < 1000:
        return f"{ns}ns"
    value, unit = ns / 1000, 0
    while unit < 2 and value >= 999.5:
        value, unit = value / 1000, unit + 1
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}{('µs', 'ms', 's')[unit]}"


def shown_share(share):
    if share is None:
        return "-"
    return "<0.1%" if 0 < 100 * share < 0.05 else ">99.9%" if 99.95 <= 100 * share < 100 else f"{100 * share:.1f}%"


def on_thread(row):
    """False of a brick that ran on a device only: people see the device's numbers in its place."""
    return "count" not in row or row["count"] or row["device_ns"] is None


def text_rows(what, lines, at, part, first):
    """Rows of a table of text from its title on."""
    rows = {row["name"]: row for row in part["bricks"] + part["rests"]}
    title = lines[at]
    ends = {name: title.rindex(name) + len(name) for name in ("SHARE", "/TOKEN") if name in title}
    hits = 0
    for line in lines[at + 1:]:
        name = next((n for n in sorted(rows, key=len, reverse=True) if line.startswith(n + " ")), None)
        if name is None:
            if not line.strip() or not re.search(r"\d+ others? \(", line):
                break
            continue
        hits += 1
        if not on_thread(rows[name]):
            continue
        for column, want in (("SHARE", shown_share(rows[name]["share"])), ("/TOKEN", shown(rows[name]["token_ns"]))):
            if column in ends:
                cell = line[:ends[column]].split()[-1]
                differ(f"{what}, {first} {name} {column}", cell, want)
    if not hits:
        found.append(f"{what}, {first}: no row was found")
    return hits


def text(what, path, options, whole):
    parts = reports(whole)
    for form in ([], ["-v"]):
        lines = brick("report", *form, *options, path, COLUMNS="300")[0].decode().splitlines()
        if "by_phase" not in whole:
            at = next(i for i, line in enumerate(lines) if re.search(r"\bSHARE\b", line))
            text_rows(what, lines, at, whole, "text" + "".join(form))
            continue
        for phase, part in parts.items():
            if phase is None or (phase == "warm-up" and not form):
                continue
            start = next(i for i, line in enumerate(lines) if line.startswith(
                phase.capitalize() + (" steps" if form else " ")) and (form or "SHARE" in line))
            at = start + 1 if form else start
            text_rows(what, lines, at, part, f"text{''.join(form)}, {phase}")


def csv_rows(what, path, options, whole):
    table = list(csv.DictReader(io.StringIO(brick("report", "--csv", *options, path)[0].decode())))
    want = [(phase or "", row) for phase, part in ({None: whole, **whole.get("by_phase", {})}).items()
            for row in part["bricks"] + part["rests"]]
    differ(f"{what}: rows of CSV", sorted((r["phase"], r["name"]) for r in table),
           sorted((phase if "by_phase" in whole else whole["phase"] or "", row["name"]) for phase, row in want))
    for phase, row in want:
        got = next((r for r in table if r["name"] == row["name"] and ("by_phase" not in whole or r["phase"] == phase)), None)
        for key in row if got else ():
            if isinstance(row[key], float):
                close(f"{what}, csv {phase} {row['name']} {key}", float(got[key]), row[key])
            elif not isinstance(row[key], (dict, list)):
                differ(f"{what}, csv {phase} {row['name']} {key}", got[key], "" if row[key] is None else str(row[key]))


def screen(what, path, options, whole):
    for phase, part in reports(whole).items():
        chosen = ["--phase", phase or "all"]
        said = json.loads(brick("top", "--headless", "--json", *chosen, *options, path)[0].decode().splitlines()[-1])
        for rows in ("bricks", "rests"):
            differ(f"{what}, top {phase}: {rows}", [r["name"] for r in said[rows]], [r["name"] for r in part[rows]])
            for got, want in zip(said[rows], part[rows]):
                for key in ("share", "token_ns", "wall_ns", "self_ns", "count"):
                    if key in want:
                        close(f"{what}, top {phase} {want['name']} {key}", got[key], want[key])
        differ(f"{what}, top {phase}: coverage", said["coverage"], part["coverage"])
        differ(f"{what}, top {phase}: steps", said["steps"], whole["steps"])
        drawn = brick("top", "--dump", "300x80", "--view", "bricks", *chosen, *options, path)[0].decode()
        title, lines = rows_of_screen(drawn, "BRICK")
        text_rows(what, [title] + lines, 0, part, f"top's screen, {phase}")
        if "exact" in said and said["exact"] and not options:
            for name in ("prefill", "decode"):
                differ(f"{what}, top: {name} steps", said["exact"][name]["count"], whole["steps"][name]["count"]
                       + whole["steps"][name]["refused"] + whole["steps"][name]["aborted"])
                differ(f"{what}, top: {name} tokens", said["exact"][name]["tokens"], whole["steps"][name]["tokens"])


def flat(node):
    yield node
    for child in node["children"]:
        yield from flat(child)


def own_times(trees):
    own = {}
    for tree in trees:
        for node in flat(tree["tree"]):
            if node["kind"] in ("root", "brick", "wait", "preempted", "blocked", "left out"):
                name = "unattributed" if node["kind"] == "root" else node["name"]
                own[name] = own.get(name, 0) + node["self_ns"]
    return own


def tree(what, path, options, whole):
    if not whole["steps"]["decode"]["count"] and not whole["steps"]["prefill"]["count"]:
        return
    for phase, part in reports(whole).items():
        if phase is None:
            continue
        steps = ["--phase", phase] + (options if "--steps" in options else [*options, "--steps", "1-999999"])
        said = own_times(brick_json("tree", "--json", *steps, path)["trees"])
        for row in part["bricks"] + part["rests"]:
            differ(f"{what}, tree of {phase}: {row['name']}", said.get(row["name"], 0), row["wall_ns"])
    rows = brick_json("report", "--json", "--by", "step", *options, path)["each_step"]
    steps = [row for row in rows if row["step_ns"] is not None]
    for row in steps[:1] + steps[1:2] + steps[-1:]:
        if options:
            break
        number = row["name"].split()[-1]
        node = brick_json("tree", "--json", "--step", number, path)["trees"][0]
        differ(f"{what}, {row['name']}: tree", node["tree"]["time_ns"], row["step_ns"])
        differ(f"{what}, {row['name']}: its step", node["step"]["total_ns"], row["step_ns"])
        differ(f"{what}, {row['name']}: WALL", row["wall_ns"], row["step_ns"])
    if not options:
        differ(f"{what}: all steps", sum(row["step_ns"] for row in steps),
               sum(whole["steps"][p]["total_ns"] for p in ("prefill", "decode", "mixed", "warm_up")))


def html(what, path, whole):
    out = path + ".html"
    brick("report", path, "--html", out)
    data = page_of(out)[0]
    bricks = data["report"]["bricks"]
    differ(f"{what}, page", bricks, whole["bricks"])
    differ(f"{what}, page: rests", data["report"]["rests"], whole["rests"])
    differ(f"{what}, page: steps", data["report"]["steps"], whole["steps"])
    parts = reports(whole)
    cells = {}
    for phase in ("prefill", "decode", "mixed", "warm_up", "outside"):
        for _, number, ns, _ in data["layers"].get(phase, []):
            cells[number] = cells.get(number, 0) + ns
    for number, row in enumerate(bricks[:data["layers"]["bricks"]]):
        differ(f"{what}, page, layers: {row['name']}", cells.get(number, 0), row["wall_ns"])
    for phase in ("prefill", "decode", "mixed"):
        part = parts.get(phase)
        if part is None:
            continue
        own = data["report"]["by_phase"][phase]
        differ(f"{what}, page of {phase}", own["bricks"], part["bricks"])
        differ(f"{what}, page of {phase}: rests", own["rests"], part["rests"])
        steps = data["steps"][phase]
        rests = {row["name"]: row["wall_ns"] for row in part["rests"]}
        rows = {}
        for row in own["bricks"]:
            rows[row["category"]] = rows.get(row["category"], 0) + row["wall_ns"]
        said = {c["name"]: sum(c["ns"]) for c in steps["categories"]}
        if not whole["steps"][phase]["refused"] + whole["steps"][phase]["aborted"]:
            for name, ns in {**rows, **{k: rests.get(k, 0) for k in ("preempted", "blocked")}}.items():
                differ(f"{what}, page, {phase} over time: {name}", said.get(name, 0), ns)
            differ(f"{what}, page, {phase} over time: unattributed", sum(steps["unattributed_ns"]), rests["unattributed"])


def numbers_of(server):
    for line in server.get("/metrics")[2].decode().splitlines():
        if match := re.match(r"(brick_\w+)\{(.*?)\} (\S+)$", line):
            yield (match[1], tuple(sorted(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match[2])))), float(match[3])


def served(what, path, whole):
    said = dict(numbers_of(Server(path)))

    def label(row, **more):
        return tuple(sorted([("brick", row["name"]), *more.items()] + (
            [("category", row["category"])] if row.get("category") else [])))
    for row in whole["bricks"] + whole["rests"]:
        close(f"{what}, metrics: {row['name']}", said.get(("brick_wall_seconds_total", label(row))), row["wall_ns"] / 1e9)
    for phase, part in whole.get("by_phase", {}).items():
        tokens = whole["steps"][phase.replace("-", "_")]["tokens"]
        for row in part["bricks"] + part["rests"]:
            close(f"{what}, metrics of {phase}: {row['name']}", said.get(("brick_phase_share_ratio", label(row, phase=phase))), row["share"])
            token = said.get(("brick_token_seconds", label(row, phase=phase)))
            differ(f"{what}, metrics of {phase}: a token of {row['name']}",
                   None if token is None else int(token * 1e9 + 1e-3) - row["token_ns"] in (-1, 0, 1), True if tokens else None)


def roofline(what, path, options, whole):
    parts = reports(whole)
    for row in brick_json("roofline", "--json", "--ceilings", CEILINGS, *options, path)["bricks"]:
        part = parts.get(row["phase"])
        if row["phase"] is None or part is None or row["device"]:
            continue
        want = next(r for r in part["bricks"] if r["name"] == row["name"])
        differ(f"{what}, roofline of {row['phase']}: {row['name']}", row["wall_ns"], want["wall_ns"])
        close(f"{what}, roofline of {row['phase']}: share of {row['name']}", row["share"], want["share"])


def on_path(what, path, options, whole):
    """On one thread the path is all that it did."""
    if whole["run"]["threads"] != 1 or whole["run"]["queues"] or options:
        return
    parts = reports(whole)
    for section in brick_json("path", "--json", path)["sections"]:
        part = parts.get(section["phase"])
        if part is None:
            continue
        rows = {row["name"]: row["on_path_ns"] for row in section["bricks"]}
        for row in part["bricks"] + part["rests"]:
            differ(f"{what}, path of {section['phase']}: {row['name']}", rows.get(row["name"], 0), row["wall_ns"])


def agree(what, path, options=()):
    options = list(options)
    whole = read(path, options)
    add_up(what, whole)
    text(what, path, options, whole)
    csv_rows(what, path, options, whole)
    screen(what, path, options, whole)
    tree(what, path, options, whole)
    roofline(what, path, options, whole)
    on_path(what, path, options, whole)
    if not options:
        html(what, path, whole)
        served(what, path, whole)
    return whole


def made(program, *args, name=None):
    path = os.path.join(TMP, (name or program) + ".pftrace")
    subprocess.run([os.path.join(BUILD, "bin", "program-" + program), path, *args], check=True, capture_output=True, timeout=600)
    return path


def recorded(name, *command, options=()):
    path = os.path.join(TMP, name + ".pftrace")
    brick("record", "-q", "-o", path, *options, "--", *command)
    return path


def beside_spinner(name, *command):
    """On one CPU with a program that spins: threads are preempted, and wait for each other."""
    path, cpu = os.path.join(TMP, name + ".pftrace"), str(min(os.sched_getaffinity(0)))
    with subprocess.Popen(["taskset", "-c", cpu, sys.executable, "-c", "while True: pass"]) as spinner:
        try:
            subprocess.run(["taskset", "-c", cpu, *(path if word == "OUTPUT" else word for word in command)],
                           check=True, capture_output=True, timeout=600)
        finally:
            spinner.kill()
    return path


def kinds():
    producer, team, engine = (os.path.join(BUILD, "bin", "program-" + name) for name in ("record_producer", "whatif", "cli_recording"))
    yield "sleeps and waits", record("sleeps.pftrace"), ()
    yield "times off the CPU not known", record("wall.pftrace", "off"), ()
    yield "phases and threads", made("cli_recording"), ()
    yield "a part of it", made("cli_recording", name="part"), ("--brick", "QkvProjection")
    yield "some steps of it", made("cli_recording", name="steps"), ("--steps", "2-9")
    yield "a device", made("device_recording"), ()
    yield "a device, drawn up", made("top_recording"), ()
    yield "mixed batches, models", made("serving_recording"), ()
    yield "drawn by chance", made("random_recording", "7"), ()
    yield "many samples on threads", made("demo_recording", "20000", "4", "4"), ()
    yield "no steps", recorded("nosteps", producer, "samples=50", "nested=20", "threads=3,50"), ()
    yield "steps that pause", made("compare_recording", "0", "", "300"), ()
    yield "barriers beside a spinner", beside_spinner("team", team, "--record", "OUTPUT", "--steps", "10"), ()
    yield "phases beside a spinner", beside_spinner("preempted", engine, "OUTPUT"), ()


def main():
    need_page()
    count = 0
    for what, path, options in kinds():
        whole = agree(what, path, options)
        count += 1
        print(f"{what}: {len(whole['bricks'])} bricks, {[(r['name'], round(r['share'], 3)) for r in whole['rests']]}")
    expect_true(f"{count} kinds", count >= 12)
    expect_true(f"{len(found)} differences:\n" + "\n".join(found[:60]), not found)
    bases()


def bases():
    path = record("basis.pftrace")
    report = brick_json("report", "--json", path)
    if report["presence"]["off_cpu"] is None:
        print("skipped: the kernel does not say when threads are off their CPUs")
        sys.exit(77)
    rows = {row["name"]: row for row in report["bricks"]}
    basis_of_rows(rows)
    basis = page(path, rows)
    metrics(path, rows)
    forms_of_report(path, rows, basis)
    unknown(record("wall.pftrace", "off"))


main()
