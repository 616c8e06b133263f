# SPDX-License-Identifier: Apache-2.0
"""brick report: the JSON contract, the same numbers in all forms, shares that add up, and layout."""
import csv
import io
import os
import re
import subprocess

from libcli import BUILD, TMP, brick, brick_json, columns_of, expect, expect_true, fail, on_terminal, plain, recording
from libscreen import check_screen

NUMBER = (int, float)
PHASE = {"count": int, "tokens": int, "total_ns": int, "tokens_per_s": (float, type(None))}
DECODE = dict(PHASE, p50_ns=int, p95_ns=(int, type(None)), p99_ns=(int, type(None)))
ROW = {"name": str, "category": (str, type(None)), "backend": (str, type(None)),
       "source": (str, type(None)), "count": int, "total_ns": int, "self_ns": int, "wait_ns": int,
       "share": NUMBER, "avg_ns": int, "min_ns": int, "p50_ns": int, "p95_ns": (int, type(None)),
       "p99_ns": (int, type(None)), "max_ns": int, "elements": (int, type(None)),
       "bytes": (int, type(None)), "flops": (int, type(None))}
REPORT = {
    "schema": str,
    "run": {"command": list, "start": str, "wall_ns": int, "host": str, "cpu": str,
            "backends": list, "clock": {"source": str, "residual_ns": int}},
    "steps": {"prefill": PHASE, "decode": DECODE, "ttft_ns": int},
    "coverage": {"share": NUMBER, "unattributed_ns": int},
    "distortion": {"share": NUMBER, "low": NUMBER, "high": NUMBER, "method": str},
    "losses": {name: int for name in ("dropped", "open", "unmatched", "clamped", "unsupported",
                                      "truncated", "bad_records")},
    "categories": list,
}
CATEGORY = {"name": str, "count": int, "total_ns": int, "self_ns": int, "share": NUMBER}


def check(value, shape, where):
    for key, kind in shape.items():
        if key not in value:
            fail(f"{where}: no {key}")
        if isinstance(kind, dict):
            check(value[key], kind, f"{where}.{key}")
        elif not isinstance(value[key], kind) or isinstance(value[key], bool):
            fail(f"{where}.{key} is {value[key]!r}")


def internals(path):
    """What only developers want to know is in the recording, but not in the text."""
    text = plain(brick("report", "--trust", path)[0].decode())
    expect_true("the heading has the backend", re.search(r"^Backend +CPU$", text, re.M))
    expect_true("the first line has the backend", ", CPU on " in plain(brick("report", path)[0].decode()).split("\n")[0])
    expect_true("the text has no layout of structs", "type 0, ne 16" not in text)


def contract(path):
    report = brick_json("report", "--json", path)
    check(report, REPORT, "report")
    expect("schema", report["schema"], "brick/report/2")
    expect("backends", report["run"]["backends"], ["CPU"])
    expect_true("start is RFC 3339",
                re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", report["run"]["start"]))
    for row in report["bricks"]:
        check(row, ROW, row["name"])
    for row in report["categories"]:
        check(row, CATEGORY, row["name"])
    rows = {row["name"]: row for row in report["bricks"]}
    expect("steps", (report["steps"]["prefill"]["count"], report["steps"]["prefill"]["tokens"],
                     report["steps"]["decode"]["count"]), (1, 16, 30))
    expect("a p99 of 30 steps is not known", report["steps"]["decode"]["p99_ns"], None)
    expect("RmsNorm", (rows["RmsNorm"]["count"], rows["RmsNorm"]["elements"],
                       rows["RmsNorm"]["flops"]), (93, 93 * 512, 93 * 8192))
    expect("elements nobody gave", rows["Sampling"]["elements"], None)
    expect("p99 of 93", rows["RmsNorm"]["p99_ns"], None)
    expect_true("a step is no row", "Decode" not in rows and "Prefill" not in rows)
    expect("nothing lost", sum(report["losses"][k] for k in REPORT["losses"]), 0)
    expect_true("distortion lies in its interval", 0 < report["distortion"]["low"]
                <= report["distortion"]["share"] <= report["distortion"]["high"])
    return report


def shares_add_up(path):
    names = {"brick": "bricks", "category": "categories", "layer": "layers", "phase": "phases",
             "thread": "threads"}
    for by, array in names.items():
        report = brick_json("report", "--json", "--by", by, path)
        total = sum(row["share"] for row in report[array] + report["rests"])
        expect_true(f"shares by {by} add up to {total}", abs(total - 1) < 1e-6)
        total = sum(row["share"] for row in report["categories"] + report["category_rests"])
        expect_true(f"categories by {by} add up to {total}", abs(total - 1) < 1e-6)
        for row in report[array]:
            check(row, ROW, f"{by} {row['name']}")
        expect_true(f"only {array}", [k for k in names.values() if k in report and
                                      k != "categories"] == [a for a in [array]
                                                             if a != "categories"])
    layers = brick_json("report", "--json", "--by", "layer", path)["layers"]
    expect("layers", [row["layer"] for row in layers], [-1, 0, 1, 2])
    threads = brick_json("report", "--json", "--by", "thread", path)["threads"]
    expect("threads", len(threads), 2)
    expect("the worker has no part in the wall time",
           [row["share"] == 0 for row in threads], [False, True])


def one_phase(path, report):
    counts = {}
    for phase in ("prefill", "decode"):
        part = brick_json("report", "--json", "--phase", phase, path)
        expect("phase", part["phase"], phase)
        total = sum(row["share"] for row in part["bricks"] + part["rests"])
        expect_true(f"shares in {phase} add up to {total}", abs(total - 1) < 1e-6)
        expect("wall", part["coverage"]["wall_ns"], report["steps"][phase]["total_ns"])
        expect("coverage", part["coverage"]["share"], report["steps"][phase]["coverage"])
        expect("steps are of all", part["steps"], report["steps"])
        for row in part["bricks"]:
            counts[row["name"]] = counts.get(row["name"], 0) + row["count"]
    for row in report["bricks"]:
        if row["name"] not in ("QkvProjection", "BarrierWait"):  # of the worker as well
            expect(f"{row['name']} in both", counts[row["name"]], row["count"])
    expect("phase is null for all", report["phase"], None)
    expect_true("said in text", b"of decode steps" in brick("report", "-v", "--phase", "decode", path)[0])


def same_in_csv(path, report):
    all_rows = list(csv.DictReader(io.StringIO(brick("report", "--csv", path)[0].decode())))
    expect("phases", {row["phase"] for row in all_rows}, {"", "decode", "prefill"})
    rows = [row for row in all_rows if not row["phase"]]
    expect("last row", rows[-1]["name"], "unattributed")
    expect("unattributed", int(rows[-1]["self_ns"]), report["coverage"]["unattributed_ns"])
    expect("rows", len(rows), len(report["bricks"]) + len(report["rests"]))
    for row, want in zip(rows, report["bricks"]):
        for key in row:
            text = "" if want[key] is None else want[key]
            if isinstance(text, float):
                expect_true(f"{want['name']} {key}",
                            abs(float(row[key]) - text) <= 1e-8 * max(1, abs(text)))
            else:
                expect(f"{want['name']} {key}", row[key], str(text))


def duration(text):
    """ns of '12.3µs', and how far it may be off."""
    match = re.fullmatch(r"([\d.]+)(ns|µs|ms|s)", text)
    if text == "0":
        return 0, 0
    unit = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[match[2]]
    digits = len(match[1].split(".")[1]) if "." in match[1] else 0
    return float(match[1]) * unit, 0.5001 * unit * 10 ** -digits


TIMES = (("SELF", "self_ns"), ("TOTAL", "total_ns"), ("AVG", "avg_ns"), ("MIN", "min_ns"), ("P50", "p50_ns"),
         ("MAX", "max_ns"), ("WAIT", "wait_ns"), ("/TOKEN", "token_ns"), ("EACH", "each_ns"))


def is_near(cell, ns):
    near, off = duration(cell)
    return abs(near - ns) <= off


def same_in_text(path, report, options=("--phase", "all"), below=""):
    lines = brick("report", "-v", *options, path, COLUMNS="400")[0].decode().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(below))
    at = next(i for i, line in enumerate(lines) if i >= start and line.startswith("BRICK"))
    titles = lines[at].split()
    phases = [report["phase"]] if report["phase"] else ["prefill", "decode"]
    tokens = sum(report["steps"][phase]["tokens"] for phase in phases)
    rows = {line.split()[0]: dict(zip(titles, line.split())) for line in lines[at + 1:at + 1 + len(report["bricks"])]}
    expect("all bricks", set(rows), {row["name"] for row in report["bricks"]})
    for title, key in TIMES:  # a column that is not shown says what another one says, or nothing
        expect_true(f"{title} is shown, or repeats another column", title in titles or title == "EACH" or any(
            all(is_near(rows[row["name"]][other], row[key]) for row in report["bricks"])
            for other, _ in TIMES if other in titles) or not any(row[key] for row in report["bricks"]))
    for want in report["bricks"]:
        cells = rows[want["name"]]
        expect("a token's", want["token_ns"], want["wall_ns"] // tokens)
        for title, key in TIMES:
            if title in titles:
                expect_true(f"{want['name']} {title}: {cells[title]} is {want[key]} ns", is_near(cells[title], want[key]))
        expect_true(f"{want['name']} share: {cells['SHARE']} is {want['share']}",
                    want["share"] < 0.001 if cells["SHARE"] == "<0.1%" else
                    abs(float(cells["SHARE"].rstrip("%")) - 100 * want["share"]) <= 0.051)
        expect("count", cells["COUNT"], str(want["count"]))


def phases_apart(path, report):
    """By default each phase has a table of its own, decode first; JSON has both beside that of all."""
    text = brick("report", "-v", path)[0].decode()
    titles = [line for line in text.splitlines() if line in ("Decode steps", "Prefill steps")]
    expect("tables", titles, ["Decode steps", "Prefill steps"])
    for phase in ("decode", "prefill"):
        part = brick_json("report", "--json", "--phase", phase, path)
        expect(f"{phase} beside all", report["by_phase"][phase]["bricks"], part["bricks"])
        expect("its coverage", report["by_phase"][phase]["coverage"], part["coverage"])
        same_in_text(path, part, (), phase.capitalize() + " steps")
        same_in_text(path, part, ("--phase", phase))
        wall = sum(row["wall_ns"] for row in part["bricks"] + part["rests"])
        expect("wall time", wall, part["coverage"]["wall_ns"])
    together = brick_json("report", "--json", "--phase", "all", path)
    expect_true("together on demand", "by_phase" not in together)
    expect("the same numbers", together["bricks"], report["bricks"])
    text = brick("report", "-v", "--phase", "all", path)[0].decode()
    expect_true("one table", "Decode steps" not in text)


def per_token(path):
    """Of a step and of a phase by their own tokens."""
    by_phase = brick_json("report", "--json", "--by", "phase", path)
    rows = {row["name"]: row for row in by_phase["phases"]}
    for phase in ("decode", "prefill"):
        expect(phase + " a token", rows[phase]["token_ns"],
               rows[phase]["wall_ns"] // by_phase["steps"][phase]["tokens"])
    for row in brick_json("report", "--json", "--by", "step", path)["each_step"]:
        if not row["step_tokens"]:
            continue  # what is in no step
        expect(row["name"] + " a token", row["token_ns"], row["wall_ns"] // row["step_tokens"])


def sorting(path):
    for column, key in (("self", "self_ns"), ("count", "count"), ("total_ns", "total_ns"),
                        ("elements", "elements"), ("p50", "p50_ns"), ("share", "share"),
                        ("GB/s", "bytes_per_s"), ("/token", "token_ns")):
        rows = brick_json("report", "--json", "--sort", column, path)["bricks"]
        values = [-1 if row[key] is None else row[key] for row in rows]
        expect(f"sorted by {column}", values, sorted(values, reverse=True))
    rows = brick_json("report", "--json", "--sort", "name", path)["bricks"]
    expect("names", [row["name"] for row in rows], sorted(row["name"] for row in rows))
    top = brick_json("report", "--json", "--sort", "name", "--top", "2", path)["bricks"]
    expect("top", top, rows[:2])
    expect_true("the rest is named", b" others (each <=" in brick("report", "--top", "2", path)[0])


def chosen_columns(path):
    text = brick("report", "--columns", "count,/token,total_ns", path)[0].decode()
    head = next(line for line in text.splitlines() if line.endswith("TOTAL"))
    expect("columns in text", head.split(), ["Decode", "COUNT", "/TOKEN", "TOTAL"])
    out = brick("report", "--csv", "--columns", "self,GB/s", path)[0].decode()
    expect("columns in CSV", out.splitlines()[0], "name,self_ns,bytes_per_s")
    hidden = brick("report", "-v", path, COLUMNS="400")[0].decode()
    expect_true("empty columns are hidden", "DEVICE" not in hidden)
    shown = brick("report", "--columns", "device", path)[0].decode()
    expect_true("but for those that were asked for", "DEVICE" in shown)
    for name in every_field(path):
        for form in ([], ["--csv"]):
            brick("report", *form, "--columns", name, "--sort", name, path)


def every_field(path):
    """All that the table knows, by the list that a wrong name is answered with."""
    err = brick("report", "--columns", "self,nonsense", path, code=2)[1].decode()
    expect_true("the wrong one is named", "--columns nonsense: no such column" in err)
    expect_true("it fits 80 columns", all(len(line) <= 80 for line in err.splitlines()))
    names = " ".join(err.split()).split("must be one of ")[1].split(", ")
    near = brick("report", "--columns", "self,cuont", path, code=2)[1].decode()
    expect_true(f"the one that is meant: {near}", "cuont: no such column; did you mean 'count'?" in near)
    expect_true(f"{len(names)} fields", len(names) > 40 and "GB/s" in names and "self" in names)
    return names


def layout(path):
    for by in ("brick", "category", "layer", "phase", "thread"):
        for width in (20, 40, 80, 200):
            out = [plain(on_terminal("report", *how, "--by", by, path, columns=width)) for how in ((), ("-v",))]
            for line in "".join(out).splitlines():
                if width >= 80:
                    expect_true(f"{by} at {width}: {line}", columns_of(line) <= width)
                expect("no trailing blanks", line, line.rstrip())
    narrow = plain(on_terminal("report", "-v", path, columns=80))
    wide = plain(on_terminal("report", "-v", path, columns=200))
    expect_true("80 columns leave some out", "Hidden" in narrow and "SELF" in narrow)
    expect_true("200 columns show all", "Hidden" not in wide and "SOURCE" in wide)
    piped = brick("report", "-v", path, COLUMNS=None)[0].decode()
    expect("a pipe gets 100 columns", piped, brick("report", "-v", path, COLUMNS="100")[0].decode())
    expect_true("which is less than all", max(map(len, brick("report", "-v", path)[0].decode().splitlines())) > 100)
    asked = ("report", "--columns", "name,category,count,total,self,wait,share,avg,min,p50,p95,p99,max,elements,bytes", path)
    expect_true("but all columns that are named", re.search(r" P99 +MAX +ELEMENTS +BYTES$",
                                                              brick(*asked, COLUMNS=None)[0].decode(), re.M))
    expect("COLUMNS wins", plain(on_terminal("report", "-v", path, columns=200, COLUMNS="80")), narrow)


def no_line_is_too_wide(path):
    """Of no command, at no width that holds its tables; and without a limit a paragraph is one line."""
    serving = os.path.join(TMP, "serving.pftrace")
    subprocess.run([os.path.join(BUILD, "bin", "program-serving_recording"), serving], check=True, timeout=600)
    for asked in (["report"], ["report", "--trust"], ["explain"], ["path"], ["scaling"], ["requests"], ["requests", "--slowest", "5"]):
        for width in (80, 100, 200):
            for line in brick(*asked, serving if asked[0] == "requests" else path, COLUMNS=str(width))[0].decode().splitlines():
                expect_true(f"{asked} at {width}: {line}", columns_of(line) <= width)
    gaps = brick("requests", serving)[0].decode().split("the median of the request:\n")[1].split("\n\n")[0]
    expect_true(f"a gap in a line: {gaps}", all(line.startswith("  - ") for line in gaps.splitlines()))


def colours(path):
    expect_true("colours on a terminal", "\x1b[" in on_terminal("report", path))
    for changes in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": None}):
        expect_true(f"no colours with {changes}", "\x1b" not in on_terminal("report", path, **changes))
    expect_true("NO_COLOR must not be empty", "\x1b[" in on_terminal("report", path, NO_COLOR=""))
    expect_true("none elsewhere", b"\x1b" not in brick("report", path)[0])


def ascii_locale(path):
    for args in (["report", path], ["tree", path], ["doctor"]):
        out = brick(*args, LC_ALL="C")[0]
        expect_true(f"{args} in the C locale is ASCII", all(byte < 128 for byte in out))
    expect_true("us", b"us" in brick("report", path, LC_ALL="C")[0])


def main():
    path = recording()
    check_screen(path)
    internals(path)
    report = contract(path)
    shares_add_up(path)
    one_phase(path, report)
    same_in_csv(path, report)
    same_in_text(path, report)
    phases_apart(path, report)
    per_token(path)
    sorting(path)
    chosen_columns(path)
    layout(path)
    no_line_is_too_wide(path)
    colours(path)
    ascii_locale(path)


main()
