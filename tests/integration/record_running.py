# SPDX-License-Identifier: Apache-2.0
"""`brick record -p PID`: a program of the real engine is entered and left again and again while it
runs. It says the same as without, and keeps no descriptor, thread, mapping or changed instruction
of ours, but for libraries. From the next step on all is covered as with `record --`."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import libggml
from libggml import BUILD, LLAMA, libraries
from librunning import (BRICK, SLEEPER, WAIT_S, Program, Running, code, compile_to, compute, is_entered, llama, proc, record,
                        record_while, report, say_more, state, static_program, until)

TIMES = int(os.environ.get("ATTACK_ROUNDS", "3"))
KILLS = int(os.environ.get("ATTACK_ROUNDS", "4"))
SEED = int(os.environ.get("SEED", str(random.randrange(10**6))))


def record_steps(program, out, instructions):
    """Stays until there are some steps."""
    def steps():
        until(lambda: is_entered(program.pid) and code(program.pid, libraries()) != instructions, "it is not entered")
        program.says_more(2)
    return record_while(program.pid, out, steps)


def enter_and_leave(folder, threads):
    plain = subprocess.run(llama(1, threads), capture_output=True, text=True, timeout=WAIT_S, check=True)
    out = os.path.join(folder, "run.pftrace")
    with Program(folder, llama(100000, threads)) as program:
        before, instructions = state(program.pid), code(program.pid, libraries())
        mappings = []
        for i in range(TIMES):
            said = record_steps(program, out, instructions)
            assert "attached to ggml" in said and "stay" not in said, said
            assert "graph:" not in said, said
            after = state(program.pid)
            assert after == before, f"{i}: {before} became {after}"
            assert code(program.pid, libraries()) == instructions, f"{i}: code has changed"
            mappings.append(len(proc(program.pid, "maps").splitlines()))
            trust = report(out, "--trust")
            missed = re.findall(r"(\d+)\s+were\s+missed", trust)  # nodes; time off the CPU is in no brick
            assert missed and set(missed) == {"0"}, trust
            assert "no records were lost" in trust, trust
        assert len(set(mappings)) == 1, f"mappings grow: {mappings}"
        program.says_more(2)
        assert set(program.lines()) == set(plain.stdout.splitlines()), "its results have changed"
    return out


def tokens_are_counted(folder, command, out):
    """Bricks per step as with `record --`."""
    whole = os.path.join(folder, "whole.pftrace")
    subprocess.run([BRICK, "record", "-o", whole, "--no-history", "-q", *command(2)], stdout=subprocess.DEVNULL,
                   timeout=WAIT_S, check=True)

    def counts(path):
        rows = json.loads(report(path, "--json"))
        steps = rows["steps"]["decode"]["count"]
        assert rows["steps"]["decode"]["tokens"] == steps, rows["steps"]
        return {r["name"]: r["count"] / steps for r in rows["by_phase"]["decode"]["bricks"]}
    ours, theirs = counts(out), counts(whole)
    for brick in ("QkvProjection", "DownProjection", "FlashAttention", "RmsNorm", "LmHead"):
        assert ours.get(brick) == theirs[brick], (brick, ours, theirs)


def last_step_is_whole(folder):
    """The step that was in flight when the recorder left has all of its graphs."""
    out, ubatch, layers = os.path.join(folder, "last.pftrace"), 8, 7
    command = llama(100000)
    for option, value in (("--prompt-tokens", 8 * ubatch), ("--predict", 2)):
        command[command.index(option) + 1] = str(value)
    with Program(folder, [*command, "--ubatch", str(ubatch)]) as program:
        record_steps(program, out, code(program.pid, libraries()))
    rows = json.loads(report(out, "--json"))
    counts = {row["name"]: row["count"] for row in rows["by_phase"]["prefill"]["bricks"]}
    tokens = rows["steps"]["prefill"]["tokens"]
    assert counts["QkvProjection"] * ubatch == 3 * layers * tokens, (counts, tokens)


def switched_on(folder):
    """With a thread of the engine that computed while recording was off: all of its nodes are there from the first step on."""
    out, model = os.path.join(folder, "on.pftrace"), os.path.join(folder, "one.gguf")
    subprocess.run([os.path.join(BUILD, "bin", "brick-model"), "--type", "f32", "--embd", "64", "--heads", "4", "--kv-heads",
                    "2", "--ff", "176", "--vocab", "512", "--layers", "1", model], check=True, stdout=subprocess.DEVNULL)
    command = llama(100000, 2)
    for option, value in (("--model", model), ("--predict", 2)):
        command[command.index(option) + 1] = str(value)
    with Program(folder, command) as program:
        recorder = subprocess.Popen([BRICK, "record", "-q", "-p", str(program.pid), "-o", out, "--no-history", "--idle"],
                                    stderr=subprocess.PIPE, text=True)
        try:
            until(lambda: is_entered(program.pid) or recorder.poll() is not None, "it is not entered")
            program.says_more(2)
            subprocess.run([BRICK, "on", str(program.pid)], check=True, stderr=subprocess.DEVNULL)
            program.says_more(2)
            recorder.send_signal(signal.SIGINT)
            _, said = recorder.communicate(timeout=WAIT_S)
        finally:
            recorder.kill()
    assert recorder.returncode == 0, said
    assert "no records were lost" in report(out, "--trust"), report(out, "--trust")


def stopped_recorders(folder):
    """A recorder that gives up before the engine is called leaves nothing."""
    out = os.path.join(folder, "none.pftrace")
    with Running(*llama(100000)) as running:
        before = state(running.pid)
        for duration in ("0.01s", "0.05s", "0.2s"):
            run = record(running.pid, out, "--duration", duration)
            assert run.returncode == 0, run.stderr
            assert state(running.pid) == before, (duration, run.stderr)
        assert running.process.stdout.readline() == running.line


def killed_recorders(folder):
    """A recorder that is killed at any time leaves the program as it was, too, and another one gets in."""
    out = os.path.join(folder, "killed.pftrace")
    draw = random.Random(SEED)
    with Program(folder, llama(100000)) as program:
        before, instructions = state(program.pid), code(program.pid, libraries())
        for i in range(KILLS):
            recorder = subprocess.Popen([BRICK, "record", "-q", "-p", str(program.pid), "-o", out, "--no-history"],
                                        stderr=subprocess.DEVNULL)
            time.sleep(draw.uniform(0, 1))
            recorder.kill()
            recorder.wait()
            end = time.monotonic() + WAIT_S
            while state(program.pid) != before or code(program.pid, libraries()) != instructions:
                assert program.process.poll() is None, f"kill {i}, seed {SEED}: it has ended"
                assert time.monotonic() < end, f"kill {i}, seed {SEED}: {before} became {state(program.pid)}"
                time.sleep(0.05)
        assert "attached to ggml" in record_steps(program, out, instructions)
        assert len(set(program.lines())) == 1, "its results have changed"


def whole_tree(folder):
    """All workers of a launcher are entered."""
    out = os.path.join(folder, "tree.pftrace")
    worker, said = " ".join(llama(100000)), (folder + "/first", folder + "/second")
    script = f"{worker} >{said[0]} & echo $!; {worker} >{said[1]} & echo $!; wait"
    with Running("sh", "-c", script, start_new_session=True) as running:
        workers = [int(running.line), int(running.process.stdout.readline())]

        def both():
            until(lambda: all(map(is_entered, workers)), "not all workers are entered")
            say_more(said, 2)
        try:
            say_more(said, 1)
            stderr = record_while(running.pid, out, both)
            assert "2 processes" in stderr, stderr
        finally:
            os.killpg(running.pid, signal.SIGKILL)


def seen_by_top(folder):
    """`brick top PID` gets in, shows bricks, and leaves; it says why where it does not."""
    with Running(*llama(100000)) as running:
        reader = threading.Thread(target=lambda: all(running.process.stdout), daemon=True)
        reader.start()
        before = state(running.pid)
        top = subprocess.Popen([BRICK, "top", str(running.pid), "--headless", "--interval", "0.2"],
                               stdout=subprocess.PIPE, text=True, errors="replace")
        try:
            until(lambda: "DownProjection" in top.stdout.readline(), "no picture has a brick")
            top.send_signal(signal.SIGTERM)
            top.communicate(timeout=WAIT_S)
        finally:
            top.kill()
            top.wait()
        end = time.monotonic() + WAIT_S
        while state(running.pid) != before:
            assert time.monotonic() < end, f"{before} became {state(running.pid)}"
            time.sleep(0.05)
    with Running(compile_to(folder, "idle", SLEEPER)) as running:
        top = subprocess.run([BRICK, "top", str(running.pid), "--headless", "--interval", "0.1"], capture_output=True,
                             text=True, timeout=WAIT_S, check=False)
        assert top.returncode == 3 and "has no ggml" in top.stderr, (top.returncode, top.stderr)


def static_engine(folder):
    out = os.path.join(folder, "static.pftrace")
    program = static_program(folder)
    process = subprocess.Popen([program, "1", "100000000"], stdout=subprocess.DEVNULL)
    try:
        def recorded():
            until(lambda: is_entered(process.pid), "it is not entered")
            compute(process.pid)
        compute(process.pid)
        before, kept = state(process.pid), None
        for _ in range(TIMES):
            stderr = record_while(process.pid, out, recorded)
            assert "attached to ggml" in stderr, stderr
            assert state(process.pid) == before, (before, state(process.pid))
            mappings = len(proc(process.pid, "maps").splitlines())
            assert kept in (None, mappings), (kept, mappings)
            kept = mappings
            bricks = {row["name"]: row["count"] for row in json.loads(report(out, "--json"))["bricks"]}
            assert bricks.get("UpProjection"), bricks
    finally:
        process.kill()
        process.wait()


def samples_elsewhere(folder):
    """A library beside the engine's samples each token by several samplers: that is one Sampling, as with `record --`."""
    common = libggml.build_with_llama(folder, libraries(), "llama_sampled", "libcommon.so", ["-DCOMMON", "-shared", "-fPIC"])
    program = libggml.build_with_llama(folder, libraries(), "llama_sampled", options=[common, "-Wl,-rpath," + folder])
    command = [program, libraries(), libggml.demo("model-q8_0.gguf")]
    entered, whole = os.path.join(folder, "sampled.pftrace"), os.path.join(folder, "whole.pftrace")
    with Program(folder, command) as running:
        instructions = code(running.pid, libraries())
        record_steps(running, entered, instructions)
        assert len(set(running.lines())) == 1, "its results have changed"
    with Program(folder, [BRICK, "record", "-q", "-o", whole, "--no-history", "--", *command]) as running:
        running.says_more(2)
        running.process.send_signal(signal.SIGINT)
        running.process.wait(WAIT_S)
    for out in entered, whole:
        rows = json.loads(report(out, "--json"))
        count = next(row["count"] for row in rows["bricks"] if row["name"] == "Sampling")
        assert abs(count - rows["steps"]["decode"]["count"]) <= 2, (out, count, rows["steps"]["decode"]["count"])


def becomes_another(folder):
    """The process begins another program: recording ends."""
    program, out = static_program(folder), os.path.join(folder, "another.pftrace")
    process = subprocess.Popen([program, "1", "100000000", "another"], stdout=subprocess.DEVNULL)
    try:
        compute(process.pid)
        recorder = subprocess.Popen([BRICK, "record", "-p", str(process.pid), "-o", out, "--no-history"],
                                    stderr=subprocess.PIPE, text=True)
        try:
            until(lambda: is_entered(process.pid), "it is not entered")
            process.send_signal(signal.SIGUSR1)
            _, stderr = recorder.communicate(timeout=WAIT_S)
        finally:
            recorder.kill()
        assert recorder.returncode == 0, stderr
        assert process.poll() is None and "libbrick" not in proc(process.pid, "maps")
    finally:
        process.kill()
        process.wait()


SLOW = """#include <dlfcn.h>
#include <stddef.h>
#include <time.h>
/* the program interrupts each wait, again and again */
static void wait_for(long ms){struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);
t.tv_sec += (t.tv_nsec / 1000000 + ms) / 1000; t.tv_nsec = (t.tv_nsec / 1000000 + ms) % 1000 * 1000000;
while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL));}
__attribute__((constructor)) static void wait_a_while(void){wait_for(500);}
#ifdef REAL
void brick_enter(const char *directory);
void brick_enter(const char *directory){
wait_for(MS);
void *real = dlopen(REAL, RTLD_NOW);
((void (*)(const char *))dlsym(real, "brick_enter"))(directory);}
#endif
"""


def with_slow_library(folder, name, enters, ms=1200):
    """A Brick whose library takes long to be loaded, and lacks the function that is called, or (enters) has it."""
    top = os.path.join(folder, name)
    real = os.path.join(top, "lib", "libbrick-real.so")
    os.makedirs(os.path.join(top, "bin"))
    shutil.copytree(os.path.join(BUILD, "lib"), os.path.join(top, "lib"), ignore=lambda _, names: [
        name for name in names if ".so" not in name])
    os.rename(os.path.join(top, "lib", "libbrick-ggml.so"), real)
    slow = compile_to(folder, "slow", SLOW, "-shared", "-fPIC", f"-DMS={ms}", *([f'-DREAL="{real}"'] if enters else []))
    os.rename(slow, os.path.join(top, "lib", "libbrick-ggml.so"))
    return shutil.copy(BRICK, os.path.join(top, "bin"))


def record_with(brick, out, duration):
    """What this Brick says of a program that computes without end."""
    process = subprocess.Popen([static_program(os.path.dirname(out)), "1", "100000000"], stdout=subprocess.DEVNULL)
    try:
        compute(process.pid)
        run = subprocess.run([brick, "record", "-p", str(process.pid), "-o", out, "--no-history", "--duration", duration],
                             capture_output=True, text=True, timeout=WAIT_S, check=False)
    finally:
        process.kill()
        process.wait()
    assert not run.returncode, (run.returncode, run.stderr)
    return run.stderr


def loads_slowly(folder):
    """How long the library takes is no part of --duration: the program is recorded for as long as was asked."""
    said = record_with(with_slow_library(folder, "slowly", True), os.path.join(folder, "slowly.pftrace"), "1.5s")
    assert "attached to ggml" in said, said


def loads_too_slowly(folder):
    """It is not said of a program that it computed nothing where its engine was called, and our library did not come in time."""
    said = record_with(with_slow_library(folder, "late", True, 6000), os.path.join(folder, "late.pftrace"), "1s")
    assert "had not loaded Brick's library" in said, said


def refused_by_linker(folder):
    """The library lacks the function that is called. Meanwhile the program changes its user again and
    again, which takes an answer from each thread."""
    brick = with_slow_library(folder, "tree", False)
    program = static_program(folder)
    process = subprocess.Popen([program, "1", "100000000"], stdout=subprocess.DEVNULL)
    try:
        compute(process.pid)
        before, instructions = state(process.pid), code(process.pid, folder)
        run = subprocess.run([brick, "record", "-p", str(process.pid), "-o", os.path.join(folder, "none"), "--no-history"],
                             capture_output=True, text=True, timeout=WAIT_S, check=False)
        assert run.returncode and "does not load our library" in run.stderr, (run.returncode, run.stderr)
        assert "stay" not in run.stderr, run.stderr
        assert state(process.pid) == before, (before, state(process.pid))
        assert code(process.pid, program) == {k: v for k, v in instructions.items() if k[0] == program}, "its code has changed"
        compute(process.pid)
    finally:
        process.kill()
        process.wait()


def main():
    with tempfile.TemporaryDirectory() as folder:
        if not os.path.exists(LLAMA):
            libggml.skip("brick-llama is not built")
        out = enter_and_leave(folder, 1)
        if "ATTACK_ROUNDS" in os.environ:  # teams spin for each other, for minutes on a busy machine
            enter_and_leave(folder, 2)
        tokens_are_counted(folder, llama, out)
        last_step_is_whole(folder)
        switched_on(folder)
        stopped_recorders(folder)
        killed_recorders(folder)
        seen_by_top(folder)
        whole_tree(folder)
        static_engine(folder)
        samples_elsewhere(folder)
        becomes_another(folder)
        refused_by_linker(folder)
        loads_slowly(folder)
        loads_too_slowly(folder)


main()
