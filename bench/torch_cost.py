#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs to watch a PyTorch decoder: nothing, Brick, Brick with functions (--sample), torch.profiler, and
torch.profiler with stacks, in turns in one run, so that all see the same machine. Prints the least CPU time of a token
of each and its ratio to nothing, the time from the end of the work to a file that can be read, and the bytes of that
file for each operator. Then what a call of an outermost module, which is a step, takes more with Brick: the median of all
rounds of the least CPU time.

usage: torch_cost.py [--rounds N] [--python PATH]      PATH: an interpreter with PyTorch; PyPI's 2.13 without it"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BRICK = os.path.join(ROOT, "build", "bin", "brick")
PROGRAM = '''
import json, os, sys, time, torch
from torch import nn
width, tokens, mode, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
torch.set_num_threads(1)
torch.manual_seed(0)
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(width, width) for _ in range(4))
        self.gate_proj, self.up_proj, self.down_proj = nn.Linear(width, 3 * width), nn.Linear(width, 3 * width), nn.Linear(3 * width, width)
        self.keys = torch.randn(1, 8, 256, width // 8)
    def forward(self, x):
        h = self.norm(x)
        q = self.q_proj(h).view(1, 8, 1, width // 8)
        self.k_proj(h), self.v_proj(h)
        a = nn.functional.scaled_dot_product_attention(q, self.keys, self.keys).reshape(1, 1, width)
        x = x + self.o_proj(a)
        h = self.norm2(x)
        return x + self.down_proj(nn.functional.silu(self.gate_proj(h)) * self.up_proj(h))
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.layers, self.lm_head = nn.Embedding(1000, width), nn.ModuleList([Layer() for _ in range(6)]), nn.Linear(width, 1000)
    def forward(self, input_ids):
        x = self.embed(input_ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(x)
model = Model().eval()
took, profile = [], None
if mode.startswith("profiler"):
    profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], with_stack=mode.endswith("stacks"))
token = torch.zeros(1, 1, dtype=torch.long)
with torch.no_grad():
    for _ in range(5):
        model(token)
    if profile:
        profile.start()
    for _ in range(tokens):
        begin = time.thread_time_ns()
        token = model(token).argmax(-1)
        took.append(time.thread_time_ns() - begin)
end, operators = time.time(), 0
if profile:
    profile.stop()
    profile.export_chrome_trace(path)
    end = time.time() - end
print(json.dumps({"took": sorted(took), "end": end, "token": int(token)}))
'''
CALLS = '''
import json, time, torch
class Model(torch.nn.Module):
    def forward(self, *inputs, **named):
        return None
model, least = Model().eval(), {}
one = lambda *shape: torch.ones(*shape, dtype=torch.long)
inputs = {"numbers": dict(x=torch.ones(4)),
          "a token, a cache and a mask": dict(input_ids=one(1, 1), past_key_values=[torch.ones(1, 8, 16, 8)], attention_mask=one(1, 17)),
          "a prompt of two sequences": dict(input_ids=one(2, 16), attention_mask=one(2, 16))}
with torch.no_grad():
    for _ in range(200):
        for name, given in inputs.items():
            begin = time.thread_time_ns()
            for _ in range(50):
                model(**given)
            took = (time.thread_time_ns() - begin) / 50
            least[name] = min(least.get(name, took), took)
print(json.dumps(least))
'''
options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument("--rounds", type=int, default=4)
options.add_argument("--python", default=None)
options = options.parse_args()
python = options.python or subprocess.run([os.path.join(ROOT, "examples", "demo", "torch.sh"), "torch-2.13.0"],
                                          capture_output=True, text=True, check=True).stdout.strip()
MODES = "nothing", "brick", "brick --sample", "profiler", "profiler with stacks"
with tempfile.TemporaryDirectory() as scratch:
    for width, tokens in (256, 300), (1024, 100):
        least, said, answers = {}, {}, set()
        for _ in range(options.rounds):
            for mode in MODES:
                is_ours = mode.startswith("brick")
                path = os.path.join(scratch, "run.pftrace" if is_ours else "trace.json")
                program = [python, "-c", PROGRAM, str(width), str(tokens), mode, path]
                command = [BRICK, "record", *mode.split()[1:], "-o", path, "--", *program] if is_ours else program
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                over = time.time()
                answer = json.loads(done.stdout)
                answers.add(answer["token"])
                median = answer["took"][len(answer["took"]) // 4]
                least[mode] = min(least.get(mode, median), median)
                if mode == "nothing":
                    continue
                if is_ours:
                    report = subprocess.run([BRICK, "export", "--format", "csv", path], capture_output=True, text=True, check=True)
                    operators, ready = report.stdout.count("aten::"), over - answer["end"]
                else:
                    with open(path, encoding="utf-8") as file:
                        operators = file.read().count('"cat": "cpu_op"')
                    ready = answer["end"]
                said[mode] = (min(ready, said.get(mode, (ready,))[0]), os.path.getsize(path) / operators)
        same = "equal" if len(answers) == 1 else "DIFFERENT"
        for mode in MODES:
            ready, size = said.get(mode, (0, 0))
            more = f", readable {ready:.2f} s after the last token, {size:.0f} bytes an operator" if mode in said else ""
            print(f"{least[mode] / 1e6:6.2f} ms a token, {100 * (least[mode] / least['nothing'] - 1):+6.1f} %  {mode}{more}")
        print(f"outputs are {same}")
    calls = []
    for _ in range(options.rounds):
        command = [python, "-c", CALLS]
        recorded = [BRICK, "record", "-o", os.path.join(scratch, "run.pftrace"), "--", *command]
        plain, ours = (json.loads(subprocess.run(each, capture_output=True, text=True, check=True).stdout) for each in (command, recorded))
        calls.append({name: ours[name] - plain[name] for name in plain})
    for name in calls[0]:
        print(f"{statistics.median(call[name] for call in calls) / 1e3:+6.1f} us a call of an outermost module, with {name}")
