# SPDX-License-Identifier: Apache-2.0
"""Buffers of ggml by owner: those of weights, of the cache, of computing and of outputs have the bytes that llama.cpp itself
says; the peak is the system's own; and a report says how the model's file was opened, mapped, read and locked. A program that keeps states of its sequences is found to grow by them."""
import csv
import io
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

import libggml as g

BRICK = os.path.join(g.BUILD, "bin", "brick")
MIB = 1 << 20
# Runs a command, and says what the system counted at most.
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print("PEAK", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""
OWNERS = {"model": "weights", "KV": "cache", "compute": "compute", "output": "outputs"}


def record(path, *command):
    done = subprocess.run([BRICK, "record", "--no-history", "-o", path, "--", *command], capture_output=True, text=True, check=True)
    answer = subprocess.run([BRICK, "report", "--by", "memory", "--json", path], capture_output=True, text=True, check=True)
    return done, json.loads(answer.stdout)


def said(text):
    """MiB by owner, as the engine says them with two decimals."""
    sums = {}
    for owner, mib in re.findall(r"(model|KV|compute|output) +buffer size = +([0-9.]+) MiB", text):
        sums[owner] = sums.get(owner, 0) + float(mib)
    return sums


def buffers(folder):
    path = os.path.join(folder, "run.pftrace")
    done, answer = record(path, sys.executable, "-c", PEAK, g.LLAMA, "--libs", g.libraries(), "--model",
                          g.demo("model-f16.gguf"), "--log", "--prompt-tokens", "32", "--predict", "70")
    text = done.stderr
    engine = said(text)
    assert set(engine) == set(OWNERS), text
    rows = {row["kind"]: row for row in answer["rows"] if row["brick"] is None}
    for owner, mib in engine.items():
        live = rows[OWNERS[owner]]["live_bytes"] / MIB
        assert abs(live - mib) <= 0.03, (owner, live, mib)  # the engine rounds each line
        assert rows[OWNERS[owner]]["peak_bytes"] == rows[OWNERS[owner]]["live_bytes"], rows  # none was another owner's first
    assert sum(rows[kind]["live_bytes"] for kind in OWNERS.values()) == rows["all"]["live_bytes"], rows
    assert all(row["gpu"] is None for row in answer["rows"]), rows
    assert rows["system"]["peak_bytes"] >= rows["anonymous"]["live_bytes"] > 0, rows
    table = subprocess.run([BRICK, "report", "--by", "memory", "--csv", path], capture_output=True, text=True, check=True).stdout
    written = {row["kind"]: int(row["live_bytes"]) for row in csv.DictReader(io.StringIO(table))}
    assert written == {kind: row["live_bytes"] for kind, row in rows.items()}, table
    steps = [step for step in answer["steps"] if step["kind"] == "all"]
    assert steps and steps[0]["step"] == 1 and steps[0]["live_bytes"] == rows["all"]["live_bytes"], steps
    run = json.loads(subprocess.run([BRICK, "report", "--json", path], capture_output=True, check=True).stdout)["run"]
    (peak,) = re.findall(r"PEAK ([0-9]+)", done.stdout)
    assert abs(run["peak_bytes"] / int(peak) - 1) <= 0.01, (run["peak_bytes"], peak)
    load = run["load"]
    assert load["open_ns"] > 0 and load["map_ns"] > 0, load
    assert load["open"]["minor"] + load["map"]["minor"] > 0 and load["read"] == {"minor": 0, "major": 0, "bytes": 0}, load
    assert load["open_ns"] + load["map_ns"] + load["read_ns"] < run["start_up_ns"], (load, run["start_up_ns"])
    first_screen = subprocess.run([BRICK, "report", path], capture_output=True, text=True, check=True).stdout
    assert re.search(r"^Memory +[0-9.]+MB at most: .*weights", first_screen, re.M), first_screen
    assert "its model was opened in" in " ".join(first_screen.split()), first_screen


def locked(folder):
    """A model that is kept in memory by mlock(): its pages are filled there, and reading has no faults any more."""
    if os.geteuid() and resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] < 1 << 30:
        print("mlock() was not tried: RLIMIT_MEMLOCK is too low")
        return
    path, mlock = os.path.join(folder, "locked.pftrace"), "3"
    record(path, os.path.join(g.BUILD, "bin", "causes-planted"), "--libs", g.libraries(), "--model", g.demo("model-f16.gguf"),
           "--load", mlock, "--prompt", "4", "--predict", "2", "--threads", "1")
    load = json.loads(subprocess.run([BRICK, "report", "--json", path], capture_output=True, check=True).stdout)["run"]["load"]
    assert load["lock_ns"] > 0 and load["lock"]["minor"] > 10 * load["read"]["minor"] and load["map_ns"] == 0, load
    first_screen = subprocess.run([BRICK, "report", path], capture_output=True, text=True, check=True).stdout
    assert "locked in memory in" in " ".join(first_screen.split()), first_screen


def growth(folder, program, *how):
    path = os.path.join(folder, "keeps.pftrace")
    done, answer = record(path, program, g.libraries(), g.demo("model-f16.gguf"), "320", *how)
    rows = {row["kind"]: row for row in answer["rows"] if row["brick"] is None}
    places = {row["gpu"]: row["live_bytes"] >> 30 for row in answer["rows"] if row["brick"] is None and row["kind"] == "other"}
    assert places == {None: 1, 1: 3}, answer["rows"]  # AMX is the host's, RPC another machine's
    assert rows["states"]["live_bytes"] == int(done.stdout), (rows, done.stdout)
    found = json.loads(subprocess.run([BRICK, "explain", "--json", path], capture_output=True, check=True).stdout)["findings"]
    return [finding for finding in found if finding["rule"] == "memory-growth"]


def kept_states(folder):
    program = g.build_with_llama(folder, os.path.realpath(g.libraries()), "llama_keeps")
    assert not growth(folder, program, "drops")
    (finding,) = growth(folder, program)
    assert "states of sequences saved so far (a prompt cache) have grown by" in finding["evidence"], finding


with tempfile.TemporaryDirectory() as made:
    buffers(made)
    locked(made)
    kept_states(made)
