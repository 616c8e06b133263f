# SPDX-License-Identifier: Apache-2.0
"""Speculative decoding on the real engine, with a model that drafts and without one, and where a model goes back to a
saved state and evaluates what held again, as recurrent ones do: drafts that were proposed and
that held by position, as the program counted them; times that add up; the same in the report."""
import json
import os
import tempfile

import libggml as g

BRICK = os.path.join(g.BUILD, "bin", "brick")


def output(*command):
    done = g.run(command)
    assert not done.returncode, (command, done.stderr)
    return done.stdout


def check_counts(own, found, kind):
    by = found["by_drafts"]
    assert [row["drafts"] for row in by] == list(range(len(own["held"]) + 1)), by
    assert [row["proposed"] for row in by[1:]] == own["proposed"], (own, by)
    assert [row["held"] for row in by[1:]] == own["held"], (own, by)
    assert [by[0]["proposed"], by[0]["held"]] == [None, None], by
    assert found["proposed_tokens"] == sum(own["proposed"]), (own, found)
    assert found["held_tokens"] == sum(own["held"]), (own, found)
    assert 0 < found["held_tokens"] < found["proposed_tokens"], found
    assert found["verifications"] == own["cycles"] and not found["shared_verifications"], (own, found)
    assert found["draft_steps"] == own["draft_steps"] and (kind != "lookup") == (own["draft_steps"] > 0), (own, found)


def check_times(own, found, kind):
    assert found["cycles"] == own["cycles"] and found["plain_tokens"] == own["plain"], (own, found)
    assert found["cycle_tokens"] == sum(own["held"]) + own["cycles"] + own["again"], (own, found)
    assert (found["draft_ns"] > 0) == (kind != "lookup") and found["rollback_ns"] > 0, found
    assert found["draft_ns"] + found["verify_ns"] + found["rollback_ns"] <= found["cycle_ns"], found
    assert found["token_ns"] == found["cycle_ns"] // found["cycle_tokens"], found
    cycles = found["cycle_ns"] / found["cycles"] / found["plain_token_ns"]
    expected = max(0, (cycles - 1) / (sum(own["proposed"]) / own["cycles"]))
    assert abs(found["break_even_share"] - expected) < 1e-3 * max(1, expected), (expected, found)
    rows = found["by_drafts"]
    if own["again"]:  # what that costs is measured, not modelled
        assert {row["modelled_token_ns"] for row in rows} == {None} and found["modelled_best_drafts"] is None, found
        assert found["rollback_ns"] > own["again"] / own["cycles"] * found["verify_ns"] / 4, found
        return
    assert all(row["verify_ns"] > 0 and row["modelled_token_ns"] > 0 for row in rows), rows
    best = min(rows, key=lambda row: row["modelled_token_ns"])
    assert found["modelled_best_drafts"] == best["drafts"], (best, found)


def main():
    libs, model = os.path.realpath(g.libraries()), g.demo("model-q8_0.gguf")
    with tempfile.TemporaryDirectory() as directory:
        program = g.build_with_llama(directory, libs, "llama_speculation")
        for kind in ("model", "lookup", "again"):
            path = os.path.join(directory, kind + ".pftrace")
            own = json.loads(output(BRICK, "record", "-q", "-o", path, "--", program, libs, model, kind))
            answer = json.loads(output(BRICK, "requests", "--json", path))
            (found,) = answer["speculation"]
            assert bool(own["again"]) == (kind == "again"), own
            made = sum(own["held"]) + own["cycles"] + own["again"] + own["plain"]
            assert sum(r["output_tokens"] for r in answer["requests"]) == made + len(answer["requests"]), (own, answer)
            assert len(answer["requests"]) == 1 + (kind == "lookup"), answer["requests"]
            check_counts(own, found, kind)
            check_times(own, found, kind)
            steps = json.loads(output(BRICK, "report", "--json", path))["steps"]
            drafts = steps["drafts"]
            assert steps["decode"]["tokens"] == made, (own, steps)
            assert [drafts["checked"], drafts["held"]] == [found["proposed_tokens"], found["held_tokens"]], drafts
            text = output(BRICK, "requests", path)
            assert "Speculative decoding" in text and ("Modelled: " in text) == (kind != "again"), text
            print(kind, found["held_tokens"], "of", found["proposed_tokens"], "held")
        path = os.path.join(directory, "plain.pftrace")
        output(BRICK, "record", "-q", "-o", path, "--", g.LLAMA, "--libs", libs, "--model", model, "--predict", "4")
        assert json.loads(output(BRICK, "requests", "--json", path))["speculation"] == [], path


main()
