# SPDX-License-Identifier: Apache-2.0
"""`brick requests` against llama-server's own figures and against what its clients see.

The real llama-server with 4 slots and continuous batching gets requests of random lengths from concurrent clients, some
of which hang up. Each completed request's `timings` (prompt_n, cache_n, predicted_n) are held against a request of the
recording; the client's time to its first token and between tokens against the recording's. The bench prints how many
agree, and medians and maxima of the differences.

  bench/requests_server.py [--clients 50] [--requests 200] [--slots 4]

llama-server comes from examples/demo/engine-programs.sh.
"""
import argparse
import http.client
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time

BUILD = os.path.abspath(os.environ.get("BRICK_BUILD", "build"))
SERVER = f"{BUILD}/demo/engine-programs/llama/bin/llama-server"
MODEL = f"{BUILD}/demo/model-f16.gguf"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_until_ready(port, server):
    for _ in range(600):
        assert server.poll() is None, "llama-server ended"
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise TimeoutError("llama-server is not ready")


def ask(port, draw, done):
    """One request, streamed: its own times, and what the server says at the end."""
    shared, own = draw.choice([0, 40, 120]), draw.randint(4, 80)
    prompt = [3 + i * 7 % 900 for i in range(shared)] + [draw.randint(3, 900) for _ in range(own)]
    body = {"prompt": prompt, "n_predict": draw.randint(2, 40), "stream": True, "ignore_eos": True, "temperature": 0,
            "cache_prompt": True, "return_tokens": True}
    leaves_after = draw.randint(1, 6) if draw.random() < 0.1 else None
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request("POST", "/completion", json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    times, timings, slot = [], None, None
    for line in response:
        if not line.startswith(b"data: "):
            continue
        times.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC))
        said = json.loads(line[6:])
        timings, slot = said.get("timings"), said.get("id_slot")
        if leaves_after and len(times) > leaves_after:
            break
    connection.close()
    done.append({"times": times, "timings": timings, "slot": slot})


def clients(port, count, total, seed):
    done, left, lock = [], [total], threading.Lock()

    def run(number):
        draw = random.Random(seed * 1000 + number)
        while True:
            with lock:
                if not left[0]:
                    return
                left[0] -= 1
            ask(port, draw, done)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


def match(done, found):
    """Each client with the recording's request: of its slot's sequence, in order, with the server's own counts."""
    pairs = []
    for slot in sorted({client["slot"] for client in done if client["timings"]}):
        rest = [r for r in found if r["sequence"] == slot]
        for client in sorted((c for c in done if c["timings"] and c["slot"] == slot), key=lambda c: c["times"][-1]):
            counts = [client["timings"][key] for key in ("prompt_n", "cache_n", "predicted_n")]
            at = next((i for i, r in enumerate(rest) if counts == [r["prompt_tokens"], r["cache"]["reused_tokens"],
                                                                    r["output_tokens"]]), None)
            pairs.append((client, None if at is None else rest[at]))
            rest = rest if at is None else rest[at + 1:]
    return pairs


def differences(pairs):
    between, first = [], []
    for client, request in pairs:
        times = client["times"][:-1]
        gaps = [gap["ns"] for gap in request["gaps"]]
        if len(times) != len(gaps) + 1:
            continue
        own = [b - a for a, b in zip(times, times[1:])]
        between.append((sum(own) - sum(gaps)) / 1e6)
        first.append((request["ttft_ns"] - client["timings"]["prompt_ms"] * 1e6) / 1e6)
    return between, first


def show(name, values):
    values = sorted(values)
    if values:
        print(f"{name}: median {statistics.median(values):+.3f} ms, 90 % within {values[len(values) // 20]:+.3f} and "
              f"{values[-len(values) // 20 - 1]:+.3f} ms ({len(values)} requests)")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--slots", type=int, default=4)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        out, port = os.path.join(scratch, "run.pftrace"), free_port()
        command = [f"{BUILD}/bin/brick", "record", "-q", "--no-history", "-o", out, "--", SERVER, "-m", MODEL, "-np",
                   str(options.slots), "-c", "4096", "-t", "1", "-tb", "1", "--port", str(port), "--no-webui"]
        with open(os.path.join(scratch, "log"), "wb") as log:
            server = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            wait_until_ready(port, server)
            done = clients(port, options.clients, options.requests, 1)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(60)
        answer = json.loads(subprocess.run([f"{BUILD}/bin/brick", "requests", "--json", out], check=True,
                                           capture_output=True).stdout)
    found = answer["requests"]
    pairs = match(done, found)
    complete = [c for c in done if c["timings"]]
    agree = [(c, r) for c, r in pairs if r]
    print(f"{len(done)} requests, {len(done) - len(complete)} hung up; {len(found)} in the recording")
    print(f"prompt_n, cache_n and predicted_n are those of a request of the recording: {len(agree)} of {len(complete)}")
    both = [sum(c["timings"]["prompt_n"] for c in complete), sum(r["prompt_tokens"] for _, r in agree)]
    print(f"prompt tokens of complete requests: server {both[0]}, recording {both[1]}")
    between, first = differences(agree)
    show("time between first and last token, client less recording", between)
    show("time to the first token, recording less server's prompt_ms", first)
    gaps = [gap for request in found for gap in request["gaps"] if gap["cause"]]
    causes = {cause: sum(gap["cause"] == cause for gap in gaps) for cause in sorted({gap["cause"] for gap in gaps})}
    print(f"{len(gaps)} long gaps: {causes}")
    reasons = [request["cache"]["reason"] for request in found if request["cache"]["reason"]]
    print("evaluated again:", {reason: reasons.count(reason) for reason in sorted(set(reasons))})


main()
