# SPDX-License-Identifier: Apache-2.0
"""Trains a small model and makes tokens in sessions of its own, where its arguments name files; prints what it computes,
and how many bytes its tensors have."""
import json
import os
import sys

import brick

try:
    brick.attach_torch()
except brick.BrickError as error:
    assert "import torch first" in str(error), error
else:
    raise SystemExit("PyTorch was attached before it was there")

import torch  # pylint: disable=wrong-import-position
from torch import nn  # pylint: disable=wrong-import-position

STEPS = 5


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Sequential(nn.Linear(16, 16), nn.ReLU()) for _ in range(2)])
        self.lm_head = nn.Linear(16, 9)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(x)


def train(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = model(torch.ones(3, 16)).square().sum()
        loss.backward()
        optimizer.step()
    return loss.item()


def evaluate(model):
    with torch.no_grad():
        return [model.eval()(torch.ones(1, 16)).sum().item() for _ in range(STEPS)]


def main(files):
    torch.manual_seed(1)
    model, said = Model(), {}
    for name, work, file in zip(("trained", "evaluated"), (train, evaluate), files or (None, None)):
        if file:
            with brick.record(file):
                said[name] = work(model)
        else:
            said[name] = work(model)
    said["between"] = evaluate(model)  # in no session
    said["gradients"] = sum(parameter.grad.untyped_storage().nbytes() for parameter in model.parameters())
    print(json.dumps(said))
    assert "BRICK_SESSION_DIR" in os.environ or not brick.enabled()


main(sys.argv[1:])
