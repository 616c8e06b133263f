# SPDX-License-Identifier: Apache-2.0
"""`brick export --format otlp`, decoded by OTLP's published schema: each request is a trace with the times and tokens
that `brick requests` gives it, its steps and bricks lie in it, and what is left out is counted."""
import base64
import os
import subprocess

from libcli import BUILD, TMP, brick, brick_json, expect, expect_true, recording
from libotlp import decoded, spans_of

NS = 10 ** 9


def serving(*args):
    path = os.path.join(TMP, f"serving{''.join(args)}.pftrace")
    subprocess.run([os.path.join(BUILD, "bin", "program-serving_recording"), path, *args], check=True, timeout=600)
    return path


def exported(path):
    out = brick("export", "--format", "otlp", path)[0].decode()
    expect_true("lines of JSON", out.endswith("\n"))
    return out, spans_of(decoded("traces", out.splitlines(True)))


def traces_of(spans):
    traces = {}
    for span in spans:
        expect("length of the trace's id", len(base64.b64decode(span["trace"])), 16)
        expect("length of the span's id", len(base64.b64decode(span["id"])), 8)
        expect("scope", span["scope"], "brick")
        traces.setdefault(span["trace"], {})[span["id"]] = span
    expect("no id twice", sum(map(len, traces.values())), len(spans))
    return traces


def whole(trace):
    """Of a trace its root; each span has a parent that lasts as long, at least."""
    roots = [span for span in trace.values() if not span["parent"]]
    expect("roots", len(roots), 1)
    for span in trace.values():
        expect_true(f"a span ends behind its begin: {span}", span["begin"] <= span["end"])
        if span["parent"]:
            parent = trace[span["parent"]]
            expect_true(f"{span} in {parent}", parent["begin"] <= span["begin"] and span["end"] <= parent["end"])
    return roots[0]


def same_request(root, trace, wanted, run):
    start = int(run["start_unix"])
    has = root["attributes"]
    queue = wanted["queue_ns"] or 0
    expect("name", root["name"], f"text_completion {wanted['model_name']}")
    expect("kind", root["kind"], "SPAN_KIND_SERVER")
    expect("begin and end", (root["begin"] - start, root["end"] - start),
           (wanted["begin_ns"] - queue, wanted["end_ns"]))
    expect("first token", root["events"], [("first token", start + wanted["begin_ns"] + wanted["ttft_ns"])])
    for key, value in (("gen_ai.operation.name", "text_completion"), ("gen_ai.provider.name", "miniature"),
                       ("gen_ai.request.model", wanted["model_name"]), ("gen_ai.usage.input_tokens", 24),
                       ("gen_ai.usage.output_tokens", wanted["output_tokens"]),
                       ("brick.request", wanted["request"]), ("brick.request.number", wanted["number"]),
                       ("brick.request.end", wanted["end"]), ("brick.time_to_first_token_ns", wanted["ttft_ns"]),
                       ("brick.time_per_output_token_ns", wanted["token_ns"])):
        expect(key, has.get(key), value)
    expect("pid", root["resource"]["process.pid"], wanted["pid"])
    children = [span for span in trace.values() if span["parent"] == root["id"]]
    waits = [span for span in children if span["name"] == "queue"]
    expect("queue", [span["end"] - span["begin"] for span in waits], [queue] if queue else [])
    steps = sorted((span for span in children if span["name"] != "queue"), key=lambda span: span["begin"])
    expect("steps", len(steps), wanted["steps"])
    expect("their time", sum(span["end"] - span["begin"] for span in steps), wanted["steps_ns"])
    expect("tokens of the prompt", sum(s["attributes"]["brick.prompt_tokens"] for s in steps), wanted["prompt_tokens"])
    return steps


def same_steps(steps, trace, wanted, run):
    late = {gap["step"]: gap for gap in wanted["gaps"] if gap["cause"]}
    for span in steps:
        has, number = span["attributes"], span["attributes"]["brick.step"]
        step = run["steps"][number - 1]
        expect("step", (span["name"], span["end"] - span["begin"]), (step["phase"], step["end_ns"] - step["begin_ns"]))
        gap = late.get(number, {})
        expect("cause", (has.get("brick.gap.cause"), has.get("brick.gap.excess_ns")),
               (gap.get("cause"), gap.get("excess_ns")))
        own = {key[len("brick.self_ns."):]: ns for key, ns in has.items() if key.startswith("brick.self_ns.")}
        expect("bricks", set(own), {"FlashAttention", "DownProjection"})
        bricks = [other for other in trace.values() if other["parent"] == span["id"]]
        expect("explained", bool(bricks), bool(has["brick.prompt_tokens"] or gap))
        if bricks:
            expect("layers", {b["attributes"]["brick.layer"] for b in bricks}, {0, 1, 2})
            for name, ns in own.items():
                expect(name, sum(b["end"] - b["begin"] for b in bricks if b["name"] == name), ns)


def bounded():
    """With 800 bricks in a step, a request of two chunks and a long gap has 1000 at most."""
    path = serving("400")
    for trace in traces_of(exported(path)[1]).values():
        root = whole(trace)
        steps = [span for span in trace.values() if "brick.step" in span["attributes"]]
        bricks = [span for span in trace.values() if "brick.category" in span["attributes"]]
        shown = sum(bool(s["attributes"]["brick.prompt_tokens"] or "brick.gap.cause" in s["attributes"]) for s in steps)
        expect_true("two chunks and a gap", shown >= 3)
        expect("bricks", len(bricks), 1000)
        expect("left out", root["attributes"]["brick.bricks_left_out"], shown * 800 - 1000)


def numbered():
    """A step has one number, that of --steps, in all answers; a step within a step has none."""
    path = serving("3", "nested")
    run, wanted = brick_json("export", "--format", "json", path), brick_json("requests", "--json", path)["requests"]
    steps = {step["number"]: step for step in run["steps"] if step["number"]}
    expect("numbers", sorted(steps), list(range(1, len(steps) + 1)))
    expect("within others", len(run["steps"]) - len(steps), 2 * len(wanted))
    for request in wanted:
        for gap in request["gaps"]:  # from one token to the next: its step is the only one that lies in it
            inside = [n for n, step in steps.items() if gap["begin_ns"] <= step["begin_ns"] - run["start_ns"] and
                      step["end_ns"] - run["start_ns"] <= gap["begin_ns"] + gap["ns"]]
            expect("its step", inside, [gap["step"]])
    last = wanted[-1]["gaps"][-1]
    shown = brick_json("tree", "--step", str(last["step"]), "--json", path)["trees"][0]["step"]
    expect("--step", shown["begin_ns"], steps[last["step"]]["begin_ns"] - run["start_ns"])


def refused(path):
    _, err = brick("export", "--format", "otlp", "--steps", "1-3", path, code=2)
    expect_true(f"no part: {err}", b"whole requests" in err)
    _, err = brick("export", "--format", "otlp", recording(), code=3)
    expect_true(f"no requests: {err}", b"whose tokens" in err)


def main():
    path = serving()
    out, spans = exported(path)
    expect("again the same", brick("export", "--format", "otlp", path)[0].decode(), out)
    run, wanted = brick_json("export", "--format", "json", path), brick_json("requests", "--json", path)["requests"]
    chrome = brick_json("export", "--format", "chrome", path)["otherData"]
    run["start_unix"] = chrome["start_unix_ns"]
    traces = traces_of(spans)
    expect("a trace for each request", len(traces), len(wanted))
    roots = {}
    for trace in traces.values():
        root = whole(trace)
        roots[root["attributes"]["brick.request"]] = (root, trace)
    for request in wanted:
        root, trace = roots[request["request"]]
        steps = same_request(root, trace, request, run)
        same_steps(steps, trace, request, run)
    refused(path)
    bounded()
    numbered()
    print(len(traces), "traces,", len(spans), "spans")


main()
