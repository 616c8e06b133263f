# SPDX-License-Identifier: Apache-2.0
"""`brick record --measure-distortion` with the real engine: a delay planted into what hooks do at the end of each
phase, 100 us, is found by the steps that are left whole; tokens are the same; all other steps have all their nodes. Steps
in a row are left whole when that is asked for.
By the evaluation callback: steps without it are whole and shorter, and what is stated without the option, by nodes
without work, is not in contradiction to what is measured with it."""
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile

import libggml as g

BRICK = os.path.join(g.BUILD, "bin", "brick")
LLAMA = os.path.join(g.BUILD, "bin", "brick-llama")
TOKENS, CALLBACK_TOKENS, DELAY_NS = 160, 80, 100000
DELAY = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <time.h>

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void brick__end(uint64_t span)
{
	static void (*real)(uint64_t);
	uint64_t end = now() + DELAY_NS;
	if (!real)
		real = (void (*)(uint64_t))dlsym(RTLD_NEXT, "brick__end");
	real(span);
	while (now() < end)
		;
}
"""


def record(scratch, *options, tokens=TOKENS, **env):
    out = os.path.join(scratch, "run.pftrace")
    command = [LLAMA, "--libs", g.demo("engine", "libs"), "--model", g.demo("model-f16.gguf"), "--prompt-tokens", "16",
               "--predict", str(tokens), "--threads", "1"]
    run = subprocess.run([BRICK, "record", "-q", *options, "-o", out, "--", *command], capture_output=True, text=True,
                         env={**os.environ, **env}, check=False, timeout=120)
    assert run.returncode == 0, run.stderr
    report = subprocess.run([BRICK, "report", out, "--json"], capture_output=True, text=True, check=True)
    return run.stdout, json.loads(report.stdout)


def executions(report, name):
    return sum(row["count"] for row in report["bricks"] if row["name"] == name)


def cost(report):
    """ms for each decode step that was recorded: a share is of all, also of those left whole."""
    decode = report["steps"]["decode"]
    share = (decode["count"] - executions(report, "PlainStep")) / decode["count"]
    return [report["distortion"]["decode"][end] * decode["total_ns"] / decode["count"] / share / 1e6 for end in ("low", "high")]


def by_callback():
    """Three runs of each kind, in turns: the machine's pace changes from run to run, so medians are held."""
    stated_costs, measured_costs = [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as scratch:
            tokens, stated = record(scratch, "--attach", "callback", tokens=CALLBACK_TOKENS)
            also, measured = record(scratch, "--attach", "callback", "--measure-distortion", tokens=CALLBACK_TOKENS)
        assert tokens == also, "other tokens"
        assert executions(stated, "PlainStep") == 0 and executions(stated, "ProfilerSplit") > CALLBACK_TOKENS // 2
        whole, heads = executions(measured, "PlainStep"), executions(measured, "LmHead")
        assert CALLBACK_TOKENS // 10 < whole < CALLBACK_TOKENS // 3, whole
        assert heads + whole == executions(stated, "LmHead"), (heads, whole)
        assert measured["distortion"]["source"] == "measured" and stated["distortion"]["source"] == "estimated"
        # a share of the wall time: what other programs took of that is no step's
        on_cpu = 1 - (measured["presence"]["steps_off"] or 0)
        assert measured["distortion"]["decode"]["low"] > 0.1 * on_cpu, (measured["distortion"], on_cpu)
        stated_costs.append(cost(stated))
        measured_costs.append(cost(measured))
    d, e = ([statistics.median(ends) for ends in zip(*costs)] for costs in (measured_costs, stated_costs))
    print("callback: {:.2f} to {:.2f} ms a step measured, {:.2f} to {:.2f} stated".format(*d, *e))
    assert 0 < e[0] <= d[1] and d[0] <= e[1], (measured_costs, stated_costs)


def in_blocks():
    """BRICK_PLAIN_STEPS=2,9: nine steps in a row are left whole, nine are recorded, and so on."""
    with tempfile.TemporaryDirectory() as scratch:
        record(scratch, tokens=CALLBACK_TOKENS, BRICK_PLAIN_STEPS="2,9")
        done = subprocess.run([BRICK, "report", os.path.join(scratch, "run.pftrace"), "--by", "step", "--json"],
                              capture_output=True, check=True)
    rows = [row for row in json.loads(done.stdout)["each_step"] if row["name"] != "outside of steps"]
    blocks = [len(list(block)) for _, block in itertools.groupby(row["count"] < 16 for row in rows)]
    assert len(blocks) > CALLBACK_TOKENS // 12 and set(blocks[1:-1]) == {9}, blocks


def main():
    with tempfile.TemporaryDirectory() as scratch:
        tokens, plain = record(scratch)
        assert plain["distortion"]["source"] == "estimated", plain["distortion"]
        also, measured = record(scratch, "--measure-distortion")
        delay = os.path.join(scratch, "delay.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", f"-DDELAY_NS={DELAY_NS}", "-x", "c", "-", "-o", delay],
                       input=DELAY.encode(), check=True)
        again, delayed = record(scratch, "--measure-distortion", LD_PRELOAD=delay)
    assert tokens == also == again, "other tokens"
    for report in measured, delayed:
        d = report["distortion"]["decode"]
        assert report["distortion"]["source"] == "measured" and d["low"] <= d["share"] <= d["high"], report["distortion"]
        whole, heads = executions(report, "PlainStep"), executions(report, "LmHead")
        assert TOKENS // 10 < whole < TOKENS // 3, whole
        assert heads + whole == executions(plain, "LmHead"), (heads, whole, executions(plain, "LmHead"))
    without, behind = cost(measured), cost(delayed)
    print("without a delay {:.3f} to {:.3f} ms a step, with it {:.3f} to {:.3f}".format(*without, *behind))
    assert behind[0] > max(4 * DELAY_NS / 1e6, (without[0] + without[1]) / 2), (measured["distortion"], delayed["distortion"])


if not os.path.exists(LLAMA):
    g.skip("no brick-llama")
main()
by_callback()
in_blocks()
sys.exit(0)
