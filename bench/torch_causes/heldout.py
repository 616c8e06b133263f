# SPDX-License-Identifier: Apache-2.0
"""As planted.py, and written after the rules: other models (of images, a classifier of text, transformers' GPT-2), shapes
and places for the same causes. heldout.py FAULT"""
import os
import queue
import sys
import threading
import time
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint_sequential

from measured import Planted, Steps, spin

fault = sys.argv[1]
CAUSES = {
    "slow_files": ("images", "clean_images", r"data-loader"), "slow_augment": ("images", "clean_images", r"data-loader"),
    "pad_collate": ("text", "clean_text", r"data-loader"), "batch_sizes": ("mlp", "compiled_mlp", r"compilation-in-steps"),
    "prints": ("mlp", "compiled_mlp", r"graph-breaks"), "numpy_doubles": ("mlp", "clean_mlp", r"computes-in-float64"),
    "bfloat16_old": ("rows", "clean_rows", r"half-without-instructions"),
    "transposed": ("text", "clean_text", r"tensor-copies"), "omp": ("text", "clean_text", r"oversubscribed"),
    "segments": ("images", "clean_images", r"recomputation"), "adam_loop": ("mlp", "clean_mlp", r"optimizer-not-fused"),
    "histograms": ("mlp", "clean_mlp", r"host-works"), "accuracy": ("text", "clean_text", r"element-reads"),
    "prefetcher": ("text", "clean_text", r"interpreter-lock"), "history": ("images", "clean_images", r"memory-growth"),
    "manual_heads": ("long", "clean_long", r"attention-not-fused"), "uncached": ("gpt2", "clean_gpt2", r"prompt-repeated"),
    "longest": ("gpt2_batch", "short_gpt2", r"padding"), "beam_sort": ("gpt2", "clean_gpt2", r"host-works|slow-sampling"),
    "rate_limit": ("gpt2", "clean_gpt2", r"host-pauses"),
}
CLEAN = {"clean_images": "images", "clean_text": "text", "clean_mlp": "mlp", "compiled_mlp": "mlp", "clean_rows": "rows",
         "clean_long": "long", "clean_gpt2": "gpt2", "short_gpt2": "gpt2_batch"}
kind = CAUSES[fault][0] if fault in CAUSES else CLEAN[fault]
if fault == "bfloat16_old":
    os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"  # as on a CPU without AVX512-BF16
STEPS = 20
planted, steps = Planted(fault in ("slow_files", "rate_limit")), Steps()


class Files(torch.utils.data.Dataset):
    def __init__(self, make, count, size):
        self.make, self.count, self.size = make, count, size

    def __len__(self):
        return self.count * self.size

    def __getitem__(self, i):
        if fault == "slow_files":
            with planted:
                time.sleep(0.006)
        if fault == "slow_augment":
            with planted:
                spin(5_000_000)
        return self.make(i)


class Text(nn.Module):
    """Encoder layers as PyTorch has them, and a classifier."""
    def __init__(self, width=192, heads=6):
        super().__init__()
        self.words, self.heads, self.width = nn.Embedding(500, width), heads, width
        self.blocks = nn.ModuleList(nn.ModuleDict({"qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width),
                                                   "norm1": nn.LayerNorm(width), "norm2": nn.LayerNorm(width),
                                                   "ffn": nn.Sequential(nn.Linear(width, 3 * width), nn.ReLU(), nn.Linear(3 * width, width))})
                                    for _ in range(3))
        self.score = nn.Linear(width, 5)

    def forward(self, ids):
        x = self.words(ids)
        for block in self.blocks:
            q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in block["qkv"](block["norm1"](x)).chunk(3, -1))
            if fault == "manual_heads":
                scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * (self.width // self.heads) ** -0.5
                mixed = torch.einsum("bhqk,bhkd->bhqd", scores.float().softmax(-1), v)
            else:
                mixed = F.scaled_dot_product_attention(q, k, v)
            if fault == "transposed":  # the backward pass copies, too
                for _ in range(40):
                    mixed = mixed.transpose(-1, -2).clone(memory_format=torch.contiguous_format).transpose(-1, -2).contiguous()
            x = x + block["out"](mixed.transpose(1, 2).flatten(2))
            x = x + block["ffn"](block["norm2"](x))
        return self.score(x.mean(1))


class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.rest = nn.Linear(64, 512), nn.ModuleList(nn.Linear(512, 512) for _ in range(3))
        self.last = nn.Linear(512, 10)

    def forward(self, x):
        x = F.silu(self.first(x))
        for layer in self.rest:
            x = F.silu(layer(x))
            if fault == "prints":
                for _ in range(8):
                    x = x * 1.0
                    print(end="")
        return self.last(x)


def train(model, batches, **options):
    run = model
    if fault in ("batch_sizes", "prints", "compiled_mlp"):
        run = torch.compile(model, backend="aot_eager", dynamic=fault == "compiled_mlp" and None)
    lists = fault == "adam_loop"
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, weight_decay=0.01, foreach=lists or None, fused=None if lists else True)
    history, right = [], 0
    for x, y in steps.over(batches):
        out = checkpoint_sequential(model, 3, x, use_reentrant=False) if fault == "segments" else run(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if fault == "histograms":
            with planted, open(os.devnull, "w") as log:
                for name, p in model.named_parameters():
                    values = sorted(p.grad.flatten().tolist())
                    log.write(f"{name} {values[::1000]}")
        if fault == "accuracy":
            with planted:
                for row, wanted in zip(out.detach().repeat(700, 1), y.repeat(700)):
                    right += int(row.argmax()) == int(wanted)
        if fault == "history":
            history.append(loss + sum(torch.randn(1 << 20).square().mean() for _ in range(2)))
            history.append(torch.zeros(3 << 20).add_(1))


torch.manual_seed(1)
torch.set_num_threads(12 if fault == "omp" else 1)
if fault == "prefetcher":
    def prefetch(out):
        while True:
            text = " ".join(str(i) for i in range(300)).split()
            if out.qsize() < 4:
                out.put(len(text))
    threading.Thread(target=prefetch, args=(queue.Queue(),), daemon=True).start()
loader = torch.utils.data.DataLoader
if kind == "images":
    convolutions = nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.Conv2d(24, 48, 3, stride=2, padding=1),
                                 nn.ReLU(), nn.Conv2d(48, 48, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 10))
    train(convolutions, loader(Files(lambda i: (torch.full((3, 32, 32), i / 100.0), i % 10), STEPS, 8), 8))
elif kind == "text":
    def joined(samples):
        if fault == "pad_collate":
            with planted:
                spin(30_000_000)
        return torch.stack([x for x, _ in samples]), torch.tensor([y for _, y in samples])
    train(Text(), loader(Files(lambda i: (torch.arange(i, i + 64) % 500, i % 5), STEPS, 6), 6, collate_fn=joined))
elif kind == "mlp":
    model = Wide()
    rows = torch.randn(4096, 64)
    if fault == "numpy_doubles":
        model, rows = model.double(), torch.from_numpy(rows.numpy().astype("float64"))
    sizes = [128 - 8 * (i % 7) if fault == "batch_sizes" else 128 for i in range(STEPS)]
    train(model, ((rows[:n], torch.arange(n) % 10) for n in sizes))
elif kind in ("rows", "long"):
    model = (Wide() if kind == "rows" else Text()).eval()
    if fault == "bfloat16_old":
        model = model.bfloat16()
    with torch.inference_mode():
        for _ in steps.over(range(STEPS)):
            model(torch.randn(512, 64).to(next(model.parameters()).dtype) if kind == "rows" else torch.randint(0, 500, (1, 1200)))
else:
    from transformers import GPT2Config, GPT2LMHeadModel
    model = GPT2LMHeadModel(GPT2Config(n_embd=128, n_layer=3, n_head=4, vocab_size=600, n_positions=256)).eval()
    ids = torch.randint(1, 600, (1, 40))
    with torch.inference_mode():
        if kind == "gpt2":
            past, out = None, None
            for i in steps.over(range(2 * STEPS)):
                out = model(ids, use_cache=False) if fault == "uncached" else model(ids if past is None else ids[:, -1:], past_key_values=past)
                past = None if fault == "uncached" else out.past_key_values
                best = out.logits[:, -1:].argmax(-1)
                if fault == "beam_sort":
                    with planted:
                        ranked = sorted(((float(score), i) for i, score in enumerate(out.logits[0, -1].tolist())), reverse=True)
                        spin(8_000_000)
                if fault == "rate_limit":
                    with planted:
                        time.sleep(0.02)
                ids = torch.cat([ids, best], 1)
        else:
            for i in steps.over(range(STEPS)):
                length = 40 if fault == "short_gpt2" else 160
                mask = torch.ones(6, length, dtype=torch.long)
                mask[:, 40:] = 0
                model(torch.randint(1, 600, (6, length)), attention_mask=mask)
steps.tell(planted)
os._exit(0)
