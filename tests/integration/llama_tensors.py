#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The weights that llama.cpp's architectures and its encoders of images and sounds have, by name, each with the
operation that reads it.

  llama_tensors.py SOURCE     prints the list, made of SOURCE/src/llama-arch.cpp and SOURCE/tools/mtmd/clip-impl.h
  llama_tensors.py            a test: the list in tests/data is that of the engine's own source, which comes
                              with node-llama-cpp (a git bundle)

A line: a name, as printf() takes it, and an operation. Only names are taken: tests/unit/rules_tensors.c asks
Brick's rules for each of them. To make it anew: llama_tensors.py SOURCE >tests/data/llama_tensors.txt
"""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "..", "data", "llama_tensors.txt")
BUNDLE = os.path.join(os.environ.get("BRICK_BUILD", os.path.join(HERE, "..", "..", "build")),
                      "demo/engine/node_modules/node-llama-cpp/llama/gitRelease.bundle")


ARCHITECTURES, ENCODERS = "src/llama-arch.cpp", "tools/mtmd/clip-impl.h"
# Of encoders: what is no matrix of a product, nor a norm's; and what makes sounds.
OTHERS = re.compile(r"embd|embed|token|query|_gamma|gamma$|scale|sinks|bias|\.gen\.|newline|seperator|boi$|eoi$|image_|codebook|"
                    r"mel_filters|window$|mean$|_var$|\.ls\d|img_pos|patch_embd\.")


def table(text, name):
    return re.search(name + r" = \{\n(.*?)^\};", text, re.S | re.M).group(1)


def lines_of(text):
    names = re.findall(r'^\s*\{ *(LLM_TENSOR_\w+), *"([^"]+)"', table(text, "LLM_TENSOR_NAMES"), re.M)
    operations = dict(re.findall(r"^\s*\{ *(LLM_TENSOR_\w+), *\{ *LLM_TENSOR_LAYER_\w+, *GGML_OP_(\w+)",
                                 table(text, "LLM_TENSOR_INFOS"), re.M))
    return {f"{name} {operations[key]}" for key, name in names if key in operations}


def lines_of_encoders(text):
    names = {re.sub(r"\.(%s|weight)$", "", re.sub(r"^%s", "v", name))
             for name in re.findall(r'^#define TN_\w+ +"([^"]+)"', text, re.M)}
    return {f"{name} {'MUL' if re.search(r'norm|ln|bn', name) else 'MUL_MAT'}" for name in names
            if name.endswith("patch_embd") or not OTHERS.search(name)}


def source_in_bundle():
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["git", "clone", "-q", "--no-checkout", BUNDLE, place], check=True,
                       stderr=subprocess.DEVNULL)
        return [subprocess.run(["git", "-C", place, "show", "HEAD:" + path], check=True,
                               capture_output=True, text=True).stdout for path in (ARCHITECTURES, ENCODERS)]


def check():
    if not os.path.exists(BUNDLE):
        print("examples/demo/engine.sh has not run here")
        return 77
    with open(LIST) as file:
        ours = set(file.read().splitlines())
    architectures, encoders = source_in_bundle()
    theirs = lines_of(architectures) | lines_of_encoders(encoders)
    for line in sorted(theirs - ours):
        print("not in the list:", line)
    for line in sorted(ours - theirs):
        print("not in the engine:", line)
    assert len(theirs) > 250 and ours == theirs
    return 0


if len(sys.argv) == 1:
    sys.exit(check())
with open(os.path.join(sys.argv[1], ARCHITECTURES)) as file, open(os.path.join(sys.argv[1], ENCODERS)) as encoders:
    print("\n".join(sorted(lines_of(file.read()) | lines_of_encoders(encoders.read()))))
