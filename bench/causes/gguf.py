# SPDX-License-Identifier: Apache-2.0
"""Model files made of other model files (GGUF, version 3): one kind of tensors from another file, weights that are
denormal numbers, an adapter (LoRA)."""
import array
import os
import random
import struct

ALIGN = 32
F32 = 0
U32, FLOAT, STRING, ARRAY = 4, 6, 8, 9
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # of kinds of values


class File:
    """What a file holds: its metadata as bytes, and tensors (name, dimensions, type, bytes)."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        if self.data[:4] != b"GGUF" or struct.unpack_from("<I", self.data, 4)[0] != 3:
            raise ValueError(f"{path}: no GGUF file of version 3")
        n_tensors, self.n_values = struct.unpack_from("<QQ", self.data, 8)
        self.at = 24
        for _ in range(self.n_values):
            self.text()
            self.skip(self.number("<I"))
        self.metadata = self.data[24:self.at]
        infos = []
        for _ in range(n_tensors):
            name, n = self.text(), self.number("<I")
            dims = [self.number("<Q") for _ in range(n)]
            infos.append((name, dims, self.number("<I"), self.number("<Q")))
        begin = -(-self.at // ALIGN) * ALIGN
        ends = [info[3] for info in infos[1:]] + [len(self.data) - begin]
        self.tensors = [(name, dims, kind, self.data[begin + at:begin + end])
                        for (name, dims, kind, at), end in zip(infos, ends)]

    def number(self, form):
        value = struct.unpack_from(form, self.data, self.at)[0]
        self.at += struct.calcsize(form)
        return value

    def text(self):
        n = self.number("<Q")
        self.at += n
        return self.data[self.at - n:self.at].decode()

    def skip(self, kind):
        if kind == STRING:
            self.text()
        elif kind == ARRAY:
            of, n = self.number("<I"), self.number("<Q")
            if of in SIZES:
                self.at += n * SIZES[of]
            else:
                for _ in range(n):
                    self.skip(of)
        else:
            self.at += SIZES[kind]


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def write(path, n_values, metadata, tensors):
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), n_values) + metadata
    at = 0
    for name, dims, kind, data in tensors:
        head += text(name) + struct.pack(f"<I{len(dims)}Q", len(dims), *dims) + struct.pack("<IQ", kind, at)
        at += -(-len(data) // ALIGN) * ALIGN
    with open(path + ".new", "wb") as file:
        file.write(head + bytes(-len(head) % ALIGN))
        for *_, data in tensors:
            file.write(data + bytes(-len(data) % ALIGN))
    os.rename(path + ".new", path)


def merge(path, of, other, part):
    """The model `of`, with those tensors of `other` whose name has `part`."""
    a, b = File(of), {tensor[0]: tensor for tensor in File(other).tensors}
    write(path, a.n_values, a.metadata, [b[t[0]] if part in t[0] else t for t in a.tensors])


def scale(path, of, part, factor):
    """The model `of`, with f32 weights multiplied whose tensor's name has `part`."""
    a = File(of)

    def changed(tensor):
        if part not in tensor[0] or tensor[2] != F32:
            return tensor
        values = array.array("f", tensor[3][:4 * tensor[1][0] * (tensor[1][1] if len(tensor[1]) > 1 else 1)])
        return (*tensor[:3], array.array("f", (value * factor for value in values)).tobytes())
    write(path, a.n_values, a.metadata, [changed(t) for t in a.tensors])


def adapter(path, of, rank):
    """An adapter of this rank for each matrix in a block of `of`."""
    r, tensors = random.Random(1), []

    def noise(*dims):
        some = [r.gauss(0, 0.01) for _ in range(1009)]
        n = dims[0] * dims[1]
        return list(dims), F32, array.array("f", (some * (n // 1009 + 1))[:n]).tobytes()
    for name, dims, _, _ in File(of).tensors:
        if name.startswith("blk.") and len(dims) == 2:
            tensors += [(name + ".lora_a", *noise(dims[0], rank)), (name + ".lora_b", *noise(rank, dims[1]))]
    values = {"general.type": "adapter", "general.architecture": "llama", "adapter.type": "lora"}
    metadata = b"".join(text(key) + struct.pack("<I", STRING) + text(value) for key, value in values.items())
    metadata += text("adapter.lora.alpha") + struct.pack("<If", FLOAT, float(rank))
    write(path, len(values) + 1, metadata, tensors)
