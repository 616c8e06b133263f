#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small models with random weights of architectures other than llama's, and an adapter, in the format
that llama.cpp reads (GGUF): what brick-model does not make.

usage: gguf_make.py LIKE KIND OUT [PICTURE.png]

LIKE is a model of brick-model's: its vocabulary is taken, and an adapter (KIND lora) or an encoder (image,
sound) is made to fit it. The other kinds: moe (llama with experts), mamba, deepseek2 (latent attention,
experts), qwen35 (gated delta net and attention in turn).

The encoders are of llava's and of Qwen3-ASR's kind: 3 blocks, of which llava's kind computes 2, 16 positions
for a picture, 13 for a second of sound. PICTURE is made, too.
"""
import math
import random
import struct
import sys
import zlib

U32, F32_VALUE, BOOL, STRING, ARRAY = 4, 6, 7, 8, 9
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
WIDTH, LAYERS, HEAD, FF, EXPERTS = 256, 2, 128, 384, 4


class Reader:
    """The head of a GGUF file: its pairs as the bytes they are."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read(1 << 24)
        _, _, _, count = struct.unpack_from("<IIQQ", self.data)
        self.at = 24
        self.pairs = dict(self.pair() for _ in range(count))

    def number(self, format_):
        (value,) = struct.unpack_from(format_, self.data, self.at)
        self.at += struct.calcsize(format_)
        return value

    def text(self):
        n = self.number("<Q")
        self.at += n
        return self.data[self.at - n:self.at]

    def skip(self, type_):
        if type_ == STRING:
            self.text()
        elif type_ == ARRAY:
            item, n = self.number("<I"), self.number("<Q")
            for _ in range(n):
                self.skip(item)
        else:
            self.at += SIZES[type_]

    def pair(self):
        key, begin = self.text().decode(), self.at
        self.skip(self.number("<I"))
        return key, self.data[begin:self.at]

    def u32(self, key):
        return struct.unpack_from("<I", self.pairs[key], 4)[0]


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def encode(value):
    if isinstance(value, str):
        return struct.pack("<I", STRING) + text(value)
    if isinstance(value, bool):
        return struct.pack("<I?", BOOL, value)
    if isinstance(value, float):
        return struct.pack("<If", F32_VALUE, value)
    if isinstance(value, list):
        is_real = isinstance(value[0], float)
        return struct.pack("<IIQ", ARRAY, F32_VALUE if is_real else U32, len(value)) + \
            struct.pack(f"<{len(value)}{'f' if is_real else 'I'}", *value)
    return struct.pack("<II", U32, value)


RANDOM = random.Random(1)
NOISE = [RANDOM.gauss(0, 1) for _ in range(4099)]


def numbers(shape, kind, start):
    count = math.prod(shape)
    if kind != "matrix":
        return struct.pack("<f", {"one": 1.0, "zero": 0.0, "minus": -1.0}[kind]) * count
    data = struct.pack("<4099f", *(x / math.sqrt(shape[0]) for x in NOISE)) * (count // 4099 + 2)
    first = start * 148 % 4099 * 4
    return data[first:first + 4 * count]


def write(path, pairs, tensors):
    place, table, body = 0, b"", []
    for i, (name, shape, kind) in enumerate(tensors):
        table += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, place)
        data = numbers(shape, kind, i + 1)
        body.append(data + bytes(-len(data) % 32))
        place += len(body[-1])
    head = struct.pack("<IIQQ", 0x46554747, 3, len(tensors), len(pairs))
    head += b"".join(text(key) + value for key, value in pairs.items()) + table
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % 32) + b"".join(body))


def matrix(name, *shape):
    return f"{name}.weight", list(shape), "matrix"


def norm(name, n):
    return f"{name}.weight", [n], "one"


def vector(name, *shape, kind="zero"):
    return name, list(shape), kind


def feed_forward(b):
    return [matrix(f"{b}.ffn_gate", WIDTH, FF), matrix(f"{b}.ffn_up", WIDTH, FF), matrix(f"{b}.ffn_down", FF, WIDTH)]


def experts(b):
    return [matrix(f"{b}.ffn_gate_inp", WIDTH, EXPERTS), matrix(f"{b}.ffn_gate_exps", WIDTH, FF, EXPERTS),
            matrix(f"{b}.ffn_up_exps", WIDTH, FF, EXPERTS), matrix(f"{b}.ffn_down_exps", FF, WIDTH, EXPERTS)]


def attention(b, gated=False):
    return [matrix(f"{b}.attn_q", WIDTH, WIDTH * (2 if gated else 1)), matrix(f"{b}.attn_k", WIDTH, WIDTH),
            matrix(f"{b}.attn_v", WIDTH, WIDTH), matrix(f"{b}.attn_output", WIDTH, WIDTH)]


def moe(i):
    b = f"blk.{i}"
    return [norm(f"{b}.attn_norm", WIDTH), norm(f"{b}.ffn_norm", WIDTH), *attention(b), *experts(b)]


def mamba(i):
    b, inner, state, rank = f"blk.{i}", 2 * WIDTH, 16, 16
    return [norm(f"{b}.attn_norm", WIDTH), matrix(f"{b}.ssm_in", WIDTH, 2 * inner), matrix(f"{b}.ssm_conv1d", 4, inner),
            vector(f"{b}.ssm_conv1d.bias", inner), matrix(f"{b}.ssm_x", inner, rank + 2 * state),
            matrix(f"{b}.ssm_dt", rank, inner), vector(f"{b}.ssm_dt.bias", inner),
            vector(f"{b}.ssm_a", state, inner, kind="minus"), vector(f"{b}.ssm_d", inner, kind="one"),
            matrix(f"{b}.ssm_out", inner, WIDTH)]


def deepseek2(i):
    b, latent, rope, nope = f"blk.{i}", 64, 32, 64
    return [norm(f"{b}.attn_norm", WIDTH), norm(f"{b}.attn_q_a_norm", latent), norm(f"{b}.attn_kv_a_norm", latent),
            matrix(f"{b}.attn_q_a", WIDTH, latent), matrix(f"{b}.attn_q_b", latent, 2 * (nope + rope)),
            matrix(f"{b}.attn_kv_a_mqa", WIDTH, latent + rope), matrix(f"{b}.attn_k_b", nope, latent, 2),
            matrix(f"{b}.attn_v_b", latent, HEAD, 2), matrix(f"{b}.attn_output", 2 * HEAD, WIDTH),
            norm(f"{b}.ffn_norm", WIDTH), *(experts(b) + [
                matrix(f"{b}.ffn_gate_shexp", WIDTH, FF), matrix(f"{b}.ffn_up_shexp", WIDTH, FF),
                matrix(f"{b}.ffn_down_shexp", FF, WIDTH)] if i else feed_forward(b))]


def qwen35(i):
    b = f"blk.{i}"
    if i % 2:
        mixer = [*attention(b, gated=True), norm(f"{b}.attn_q_norm", HEAD), norm(f"{b}.attn_k_norm", HEAD)]
    else:
        mixer = [matrix(f"{b}.attn_qkv", WIDTH, 3 * WIDTH), matrix(f"{b}.attn_gate", WIDTH, WIDTH),
                 matrix(f"{b}.ssm_conv1d", 4, 3 * WIDTH), vector(f"{b}.ssm_dt.bias", 2), vector(f"{b}.ssm_a", 2, kind="minus"),
                 matrix(f"{b}.ssm_alpha", WIDTH, 2), matrix(f"{b}.ssm_beta", WIDTH, 2), norm(f"{b}.ssm_norm", HEAD),
                 matrix(f"{b}.ssm_out", WIDTH, WIDTH)]
    return [norm(f"{b}.attn_norm", WIDTH), norm(f"{b}.post_attention_norm", WIDTH), *mixer, *feed_forward(b)]


HEADS = {"attention.head_count": 2, "attention.head_count_kv": 2}
KINDS = {
    "moe": ("llama", moe, {**HEADS, "expert_count": EXPERTS, "expert_used_count": 2, "rope.dimension_count": HEAD}),
    "mamba": ("mamba", mamba, {"ssm.inner_size": 2 * WIDTH, "ssm.conv_kernel": 4, "ssm.state_size": 16,
                               "ssm.time_step_rank": 16}),
    "deepseek2": ("deepseek2", deepseek2, {
        "attention.head_count": 2, "attention.head_count_kv": 1, "attention.q_lora_rank": 64,
        "attention.kv_lora_rank": 64, "attention.key_length": 96, "attention.value_length": 64,
        "attention.key_length_mla": 96, "attention.value_length_mla": HEAD, "rope.dimension_count": 32,
        "leading_dense_block_count": 1, "expert_count": EXPERTS, "expert_used_count": 2, "expert_shared_count": 1,
        "expert_feed_forward_length": FF, "expert_gating_func": 2, "expert_weights_scale": 1.0}),
    "qwen35": ("qwen35", qwen35, {
        **HEADS, "attention.key_length": HEAD, "attention.value_length": HEAD, "full_attention_interval": 2,
        "ssm.inner_size": WIDTH, "ssm.conv_kernel": 4, "ssm.state_size": HEAD, "ssm.time_step_rank": 2,
        "ssm.group_count": 2, "rope.dimension_count": HEAD, "rope.dimension_sections": [32, 32, 32, 32]}),
}


def write_model(like, kind, path):
    name, block, own = KINDS[kind]
    vocabulary = like.u32("llama.vocab_size")
    shape = {"block_count": LAYERS, "context_length": 2048, "embedding_length": WIDTH, "feed_forward_length": FF,
             "vocab_size": vocabulary, "attention.layer_norm_rms_epsilon": 1e-5, "rope.freq_base": 10000.0, **own}
    pairs = {"general.architecture": encode(name), **{f"{name}.{k}": encode(v) for k, v in shape.items()}}
    pairs.update({k: v for k, v in like.pairs.items() if k.startswith("tokenizer.")})
    tensors = [matrix("token_embd", WIDTH, vocabulary), norm("output_norm", WIDTH), matrix("output", WIDTH, vocabulary)]
    write(path, pairs, tensors + [t for i in range(LAYERS) for t in block(i)])


def write_adapter(like, path, rank=8):
    width, ff = like.u32("llama.embedding_length"), like.u32("llama.feed_forward_length")
    shapes = {"attn_q": (width, width), "attn_output": (width, width), "ffn_up": (width, ff), "ffn_down": (ff, width)}
    tensors = []
    for i in range(like.u32("llama.block_count")):
        for name, (n_in, n_out) in shapes.items():
            tensors += [(f"blk.{i}.{name}.weight.lora_a", [n_in, rank], "matrix"),
                        (f"blk.{i}.{name}.weight.lora_b", [rank, n_out], "matrix")]
    write(path, {"general.architecture": encode("llama"), "general.type": encode("adapter"),
                 "adapter.type": encode("lora"), "adapter.lora.alpha": encode(16.0)}, tensors)


EYE, EYE_HEADS, EYE_FF, EYE_LAYERS, PATCH, SIDE, CHANNELS, MELS = 64, 2, 128, 3, 14, 56, 8, 128


def linear(name, n_in, n_out):
    return [matrix(name, n_in, n_out), vector(f"{name}.bias", n_out)]


def layer_norm(name):
    return [norm(name, EYE), vector(f"{name}.bias", EYE)]


def encoder_block(b):
    tensors = layer_norm(f"{b}.ln1") + layer_norm(f"{b}.ln2") + [matrix(f"{b}.attn_k", EYE, EYE)]
    for part in "attn_q", "attn_v", "attn_out":
        tensors += linear(f"{b}.{part}", EYE, EYE)
    return tensors + linear(f"{b}.ffn_up", EYE, EYE_FF) + linear(f"{b}.ffn_down", EYE_FF, EYE)


def image_encoder(width):
    positions = (SIDE // PATCH) ** 2 + 1
    tensors = [matrix("v.patch_embd", PATCH, PATCH, 3, EYE), vector("v.class_embd", EYE, kind="one"),
               matrix("v.position_embd", EYE, positions), *layer_norm("v.pre_ln")]
    return "mlp", tensors + linear("mm.0", EYE, width) + linear("mm.2", width, width), {
        "image_size": SIDE, "patch_size": PATCH, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}


def sound_encoder(width):
    tensors = [matrix("a.position_embd", EYE, 1500), *layer_norm("a.post_ln")]
    for i in 1, 2, 3:
        tensors += [matrix(f"a.conv2d.{i}", 3, 3, 1 if i == 1 else CHANNELS, CHANNELS), vector(f"a.conv2d.{i}.bias", CHANNELS)]
    tensors += [matrix("a.conv_out", MELS // 8 * CHANNELS, EYE), *linear("mm.a.mlp.1", EYE, EYE_FF)]
    return "qwen3a", tensors + linear("mm.a.mlp.2", EYE_FF, width), {"num_mel_bins": MELS}


def write_encoder(like, kind, path):
    width = like.u32("llama.embedding_length")
    letter, side, make = ("v", "vision", image_encoder) if kind == "image" else ("a", "audio", sound_encoder)
    projector, tensors, own = make(width)
    shape = {"embedding_length": EYE, "attention.head_count": EYE_HEADS, "feed_forward_length": EYE_FF,
             "block_count": EYE_LAYERS, "projection_dim": width, "attention.layer_norm_epsilon": 1e-5, **own}
    pairs = {"general.architecture": "clip", f"clip.has_{side}_encoder": True, "clip.projector_type": projector,
             **{f"clip.{side}.{k}": v for k, v in shape.items()}}
    write(path, {k: encode(v) for k, v in pairs.items()},
          tensors + [t for i in range(EYE_LAYERS) for t in encoder_block(f"{letter}.blk.{i}")])


def write_picture(path, width=80, height=60):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes((5 * x + 3 * y * color) % 256 for x in range(width) for color in (1, 2, 3))
                    for y in range(height))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


original = Reader(sys.argv[1])
if sys.argv[2] == "lora":
    write_adapter(original, sys.argv[3])
elif sys.argv[2] in ("image", "sound"):
    write_encoder(original, sys.argv[2], sys.argv[3])
    if len(sys.argv) > 4:
        write_picture(sys.argv[4])
else:
    write_model(original, sys.argv[2], sys.argv[3])
