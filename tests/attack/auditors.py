# SPDX-License-Identifier: Apache-2.0
"""Programs with an auditor (LD_AUDIT: sotruss, HPCToolkit) start and are recorded. There the dynamic linker keeps some
1664 bytes of static TLS for all libraries that come later, preloaded ones too: all of ours take at most 1408."""
import os
import shutil
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
from libattack import *

MOST = 1408
AUDITOR = """
#define _GNU_SOURCE
#include <link.h>
unsigned la_version(unsigned version) { return LAV_CURRENT; }
unsigned la_objopen(struct link_map *map, Lmid_t id, uintptr_t *cookie) { return LA_FLG_BINDTO | LA_FLG_BINDFROM; }
"""


def static_tls(path):
    """Bytes of a library's TLS segment, as the dynamic linker places it."""
    with open(path, "rb") as file:
        data = file.read()
    at, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    for i in range(count):
        kind, _, _, _, _, _, bytes_, align = struct.unpack_from("<IIQQQQQQ", data, at + i * size)
        if kind == 7:  # PT_TLS
            return -(-bytes_ // align) * align
    return 0


with Scratch() as scratch:
    run = record(scratch.file("env.pftrace"), "env")
    preloaded = dict(line.split("=", 1) for line in run.stdout.decode().splitlines() if "=" in line)["LD_PRELOAD"]
    ours = [p for p in preloaded.split(":") if "/libbrick" in p]
    sizes = {os.path.basename(p): static_tls(p) for p in [*ours, os.path.join(BUILD, "lib", "libbrick.so")]}
    check(len(sizes) > 2, "libraries of ours in LD_PRELOAD:", preloaded)
    check(sum(sizes.values()) <= MOST, f"static TLS of all together is {sum(sizes.values())} bytes:", sizes)
    print("static TLS:", sum(sizes.values()), sizes)
    auditor, source = scratch.file("auditor.so"), scratch.file("auditor.c")
    with open(source, "w") as file:
        file.write(AUDITOR)
    subprocess.run(["cc", "-w", "-shared", "-fPIC", "-o", auditor, source], check=True)
    counted("bricks", bricks=BRICKS, before=["env", f"LD_AUDIT={auditor}"])
    print("an auditor")
    if shutil.which("sotruss"):
        counted("bricks", bricks=BRICKS, before=["sotruss", "-o", scratch.file("calls"), "-f"])
        print("sotruss")
