# SPDX-License-Identifier: Apache-2.0
"""examples/short: each runs and says what it should, in no more lines than once and a half of what our predecessors'
own examples take (report 1, graph 9, category's share 6, timer 6, passes 1), or than we say here."""
import os
import re
import subprocess

from libcli import BUILD, TMP, brick, expect, expect_true

FOLDER = os.path.join(os.environ["BRICK_SOURCE"], "examples", "short")
PASSES = os.path.join(TMP, "passes.pftrace")
EXAMPLES = {
    "report": (1, "RmsNorm"),
    "category": (6, "attention: 100.0 %, 3 times"),
    "timer": (6, "LmHead: "),
    "passes": (1, ""),
    "device": (14, "1 on a device, 4096 elements"),
    "async": (6, "2 of them, 8192 elements, both measured: 1"),
    "registry": (7, "PatchEmbedding is Vision; source kept"),
    "tiles": (9, "4 tiles, 32768 FLOPs"),
    "checksums": (10, "not the same, error about 3e-04"),
    "timers": (13, "measured\nmeasured\n"),
    "execution_graph": (9, "Layer 0\n└── RmsNorm  50.0µs (4096 elem)\n    └── rmsnorm_kernel"),
}

for name, (lines, text) in EXAMPLES.items():
    with open(os.path.join(FOLDER, f"short_{name}.c"), encoding="utf-8") as file:
        body = re.search(r"/\* begin \*/\n(.*?)\n\t/\* end \*/", file.read(), re.S).group(1)
    written = len([line for line in body.split("\n") if line.strip(" \t{}")])
    expect_true(f"{name}: {written} lines", written <= max(1.5 * lines, lines + 0.5))
    done = subprocess.run([os.path.join(BUILD, "bin", "short-" + name), PASSES], capture_output=True, text=True,
                          timeout=600)
    expect(f"{name}: {done.stderr}", done.returncode, 0)
    expect_true(f"{name}: {done.stdout}", text in done.stdout)
kernels = brick("report", "--by", "kernel", PASSES)[0].decode()
expect_true("passes in the report: " + kernels, "matmul" in kernels and "softmax" in kernels)
