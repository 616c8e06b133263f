# SPDX-License-Identifier: Apache-2.0
"""`brick record -p PID` with `--off-cpu` and `--sample`: a layer that sleeps is blocked for as long in each step; stacks
are as many as the CPU time of all threads has periods, no thread is followed twice or not at all, and they have names of
functions, also of Python's. Where the kernel refuses, it is said why, and all else is recorded."""
import json
import os
import signal
import subprocess
import tempfile

from libggml import LLAMA, SOURCE, libraries
from librecord import python_with_torch
from librunning import BRICK, BUILD, WAIT_S, Program, code, compile_to, is_entered, llama, proc, report, state, until

NO_PERF = os.path.join(BUILD, "bin", "program-no_perf")
TORCH = os.path.join(SOURCE, "tests", "programs", "torch_running.py")
HZ, NAP_NS = 997, 20e6


def cpu_s(pid):
    """CPU time of all threads, also of those that have ended."""
    fields = proc(pid, "stat").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def record(program, out, is_in, *options, before=()):
    """Returns what the recorder said, and the CPU time of the program while it was in."""
    recorder = subprocess.Popen([*before, BRICK, "record", "-p", str(program.pid), "-o", out, "--no-history", *options],
                                stderr=subprocess.PIPE, text=True)
    try:
        until(lambda: is_in() or recorder.poll() is not None, "it is not entered")
        begin = cpu_s(program.pid)
        program.says_more(3)
        until(lambda: cpu_s(program.pid) - begin > 1, "it does not compute")
        took = cpu_s(program.pid) - begin
        recorder.send_signal(signal.SIGINT)
        _, said = recorder.communicate(timeout=WAIT_S)
    finally:
        recorder.kill()
    assert recorder.returncode == 0, said
    return said, took


def functions(out):
    return json.loads(report(out, "--by", "function", "--json"))


def stacks_of_all_threads(folder):
    out = os.path.join(folder, "stacks.pftrace")
    with Program(folder, [*llama(100000, 2), "--predict", "4"]) as program:
        before, instructions = state(program.pid), code(program.pid, libraries())
        outer = cpu_s(program.pid)
        said, inner = record(program, out, lambda: code(program.pid, libraries()) != instructions, f"--sample={HZ}")
        outer = cpu_s(program.pid) - outer
        assert state(program.pid) == before, (before, state(program.pid))
        assert len(set(program.lines())) == 1, "its results have changed"
    if "no stacks are taken" in said:
        print("not tried:", said)
        return
    answer = functions(out)
    taken = answer["stacks"] / HZ
    assert answer["hz"] == HZ and not answer["lost"], answer
    # the kernel's own part of the time has none
    assert taken <= 1.1 * outer + 0.1, f"stacks of {taken} s, of {outer} s of CPU time"
    assert answer["throttled"] or taken >= 0.6 * inner - 0.1, f"stacks of {taken} s, of {inner} s of CPU time at least"
    named = sum(row["stacks"] for row in answer["functions"] if row["name"] and "/libggml" in (row["file"] or ""))
    assert named > 0.5 * answer["stacks"], answer["functions"][:8]


def asleep(folder, python):
    out = os.path.join(folder, "naps.pftrace")
    with Program(folder, [python, TORCH, "naps"]) as program:
        before = state(program.pid)
        said, _ = record(program, out, lambda: is_entered(program.pid), "--off-cpu", "on", f"--sample={HZ}")
        assert state(program.pid) == before, (before, state(program.pid))
        assert len(set(program.lines())) == 1, "its results have changed"
        rows = json.loads(report(out, "--json"))
        if rows["presence"]["off_cpu"] == "switches":
            steps = sum(rows["steps"][phase]["count"] for phase in ("prefill", "decode"))
            blocked = sum(row["blocked_ns"] for row in rows["bricks"])
            assert steps and blocked >= 0.99 * NAP_NS * steps, f"{steps} steps were blocked for {blocked} ns"
        else:
            print("not tried:", said)
        if "no stacks are taken" not in said:
            assert any(row["name"].startswith("Block.forward (torch_running") for row in rows["bricks"]), rows["bricks"]
            assert any("PyEval" in (row["name"] or "") for row in functions(out)["functions"]), functions(out)["functions"][:8]
        # the next recorder does not want them
        record(program, out, lambda: is_entered(program.pid), "--off-cpu", "off")
        rows = json.loads(report(out, "--json"))
        assert {row["blocked_ns"] for row in rows["bricks"]} == {None}, rows["bricks"]
        assert not any("torch_running" in row["name"] for row in rows["bricks"]), rows["bricks"]


SLEEPERS = """#include <pthread.h>
#include <unistd.h>
static void *sleeps(void *none){(void)none; for(;;) pause(); return 0;}
__attribute__((constructor)) static void begin(void){pthread_t t;
for(int i = 0; i < 200; i++) pthread_create(&t, 0, sleeps, 0);}
"""


def many_threads(folder):
    """More threads than the recorder may have descriptors: it is said, none is kept, and all else is recorded."""
    out = os.path.join(folder, "many.pftrace")
    sleepers = compile_to(folder, "sleepers.so", SLEEPERS, "-shared", "-fPIC", "-pthread")
    with Program(folder, ["env", "LD_PRELOAD=" + sleepers, *llama(100000)]) as program:
        before = state(program.pid)
        limit = ["sh", "-c", 'ulimit -n 100; exec "$@"', "sh"]
        said, _ = record(program, out, lambda: is_entered(program.pid), "--sample", "--off-cpu", "on", before=limit)
        assert "no stacks are taken: too many files are open" in said, said
        assert state(program.pid) == before, (before, state(program.pid))
    assert json.loads(report(out, "--json"))["bricks"], "nothing is recorded"
    told = subprocess.run([BRICK, "report", "--by", "function", out], capture_output=True, text=True, check=False)
    assert told.returncode and "stacks could not be taken: too many files" in told.stderr, told


def refused(folder):
    out = os.path.join(folder, "refused.pftrace")
    with Program(folder, llama(100000)) as program:
        said, _ = record(program, out, lambda: is_entered(program.pid), "--sample", before=[NO_PERF])
        assert "no stacks are taken: " in said and "were off their CPUs is not known: " in said, said
    assert json.loads(report(out, "--json"))["bricks"], "nothing is recorded"


def main():
    with tempfile.TemporaryDirectory() as folder:
        if os.path.exists(LLAMA):
            stacks_of_all_threads(folder)
            refused(folder)
            many_threads(folder)
        asleep(folder, python_with_torch())


main()
