# SPDX-License-Identifier: Apache-2.0
"""The wire format of protocol buffers and the packets of a trace, without Brick's own reader."""
import struct
import zlib


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("varint of more than ten bytes")


def fields(data):
    """(number, wire type, value) of a message; raises when it is malformed."""
    at, end = 0, len(data)
    while at < end:
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 2:
            size, at = varint(data, at)
            value = data[at:at + size]
            if len(value) != size:
                raise ValueError("field %d is cut off" % number)
            at += size
        elif wire == 1:
            value = struct.unpack("<Q", data[at:at + 8])[0]
            at += 8
        elif wire == 5:
            value = struct.unpack("<I", data[at:at + 4])[0]
            at += 4
        else:
            raise ValueError("wire type %d" % wire)
        yield number, wire, value


def packets(data):
    """(packet, size of the compressed one it came in, or 0)"""
    for number, wire, value in fields(data):
        if (number, wire) != (1, 2):
            raise ValueError("top-level field %d of wire type %d" % (number, wire))
        compressed = [v for n, w, v in fields(value) if n == 50]
        if not compressed:
            yield value, 0
            continue
        if len(list(fields(value))) != 1:
            raise ValueError("a compressed packet with other fields")
        inflated = zlib.decompress(compressed[0])
        for inner, inner_wire, packet in fields(inflated):
            if (inner, inner_wire) != (1, 2):
                raise ValueError("field %d inside of a compressed packet" % inner)
            yield packet, len(value)


def one(message, number, default=None):
    for n, _, value in fields(message):
        if n == number:
            default = value
    return default


def every(message, number):
    return [value for n, _, value in fields(message) if n == number]


def message(number, data):
    """A field of the wire type of its value: bytes, or an integer."""
    def number_bytes(value):
        out = bytearray()
        while value >= 0x80:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        out.append(value)
        return bytes(out)
    if isinstance(data, int):
        return number_bytes(number << 3) + number_bytes(data)
    return number_bytes(number << 3 | 2) + number_bytes(len(data)) + data
