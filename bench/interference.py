# SPDX-License-Identifier: Apache-2.0
"""What decode steps would have taken without the prompts in them: modelled by `brick requests`, held against runs in
which these prompts really are absent, and what smaller chunks of prompts would give against runs with such chunks.

A sequence decodes 240 tokens; in every tenth step of one program there are 16 to 200 tokens of another prompt, and in
the other program none. Both run in turns. For each pair the bench prints the modelled time of those steps, its
interval, the real one of the same steps (same position, without preemption), and the ratio; at the end the median ratio
and its range. Then, for each size of chunks, the 99th percentile between tokens and the delay of the longest prompt's
first token, modelled and real. Those are wall-clock times: run it on an idle machine.

  bench/interference.py [--pairs 5]
"""
import argparse
import glob
import json
import os
import statistics
import subprocess
import tempfile

BUILD = os.path.abspath(os.environ.get("BRICK_BUILD", "build"))
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def build(scratch):
    libs = os.path.realpath(f"{BUILD}/demo/engine/libs")
    llama = f"{BUILD}/demo/engine-programs/llama.cpp"
    program = os.path.join(scratch, "llama_requests")
    found = [path for name in ("libllama.v*.so", "libggml.v*.so", "libggml-base*.so") for path in glob.glob(f"{libs}/{name}")]
    subprocess.run(["cc", "-O1", "-D_GNU_SOURCE", "-I", f"{llama}/include", "-I", f"{llama}/ggml/include",
                    f"{ROOT}/tests/programs/llama_requests.c", "-o", program, *found, f"-Wl,-rpath,{libs}", "-lm"],
                   check=True)
    return [program, libs, f"{BUILD}/demo/model-f16.gguf"]


def answer(scratch, program, *what):
    out = os.path.join(scratch, "-".join(what) + ".pftrace")
    subprocess.run([f"{BUILD}/bin/brick", "record", "-q", "--no-history", "-o", out, "--", *program, *what], check=True)
    return json.loads(subprocess.run([f"{BUILD}/bin/brick", "requests", "--json", out], check=True,
                                     capture_output=True).stdout)


def real_ns(alone):
    gaps = alone["requests"][0]["gaps"][9::10]
    assert len(gaps) == 24, len(gaps)
    return sum(gap["parts"]["step_ns"] + gap["parts"]["graph_ns"] + gap["parts"]["blocked_ns"] for gap in gaps)


def longest_ttft(found):
    prompts = [request for request in found["requests"][1:] if request["prompt_tokens"] == 200]
    return statistics.median(request["ttft_ns"] for request in prompts)


def check_chunks(scratch, program):
    whole = answer(scratch, program, "beside")
    for plan in whole["interference"]["chunks"]:
        real = answer(scratch, program, "beside", str(plan["tokens"]))
        added = longest_ttft(real) - longest_ttft(whole)
        print(f"chunks of {plan['tokens']:3}: p99 modelled {plan['modelled_p99_ns'] / 1e6:.1f} ms, real "
              f"{real['interference']['p99_ns'] / 1e6:.1f} ms; first token later by modelled "
              f"{plan['modelled_ttft_added_ns'] / 1e6:.1f} ms, real {added / 1e6:.1f} ms; whole "
              f"{whole['interference']['p99_ns'] / 1e6:.1f} ms, {longest_ttft(whole) / 1e6:.1f} ms", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=5)
    pairs = parser.parse_args().pairs
    ratios = []
    with tempfile.TemporaryDirectory() as scratch:
        program = build(scratch)
        for _ in range(pairs):
            beside = answer(scratch, program, "beside")["interference"]
            real = real_ns(answer(scratch, program, "alone"))
            assert beside["known_steps"] == beside["mixed_steps"] == 24, beside
            ratios.append(beside["modelled_ns"] / real)
            print(f"modelled {beside['modelled_ns'] / 1e6:.1f} ms ({beside['modelled_low_ns'] / 1e6:.1f} to "
                  f"{beside['modelled_high_ns'] / 1e6:.1f}), with prompts {beside['measured_ns'] / 1e6:.1f} ms, really "
                  f"without {real / 1e6:.1f} ms: ratio {ratios[-1]:.3f}", flush=True)
        check_chunks(scratch, program)
    print(f"ratio: median {statistics.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}")


main()
