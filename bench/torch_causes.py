#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does `brick explain` name what is wrong with a PyTorch program? Each program here is a small training or generation with
one known fault planted into it, or none. A fault's true cost is the difference in CPU time, or in waiting, between the
program with and without it. A fault is found if the first finding says its words: findings about the CPUs that other
programs take are passed over, unless that is the fault. Programs without a fault must have no finding but those.

usage: torch_causes.py [--only NAME,...] [--python PATH]      PATH: an interpreter with PyTorch 2.x"""
import argparse
import json
import os
import re
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BRICK = os.path.join(ROOT, "build", "bin", "brick")
# what the machine does to the program, and no fault of it
CROWD = {"preempted-by-others", "preempted", "steal", "slow-steps", "slow-first-step", "memory-limit"}
PROGRAM = '''
import os, sys, threading, time, torch
from torch import nn
from torch.nn import functional as F
fault, steps = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(16 if fault == "threads" else 1)
torch.manual_seed(0)
W = 256
def spin(ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        pass
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(W)
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(W, W) for _ in range(4))
        self.up_proj, self.down_proj = nn.Linear(W, 4 * W), nn.Linear(4 * W, W)
    def heads(self, x):
        return x.view(x.shape[0], x.shape[1], 4, W // 4).transpose(1, 2)
    def forward(self, x, cache=None):
        if fault == "noncontiguous":
            for _ in range(8):
                x = x.transpose(0, 1).contiguous().transpose(0, 1).contiguous()
        if fault == "item":
            for value in x.flatten()[:2000]:
                value.item()
        h = self.norm(x)
        q, k, v = self.heads(self.q_proj(h)), self.heads(self.k_proj(h)), self.heads(self.v_proj(h))
        if cache is not None:
            k, v = torch.cat([cache.get("k", k[:, :, :0]), k], 2), torch.cat([cache.get("v", v[:, :, :0]), v], 2)
            cache["k"], cache["v"] = k, v
        if fault == "eager":
            mask = torch.ones(q.shape[2], k.shape[2]).tril(k.shape[2] - q.shape[2])
            a = torch.softmax((q @ k.transpose(-1, -2) / 8).masked_fill(mask == 0, -1e9), -1) @ v
        else:
            a = F.scaled_dot_product_attention(q, k, v, is_causal=q.shape[2] > 1)
        x = x + self.o_proj(a.transpose(1, 2).reshape(x.shape))
        return x + self.down_proj(F.gelu(self.up_proj(self.norm(x))))
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.layers, self.lm_head = nn.Embedding(1000, W), nn.ModuleList([Layer() for _ in range(4)]), nn.Linear(W, 1000)
    def forward(self, input_ids, caches=None):
        x = self.embed(input_ids)
        for i, layer in enumerate(self.layers):
            if fault == "checkpointing":
                x = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)
            else:
                x = layer(x, caches[i] if caches else None)
            if fault == "graph_break":
                torch._dynamo.graph_break()
        return self.lm_head(x)
import torch.utils.checkpoint
model = Model()
if fault == "float64":
    model.double()
run = model
if fault in ("compiled", "recompile", "graph_break"):
    run = torch.compile(model, backend="aot_eager", dynamic=False)
kept, side = [], None
if fault == "gil":
    side = threading.Thread(target=lambda: [spin(10**9) for _ in range(60)], daemon=True)
    side.start()
begin_cpu = begin = 0
def start():
    global begin_cpu, begin
    begin_cpu, begin = time.thread_time_ns(), time.time_ns()
if sys.argv[3] == "train":
    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 4 * steps
        def __getitem__(self, i):
            if fault == "loader":
                spin(10_000_000)
            if fault == "loader_waits":
                time.sleep(0.02)
            return torch.full((48 + (i // 4 % 6 * 8 if fault == "recompile" else 0),), i % 1000)
    def collate(batch):
        if fault == "collate":
            spin(40_000_000)
        return torch.stack(batch)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, foreach=fault != "unfused")
    for number, batch in enumerate(torch.utils.data.DataLoader(Data(), 4, collate_fn=collate)):
        if number == 2:
            start()
        optimizer.zero_grad()
        out = run(batch)
        loss = F.cross_entropy(out.flatten(0, 1), batch.flatten())
        loss.backward()
        optimizer.step()
        if fault == "logging":
            with open(sys.argv[4] + ".log", "a") as log:
                for name, p in model.named_parameters():
                    print(number, name, p.detach().flatten().tolist()[:4000], file=log)
                log.flush()
                os.fsync(log.fileno())
        if fault == "grows":
            kept.append([out, [torch.ones(1 << 20).sum() + torch.ones(1 << 20) for _ in range(8)]])
else:
    model.eval()
    rows = 8 if fault == "padding" else 1
    ids = torch.randint(0, 1000, (rows, 32))
    mask = torch.ones(rows, 32, dtype=torch.long)
    if fault == "padding":
        mask[1:, :28] = 0
    text = ""
    with torch.no_grad():
        caches = [{} for _ in range(4)]
        out = run(ids) if fault == "no_cache" else run(ids, caches)
        start()
        for number in range(steps):
            token = out[:, -1:].argmax(-1)
            ids = torch.cat([ids, token], 1)
            if fault == "sampling":
                scores = sorted(enumerate(out[0, -1].tolist()), key=lambda pair: -pair[1])
                spin(15_000_000)
            if fault == "detokenize":
                for _ in range(300):
                    text = " ".join(str(int(t)) for t in ids[0])
            if fault == "pause":
                time.sleep(0.03)
            out = run(ids) if fault == "no_cache" else run(token, caches)
print("took", time.thread_time_ns() - begin_cpu, time.time_ns() - begin, flush=True)
if side:
    os._exit(0)
'''
# NAME: kind, and words of a finding that names it (rule, text, row or evidence)
CAUSES = {
    "loader": ("train", r"DataLoading|data"), "loader_waits": ("train", r"DataLoading|data|host-pauses"),
    "collate": ("train", r"DataLoading|data"), "recompile": ("train", r"[Rr]ecompil"), "graph_break": ("train", r"[Gg]raph ?[Bb]reak"),
    "float64": ("train", r"float64|double|excess"), "noncontiguous": ("train", r"TensorCopy|copies|cop(y|ied)"),
    "threads": ("train", r"oversubscribed|affinity|threads"), "checkpointing": ("train", r"Recomputation"),
    "unfused": ("train", r"OptimizerStep|optimizer"), "logging": ("train", r"host-works|host-pauses|blocked"),
    "item": ("train", r"item|TensorView|host-works|in-no-brick"), "gil": ("train", r"GIL|interpreter lock"), "grows": ("train", r"memory|grow|faults"),
    "eager": ("decode", r"no-flash-attention|attention"), "no_cache": ("decode", r"cache|prompt-repeated|again"),
    "padding": ("decode", r"padding"), "sampling": ("decode", r"slow-sampling|host-works"), "detokenize": ("decode", r"host-works"),
    "pause": ("decode", r"host-pauses"),
    "clean": ("train", None), "clean_decode": ("decode", None), "compiled": ("train", None),
}
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--only")
parser.add_argument("--python")
given = parser.parse_args()
python = given.python or subprocess.run([os.path.join(ROOT, "examples", "demo", "torch.sh"), "torch-2.13.0"],
                                        capture_output=True, text=True, check=True).stdout.strip()


def took(text):
    return [int(x) for x in re.search(r"took (\d+) (\d+)", text).groups()]


def run(fault, kind, path=None):
    program = [python, "-c", PROGRAM, fault, "16" if kind == "train" else "40", kind, path or "/dev/null"]
    done = subprocess.run([BRICK, "record", "-o", path, "--", *program] if path else program, capture_output=True, text=True,
                          timeout=400)
    if "took" not in done.stdout:
        raise SystemExit(done.stderr[-2000:])
    return took(done.stdout)


found, priced, planted, false = 0, 0, 0, 0
with tempfile.TemporaryDirectory() as scratch:
    plain = {}
    for name, (kind, words) in CAUSES.items():
        if given.only and name not in given.only.split(","):
            continue
        path = os.path.join(scratch, "run.pftrace")
        cpu, wall = run(name, kind, path)
        if kind not in plain:
            plain[kind] = run("none", kind)
        answer = json.loads(subprocess.run([BRICK, "explain", path, "--json"], capture_output=True, text=True, check=True).stdout)
        phase = "prefill" if kind == "train" else "decode"
        findings = [f for f in answer["findings"] if f["phase"] == phase and (f["rule"] not in CROWD or name == "threads")]
        said = findings[0] if findings else None
        text = " ".join(str(said[key]) for key in ("rule", "what", "row", "evidence", "try")) if said else "nothing"
        if words is None:
            false += said is not None
            print(f"{name:14} {'false: ' + text[:90] if said else 'nothing, as it should'}", flush=True)
            continue
        planted += 1
        is_first = said is not None and re.search(words, text) is not None
        found += is_first
        cost = max(cpu - plain[kind][0], wall - plain[kind][1] if name in ("pause", "loader_waits") else 0)
        close = is_first and cost > 0 and abs(said["cost_ns"] - cost) <= 0.3 * cost
        priced += close
        print(f"{name:14} {'first' if is_first else 'missed':7} true cost {cost / 1e6:7.0f} ms, "
              f"said {said['cost_ns'] / 1e6 if said else 0:7.0f} ms  {text[:80]}", flush=True)
print(f"{planted} planted: true cause first {found}, its cost within 30 % {priced}; false findings in programs without a fault: {false}")
