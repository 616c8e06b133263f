# SPDX-License-Identifier: Apache-2.0
"""`brick record --measure-distortion` with the real engine, by node hooks and by the evaluation callback: tokens are the
same; some steps are left whole, which hold no node, and all other steps have all their nodes. Steps in a row are left
whole when that is asked for. What is made of the steps' lengths, unit/analysis_plain_steps holds with planted ones, and
bench/distortion.py with the engine."""
import itertools
import json
import os
import subprocess
import sys
import tempfile

import libggml as g

BRICK = os.path.join(g.BUILD, "bin", "brick")
LLAMA = os.path.join(g.BUILD, "bin", "brick-llama")
TOKENS = 80
# The program's own bricks around a step, which go on.
AROUND = "Sampling", "TokenAccept"


def record(scratch, *options, **env):
    out = os.path.join(scratch, "run.pftrace")
    command = [LLAMA, "--libs", g.demo("engine", "libs"), "--model", g.demo("model-f16.gguf"), "--prompt-tokens", "16",
               "--predict", str(TOKENS), "--threads", "1"]
    run = subprocess.run([BRICK, "record", "-q", *options, "-o", out, "--", *command], capture_output=True, text=True,
                         env={**os.environ, **env}, check=False, timeout=600)
    assert run.returncode == 0, run.stderr
    report = subprocess.run([BRICK, "report", out, "--json"], capture_output=True, text=True, check=True)
    return run.stdout, json.loads(report.stdout)


def counts(report):
    return {row["name"]: row["count"] for row in report["bricks"]}


def whole_steps(*way):
    with tempfile.TemporaryDirectory() as scratch:
        tokens, stated = record(scratch, *way)
        also, measured = record(scratch, *way, "--measure-distortion")
    assert tokens == also, "other tokens"
    assert measured["distortion"]["source"] == "measured" and stated["distortion"]["source"] == "estimated"
    d = measured["distortion"]["decode"]
    assert d["low"] <= d["share"] <= d["high"], measured["distortion"]
    plain, some = counts(stated), counts(measured)
    whole = some.pop("PlainStep")
    assert "PlainStep" not in plain and TOKENS // 10 < whole < TOKENS // 3, (plain, whole)
    every = {name: n // TOKENS for name, n in plain.items() if n % TOKENS == 0 and name not in AROUND}
    assert len(every) > 12 and every["LmHead"] == 1 and every["QkvProjection"] > 1, every
    assert {name: some[name] for name in every} == {name: n * (TOKENS - whole) for name, n in every.items()}, (plain, some, whole)
    assert all(some[name] == TOKENS for name in AROUND), some
    return plain


def in_blocks():
    """BRICK_PLAIN_STEPS=2,9: nine steps in a row are left whole, nine are recorded, and so on."""
    with tempfile.TemporaryDirectory() as scratch:
        record(scratch, BRICK_PLAIN_STEPS="2,9")
        done = subprocess.run([BRICK, "report", os.path.join(scratch, "run.pftrace"), "--by", "step", "--json"],
                              capture_output=True, check=True)
    rows = [row for row in json.loads(done.stdout)["each_step"] if row["name"] != "outside of steps"]
    blocks = [len(list(block)) for _, block in itertools.groupby(row["count"] < 16 for row in rows)]
    assert len(blocks) > TOKENS // 12 and set(blocks[1:-1]) == {9}, blocks


if not os.path.exists(LLAMA):
    g.skip("no brick-llama")
whole_steps()
assert whole_steps("--attach", "callback")["ProfilerSplit"] > TOKENS // 2
in_blocks()
sys.exit(0)
