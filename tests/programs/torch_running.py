# SPDX-License-Identifier: Apache-2.0
"""A program that computes without end: a model of layers generates tokens, or is trained (`train`), or a worker with the
interface of vLLM's generates them, whose method a plugin has replaced and replaces again at each SIGUSR1 (`patched`), or a
server does for each request (`serve`), which says its port first, or they are generated while another thread opens and
closes a library without end (`opens`), or a layer of the model sleeps for 20 ms (`naps`), or holds each call up while a
file of the name in the third argument exists, until somebody makes NAME.pass, having made NAME.in, and NAME.hooked if
Brick has hooked functions of Python (`gate`). It says so if somebody looks at the frames of all interpreters, which crashes
those that have a GIL of their own. At SIGUSR2 it keeps the interpreter's lock for some seconds between rounds; at
SIGUSR1 (but for `patched`) it begins a scope of the profiler that never ends. It says a digest of each round, which are
all the same."""
import ctypes
import hashlib
import http.server
import importlib.machinery
import importlib.util
import os
import signal
import sys
import threading
import time
import types

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Nap(nn.Module):
    def forward(self, x):
        time.sleep(0.02)
        return x


class Gate(nn.Module):
    def __init__(self, path):
        super().__init__()
        self.path = path

    def make(self, ending):
        with open(self.path + ending, "wb"):
            pass

    def forward(self, x):
        stands = False
        while os.path.exists(self.path):
            if not stands:
                self.make(".in")
            stands = True
            if "exec_module" in importlib.machinery.SourceFileLoader.__dict__:  # else it is inherited
                self.make(".hooked")
            if os.path.exists(self.path + ".pass"):
                os.unlink(self.path + ".pass")
                break
            time.sleep(0.001)
        return x


class Model(nn.Module):
    def __init__(self, width=64, layers=3, words=128):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Block(width) for _ in range(layers))
        self.head = nn.Linear(width, words)

    def forward(self, input_ids):
        x = self.embed(input_ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def generate(model):
    model.eval()
    ids = torch.arange(8).reshape(1, 8)
    with torch.no_grad():
        for _ in range(16):
            ids = torch.cat([ids, model(input_ids=ids)[:, -1].argmax(-1, keepdim=True)], 1)
    return ids


def train():
    torch.manual_seed(1)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
    ids = torch.arange(32).reshape(4, 8)
    for _ in range(8):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), (ids + 1).flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return torch.cat([p.detach().flatten() for p in model.parameters()] + [loss.detach().reshape(1)])


class Worker:
    def execute_model(self, scheduler_output):
        return generate(scheduler_output)


def patch(*_):
    """As plugins do it, without functools.wraps."""
    original = Worker.execute_model

    def patched(self, scheduler_output):
        return original(self, scheduler_output)
    Worker.execute_model = patched


def digest_of(result):
    return hashlib.sha256(result.numpy().tobytes()).hexdigest()


def serve(model):
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            text = digest_of(generate(model)).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        print(server.server_address[1], flush=True)
        server.serve_forever()


def open_and_close():
    own = ctypes.PyDLL(None)
    own.dlopen.restype, own.dlclose.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    library = importlib.util.find_spec("_lsprof").origin.encode()
    while True:
        own.dlclose(own.dlopen(library, 2))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    kind = sys.argv[1] if len(sys.argv) > 1 else "generate"
    if kind == "patched":
        sys.modules["vllm.v1.worker.gpu_worker"] = types.ModuleType("vllm.v1.worker.gpu_worker")
        sys.modules["vllm.v1.worker.gpu_worker"].Worker = Worker
        patch()
        signal.signal(signal.SIGUSR1, patch)
    else:
        signal.signal(signal.SIGUSR1, lambda *_: scopes.append(torch.profiler.record_function("Endless")))
    pauses, scopes, begun = [], [], []
    signal.signal(signal.SIGUSR2, lambda *_: pauses.append(int(sys.argv[3])))
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    sys.addaudithook(lambda event, _: event == "sys._current_frames" and print("somebody looks at all frames", flush=True))
    model = Model() if kind != "train" else None  # train() makes one for each round
    if kind in ("naps", "gate"):
        model.layers.insert(1, Nap() if kind == "naps" else Gate(sys.argv[3]))
    done = 0
    if kind == "opens":
        threading.Thread(target=open_and_close, daemon=True).start()
    if kind == "serve":
        serve(model)
    while not rounds or done < rounds:
        result = train() if kind == "train" else Worker().execute_model(model) if kind == "patched" else generate(model)
        print(digest_of(result), flush=True)
        done += 1
        while scopes:
            begun.append(scopes.pop().__enter__())
        while pauses:
            ctypes.PyDLL(None).sleep(pauses.pop())


main()
