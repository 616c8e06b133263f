# SPDX-License-Identifier: Apache-2.0
"""`brick record --max-cost` with the real engine: tokens are the same; blocks of steps are left whole, all steps are recorded,
and reports take the rows of the others alone, each with all of its nodes. How many steps are left whole, unit/cost_limit holds
with planted costs, and bench/max_cost.py with the engine."""
import json
import os
import subprocess
import sys
import tempfile

import libggml as g

BRICK = os.path.join(g.BUILD, "bin", "brick")
LLAMA = os.path.join(g.BUILD, "bin", "brick-llama")
TOKENS = 200


def run(scratch, *options, code=0):
    out = os.path.join(scratch, "run.pftrace")
    command = [LLAMA, "--libs", g.demo("engine", "libs"), "--model", os.path.join(scratch, "model.gguf"), "--prompt-tokens", "16",
               "--predict", str(TOKENS), "--threads", "1"]
    done = subprocess.run([BRICK, "record", *options, "-o", out, "--", *command], capture_output=True, text=True, check=False,
                          timeout=600)
    assert done.returncode == code, done.stderr
    return out, done.stdout, done.stderr


def report(path, *options):
    done = subprocess.run([BRICK, "report", path, "--json", *options], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def counts(answer):
    return {row["name"]: row["count"] for row in answer["bricks"]}


def all_steps(answer):
    return sum(answer["steps"][phase]["count"] for phase in ("prefill", "decode", "mixed", "warm_up", "other"))


def limited():
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([os.path.join(g.BUILD, "bin", "brick-model"), "--type", "f32", "--embd", "64", "--heads", "4",
                        "--kv-heads", "2", "--ff", "176", "--vocab", "512", "--layers", "8",
                        os.path.join(scratch, "model.gguf")], check=True, stdout=subprocess.DEVNULL)
        path, tokens, _ = run(scratch, "-q")
        every = report(path)
        path, also, said = run(scratch, "--max-cost", "0.5%")
        some = report(path)
        one = report(path, "--phase", "decode")
        part = report(path, "--steps", "2")
    assert tokens == also, "other tokens"
    assert "--max-cost 0.5%: " in said and "steps have bricks" in said, said
    steps = some["steps"]["decode"]["count"]
    assert 0 < steps < every["steps"]["decode"]["count"], (some["steps"], every["steps"])
    assert all_steps(some) + some["run"]["left_steps"] == all_steps(every), (some["steps"], every["steps"])
    assert "--max-cost" in some["selected"], some["selected"]
    assert "PlainStep" not in counts(some), counts(some)
    assert counts(one)["LmHead"] == steps and counts(one)["DownProjection"] == 8 * steps, (counts(one), steps)
    assert some["run"]["start_up_ns"] and some["run"]["load"], "the begin is not left out"
    assert part["run"]["start_up_ns"] is None and part["run"]["load"] is None, part["run"]
    assert some["distortion"]["source"] == "measured", some["distortion"]


def refused():
    for options in (["--max-cost", "0"], ["--max-cost", "0.5"], ["--max-cost", "101%"], ["--max-cost", "x%"],
                    ["--max-cost", "1%", "--digest"], ["--max-cost", "1%", "--measure-distortion"]):
        done = subprocess.run([BRICK, "record", *options, "--", "true"], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and "--max-cost" in done.stderr, (options, done)


if not os.path.exists(LLAMA):
    g.skip("no brick-llama")
refused()
limited()
sys.exit(0)
