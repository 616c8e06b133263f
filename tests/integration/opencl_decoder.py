# SPDX-License-Identifier: Apache-2.0
"""
Description: the decoder of examples/ with its products on OpenCL: it chooses the tokens that the CPU
chooses; in every mode its recording holds each product once, with times of the device, and adds up.
"""
import os

from librecord import BRICK, BUILD, Scratch, check, same as equal
from libopencl import QUEUE_SOURCES, commands, losses, need_device, record, report, run, skip

DECODER = os.path.join(BUILD, "bin", "example-decoder")
N_PROMPT, N_PREDICT, N_LAYERS = 48, 12, 7
PER_LAYER = {"QkvProjection": 3, "OutputProjection": 1, "GateProjection": 1, "UpProjection": 1,
             "DownProjection": 1}


def demo(name):
    for root in BUILD, os.path.join(os.environ["BRICK_SOURCE"], "build"):
        path = os.path.join(root, "demo", name)
        if os.path.exists(path):
            return path
    return skip(f"demo/{name} is not there: run `make demo`")


def command(model, *options):
    return [DECODER, "--model", demo(f"model-{model}.gguf"), "--prompt-tokens", str(N_PROMPT),
            "--predict", str(N_PREDICT), *options]


def tokens(model, *options):
    code, out, err = run(command(model, *options))
    check(code == 0, options, err)
    return out


def same_tokens():
    for model in "f32", "f16", "q8_0":
        want = tokens(model)
        for threads in "1", "3":
            equal(tokens(model, "--backend", "opencl", "--threads", threads), want,
                  f"tokens of {model} on OpenCL, {threads} threads")


def times(rep):
    return {row["name"]: row for row in rep["bricks"] if row.get("device_count")}


def mode(path, name, want):
    equal(tokens("f16", "--backend", "opencl", "--mode", name, "--record", path), want,
          f"tokens in mode {name}")
    rep = report(path)
    if name == "none":
        equal(rep["bricks"], [], "bricks in mode none")
        return
    equal(losses(path), {}, f"losses in mode {name}")
    rows = times(rep)
    for brick, per_layer in PER_LAYER.items():
        equal(rows[brick]["device_count"], per_layer * N_LAYERS * N_PREDICT, f"{name}: {brick}")
    equal(rows["LmHead"]["device_count"], N_PREDICT, f"{name}: LmHead")
    equal({row["source"] for row in rows.values()}, {"device-event"}, f"source in mode {name}")
    layers = {int(row["layer"]) for row in commands(path)}
    check(layers == set(range(-1, N_LAYERS)), "layers", layers)
    steps = sum(rep["steps"][phase]["total_ns"] for phase in ("prefill", "decode"))
    busy = sum(row["device_ns"] for row in rows.values())
    check(0 < busy <= steps, name, "device time", busy, "in steps of", steps)
    steps_hold_their_commands(path, name)
    end = 0
    for row in commands(path):
        check(row["begin_ns"] >= end, name, row["brick"], "overlaps the one before", row, end)
        end = row["end_ns"]


def changing(path, want):
    """The mode changes every two repetitions: there and back is four of each."""
    got = tokens("f16", "--backend", "opencl", "--modes", "--repeat", "16", "--record", path)
    equal(set(got.splitlines()), set(want.splitlines()), "tokens while the mode changes")
    rows = [row for row in commands(path, QUEUE_SOURCES) if row["brick"] == "LmHead"]
    equal(len(rows), 12 * N_PREDICT, "LmHead in all modes but none")
    equal(losses(path), {}, "losses while the mode changes")


def steps_hold_their_commands(path, name):
    """No step has more time on the device than it took."""
    sources = ("tsc", "device-event")
    rows = commands(path, sources)
    steps = [row for row in rows if row["brick"] in ("Prefill", "Decode")]
    equal(len(steps), N_PREDICT, f"{name}: steps")
    for step in steps:
        inside = [row["duration_ns"] for row in rows if row["source"] != "tsc" and
                  step["begin_ns"] <= row["begin_ns"] < step["end_ns"]]
        check(inside and sum(inside) <= step["duration_ns"], name, step["brick"], "of",
              step["duration_ns"], "ns has", sum(inside), "ns of the device")


def diverges(scratch):
    """CPU and device agree within rounding; an error put into one of them is found in its place."""
    paths = {}
    for name, options in (("cpu", []), ("device", ["--backend", "opencl"]),
                          ("wrong", ["--backend", "opencl", "--mistake", "RopeEmbedding:3:5"])):
        paths[name] = scratch.file(f"digest-{name}.pftrace")
        tokens("f16", "--digest", "--record", paths[name], *options)
    code, out, err = run([BRICK, "diverge", paths["cpu"], paths["device"]])
    check(code == 0 and "No divergence" in out, "CPU and device:", out, err)
    code, out, err = run([BRICK, "diverge", paths["cpu"], paths["wrong"]])
    check(code == 1 and "layer 3, RopeEmbedding" in out, "CPU and a wrong device:", out, err)


def count(rep, name):
    return sum(row["count"] for row in rep["bricks"] if row["name"] == name)


def waits(rep):
    return count(rep, "Synchronize")


def recorded_from_outside(path, want, alone):
    """
    `brick record` leaves the decoder's queue to the decoder: nothing is told twice, and what the
    backend asks of the driver is not the decoder's. The waits that the decoder tells of are there once.
    """
    done = record(path, command("f16", "--backend", "opencl"))
    equal(done[:2], (0, want), "under brick record")
    equal(times(report(path))["LmHead"]["device_count"], N_PREDICT, "LmHead under brick record")
    products = [row for row in commands(path) if row["kernel"].startswith("product_")]
    equal(products, [], "kernels told by the interposer as well")
    rep = report(path)
    equal(waits(rep), waits(alone), "synchronisations under brick record")
    equal(count(rep, "Launch"), count(alone, "Launch") + 1, "launches under brick record")


def main():
    need_device()
    same_tokens()
    want = tokens("f16")
    with Scratch() as scratch:
        counts = {}
        for name in "none", "deferred", "per-layer", "immediate":
            path = scratch.file(f"{name}.pftrace")
            mode(path, name, want)
            counts[name] = waits(report(path))
        check(counts["none"] < counts["deferred"] < counts["per-layer"] < counts["immediate"],
              "synchronisations by mode:", counts)
        equal(counts["per-layer"] - counts["deferred"], N_LAYERS * N_PREDICT,
              "synchronisations at ends of layers")
        diverges(scratch)
        changing(scratch.file("changing.pftrace"), want)
        recorded_from_outside(scratch.file("outside.pftrace"), want,
                              report(scratch.file("deferred.pftrace")))


main()
