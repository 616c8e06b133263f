# SPDX-License-Identifier: Apache-2.0
"""Numbers of every view of brick top are those of brick report --json (and tree, path) on the same
recording: each cell is formatted from the JSON here, and compared with the screen's."""
import json
import os
import re
import subprocess

from libcli import BUILD, TMP, brick_json, brick
from libtop import dump, expect, expect_true, fail, golden_recording, keep_ceilings, recording_of_engine, rows

SIZE = "240x70"


def decimals(value):
    return 2 if value < 9.995 else 1 if value < 99.95 else 0


def scaled(value, units):
    unit = 0
    while unit + 1 < len(units) and value >= 999.5:
        value /= 1000
        unit += 1
    return f"{value:.{decimals(value)}f}{units[unit]}"


def duration(ns):
    if ns is None:
        return "-"
    if ns == 0:
        return "0"
    return f"{ns}ns" if ns < 1000 else scaled(ns / 1000, ["µs", "ms", "s"])


def count(n):
    if n is None:
        return "-"
    return str(n) if n < 100000 else scaled(n / 1000, ["k", "M", "G", "T", "P"])


def number(x):
    if x is None:
        return "-"
    if 0 < x < 0.0005:
        return "<0.001"
    return f"{x:.{3 if 0 < x < 0.0995 else decimals(x)}f}"


def percent(share):
    if share is None:
        return "-"
    return "<0.1%" if 0 < 100 * share < 0.05 else f"{100 * share:.1f}%"


def giga(per_s):
    return None if per_s is None else per_s / 1e9


def table(text, first, titles):
    """Cells of the table by row name; titles say which columns are looked at."""
    title, lines = rows(text, first)
    spans = {}
    for name in titles:
        at = re.search(r"(?<![^ ])" + re.escape(name) + r"(?![^ ])", title)
        if at:
            spans[name] = at.span()
    found = {}
    for line in lines:
        cells = {m.start(): m for m in re.finditer(r"\S+", line)}
        row = {}
        for name, (begin, end) in spans.items():
            hits = [m.group() for m in cells.values() if m.end() > begin and m.start() < end]
            row[name] = hits[-1] if hits else ""
        found[line[:title.index(" ") if False else 40].split("  ")[0].strip()] = row
    return found


def same(what, row, wanted):
    for name, value in wanted.items():
        if name in row and value is not None:
            expect(f"{what}: {name}", row[name], value)
        elif value not in (None, "-", "0"):
            fail(f"{what}: there is no column {name}, which should hold {value}")


def name_in(found, name):
    for key, row in found.items():
        if key == name or key.startswith(name + " "):
            return row
    fail(f"{name} is not on the screen: {list(found)}")


def check_bricks(path, phase):
    options = ["--phase", phase or "all"]
    report = brick_json("report", "--json", *options, path)
    text = dump("--view", "bricks", *options, path, size=SIZE)
    found = table(text, "BRICK", ["/TOKEN", "SHARE", "DEVICE", "P50", "P99", "COUNT", "GB/s",
                                  "GFLOP/s"])
    steps = report["steps"]
    tokens = steps[phase]["tokens"] if phase else sum(
        steps[p]["tokens"] for p in ("prefill", "decode"))
    expect_true("there are bricks", len(report["bricks"]) > 3)
    for b in report["bricks"]:
        host = b["count"] or b["device_ns"] is None  # else devices did all of it
        taken = b["wall_ns"] if host else b["device_ns"]
        share = b["share"] if host else b["device_ns"] / report["coverage"]["wall_ns"]
        same(b["name"], name_in(found, b["name"]), {
            "/TOKEN": duration(taken // tokens) if tokens else "-",
            "SHARE": percent(share), "P50": duration(b["p50_ns"]),
            "P99": duration(b["p99_ns"]), "COUNT": count(b["count"] if host else b["device_count"]),
            "DEVICE": duration(b.get("device_ns")),
            "GB/s": number(giga(b["bytes_per_s"])), "GFLOP/s": number(giga(b["flops_per_s"]))})
    for rest in report["rests"]:
        same(rest["name"], name_in(found, rest["name"]), {"SHARE": percent(rest["share"]),
             "/TOKEN": duration(rest["wall_ns"] // tokens) if tokens else "-"})
    header = text.splitlines()
    expect_true(f"coverage: {header[3]}",
                f"; covered {percent(report['coverage']['share'])}" in header[3])
    cost = report["distortion"]
    expect_true(f"distortion: {header[3]}",
                any(text in header[3] for text in
                    (("; distortion -", "; distortion unknown: ") if cost["share"] is None else
                     (f"; distortion {100 * cost['share']:.2f}%",) if cost["measurable"] else
                     ("; distortion not measurable",))))
    expect_true(f"speed: {header[2]}",
                header[2].startswith(f"{number(steps['decode']['tokens_per_s'])} tokens/s"))
    expect_true(f"prefill: {header[2]}",
                f"; prefill {number(steps['prefill']['tokens_per_s'])}" in header[2])
    expect_true(f"first token: {header[2]}",
                f"first token {duration(steps['ttft_ns'])};" in header[2])
    expect_true(f"steps: {header[1]}", f"{steps['prefill']['count']} prefill + "
                f"{steps['decode']['count']} decode" in header[1])


def check_header(path):
    """What must be seen is on every screen, whatever else there is to say, and columns of it on a wide one."""
    presence = brick_json("report", "--json", path)["presence"]
    shares = [f"preempted {percent(presence['preempted'])}", f"others {percent(presence['others'])}"]
    with open(path, "rb") as file:
        whole = file.read()
    cut = os.path.join(TMP, "cut.pftrace")  # whose losses take more than a line
    with open(cut, "wb") as file:
        file.write(whole[:len(whole) * 3 // 4])
    for size in "80x24", "100x30", "200x50":
        header = dump(path, size=size).splitlines()[3]
        expect_true(f"{size}: {header}", header.startswith("no records lost; ") and all(s in header for s in shares))
        header = dump(cut, size=size).splitlines()[3]
        expect_true(f"{size}, cut: {header}", header.startswith("not finished") and "preempted " in header and "others " in header)
    row = next((b for b in brick_json("report", "--json", "--phase", "decode", path)["bricks"] if b["off_ns"]), None)
    text = dump("--phase", "decode", "--view", "bricks", path, size="200x50")
    if row:  # else nothing took its CPU away, and the column is empty
        expect(f"OFF of {row['name']}", name_in(table(text, "BRICK", ["OFF"]), row["name"])["OFF"], duration(row["off_ns"]))


def said(ratio):
    """As comparisons say it: percent, and factors where these would be long."""
    if ratio >= 10 or ratio < 0.01:
        return f"{ratio:.0f}x" if ratio >= 100 else f"{ratio:.3g}x" if ratio >= 0.1 else f"{ratio:.2g}x"
    percent = 100 * (ratio - 1)
    return "0.0 %" if abs(percent) < 0.05 else f"{percent:+.{1 if abs(percent) < 9.95 or percent < -99 else 0}f} %"


def check_baseline(path, before, phase):
    """What a brick took of a token in both, and by how much that differs."""
    report, base = (brick_json("report", "--json", "--phase", phase, p) for p in (path, before))
    text = dump("--baseline", before, "--phase", phase, path, size=SIZE)
    found = table(text, "BRICK", ["/TOKEN"])
    tokens, old_tokens = (r["steps"][phase]["tokens"] for r in (report, base))
    old = {b["name"]: b["wall_ns"] // old_tokens for b in base["bricks"]}
    for b in report["bricks"]:
        now, then = b["wall_ns"] // tokens, old.get(b["name"]) or None
        change = "" if not now else said(now / then) if then else "new"
        name_in(found, b["name"])
        line = " ".join(next(line for line in text.splitlines() if b["name"] in line.split()).split())
        expect_true(f"{line}: {duration(then)} {change}", f" {duration(then)} {change}".rstrip() in line)
    expect_true("it says against what", f"against {before}" in text.splitlines()[0])


def check_categories(path):
    report = brick_json("report", "--json", "--by", "category", path)
    found = table(dump("--phase", "all", "--view", "categories", path, size=SIZE), "CATEGORY",
                  ["SHARE", "SELF", "TOTAL", "COUNT", "P50", "P99"])
    for c in report["categories"]:
        same(c["name"], name_in(found, c["name"]), {
            "SHARE": percent(c["share"]), "SELF": duration(c["self_ns"]),
            "TOTAL": duration(c["total_ns"]), "COUNT": count(c["count"]),
            "P50": duration(c["p50_ns"]), "P99": duration(c["p99_ns"])})


def check_layers(path):
    report = brick_json("report", "--json", "--by", "layer", path)
    text = dump("--phase", "all", "--view", "layers", path, size=SIZE)
    _, lines = rows(text, "LAYER")
    shown = {re.match(r"(\(none\)|layer \d+)\s+(\S+)", line).groups() for line in lines}
    wanted = {("(none)" if r["layer"] < 0 else f"layer {r['layer']}", duration(r["wall_ns"]))
              for r in report["layers"] if r["wall_ns"]}
    expect("layers", shown, wanted)


def check_threads(path):
    report = brick_json("report", "--json", "--by", "thread", path)
    found = table(dump("--phase", "all", "--view", "threads", path, size=SIZE), "THREAD",
                  ["WORK", "WAIT", "OF STEPS", "COUNT"])
    for t in report["threads"]:
        row = name_in(found, t["name"])
        same(t["name"], row, {"WORK": duration(t["self_ns"]), "WAIT": duration(t["wait_ns"]),
                              "OF STEPS": percent(t["share"]), "COUNT": count(t["count"])})


def check_queues(path):
    report = brick_json("report", "--json", "--by", "kernel", path)
    text = dump("--phase", "all", "--view", "queues", path, size=SIZE)
    if not report["kernels"]:
        expect_true("says that there are none", "No queues" in text)
        return
    found = table(text, "KERNEL", ["COUNT", "TOTAL", "SHARE", "AVG", "P50", "P99"])
    for k in report["kernels"]:
        same(k["name"], name_in(found, k["name"]), {
            "COUNT": count(k["count"]), "TOTAL": duration(k["total_ns"]),
            "SHARE": percent(k["share"]), "AVG": duration(k["avg_ns"]),
            "P50": duration(k["p50_ns"]), "P99": duration(k["p99_ns"])})


def flat(node, depth=0):
    yield depth, node
    for child in node["children"]:
        yield from flat(child, depth + 1)


def check_tree(path):
    steps = brick_json("report", "--json", path)["steps"]
    last = steps["prefill"]["count"] + steps["decode"]["count"]
    tree = brick_json("tree", "--json", "--nodes", "--step", str(last), path)["trees"][0]["tree"]
    lines = dump("--view", "tree", "--expand", path, size="240x400").splitlines()[6:-1]
    shown = []
    for line in lines:
        match = re.match(r"[│├└─ ]*(?:[-+] )?(.*?)\s{2,}(?:\S* *<<<\S+ smem=\S+ |h2d |code=\S+ )*\s*(\S+)\s+(\S+)", line)
        if match and match.group(1) not in ("unattributed", "itself"):
            shown.append((match.group(1), match.group(2)))
    wanted = []
    for depth, node in flat(tree):
        if node["kind"] not in ("wait",):
            wanted.append((node["name"], duration(node["time_ns"] or node["device_ns"] or 0)))
    plain = [entry for entry in shown if entry[0] != "BarrierWait"]
    wanted = [entry for entry in wanted if entry[0] != "BarrierWait"]
    expect("nodes of the tree", sorted(plain), sorted(wanted))


def check_path(path):
    answer = brick_json("path", "--json", path)
    section = next(s for s in answer["sections"] if s["phase"] == "decode")
    found = table(dump("--view", "path", path, size=SIZE), "BRICK", ["ON PATH", "SHARE", "SLACK"])
    for b in section["bricks"]:
        same(b["name"], name_in(found, b["name"]), {
            "ON PATH": duration(b["on_path_ns"]), "SLACK": duration(b["slack"]["mean_ns"])})


def check_roofline(path):
    """Under ceilings that are kept for the golden recording's machine."""
    home = keep_ceilings()
    os.environ["XDG_CACHE_HOME"] = home
    answer = brick_json("roofline", "--json", "--phase", "decode", path)
    report = brick_json("report", "--json", "--phase", "decode", path)
    roofs = {row["name"]: row["roof"] for row in report["bricks"]}
    bricks = table(dump("--phase", "decode", "--view", "bricks", path, size=SIZE), "BRICK", ["OF ROOF"])
    for b in answer["bricks"]:
        if b["bound"]:
            expect_true(f"{b['name']}: {roofs[b['name']]} of its roof",
                        abs(roofs[b["name"]] - (1 - b["distance"])) < 1e-6)
            same(b["name"], name_in(bricks, b["name"]), {"OF ROOF": percent(roofs[b["name"]])})
    together = brick_json("report", "--json", "--phase", "all", path)["bricks"]
    expect("not known of all phases together", {row["roof"] for row in together}, {None})


def check_json(path):
    """Headless JSON holds the report, and what is of the moment."""
    out, _ = brick("top", "--headless", "--json", path)
    lines = out.decode().splitlines()
    expect("one object for a recording", len(lines), 1)
    top, report = json.loads(lines[0]), brick_json("report", "--json", "--phase", "all", path)
    expect("schema", top.pop("schema"), "brick/top/2")
    report.pop("schema")
    for key, value in report.items():
        expect(f"JSON {key}", top[key], value)
    expect("samples of", top["samples_of"], "recording")
    expect("over", top["over"], True)
    expect("exact decode steps", top["exact"]["decode"]["count"], report["steps"]["decode"]["count"])


def check_requests():
    """Rows of brick requests, the last one first; no tab where there are none, or only a part."""
    path = os.path.join(TMP, "serving.pftrace")
    subprocess.run([os.path.join(BUILD, "bin", "program-serving_recording"), path], check=True, timeout=600)
    _, lines = rows(dump("--view", "requests", path, size=SIZE), "REQUEST")
    wanted = brick_json("requests", "--json", path)["requests"][::-1]
    lines, has_p99 = lines[:len(wanted)], any(r["p99_ns"] is not None for r in wanted)  # a column without any goes
    for line, r in zip(lines, wanted, strict=True):
        late = max((gap for gap in r["gaps"] if gap["cause"]), key=lambda gap: gap["excess_ns"], default=None)
        expect("request", re.split(r"\s{1,}", line.strip()), [
            str(r["number"]), str(r["model"]), str(r["sequence"]), duration(r["begin_ns"]), duration(r["queue_ns"]),
            duration(r["ttft_ns"]), str(r["prompt_tokens"]), str(r["output_tokens"]), duration(r["token_ns"]),
            *([duration(r["p99_ns"])] if has_p99 else []), duration(r["max_ns"]), *([late["cause"]] if late else [])])
    text = brick("requests", path)[0].decode()
    listed = re.findall(r"^ *(\d+) +\d+ ", text.split("REQUEST")[1].split("\n\n")[0], re.M)
    expect("brick requests calls them as top does", listed, [line.split()[0] for line in lines][::-1])
    expect_true(f"in sentences, too: {text}", re.search(r"request 1\d\d, .*instead of", text))
    expect_true("a tab", "R Requests" in dump(path, size=SIZE))
    for none in ([golden_recording()], [path, "--steps", "2-9"]):
        text = dump("--view", "bricks", *none, size=SIZE)
        expect_true(f"no tab: {text}", "Requests" not in text)
    expect_true("why", "No step says" in dump("--view", "requests", golden_recording(), size=SIZE))


def main():
    check_requests()
    check_roofline(golden_recording())
    check_header(recording_of_engine())
    for path in golden_recording(), recording_of_engine():
        for phase in None, "decode", "prefill":
            check_bricks(path, phase)
        check_baseline(path, golden_recording(), "decode")
        check_categories(path)
        check_layers(path)
        check_threads(path)
        check_queues(path)
        check_tree(path)
        check_path(path)
        check_json(path)


main()
