# SPDX-License-Identifier: Apache-2.0
"""brick top on what runs: a command, a recorded process, a program with libbrick inside; what it
shows while it runs, and when it ends, is killed, forks, closes its session or tells lies."""
import concurrent.futures
import json
import os
import re
import signal
import statistics
import subprocess
import time

from libcli import BRICK, BUILD, TMP, brick, brick_json, environment, expect, expect_true, fail
from libtop import PRODUCER, Tmux, dump

EMBEDDED = os.path.join(BUILD, "bin", "program-top_embedded")
HOSTILE = os.path.join(BUILD, "bin", "program-record_hostile")


def headless(*args, code=0, interval="0.2"):
    """Objects that it printed, one per interval."""
    out, _ = brick("top", "--headless", "--json", "-i", interval, *args, code=code)
    return [json.loads(line) for line in out.decode().splitlines()]


def count_of(top, name):
    return next((b["count"] for b in top.get("bricks", []) if b["name"] == name), 0)


def wait_for(what, ready, seconds=20):
    until = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > until:
            fail(f"waited for {what}")
        time.sleep(0.02)


os.environ["TMPDIR"] = TMP  # others run brick top at the same time


def left_over():
    return {name for name in os.listdir(TMP) if name.startswith("brick-top-")}


def command_headless():
    kept = os.path.join(TMP, "kept.pftrace")
    tops = headless("-o", kept, "--", EMBEDDED, "ms=1500")
    expect_true(f"several objects: {len(tops)}", len(tops) >= 4)
    for top in tops:
        expect("schema", top["schema"], "brick/top/2")
    live = [t for t in tops if t.get("samples_of") == "window"]
    expect_true("live ones", len(live) >= 2)
    counts = [count_of(t, "LmHead") for t in live]
    expect(f"counts grow: {counts}", counts, sorted(counts))
    expect_true(f"they do: {counts}", counts[-1] > counts[0])
    expect_true("a rate now", any((t["now"]["decode_tokens_per_s"] or 0) > 0 for t in live))
    last, report = tops[-1], brick_json("report", "--json", kept)
    expect("the last is the recording", (last["samples_of"], last["over"]), ("recording", True))
    for key in "bricks", "steps", "coverage", "losses", "distortion":
        expect(f"{key} of the last picture", last[key], report[key])
    expect("exact", last["exact"]["decode"]["count"], report["steps"]["decode"]["count"])


def rates_with_sampling():
    """Half of a token's time is sampling: all rates say so, live and of the recording."""
    tops = headless("--", EMBEDDED, "sample=2500", "ms=1500")
    live = [t for t in tops if t.get("samples_of") == "window" and t["now"]["decode_tokens_per_s"]]
    expect_true("live ones", len(live) >= 2)
    now = statistics.median(top["now"]["decode_tokens_per_s"] / top["steps"]["decode"]["tokens_per_s"] for top in live)
    expect_true(f"now: {now} of what the steps in view say", 0.75 < now < 1.33)
    for top in live[1:]:
        decode, rate = top["steps"]["decode"], top["exact"]["decode"]["tokens_per_s"]
        expect_true(f"over the run: {rate}, by its steps {decode['tokens_per_s']}", 0.75 < rate / decode["tokens_per_s"] < 1.33)
    last = tops[-1]["steps"]["decode"]
    sampling = next(row["self_ns"] for row in tops[-1]["bricks"] if row["name"] == "Sampling")
    expect_true("sampling took its part", last["after_ns"] >= 0.98 * sampling and sampling >= 2500000 * last["count"])


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
    headless("--duration", "0.5", "--", EMBEDDED, "ms=60000", code=143)
    expect("temporary directories", left_over(), set())


def on_screen():
    with Tmux(BRICK, "top", "-i", "0.2", "--", EMBEDDED, "say", "ms=60000") as t:
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
        t.wait(r"\blive\n", r"step p50 \S+ p99 \S+;", seconds=60)
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
        r = Recorded(EMBEDDED, *(["ms=1500"] if way == "end" else ["ms=60000"]))
        with Tmux(BRICK, "top", "-i", "0.1", str(r.pid)) as t:
            t.wait("live", "LmHead")
            if way == "kill":
                os.kill(r.pid, signal.SIGKILL)
            screen = t.wait("(?m)ended$" if way == "end" else "(?m)died$",
                            "The process has ended" if way == "end" else "was killed, or crashed")
            expect_true(f"the last picture stays: {screen}", "LmHead" in screen)
            t.keys("6")
            t.wait("The last whole (decode )?step", "GraphCompute|QkvProjection|Layer 0")
            t.keys("q")
            expect("exit code", t.exit_code(), 0)
        r.recorder.wait(30)
    r = Recorded(EMBEDDED, "ms=60000")
    tops = headless("--duration", "1", str(r.pid))
    expect_true("a recorded process", tops[-1]["state"] == "live" and count_of(tops[-1], "LmHead"))
    expect_true("its recorder", count_of(headless("--duration", "0.5", str(r.recorder.pid))[-1],
                                         "LmHead"))
    # its recorder goes: the program does not notice, and neither does the picture
    with Tmux(BRICK, "top", "-i", "0.1", str(r.pid)) as t:
        t.wait("live", "LmHead")
        r.recorder.kill()
        r.recorder.wait(30)
        time.sleep(0.3)
        t.wait("live", "tokens/s now")
    os.kill(r.pid, signal.SIGKILL)


def forks():
    r = Recorded(EMBEDDED, "ms=300", "fork", "ms=1500")
    time.sleep(0.6)
    both = headless("--duration", "0.5", str(r.recorder.pid))[-1]
    expect("processes of the recorder", both["run"]["processes"], 2)
    one = headless("--duration", "0.3", str(r.pid))[-1]
    expect("of the parent alone", one["run"]["processes"], 1)
    r.recorder.wait(30)


def device():
    """Work of a device, while it runs."""
    tops = headless("--", EMBEDDED, "queue", "ms=1200")
    live = [t for t in tops if t["samples_of"] == "window"]
    device_ns = lambda t: sum(b["device_ns"] or 0 for b in t["bricks"])
    expect_true("time of a device", live and device_ns(live[-1]) > 0)
    text = dump("--view", "queues", "-i", "0.8", "--", EMBEDDED, "queue", "ms=60000", code=143)
    expect_true(f"its kernels: {text}", "made_up_gemm" in text and "null: made up" in text)
    text = dump("--view", "tree", "--expand", "-i", "0.8", "--", EMBEDDED, "queue", "ms=60000",
                code=143, size="100x50")
    expect_true(f"kernels below their bricks: {text}", "made_up_gemm" in text)


def embedded():
    out = os.path.join(TMP, "embedded.pftrace")
    program = subprocess.Popen([EMBEDDED, f"output={out}", "say", "ms=60000"],
                               stdout=subprocess.PIPE, env=environment())
    program.stdout.readline()
    tops = headless("--duration", "1", str(program.pid))
    expect_true(f"embedded: {tops[-1]['state']}", tops[-1]["state"] == "live")
    expect_true("counts", count_of(tops[-1], "LmHead") > count_of(tops[0], "LmHead"))
    expect_true("percentiles, from its own consumer",
                any(b["p50_ns"] for b in tops[-1]["bricks"] if b["name"] == "LmHead"))
    program.kill()
    program.wait()
    # statistics only: no ring, so no tree and no shares, but exact counts
    program = subprocess.Popen([EMBEDDED, "memory", "say", "ms=1200", "stop", "ms=60000"],
                               stdout=subprocess.PIPE, env=environment())
    program.stdout.readline()
    tops = headless("--duration", "5", str(program.pid))
    expect_true("statistics only", count_of(tops[-1], "LmHead") > 0)
    expect("it ended its session", (tops[-1]["state"], tops[-1]["over"]),
           ("stopped recording", True))
    program.kill()
    program.wait()


def refusals():
    sleeper = subprocess.Popen(["sleep", "60"])
    _, err = brick("top", "--dump", "80x24", str(sleeper.pid), code=3)
    expect_true(f"not recorded: {err}", b"not being recorded" in err and b"brick record" in err)
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
device()
embedded()
refusals()
hostile()
expect("temporary directories", left_over(), set())
