# SPDX-License-Identifier: Apache-2.0
"""Imported traces of a job's ranks are one job: Kineto says rank and world, NCCL's kernels are the collectives, clocks are
aligned by them, and the rank whose GPU is 5 % slower in one brick is named with the brick."""
import json
import os
import random

from libcli import *

RANKS, STEPS, SLOW = 4, 60, 2


def expect(condition, what):
    if not condition:
        fail(str(what))


def kernel(name, stream, begin, end, **args):
    args |= {"device": 0, "context": 1, "stream": stream, "correlation": 0, "grid": [8, 1, 1], "block": [256, 1, 1]}
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": begin, "dur": end - begin, "args": args}


def job(seed):
    """Kernels of each rank, in us of true time: work, then a collective that ends 12 us after all have come."""
    chance = random.Random(seed)
    events = [[] for _ in range(RANKS)]
    free = [0.0] * RANKS
    for _ in range(STEPS):
        came = []
        for rank in range(RANKS):
            at = free[rank] + 20
            for name, us in ("ampere_sgemm_128x64_tn", 400), ("flash_fwd_kernel", 400), ("ampere_sgemm_64x64_nn", 200):
                us *= chance.uniform(0.995, 1.005) * (1.05 if rank == SLOW and name.startswith("flash") else 1)
                events[rank].append((name, 7, at, at + us))
                at += us
            came.append(at)
        for rank in range(RANKS):
            free[rank] = max(came) + 12 + chance.uniform(0, 3)
            events[rank].append(("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20, came[rank], free[rank]))
    return events


def write(rank, events, shift, rate, world=RANKS):
    collective = {"Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": world, "dtype": "Float",
                  "Process Group Name": "0", "Process Group Description": "default_pg"}
    trace = {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world}, "traceEvents": [
        kernel(name, stream, shift + begin * rate, shift + end * rate, **(collective if "nccl" in name else {}))
        for name, stream, begin, end in events]}
    path = os.path.join(TMP, f"rank{rank}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(trace, file)
    to = os.path.join(TMP, "job", f"rank{rank}.pftrace")
    brick("import", "-o", to, path)
    return to


os.mkdir(os.path.join(TMP, "job"))
files = [write(rank, events, 3.6e9 * (7 - rank), 1 + rank * 40e-6) for rank, events in enumerate(job(1))]
found = brick_json("report", "--json", os.path.join(TMP, "job"))
rows = found["ranks"]
expect([(row["rank"], row["world"], row["collectives"], row["bytes"]) for row in rows] ==
       [(rank, RANKS, STEPS, 4000 * STEPS) for rank in range(RANKS)], rows)
expect((found["collectives"], found["disordered"]) == (STEPS, 0), found)
late = max(rows, key=lambda row: row["caused_ns"])
# 5 % of 400 us in 59 steps
expect((late["rank"], late["longer_in"]) == (SLOW, "FlashAttention") and 0.8e6 < late["longer_ns"] < 1.6e6, late)
expect(late["last"] > STEPS - 5, late)
expect([row["is_late"] for row in rows] == [rank == SLOW for rank in range(RANKS)], rows)
# the GPU that waits for nobody makes all of it last: 60 collectives, 20 us of work more than the others
path = found["path"]
expect([(part["rank"], part["brick"]) for part in path["parts"][:2]] == [(SLOW, "MatrixProduct"), (SLOW, "FlashAttention")], path)
expect(late["path_ns"] > 0.9 * path["whole_ns"] and abs(path["exchange_ns"] - (STEPS - 1) * 13.5e3) < 0.2e6, path)
for rank, row in enumerate(rows):
    # both ends of 62 ms are within the bound
    expect(rank == 0 or abs(row["clock_drift"] - rank * 40e-6) * 62e6 < 2 * row["clock_bound_ns"] < 120e3, row)
    # idle 20 us, work, and what chance adds; from the second step on
    expect(abs(row["work_ns"] - (STEPS - 1) * (1020e3 + (20e3 if rank == SLOW else 0))) < 1e6, row)
expect(b"rank 2 was last at " in brick("report", *files)[0], "text")

# a group of some ranks is no collective of all
with open(os.path.join(TMP, "rank0.json"), encoding="utf-8") as file:
    trace = json.load(file)
for event in trace["traceEvents"]:
    if "Group size" in event["args"]:
        event["args"]["Group size"] = 2
with open(os.path.join(TMP, "part.json"), "w", encoding="utf-8") as file:
    json.dump(trace, file)
brick("import", "-o", files[0], os.path.join(TMP, "part.json"))
expect(brick_json("report", "--json", *files)["ranks"][0]["collectives"] == 0, "collectives of a part")
