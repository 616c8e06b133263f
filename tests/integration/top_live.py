# SPDX-License-Identifier: Apache-2.0
"""brick top on what runs: a command, a recorded process, a program with libbrick inside; what it
shows while it runs, and when it ends, is killed, forks, closes its session or tells lies."""
import concurrent.futures
import fcntl
import json
import os
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from pathlib import Path

from libcli import BRICK, BUILD, TMP, brick, brick_json, environment, expect, expect_true, fail
from libtop import PRODUCER, Tmux, dump

EMBEDDED = os.path.join(BUILD, "bin", "program-top_embedded")
HOSTILE = os.path.join(BUILD, "bin", "program-record_hostile")
END = os.path.join(TMP, "end")
UNTIL = "until=" + END


def headless(*args, code=0, interval="0.2"):
    """Objects that it printed, one per interval."""
    out, _ = brick("top", "--headless", "--json", "-i", interval, *args, code=code)
    return [json.loads(line) for line in out.decode().splitlines()]


def headless_until(what, ready, *args, interval="0.2"):
    """
    It is ready by its objects so far; then a command that decodes until a file is there ends, or top is ended, and with it
    any other command that it began. Returns all objects.
    """
    top = subprocess.Popen([BRICK, "top", "--headless", "--json", "-i", interval, *args], stdout=subprocess.PIPE, env=environment())
    tops = []
    too_late = threading.Timer(120, top.terminate)
    too_late.start()
    try:
        while not (tops and ready(tops)):
            line = top.stdout.readline()
            expect_true(f"waited for {what}: {tops[-1:]}", line)
            tops.append(json.loads(line))
        ends = UNTIL in args
        if ends:
            Path(END).touch()
        else:
            top.terminate()
        tops += map(json.loads, top.stdout)
        expect(f"exit code after {what}", top.wait(), 143 if "--" in args and not ends else 0)
    finally:
        too_late.cancel()
        top.terminate()
        try:
            top.wait(timeout=600)
        finally:
            top.kill()
    Path(END).unlink(missing_ok=True)
    return tops


def count_of(top, name):
    return next((b["count"] for b in top.get("bricks", []) if b["name"] == name), 0)


def wait_for(what, ready, seconds=100):
    until = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > until:
            fail(f"waited for {what}")
        time.sleep(0.02)


os.environ["TMPDIR"] = TMP  # others run brick top at the same time


def left_over():
    return {name for name in os.listdir(TMP) if name.startswith("brick-top-")}


def live_of(tops):
    return [top for top in tops if top.get("samples_of") == "window"]


def command_headless():
    def grown(tops):
        counts = [count_of(top, "LmHead") for top in live_of(tops)]
        return len(tops) >= 4 and len(counts) >= 2 and counts[-1] > counts[0]
    kept = os.path.join(TMP, "kept.pftrace")
    tops = headless_until("counts that grow", grown, "-o", kept, "--", EMBEDDED, UNTIL)
    for top in tops:
        expect("schema", top["schema"], "brick/top/2")
    counts = [count_of(top, "LmHead") for top in live_of(tops)]
    expect(f"counts grow: {counts}", counts, sorted(counts))
    expect_true("a rate now", any((top["now"]["decode_tokens_per_s"] or 0) > 0 for top in live_of(tops)))
    last, report = tops[-1], brick_json("report", "--json", kept)
    expect("the last is the recording", (last["samples_of"], last["over"]), ("recording", True))
    for key in "bricks", "steps", "coverage", "losses", "distortion":
        expect(f"{key} of the last picture", last[key], report[key])
    expect("exact", last["exact"]["decode"]["count"], report["steps"]["decode"]["count"])


def rates_with_sampling():
    """Half of a token's time is sampling: all rates say so, live and of the recording."""
    def has_rates(top):
        return top["now"]["decode_tokens_per_s"] and top["steps"]["decode"]["tokens_per_s"]

    def rate(tokens, spans_ns, decode):
        return tokens * 1e9 / spans_ns * (1 - decode["after_ns"] / decode["total_ns"])

    def is_near(a, b):
        return 0.99 < a / b < 1.01
    tops = headless_until("rates", lambda tops: sum(map(bool, map(has_rates, live_of(tops)))) >= 4, "--", EMBEDDED,
                          "sample=2500", UNTIL)
    live = live_of(tops)
    for i, top in enumerate(live):
        if not top["steps"]["decode"]["count"]:
            continue
        decode, exact, now = top["steps"]["decode"], top["exact"]["decode"], top["now"]["decode_tokens_per_s"]
        expect_true(f"sampling took its part: {decode}", decode["after_ns"] >= 2500000 * (decode["count"] - 1))
        expect_true(f"in view: {decode}", is_near(decode["tokens_per_s"], decode["tokens"] * 1e9 / decode["total_ns"]))
        expect_true(f"over the run: {exact} with {decode}",
                    is_near(exact["tokens_per_s"], rate(exact["tokens"], exact["spans_ns"], decode)))
        since = [rate(exact["tokens"] - one["tokens"], exact["spans_ns"] - one["spans_ns"], decode)
                 for one in (before["exact"]["decode"] for before in live[:i]) if exact["spans_ns"] > one["spans_ns"]]
        expect_true(f"now: {now}, since earlier pictures {since}", not now or not since or any(is_near(now, one) for one in since))
    last = tops[-1]["steps"]["decode"]
    sampling = next(row["self_ns"] for row in tops[-1]["bricks"] if row["name"] == "Sampling")
    expect_true("sampling took its part", last["after_ns"] >= 0.98 * sampling and sampling >= 2500000 * (last["count"] - 1))


def exit_codes():
    headless("--", PRODUCER, "samples=10", "exit=7", code=7)
    headless("--", PRODUCER, "signal=9", code=137)
    headless("--", "/no/such/program", code=127)
    brick("top", "--dump", "80x24", "--", PRODUCER, "steps=100", "exit=3", code=3)
    budget = os.path.join(TMP, "budget")
    for limit, code in (1000000, 0), (1, 1):
        with open(budget, "w") as file:
            file.write(f"brick-budget 1\ndecode total {limit}\n")
        top = headless("--budget", budget, "--", EMBEDDED, "ms=300", code=code)[-1]
        expect("budget in JSON", top["budget"]["passed"], code == 0)
    started = os.path.join(TMP, "started")
    for form in (["--headless", "--json"], ["--dump", "80x24"]):
        brick("top", *form, "--budget", "nowhere", "--", "touch", started, code=3)
        expect("a bad budget starts nothing", os.path.exists(started), False)
    headless("--duration", "0.5", "--", EMBEDDED, "ms=600000", code=143)
    expect("temporary directories", left_over(), set())


def on_screen():
    with Tmux(BRICK, "top", "-i", "0.2", "--", EMBEDDED, "say", "ms=600000") as t:
        tabs = next(line for line in t.wait("live", "LmHead", "tokens/s now").splitlines() if "Bricks" in line)
        expect("a blank between each two tabs", len(re.findall(r"(?:^| )\d\[?[A-Z][a-z]+\]?(?= |$)", tabs)), len(re.findall(r"\d", tabs)))
        t.keys("r")
        t.wait("Counting from now on")
        t.keys("4")
        t.wait("THREAD +WORKED", "program-top")
        t.keys("6")
        t.wait("The last whole (decode )?step: 1 token", "QkvProjection|Layer 0")
        t.keys("0")
        t.wait("it is there")
        t.keys("q")
        t.wait("End it")
        t.keys("n", "1")
        t.wait("live", "BRICK .*SHARE")
        t.keys("Space")
        held = t.wait("held; live").splitlines()[6:-1]
        time.sleep(0.6)
        expect("held", t.screen().splitlines()[6:-1], held)
        t.keys("q")
        t.wait("End it")
        t.keys("y")
        expect("its code", t.exit_code(), 143)
    with Tmux(BRICK, "top", "-i", "0.1", "--", EMBEDDED, "ms=700") as t:
        t.wait("ended, exit code 0", "LmHead", "tokens/s; step mean")
        t.keys("q")
        expect("its code", t.exit_code(), 0)


def steps_of_an_engine():
    """The p99 of steps is of all of them: the last moments do not hold a hundred."""
    demo = os.path.join(BUILD, "demo")
    model = os.path.join(demo, "model-q8_0.gguf")
    if not os.path.exists(model):
        return
    with Tmux(BRICK, "top", "-i", "0.2", "--", os.path.join(BUILD, "bin", "brick-llama"), "--libs",
              os.path.join(demo, "engine", "libs"), "--model", model, "--prompt-tokens", "8",
              "--repeat", "10000") as t:
        t.wait(r"\blive\n", r"step p50 \S+ p99 \S+;")
        t.keys("q")
        t.wait("End it")
        t.keys("y")
        expect("its code", t.exit_code(), 143)


class Recorded:
    """A program under `brick record`."""

    def __init__(self, *command):
        self.out = os.path.join(TMP, "recorded.pftrace")
        self.recorder = subprocess.Popen([BRICK, "record", "-q", "-o", self.out, "--", *command],
                                         env=environment())
        wait_for("the program", lambda: self.children())
        self.pid = self.children()[0]
        wait_for("its session", self.session)

    def session(self):
        """It is mapped, and no descriptor of it stays open."""
        with open(f"/proc/{self.pid}/maps") as file:
            return ".session" in file.read()

    def children(self):
        with open(f"/proc/{self.recorder.pid}/task/{self.recorder.pid}/children") as file:
            return [int(word) for word in file.read().split()]


def recorded_process():
    for way in "end", "kill":
        r = Recorded(EMBEDDED, UNTIL if way == "end" else "ms=600000")
        with Tmux(BRICK, "top", "-i", "0.1", str(r.pid)) as t:
            t.wait("live", "LmHead")
            if way == "kill":
                os.kill(r.pid, signal.SIGKILL)
            else:
                Path(END).touch()
            screen = t.wait("(?m)ended$" if way == "end" else "(?m)died$",
                            "The process has ended" if way == "end" else "was killed, or crashed")
            expect_true(f"the last picture stays: {screen}", "LmHead" in screen)
            t.keys("6")
            t.wait("The last whole (decode )?step", "GraphCompute|QkvProjection|Layer 0")
            t.keys("q")
            expect("exit code", t.exit_code(), 0)
        r.recorder.wait(100)
    r = Recorded(EMBEDDED, "ms=600000")
    for what, pid in ("a recorded process", r.pid), ("its recorder", r.recorder.pid):
        headless_until(what, lambda tops: tops[-1]["state"] == "live" and count_of(tops[-1], "LmHead"), str(pid))
    # its recorder goes: the program does not notice, and neither does the picture
    with Tmux(BRICK, "top", "-i", "0.1", str(r.pid)) as t:
        t.wait("live", "LmHead")
        r.recorder.kill()
        r.recorder.wait(100)
        time.sleep(0.3)
        t.wait("live", "tokens/s now")
    os.kill(r.pid, signal.SIGKILL)


def waiting_bytes(pipe):
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def processes(top):
    """0: it has no picture yet."""
    return top.get("run", {}).get("processes", 0)


def forks():
    r = Recorded(EMBEDDED, "ms=300", "fork", "ms=600000")
    for whose, pid in ("recorder", r.recorder.pid), ("parent", r.pid):
        headless_until(f"both processes of the {whose}", lambda tops: processes(tops[-1]) == 2, str(pid))
    expect_true("both are told", "2 processes, 2 threads" in dump("-i", "1", str(r.pid)))
    with open(f"/proc/{r.pid}/task/{r.pid}/children") as file:
        pids = [r.pid, *map(int, file.read().split())]
    expect("processes", len(pids), 2)
    tops = headless_until("the child alone", lambda tops: processes(tops[-1]), str(pids[1]))
    expect("of the child alone", {processes(top) for top in tops} - {0}, {1})
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    r.recorder.wait(100)


def slow_reader():
    """Top is ended while nobody reads what it prints: its last object is whole, too."""
    top = subprocess.Popen([BRICK, "top", "--headless", "--json", "-i", "0.05", "--", EMBEDDED, "ms=600000"], pipesize=4096,
                           stdout=subprocess.PIPE, env=environment())
    before = 0
    while not before or waiting_bytes(top.stdout) != before:  # there is room for more
        before = waiting_bytes(top.stdout)
        time.sleep(0.5)
    top.terminate()
    said, _ = top.communicate(timeout=600)
    expect_true("whole objects", [json.loads(line) for line in said.splitlines()][-1]["state"])
    expect("exit code", top.returncode, 143)


def dump_of_queue(*options, **more):
    """Of a longer time, where the program got no CPU in a shorter one."""
    for interval in "0.8", "8", "80":
        text = dump(*options, "-i", interval, "--", EMBEDDED, "queue", "ms=600000", code=143, **more)
        if "made_up_gemm" in text:
            break
    return text


def device():
    """Work of a device, while it runs."""
    headless_until("time of a device",
                   lambda tops: tops[-1].get("samples_of") == "window" and sum(b["device_ns"] or 0 for b in tops[-1]["bricks"]),
                   "--", EMBEDDED, "queue", "ms=600000")
    text = dump_of_queue("--view", "queues")
    expect_true(f"its kernels: {text}", "made_up_gemm" in text and "null: made up" in text)
    text = dump_of_queue("--view", "tree", "--expand", size="100x50")
    expect_true(f"kernels below their bricks: {text}", "made_up_gemm" in text)


def embedded():
    out = os.path.join(TMP, "embedded.pftrace")
    program = subprocess.Popen([EMBEDDED, f"output={out}", "say", "ms=600000"],
                               stdout=subprocess.PIPE, env=environment())
    program.stdout.readline()
    headless_until("counts that grow, percentiles from its own consumer",
                   lambda tops: tops[-1]["state"] == "live" and count_of(tops[-1], "LmHead") > count_of(tops[0], "LmHead")
                   and any(b["p50_ns"] for b in tops[-1]["bricks"] if b["name"] == "LmHead"), str(program.pid))
    program.kill()
    program.wait()
    # statistics only: no ring, so no tree and no shares, but exact counts
    program = subprocess.Popen([EMBEDDED, "memory", "say", "ms=300", "hold", "stop", "ms=600000"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())
    program.stdout.readline()
    top = subprocess.Popen([BRICK, "top", "--headless", "--json", "-i", "0.2", str(program.pid)], stdout=subprocess.PIPE,
                           env=environment())
    tops = []
    for line in top.stdout:
        tops.append(json.loads(line))
        if count_of(tops[-1], "LmHead") and not program.stdin.closed:
            program.stdin.close()
    expect("it ended its session", (top.wait(), tops[-1]["state"], tops[-1]["over"]), (0, "stopped recording", True))
    expect_true("statistics only", count_of(tops[-1], "LmHead") > 0)
    program.kill()
    program.wait()


def refusals():
    sleeper = subprocess.Popen(["sleep", "3600"])
    _, err = brick("top", "--dump", "80x24", str(sleeper.pid), code=3)
    expect_true(f"cannot be entered: {err}", b"it has no ggml" in err and b"brick doctor" in err)
    sleeper.kill()
    sleeper.wait()
    _, err = brick("top", "--dump", "80x24", "999999999", code=3)
    expect_true(f"no process: {err}", b"no such process" in err)
    dump("--view", "losses", "--", PRODUCER, "samples=100", "truncate", "sleep=300", "exit=0")


def hostile():
    lies = ("empty short magic version header-bytes lane-bytes state clock notes-offset "
            "site-offset drained-offset brick-offset-odd brick-count site-count lane-count "
            "lanes-of-nothing lane-offset lane-offset-odd lane-on-header lane-too-long "
            "ring-offset ring-on-lane histogram-offset capacity capacity-huge head head-huge "
            "directory link fifo none head-back head-jump bricks-vanish lanes-vanish cut "
            "cut-ring").split()
    lies += [f"random={seed}" for seed in range(40)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:  # each waits two seconds for a better session
        pictures = pool.map(lambda lie: headless("--", HOSTILE, lie, interval="0.05"), lies)
        for lie, tops in zip(lies, pictures):
            expect_true(f"{lie}: it ends", tops and tops[-1]["over"])


command_headless()
rates_with_sampling()
exit_codes()
on_screen()
steps_of_an_engine()
recorded_process()
forks()
slow_reader()
device()
embedded()
refusals()
hostile()
expect("temporary directories", left_over(), set())
