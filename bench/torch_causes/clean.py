# SPDX-License-Identifier: Apache-2.0
"""Programs without a fault, of kinds that no rule was written for: two models by turns, a recurrent one, noise that becomes an
image, sparse gradients, a graph, two encoders with one loss, an encoder with a decoder that generates. clean.py NAME"""
import os
import sys
import torch
from torch import nn
from torch.nn import functional as F

from measured import Planted, Steps

name = sys.argv[1]
CAUSES = {}
CLEAN = {"gan": "any", "recurrent": "any", "diffusion": "any", "sparse": "any", "graph": "any", "towers": "any", "translate": "any"}
STEPS, steps = 24, Steps()
torch.manual_seed(2)
if name not in ("diffusion", "towers"):  # these have as many as PyTorch takes
    torch.set_num_threads(1)


def layers(*widths):
    return nn.Sequential(*(part for a, b in zip(widths, widths[1:]) for part in (nn.Linear(a, b), nn.LeakyReLU(0.2))))


def gan():
    """Each of two models has an optimizer, and judges or makes what the other one makes or judges."""
    makes, judges = layers(64, 512, 512, 784), layers(784, 512, 256, 1)
    first, second = (torch.optim.Adam(model.parameters(), 2e-4, betas=(0.5, 0.999), fused=True) for model in (makes, judges))
    for _ in steps.over(range(STEPS)):
        real, noise = torch.rand(128, 784), torch.randn(128, 64)
        second.zero_grad()
        made = makes(noise)
        loss = F.softplus(judges(made.detach())).mean() + F.softplus(-judges(real)).mean()
        loss.backward()
        second.step()
        first.zero_grad()
        F.softplus(-judges(made)).mean().backward()
        first.step()


def recurrent():
    """The state goes from step to step, and gradients are clipped."""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.cells, self.out = nn.Embedding(400, 128), nn.LSTM(128, 192, 2, batch_first=True), nn.Linear(192, 400)

        def forward(self, ids, state):
            x, state = self.cells(self.embed(ids), state)
            return self.out(x), state

    model, state = Model(), None
    optimizer = torch.optim.SGD(model.parameters(), 0.5, momentum=0.9, fused=True)
    text = torch.randint(400, (8, 48 * STEPS + 1))
    for i in steps.over(range(STEPS)):
        out, state = model(text[:, 48 * i:48 * i + 48], state)
        state = tuple(part.detach() for part in state)
        loss = F.cross_entropy(out.flatten(0, 1), text[:, 48 * i + 1:48 * i + 49].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def diffusion():
    """A small U-Net takes the noise out of an image, step by step."""
    class Model(nn.Module):
        def __init__(self, c=48):
            super().__init__()
            self.time = layers(32, c, c)
            self.inward, self.down, self.middle = nn.Conv2d(3, c, 3, padding=1), nn.Conv2d(c, c, 3, stride=2, padding=1), nn.Conv2d(c, c, 3, padding=1)
            self.up, self.out, self.norm = nn.ConvTranspose2d(c, c, 2, stride=2), nn.Conv2d(2 * c, 3, 3, padding=1), nn.GroupNorm(8, c)

        def forward(self, x, t):
            first = F.silu(self.inward(x)) + self.time(t)[:, :, None, None]
            return self.out(torch.cat([first, self.up(F.silu(self.norm(self.middle(self.down(first)))))], 1))

    model, x = Model().eval(), torch.randn(2, 3, 48, 48)
    kept = torch.linspace(0.02, 0.999, 2 * STEPS)
    with torch.no_grad():
        for i in steps.over(range(2 * STEPS)):
            noise = model(x, torch.cos(torch.arange(32) * kept[i]).expand(2, 32))
            x = (x - (1 - kept[i]).sqrt() * noise) * 0.98 + torch.randn_like(x) * 0.01


def sparse():
    """Products of many features of which each row has a few: their gradients are sparse, those of the rest are not."""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.bags = nn.ModuleList(nn.EmbeddingBag(20000, 32, sparse=True) for _ in range(6))
            self.rest = layers(6 * 32 + 13, 256, 128, 1)

        def forward(self, numbers, ids):
            return self.rest(torch.cat([numbers, *(bag(column) for bag, column in zip(self.bags, ids))], 1))

    model = Model()
    optimizers = torch.optim.SparseAdam(list(model.bags.parameters())), torch.optim.Adam(model.rest.parameters(), fused=True)
    for _ in steps.over(range(STEPS)):
        out = model(torch.rand(512, 13), [torch.randint(20000, (512, 4)) for _ in range(6)])
        loss = F.binary_cross_entropy_with_logits(out[:, 0], torch.randint(2, (512,)).float())
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()


def graph():
    """Nodes of a graph add up what comes along edges."""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.inward, self.out = nn.Linear(64, 96), nn.Linear(96, 7)
            self.own, self.others = (nn.ModuleList(nn.Linear(96, 96) for _ in range(3)) for _ in range(2))

        def forward(self, x, edges, degree):
            x = F.relu(self.inward(x))
            for own, others in zip(self.own, self.others):
                sums = torch.zeros_like(x).index_add_(0, edges[1], x[edges[0]])
                x = F.dropout(F.relu(own(x) + others(sums / degree)), 0.2, self.training)
            return self.out(x)

    edges = torch.randint(2000, (2, 12000))
    degree = torch.bincount(edges[1], minlength=2000).clamp(min=1)[:, None]
    model, x, y = Model(), torch.randn(2000, 64), torch.randint(7, (2000,))
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    for _ in steps.over(range(STEPS)):
        optimizer.zero_grad()
        F.cross_entropy(model(x, edges, degree), y).backward()
        optimizer.step()


def towers():
    """Two encoders, of images and of text, and a loss of all pairs."""
    see = nn.Sequential(nn.Conv2d(3, 32, 4, stride=4), nn.GELU(), nn.Conv2d(32, 96, 2, stride=2), nn.GELU(), nn.Flatten(), nn.Linear(96 * 16, 128))
    read = nn.Sequential(nn.Embedding(300, 128), nn.TransformerEncoder(nn.TransformerEncoderLayer(128, 4, 256, batch_first=True), 2),
                         nn.Flatten(), nn.Linear(128 * 16, 128))
    optimizer = torch.optim.AdamW([*see.parameters(), *read.parameters()], 1e-4, fused=True)
    for _ in steps.over(range(STEPS)):
        a, b = F.normalize(see(torch.rand(32, 3, 32, 32)), dim=1), F.normalize(read(torch.randint(300, (32, 16))), dim=1)
        pairs, own = 10 * a @ b.T, torch.arange(32)
        optimizer.zero_grad()
        (F.cross_entropy(pairs, own) + F.cross_entropy(pairs.T, own)).backward()
        optimizer.step()


def translate():
    """transformers' generate() of an encoder with a decoder."""
    from transformers import T5Config, T5ForConditionalGeneration
    model = T5ForConditionalGeneration(T5Config(vocab_size=500, d_model=128, d_kv=32, d_ff=256, num_layers=2, num_heads=4, eos_token_id=None,
                                                decoder_start_token_id=0, tie_word_embeddings=False)).eval()
    for _ in steps.over(range(3)):
        model.generate(torch.randint(2, 500, (2, 30)), max_new_tokens=30, do_sample=False)


globals()[name]()
steps.tell(Planted(False))
os._exit(0)
