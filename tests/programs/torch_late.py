# SPDX-License-Identifier: Apache-2.0
"""Ranks of torchrun over gloo that do the same, or of which one is slower in one brick: torch_late.py STEPS RANK PERCENT
MS. Rank RANK (-1: none) takes PERCENT longer in Solve, which takes MS. Work is sleep, so that there may be more ranks than CPUs. It knows
nothing of Brick."""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.profiler import record_function


def work(name, seconds):
    with record_function(name):
        time.sleep(seconds)


def main():
    steps, slow, longer = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 100
    solve = float(sys.argv[4]) / 1000
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    own = torch.ones(256)
    for _ in range(steps):
        work("Assemble", solve / 4)
        work("Solve", solve * (1 + longer * (dist.get_rank() == slow)))
        work("Update", solve / 4)
        dist.all_reduce(own)
        own /= dist.get_world_size()
    dist.barrier()
    dist.destroy_process_group()
    # see torch_ranks.py: Python does not end
    sys.stdout.flush()
    os._exit(0)


main()
