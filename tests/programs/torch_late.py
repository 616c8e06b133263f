# SPDX-License-Identifier: Apache-2.0
"""Ranks of torchrun over gloo that do the same, or of which one is slower in one brick: torch_late.py STEPS RANK PERCENT
MS [sleep|cpu|ddp|fsdp]. Rank RANK (-1: none) takes PERCENT longer in Solve, which takes MS. Work is sleep, so that there
may be more ranks than CPUs, or, with `cpu`, CPU time. With `ddp` and `fsdp` a small model is trained, and up_proj of its
second layer multiplies more, by PERCENT of a step's products. It knows nothing of Brick."""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.profiler import record_function

WIDTH, LAYERS = 256, 2


def work(name, seconds, is_cpu):
    with record_function(name):
        until = time.thread_time() + seconds
        while is_cpu and time.thread_time() < until:
            pass
        if not is_cpu:
            time.sleep(seconds)


class Mlp(nn.Module):
    def __init__(self, share):
        super().__init__()
        self.up_proj, self.down_proj = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.share = share

    def forward(self, x):
        if self.share:
            with torch.no_grad():
                self.up_proj(x[:int(len(x) * self.share)])
        return x + self.down_proj(torch.relu(self.up_proj(x)))


class Model(nn.Module):
    """A step is three products for each of two linear layers; up_proj is a sixth of its layer."""

    def __init__(self, share):
        super().__init__()
        self.layers = nn.ModuleList(Mlp(share * (i == 1)) for i in range(LAYERS))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def train(steps, share, rows, way):
    torch.manual_seed(1)
    model = Model(share * 6 * LAYERS)
    if way == "ddp":
        model = nn.parallel.DistributedDataParallel(model)
    else:
        from torch.distributed.fsdp import fully_shard
        for layer in model.layers:
            fully_shard(layer)
        fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        model(torch.randn(rows, WIDTH)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def main():
    steps, slow, longer = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 100
    solve, way = float(sys.argv[4]) / 1000, (sys.argv[5:] or ["sleep"])[0]
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    longer *= dist.get_rank() == slow
    if way in ("ddp", "fsdp"):
        train(steps, longer, int(solve * 10000), way)
        steps = 0
    own = torch.ones(256)
    for _ in range(steps):
        work("Assemble", solve / 4, way == "cpu")
        work("Solve", solve * (1 + longer), way == "cpu")
        work("Update", solve / 4, way == "cpu")
        dist.all_reduce(own)
        own /= dist.get_world_size()
    dist.barrier()
    dist.destroy_process_group()
    # see torch_ranks.py: Python does not end
    sys.stdout.flush()
    os._exit(0)


main()
