# SPDX-License-Identifier: Apache-2.0
"""Programs that use CUDA, recorded through the injection library on doubles of the driver and CUPTI:
every command that the double's device did, with its times, parent and stream, or counted as lost."""
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys

import librecord
from libcuda import ALL_CALLED, DOUBLES, EMBED, EVENTS, PROGRAM, SLACK_NS, Result, environment
from librecord import BRICK, BUILD

ESTIMATED = 8  # BRICK_SOURCE_ESTIMATED
LONG_SLACK_NS = 2000  # of ticks in a run of seconds


def check_plain(scratch):
    run = Result(scratch, "", "plain", "3")
    run.same_times()
    kernels = [c for c in run.commands if c["brick"] in ("RmsNorm", "QkvProjection")]
    assert [(c["brick"], c["layer"]) for c in kernels] == 3 * [
        ("RmsNorm", 0), ("QkvProjection", 0), ("RmsNorm", 1), ("QkvProjection", 1)]
    others = [c["brick"] for c in run.commands if c not in kernels]
    assert others == 2 * ["copy host to device"] + ["fill"] + 2 * ["copy device to host"], others
    assert run.launches == 2 + 12 + 3, run.launches
    rows = json.loads(subprocess.check_output(
        [BRICK, "report", "--by", "kernel", "--json", run.path]))["kernels"]
    # demangled where the process has a C++ runtime, as under a sanitizer
    grids = {{"add(float*, float const*, unsigned int)": "_Z3addPfPKfj"}.get(
        row["name"], row["name"]): row for row in rows}
    scale = grids["scale"]
    assert scale["count"] == 6, scale
    assert scale["total_ns"] == sum(c["end_ns"] - c["begin_ns"] for c in run.commands
                                    if c["brick"] == "RmsNorm"), scale
    assert (scale["grid"], scale["block"]) == ([32, 1, 1], [128, 1, 1]), scale
    assert (scale["shared_bytes"], scale["registers"]) == (1024 + 256, 24), scale
    assert grids["_Z3addPfPKfj"]["shared_bytes"] == 256, grids
    assert scale["code"] and scale["code"] == grids["_Z3addPfPKfj"]["code"], grids
    for name, kind, count in (("copy host to device", "h2d", 2), ("copy device to host", "d2h", 2),
                              ("fill", "fill", 1)):
        assert (grids[name]["kind"], grids[name]["count"], grids[name]["bytes"]) == (
            kind, count, count * 4096 * 4), grids[name]
    tree = subprocess.check_output([BRICK, "tree", run.path], text=True)
    assert "scale  <<<(32,1,1),(128,1,1)>>> smem=1280B" in tree, tree
    data = b"".join(packets(run.path))
    assert b".visible .entry scale" in data, "the PTX text is not in the recording"


def packets(path):
    """All packets of a recording, unpacked."""
    import zlib
    with open(path, "rb") as file:
        for number, value in librecord.fields(file.read()):
            if number != 1:
                continue
            yield value
            for n, v in librecord.fields(value):
                if n == 50:
                    yield zlib.decompress(v)


def check_graph(scratch):
    """Kernels that a graph replays belong to what was open when the graph was captured."""
    for scenario in ("", "shuffle", "late=300", "shuffle,late=100,drift=50"):
        run = Result(scratch, scenario, "graph", "5")
        run.same_times()
        kernels = [(c["brick"], c["layer"]) for c in run.commands if c["stream"] != 7]
        assert kernels == 5 * [("RmsNorm", 3), ("QkvProjection", 3), ("RmsNorm", 4),
                               ("QkvProjection", 4)], (scenario, kernels)
        assert f"{ALL_CALLED}, 0 graph nodes unknown, 0 refused" in \
            run.notes["cuda.records"], run.notes


def check_graph_calls(scratch):
    """Clones that are announced as created, too, and a graph that could not be instantiated."""
    for scenario, what in (("announce=1", "graph"), ("announce=2", "graph"), ("noexec", "refused"),
                           ("announce=1,noexec", "refused")):
        run = Result(scratch, scenario, what, "5")
        run.same_times()
        kernels = [(c["brick"], c["layer"]) for c in run.commands if c["stream"] != 7]
        assert kernels == 5 * [("RmsNorm", 3), ("QkvProjection", 3), ("RmsNorm", 4),
                               ("QkvProjection", 4)], (scenario, kernels)
        assert ", 0 graph nodes unknown" in run.notes["cuda.records"], (scenario, run.notes)


def check_whole_graphs(scratch):
    """With BRICK_CUDA=whole-graphs each launch of a graph is one command, of the brick around it."""
    run = Result(scratch, "shuffle", "graph", "5", BRICK_CUDA="whole-graphs")
    graphs = [c for c in run.commands if c["stream"] != 7]
    assert [c["brick"] for c in graphs] == 5 * ["LmHead"], graphs
    names = [name for name, stream, _ in run.afters if stream != 7]
    assert len(names) == 5 and all(re.fullmatch(r"graph \d+", name) for name in names), names
    nodes = sorted((c for c in run.truth if c["stream"] != 7), key=lambda c: c["begin"])
    for i, graph in enumerate(graphs):
        own = nodes[4 * i:4 * i + 4]
        length = own[-1]["end"] - own[0]["begin"]
        assert abs(graph["end_ns"] - graph["begin_ns"] - length) <= SLACK_NS, (graph, own)
    assert run.dropped == 0 and ALL_CALLED in run.notes["cuda.records"], \
        run.notes


def light(scratch, scenario, count, detail="light"):
    """A run of three graphs of four nodes with --cuda light, whose pause was long enough for Brick to see samples."""
    for pause in "1", "5", "20":
        run = Result(scratch, scenario, "paced", str(count), BRICK_CUDA=detail, CUDA_WORK_PAUSE=pause)
        run.samples = [c for c in run.commands if c["source"] != ESTIMATED]
        run.estimates = [c for c in run.commands if c["source"] == ESTIMATED]
        if run.estimates or "light" not in run.notes["cuda.detail"]:
            break
    return run


def check_light(scratch):
    """Replays that are one record have all their kernels, each of its brick and layer, within the replay; samples are exact."""
    for scenario in ("", "shuffle,late=50", "announce=1,drift=50", "hostfirst"):
        run = light(scratch, scenario, 60)
        assert run.notes["cuda.detail"].startswith("light: "), run.notes
        slack = LONG_SLACK_NS + run.residual()
        assert run.dropped == 0 == run.clamped and ALL_CALLED in run.notes["cuda.records"], run.notes
        assert ", 0 replays left whole" in run.notes["cuda.records"], run.notes
        streams = {c["stream"] for c in run.commands}
        assert run.lanes == len(streams), f"a queue for each stream: {run.lanes}, {streams}"
        kernels = [(c["brick"], c["layer"]) for c in run.commands if c["stream"] != 7]
        assert {k: kernels.count(k) for k in kernels} == {
            (name, i): 3 * 60 for name in ("RmsNorm", "QkvProjection") for i in (3, 4)}, (scenario, len(kernels))
        assert run.estimates and len(run.samples) >= 3 * 8 * 4, (len(run.samples), len(run.estimates))
        for stream in {c["stream"] for c in run.commands} - {7}:
            real = sorted((c for c in run.truth if c["stream"] == stream), key=lambda c: c["begin"])
            seen = sorted((c for c in run.commands if c["stream"] == stream), key=lambda c: c["begin_ns"])
            assert len(real) == len(seen) == 60 * 4, (scenario, len(real), len(seen))
            for i in range(0, len(real), 4):
                sources = {c["source"] for c in seen[i:i + 4]}
                exact = range(4) if ESTIMATED not in sources else ()
                assert len(sources) == 1, (scenario, sources)
                assert seen[i]["begin_ns"] >= real[i]["begin"] - slack, (scenario, real[i], seen[i])
                assert abs(seen[i]["begin_ns"] - real[i]["begin"]) <= slack, (scenario, real[i], seen[i])
                assert seen[i + 3]["end_ns"] <= real[i + 3]["end"] + slack, (scenario, real[i + 3], seen[i + 3])
                for k in exact:
                    assert abs(seen[i + k]["end_ns"] - real[i + k]["end"]) <= slack, (scenario, real[i + k])


def nodes_of(tree):
    yield tree
    for child in tree["children"]:
        yield from nodes_of(child)


def check_marks(run):
    """Every form of an answer says which times are estimates, or have some in them: ~ for people, a number for programs."""
    def ask(*options):
        return subprocess.check_output([BRICK, *options, run.path], text=True)

    estimated = len(run.estimates)
    rows = json.loads(ask("report", "--by", "kernel", "--json"))["kernels"]
    assert sum(row["device_estimated"] or 0 for row in rows) == estimated, rows
    table = list(csv.DictReader(io.StringIO(ask("report", "--by", "kernel", "--csv"))))
    assert sum(int(row["device_estimated"] or 0) for row in table) == estimated, table
    for place in ("--by", "kernel"), ("--by", "queue"), ():
        text = ask("report", *place, "--columns", "device,avg,p50,p95")
        for row in (line.split() for line in text.splitlines()):
            if row and row[0] in ("scale", "RmsNorm", "QkvProjection"):
                # of a brick that threads ran, too, only DEVICE is the device's
                assert [cell[0] == "~" for cell in row[-4:]] == [True] + 3 * [bool(place)], text
            elif row and row[0] == "fill":
                assert not any(cell[0] == "~" for cell in row), text
    nodes = [node for tree in json.loads(ask("tree", "--json"))["trees"] for node in nodes_of(tree["tree"])]
    kernels = [node for node in nodes if node["kind"] == "kernel"]
    assert any(node["device_estimated"] for node in kernels), nodes
    text = ask("tree")
    assert any("scale  <<<" in line and re.search(r" ~[0-9.]+", line) for line in text.splitlines()), text
    bricks = {row["name"]: row for section in json.loads(ask("path", "--json"))["sections"] for row in section["bricks"]}
    assert bricks["RmsNorm"]["estimated"] and bricks["RmsNorm"]["own_ns"], bricks
    lines = [line.split() for line in ask("path", "--all").splitlines()]
    for name in "RmsNorm", "QkvProjection", "LmHead", "Launch":
        row, shown = bricks[name], next(line for line in lines if line[:1] == [name])
        for time, ns in (shown[2], row["on_path_ns"]), (shown[4], row["own_ns"]):
            assert (time[0] == "~") == bool(row["estimated"] and ns), (shown, row)
    check_page_marks(run, bricks)


def check_page_marks(run, path):
    """The page marks them, too, as a browser shows it. Skipped without one, or where the page was not built."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    page = run.path + ".html"
    if not browser or subprocess.run([BRICK, "report", "--html", page, run.path], capture_output=True).returncode:
        return
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom", "file://" + page]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout
    assert "data-ready" in shown, shown[:2000]
    bricks = {row["name"]: row for row in json.loads(subprocess.check_output([BRICK, "report", "--json", run.path]))["bricks"]}
    for section, rows, key, columns in (("bricks", bricks, "device_estimated", ["device_ns"]), ("path", path, "estimated", ["on_path_ns", "own_ns"])):
        part = re.search(f'<section[^>]* id="{section}".*?</section>', shown, re.S)[0]
        for name in "RmsNorm", "QkvProjection":
            row = re.search(f'<tr data-row="{name}".*?</tr>', part, re.S)
            assert row or section == "path", part  # which leaves out what is next to nothing of it
            for column in columns if row else ():
                time = re.search(f'data-column="{column}"[^>]*>([^<]*)<', row[0])[1]
                assert (time[0] == "~") == bool(rows[name][key] and rows[name][column]) and rows[name][key], (section, time, rows[name])


def check_light_interval(scratch):
    """Kernels that take up to a third more or less each time: sums of their times lie in the stated intervals."""
    inside, found = 0, []
    for seed in range(10):
        run = light(scratch, f"vary=33,cost_seed={seed}", 60)
        rows = json.loads(subprocess.check_output([BRICK, "report", "--by", "kernel", "--json", run.path]))["kernels"]
        for row in (row for row in rows if row["kind"] == "compute"):
            name = "_Z3addPfPKfj" if "add" in row["name"] else row["name"]
            truth = sum(c["end"] - c["begin"] for c in run.truth if c["name"] == name)
            assert row["source"] == "device-activity+estimated" and row["count"] == 3 * 60 * 2, row
            found.append((name, seed, truth, row["device_ns"], row["device_error_ns"]))
            assert 0 < row["device_error_ns"] < 0.3 * row["device_ns"], found[-1]
            inside += abs(truth - row["device_ns"]) <= row["device_error_ns"]
        if not seed:
            check_marks(run)
        report = subprocess.check_output([BRICK, "report", "--trust", run.path], text=True)
        assert f"times of {len(run.estimates)} device commands are estimates" in report, report
        assert re.search(r"^CUDA +light: ", report, re.M), report
    print(f"{inside} of {len(found)} sums inside: {found}")
    assert inside >= 15, found  # of 20; 14 or less: once in 3000 times, if each holds in 19 of 20


def check_light_refused(scratch):
    """Where CUPTI does not record replays as light recording needs them, each kernel has its record, and the report says why."""
    for scenario, why in (("nowhole", "CUPTI refuses them"), ("bothkinds", "not each brings one record"),
                          ("atbirth=100", "not each brings one record")):
        run = light(scratch, scenario, 20)
        run.same_times(LONG_SLACK_NS)  # the runs pause
        assert run.notes["cuda.detail"].startswith("full: ") and why in run.notes["cuda.detail"], run.notes
    run = light(scratch, "atbirth=16", 60)  # not so for Brick's graph
    report = subprocess.check_output([BRICK, "report", "--trust", run.path], text=True)
    assert "full from here on" in " ".join(report.split()), report
    run = light(scratch, "stuck", 20)  # nothing helps then: a replay is one command
    assert "none for whole replays" in run.notes["cuda.detail"], run.notes
    assert [c["brick"] for c in run.commands if c["stream"] != 7] == 3 * 20 * ["LmHead"] and run.dropped == 0, run.commands


def check_detail_by_cost(scratch):
    """Without a wish the calibrated cost of a replayed kernel decides; a program without graphs is recorded as always."""
    run = light(scratch, "cost_node=20000", 20, "")
    assert run.notes["cuda.detail"].startswith("light: ") and "chosen by the cost" in run.notes["cuda.detail"], run.notes
    assert ESTIMATED in {c["source"] for c in run.commands}, run.notes
    run = Result(scratch, "", "plain", "3", BRICK_CUDA="light")
    run.same_times()


def check_nested(scratch):
    """Kernels of a graph within another one come under numbers of no node: they have a parent where all have the same."""
    for part, count, expected in (("inside", 5, {("RmsNorm", 0): 5, ("QkvProjection", 0): 5, ("DownProjection", 3): 10}),
                                  ("child", 3, {("scale", -1): 12, ("add", -1): 12})):
        for scenario in ("", "announce=1", "announce=2"):
            path, found = scratch.file("nested.pftrace"), {}
            librecord.record(path, os.path.join(BUILD, "bin", "program-cuda_limits"), part, str(count), env=environment(scenario))
            run = json.loads(subprocess.check_output([BRICK, "export", "--format", "json", path]))
            for lane in run["lanes"]:
                for values in lane["samples"] if lane["kind"] == "queue" else ():
                    site = run["sites"][dict(zip(run["sample_fields"], values))["site"]]
                    name = run["bricks"][site["brick"]]["name"]
                    name = "add" if "add" in name else name
                    if not name.startswith("copy"):
                        found[name, site["layer"]] = found.get((name, site["layer"]), 0) + 1
            assert found == expected, (part, scenario, found)


def check_clock(scratch):
    """CUPTI's own clock, where it does not take ours: placed by readings, and never before a launch."""
    for scenario in ("nostamp,drift=50", "nostamp,shuffle,late=100"):
        run = Result(scratch, scenario, "streams", "40")
        run.same_times()
        assert "readings of its clock" in run.notes["cuda.clock"], run.notes
    run = Result(scratch, "drift=50", "plain", "3")
    run.same_times()
    assert "takes its times from" in run.notes["cuda.clock"], run.notes
    assert run.notes["cuda.device"] == "0 Double of a device", run.notes


def check_libraries(scratch):
    """A CUPTI that does not suit the driver is not the last; one that may crash is named."""
    run = Result(scratch, "misfit", "plain", "2")
    run.same_times()
    assert run.notes["cuda"].endswith("libcupti.so.13"), run.notes
    run = Result(scratch, "ga", "plain", "2")
    assert "13.0 Update 1" in run.notes["cuda.warning"], run.notes


def check_streams(scratch):
    for scenario in ("", "shuffle", "shuffle,late=50"):
        run = Result(scratch, scenario, "streams", "40")
        run.same_times()
        assert len({c["stream"] for c in run.commands}) == 5


def check_events(scratch):
    """What a stream does behind an event of another one comes after what that was given before."""
    for scenario in ("", "shuffle", "shuffle,late=50"):
        run = Result(scratch, scenario, "events", "2")
        run.same_times()
        scale, add = "scale", "add(float*, float const*, unsigned int)"
        found = [(scale if name == scale else add if "add" in name else "copy", stream, after)
                 for name, stream, after in run.afters]
        # stream 13 was that of the calibration
        assert found == [
            ("copy", 7, []), ("copy", 7, []), ("copy", 7, []),
            (scale, 14, []), (add, 15, [3]), (scale, 14, [4]), (add, 15, [5]), ("copy", 14, [6]),
            (add, 15, []),  # what was captured orders nothing outside of the graph
            (scale, 14, [8]), (add, 14, [8]),  # the graph
            (scale, 15, [10]), ("copy", 7, [])], (scenario, found)
        assert run.waits == [7, 11], (scenario, run.waits)  # of the event, of the stream


def check_threads(scratch):
    run = Result(scratch, "shuffle", "threads", "300")
    run.same_times()


def check_starting(scratch):
    """Threads that launch while another calibrates: each kernel is there, and has its call (cuda_calibration.h)."""
    run = Result(scratch, "cost_callback=2000,cost_record=10000", "starting", "48")
    run.same_times()
    assert len(run.commands) == 49 == run.launches, (len(run.commands), run.launches)
    assert ALL_CALLED in run.notes["cuda.records"] and "callbacks" in run.notes["cuda.calibration"], run.notes


def check_no_calibration(scratch):
    """A driver that lacks a function is not calibrated, says so, and its captures have the mode of before."""
    lacks, older = b"\0cuLaunchKernel_ptsz\0", scratch.file("older")
    os.makedirs(older, exist_ok=True)
    for name in ("libcuda.so.1", "libcupti.so"):
        with open(os.path.join(DOUBLES, name), "rb") as file:
            library = file.read()
        assert name != "libcuda.so.1" or lacks in library
        with open(os.path.join(older, name), "wb") as file:
            file.write(library.replace(lacks, lacks.replace(b"ptsz", b"none")) if name == "libcuda.so.1" else library)
    run = Result(scratch, "", "starting", "2", LD_LIBRARY_PATH=older)
    run.same_times()
    assert "none: cuLaunchKernel_ptsz failed" in run.notes["cuda.calibration"], run.notes


def check_many(scratch):
    run = Result(scratch, "shuffle", "many", "20000")
    run.same_times()


def check_lost(scratch):
    run = Result(scratch, "shuffle,lose=7", "many", "3000")
    lost = len(run.truth) - len(run.commands)
    assert lost == len(run.truth) // 7, (lost, len(run.truth))
    assert run.dropped == lost, (run.dropped, lost)
    run = Result(scratch, "lose=2", "contexts", "3")  # nearly all copies and fills, which nobody misses
    assert len(run.truth) - len(run.commands) == 3 == run.dropped, (run.truth, run.commands, run.dropped)


def check_refused(scratch):
    """Where tracing cannot be had the program runs as always, and the recording says why."""
    for scenario, more, why in (
            ("taken", {}, "another profiler is tracing"),
            ("unfit", {}, "does not suit the driver"),
            ("old", {}, "is older than CUDA 11"),
            ("", {"BRICK_CUPTI": "/nonexistent/libcupti.so"}, "libcupti.so was not found"),
            ("", {"BRICK_CUDA": "off"}, "BRICK_CUDA=off")):
        run = Result(scratch, scenario, "plain", "2", **more)
        assert not run.commands and why in run.notes["cuda"], (scenario, run.notes)


def check_failures(scratch):
    """Calls that fail launch nothing; nobody waits for their records."""
    for what in ("plain", "graph", "streams"):
        run = Result(scratch, "fail=4,shuffle", what, "12")
        assert run.code == 1 and "701" in run.output
        run.same_times()


def check_early(scratch):
    for scenario in ("", "late=100", "shuffle"):
        Result(scratch, scenario, "early", "30").same_times()


def check_processes(scratch):
    """Each process of a command is traced; one that is killed keeps what had been delivered."""
    path = scratch.file("children.pftrace")
    for seconds in ("1.5", "6", "24"):  # a machine that does other things takes longer to begin
        command = f"'{PROGRAM}' plain 2 & '{PROGRAM}' graph 3; wait; '{PROGRAM}' many 2000000 & " \
                  f"child=$!; sleep {seconds}; kill -KILL $child; wait"
        run = subprocess.run([BRICK, "record", "-o", path, "--", "sh", "-c", command],
                             env=environment("shuffle"), capture_output=True, text=True, timeout=600)
        assert "double:" not in run.stderr, run.stderr
        rows = json.loads(subprocess.check_output(
            [BRICK, "report", "--by", "kernel", "--json", path]))["kernels"]
        counts = {row["name"]: row["count"] for row in rows}
        if counts["scale"] > 2 * 2 + 3 * 2 + 1000:
            break
    add = next(count for name, count in counts.items() if "add" in name)
    assert add == 2 * 2 + 3 * 2, counts
    assert counts["scale"] > 2 * 2 + 3 * 2 + 1000, counts


def check_embedded(scratch):
    """The library's own events on the same device, in a recording of its own and under the recorder."""
    path = scratch.file("own.pftrace")
    run = subprocess.run([EVENTS, path], env=environment("drift=20"), capture_output=True,
                         text=True, timeout=600)
    assert run.returncode == 0, run.stdout + run.stderr
    recorded = scratch.file("recorded.pftrace")
    run = subprocess.run([BRICK, "record", "-o", recorded, "--", EVENTS],
                         env=environment(""), capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stdout + run.stderr
    for what, count, bricks in (("many", "20000", 20000), ("graph", "300", 600)):
        own = scratch.file("events.pftrace")
        run = subprocess.run([PROGRAM, what, count], timeout=600, capture_output=True, text=True,
                             env=environment("", CUDA_WORK_EVENTS=own))
        assert run.returncode == 0, run.stdout + run.stderr
        report = json.loads(subprocess.check_output([BRICK, "report", "--json", own]))
        norm = next(row for row in report["bricks"] if row["name"] == "RmsNorm")
        assert norm["device_count"] == bricks, norm
        assert report["losses"]["dropped"] == 0, report["losses"]
    kernels = json.loads(subprocess.check_output(
        [BRICK, "report", "--by", "kernel", "--json", recorded]))["kernels"]
    twice = [row for row in kernels if row["source"] == "device-activity" and
             row["kind"] == "compute"]
    assert not twice, twice
    counts = []
    for name in (path, recorded):
        report = json.loads(subprocess.check_output([BRICK, "report", "--json", name]))
        sources = {row["name"]: row["source"] for row in report["bricks"]}
        assert "device-event" in sources["RmsNorm"], sources
        assert not any(n for key, n in report["losses"].items() if key != "complete"), report["losses"]
        rows = {row["name"]: row["count"] for row in report["bricks"]}
        counts.append((rows["Launch"], rows["Synchronize"]))
    # Nothing that the library asks of the driver counts: the program filled 2 buffers, captured 8
    # launches in a stream that was not the library's yet, and waited for 202 events of its own.
    assert counts == [(240, 1), (240 + 2 + 8, 1 + 202)], counts


def check_told_once(scratch):
    """The recorder leaves to the program what that records, and nothing else, and no longer."""
    path = scratch.file("once.pftrace")
    for what, kernels, own, left, unsupported in (
            ("timer", 10, 0, 0, 0), ("closed", 10, 1, 1, 0), ("graph", 10, 0, 0, 0),
            ("capture", 3, 0, 0, 3)):
        if os.path.exists(path):
            os.unlink(path)
        run = subprocess.run([BRICK, "record", "-o", path, "--", EMBED, what],
                             env=environment(""), capture_output=True, text=True, timeout=600)
        assert run.returncode == 0, (what, run.stdout + run.stderr)
        report = json.loads(subprocess.check_output([BRICK, "report", "--json", path]))
        counts = {row["name"]: row["device_count"] for row in report["bricks"]}
        found = counts.get("scale", 0), counts.get("RmsNorm", 0)
        assert found == (kernels, own), (what, found, report["run"]["notes"])
        assert report["losses"]["unsupported"] == unsupported, (what, report["losses"])
        assert report["losses"]["dropped"] == 0, (what, report["losses"])
        notes = {note["key"]: note["value"] for note in report["run"]["notes"]}
        assert f", {left} left to the program" in notes["cuda.records"], (what, notes)


def check_pause(scratch):
    """What was launched while nothing was recorded is not recorded, and not taken for a mistake."""
    for scenario in ("", "late=100,shuffle"):
        run = Result(scratch, scenario, "pause", "10")
        names = [name for name, _, _ in run.afters if "scale" in name or "add" in name]
        assert len(names) == 6, (scenario, run.notes)
        records = run.notes["cuda.records"]
        assert ALL_CALLED in records, (scenario, records)
        assert ", 10 launched while nothing was recorded" in records, (scenario, records)
        assert "cuda.correlation" not in run.notes, (scenario, run.notes)


def check_contexts(scratch):
    """Nobody waits for what a context of before did, whose handle is another's now; what it did is there."""
    run = Result(scratch, "", "contexts", "3")
    assert len(run.commands) == 6 == len(run.truth), (run.commands, run.truth)
    assert run.waits == [1, 2, 3, 4], run.waits


def check_devices(scratch):
    """Two devices, and a context of each whose stream has the same number: a queue each, with its own waits."""
    run = Result(scratch, "devices=2,shuffle", "devices", "4")
    run.same_times()
    device = json.loads(subprocess.check_output([BRICK, "report", "--json", run.path]))["device"]
    counts = {queue["name"]: queue["commands"] for queue in device["queues"]}
    assert counts == {"CUDA device 0 context 1 stream 7": 2, "CUDA device 0 context 2 stream 7": 4,
                      "CUDA device 1 context 3 stream 7": 4}, counts
    for queue in device["queues"]:
        assert queue["busy_ns"] + queue["idle_ns"] == queue["queue_wall_ns"], queue
    waits = {wait["queue"]: wait["count"] for wait in device["waits"]}
    assert waits == {name: 1 for name in counts if not name.startswith("CUDA device 0 context 1 ")}, waits


def check_missing_ids(scratch):
    """A CUPTI that gives correlation ids only along with records of calls is given what it wants."""
    run = Result(scratch, "oddid", "many", "40000")
    assert "cuda.correlation" not in run.notes, run.notes  # one odd record changes nothing
    run = Result(scratch, "noids", "many", "40000")
    assert len(run.commands) == len(run.truth) and run.dropped == 0, (run.dropped, run.notes)
    assert "ids were missing" in run.notes.get("cuda.correlation", ""), run.notes
    orphans = int(re.search(r"(\d+) commands without", run.notes["cuda.records"]).group(1))
    assert 0 < orphans < len(run.truth), run.notes


def main():
    with librecord.Scratch() as scratch:
        for check in (check_plain, check_graph, check_graph_calls, check_whole_graphs, check_light,
                      check_light_interval, check_light_refused, check_detail_by_cost, check_nested, check_clock,
                      check_libraries, check_streams, check_events, check_threads, check_starting,
                      check_no_calibration, check_many,
                      check_lost, check_refused, check_failures, check_early, check_processes,
                      check_embedded, check_told_once, check_pause, check_contexts, check_devices,
                      check_missing_ids):
            check(scratch)
            print(check.__name__, "ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
