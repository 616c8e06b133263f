# SPDX-License-Identifier: Apache-2.0
"""What a server and a speculative program ask the engine for, and what the steps of the recording say: the
same tokens of prompts and of outputs, alone and mixed, and the same sum as llama_perf_context()'s. What they
warm up with is shown as that, and in no rate. The first token of a prompt of several batches comes behind the
last of them, though a sampler is told of the prompt's tokens between them; what the engine refuses is no
step's tokens."""
import json
import os
import subprocess
import tempfile

import libggml as g
from libscreen import check_screen

BRICK = os.path.join(g.BUILD, "bin", "brick")
PHASES = "prefill", "decode", "mixed"


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert not done.returncode, (command, done.stderr)
    return done.stdout


def check_drafts(what, steps, counted):
    """Output tokens are those of the model whose text it is, and drafts are apart: what one model drafted and the
    other refuted. Returns how many tokens those are."""
    found = steps["drafts"]
    if not counted["checked"]:
        assert found is None and all(steps[phase]["draft_tokens"] == 0 for phase in PHASES), (what, steps)
        return 0
    none = counted["drafted"] + counted["checked"] - counted["held"]
    assert [found[key] for key in ("checked", "held", "tokens")] == [counted["checked"], counted["held"], none], (found, counted)
    assert 0 < counted["held"] < counted["checked"], ("some of each", counted)
    prompt = sum(steps[phase]["prompt_tokens"] for phase in PHASES)
    assert prompt == counted["draft_prompt"], (what, prompt, counted)
    decode = steps["decode"]
    rate = decode["output_tokens"] * 1e9 / decode["running_ns"]
    assert abs(decode["tokens_per_s"] - rate) < 1e-3 * rate, decode
    print(what, "drafts", found, "outputs", decode["output_tokens"])
    return none


def check(program, libs, model, what, path):
    counted = json.loads(output(program, libs, model, what))
    recorded = json.loads(output(BRICK, "record", "-q", "-o", path, "--", program, libs, model, what))
    assert recorded == counted, (recorded, counted)
    report = json.loads(output(BRICK, "report", "--json", path))
    graphs = [note["value"] for note in report["run"]["notes"] if note["key"] == "graph"]
    assert graphs and all(note.endswith(" 0 were missed") for note in graphs), graphs  # nor those of no outputs
    steps = report["steps"]
    check_screen(path, [phase.capitalize() for phase in PHASES if steps[phase]["count"]])
    drafts = check_drafts(what, steps, counted)
    for phase in PHASES:
        seen = [steps[phase][key] for key in ("count", "prompt_tokens", "output_tokens")]
        evaluated = seen[1] + seen[2] + steps[phase]["draft_tokens"]
        expected = [counted[phase][0], sum(counted[phase][1:])] if drafts else counted[phase]
        assert ([seen[0], evaluated] if drafts else seen) == expected, (what, phase, seen, counted)
    assert sum(steps[phase]["tokens"] for phase in PHASES) + drafts == counted["engine"], (what, steps, counted)
    warm_up = steps["warm_up"]
    assert warm_up["count"] == counted["warm_up"], (what, warm_up, counted)
    assert warm_up["tokens_per_s"] is None and warm_up["wall_tokens_per_s"] is None, warm_up
    if what == "server":
        assert all(counted[phase][0] for phase in PHASES), ("one of each kind", counted)
    print(what, {phase: counted[phase] for phase in PHASES}, "warm-ups", warm_up["count"])


def check_first_token(program, libs, model, path):
    own = json.loads(output(BRICK, "record", "-q", "-o", path, "--", program, libs, model))
    steps = json.loads(output(BRICK, "report", "--json", path))["steps"]
    first = steps["ttft_ns"]
    assert own["before_last"] < first < own["chosen"], (own, first)
    seen = [[steps[phase][key] for key in ("tokens", "count", "refused", "aborted")] for phase in ("prefill", "decode")]
    assert seen == [[own["prompt"], 5, 1, 1], [own["outputs"], own["outputs"], 0, 0]], seen
    check_outcomes(path, steps["prefill"])
    print("first token", first, own)


def check_outcomes(path, prefill):
    """A batch that was refused and one that was stopped, in each view."""
    rows = json.loads(output(BRICK, "report", "--json", "--by", "step", path))["each_step"]
    found = [(row["outcome"], row["step_tokens"]) for row in rows if row.get("outcome")]
    assert sorted(found) == [("aborted", None), ("refused", 0)], found
    took = sum(row["step_ns"] for row in rows if row.get("outcome"))
    assert took <= prefill["unevaluated_ns"] <= prefill["total_ns"] - prefill["running_ns"], (took, prefill)
    assert abs(prefill["tokens_per_s"] - prefill["tokens"] * 1e9 / prefill["running_ns"]) < 1, prefill
    # /TOKEN is of what was evaluated, as rates are; each row's is rounded down
    for by, key in (("brick", "bricks"), ("category", "categories")):
        answer = json.loads(output(BRICK, "report", "--json", "--by", by, path))
        tokens = sum(answer["steps"][phase]["tokens"] for phase in PHASES)
        evaluated = sum(answer["steps"][phase]["total_ns"] - answer["steps"][phase]["unevaluated_ns"] for phase in PHASES)
        rows = answer[key] + answer["rests"]  # these have what a busy machine takes
        per_token = sum(row["token_ns"] for row in rows)
        most = evaluated + len(rows) * tokens
        assert 0.5 * evaluated < per_token * tokens < most, (by, per_token, evaluated, tokens)
        assert sum(row["wall_ns"] for row in rows) > most, ("the aborted batch took nothing", evaluated, took)
    text = " ".join(output(BRICK, "report", path).split())
    assert "and 1 that the engine refused and 1 that ended halfway, with an unknown number of tokens" in text, text
    section = [s for s in json.loads(output(BRICK, "path", "--json", path))["sections"] if s["phase"] == "prefill"]
    assert [s["steps"] for s in section] == [prefill["count"]], section
    print("outcomes", found, "took", took)


def main():
    libs, model = os.path.realpath(g.libraries()), g.demo("model-f16.gguf")
    with tempfile.TemporaryDirectory() as directory:
        program = g.build_with_llama(directory, libs, "llama_batches")
        for what in "server", "draft", "last", "along", "shift", "plain", "apart":
            check(program, libs, model, what, os.path.join(directory, "run.pftrace"))
        chunks = g.build_with_llama(directory, libs, "llama_chunks")
        check_first_token(chunks, libs, model, os.path.join(directory, "run.pftrace"))


main()
