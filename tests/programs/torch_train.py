# SPDX-License-Identifier: Apache-2.0
"""What integration/pytorch_train.py records: loops of training. It knows nothing of Brick. torch_train.py WAY... prints
for each way what it computed and how often it did what, as JSON: the program counts its own calls, by hooks of PyTorch."""
import collections
import hashlib
import json
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils.checkpoint import checkpoint

STEPS, WIDTH = 3, 32


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up_proj, self.down_proj = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down_proj(F.gelu(self.up_proj(self.norm(x))))


class Model(nn.Module):
    def __init__(self, checkpointed=False):
        super().__init__()
        self.embed = nn.Embedding(50, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(2))
        self.lm_head = nn.Linear(WIDTH, 50)
        self.checkpointed = checkpointed

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.layers:
            x = checkpoint(block, x, use_reentrant=self.checkpointed == "reentrant") if self.checkpointed else block(x)
        return self.lm_head(x)


def digest(model):
    parts = [weight.detach().numpy().tobytes() for weight in model.parameters()]
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


class Spreads(nn.Module):
    """A transformation of what a data loader gives, as torchaudio has them: it has a buffer, and nobody evaluates it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("factor", torch.tensor(7))

    def forward(self, tokens):
        return tokens * self.factor % 50


def batches(count):
    spreads = Spreads()

    def put_together(rows):
        tokens, wanted = torch.utils.data.default_collate(rows)
        return spreads(tokens), wanted

    data = torch.utils.data.TensorDataset(torch.randint(0, 50, (4 * count, 8)), torch.randint(0, 50, (4 * count, 8)))
    return torch.utils.data.DataLoader(data, batch_size=4, collate_fn=put_together)


def loss_of(model, tokens, wanted):
    return F.cross_entropy(model(tokens).reshape(-1, 50).float(), wanted.reshape(-1))


def plain(model, checkpointed=None):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for tokens, wanted in batches(STEPS):
        loss_of(model, tokens, wanted).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def accumulated(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for i, (tokens, wanted) in enumerate(batches(2 * STEPS)):
        (loss_of(model, tokens, wanted) / 2).backward()
        if i % 2:
            optimizer.step()
            optimizer.zero_grad()


def mixed(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    for tokens, wanted in batches(STEPS):
        with torch.autocast("cpu", torch.bfloat16):
            loss = loss_of(model, tokens, wanted)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_value_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def two(model):
    """One model makes what another one judges; each has an optimizer."""
    judge = Model()
    first, second = (torch.optim.SGD(m.parameters(), lr=0.01) for m in (model, judge))
    for tokens, wanted in batches(STEPS):
        loss = loss_of(model, tokens, wanted) + loss_of(judge, tokens, wanted)
        loss.backward()
        first.step()
        second.step()
        first.zero_grad()
        second.zero_grad()


class Reversed(nn.Module):
    """A transformation of a batch, as torchvision has them: it has no weights."""

    def forward(self, tokens):
        return tokens.flip(1)


class OwnLoss(nn.Module):
    def forward(self, answer, wanted):
        return F.cross_entropy(answer.reshape(-1, 50), wanted.reshape(-1))


def evaluated(model):
    """After each epoch of training the model is looked at without gradients, and modules compute the loss. A module
    transforms each batch."""
    loss, own_loss, reversed_ = nn.CrossEntropyLoss(), OwnLoss(), Reversed()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(2):
        model.train()
        for tokens, wanted in batches(STEPS):
            optimizer.zero_grad()
            loss_of(model, reversed_(tokens), wanted).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for tokens, wanted in batches(1):
                answer = model(reversed_(tokens))
                loss(answer.transpose(1, 2), wanted)
                own_loss(answer, wanted)


def distilled(model):
    """Two answers of a teacher are learned, several batches for each step. The last batches are too few, and what was learned is
    looked at. A module computes a loss."""
    teacher, mse_loss = Model().eval(), nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for i, (tokens, wanted) in enumerate(batches(2 * STEPS + 1)):
        with torch.no_grad():
            taught = teacher(tokens) + teacher(tokens.flip(1))
        (loss_of(model, tokens, wanted) + mse_loss(model(tokens), taught)).backward()
        if i % 2:
            optimizer.step()
            optimizer.zero_grad()
    model.eval()
    with torch.no_grad():
        for tokens, wanted in batches(3):
            loss_of(model, tokens, wanted)


def closure(model):
    """The optimizer calls what computes the loss, as LBFGS and Lightning have it; the input has a name, as torchtune has it."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for tokens, wanted in batches(STEPS):
        def computes(tokens=tokens, wanted=wanted):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(tokens=tokens).reshape(-1, 50), wanted.reshape(-1))
            loss.backward()
            return loss
        optimizer.step(computes)


WAYS = {"plain": plain, "checkpointed": plain, "reentrant": plain, "accumulated": accumulated, "mixed": mixed, "two": two,
        "evaluated": evaluated, "closure": closure, "distilled": distilled}


def count_calls(counts):
    """PyTorch's own hooks: each call of a block, and each optimizer's step."""
    torch.nn.modules.module.register_module_forward_pre_hook(
        lambda module, _: counts.update([type(module).__name__]) if isinstance(module, (Block, Model)) else None)
    register_optimizer_step_pre_hook(lambda *_: counts.update(["step"]))
    for place, name in (torch.Tensor, "backward"), (nn.utils, "clip_grad_norm_"), (nn.utils, "clip_grad_value_"):
        def counted(*given, _function=getattr(place, name), _name=name, **named):
            counts.update([_name])
            return _function(*given, **named)
        setattr(place, name, counted)


if __name__ == "__main__":
    torch.set_num_threads(1)
    counts = collections.Counter()
    count_calls(counts)
    for way in sys.argv[1:]:
        torch.manual_seed(1)
        counts.clear()
        model = Model(way if way in ("checkpointed", "reentrant") else False)
        WAYS[way](model)
        print(json.dumps({"way": way, "out": digest(model), "counts": counts}))
