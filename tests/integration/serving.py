# SPDX-License-Identifier: Apache-2.0
"""A server with vLLM's interfaces (tests/programs/serve_double.py) is recorded as an engine of requests: its steps, their
tokens, and each request's prompt, cached and output tokens are those that it counts itself, in one process and in two, with
prompts in chunks, cached begins, a full cache and drafts, also where recording begins while requests run, and where the
server runs already: all of its processes are entered, though none of them runs operators. Its steps count
other threads' time. A scheduler that says something else is refused, and why."""
import json
import os
import subprocess
import sys

from librecord import *
from librunning import is_entered, until

SOURCE = os.environ["BRICK_SOURCE"]
PROGRAMS = os.path.join(SOURCE, "tests", "programs")
JOBS = [[0, 40, 5], [100, 20, 9], [300, 70, 3], [0, 24, 6]]


def run(*command, **variables):
    return subprocess.run(command, capture_output=True, text=True, timeout=600, env={**os.environ, **variables})


def record(scratch, name, **variables):
    path = scratch.file(f"{name}.pftrace")
    variables = {"JOBS": json.dumps(JOBS), "TORCH": scratch.file("lib/libtorch_cpu.so"), **variables}
    program = (sys.executable, scratch.file("double/serve.py"))
    plain = run(*program, **variables)
    same(plain.returncode, 0, plain.stderr)
    done = run(BRICK, "record", "-o", path, "--", *program, **variables)
    same((done.returncode, done.stdout), (0, plain.stdout), done.stderr)
    return path, json.loads(done.stdout), done.stderr


def counts(scratch, name, **variables):
    path, said, log = record(scratch, name, **variables)
    return counts_of(name, path, said, log, **variables)


def counts_of(name, path, said, log, **variables):
    steps = json.loads(run(BRICK, "export", "--format", "json", path).stdout)["steps"]
    requests = json.loads(run(BRICK, "requests", "--json", path).stdout)["requests"]
    same(len(steps), said["steps"], f"{name}: steps")
    same(len(requests), len(JOBS), f"{name}: requests")
    same(sum(r["prompt_tokens"] + r["cache"]["reused_tokens"] - r["cache"]["evaluated_again_tokens"] for r in requests), said["prompt"], f"{name}: prompts")
    same(sum(r["cache"]["reused_tokens"] for r in requests), said["cached"], f"{name}: cached")
    same(sorted(r["output_tokens"] for r in requests), sorted(job[2] for job in JOBS), f"{name}: outputs")
    same(sum(r["output_tokens"] for r in requests), said["output"], f"{name}: outputs in all")
    same({r["end"] for r in requests}, {"ended"}, f"{name}: ends")
    is_seen = "CORE" not in variables
    check(all((r["queue_ns"] is not None) == is_seen for r in requests), f"{name}: waits", requests)
    check("vLLM's worker 0" in log and ("vLLM's engine core" in log) == is_seen, log)
    same({r["cache"]["reason"] for r in requests} - {None}, {"kv-full"} if said["preempted"] else set(), f"{name}: again")
    return said, requests, steps


def running(scratch, name, **variables):
    """Its core is entered while it waits for a lock, and its worker as soon as it does anything."""
    path, step = scratch.file(f"{name}.pftrace"), [0, 0]
    variables = {"JOBS": json.dumps(JOBS), "TORCH": scratch.file("lib/libtorch_cpu.so"), "PACED": "1", "LATE": "1", **variables}
    program = subprocess.Popen([sys.executable, scratch.file("double/serve.py")], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, env={**os.environ, **variables})
    recorder = None

    def say(line):
        program.stdin.write(line + "\n")
        program.stdin.flush()

    def ask(line):
        say(line)
        return json.loads(program.stdout.readline())
    try:
        check(not any(ask("look")), "it is hooked already")
        recorder = subprocess.Popen([BRICK, "record", "-p", str(program.pid), "-o", path, "--no-history"],
                                    stderr=subprocess.PIPE, text=True)
        until(lambda: is_entered(program.pid) or recorder.poll() is not None, "its core is not entered")
        until(lambda: all(ask("look")) or recorder.poll() is not None, "it is not entered")
        say("")
        while isinstance(step, list):
            step = ask("")
        _, log = recorder.communicate(timeout=250)
    finally:
        program.kill()
        program.wait()
        if recorder:
            recorder.kill()
    same(recorder.returncode, 0, log)
    return counts_of(name, path, step, log, **variables)


def paced(scratch, name, **variables):
    """Recording is switched on, off and on again while requests run: steps have all of their tokens. A request that began
    unseen has no prompt's begin in the cache and, without a prompt, no first token."""
    path, told = scratch.file(f"{name}.pftrace"), []
    variables = {"JOBS": json.dumps(JOBS), "TORCH": scratch.file("lib/libtorch_cpu.so"), "PACED": "1", "ROOM": "80", **variables}
    program = start(path, sys.executable, scratch.file("double/serve.py"), options=("--idle",), stdin=subprocess.PIPE, text=True,
                    env={**os.environ, **variables})

    def step(count):
        for _ in range(count):
            program.stdin.write("\n")
            program.stdin.flush()
            told.append(json.loads(program.stdout.readline()))
            if isinstance(told[-1], dict):
                return
    step(7)
    run(BRICK, "on", str(program.pid))
    step(5)
    run(BRICK, "off", str(program.pid))
    step(3)
    run(BRICK, "on", str(program.pid))
    step(1000)
    program.communicate(timeout=250)
    steps = json.loads(run(BRICK, "export", "--format", "json", path).stdout)["steps"]
    requests = json.loads(run(BRICK, "requests", "--json", path).stdout)["requests"]
    same([step["tokens"] for step in steps], [sum(step) for step in told[7:12] + told[15:-1] if sum(step)], f"{name}: steps")
    same(sum(r["prompt_tokens"] for r in requests), sum(step[0] for step in told[7:12] + told[15:-1]), f"{name}: prompts")
    same([r["cache"]["reused_from"] for r in requests], ["before"] * 3, f"{name}: begins")
    same([r["ttft_ns"] is None for r in requests], [True, False, False], f"{name}: first tokens")


with Scratch() as scratch:
    for name in "lib", "double":
        os.makedirs(scratch.file(name))
    same(run(sys.executable, os.path.join(PROGRAMS, "serve_double.py"), scratch.file("double")).returncode, 0, "the double")
    if run("cc", "-DFAULT=0", "-shared", "-fPIC", "-o", scratch.file("lib/libtorch_cpu.so"),
           os.path.join(PROGRAMS, "torch_fake.c")).returncode:
        print("skipped: there is no compiler")
        sys.exit(77)
    said, _, steps = counts(scratch, "two")
    check(said["cached"] > 0 and any(s["phase"] == "mixed" for s in steps), said, steps)
    counts(scratch, "one", ENGINE="one")
    said, _, _ = counts(scratch, "full", ROOM="80")
    check(said["preempted"] > 0, said)
    said, _, _ = counts(scratch, "second runner", ROOM="80", RUNNER="2")
    check(said["preempted"] > 0, said)
    counts(scratch, "drafts", DRAFTS="1")
    counts(scratch, "worker alone", CORE="unseen")
    for engine in "one", "two":
        running(scratch, "running " + engine, ENGINE=engine, DRAFTS="1")
    for engine in "one", "two":
        paced(scratch, "paced " + engine, ENGINE=engine, RUNNER="1" if engine == "one" else "2")
    # what another thread of the worker computes is counted for each step, and nothing where there is no such thread
    for threads in "1", "":
        path, said, _ = record(scratch, "threads" + threads, THREAD=threads)
        events = json.loads(run(BRICK, "export", "--format", "chrome", path).stdout)["traceEvents"]
        counted = [event for event in events if event["ph"] == "C" and event["name"] == "OtherThreadsTime"]
        same(len(counted), said["steps"] if threads else 0, "steps with time of other threads")
        check(all(event["args"]["value"] >= 3e6 for event in counted), counted)
    for fault, why in ("total", "the requests of a step have other tokens than the step"), \
            ("members", "its scheduler's output has other members"):
        path, said, _ = record(scratch, fault, FAULT=fault)
        notes = " ".join(run(BRICK, "report", "--trust", path).stdout.split())
        check(why in notes, notes)
        same(run(BRICK, "requests", path).returncode, 3, "requests of a server that is refused")
