# SPDX-License-Identifier: Apache-2.0
"""ggml's RPC server evaluates graphs that its clients send, without llama_decode(). Each is a step, and the tokens of
all of them are those that the clients asked the engine for: prompts and outputs, of one sequence and of several in
a batch, of clients one after the other, on a server that has the first or the last layers only, and where a client
computes attention itself, so that a batch takes many graphs. Where servers and clients are in one recording, each graph
that a client sends is matched with its computing, which lies within the time that the client has for it; and so it is
where they have recordings of their own, also if a server's clock is 50 ms ahead (a time namespace, where one may have it)."""
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

import libggml as g
from libports import free_port

BRICK = os.path.join(g.BUILD, "bin", "brick")
PHASES = "prefill", "decode", "mixed"


class Server:
    """path: of its recording; None: somebody else records it. before: what runs its recorder."""

    def __init__(self, program, libs, path, *before):
        self.endpoint = f"127.0.0.1:{free_port()}"
        self.path = path
        recorder = [*before, BRICK, "record", "-q", "-o", path, "--"] if path else []
        self.process = subprocess.Popen([*recorder, program, libs, self.endpoint], stdin=subprocess.PIPE,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        host, port = self.endpoint.split(":")
        while self.process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection((host, int(port))):
                break
            time.sleep(0.05)

    def stop(self):
        self.process.stdin.close()
        assert self.process.wait() == 0, self.process

    def report(self):
        self.stop()
        return json.loads(subprocess.run([BRICK, "report", "--json", self.path], check=True, capture_output=True).stdout)


class Case:
    def __init__(self, directory):
        self.libs = os.path.realpath(os.path.dirname(g.demo("engine-rpc", "libggml-rpc.so")))
        self.model = g.demo("model-f16.gguf")
        self.client = g.build_with_llama(directory, self.libs, "llama_batches")
        self.server = g.build_with_llama(directory, self.libs, "rpc_server")
        self.directory = directory

    def run(self, servers, *modes, **environment):
        """What clients count, and what servers' recordings say."""
        started = [Server(self.server, self.libs, os.path.join(self.directory, f"{i}.pftrace")) for i in range(servers)]
        counted = []
        for mode in modes:
            command = [self.client, self.libs, self.model, mode]
            there = g.run([*command, *(s.endpoint for s in started)], **environment)
            here = g.run(command)
            assert there.returncode == here.returncode == 0, (there, here)
            assert there.stdout == here.stdout, (there.stdout, here.stdout)
            counted.append(json.loads(there.stdout))
        return counted, [s.report() for s in started]


def both_ends(client, server, libs, model, servers, *modes):
    """What one recorder sees: servers, and clients one after the other."""
    started = [Server(server, libs, None) for _ in range(int(servers))]
    for mode in modes:
        subprocess.run([client, libs, model, mode, *(s.endpoint for s in started)], check=True, stdout=subprocess.DEVNULL)
    for s in started:
        s.stop()


def check_both_ends(case, servers, *modes, **environment):
    path = os.path.join(case.directory, "both.pftrace")
    done = g.run([BRICK, "record", "-o", path, "--", sys.executable, __file__, case.client, case.server, case.libs,
                  case.model, str(servers), *modes], **environment)
    assert done.returncode == 0, done
    report = json.loads(subprocess.run([BRICK, "report", "--json", path], check=True, capture_output=True).stdout)
    sent = sum(row["count"] for row in report["bricks"] if row["name"].startswith("Graph RPC"))
    remote = report["remote"]
    assert sent and [remote[key] for key in ("count", "sent_alone", "received_alone")] == [sent, 0, 0], (sent, remote)
    assert report["losses"]["dropped"] == 0 and report["messages"] is None, report
    assert 0 < remote["compute_ns"] < remote["whole_ns"] and remote["waited_ns"] <= remote["whole_ns"], remote
    assert remote["wire_ns"] == remote["whole_ns"] - remote["compute_ns"], remote
    text = subprocess.run([BRICK, "report", path], check=True, capture_output=True, text=True).stdout
    assert f"\nRemote       {sent} graphs in " in text, text


AHEAD_NS = 50_000_000
# A process whose children have a clock that is so much ahead, and the program that it becomes the parent of.
AHEAD = (sys.executable, "-c", f"""
import ctypes, os, subprocess, sys
assert not ctypes.CDLL(None).unshare(0x80), "no time namespace"
with open("/proc/self/timens_offsets", "w") as file:
    file.write("monotonic 0 {AHEAD_NS}\\n")
sys.exit(subprocess.call(sys.argv[1:]))
""")


def may_be_ahead():
    reads = [sys.executable, "-c", "import time; print(time.monotonic_ns())"]
    before = time.monotonic_ns()
    there = subprocess.run([*AHEAD, *reads], check=False, capture_output=True, text=True)
    if there.returncode:
        print("no clock is ahead:", there.stderr)
        return False
    assert before + AHEAD_NS <= int(there.stdout) <= time.monotonic_ns() + AHEAD_NS, (before, there)
    return True


def check_own_recordings(case, servers, mode, *before):
    started = [Server(case.server, case.libs, os.path.join(case.directory, f"own-{i}.pftrace"), *before) for i in range(servers)]
    client = os.path.join(case.directory, "client.pftrace")
    done = g.run([BRICK, "record", "-q", "-o", client, "--", case.client, case.libs, case.model, mode,
                  *(s.endpoint for s in started)])
    assert done.returncode == 0, done
    for s in started:
        s.stop()
    sent = sum(row["count"] for row in json.loads(subprocess.run(
        [BRICK, "report", "--json", client], check=True, capture_output=True).stdout)["bricks"] if row["name"].startswith("Graph RPC"))
    found = json.loads(subprocess.run([BRICK, "report", "--json", client, *(s.path for s in started)], check=True,
                                      capture_output=True).stdout)
    remote = found["remote"]
    assert sent and [remote[key] for key in ("count", "sent_alone", "received_alone")] == [sent, 0, 0], (sent, found)
    assert 0 < remote["compute_ns"] < remote["whole_ns"] and remote["waited_ns"] <= remote["whole_ns"], found
    assert remote["wire_ns"] == remote["whole_ns"] - remote["compute_ns"], found
    for row in found["recordings"]:
        wanted = AHEAD_NS if before and row["recording"] != client else 0
        assert row["clock_ahead_ns"] is not None, found
        # without a bound, if no wait of the client was for results of this server
        assert row["clock_bound_ns"] is None or abs(row["clock_ahead_ns"] - wanted) <= row["clock_bound_ns"] + 1, (found, wanted)
    rows = subprocess.run([BRICK, "report", "--csv", client, *(s.path for s in started)], check=True, capture_output=True,
                          text=True).stdout.splitlines()
    assert len(rows) == 1 + sent and rows[1].startswith(client + ","), rows[:2]


def of_phases(steps):
    return [sum(steps[phase][key] for phase in PHASES) for key in ("prompt_tokens", "output_tokens")]


def of_clients(counted):
    """A server takes a warm-up's two tokens for a prompt."""
    prompt = sum(c["prefill"][1] + c["mixed"][1] + 2 * c["warm_up"] for c in counted)
    return [prompt, sum(c["decode"][2] + c["mixed"][2] for c in counted)]


def of_batches(counted):
    return sum(c["warm_up"] + sum(c[phase][0] for phase in PHASES) for c in counted)


def check_report(report):
    notes = report["run"]["notes"]
    values = [[n["value"] for n in notes if n["key"] == key] for key in ("attach", "steps")]
    assert values == [["node hooks"], ["one per graph: of llama.cpp, whose tokens its tensors tell"]], notes
    graphs = [n["value"] for n in notes if n["key"] == "graph"]
    assert graphs and all(text.endswith(" 0 were missed") for text in graphs), notes
    steps = report["steps"]
    assert steps["warm_up"]["count"] == 0 and steps["drafts"] is None, steps


def check_all(case):
    """Sequences have a part of the cache each, so the engine evaluates a batch of several in pieces of equal length."""
    counted, (report,) = case.run(1, "server", "plain", "shift", "server")
    check_report(report)
    assert of_phases(report["steps"]) == of_clients(counted), (report["steps"], counted)


def check_one_cache(case):
    """Each batch is a graph; and one of 16 tokens of which 15 are kept is, on a server, a token."""
    counted, reports = case.run(2, "server", "plain", "shift", KV_ONE="1")
    prompt, output = of_clients(counted)
    for report in reports:
        check_report(report)
        assert sum(report["steps"][phase]["count"] for phase in PHASES) == of_batches(counted), (report["steps"], counted)
    first, last = (of_phases(report["steps"]) for report in reports)
    assert last == [prompt - 1, output + 1], (last, counted)
    # nor does the first one know that a prompt's last token, in a batch of its own, belongs to it
    assert first == [prompt - 2, output + 2], (first, counted)
    counted, (report,) = case.run(1, "server", KV_ONE="1", KV_HERE="1")
    check_report(report)
    assert sum(report["steps"][phase]["count"] for phase in PHASES) == of_batches(counted), (report["steps"], counted)
    assert sum(of_phases(report["steps"])) == sum(of_clients(counted)), (report["steps"], counted)


def main():
    with tempfile.TemporaryDirectory() as directory:
        case = Case(directory)
        check_all(case)
        check_one_cache(case)
        check_both_ends(case, 1, "plain", "server")
        check_both_ends(case, 2, "plain")
        check_both_ends(case, 1, "plain", KV_HERE="1")
        check_own_recordings(case, 1, "server")
        check_own_recordings(case, 2, "plain")
        if may_be_ahead():
            check_own_recordings(case, 1, "server", *AHEAD)
            check_own_recordings(case, 2, "plain", *AHEAD)


if len(sys.argv) > 1:
    both_ends(*sys.argv[1:])
else:
    main()
