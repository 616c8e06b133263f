# SPDX-License-Identifier: Apache-2.0
"""`brick scaling` against runs that really are longer.

Records the engine at some lengths and, in turns with each, at twice the length. What the shorter recording models for
twice its longest context is held against the medians that the longer one measured there: tokens/s of steps, and the
time of FlashAttention. Prints both, in how many cases the interval held the measured value, and how wide the intervals are.

  bench/scaling_ahead.py [LENGTH...]      300 400 500 600
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(os.environ.get("BRICK_BUILD", "build"))
BRICK = f"{BUILD}/bin/brick"
PROMPT = 32


def series_of(tokens, path):
    subprocess.run([BRICK, "record", "-q", "-o", path, "--", f"{BUILD}/bin/brick-llama", "--libs",
                    f"{BUILD}/demo/engine/libs", "--model", f"{BUILD}/demo/model-f16.gguf", "--prompt-tokens",
                    str(PROMPT), "--predict", str(tokens)], check=True, capture_output=True)
    answer = subprocess.run([BRICK, "scaling", "--json", path], check=True, capture_output=True).stdout
    return max(json.loads(answer)["series"], key=lambda series: series["steps"])


def attention(series):
    return next((brick for brick in series["bricks"] if brick["name"] == "FlashAttention"), None)


def measured_at(line, context):
    """The mean of the two medians that were measured nearest to it."""
    near = sorted(line["measured"], key=lambda point: abs(point[0] - context))[:2]
    return statistics.mean(ns for _, ns in near)


def hold(what, modelled, real, unit):
    inside = modelled["low"] <= real <= (modelled["high"] or float("inf"))
    print(f"  {what}: modelled {modelled['value']:.1f} ({modelled['low']:.1f} to {modelled['high'] or 0:.1f}) {unit}, "
          f"measured {real:.1f}, {100 * (modelled['value'] / real - 1):+.1f} %{'' if inside else ', outside'}", flush=True)
    half = ((modelled["high"] or float("inf")) - modelled["low"]) / 2 / modelled["value"]
    return inside, half


def main():
    held = []
    with tempfile.TemporaryDirectory() as directory:
        for length in [int(a) for a in sys.argv[1:]] or [300, 400, 500, 600]:
            short = series_of(length, os.path.join(directory, "short.pftrace"))
            long = series_of(2 * length + PROMPT, os.path.join(directory, "long.pftrace"))
            context = 2 * short["longest_context"]
            print(f"context {context:.0f}, from {short['longest_context']:.0f}")
            if short["rates"]:
                real = 1e9 / measured_at(long["step"], context)
                held.append(hold("tokens/s", short["rates"][0]["modelled_tokens_per_s"], real, ""))
            line = attention(short)
            if line and line["modelled"]:
                in_us = {key: ns / 1e3 for key, ns in line["modelled"][0]["ns"].items()}
                held.append(hold("FlashAttention", in_us, measured_at(attention(long), context) / 1e3, "us"))
            elif not short["rates"]:
                print("  nothing is modelled")
    print(f"{sum(inside for inside, _ in held)} of {len(held)} intervals hold what was measured; they are "
          f"+-{100 * statistics.median(half for _, half in held):.0f} % wide (median)")


main()
