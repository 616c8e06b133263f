# SPDX-License-Identifier: Apache-2.0
"""Programs with one fault each, for bench/torch_causes.py: planted.py FAULT. A small decoder trains or generates. Each
prints the times of its steps and of planted lines (measured.py); of ranks, the last one does."""
import os
import subprocess
import sys
import tempfile
import threading
import time

from measured import Planted, Steps, spin

fault = sys.argv[1]
W, HEADS = 256, 4
#   fault: kind, fault-free program that it is compared with, words of a finding that names it
CAUSES = {
    "loader": ("train", "clean", r"data-loader"), "loader_waits": ("train", "clean", r"data-loader"),
    "collate": ("train", "clean", r"data-loader"), "recompile": ("train", "compiled_any", r"compilation-in-steps"),
    "graph_break": ("train", "compiled", r"graph-breaks"), "float64": ("train", "clean", r"computes-in-float64"),
    "half": ("score", "clean_score", r"half-without-instructions"), "noncontiguous": ("train", "clean", r"tensor-copies"),
    "threads": ("train", "clean", r"oversubscribed"), "checkpointing": ("train", "clean", r"recomputation"),
    "unfused": ("train", "clean", r"optimizer-not-fused"), "logging": ("train", "clean", r"host-works"),
    "item": ("train", "clean", r"element-reads"), "gil": ("train", "clean", r"interpreter-lock"),
    "grows": ("train", "clean", r"memory-growth"), "eager": ("score", "clean_score", r"attention-not-fused"),
    "no_cache": ("decode", "clean_decode", r"prompt-repeated"), "padding": ("train", "unpadded", r"padding"),
    "sampling": ("decode", "clean_decode", r"host-works|slow-sampling"), "detokenize": ("decode", "clean_decode", r"host-works|element-reads"),
    "pause": ("decode", "clean_decode", r"host-pauses"), "tokenizer": ("train", "clean", r"data-loader"),
    "late_rank": ("train", "clean_ranks", r"late-rank"), "same_cores": ("train", "one_core", r"preempted-by-others"),
}
CLEAN = {"clean": "train", "compiled": "train", "compiled_any": "train", "unpadded": "train", "clean_score": "score",
         "clean_decode": "decode", "clean_ranks": "train", "one_core": "train"}
kind = CAUSES[fault][0] if fault in CAUSES else CLEAN[fault]
RANKS = 2 if fault in ("late_rank", "clean_ranks") else 1
RANK = int(os.environ.get("RANK", 0))
if RANKS > 1 and "RANK" not in os.environ:  # as torchrun does
    with tempfile.TemporaryDirectory() as meeting:
        turns = ["" for _ in range(RANKS - 1)] + [os.environ.get("TURNS", "")]
        ranks = [subprocess.Popen([sys.executable, *sys.argv], close_fds=False, env={
            **os.environ, "RANK": str(rank), "WORLD_SIZE": str(RANKS), "MEETING": meeting, "TURNS": turns[rank]})
            for rank in range(RANKS)]
        sys.exit(max(rank.wait() for rank in ranks))
if fault in ("same_cores", "one_core"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import torch
from torch import nn
from torch.nn import functional as F
import torch.utils.checkpoint

STEPS = 48 if fault == "grows" else 60 if fault in ("graph_break", "compiled") else {"train": 24, "score": 12, "decode": 60}[kind]


planted, steps = Planted(fault in ("loader_waits", "pause")), Steps()


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(W)
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(W, W) for _ in range(4))
        self.up_proj, self.down_proj = nn.Linear(W, 4 * W), nn.Linear(4 * W, W)

    def heads(self, x):
        return x.view(x.shape[0], x.shape[1], HEADS, W // HEADS).transpose(1, 2)

    def forward(self, x, cache=None):
        if fault == "noncontiguous":
            with planted:
                wide = x.detach().repeat(8, 1, 1)
                for _ in range(8):
                    wide = wide.transpose(0, 1).contiguous()
        if fault == "item":
            with planted:
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
        if fault == "graph_break":  # a break in a loop would leave the function as it is
            h = h + 1
            torch._dynamo.graph_break()
            h = h + 1
            torch._dynamo.graph_break()
            h = h + 1
            torch._dynamo.graph_break()
            h = h + 1
            torch._dynamo.graph_break()
        x = x + self.o_proj(a.transpose(1, 2).reshape(x.shape))
        return x + self.down_proj(F.gelu(self.up_proj(self.norm(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.lm_head = nn.Embedding(1000, W), nn.Linear(W, 1000)
        self.layers = nn.ModuleList([Layer() for _ in range(4)])

    def forward(self, input_ids, caches=None, attention_mask=None):
        x = self.embed(input_ids)
        for i, layer in enumerate(self.layers):
            if fault == "checkpointing":
                x = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)
            else:
                x = layer(x, caches[i] if caches else None)
        return self.lm_head(x)


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 4 * STEPS

    def __getitem__(self, i):
        if fault == "loader":
            with planted:
                spin(10_000_000)
        if fault == "loader_waits":
            with planted:
                time.sleep(0.02)
        length = 48 + (i // 4 % 6 * 8 if fault in ("recompile", "compiled_any") else 0)
        if fault == "late_rank" and RANK:
            length *= 2
        return torch.full((24 if fault == "unpadded" else length,), i % 1000)


def collate(batch):
    if fault == "collate":
        with planted:
            spin(40_000_000)
    if fault == "tokenizer":
        with planted:
            encode(" ".join(f"word{i % 90} of {i % 7}" for i in range(300)))
    return torch.stack(batch)


def encode(text):
    """Tokens of a text by merges of pairs of bytes, as a slow tokenizer finds them."""
    tokens = list(text.encode())
    while True:
        pairs = {}
        for pair in zip(tokens, tokens[1:]):
            pairs[pair] = pairs.get(pair, 0) + 1
        best = max(pairs, key=pairs.get)
        if pairs[best] < 4 or len(pairs) < 2:
            return tokens
        merged, i = [], 0
        while i < len(tokens):
            is_pair = tuple(tokens[i:i + 2]) == best
            merged.append(sum(best) % 997 if is_pair else tokens[i])
            i += 1 + is_pair
        tokens = merged


torch.set_num_threads(16 if fault == "threads" else 1)
torch.manual_seed(0)
model = Model()
if fault == "float64":
    model.double()
if fault == "half":
    model.half()
run = model
if fault in ("compiled", "compiled_any", "recompile", "graph_break"):
    run = torch.compile(model, backend="aot_eager", dynamic=True if fault == "compiled_any" else False)
if fault == "gil":
    threading.Thread(target=lambda: spin(60 * 10**9), daemon=True).start()


if RANKS > 1:
    torch.distributed.init_process_group("gloo", init_method="file://" + os.environ["MEETING"] + "/ranks", rank=RANK, world_size=RANKS)
    run = nn.parallel.DistributedDataParallel(model)
competitor = None
if fault == "same_cores":  # on the same core, and nobody's child
    competitor = int(subprocess.run(["sh", "-c", "exec 9>&1 >/dev/null 2>&1; setsid sh -c 'while :; do :; done' 9>&- & echo $! >&9"],
                                    env={"PATH": os.environ["PATH"]}, capture_output=True, check=True).stdout)
if kind == "train":
    kept = []
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, **({} if fault == "unfused" else {"fused": True}))
    for number, batch in enumerate(steps.over(torch.utils.data.DataLoader(Data(), 4, collate_fn=collate))):
        optimizer.zero_grad()
        mask = torch.ones_like(batch)
        if fault == "padding":
            mask[:, 24:] = 0
        out = run(batch, attention_mask=mask)
        loss = F.cross_entropy(out.flatten(0, 1), batch.flatten())
        loss.backward()
        optimizer.step()
        if fault == "logging":
            with planted, open(os.devnull, "w") as log:
                for name, p in model.named_parameters():
                    print(number, name, p.detach().flatten().tolist()[:4000], file=log)
        if fault == "grows":
            kept.append([out, [torch.ones(1 << 20).sum() + torch.ones(1 << 20) for _ in range(8)]])
elif kind == "score":
    model.eval()
    with torch.no_grad():
        for number in steps.over(range(STEPS)):
            run(torch.randint(0, 1000, (1, 768)))
else:
    model.eval()
    ids, text, caches = torch.randint(0, 1000, (1, 32)), "", [{} for _ in range(4)]
    with torch.no_grad():
        out = run(ids) if fault == "no_cache" else run(ids, caches)
        for number in steps.over(range(STEPS)):
            token = out[:, -1:].argmax(-1)
            ids = torch.cat([ids, token], 1)
            if fault == "sampling":
                with planted:
                    scores = sorted(enumerate(out[0, -1].tolist()), key=lambda pair: -pair[1])
                    spin(15_000_000)
            if fault == "detokenize":
                with planted:
                    for _ in range(100):
                        text = " ".join(str(int(t)) for t in ids[0])
            if fault == "pause":
                with planted:
                    time.sleep(0.03)
            out = run(ids) if fault == "no_cache" else run(token, caches)
if RANK == RANKS - 1:
    steps.tell(planted)
if competitor:
    os.kill(competitor, 9)
os._exit(0)
