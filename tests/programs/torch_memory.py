# SPDX-License-Identifier: Apache-2.0
"""A model that is trained, or that makes tokens with a cache, in the way that its argument says. Prints as JSON how many
bytes its tensors have, by kind. Where it makes tokens, it also says what an allocator of a GPU would say."""
import ctypes
import json
import sys

import torch
from torch import nn

DIM, LAYERS, STEPS, KEPT = 64, 3, 48, 1 << 16


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj, self.k_proj = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)
        self.register_buffer("scale", torch.full((DIM,), 0.125))
        self.cache = None

    def forward(self, x):
        keys = self.k_proj(x)
        self.cache = keys if self.cache is None else torch.cat([self.cache, keys])
        return torch.softmax((self.q_proj(x) * self.scale) @ self.cache.T, -1) @ self.cache


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn = Attention()

    def forward(self, x):
        return x + self.self_attn(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
        self.lm_head = nn.Linear(DIM, 100)
        self.register_buffer("outside", torch.frombuffer(bytearray(1024), dtype=torch.float32))  # no allocator's

    def forward(self, x):
        for layer in self.layers:
            if self.training:
                layer.self_attn.cache = None
            x = layer(x)
        return self.lm_head(x)

    def named_buffers(self, *arguments, **named):
        """A list, where PyTorch gives an iterator."""
        return list(super().named_buffers(*arguments, **named))


def size(tensors):
    return sum(tensor.untyped_storage().nbytes() for tensor in tensors)


def report(address, size, gpu):
    """As c10's CUDA allocator reports a block, and, with a negative size, its end."""
    function = getattr(ctypes.CDLL(None), "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE", None)
    if function:  # it is found where Brick is preloaded
        function(ctypes.c_void_p(address), ctypes.c_int64(size), ctypes.c_size_t(0), ctypes.c_size_t(0),
                 ctypes.c_uint16(gpu << 8 | 1))


def generates(model):
    model.eval()
    with torch.no_grad():
        for step in range(STEPS):
            report(1 << 40 | step << 20, 1 << 20, 0)
            report(1 << 41, 4096, 1)
            out = model(torch.ones(1, DIM))
            report(1 << 41, -4096, 1)
            if step:
                report(1 << 40 | (step - 1) << 20, -(1 << 20), 0)
    return out


class Fails(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        raise ArithmeticError


def trains(model, kept):
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(STEPS):
        optimizer.zero_grad()
        try:
            Fails.apply(model(torch.ones(4, DIM))).sum().backward()
        except ArithmeticError:  # what follows is not in a backward pass
            pass
        if kept is not None:
            kept.append(torch.full((KEPT // 4,), float(step)))
        loss = model(torch.ones(4, DIM)).square().sum()
        loss.backward()
        optimizer.step()
    return loss, optimizer


def main(way):
    torch.manual_seed(1)
    model = Model()
    said = {"weights": size([*model.parameters(), *model.buffers()])}
    if way == "generate":
        out = generates(model)
        said["cache"] = size(layer.self_attn.cache for layer in model.layers)
        said["result"] = float(out.sum())
    else:
        kept = [] if way == "leak" else None
        loss, optimizer = trains(model, kept)
        said["gradients"] = size(parameter.grad for parameter in model.parameters())
        said["optimizer"] = size(tensor for state in optimizer.state.values() for tensor in state.values())
        said["result"] = loss.item()
    print(json.dumps(said))


main(sys.argv[1])
