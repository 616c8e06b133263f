# SPDX-License-Identifier: Apache-2.0
"""What integration/pytorch_ranks.py records: ranks that train together over gloo, as torchrun starts them. It knows
nothing of Brick. torch_ranks.py WAY[+WAY]: in each step of DDP another rank computes longer than the others. Rank 0 prints
what came out, and how often each rank begins each collective, with how many bytes, as JSON."""
import hashlib
import json
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

STEPS, WIDTH = 4, 64


class Slow(nn.Module):
    """Work that one rank has and the others do not."""

    def forward(self, x, times):
        for _ in range(times):
            x = torch.sin(x)
        return x


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH)) for _ in range(2))
        self.slow = Slow()

    def forward(self, x, times):
        x = x + 0 * self.slow(x, times)
        for layer in self.layers:
            x = x + layer(x)
        return x


def digest(model):
    return hashlib.sha256(b"".join(w.detach().numpy().tobytes() for w in model.parameters())).hexdigest()[:16]


def ddp(rank, world):
    """Gradients are averaged in one bucket, as there are few; the gradients of each step are looked at."""
    sent = []
    model = Model()
    made = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(made.parameters(), lr=0.01)
    for step in range(STEPS):
        x = torch.randn(8, WIDTH)
        F.mse_loss(made(x, 3000 if step % world == rank else 1), x.roll(1, 0)).backward()
        sent.append(4 * sum(w.grad.numel() for w in model.parameters()))
        optimizer.step()
        optimizer.zero_grad()
    return digest(model), {"AllReduce": [STEPS, sum(sent)]}


def fsdp(rank, world):
    from torch.distributed.fsdp import fully_shard
    model = Model()
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(STEPS):
        x = torch.randn(8, WIDTH)
        F.mse_loss(model(x, 1), x.roll(1, 0)).backward()
        optimizer.step()
        optimizer.zero_grad()
    # each layer is gathered for forward and for backward, and its gradients are scattered once
    gathered = sum(w.to_local().numel() * 4 for w in model.parameters()) * 2 * STEPS
    scattered = sum(w.numel() * 4 for w in model.parameters()) * STEPS
    whole = [w.full_tensor().detach().numpy().tobytes() for w in model.parameters()]
    return hashlib.sha256(b"".join(whole)).hexdigest()[:16], {
        "AllGather": [2 * 2 * STEPS, gathered], "ReduceScatter": [2 * STEPS, scattered]}


def by_hand(rank, world):
    """Collectives that the program calls itself: one that waits, one that it waits for later."""
    x = torch.full((1000,), float(rank))
    dist.all_reduce(x)
    work = dist.all_reduce(x, async_op=True)
    torch.sin(torch.ones(100))
    work.wait()
    parts = [torch.empty(10) for _ in range(world)]
    dist.all_gather(parts, torch.full((10,), float(rank)))
    dist.broadcast(x, 0)
    dist.barrier()
    return hashlib.sha256(x.numpy().tobytes()).hexdigest()[:16], {
        "AllReduce": [2, 8000], "AllGather": [1, 40], "Broadcast": [1, 4000]}


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    for way in sys.argv[1].split("+"):
        torch.manual_seed(1)
        out, counts = {"ddp": ddp, "fsdp": fsdp, "hand": by_hand}[way](rank, world)
        if not rank:
            print(json.dumps({"way": way, "out": out, "counts": counts}), flush=True)
        dist.barrier()
    dist.destroy_process_group()
    # A thread of gloo's may hold the last reference to a tensor of Python's. PyTorch 2.13 aborts if that thread asks for the
    # interpreter's lock while Python ends, so Python does not end.
    sys.stdout.flush()
    os._exit(0)
