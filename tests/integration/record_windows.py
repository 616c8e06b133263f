# SPDX-License-Identifier: Apache-2.0
"""brick on, off and mark: a program that `brick record --idle` started records nothing until somebody switches it on, all
steps while it is on, and none after that; marks and windows are in the recording, and the time in which recording was off
counts as no time between steps. What cannot be switched is refused with the reason."""
import json
import os
import signal
import subprocess
import time

import libggml
from libcli import BRICK, BUILD, TMP, brick, brick_json, environment, expect, expect_true, fail
from libserve import Server, need_server

TOKEN = "0123456789abcdef-windows"
EMBEDDED = os.path.join(BUILD, "bin", "program-top_embedded")
PRODUCER = os.path.join(BUILD, "bin", "program-record_producer")


def wait_for(what, ready, seconds=60):
    until = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > until:
            fail(f"waited for {what}")
        time.sleep(0.02)


class Recorder:
    """`brick record` on a program that decodes for ever, ended by a signal."""

    def __init__(self, name, *options, command=(EMBEDDED, "say", "ms=600000")):
        self.path = os.path.join(TMP, name)
        self.process = subprocess.Popen([BRICK, "record", "--no-history", "-o", self.path, *options, "--", *command],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        expect_true("it says something", self.process.stdout.readline())

    @property
    def pid(self):
        return str(self.process.pid)

    def child(self, name="program-top"):
        with open(f"/proc/{self.pid}/task/{self.pid}/children", encoding="ascii") as file:
            for pid in file.read().split():
                with open(f"/proc/{pid}/comm", encoding="ascii") as comm:
                    if comm.read().startswith(name):
                        return pid
        return fail("the program is not there")

    def steps(self):
        """Of the recording as it is now; 0: it has none, or none can be read yet."""
        done = subprocess.run([BRICK, "report", "--json", self.path], capture_output=True, env=environment(), check=False)
        if done.returncode:
            return 0
        return brick_json("report", "--json", self.path)["steps"]["decode"]["count"]

    def end(self):
        self.process.terminate()
        _, said = self.process.communicate(timeout=600)
        return brick_json("report", "--json", self.path), said.decode()


def expect_off(path, report):
    """Where recording was off no step began, but for one that came just as it was switched."""
    switches = [m for m in report["run"]["marks"] if m["kind"] != "mark"]
    ends = [m["ns"] for m in switches[1:]] + [report["run"]["wall_ns"]]
    for mark, end in zip(switches, ends):
        part = subprocess.run([BRICK, "report", "--json", "--since", f"{mark['ns']}ns", "--until", f"{end}ns", path],
                              capture_output=True, env=environment(), check=False)
        expect_true(f"{part.stderr}", part.returncode == 0 or b"has no such step" in part.stderr)
        steps = json.loads(part.stdout)["steps"] if part.returncode == 0 else {}
        count = sum(steps[phase]["count"] for phase in ("prefill", "decode") if phase in steps)
        expect_true(f"{count} steps while it is {mark['kind']}", count <= 1 if mark["kind"] == "off" else count > 1)


def windows():
    r = Recorder("windows.pftrace", "--idle", "--interval", "100")
    time.sleep(0.3)
    expect("steps before it is on", r.steps(), 0)
    expect("on", brick("on", r.pid)[1].decode(), "brick: recording is on\n")
    expect("on again", brick("on", r.pid)[1].decode(), "brick: recording is on already\n")
    wait_for("steps", lambda: r.steps() > 20)
    brick("mark", r.child(), "deployed \u00e4 v2")  # a recorded process stands for its recorder
    expect("off", brick("off", r.child())[1].decode(), "brick: recording is off\n")
    time.sleep(0.5)
    brick("off", r.pid)  # it is off: nothing changes
    brick("on", r.pid)
    before = r.steps()
    wait_for("more steps", lambda: r.steps() > before + 100)
    report, _ = r.end()
    expect_off(r.path, report)
    marks = report["run"]["marks"]
    expect("kinds", [m["kind"] for m in marks], ["off", "on", "mark", "off", "on"])
    expect("texts", [m["text"] for m in marks if m["kind"] == "mark"], ["deployed \u00e4 v2"])
    expect("it began idle", marks[0]["ns"], 0)
    times = [m["ns"] for m in marks]
    expect("in order", times, sorted(times))
    expect("records lost", report["losses"]["dropped"], 0)
    # 0.5 s and more were off between two steps: that is no time of the program's
    decode = report["steps"]["decode"]
    off_ns = times[4] - times[3]
    between_ns = decode["tokens"] / decode["wall_tokens_per_s"] * 1e9 - decode["tokens"] / decode["tokens_per_s"] * 1e9
    expect_true(f"{between_ns} between steps, off for {off_ns}", between_ns < off_ns)
    expect("start-up is not known", report["run"]["start_up_ns"], None)
    text = brick("report", r.path)[0].decode()
    expect_true("windows in the text", "in 2 windows" in text and "deployed \u00e4 v2" in text)


def llama():
    """The real engine, whose hooks are skipped while recording is off: the same tokens, and all of its nodes while it is on."""
    # large enough that a recorder which gets no CPU for seconds loses none of its nodes
    model = os.path.join(TMP, "small.gguf")
    subprocess.run([os.path.join(BUILD, "bin", "brick-model"), "--type", "f32", "--embd", "256", "--heads", "4", "--kv-heads",
                    "2", "--ff", "704", "--vocab", "512", "--layers", "8", model], check=True, stdout=subprocess.DEVNULL)
    command = [os.path.join(BUILD, "bin", "brick-llama"), "--libs", libggml.libraries(), "--model", model,
               "--prompt-tokens", "8", "--predict", "60", "--repeat"]
    alone = subprocess.run([*command, "1"], check=True, capture_output=True, text=True).stdout
    r = Recorder("llama.pftrace", "--idle", "--interval", "100", command=["stdbuf", "-oL", *command, "1000000"])
    for count in 20, 400:
        brick("on", r.pid)
        wait_for("steps", lambda least=count: r.steps() > least)
        brick("off", r.pid)
    time.sleep(0.5)
    os.kill(int(r.child("brick-llama")), signal.SIGTERM)
    out, _ = r.process.communicate(timeout=600)
    lines = out.decode().splitlines()[:-1]
    expect_true(f"{len(lines)} repetitions", lines)
    expect("other tokens", set(lines) - set(alone.splitlines()), set())
    report = brick_json("report", "--json", r.path)
    expect_off(r.path, report)
    expect_true(f"coverage {report['coverage']['share']}", report["coverage"]["share"] > 0.9)
    graphs = [note["value"] for note in report["run"]["notes"] if note["key"] == "graph"]
    expect_true(f"nodes: {graphs}", graphs and all("0 were missed" in graph for graph in graphs))
    counts = {row["name"]: row["count"] for row in report["bricks"]}
    steps = sum(report["steps"][phase]["count"] for phase in ("prefill", "decode"))
    expect("a node for each layer and step", counts["DownProjection"], 8 * steps)


def never_on():
    r = Recorder("never.pftrace", "--idle")
    report, _ = r.end()
    expect("steps", report["steps"]["decode"]["count"] if report.get("steps") else 0, 0)
    expect("lost records", report["losses"]["refused"], 0)


def no_step():
    """A program that begins no step has not followed, and `brick on` says so."""
    path = os.path.join(TMP, "no_step.pftrace")
    with subprocess.Popen([BRICK, "record", "--no-history", "--idle", "-o", path, "--", "sh", "-c", "echo here; read x"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        process.stdout.readline()
        said = brick("on", str(process.pid))[1].decode()
        expect_true(f"no step: {said}", "no step has begun yet" in said)
        process.communicate(b"\n", timeout=600)


def over_http():
    """POST on a server with a token; whoever may only read switches nothing."""
    r = Recorder("http.pftrace", "--idle", "--interval", "100")
    wait_for("the file", lambda: os.path.exists(r.path + ".part"))
    need_server(r.path)
    server, open_one = Server(r.path, "--token", TOKEN), Server(r.path)
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    expect("no token", server.get("/on", method="POST")[0], 401)
    expect("wrong token", server.get("/on", method="POST", Authorization="Bearer " + TOKEN[::-1])[0], 401)
    expect("a server without a token", open_one.get("/on", method="POST")[0], 403)
    expect("by GET", server.get("/on", **bearer)[0], 404)
    expect("no text", server.get("/mark", method="POST", **bearer)[0], 400)
    expect("steps", r.steps(), 0)
    expect("on", server.get("/on", method="POST", **bearer)[0], 200)
    wait_for("steps", lambda: r.steps() > 10)
    expect("mark", server.get("/mark?text=new%20client", method="POST", **bearer)[0], 200)
    expect("off", server.get("/off", method="POST", **bearer)[0], 200)
    report, _ = r.end()
    expect("marks", [(m["kind"], m["text"]) for m in report["run"]["marks"]],
           [("off", ""), ("on", ""), ("mark", "new client"), ("off", "")])
    wait_for("the end", lambda: server.get("/on", method="POST", **bearer)[0] == 409)


def refused():
    expect_true("no such process", "no such process" in brick("on", "999999999", code=3)[1].decode())
    expect_true("not recorded", "does not record this process" in brick("on", str(os.getpid()), code=3)[1].decode())
    expect_true("no number", "must be the number" in brick("off", "x", code=2)[1].decode())
    expect_true("too long", "1 to 255 bytes" in brick("mark", "1", "x" * 256, code=2)[1].decode())
    expect_true("--sample", "cannot begin later" in brick("record", "--idle", "--sample", "--", "true", code=2)[1].decode())
    r = Recorder("killed.pftrace", "--idle")
    child = r.child()
    r.process.kill()
    r.process.wait()
    wait_for("the end of the recorder's directory",
             lambda: "its recorder is gone" in subprocess.run([BRICK, "on", child], capture_output=True, text=True,
                                                              env=environment(), check=False).stderr)
    os.kill(int(child), 9)


if __name__ == "__main__":
    windows()
    never_on()
    no_step()
    refused()
    over_http()
    llama()
