# SPDX-License-Identifier: Apache-2.0
"""Recordings with a planted cause: `brick explain` names it first.

Runs alone (RUN_SERIAL): a competitor that nobody planted would be a cause, too.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import libggml as g

BRICK = os.path.join(g.BUILD, "bin", "brick")
PLANTED = os.path.join(g.BUILD, "bin", "causes-planted")
FIRST = os.path.join(g.BUILD, "bin", "program-explain_first")
CPU = min(os.sched_getaffinity(0))


def check(condition, what):
    if not condition:
        sys.exit("FAILED: " + what)


def llama(*options, model="model-f16.gguf"):
    return [g.LLAMA, "--libs", g.libraries(), "--model", g.demo(model), *options]


def pin():
    os.sched_setaffinity(0, {CPU})


def record(path, command, pinned=False):
    return subprocess.run([BRICK, "record", "-q", "-o", path, "--", *command], check=True,
                          capture_output=True, preexec_fn=pin if pinned else None).stdout


def explain(path, *options):
    out = subprocess.run([BRICK, "explain", path, *options], check=True, capture_output=True,
                         text=True).stdout
    return out


def findings(path, phase=None):
    text = explain(path, "--json")
    check(len(text) <= 8192, f"{len(text)} bytes of JSON")
    answer = json.loads(text)
    if not answer["off_cpu_known"]:
        print("skipped: the kernel does not say when threads are off their CPUs")
        sys.exit(77)
    for p in answer["phases"]:
        costs = sum(f["cost_ns"] for f in answer["findings"] if f["phase"] == p["phase"])
        check(costs <= p["elapsed_ns"], f"findings cost {costs} of {p}")
    for see in {f["see"] for f in answer["findings"]} - {"brick roofline"}:  # which needs ceilings
        shown = subprocess.run([BRICK, *see.split()[1:], path], capture_output=True, text=True)
        check(shown.returncode == 0, f"{see}: {shown.stderr}")
    return [f for f in answer["findings"] if phase in (None, f["phase"])]


def first(found, *rules):
    names = [f["rule"] for f in found]
    check(names and names[0] in rules, f"{' or '.join(rules)} is not first: {names}")
    for f in found:
        check(0 <= f["cost_ns"] and f["evidence"] and f["try"] and f["see"], f"not whole: {f}")


def beside_a_competitor(path):
    competitor = subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=pin)
    try:
        record(path, llama("--prompt-tokens", "16", "--predict", "40", "--threads", "1"), True)
    finally:
        competitor.kill()
        competitor.wait()
    found = findings(path, "decode")
    first(found, "preempted-by-others")
    check(re.search(r"\(\d+\)", found[0]["evidence"]), f"nobody is named: {found[0]}")


def two_threads_on_one_cpu(path):
    record(path, llama("--prompt-tokens", "8", "--predict", "6", "--threads", "2"), True)
    found = findings(path, "decode")
    out = subprocess.run([BRICK, "report", "--json", path], check=True, capture_output=True)
    if json.loads(out.stdout)["presence"]["others"] > 0.2:
        first(found, "affinity", "preempted-by-others")  # so they are there
        return
    first(found, "affinity")
    check(found[0]["or"]["try"] == "--threads 1", f"{found[0]}")
    check("2 threads" in found[0]["evidence"], f"{found[0]}")


def prompt_again(path):
    record(path, llama("--prompt-tokens", "256", "--predict", "2", "--repeat", "4",
                       "--threads", "1"))
    found = [f for f in findings(path) if f["rule"] not in ("preempted-by-others", "in-no-brick")]
    first(found, "prompt-repeated")
    check("768 tokens in 3 of 4 steps" in found[0]["evidence"], f"{found[0]}")


def sleeping_between_steps(path):
    """A program that is linked to nothing, and sleeps 4 ms a token; whom it looks symbols up for is no matter."""
    record(path, [PLANTED, "--libs", g.libraries(), "--model", g.demo("model-q8_0.gguf"), "--prompt", "16",
                  "--predict", "40", "--threads", "1", "--pause-us", "4000", "--warm", "1"])
    found = [f for f in findings(path, "decode") if f["rule"] != "preempted-by-others"]
    first(found, "host-pauses")
    check(4e6 <= found[0]["cost_per_token_ns"], f"{found[0]}")
    out = subprocess.run([BRICK, "report", "--json", path], check=True, capture_output=True, text=True).stdout
    check(json.loads(out)["steps"]["warm_up"]["count"] == 1, "llama_set_warmup() was not seen")


def pages_that_leave_again(path):
    """A model that leaves memory now and then is read as often, not only in the first steps."""
    with tempfile.TemporaryDirectory(dir=g.BUILD) as folder:  # on a disk: /tmp may be memory
        model = os.path.join(folder, "model.gguf")  # nobody else's
        shutil.copy(g.demo("model-q8_0.gguf"), model)
        with open(model, "rb") as file:
            os.fsync(file.fileno())
        out = record(path, [PLANTED, "--libs", g.libraries(), "--model", model, "--prompt", "16", "--predict", "60",
                            "--threads", "1", "--load", "2", "--evict-each", "6"])
        bytes_of_model = os.path.getsize(model)
    cold = [f for f in findings(path, "decode") if f["rule"] == "cold-pages"]
    check(cold, f"not found: {findings(path)}")
    read = re.search(r"(\d[\d.]*)(MB|GB) came from disk", cold[0]["evidence"])
    check(read, f"nobody counted what was read: {cold[0]}")
    # An engine that repacks weights at load time reads only the other pages again: the kernel says which came back.
    truth = json.loads(out)["came_back_bytes"]
    check(truth > bytes_of_model, f"only {truth} bytes came back in ten times")
    times = float(read[1]) * (1e6 if read[2] == "MB" else 1e9) / truth
    check(0.8 < times < 1.3, f"{times} of {truth} bytes were counted: {cold[0]}")


def first_step(path):
    record(path, [FIRST])
    found = [f for f in findings(path) if f["rule"] != "preempted-by-others"]
    first(found, "slow-first-step")


def clean(path):
    for _ in range(2):  # parts of its files, and of ours, may have left memory since they were used
        record(path, llama("--prompt-tokens", "16", "--predict", "40", "--threads", "1"))
    invented = {"oversubscribed", "affinity", "cpu-quota", "host-pauses", "host-works", "slow-thread", "lesser-cpu-build",
                "kv-type", "small-ubatch", "sequences-apart", "all-logits", "cold-pages", "ran-on-cpu", "copies-between-backends", "launch-bound",
                "prompt-repeated", "slow-sampling", "graph-rebuilt", "barrier-waits"}
    names = {f["rule"] for f in findings(path)}
    check(not names & invented, f"invented: {names & invented}")


def refused(path):
    with open(path, "wb") as file:
        file.write(b"no recording")
    done = subprocess.run([BRICK, "explain", path], capture_output=True, text=True)
    check(done.returncode == 3 and path in done.stderr, f"{done}")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        for case in (clean, beside_a_competitor, two_threads_on_one_cpu, prompt_again,
                     sleeping_between_steps, pages_that_leave_again, first_step, refused):
            case(os.path.join(tmp, case.__name__ + ".pftrace"))


main()
