# SPDX-License-Identifier: Apache-2.0
"""Attention counts what its mask lets through, not the padding of the cache: FLOPs and bytes of every
FlashAttention against those of the pairs of a query and a position that a causal mask allows, for texts of
1, 7, 64 and 300 positions. Without flash attention the engine computes the padding, too, and so it counts.
By the callback the mask is not read: what it says is marked as the most that it can be."""
import csv
import os
import subprocess
import tempfile

import libggml as g

HEADS, KV_HEADS, WIDTH, LAYERS, PADDED = 8, 4, 64, 7, 256
BRICK = os.path.join(g.BUILD, "bin", "brick")
LLAMA = os.path.join(g.BUILD, "bin", "brick-llama")


def executions(operation, method, *arguments):
    """(elements, bytes, FLOPs) of each, in order."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "run.pftrace")
        subprocess.run([BRICK, "record", "-q", "--attach", method, "-o", path, "--", LLAMA, "--libs", g.libraries(),
                        "--model", g.demo("model-f16.gguf"), *arguments], check=True, capture_output=True)
        done = subprocess.run([BRICK, "export", "--format", "csv", path], check=True, capture_output=True, text=True)
    rows = csv.DictReader(done.stdout.splitlines())
    return [tuple(int(r[k]) for k in ("elements", "bytes", "flops"))
            for r in rows if r["operation"] == operation and r["flops"]]


def work(queries, positions, pairs, padded):
    """q and out in f32, as many mask values as there are queries, keys and values in f16."""
    return (queries * HEADS * WIDTH,
            2 * 4 * queries * HEADS * WIDTH + 2 * queries * padded + positions * 2 * 2 * KV_HEADS * WIDTH,
            pairs * HEADS * 2 * (WIDTH + WIDTH))


def check(prompt, padded, threads):
    got = executions("FLASH_ATTN_EXT", "auto", "--flash", "on", "--prompt-tokens", str(prompt), "--predict", "3",
                     "--threads", str(threads))
    # Whoever asks for no more than one position asks the last block for the last query only.
    steps = [(prompt, prompt), (1, prompt + 1), (1, prompt + 2)]
    want = []
    for queries, positions in steps:
        pairs = sum(positions - queries + 1 + i for i in range(queries))
        want += [work(queries, positions, pairs, padded)] * LAYERS
    assert got == want, (prompt, threads, got, want)


for text, cells in ((1, 256), (7, 256), (64, 256), (300, 512)):
    check(text, cells, 1)
check(7, 256, 2)

all_of_it = executions("FLASH_ATTN_EXT", "callback", "--flash", "on", "--prompt-tokens", "7", "--predict", "1")
assert all_of_it and all(e[2] == work(7, 7, 7 * PADDED, PADDED)[2] for e in all_of_it), all_of_it

softmax = executions("SOFT_MAX", "auto", "--flash", "off", "--prompt-tokens", "7", "--predict", "1")
assert softmax and all(e[2] == 5 * 7 * HEADS * PADDED for e in softmax), softmax
