# SPDX-License-Identifier: Apache-2.0
"""Experts of a mixture on the real engine: tokens and bytes of each are what the evaluation callback of the same
program reads, with one thread and with two; phases divide them, and nothing is known where nobody asked."""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile

import libggml as g

BRICK = os.path.join(g.BUILD, "bin", "brick")


def output(*command):
    done = g.run(command)
    assert not done.returncode, (command, done.stderr)
    return done.stdout


def experts(path, *options):
    answer = json.loads(output(BRICK, "experts", "--json", *options, path))
    assert answer["schema"] == "brick/experts/1" and answer["dropped_records"] == 0, answer
    (model,) = answer["models"]
    return answer, model["layers"], model["kept"]


def column(layer, name):
    return [expert[name] for expert in layer["by_expert"]]


def check_counts(own, path, threads):
    answer, layers, kept = experts(path)
    assert answer["unknown_executions"] == 0, answer
    assert answer["executions"] == sum(layer["products"] for layer in own), (own, answer)
    assert [layer["layer"] for layer in layers] == list(range(len(own))), layers
    for want, got in zip(own, layers):
        assert got["executions"] == want["products"] and got["ns"] > 0, (want, got)
        for name in ("tokens", "bytes"):
            assert column(got, name) == want[name], (threads, want, got)
            assert got[name] == sum(want[name]), (want, got)
        assert got["unused"] == want["tokens"].count(0), (want, got)
        assert 1 <= got["even_as_experts"] <= got["experts"], got
    for row in kept:  # of each layer its hottest
        hottest = sum(sum(sorted(layer["tokens"])[-row["experts"]:]) for layer in own)
        assert abs(row["token_share"] - hottest / sum(sum(layer["tokens"]) for layer in own)) < 1e-6, (row, own)
    assert [row["experts"] for row in kept] == [1, 2], kept
    return layers


def check_phases(path, layers):
    parts = [experts(path, "--phase", phase)[1] for phase in ("prefill", "decode")]
    for prefill, decode, all_of_it in zip(*parts, layers, strict=True):
        both = [a + b for a, b in zip(column(prefill, "tokens"), column(decode, "tokens"))]
        assert both == column(all_of_it, "tokens"), (both, all_of_it)
        assert decode["tokens"] == 2 * 12, decode  # two experts for each token
    assert [layer["layer"] for layer in experts(path, "--layer", "1")[1]] == [1]


def check_forms(path, layers):
    rows = list(csv.DictReader(io.StringIO(output(BRICK, "experts", "--csv", path))))
    assert [int(row["tokens"]) for row in rows] == [n for layer in layers for n in column(layer, "tokens")], rows
    text = output(BRICK, "experts", path)
    assert "Tokens by layer and expert" in text and "fast memory" in text and "not known" not in text, text


def main():
    libs = os.path.realpath(g.libraries())
    maker = os.path.join(g.SOURCE, "examples", "demo", "gguf_make.py")
    with tempfile.TemporaryDirectory() as directory:
        model, path = os.path.join(directory, "moe.gguf"), os.path.join(directory, "run.pftrace")
        subprocess.run([sys.executable, maker, g.demo("model-f16.gguf"), "moe", model], check=True)
        program = g.build_with_llama(directory, libs, "llama_experts")
        for threads in ("1", "2"):
            own = json.loads(output(program, libs, model, threads, "callback"))
            output(BRICK, "record", "--experts", "-q", "-o", path, "--", program, libs, model, threads, "plain")
            layers = check_counts(own, path, threads)
        check_phases(path, layers)
        check_forms(path, layers)
        output(BRICK, "record", "-q", "-o", path, "--", program, libs, model, "1", "plain")
        done = g.run([BRICK, "experts", path])
        assert done.returncode == 3 and "record --experts" in done.stderr, done
        print(sum(layer["tokens"] for layer in layers), "tokens of", len(layers), "layers")


main()
