# SPDX-License-Identifier: Apache-2.0
"""`brick record -p PID` where others interfere: somebody cuts the page that recorder and process share, and another
process gets the number of one that was entered, it begins another program, or a second recorder comes. Nobody crashes, and nobody else's memory changes."""
import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import libggml
from libggml import LLAMA, libraries
from librunning import (BRICK, WAIT_S, Program, code, compile_to, compute, file_of, is_entered, llama, proc,
                        record_while, state, static_program, until)


def start(program, out):
    """A recorder that has entered the program."""
    recorder = subprocess.Popen([BRICK, "record", "-p", str(program.pid), "-o", out, "--no-history"],
                                stderr=subprocess.PIPE, text=True)
    until(lambda: ".session" in proc(program.pid, "maps") or recorder.poll() is not None, "it is not entered")
    assert recorder.poll() is None, recorder.stderr.read()
    return recorder


def cut_page(folder):
    """The recorder says it, and takes its jumps away by its own list; the process ends its thread, and goes on. Memory
    of rings stays there, as nobody can say when no thread is in a hook. Another recorder gets in."""
    out = os.path.join(folder, "cut.pftrace")
    with Program(folder, llama(100000)) as program:
        before, instructions = state(program.pid), code(program.pid, libraries())
        rest = [part for part in before if part != "sessions"]
        recorder = start(program, out)
        try:
            program.says_more(1)
            assert code(program.pid, libraries()) != instructions, "no jump was written"
            os.truncate(re.search(r"/\S*/enter\.\d+\.control", proc(program.pid, "maps")).group(0), 0)
            _, stderr = recorder.communicate(timeout=WAIT_S)
        finally:
            recorder.kill()
        assert recorder.returncode == 0 and "somebody has cut its control page" in stderr, (recorder.returncode, stderr)
        assert "memory of rings stays in it" in stderr, stderr
        end = time.monotonic() + WAIT_S
        while [state(program.pid)[part] for part in rest] != [before[part] for part in rest] or code(program.pid, libraries()) != instructions:
            assert program.process.poll() is None, f"it has ended: {program.process.returncode}"
            assert time.monotonic() < end, f"{before} became {state(program.pid)}"
            time.sleep(0.05)
        program.says_more(1)

        def steps():
            until(lambda: code(program.pid, libraries()) != instructions, "it is not entered again")
            program.says_more(2)
        assert "attached to ggml" in record_while(program.pid, out, steps)
        assert len(set(program.lines())) == 1, "its results have changed"


# maps pages where it is told, says so, and reads them again and again
MAPPER = """#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int c, char **v){char *at = (char *)strtoul(v[1], 0, 0); size_t bytes = strtoul(v[2], 0, 0);
if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != at) return 2;
write(1, "x\\n", 2);
for (;; usleep(1000)) for (size_t i = 0; i < bytes; i += 4096) ((volatile char *)at)[i]++;}
"""


def region_of(pid, former):
    """What a recorder has mapped there: from its page of code to the end of its thread's stack."""
    own = [line.split() for line in proc(pid, "maps").splitlines() if len(line.split()) == 5]
    pages = [int(m[0].split("-")[0], 16) for m in own if m[1] == "r-xp" and m[0] not in former]
    for at in pages:
        for m in own:
            low, end = (int(x, 16) for x in m[0].split("-"))
            if low == at + 3 * 4096:
                return at, end - at
    raise AssertionError(f"no region among {own}")


def keeper_of(recorder):
    return next(int(pid) for pid in proc(recorder.pid, f"task/{recorder.pid}/children").split()
                if "brick-keeper" in proc(int(pid), "comm"))


def lives_with_its_pages(process, at):
    with open(f"/proc/{process.pid}/mem", "rb", buffering=0) as memory:
        for _ in range(2):  # then it has touched all of its pages since
            counted = os.pread(memory.fileno(), 1, at)
            until(lambda c=counted: process.poll() is not None or os.pread(memory.fileno(), 1, at) != c, "it stands still")
    assert process.poll() is None, f"it has ended: {process.returncode}"


def stop_beside(recorder, process):
    """Stops the recorder where it holds no thread of the process, which would get no signal."""
    def holds_none():
        recorder.send_signal(signal.SIGSTOP)
        os.waitpid(recorder.pid, os.WUNTRACED)
        if all("TracerPid:\t0\n" in proc(process.pid, f"task/{task}/status") for task in os.listdir(f"/proc/{process.pid}/task")):
            return True
        recorder.send_signal(signal.SIGCONT)
        return False
    until(holds_none, "the recorder holds its threads")


def another_program(folder):
    """The process begins another program, which maps the same addresses, and the recorder is killed before it sees that:
    the keeper takes nothing away from it."""
    mapper, place = compile_to(folder, "mapper", MAPPER), os.path.join(folder, "place")
    with open(os.path.join(folder, "sleep"), "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\nexec {mapper} $(cat {place}) >{place}.said\n")
    os.chmod(file.name, 0o755)
    environment = {**os.environ, "PATH": folder + ":" + os.environ["PATH"]}
    process = subprocess.Popen([static_program(folder), "1", "100000000", "another"], stdout=subprocess.DEVNULL,
                               env=environment)
    try:
        compute(process.pid)
        former = {line.split()[0] for line in proc(process.pid, "maps").splitlines()}
        recorder = start(process, os.path.join(folder, "exec.pftrace"))
        keeper = keeper_of(recorder)
        at, length = region_of(process.pid, former)
        with open(place, "w", encoding="ascii") as file:
            file.write(f"{at:#x} {length:#x}\n")
        stop_beside(recorder, process)
        process.send_signal(signal.SIGUSR1)
        until(lambda: process.poll() is not None or (os.path.exists(place + ".said") and os.path.getsize(place + ".said")),
              "it has not become another program")
        recorder.kill()
        recorder.wait()
        until(lambda: not os.path.exists(f"/proc/{keeper}") or proc(keeper, "stat").rsplit(")", 1)[1].split()[0] == "Z",
              "the keeper does not end")
        lives_with_its_pages(process, at)
    finally:
        process.kill()
        process.wait()


def keeper_comes_late(folder):
    """A recorder is killed, and another one comes before the keeper has taken its hooks away: it waits for the keeper,
    which would take its hooks for the former's."""
    out = os.path.join(folder, "late.pftrace")
    with Program(folder, llama(100000)) as program:
        before, instructions = state(program.pid), code(program.pid, libraries())
        recorder = start(program, out)
        keeper = keeper_of(recorder)
        os.kill(keeper, signal.SIGSTOP)
        recorder.kill()
        recorder.wait()
        other = subprocess.Popen([BRICK, "record", "-p", str(program.pid), "-o", out, "--no-history"],
                                 stderr=subprocess.PIPE, text=True)

        def looks():
            return any(file_of(other.pid, fd) == f"/proc/{program.pid}/mem" for fd in os.listdir(f"/proc/{other.pid}/fd"))
        try:
            until(lambda: other.poll() is not None or looks(), "no recorder comes")
            os.kill(keeper, signal.SIGCONT)
            until(lambda: other.poll() is not None or is_entered(program.pid), "it is not entered again")
            program.says_more(2)
            other.send_signal(signal.SIGINT)
            _, stderr = other.communicate(timeout=WAIT_S)
        finally:
            other.kill()
        assert other.returncode == 0 and "attached to ggml" in stderr, (other.returncode, stderr)
        assert state(program.pid) == before and code(program.pid, libraries()) == instructions, state(program.pid)
        assert len(set(program.lines())) == 1, "its results have changed"


def signals_meanwhile(folder):
    """A recorder is killed, and signals of the C library end each wait of our thread in the process, which changes its user
    again and again: it waits for the keeper all the same."""
    process = subprocess.Popen([static_program(folder), "1", "100000000"], stdout=subprocess.DEVNULL)
    try:
        compute(process.pid)
        before = state(process.pid)
        recorder = start(process, os.path.join(folder, "signals.pftrace"))
        keeper = keeper_of(recorder)
        until(lambda: is_entered(process.pid), "it is not entered")
        os.kill(keeper, signal.SIGSTOP)
        recorder.kill()
        recorder.wait()
        time.sleep(0.1)
        os.kill(keeper, signal.SIGCONT)
        until(lambda: state(process.pid) == before, "it is not left as it was")
    finally:
        process.kill()
        process.wait()


def top_ends(folder):
    """`brick top PID` ends without waiting for a program that a signal has stopped; that is left when it goes on."""
    with Program(folder, llama(100000)) as program:
        before, instructions = state(program.pid), code(program.pid, libraries())
        top = subprocess.Popen([BRICK, "top", str(program.pid), "--headless", "--interval", "0.2"], stdout=subprocess.DEVNULL)
        try:
            until(lambda: is_entered(program.pid), "it is not entered")
            os.kill(program.pid, signal.SIGSTOP)
            top.send_signal(signal.SIGTERM)
            assert top.wait(timeout=WAIT_S) == 0, top.returncode
        finally:
            os.kill(program.pid, signal.SIGCONT)
            top.kill()
            top.wait()
        until(lambda: state(program.pid) == before and code(program.pid, libraries()) == instructions, "it is not left")
        program.says_more(1)
        assert len(set(program.lines())) == 1, "its results have changed"


def number_of_another(folder):
    """A recorder is killed, the process ends, and another one gets its number before the keeper leaves."""
    mapper = compile_to(folder, "mapper", MAPPER)
    program = Program(folder, llama(100000))
    program.says_more(1)
    former = {line.split()[0] for line in proc(program.pid, "maps").splitlines()}
    recorder = start(program, os.path.join(folder, "another.pftrace"))
    until(lambda: "enter." in proc(program.pid, "maps"), "it has no page")
    at, length = region_of(program.pid, former)
    keeper = keeper_of(recorder)
    os.kill(keeper, signal.SIGSTOP)
    recorder.kill()
    recorder.wait()
    program.process.kill()
    program.process.wait()
    with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as file:
        file.write(str(program.pid - 1))
    other = subprocess.Popen([mapper, hex(at), hex(length)], stdout=subprocess.PIPE, text=True)
    assert other.pid == program.pid, (other.pid, program.pid)
    assert other.stdout.readline() == "x\n", other.wait()
    os.kill(keeper, signal.SIGCONT)
    os.waitpid(keeper, 0)  # we are the first process here, so it is ours now
    lives_with_its_pages(other, at)
    other.kill()
    other.wait()


def main():
    if not os.path.exists(LLAMA):
        libggml.skip("brick-llama is not built")
    with tempfile.TemporaryDirectory() as folder:
        if sys.argv[1:] == ["inside"]:
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)
            number_of_another(folder)
            return
        cut_page(folder)
        keeper_comes_late(folder)
        top_ends(folder)
        signals_meanwhile(folder)
        another_program(folder)
        world = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"]
        if subprocess.run([*world, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            print("numbers of processes cannot be chosen here (unshare): that part is left out")
            return
        subprocess.run([*world, sys.executable, os.path.abspath(__file__), "inside"], timeout=3 * WAIT_S, check=True)


main()
