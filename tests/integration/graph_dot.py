# SPDX-License-Identifier: Apache-2.0
"""Graphviz draws what `brick graph` writes, whatever is in the names, and says nothing about it."""
import re
import shutil
import subprocess
import sys

from libcli import brick, brick_json, expect, expect_true, recording

ODD = b'q"u;o\'t<e>&amp;&\n\x1b[31m\\N\\{|}\xc2\x9b\xe2\x80\xae\xff\xc3\xa9\x7f'


def draw(what, dot):
    done = subprocess.run(["dot", "-Tsvg"], input=dot, capture_output=True, timeout=600)
    expect(f"dot about {what}", (done.returncode, done.stderr), (0, b""))
    return done.stdout.decode()


def main():
    if not shutil.which("dot"):
        print("skipped: Graphviz is not installed")
        sys.exit(77)
    for name in (b"plain", ODD):
        path = recording("graph.pftrace", name)
        for step in ("decode", "prefill"):
            graph = brick_json("graph", "--format", "json", "--step", step, path)
            svg = draw(step, brick("graph", "--step", step, path)[0])
            expect("nodes drawn", len(re.findall(r'class="node"', svg)), len(graph["nodes"]))
            expect_true("boxes are drawn", 'class="cluster"' in svg)
            expect_true("the path is drawn", "#c02020" in svg)


main()
