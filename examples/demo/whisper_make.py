#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a whisper model with random weights, in the format that whisper.cpp reads ("ggml"), and a sound.

usage: whisper_make.py MODEL [SOUND.wav]

Four blocks on each side, as in the smallest real one; 64 wide, so that it takes a second to run. What it
hears means nothing; what it costs, and which operations it takes, is real.
"""
import math
import random
import struct
import sys

STATE, HEADS, LAYERS = 64, 2, 4
AUDIO_CTX, TEXT_CTX, MELS, VOCAB = 1500, 448, 80, 51864
F32, F16 = 0, 1
RATE = 16000


def noise_block(type_, deviation, mean=0.0):
    """Some thousand random numbers, encoded; repeated, they fill a tensor."""
    rng = random.Random(f"{type_} {deviation} {mean}")
    numbers = [rng.gauss(mean, deviation) for _ in range(4099)]
    return struct.pack(f"<{len(numbers)}{'f' if type_ == F32 else 'e'}", *numbers)


BLOCKS = {}


def noise(type_, count, deviation, mean, start):
    block = BLOCKS.setdefault((type_, deviation, mean), noise_block(type_, deviation, mean))
    size = count * (4 if type_ == F32 else 2)
    first = start * 148 % len(block)
    return (block[first:] + block * (size // len(block) + 1))[:size]


def vector(name, n):
    return name, F32, [n], 0.05, 1.0 if name.endswith("weight") else 0.0


def matrix(name, n_in, n_out):
    return name, F16, [n_in, n_out], 1 / math.sqrt(n_in), 0.0


def norm(name, n):
    return [vector(f"{name}.weight", n), vector(f"{name}.bias", n)]


def attention(name, n):
    tensors = []
    for part in ("query", "key", "value", "out"):
        tensors.append(matrix(f"{name}.{part}.weight", n, n))
        if part != "key":
            tensors.append(vector(f"{name}.{part}.bias", n))
    return tensors


def block(side, i, crosses):
    name = f"{side}.blocks.{i}"
    tensors = norm(f"{name}.mlp_ln", STATE) + norm(f"{name}.attn_ln", STATE) + attention(f"{name}.attn", STATE)
    tensors += [matrix(f"{name}.mlp.0.weight", STATE, 4 * STATE), vector(f"{name}.mlp.0.bias", 4 * STATE),
                matrix(f"{name}.mlp.2.weight", 4 * STATE, STATE), vector(f"{name}.mlp.2.bias", STATE)]
    if crosses:
        tensors += norm(f"{name}.cross_attn_ln", STATE) + attention(f"{name}.cross_attn", STATE)
    return tensors


def tensors():
    yield "encoder.positional_embedding", F32, [STATE, AUDIO_CTX], 0.02, 0.0
    for i, width in ((1, MELS), (2, STATE)):
        yield f"encoder.conv{i}.weight", F16, [3, width, STATE], 1 / math.sqrt(3 * width), 0.0
        yield f"encoder.conv{i}.bias", F32, [1, STATE], 0.02, 0.0
    yield from norm("encoder.ln_post", STATE)
    for i in range(LAYERS):
        yield from block("encoder", i, False)
    yield "decoder.positional_embedding", F32, [STATE, TEXT_CTX], 0.02, 0.0
    yield matrix("decoder.token_embedding.weight", STATE, VOCAB)
    yield from norm("decoder.ln", STATE)
    for i in range(LAYERS):
        yield from block("decoder", i, True)


def write_model(path):
    with open(path, "wb") as file:
        file.write(struct.pack("<I11i", 0x67676d6c, VOCAB, AUDIO_CTX, STATE, HEADS, LAYERS, TEXT_CTX, STATE, HEADS,
                               LAYERS, MELS, F16))
        file.write(struct.pack("<2i", MELS, 201))  # the filters of the spectrum: bands side by side
        for band in range(MELS):
            row = [1.0 if abs(i - band * 2.5) < 2 else 0.0 for i in range(201)]
            file.write(struct.pack("<201f", *row))
        file.write(struct.pack("<i", 256))  # the engine adds names for those that have none
        for i in range(256):
            file.write(struct.pack("<i", 1) + bytes([i]))
        for i, (name, type_, shape, deviation, mean) in enumerate(tensors()):
            file.write(struct.pack("<3i", len(shape), len(name), type_))
            file.write(struct.pack(f"<{len(shape)}i", *shape) + name.encode())
            file.write(noise(type_, math.prod(shape), deviation, mean, i + 1))


def write_sound(path, seconds=3):
    samples = [int(8000 * math.sin(i / 9) * math.sin(i / 4000)) for i in range(seconds * RATE)]
    data = struct.pack(f"<{len(samples)}h", *samples)
    with open(path, "wb") as file:
        file.write(b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " +
                   struct.pack("<IHHIIHH", 16, 1, 1, RATE, 2 * RATE, 2, 16) + b"data" + struct.pack("<I", len(data)) + data)


write_model(sys.argv[1])
if len(sys.argv) > 2:
    write_sound(sys.argv[2])
