# SPDX-License-Identifier: Apache-2.0
"""Writes an ONNX model with random weights: onnx_model.py decoder|network FILE. The format is protobuf, of which
this writes what it needs (onnx.proto, IR version 8, operators of version 17)."""
import random
import struct
import sys

LAYERS, WIDTH, WORDS = 4, 128, 300
FLOAT, INT64 = 1, 7


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def attribute(name, value):
    if isinstance(value, bytes):
        return field(1, name) + field(6, value) + field(20, 5)
    if isinstance(value, list):
        return field(1, name) + b"".join(field(8, one) for one in value) + field(20, 7)
    return field(1, name) + field(2 if isinstance(value, float) else 3, value) + field(20, 1 if isinstance(value, float) else 2)


def value(name, kind, shape):
    dims = b"".join(field(1, field(1, one) if isinstance(one, int) else field(2, one)) for one in shape)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))


class Graph:
    def __init__(self, name):
        self.name, self.body, self.random, self.nodes = name, [], random.Random(5), 0

    def weight(self, name, *shape):
        count = 1
        for one in shape:
            count *= one
        data = struct.pack(f"<{count}f", *(self.random.uniform(-0.1, 0.1) for _ in range(count)))
        self.body.append(field(5, b"".join(field(1, one) for one in shape) + field(2, FLOAT) + field(8, name) + field(9, data)))
        return name

    def numbers(self, name, values):
        data = struct.pack(f"<{len(values)}q", *values)
        self.body.append(field(5, field(1, len(values)) + field(2, INT64) + field(8, name) + field(9, data)))
        return name

    def node(self, operation, name, inputs, out=None, **attributes):
        out = out or name + ":0"
        self.nodes += 1
        self.body.append(field(1, b"".join(field(1, one) for one in inputs) + field(2, out) + field(3, name) + field(4, operation) +
                               b"".join(field(5, attribute(*one)) for one in attributes.items())))
        return out

    def graph(self, inputs, outputs):
        return b"".join(self.body) + field(2, self.name) + b"".join(field(11, value(*one)) for one in inputs) + \
            b"".join(field(12, value(*one)) for one in outputs)


def model(graph):
    return field(1, 8) + field(8, field(1, "") + field(2, 17)) + field(7, graph)


def linear(g, name, x, rows, columns, out=None):
    return g.node("MatMul", name + "/MatMul", [x, g.weight(name + ".weight", rows, columns)], out)


def decoder():
    g = Graph("decoder")
    x = g.node("Gather", "/embed_tokens/Gather", [g.weight("embed", WORDS, WIDTH), "input_ids"], axis=0)
    for layer in range(LAYERS):
        at = f"/layers.{layer}"
        normed = g.node("LayerNormalization", at + "/input_layernorm/LayerNormalization",
                        [x, g.weight(at + ".n1", WIDTH), g.weight(at + ".b1", WIDTH)], axis=-1 & (1 << 64) - 1)
        q, k, v = (linear(g, f"{at}/self_attn/{p}_proj", normed, WIDTH, WIDTH) for p in "qkv")
        turned = g.node("Transpose", at + "/self_attn/Transpose", [k], perm=[0, 2, 1])
        scores = g.node("MatMul", at + "/self_attn/MatMul", [q, turned])
        weights = g.node("Softmax", at + "/self_attn/Softmax", [scores], axis=2)
        mixed = g.node("MatMul", at + "/self_attn/MatMul_1", [weights, v])
        x = g.node("Add", at + "/Add", [x, linear(g, at + "/self_attn/o_proj", mixed, WIDTH, WIDTH)])
        up = g.node("Relu", at + "/mlp/Relu", [linear(g, at + "/mlp/up_proj", x, WIDTH, 4 * WIDTH)])
        x = g.node("Add", at + "/Add_1", [x, linear(g, at + "/mlp/down_proj", up, 4 * WIDTH, WIDTH)])
    out = linear(g, "/lm_head", x, WIDTH, WORDS, "last_hidden_state")
    return g.graph([("input_ids", INT64, ("rows", "length"))], [(out, FLOAT, ("rows", "length", WORDS))])


def network():
    g = Graph("network")
    x = g.node("Conv", "conv1", ["image", g.weight("c1", 16, 3, 3, 3)], pads=[1, 1, 1, 1])
    x = g.node("MaxPool", "pool1", [g.node("Sigmoid", "act1", [x])], kernel_shape=[2, 2], strides=[2, 2])
    x = g.node("GlobalAveragePool", "pool2", [g.node("Conv", "conv2", [x, g.weight("c2", 32, 16, 3, 3)])])
    x = g.node("Gemm", "head", [g.node("Flatten", "flat", [x]), g.weight("h", 32, 10)])
    return g.graph([("image", FLOAT, ("rows", 3, 32, 32))], [(x, FLOAT, ("rows", 10))])


if __name__ == "__main__":
    with open(sys.argv[2], "wb") as file:
        file.write(model({"decoder": decoder, "network": network}[sys.argv[1]]()))
