# SPDX-License-Identifier: Apache-2.0
"""What protoc says of a recording, with the field numbers of Perfetto."""
import os
import re
import shutil
import subprocess

from libwire import message, packets


def plain(path):
    """The same packets, none of them compressed."""
    with open(path, "rb") as f:
        data = f.read()
    return b"".join(message(1, packet) for packet, _ in packets(data))


def protoc_problems(path, source):
    """What protoc says of it with the field numbers of Perfetto; None when there is no protoc."""
    if not shutil.which("protoc"):
        return None
    proto = os.path.join(source, "tests", "data", "perfetto_subset.proto")
    for data in (open(path, "rb").read(), plain(path)):
        result = subprocess.run(
            ["protoc", "--decode=subset.Trace", "-I", os.path.dirname(proto), proto],
            input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if result.returncode:
            return ["protoc: " + result.stderr.decode(errors="replace").strip()]
        unknown = re.search(rb"^\s*\d+[:\s{]", result.stdout, re.MULTILINE)
        if unknown:
            return ["protoc finds an unknown field: %r" % unknown.group(0)]
        if not result.stdout.startswith(b"packet {"):
            return ["protoc finds no packets"]
    return []
