# SPDX-License-Identifier: Apache-2.0
"""Requests of the real engine: each with the tokens that the program gave it, its first token within what the program
measured around the call, and planted waits and losses of the prompt cache named for what they were."""
import csv
import io
import json
import os
import re
import tempfile

import libggml as g
from libhtml import page_of

BRICK = os.path.join(g.BUILD, "bin", "brick")
ATTEMPTS = 6


def output(*command):
    done = g.run(command)
    assert not done.returncode, (command, done.stderr)
    return done.stdout


def check_request(own, found):
    cache = found["cache"]
    assert found["sequence"] == own["sequence"], (own, found)
    assert found["prompt_tokens"] == own["prompt"], (own, found)
    assert cache["reused_tokens"] == own["reused"], (own, found)
    assert found["output_tokens"] == own["tokens"], (own, found)
    assert 0 < found["ttft_ns"] <= own["ttft_ms"] * 1e6, (own, found)  # the step lies within the call
    assert sum(gap["ns"] for gap in found["gaps"]) <= (own["total_ms"] + own["ttft_ms"]) * 1e6, (own, found)
    assert len(found["gaps"]) == own["tokens"] - 1, (own, found)
    for gap in found["gaps"]:
        assert sum(gap["parts"].values()) == gap["ns"], gap


def requests_of_program(found):
    return [request for request in found if request["model"] == 0 and request["pid"] == found[0]["pid"]]


def is_disturbed(gap):
    """Programs beside this test took longer than what was planted, and this is what is said."""
    return gap["cause"] == "preempted" and gap["parts"]["preempted_ns"] == max(gap["parts"].values())


def check_waits(path, owns, first, found):
    """Returns the planted causes that were found: all but those of gaps that were disturbed."""
    seen = set()
    if json.loads(output(BRICK, "report", "--json", path))["presence"]["off_cpu_gaps"]:
        return seen  # programs beside this test switched so often that it was not recorded
    for own, request in zip(owns, first):
        if not own["cause"]:
            continue
        gap = request["gaps"][own["at"] - 1]
        if is_disturbed(gap):
            continue
        assert gap["cause"] == own["cause"], (own, gap)
        seen.add(own["cause"])
        if own["cause"].startswith("prefill"):
            assert gap["other_prompt_tokens"] == 300, gap
            assert found[gap["other_request"] - 1]["prompt_tokens"] == 300, gap
        if own["cause"] == "prefill-in-step":
            assert len(gap["bricks"]) == 3, gap
    return seen


def check_cache(owns, found):
    for own, request in zip(owns, found):
        cache = request["cache"]
        assert cache["evaluated_again_tokens"] == own["again"], (own, cache)
        assert cache["reason"] == (own["lost"] or None), (own, cache)
        assert (cache["reused_from"] == "loaded") == bool(own["loaded"]), (own, cache)
        assert [cache["shifts"], cache["shifted_tokens"]] == [own["shifted"] > 0, own["shifted"]], (own, cache)
        if own["by"]:  # counted from 1 among those of the first model
            assert found[own["by"] - 1]["request"] == cache["request"], (own, cache)
        if own["lost"] == "prefix-differs":
            assert cache["position"] == 24, cache


def check_causes(text, late):
    """A line for each cause, with how many gaps have it."""
    lines = text.split("the median of the request:\n")[1].split("\n\n")[0].splitlines()
    causes = [gap["cause"] for gap in late]
    assert f"\n{len(late)} gaps between tokens" in text and len(lines) == len(set(causes)), (text, causes)
    many = sorted(causes.count(cause) for cause in set(causes) if causes.count(cause) > 1)
    assert sorted(int(line.split()[1]) for line in lines if "gaps of one cause" in line) == many, (lines, many)


def check_forms(path, found):
    rows = list(csv.DictReader(io.StringIO(output(BRICK, "requests", "--csv", path))))
    assert [int(row["request"]) for row in rows] == list(range(1, len(found) + 1)), rows
    for row, request in zip(rows, found):
        for key in ("prompt_tokens", "output_tokens", "ttft_ns", "steps"):
            assert row[key] == str(request[key] if request[key] is not None else ""), (key, row)
    text = output(BRICK, "requests", path)
    assert "prefix" not in text and "differ from position 24" in text and "gaps between tokens" in text, text
    listed = re.findall(r"^ *(\d+) +\d+ ", text.split("REQUEST")[1].split("\n\n")[0], re.M)
    assert listed == [str(request["request"]) for request in found], (listed, "the program does not number them")
    made = sum(request["output_tokens"] for request in found)
    prompts = sum(bool(request["prompt_tokens"] and request["output_tokens"]) for request in found)
    assert f" {made} made ({prompts} by the steps that ended a prompt, {made - prompts} by steps that decode)\n" in text, text
    assert "BEGAN AFTER" in text and "model freed" in text and " freed\n" not in text.replace("model freed", ""), text
    check_causes(text, [gap for request in found for gap in request["gaps"] if gap["cause"]])
    few = json.loads(output(BRICK, "requests", "--json", "--slowest", "2", path))["requests"]
    slowest = sorted(found, key=lambda request: -(request["ttft_ns"] or 0))[:2]
    assert [request["request"] for request in few] == [request["request"] for request in slowest], few


def check_page(path, found):
    made = g.run([BRICK, "report", "--html", path + ".html", path])
    if made.returncode == 4:
        return  # this build has no page
    assert not made.returncode, made.stderr
    slots = page_of(path + ".html")[0]["requests"]
    assert slots["left_out"] == 0 and len(slots["rows"]) == 8, slots["rows"]
    for request, (row, begin, first, end, prompt, output, number) in zip(found, slots["list"], strict=True):
        assert slots["rows"][row] == f"{request['pid']}/{request['model']}, sequence {request['sequence']}", (request, row)
        assert [begin, end, first - begin] == [request[key] for key in ("begin_ns", "end_ns", "ttft_ns")], request
        assert [prompt, output, number] == [request[key] for key in ("prompt_tokens", "output_tokens", "request")], request


def check_child(found):
    """A child goes on with what its parent had begun: nobody knows whose prompt that was."""
    child = [request for request in found if request["pid"] != found[0]["pid"]]
    assert len(child) == 1, child
    assert [child[0]["cache"]["reused_from"], child[0]["end"]] == ["before", "open"], child
    assert [child[0]["prompt_tokens"], child[0]["output_tokens"], child[0]["steps"]] == [0, 3, 3], child


def check_models(path, found):
    rows = json.loads(output(BRICK, "report", "--by", "model", "--phase", "all", "--json", path))["models"]
    pid = found[0]["pid"]
    assert [row["name"].split()[-1] for row in rows[:2]] == [f"({pid}/0)", f"({pid}/1)"], rows
    assert sum(row["name"].endswith("/0)") for row in rows) == 2, rows  # the child's, too
    times = [sum(request["steps_ns"] for request in found if request["model"] == model) for model in (0, 1)]
    assert times[0] > times[1] and rows[0]["self_ns"] > rows[1]["self_ns"] > 0, (times, rows)


def main():
    libs, model = os.path.realpath(g.libraries()), g.demo("model-f16.gguf")
    with tempfile.TemporaryDirectory() as directory:
        program = g.build_with_llama(directory, libs, "llama_requests")
        path = os.path.join(directory, "run.pftrace")
        seen = set()
        for _ in range(ATTEMPTS):
            owns = json.loads(output(BRICK, "record", "-q", "-o", path, "--", program, libs, model))
            answer = json.loads(output(BRICK, "requests", "--json", path))
            assert answer["schema"] == "brick/requests/1" and answer["unknown_parts"] == 0, answer
            found = answer["requests"]
            first = requests_of_program(found)
            assert len(first) == len(owns), (len(first), len(owns))
            seen |= check_waits(path, owns, first, found)
            if len(seen) == 6:
                break
        assert len(seen) == 6, f"each planted wait in one of {ATTEMPTS} runs at least: {seen}"
        check_child(found)
        assert {request["end"] for request in found} == {"cut", "removed", "freed", "open"}, found
        assert {request["model"] for request in found} == {0, 1}, found
        for own, request in zip(owns, first):
            check_request(own, request)
        check_cache(owns, first)
        check_forms(path, found)
        check_models(path, found)
        check_page(path, found)
        assert answer["interference"]["mixed_steps"] == 1, answer["interference"]
        print(len(first), "requests,", len(found) - len(first), "of another model")


main()
