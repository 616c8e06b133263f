# SPDX-License-Identifier: Apache-2.0
"""Steps and tokens of transformers' generate() are those that the program counts, in each way to generate: what is
computed is the same, prefill and decode, padding, layers. Skipped where PyTorch 2.13 cannot be installed."""
import csv
import io
import json
import os
import subprocess

from librecord import *

SOURCE = os.environ["BRICK_SOURCE"]
WORK = os.path.join(SOURCE, "tests", "programs", "torch_generate.py")
PROMPT, NEW, LAYERS = 10, 6, 2

# WAY: tokens of prefills, and new tokens or drafts of each decode, as the program's calls say; None: from its calls.
# Guidance calls the model again for each token, and gets none of its own.
WAYS = {
    "dynamic": ([PROMPT], [1] * (NEW - 1)),
    "static": ([PROMPT], [1] * (NEW - 1)),
    "compiled": ([PROMPT], [1] * (NEW - 1)),
    "streamed": ([PROMPT], [1] * (NEW - 1)),
    "nocache": ([PROMPT], [1] * (NEW - 1)),
    "loop": ([PROMPT], [1] * (NEW - 1)),
    "loop-nocache": ([PROMPT, PROMPT + 1, PROMPT + 2], [1] * (NEW - 3)),
    "sorted": ([PROMPT, PROMPT + 1, PROMPT + 1, PROMPT + 2, PROMPT + 3, PROMPT + 5], []),
    "beam": ([3 * PROMPT], [3] * (NEW - 1)),
    "padded": ([2 * PROMPT - 4], [2] * (NEW - 1)),
    "static-padded": ([2 * PROMPT - 4], [2] * (NEW - 1)),
    "vectors": ([PROMPT], [1] * (NEW - 1)),
    "encoder": ([2 * PROMPT - 4], [2] * NEW),
    "features": ([2 * PROMPT - 4], []),
    "trimmed": ([PROMPT], [1] * (NEW - 1)),
    "guided": ([PROMPT], [0, *[1, 0] * (NEW - 1)]),
    "guided-negative": ([PROMPT, 4], [1, 0] * (NEW - 1)),
    "guided-nocache": ([PROMPT], [0, *[1, 0] * (NEW - 1)]),
    "packed": ([PROMPT // 2 + PROMPT], [3, "mixed", *[2] * (NEW - 1)]),
    "batched": None,
    "batched-cancelled": None,
    "batched-full": None,
    "batched-forked": None,
    "assisted": None,
    "lookup": None,
}
# Prompts of 12, 3, 9 and 5 tokens, of which 16 fit into a batch. The longest of two is cancelled. Where the cache is full, a
# request's 4 tokens are taken out and evaluated again, with the next one. Each of two has another answer.
BATCHED = {
    "batched": [("prefill", 16), ("mixed", 14), *[("decode", 4)] * 4, ("decode", 3)],
    "batched-cancelled": [("prefill", 15), *[("decode", 2)] * 3, *[("decode", 1)] * 2],
    "batched-full": [("prefill", 16), ("mixed", 10), *[("decode", 4)] * 2, ("decode", 3), *[("decode", 2)] * 2, ("mixed", 7),
                     ("decode", 1)],
    "batched-forked": [("prefill", 13), ("prefill", 4), *[("decode", 4)] * 5],
}
# prompts that were evaluated, beyond what others had in the cache, new tokens, and tokens that were evaluated again
REQUESTS = [(length, NEW, 0) for length in (3, 5, 9, 12)] + [(12, 4, 0), (3, NEW, 0)] \
    + [(12, NEW, 0), (9, NEW, 0), (5, NEW, 4), (3, NEW, 0)] + [(12, NEW, 0), (3, NEW, 0), (1, NEW, 0), (1, NEW, 0)]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def expected(way, calls):
    """The first call of each model is its prompt, with what was drafted for it; later ones make or check new tokens."""
    if way in BATCHED:
        return BATCHED[way]
    if WAYS[way]:
        prefills, decodes = WAYS[way]
        return [("prefill", tokens) for tokens in prefills] + [
            ("mixed", PROMPT // 2 + 2) if tokens == "mixed" else ("decode", tokens) for tokens in decodes]
    seen = set()
    return [("decode" if called in seen else seen.add(called) or "prefill", rows * length) for called, rows, length in calls]


def generates(scratch, python):
    plain = run(python, WORK, *WAYS)
    same(plain.returncode, 0, plain.stderr)
    path = scratch.file("run.pftrace")
    done = run(BRICK, "record", "-o", path, "--", python, WORK, *WAYS)
    same((done.returncode, done.stdout), (0, plain.stdout), "what is computed")
    said = [json.loads(line)["calls"] for line in done.stdout.splitlines() if line.startswith("{")]
    recorded = json.loads(run(BRICK, "export", "--format", "json", path).stdout)
    steps = [(step["phase"], step["tokens"]) for step in recorded["steps"]]
    for way, calls in zip(WAYS, said):
        same(steps[:len(calls)], expected(way, calls), f"{way}: steps, where the program calls {calls}")
        steps = steps[len(calls):]
    same(steps, [], "other steps")
    for counter in "padding tokens", "guidance tokens":
        check(any(brick["name"] == counter for brick in recorded["bricks"]), counter, "are not counted", recorded["bricks"])
    mixed = json.loads(run(BRICK, "report", "--json", path).stdout)["steps"]["mixed"]
    same((mixed["count"], mixed["prompt_tokens"], mixed["output_tokens"]), (4, PROMPT // 2 + 13 + 9 + 4, 2 + 1 + 1 + 3),
         "batches of both")
    requests = json.loads(run(BRICK, "requests", "--json", path).stdout)["requests"]
    same(sorted((r["prompt_tokens"], r["output_tokens"], r["cache"]["evaluated_again_tokens"]) for r in requests), sorted(REQUESTS),
         "requests of batches")
    same({r["end"] for r in requests}, {"ended"}, "their ends")
    check("Speculative" not in run(BRICK, "requests", path).stdout, "no model drafts")
    check("\nFirst token  after " in run(BRICK, "report", path).stdout, "no first token")
    rows = list(csv.DictReader(io.StringIO(run(BRICK, "export", "--format", "csv", path).stdout)))
    regions = sum(row["brick"].startswith("Torch-Compiled Region") for row in rows)
    same(regions, NEW - 1, "steps that are compiled, which have no modules")
    of_llama = sum(len(calls) for way, calls in zip(WAYS, said) if way not in ("encoder", "packed", "features", "trimmed")) - regions
    for layer in range(LAYERS):
        products = sum(row["brick"] == "QkvProjection" and row["layer"] == str(layer) and "Attention" not in row["label"] for row in rows)
        same(products, 3 * of_llama, f"projections in layer {layer}")


with Scratch() as scratch:
    generates(scratch, python_with_torch())
