# SPDX-License-Identifier: Apache-2.0
"""`brick requests` against llama-server's own figures and against what its clients see.

The real llama-server with 4 slots and continuous batching gets requests of random lengths from concurrent clients, some
of which hang up. Each completed request's `timings` (prompt_n, cache_n, predicted_n) are held against a request of the
recording. With each token the server says when it had it (`timings_per_token`), so that each time between tokens is
known three times: by the recording, by the server and by the client. Where the client differs and the server does not,
the difference is transport: the server's HTTP thread, the socket, and the client, which wait for a CPU.

  bench/requests_server.py [--clients 50] [--requests 200] [--slots 4]
                           [--model FILE] [--draft FILE] [-- OPTION...]

--draft: a model that drafts; proposed and held tokens are held against the server's counters at /metrics. What stands
behind `--` are options of llama-server.

  bench/requests_server.py --cost ROUNDS

What recording requests costs: the CPU time of the server for the same requests, recorded with the attacher as it is and
with one whose functions that tell of sequences and of chosen tokens return at once, in turns. Prints the median ratio
with its 95 % interval. The machine must be quiet for it; not under 30 rounds.

llama-server comes from examples/demo/engine-programs.sh.
"""
import argparse
import contextlib
import http.client
import json
import math
import os
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import paired

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


def ask(port, draw, done, leaves):
    """One request, streamed: its own times, and what the server says with each token."""
    shared, own = draw.choice([0, 40, 120]), draw.randint(4, 80)
    prompt = [3 + i * 7 % 900 for i in range(shared)] + [draw.randint(3, 900) for _ in range(own)]
    body = {"prompt": prompt, "n_predict": draw.randint(2, 40), "stream": True, "ignore_eos": True, "temperature": 0,
            "cache_prompt": True, "return_tokens": True, "timings_per_token": True}
    leaves_after = draw.randint(1, 6) if leaves and draw.random() < 0.1 else None
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    sent_ns = time.monotonic_ns()
    connection.request("POST", "/completion", json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    tokens, timings, slot = [], None, None
    for line in response:
        if not line.startswith(b"data: "):
            continue
        now_ns, said = time.monotonic_ns(), json.loads(line[6:])
        if said.get("stop"):
            timings, slot = said["timings"], said["id_slot"]
        elif said.get("timings"):
            tokens.append((said["timings"]["predicted_n"], now_ns, said["timings"]["predicted_ms"] * 1e6))
        if leaves_after and len(tokens) > leaves_after:
            break
    connection.close()
    done.append({"sent_ns": sent_ns, "tokens": tokens, "timings": timings, "slot": slot})


def clients(port, count, total, seed, leaves=True):
    done, left, lock = [], [total], threading.Lock()

    def run(number):
        draw = random.Random(seed * 1000 + number)
        while True:
            with lock:
                if not left[0]:
                    return
                left[0] -= 1
            ask(port, draw, done, leaves)

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
        for client in sorted((c for c in done if c["timings"] and c["slot"] == slot), key=lambda c: c["tokens"][-1][1]):
            counts = [client["timings"][key] for key in ("prompt_n", "cache_n", "predicted_n")]
            at = next((i for i, r in enumerate(rest) if counts == [r["prompt_tokens"], r["cache"]["reused_tokens"],
                                                                    r["output_tokens"]]), None)
            pairs.append((client, None if at is None else rest[at]))
            rest = rest if at is None else rest[at + 1:]
    return pairs


def token_times(request):
    """By the recording: of each token, counted from 1, the time since the first; drafts that held come together."""
    times, ns = {1: 0}, 0
    for gap in request["gaps"]:
        ns += gap["ns"]
        for _ in range(gap["tokens"]):
            times[len(times) + 1] = ns
    return times


def compare_times(pairs):
    """A token that ends within a character is not sent, and comes with the next one: its number is missing then."""
    between = {"recording less server": [], "client less server": [], "client less recording": []}
    gaps, first = [], []
    for client, request in pairs:
        times = token_times(request)
        first.append((request["ttft_ns"] - client["timings"]["prompt_ms"] * 1e6) / 1e6)
        for (n, client_ns, server_ns), (n_next, client_next_ns, server_next_ns) in zip(client["tokens"], client["tokens"][1:]):
            if n not in times or n_next not in times or times[n] == times[n_next]:
                continue
            own, server, client_own = times[n_next] - times[n], server_next_ns - server_ns, client_next_ns - client_ns
            gaps.append(own / 1e6)
            for key, difference in zip(between, (own - server, client_own - server, client_own - own)):
                between[key].append(difference / 1e6)
    for key, values in between.items():
        show(f"time between tokens, {key}", values, "gaps")
        if values:
            near = sum(abs(v) <= max(0.2, 0.01 * gap) for v, gap in zip(values, gaps))
            print(f"  within 0.2 ms or 1 %: {100 * near / len(values):.1f} %")
    show("time to the first token, recording less server's prompt_ms", first, "requests")


def show(name, values, what):
    values = sorted(values)
    if values:
        print(f"{name}: median {statistics.median(values):+.3f} ms, 90 % within {values[len(values) // 20]:+.3f} and "
              f"{values[-len(values) // 20 - 1]:+.3f} ms ({len(values)} {what})")


@contextlib.contextmanager
def recorded(scratch, options, brick=f"{BUILD}/bin/brick"):
    """(port, process) of a server that is recorded; it has ended behind this."""
    port = free_port()
    command = [brick, "record", "-q", "--no-history", "-o", os.path.join(scratch, "run.pftrace"), "--", SERVER, "-c", "4096",
               "-t", "1", "-tb", "1", "--port", str(port), "--no-webui", "--metrics", *options]
    with open(os.path.join(scratch, "log"), "wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        wait_until_ready(port, server)
        yield port, server
        time.sleep(1)  # idle: its handler of signals takes the lock of its queue, which its main thread may hold
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)


def counters(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    return {name: float(value) for name, value in re.findall(r"^llamacpp:(\w+) (\S+)$", text, re.M)}


def compare_drafts(counted, answer):
    """/metrics counts requests that have ended, also those whose client hung up."""
    own = [sum(s[key] for s in answer["speculation"]) for key in ("proposed_tokens", "held_tokens", "verifications")]
    server = [int(counted[f"spec_decode_num_{key}_total"]) for key in ("draft_tokens", "accepted_tokens", "drafts")]
    print(f"drafts proposed, held, and checks: server {server}, recording {own}")
    for s in answer["speculation"]:
        print(f"  best length {s['modelled_best_drafts']}; modelled ns for a token: "
              f"{[round(p['modelled_token_ns']) if p['modelled_token_ns'] else None for p in s['by_drafts']]}")


def check(options):
    own = ["-np", str(options.slots), "-m", options.model, *(["-md", options.draft] if options.draft else []),
           *options.server]
    with tempfile.TemporaryDirectory() as scratch:
        with recorded(scratch, own) as (port, _):
            done = clients(port, options.clients, options.requests, 1)
            time.sleep(1)  # those that hung up end, too
            counted = counters(port)
        if options.keep:
            shutil.copy(f"{scratch}/run.pftrace", options.keep)
        answer = json.loads(subprocess.run([f"{BUILD}/bin/brick", "requests", "--json", f"{scratch}/run.pftrace"],
                                           check=True, capture_output=True).stdout)
    found = answer["requests"]
    pairs = match(done, found)
    complete = [c for c in done if c["timings"]]
    agree = [(c, r) for c, r in pairs if r]
    print(f"{len(done)} requests, {len(done) - len(complete)} hung up; {len(found)} in the recording")
    print(f"prompt_n, cache_n and predicted_n are those of a request of the recording: {len(agree)} of {len(complete)}")
    both = [sum(c["timings"]["prompt_n"] for c in complete), sum(r["prompt_tokens"] for _, r in agree)]
    print(f"prompt tokens of complete requests: server {both[0]}, recording {both[1]}")
    compare_times(agree)
    if counted.get("spec_decode_num_drafts_total"):
        compare_drafts(counted, answer)
    gaps = [gap for request in found for gap in request["gaps"] if gap["cause"]]
    causes = {cause: sum(gap["cause"] == cause for gap in gaps) for cause in sorted({gap["cause"] for gap in gaps})}
    print(f"{len(gaps)} long gaps: {causes}")
    reasons = [request["cache"]["reason"] for request in found if request["cache"]["reason"]]
    print("evaluated again:", {reason: reasons.count(reason) for reason in sorted(set(reasons))})


def without_requests(scratch):
    """A brick whose attacher tells nothing of sequences: these functions begin with `ret` (x86-64)."""
    functions = ["sequences_tell_step", "sequences_tell_blocks", "contexts_sampled", "contexts_sequence"]
    for folder in ("bin", "lib"):
        os.makedirs(f"{scratch}/without/{folder}")
    shutil.copy(f"{BUILD}/bin/brick", f"{scratch}/without/bin")
    for name in os.listdir(f"{BUILD}/lib"):
        if re.search(r"\.so(\.|$)", name):
            shutil.copy(f"{BUILD}/lib/{name}", f"{scratch}/without/lib", follow_symlinks=False)
    library = f"{scratch}/without/lib/libbrick-ggml.so"
    symbols = subprocess.run(["nm", library], check=True, capture_output=True, text=True).stdout
    sections = subprocess.run(["readelf", "-WS", library], check=True, capture_output=True, text=True).stdout
    address, offset = (int(x, 16) for x in re.search(r"\.text\s+PROGBITS\s+(\w+) (\w+)", sections).groups())
    with open(library, "r+b") as file:
        for function in functions:
            at = int(re.search(rf"^(\w+) t {function}$", symbols, re.M)[1], 16)
            file.seek(at - address + offset)
            file.write(b"\xf3\x0f\x1e\xfa\xc3")  # endbr64; ret
    return f"{scratch}/without/bin/brick"


def cpu_s(brick_process):
    """Of the server, which is the child of the recorder."""
    pid = int(open(f"/proc/{brick_process}/task/{brick_process}/children").read().split()[0])
    return sum(int(open(f"/proc/{pid}/task/{thread}/schedstat").read().split()[0])
               for thread in os.listdir(f"/proc/{pid}/task")) / 1e9


def load(scratch, options, brick):
    """CPU seconds for the same requests: of one client, so that all batches are the same in each run."""
    with recorded(scratch, ["-np", str(options.slots), "-m", options.model], brick) as (port, server):
        begin = cpu_s(server.pid)
        clients(port, 1, options.requests, 1, leaves=False)
        return cpu_s(server.pid) - begin


def told(scratch):
    done = subprocess.run([f"{BUILD}/bin/brick", "requests", "--json", f"{scratch}/run.pftrace"], capture_output=True)
    return len(json.loads(done.stdout)["requests"]) if done.returncode == 0 else 0


def cost(options):
    ratios = []
    with tempfile.TemporaryDirectory() as scratch:
        bricks = [f"{BUILD}/bin/brick", without_requests(scratch)]
        for i in range(options.cost):
            taken = {}
            for side in ((0, 1) if i % 2 else (1, 0)):
                taken[side] = load(scratch, options, bricks[side])
                if i == 0:
                    assert bool(told(scratch)) == (side == 0), "the side without requests has some, or the other none"
            ratios.append(math.log(taken[0] / taken[1]))
            print(f"round {i + 1}: {taken[0]:.2f} s with requests, {taken[1]:.2f} s without, "
                  f"{paired.percent(ratios[-1])}", flush=True)
    centre, low, high = paired.shift(ratios)
    print(f"recording requests: {paired.percent(centre)} ({paired.percent(low)} .. {paired.percent(high)}) of the server's "
          f"CPU time, {len(ratios)} rounds of {options.requests} requests")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--draft")
    parser.add_argument("--cost", type=int)
    parser.add_argument("--keep", help="copy the recording here")
    parser.add_argument("server", nargs="*")
    options = parser.parse_args()
    if options.cost:
        cost(options)
    else:
        check(options)


main()
