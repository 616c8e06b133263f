# SPDX-License-Identifier: Apache-2.0
"""llama.cpp's own CUDA backend, unmodified, on a null GPU: the driver's, the runtime's and cuBLAS's
doubles. What it launches is real, what it computes is not.

Each launch and each node of a graph belongs to the brick and layer of the node of ggml that it was
launched or captured for, over captures, updates and replays; times are the records' own; tokens are
those of a run without Brick. Needs examples/demo/engine-device.sh cuda.
"""
import json
import os
import re
import subprocess
import sys

import libcuda
import libggml as g
from librecord import BRICK, Scratch

# What a kernel may be of, by the begin of its name. Others may be of any brick but none.
PRODUCTS = {"QkvProjection", "OutputProjection", "GateProjection", "UpProjection", "DownProjection",
            "LmHead", "AttentionScore", "AttentionOutput"}
KERNELS = {
    r"rms_norm": {"RmsNorm"},
    r"flash_attn": {"FlashAttention"},
    r"rope": {"RopeEmbedding"},
    r"k_set_rows": {"KvCacheWrite"},
    r"soft_max": {"AttentionSoftmax"},
    r"mul_mat|cublas|mmq": PRODUCTS,
    r"k_get_rows": {"Embedding", "RowGather"},
}
IN_LAYERS = {"QkvProjection", "RopeEmbedding", "KvCacheWrite", "OutputProjection", "GateProjection",
             "DownProjection"}


def kernels(run):
    """Of each command that computes: kernel, brick, layer, whether a graph launched it."""
    fields, names = run["sample_fields"], [b["name"] for b in run["bricks"]]
    for values in run["commands"]:
        command = dict(zip(run["command_fields"], values))
        kernel = run["kernels"][command["kernel"]]
        sample = dict(zip(fields, run["lanes"][command["lane"]]["samples"][command["sample"]]))
        site = run["sites"][sample["site"]]
        if kernel["kind"] == "compute":
            yield kernel["name"], names[site["brick"]], site["layer"], command["launch_sample"]


def check_kernel(label, name, brick):
    for pattern, bricks in KERNELS.items():
        if re.search(pattern, name.split("(")[0]):
            assert brick in bricks, (label, name, brick)
            return
    assert brick not in ("", "Launch", "RecordCommands") and "copy" not in brick, \
        (label, name, brick)


def check_owners(label, run, first_layer, last_layer):
    found = list(kernels(run))
    by_layer = {}
    for name, brick, layer, _ in found:
        check_kernel(label, name, brick)
        by_layer.setdefault(layer, []).append((name.split("<")[0], brick))
    layers = {layer for _, brick, layer, _ in found if brick in IN_LAYERS}
    assert layers == set(range(first_layer, last_layer)), (label, layers)
    # a layer's kernels come in equal numbers in each, but for the last, which drops tokens
    sizes = {brick: {sum(b == brick for _, b in by_layer[layer])
                     for layer in range(first_layer, last_layer - 1)} for brick in IN_LAYERS}
    assert all(len(counts) <= 1 for counts in sizes.values()), (label, sizes)
    return found


def check_work(label, run):
    """A product's FLOPs are told once for each time that it is computed, launched or replayed: as many
    in each layer, and more by the tokens in a prompt."""
    names, per_layer = [b["name"] for b in run["bricks"]], {}
    for lane in run["lanes"]:
        for values in lane["samples"] if lane["kind"] == "queue" else ():
            site = run["sites"][dict(zip(run["sample_fields"], values))["site"]]
            if names[site["brick"]] in ("QkvProjection", "GateProjection") and site.get("flops"):
                key = names[site["brick"]], site["layer"]
                per_layer[key] = per_layer.get(key, 0) + site["flops"]
    for name in ("QkvProjection", "GateProjection"):
        layers = [flops for (brick, layer), flops in sorted(per_layer.items()) if brick == name]
        assert len(layers) == 7 and len(set(layers[:-1])) == 1, (label, name, layers)
    return per_layer


def graphs(notes):
    text = notes.get("cuda.graphs", "")
    return {what: int(count) for count, what in re.findall(r"(\d+) (\w+)", text)}


def record(scratch, label, *options, first_layer=0, last_layer=7, **more):
    arguments = ["--libs", libcuda.engine(), "--model", g.demo("model-f16.gguf"), *options]
    result = libcuda.Result(scratch, "", *arguments, program=g.LLAMA, **more)
    result.same_times()
    run = json.loads(subprocess.check_output([BRICK, "export", "--format", "json", result.path]))
    found = check_owners(label, run, first_layer, last_layer)
    result.run = run
    replayed = sum(c["node"] != 0 for c in result.truth)
    assert ", 0 graph nodes unknown" in result.notes["cuda.records"], (label, result.notes)
    assert libcuda.ALL_CALLED in result.notes["cuda.records"], (label, result.notes)
    report = json.loads(subprocess.check_output([BRICK, "report", "--json", "--phase", "decode",
                                                 result.path]))
    device = sum(row["device_ns"] or 0 for row in report["bricks"])
    assert device > 0, (label, report["bricks"])
    return result, found, replayed, graphs(result.notes)


def check_widths(path):
    """Names of kernels have hundreds of characters: no screen is wider for it, on a terminal or not."""
    run = json.loads(subprocess.check_output([BRICK, "export", "--format", "json", path]))
    assert max(len(kernel["name"]) for kernel in run["kernels"]) > 120, run["kernels"]
    for columns in 60, 100, None:
        env = {k: v for k, v in os.environ.items() if k != "COLUMNS"} | ({"COLUMNS": str(columns)} if columns else {})
        for answer in (["report"], ["report", "-v"], ["report", "--trust"], ["report", "--by", "kernel"], ["report", "--by", "queue"],
                       ["tree"], ["tree", "--phase", "prefill"], ["explain"], ["path"], ["requests"], ["diff", "--disturbed", path], ["scaling"]):
            done = subprocess.run([BRICK, *answer, path], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            wide = [line for line in done.stdout.splitlines() if len(line) > (columns or 120)]
            assert done.stdout and not wide, (columns, answer, done.stderr, wide)


def check_unknown(scratch, known):
    """What a device does for an operation that no rule knows is told as such, launched or replayed: without rules,
    all of it. Brick's own rules know each operation of this model."""
    report = json.loads(subprocess.check_output([BRICK, "report", "--json", known]))
    assert report["coverage"]["unknown_operations"] == 0, report["coverage"]
    rules, path = scratch.file("none.rules"), scratch.file("unknown.pftrace")
    with open(rules, "w", encoding="utf-8") as file:
        file.write("brick-rules 1\ndefaults-off\nlayer blk.#.*\n")
    subprocess.run([BRICK, "record", "-q", "-o", path, "--rules", rules, "--", g.LLAMA, "--libs", libcuda.engine(), "--model",
                    g.demo("model-f16.gguf"), "--prompt-tokens", "16", "--predict", "12"],
                   env=libcuda.environment(""), stdout=subprocess.DEVNULL, check=True, timeout=600)
    report = json.loads(subprocess.check_output([BRICK, "report", "--json", path]))
    rows = {row["name"]: row for row in report["bricks"] if re.fullmatch(r"[A-Z_]+", row["name"])}
    on_host, on_device = (sum(row[key] or 0 for row in rows.values()) for key in ("count", "device_count"))
    assert on_device > 1000 and {"MUL_MAT", "RMS_NORM", "FLASH_ATTN_EXT"} <= set(rows), rows
    assert report["coverage"]["unknown_operations"] == on_host + on_device, (report["coverage"], on_host, on_device)


def main():
    g.libraries()
    base = ("--prompt-tokens", "16", "--predict", "12")
    with Scratch() as scratch:
        result, found, replayed, counts = record(scratch, "graphs", *base)
        work = check_work("graphs", result.run)
        assert counts["captured"] and counts["launched"] >= 6 and replayed, (counts, replayed)
        assert counts["kernels"] == len(found) - replayed, (counts, len(found), replayed)
        assert any("flash_attn" in name for name, *_ in found), "no flash attention"
        check_widths(result.path)
        check_unknown(scratch, result.path)

        _, found, replayed, _ = record(scratch, "no flash attention", *base, "--flash", "off")
        assert not any("flash_attn" in name for name, *_ in found) and replayed, replayed
        assert any(brick == "AttentionScore" for _, brick, *_ in found), "no scores"

        direct, _, replayed, counts = record(scratch, "no graphs", *base,
                                             GGML_CUDA_DISABLE_GRAPHS="1")
        assert check_work("no graphs", direct.run) == work, "work with graphs and without"
        assert not replayed and not counts, (replayed, counts)

        # products of one input in streams of their own, at once: forked and joined by events
        result, _, replayed, counts = record(scratch, "streams", *base, GGML_CUDA_GRAPH_OPT="1")
        streams = {c["stream"] for c in result.truth if not c["node"]}
        assert len(streams) >= 4 and replayed and counts["launched"], (streams, replayed, counts)
        forks = [stream for _, stream, after in result.afters for other in after
                 if result.afters[other][1] != stream]
        assert len(set(forks)) >= 4, ("streams that begin behind another's command", set(forks))

        # the last layers are the device's
        record(scratch, "some layers", *base, "--gpu-layers", "4", first_layer=4)

        # a context after the other, and prompts of several batches
        record(scratch, "two contexts", "--prompt-tokens", "64", "--predict", "6", "--ubatch", "16",
               "--repeat", "2")


main()
