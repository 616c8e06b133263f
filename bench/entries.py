#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Enters and leaves programs that run (`brick record -p`), again and again: llama.cpp shared and static, llama-server, a
server and a training of PyTorch. Each answer and line must be the one that the program says without us; descriptors,
threads, signal masks, code and mappings must be as before; the last recording must have as many bricks per step, and tokens,
as one by `record --`. Prints a row of each program: what it grew by, and how long entering and leaving took.

usage: entries.py [TIMES [PROGRAM...]]     TIMES (40) of each program: shared, static, llama-server, serve, train"""
import http.client
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.environ.setdefault("BRICK_BUILD", os.path.join(ROOT, "build"))
os.environ.setdefault("BRICK_SOURCE", ROOT)
sys.path.insert(0, os.path.join(ROOT, "tests", "integration"))
from libggml import demo  # noqa: E402  pylint: disable=wrong-import-position
from librecord import python_with_torch  # noqa: E402  pylint: disable=wrong-import-position
from librunning import (BRICK, WAIT_S, is_entered, llama, proc, report, state, static_program,  # noqa: E402  pylint: disable=wrong-import-position
                        until)

RUNNING = os.path.join(ROOT, "tests", "programs", "torch_running.py")
SERVER = os.path.join(ROOT, "build", "demo", "engine-programs", "llama", "bin", "llama-server")
PORT = 18431
SETTLED = 20  # entries after which memory may not grow any more


class Line:
    """A program that says a line now and then."""
    def __init__(self, folder, command):
        self.path = os.path.join(folder, "said")
        with open(self.path, "wb") as stdout:
            self.process = subprocess.Popen(command, stdout=stdout, stderr=subprocess.DEVNULL)

    def ready(self):
        until(lambda: self.count() >= 2, "it says nothing")

    def count(self):
        assert self.process.poll() is None, f"it has ended: {self.process.returncode}"
        with open(self.path, "rb") as file:
            return file.read().count(b"\n")

    def said(self):
        with open(self.path, encoding="utf-8") as file:
            return set(file.read().split("\n")[:-1])

    def pause(self):
        pass

    def go_on(self):
        pass

    def end(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Server(Line):
    """A server, and clients that ask it the same all the time."""
    def __init__(self, folder, command, port, ask, clients=2):
        super().__init__(folder, command)
        self.port, self.ask, self.answers, self.told = port, ask, [], set()
        self.going, self.ending, self.idle = threading.Event(), False, threading.Semaphore(0)
        self.threads = [threading.Thread(target=self.client, daemon=True) for _ in range(clients)]

    def ready(self):
        if not self.port:
            until(lambda: super(Server, self).count() >= 1, "it says no port")
            with open(self.path, encoding="ascii") as file:
                self.port = int(file.readline())
        until(self.has_answer, "it does not answer")
        for thread in self.threads:
            thread.start()
        self.go_on()
        until(lambda: self.count() >= 4, "it does not answer")

    def has_answer(self):
        assert self.process.poll() is None, f"it has ended: {self.process.returncode}"
        try:
            return bool(self.ask(self.port))
        except (OSError, http.client.HTTPException, ValueError):
            return False

    def client(self):
        while not self.ending:
            self.going.wait()
            while self.going.is_set():
                try:
                    answer = self.ask(self.port)
                except (OSError, http.client.HTTPException, ValueError) as error:
                    answer = f"no answer: {error!r}"
                if not self.ending:
                    self.told.add(answer)
                    self.answers.append(1)
            self.idle.release()

    def count(self):
        assert self.process.poll() is None, f"it has ended: {self.process.returncode}"
        return len(self.answers)

    def said(self):
        return self.told

    def pause(self):
        self.going.clear()
        for _ in self.threads:
            self.idle.acquire()

    def go_on(self):
        self.going.set()

    def end(self):
        self.ending = True
        super().end()


def ask_llama(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    connection.request("POST", "/completion", json.dumps({"prompt": "the quick brown fox", "n_predict": 24, "temperature": 0,
                                                          "seed": 1, "cache_prompt": False}))
    answer = connection.getresponse()
    text = json.loads(answer.read())
    connection.close()
    return text["content"] if answer.status == 200 else ""


def ask_torch(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    connection.request("GET", "/")
    text = connection.getresponse().read().decode()
    connection.close()
    return text


def programs(folder):
    """Name: how to start it, the command's beginning being given, and the phase whose steps are compared."""
    yield "shared", lambda *before: Line(folder, [*before, *llama(100000)]), "decode"
    yield "static", lambda *before: Line(folder, [*before, static_program(folder), "1", "200", "", ""]), None
    if os.path.exists(SERVER):
        yield "llama-server", lambda *before: Server(folder, [
            *before, SERVER, "-m", demo("model-q8_0.gguf"), "-c", "512", "-np", "1", "-t", "1", "--no-webui", "--port", str(PORT)],
            PORT, ask_llama), "decode"
    python = python_with_torch()
    yield "serve", lambda *before: Server(folder, [*before, python, RUNNING, "serve"], 0, ask_torch), "decode"
    yield "train", lambda *before: Line(folder, [*before, python, RUNNING, "train"]), "other"


def memory(pid):
    return int(re.search(r"VmRSS:\s*(\d+)", proc(pid, "status")).group(1))


def mappings(pid):
    return len(proc(pid, "maps").splitlines())


def at_rest(pid):
    """Its state when nobody asks it: a server may still close what its last client had opened."""
    seen = [state(pid)]
    until(lambda: seen.append(state(pid)) or len(seen) > 10 and all(one == seen[-1] for one in seen[-10:]), "it does not rest")
    return seen[-1]


def per_step(out, phase):
    rows = json.loads(report(out, "--json"))
    steps = rows["steps"][phase]["count"]
    part = rows["by_phase"][phase] if "by_phase" in rows else rows
    counts = {row["name"]: row["count"] / steps for row in part["bricks"]}
    return {"tokens": rows["steps"][phase].get("tokens", 0) / steps, **counts}


def as_from_the_start(folder, start, out, phase):
    """The largest difference, in per cent, of what each step has, from a recording by `record --`."""
    whole = os.path.join(folder, "whole.pftrace")
    program = start(BRICK, "record", "-q", "--no-history", "-o", whole, "--")
    program.ready()
    wanted = program.count() + 4
    until(lambda: program.count() >= wanted, "it stands still")
    child = int(next(pid for pid in proc(program.process.pid, f"task/{program.process.pid}/children").split()
                     if "keeper" not in proc(int(pid), "comm")))
    program.ending = True
    os.kill(child, signal.SIGKILL)
    program.process.wait(WAIT_S)
    ours, theirs = per_step(out, phase), per_step(whole, phase)
    return max((abs(ours.get(name, 0) - count) / count * 100, name) for name, count in theirs.items() if count >= 0.9)


def enter(program, out):
    """Returns the seconds until it is recorded, and from SIGINT to the recorder's end."""
    begin = time.monotonic()
    recorder = subprocess.Popen([BRICK, "record", "-p", str(program.process.pid), "-o", out, "--no-history"],
                                stderr=subprocess.PIPE, text=True)
    try:
        until(lambda: is_entered(program.process.pid) or recorder.poll() is not None, "it is not entered")
        entered, wanted = time.monotonic(), program.count() + 8
        until(lambda: program.count() >= wanted, "it stands still")
        stop = time.monotonic()
        recorder.send_signal(signal.SIGINT)
        _, said = recorder.communicate(timeout=WAIT_S)
        assert recorder.returncode == 0 and "attached to" in said and "stay" not in said, (recorder.returncode, said)
        return entered - begin, time.monotonic() - stop
    finally:
        recorder.kill()


def enter_often(folder, name, start, phase, times):
    out = os.path.join(folder, name + ".pftrace")
    program = start()
    try:
        program.ready()
        pid = program.process.pid
        program.pause()
        before, settled = at_rest(pid), None
        program.go_on()
        took = []
        for i in range(times):
            took.append(enter(program, out))
            program.pause()
            until(lambda: state(pid) == before, f"entry {i} of {name} has left something")
            if i + 1 == min(SETTLED, times):
                settled = memory(pid), mappings(pid)
            now = memory(pid), mappings(pid)
            program.go_on()
        wanted = program.count() + 2
        until(lambda: program.count() >= wanted, "it stands still")
        assert len(program.said()) == 1, f"{name}: its results have changed: {program.said()}"
        answers = program.count()
    finally:
        program.end()
    entering, leaving = (sorted(seconds) for seconds in zip(*took))
    difference = as_from_the_start(folder, start, out, phase) if phase else None
    print(f"| {name} | {times} | {answers} | {now[0] - settled[0]:+d} kB | {now[1] - settled[1]:+d} | "
          f"{statistics.median(entering) * 1000:.0f} ({entering[-1] * 1000:.0f}) | "
          f"{statistics.median(leaving) * 1000:.0f} ({leaving[-1] * 1000:.0f}) | "
          + (f"{difference[0]:.2f} % ({difference[1]})" if difference else "-") + " |", flush=True)


def main():
    times, wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 40, sys.argv[2:]
    print("| program | entries | answers | memory | mappings | entering, ms | leaving, ms | from `record --` |\n|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, start, phase in programs(folder):
            if not wanted or name in wanted:
                enter_often(folder, name, start, phase, times)


if __name__ == "__main__":
    main()
