# SPDX-License-Identifier: Apache-2.0
"""ggml's RPC server evaluates graphs that its clients send, without llama_decode(). Each is a step, and the tokens of
all of them are those that the clients asked the engine for: prompts and outputs, of one sequence and of several in
a batch, of clients one after the other, on a server that has the first or the last layers only, and where a client
computes attention itself, so that a batch takes many graphs."""
import contextlib
import json
import os
import socket
import subprocess
import tempfile
import time

import libggml as g

BRICK = os.path.join(g.BUILD, "bin", "brick")
PHASES = "prefill", "decode", "mixed"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, program, libs, path):
        self.endpoint = f"127.0.0.1:{free_port()}"
        self.path = path
        self.process = subprocess.Popen([BRICK, "record", "-q", "-o", path, "--", program, libs, self.endpoint],
                                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        host, port = self.endpoint.split(":")
        while self.process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection((host, int(port))):
                break
            time.sleep(0.05)

    def report(self):
        self.process.stdin.close()
        assert self.process.wait() == 0, self.process
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


main()
