# SPDX-License-Identifier: Apache-2.0
"""What integration/pytorch.py records: a decoder of generated weights and a network of convolutions. It knows nothing of
Brick. torch_work.py WORK[+WORK] STEPS prints what it computed; with `profile` behind that, what PyTorch's own profiler
saw, as JSON, with `inner` of the operators inside of others; with `flops`, how many its own counter counted."""
import hashlib
import json
import sys
import threading

import torch
from torch import nn
from torch.nn import functional as F

LAYERS, WIDTH, HEADS = 4, 256, 4


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        for name in "q_proj", "k_proj", "v_proj", "o_proj":
            setattr(self, name, nn.Linear(WIDTH, WIDTH))

    def forward(self, x):
        rows, length, _ = x.shape
        q, k, v = (p(x).view(rows, length, HEADS, -1).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        weights = torch.softmax(torch.matmul(q, k.transpose(2, 3)) / 8.0, dim=-1)
        return self.o_proj(torch.matmul(weights, v).transpose(1, 2).reshape(rows, length, WIDTH))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj, self.up_proj = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(WIDTH, 2 * WIDTH)
        self.down_proj = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.self_attn, self.mlp = Attention(), Mlp()

    def forward(self, x):
        x = x + self.self_attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(500, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.lm_head = nn.Linear(WIDTH, 500)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.layers:
            x = block(x)
        return self.lm_head(x)


def network():
    return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(64, 10))


def digest(tensor):
    return hashlib.sha256(tensor.detach().contiguous().numpy().tobytes()).hexdigest()[:16]


def decode(steps):
    torch.manual_seed(1)
    model = Decoder().eval()
    with torch.no_grad():
        out = model(torch.arange(64).reshape(2, 32))
        for i in range(steps):
            out = model(torch.tensor([[i], [i + 1]]))
    return digest(out)


def parts(steps):
    """The same, where the program calls each part of the model by itself."""
    torch.manual_seed(1)
    model = Decoder().eval()
    with torch.no_grad():
        for i in range(steps):
            out = model.embed(torch.tensor([i]))
            for block in model.layers:
                out = block(out.reshape(1, 1, WIDTH))
            out = model.lm_head(out)
    return digest(out)


def see(steps):
    torch.manual_seed(2)
    model = network().eval()
    with torch.no_grad():
        for _ in range(steps):
            out = model(torch.randn(2, 3, 32, 32))
    return digest(out)


class Turns(nn.Module):
    """A transformation of what a data loader gives, as torchvision has them: it has no weights."""

    def forward(self, row):
        return row[0].flip(0), row[1]


class Turned(torch.utils.data.TensorDataset):
    turns = Turns()

    def __getitem__(self, index):
        return self.turns(super().__getitem__(index))


def train(steps, workers=0):
    torch.manual_seed(3)
    model = Decoder()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = Turned(torch.randint(0, 500, (4 * steps, 16)), torch.randint(0, 500, (4 * steps, 16)))
    for tokens, wanted in torch.utils.data.DataLoader(data, batch_size=4, num_workers=workers):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(tokens).reshape(-1, 500), wanted.reshape(-1))
        loss.backward()
        optimizer.step()
    return digest(model.lm_head.weight)


def compiled(steps):
    """As torch.compile sees it: one graph without a break."""
    torch.manual_seed(1)
    model = Decoder().eval()
    with torch.no_grad():
        model(torch.arange(64).reshape(2, 32))
        made = torch.compile(model, backend="eager", fullgraph=True)
        for _ in range(steps):
            out = made(torch.arange(64).reshape(2, 32))
    return digest(out), dict(torch._dynamo.utils.counters["stats"])


def recompiled(steps):
    """A function that is compiled for one shape after the other, with a break in it."""
    def twice(x):
        x = x * 2
        print("broken")  # the graph breaks here
        return x + 1

    torch.compile(nn.Identity(), backend="eager")(torch.ones(1))
    torch._dynamo.config.automatic_dynamic_shapes = False
    made = torch.compile(twice, backend="eager")
    with torch.no_grad():
        for i in range(1, steps + 1):
            out = made(torch.ones(i))
    return digest(out)


class Loops(nn.Module):
    def forward(self, x):
        for _ in range(3):
            x = x * 2
            print("looped")  # the graph breaks in a loop
        return x


def defaults(x, factor: int = 2):
    return x * factor


def scripted(steps):
    """TorchScript's compiler runs a function of that name, too, to know the values of defaults."""
    made = torch.jit.script(defaults)
    return digest([made(torch.ones(4)) for _ in range(steps)][-1])


def looped(steps):
    """A function that torch.compile leaves as it is."""
    made = torch.compile(Loops(), backend="eager")
    with torch.no_grad():
        return digest([made(torch.ones(4)) for _ in range(steps)][-1])


class Fails(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)])

    def forward(self, x, fail):
        x = self.layers[0](x)
        if fail:
            self.layers[1](x[:, :4])
        return self.layers[1](x)


def fail():
    """Exceptions out of a module, and out of a backward pass; afterwards all goes on."""
    torch.manual_seed(4)
    model = Fails().eval()
    for i in range(6):
        try:
            out = model(torch.ones(2, 8), i % 2)
        except RuntimeError:
            pass
    leaf = torch.ones(2, requires_grad=True)
    twice = (leaf * leaf).sum()
    twice.backward()
    try:
        twice.backward()
    except RuntimeError:
        pass
    return digest(out)


def many(steps):
    """One model after the other, each called once; every other dies, and another one may get its address."""
    kept = []
    with torch.no_grad():
        for i in range(1, steps + 1):
            model = nn.Sequential(nn.Linear(8, i)).eval()
            out = model(torch.ones(2, 8))
            kept += [model] * (i % 2)
    return tuple(out.shape)


def twins(steps):
    """Two models whose modules have the same paths, in turns."""
    makes, judges = (nn.Sequential(nn.Linear(*ends), nn.Linear(*ends[::-1])).eval() for ends in ((8, 16), (8, 64)))
    with torch.no_grad():
        for _ in range(steps):
            out = judges(makes(torch.ones(2, 8)))
    return digest(out)


def wide(steps):
    """A thousand modules: each step is as the first."""
    model = nn.Sequential(*[nn.Linear(4, 4) for _ in range(1000)]).eval()
    with torch.no_grad():
        for _ in range(steps):
            out = model(torch.ones(1, 4))
    return digest(out)


def beside(steps):
    """Another thread's model computes steps in the middle of this one's steps."""
    turn, back = threading.Semaphore(0), threading.Semaphore(0)

    def other():
        model = nn.Sequential(nn.Linear(8, 8)).eval()
        with torch.no_grad():
            for _ in range(steps):
                turn.acquire()
                model(torch.ones(2, 8))
                back.release()

    class Middle(nn.Module):
        def forward(self, x):
            turn.release()
            back.acquire()
            return x

    thread = threading.Thread(target=other)
    thread.start()
    with torch.no_grad():
        for i in range(1, steps + 1):
            out = nn.Sequential(nn.Linear(8, i), Middle(), nn.Linear(i, 8)).eval()(torch.ones(2, 8))
    thread.join()
    return tuple(out.shape)


def attend(steps):
    """Attention over more and more tokens, without modules and thus without steps."""
    for i in range(1, steps + 1):
        q, kv = torch.ones(2, 4, 3, 8), torch.ones(2, 4, i, 16)
        out = F.scaled_dot_product_attention(q, kv[..., :8], kv)
    return digest(out)


WORKS = {"decode": decode, "attend": attend, "beside": beside, "many": many, "twins": twins, "wide": wide, "parts": parts, "compiled": compiled, "recompiled": recompiled, "looped": looped, "scripted": scripted, "see": see, "train": train, "workers": lambda steps: train(steps, 2), "fail": lambda steps: fail()}


def is_operator(name):
    """Not a scope of Python's, nor what autograd's engine puts around each of its nodes."""
    return "#" not in name and not name.startswith("autograd::engine")


def outermost(events):
    """The operators that lie in no other, out of the profiler's tree."""
    for event in events:
        if is_operator(event.name):
            yield event
        else:
            yield from outermost(event.children)


def inner(events):
    """All that outermost operators call."""
    for event in events:
        yield from event.children
        yield from inner(event.children)


def profiled(names, steps, part):
    """By the name of an operator, an outermost one or of those that these call: how many ns each execution took."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        for name in names:
            WORKS[name](steps)
    rows = {}
    found = outermost(profile.profiler.kineto_results.experimental_event_tree())
    for event in inner(found) if part == "inner" else found:
        rows.setdefault(event.name, []).append(event.duration_time_ns)
    return rows


def counted(names, steps):
    """FLOPs of products and convolutions, as PyTorch's own counter has them."""
    from torch.utils.flop_counter import FlopCounterMode
    with FlopCounterMode(display=False) as counter:
        for name in names:
            WORKS[name](steps)
    return counter.get_total_flops()


if __name__ == "__main__":
    torch.set_num_threads(1)
    names, steps = sys.argv[1].split("+"), int(sys.argv[2])
    if sys.argv[3:] == ["flops"]:
        print(counted(names, steps))
    elif len(sys.argv) > 3:
        print(json.dumps(profiled(names, steps, sys.argv[3])))
    else:
        for name in names:
            print(name, WORKS[name](steps))
