# SPDX-License-Identifier: Apache-2.0
"""The first screen of `brick report` on the demo's engine, on one thread, on 4 and on 16: 40 lines say what ran, how fast, where
the time went and how far to trust that. What it says of model and settings is what the engine was told."""
import os
import subprocess
import sys

import libggml as g
from libcli import BRICK, TMP, brick, brick_json, environment, expect, expect_true
from libscreen import check_screen

LAYERS, PROMPT, PREDICT = 2, 24, 3


def record(name, model, threads):
    path = os.path.join(TMP, name + ".pftrace")
    subprocess.run([BRICK, "record", "-q", "--no-history", "-o", path, "--", g.LLAMA, "--libs", g.libraries(), "--model", model,
                    "--threads", str(threads), "--prompt-tokens", str(PROMPT), "--predict", str(PREDICT)],
                   env=environment(), stdout=subprocess.DEVNULL, check=True, timeout=600)
    return path


def what_ran(path, threads):
    report = brick_json("report", "--json", path)
    run, model = report["run"], report["run"]["model"]
    expect("model", (model["layers"], model["name"]), (LAYERS, "Brick random llama"))
    expect_true(f"type {model['type']}", "llama" in model["type"] and "F16" in model["type"])
    expect_true("bytes", model["bytes"] >= 2 * model["parameters"] > 0)
    expect("threads", (run["settings"]["threads"], run["settings"]["batch_threads"]), (threads, threads))
    expect_true("a context that holds all tokens", run["settings"]["context"] >= PROMPT + PREDICT)
    expect_true("a batch that holds the prompt", run["settings"]["batch"] >= PROMPT)
    expect_true(f"start-up, {run['start_up_ns']} ns, is before the first step",
                0 < run["start_up_ns"] < run["wall_ns"] - report["steps"]["prefill"]["total_ns"])
    head = " ".join(brick("report", path)[0].decode().split("\nPrefill")[0].split())
    for part in ("llama.cpp (ggml ", f"Brick random llama (llama F16, {LAYERS} layers, ",
                 f"{threads} thread", f"context {run['settings']['context']}", f"batch {run['settings']['batch']}", "CPU on "):
        expect_true(f"{part!r} in {head!r}", part in head)
    text = brick("report", path)[0].decode()
    expect_true("start-up", "start-up took" in text)


def turns_are_taken():
    """Node.js evaluates each step on another thread of its pool, one at a time."""
    path = os.path.join(TMP, "turns.pftrace")
    subprocess.run([BRICK, "record", "-q", "--no-history", "-o", path, "--", g.demo("engine", "node"),
                    os.path.join(g.SOURCE, "examples", "demo", "generate.mjs"), "--model", g.demo("model-q8_0.gguf"),
                    "--prompt-tokens", str(PROMPT), "--predict", "8"], env=environment(), stdout=subprocess.DEVNULL, check=True,
                   timeout=600)
    check_screen(path)
    text = " ".join(brick("report", path)[0].decode().split())
    expect_true(f"one thread at a time: {text}", ", 1 thread," in text and "EACH is the mean time of one execution, without nested bricks." in text)


def main():
    model = os.path.join(TMP, "small.gguf")
    subprocess.run([os.path.join(g.BUILD, "bin", "brick-model"), "--layers", str(LAYERS), "--embd", "256", "--heads", "4",
                    "--kv-heads", "2", "--ff", "512", "--vocab", "512", model], check=True, stdout=subprocess.DEVNULL)
    for threads in (1, 4, 16):
        path = record(f"threads-{threads}", model, threads)
        check_screen(path)
        what_ran(path, threads)
    check_screen(record("demo", g.demo("model-f16.gguf"), 1))
    turns_are_taken()
    done = subprocess.run([sys.executable, os.path.join(g.SOURCE, "docs", "samples.py"), "--check"], capture_output=True, text=True,
                          timeout=600, check=False)
    expect(f"README.md shows what commands print: {done.stderr}", done.returncode, 0)


main()
