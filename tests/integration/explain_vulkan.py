# SPDX-License-Identifier: Apache-2.0
"""`brick explain` of llama.cpp's Vulkan backend on lavapipe: layers that were left on the CPU, and decoding that waits for
each launch, are what is found where they were planted, and on a clean run they are not. What other programs on this machine
cost is a finding of its own and not looked at; they make a device wait that consists of threads, too, so where they take a fifth
of all CPUs the order is not looked at.
"""
import glob
import json
import os
import subprocess

import libggml as g
from libcli import BRICK, TMP, brick, brick_json, environment, expect, expect_true

ICD = "/usr/share/vulkan/icd.d/lvp_icd." + os.uname().machine + ".json"
# of other programs; of the ceilings that are kept on this machine, or not
OTHERS = {"preempted-by-others", "preempted", "oversubscribed", "affinity", "steal", "large-weights", "software-device",
          "host-works", "host-pauses", "cold-pages", "blocked", "slow-first-step", "device-setup", "slow-steps", "in-no-brick",
          "at-memory-roof"}
QUIET, CROWDED = 0.05, 0.2  # of all CPUs, for other programs


def engine():
    found = [path for root in (g.BUILD, os.path.join(g.SOURCE, "build"))
             for path in glob.glob(os.path.join(root, "demo", "engine-vulkan", "*", "libggml-vulkan.so"))]
    if not found:
        g.skip("no Vulkan backend: run examples/demo/engine-device.sh vulkan")
    if not os.path.exists(ICD):
        g.skip("no lavapipe: " + ICD)
    return os.path.dirname(sorted(found)[-1])


def model(name, layers, embd, ff):
    path = os.path.join(TMP, name + ".gguf")
    subprocess.run([os.path.join(g.BUILD, "bin", "brick-model"), "--layers", str(layers), "--embd", str(embd), "--heads", "4",
                    "--kv-heads", "2", "--ff", str(ff), "--vocab", "512", path], check=True, stdout=subprocess.DEVNULL)
    return path


def start(libs, gguf, options, settings, before=()):
    cache = os.path.join(g.BUILD, "demo", "shader-cache")  # compiling takes most of the time, once
    done = subprocess.run([*before, g.LLAMA, "--libs", libs, "--model", gguf, "--prompt-tokens", "8", "--flash", "on", *options],
                          env=environment(GGML_VK_VISIBLE_DEVICES="0", VK_ICD_FILENAMES=ICD, MESA_SHADER_CACHE_DIR=cache,
                                          **settings), capture_output=True, check=False, timeout=1700)
    expect(f"{options}: {done.stderr}", done.returncode, 0)


def findings(libs, name, gguf, *options, **settings):
    """Rules that found something in decoding, what costs most first, and the share of all CPUs that other programs took: of the
    quietest of three recordings. The driver has compiled the shaders before."""
    path = os.path.join(TMP, name + ".pftrace")
    start(libs, gguf, ["--predict", "2", *options], settings)
    answers = []
    while len(answers) < 3 and (not answers or answers[-1][0] > QUIET):
        start(libs, gguf, ["--predict", "10", *options], settings, [BRICK, "record", "-q", "--no-history", "-o", path, "--"])
        text = brick("explain", "--json", "--phase", "decode", path)[0]
        expect_true(f"{name}: {len(text)} bytes", len(text) <= 8192)
        found = [f for f in json.loads(text)["findings"] if f["rule"] not in OTHERS]
        for finding in found:
            expect_true(f"{name}: {finding}", finding["evidence"] and finding["cost_ns"] > 0)
        answers.append((brick_json("report", "--json", path)["presence"]["others"] or 0, [f["rule"] for f in found], text))
    return min(answers)


def check(what, answer, wanted):
    others, rules, text = answer
    print(f"{what}: {rules}, other programs took {others:.3f}")
    if others > CROWDED:  # these may add launch-bound, or be why the device waited
        expect(f"{what}: {text}", set(rules) - {"launch-bound"}, set(wanted) - {"launch-bound"})
    else:
        expect(f"{what}: {text}", rules[:max(1, len(wanted))], wanted)


def main():
    libs = engine()
    heavy, tiny = model("heavy", 6, 768, 3072), model("tiny", 12, 32, 64)
    check("clean", findings(libs, "clean", heavy), [])
    check("layers on the CPU", findings(libs, "left", heavy, "--gpu-layers", "1"), ["ran-on-cpu"])
    check("each launch alone", findings(libs, "alone", tiny, GGML_VK_MAX_NODES_PER_SUBMIT="1", GGML_VK_SERIALIZE_SUBMISSIONS="1",
                                        GGML_VK_DISABLE_FUSION="1"), ["launch-bound"])


main()
