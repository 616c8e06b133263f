# SPDX-License-Identifier: Apache-2.0
"""Programs not written here, where they are there: the same output under `brick record`, kernels that were
recorded, none lost without being counted. others.py OUT torch|llama; environment BRICK_BUILD, and GPU_LLAMA,
a command. Exit 77: it is not there."""
import json
import os
import shlex
import subprocess
import sys

BRICK = os.path.join(os.environ["BRICK_BUILD"], "bin", "brick")
TORCH = """
import sys, torch
torch.manual_seed(0)
layer = torch.nn.Linear(512, 512).cuda().half()
x = torch.ones(64, 512, device="cuda", dtype=torch.half)
def step(x):
    return torch.relu(layer(x))
with torch.no_grad():
    for _ in range(3):
        y = step(x)
    torch.cuda.synchronize()
    if sys.argv[1] == "eager":
        for _ in range(50):
            y = step(x)
    elif sys.argv[1] == "graph":
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = step(x)
        for _ in range(50):
            graph.replay()
    else:
        step = torch.compile(step)
        for _ in range(10):
            y = step(x)
    torch.cuda.synchronize()
print(float(y.float().sum()))
"""


def recorded(out, name, command):
    """Problems, a line each."""
    path = os.path.join(out, name + ".pftrace")
    alone = subprocess.run(command, capture_output=True, text=True, check=False)
    run = subprocess.run([BRICK, "record", "-q", "-o", path, "--", *command], capture_output=True, text=True,
                         check=False)
    wrong = []
    if (run.stdout, run.returncode) != (alone.stdout, alone.returncode):
        wrong.append(f"{name}: output or exit code differ: {run.stdout[:200]!r} {alone.stdout[:200]!r}")
    report = json.loads(subprocess.check_output([BRICK, "report", "--by", "kernel", "--json", path]))
    count = sum(row["count"] for row in report["kernels"])
    print(f"{name}: {count} commands, losses {report['losses']}")
    for note in report["run"]["notes"]:
        if note["key"].startswith("cuda"):
            print("     ", note["key"], note["value"])
    if not count:
        wrong.append(f"{name}: no command was recorded")
    return wrong


def main():
    out, what = sys.argv[1:3]
    if what == "torch":
        if subprocess.run([sys.executable, "-c", "import torch; assert torch.cuda.is_available()"],
                          capture_output=True, check=False).returncode:
            return 77
        commands = {"torch-" + way: [sys.executable, "-c", TORCH, way] for way in ("eager", "graph", "compile")}
    elif os.environ.get("GPU_LLAMA"):
        commands = {"llama": shlex.split(os.environ["GPU_LLAMA"])}
    else:
        return 77
    wrong = []
    for name, command in commands.items():
        wrong += recorded(out, name, command)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
