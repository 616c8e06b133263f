# SPDX-License-Identifier: Apache-2.0
"""Models with random weights for programs that bench/other_engines.py records: DIRECTORY gets network.onnx (six
convolutions; needs Debian's python3-onnx), leela.txt (a network of leela-zero's) and ggjt.bin (a llama of 2023)."""
import os
import random
import struct
import sys


def values(count, deviation):
    return [random.gauss(0, deviation) for _ in range(count)]


def network(path):
    """Convolutions, a mean, and a product; Debian's numpy makes the weights."""
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    def weights(name, *shape):
        count = int(numpy.prod(shape))
        return numpy_helper.from_array(numpy.array(values(count, 0.05), numpy.float32).reshape(shape), name)

    nodes, weighted, last, channels = [], [], "x", 3
    for i in range(6):
        weighted += [weights(f"conv{i}.weight", 32, channels, 3, 3), weights(f"conv{i}.bias", 32)]
        nodes += [helper.make_node("Conv", [last, f"conv{i}.weight", f"conv{i}.bias"], [f"c{i}"], name=f"conv{i}",
                                   pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
                  helper.make_node("Relu", [f"c{i}"], [f"r{i}"], name=f"relu{i}")]
        last, channels = f"r{i}", 32
    weighted.append(weights("fc.weight", 32, 10))
    nodes += [helper.make_node("GlobalAveragePool", [last], ["mean"], name="mean"),
              helper.make_node("Flatten", ["mean"], ["flat"], name="flat"),
              helper.make_node("MatMul", ["flat", "fc.weight"], ["y"], name="fc")]
    graph = helper.make_graph(nodes, "network", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 64, 64])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])], weighted)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)])
    model.ir_version = 7
    onnx.save(model, path)


def leela(path, filters=8):
    """Version 1: a convolution, a block of two, both heads; each convolution has biases, means and variances."""
    board = 19 * 19

    def line(count, deviation):
        return " ".join(f"{value:.4g}" for value in values(count, deviation))

    def convolution(weights, outputs):
        return [line(weights, 0.1), line(outputs, 0.01), line(outputs, 0.01), " ".join(["1"] * outputs)]

    lines = ["1", *convolution(filters * 18 * 9, filters)]
    lines += [*convolution(filters * filters * 9, filters), *convolution(filters * filters * 9, filters)]
    lines += [*convolution(filters * 2, 2), line((board + 1) * 2 * board, 0.02), line(board + 1, 0.01)]
    lines += [*convolution(filters, 1), line(board * 256, 0.02), line(256, 0.01), line(256, 0.1), line(1, 0.01)]
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")


def ggjt(path, words=1024, width=128, layers=32, heads=2, hidden=512):
    """Version 3: sizes, words, tensors by name, each at a multiple of 32 bytes; f16 but for norms."""
    with open(path, "wb") as file:
        file.write(b"tjgg" + struct.pack("<8I", 3, words, width, 256, heads, layers, width // heads, 1))
        for i in range(words):
            word = (b"<unk>", b"<s>", b"</s>")[i] if i < 3 else bytes([i - 3]) if i < 259 else f"w{i} ".encode()
            file.write(struct.pack("<I", len(word)) + word + struct.pack("<f", -i))

        def tensor(name, *sizes):
            flat = len(sizes) == 1
            file.write(struct.pack(f"<3I{len(sizes)}I", len(sizes), len(name), not flat, *sizes) + name.encode())
            file.write(b"\0" * (-file.tell() % 32))
            count = sizes[0] * (1 if flat else sizes[1])
            file.write(struct.pack(f"<{count}f", *[1.0] * count) if flat else struct.pack(f"<{count}e", *values(count, 0.05)))

        tensor("tok_embeddings.weight", width, words)
        tensor("norm.weight", width)
        tensor("output.weight", width, words)
        for i in range(layers):
            tensor(f"layers.{i}.attention_norm.weight", width)
            for name in "qkvo":
                tensor(f"layers.{i}.attention.w{name}.weight", width, width)
            tensor(f"layers.{i}.ffn_norm.weight", width)
            tensor(f"layers.{i}.feed_forward.w1.weight", width, hidden)
            tensor(f"layers.{i}.feed_forward.w2.weight", hidden, width)
            tensor(f"layers.{i}.feed_forward.w3.weight", width, hidden)


def main():
    for name, make in {"leela.txt": leela, "ggjt.bin": ggjt, "network.onnx": network}.items():
        random.seed(1)
        try:
            make(os.path.join(sys.argv[1], name))
        except ImportError as error:
            print(f"others_make.py: no {name}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
