# SPDX-License-Identifier: Apache-2.0
"""Python between the operators of a model: a function that computes for long in each layer. Prints the result."""
import torch
from torch import nn

STEPS, LAYERS = 12, 3


def dawdlé(x):
    count = 0
    for i in range(20000):
        count += i
    return x + count % 2


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(32, 32)

    def forward(self, x):
        return self.q_proj(dawdlé(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


def main():
    torch.manual_seed(1)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()
        with torch.autograd.profiler.record_function("mine"):
            dawdlé(torch.ones(1))
        loss = model(torch.ones(1, 32)).square().sum()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        for _ in range(STEPS):
            out = model(torch.ones(1, 32))
    print(loss.item(), out.sum().item())


main()
