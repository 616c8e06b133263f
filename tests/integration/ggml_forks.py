# SPDX-License-Identifier: Apache-2.0
"""Engines whose functions have the names that Brick knows, and other arguments and results: each computes the same
under every way to attach, and what is called a node was one. Jumps stand only where a way needs them."""
import collections
import os
import shutil
import subprocess
import sys
import tempfile

import libggml as g

FORKS = 15
LIKE_OURS, BY_INDEX = 0, 1
GRAPHS = 3
LAYERS = 6
BRICK = os.path.join(g.BUILD, "bin", "brick")
PROGRAM = os.path.join(g.SOURCE, "tests", "programs", "ggml_forks.c")
# Those of a layer. By an index that leads on, the norm's weights are applied together with it.
NODES = {LIKE_OURS: {"RmsNorm": 2, "UpProjection": 1, "ResidualAdd": 1}, BY_INDEX: {"RmsNorm": 1, "UpProjection": 1, "ResidualAdd": 1}}


def build(scratch, fork):
    program = os.path.join(scratch, f"fork{fork}")
    subprocess.run(["cc", "-std=gnu11", "-O2", "-w", f"-DFORK={fork}", PROGRAM, "-o", program, "-lpthread"], check=True)
    return program


def check(program, fork, threads, way):
    command = [program, str(threads), str(GRAPHS)]
    plain = g.run(command)
    assert plain.returncode == 0 and " 0 wrong" in plain.stdout, plain
    with g.Recorded(command, BRICK_ATTACH=way) as recorded:
        g.assert_same(plain, recorded.result, f"fork {fork} on {threads}, {way}")
        session = recorded.session()
    jumps, = session.note("patched")
    assert jumps.startswith("3 functions" if way in ("auto", "nodes") else "1 functions"), (fork, way, jumps)
    if way != "auto":
        return
    counts = collections.Counter(n.brick for lane in session.lanes for n in g.nodes_of(session, lane))
    assert set(counts) <= set(NODES[LIKE_OURS]), (fork, counts)
    if fork in NODES:
        assert counts == {brick: each * LAYERS * GRAPHS * threads for brick, each in NODES[fork].items()}, (fork, counts)


def check_wrong(scratch, fork, said):
    """What an engine leaves undone is on the first screen, of the recording and of its report."""
    path = os.path.join(scratch, "run.pftrace")
    run = g.run([BRICK, "record", "-o", path, "--", build(scratch, fork), "1", str(GRAPHS)])
    report = g.run([BRICK, "report", path])
    for text in run.stderr, report.stdout:
        assert said in " ".join(text.split()), (said, text)


def main():
    if not os.path.exists(os.path.join(g.BUILD, "lib", "libbrick-patch.so")):
        g.skip("Brick was built without patches")
    if not shutil.which("cc"):
        g.skip("no C compiler")
    with tempfile.TemporaryDirectory() as scratch:
        for fork in range(FORKS):
            program = build(scratch, fork)
            for threads in 1, 2:
                for way in "auto", "nodes", "callback", "graph":
                    check(program, fork, threads, way)
        check_wrong(scratch, FORKS, "not computed: 1 of the 24 nodes with work of a graph were executed")
        check_wrong(scratch, FORKS + 1, "results are no numbers (NaN), from ffn_norm-0 on, node 2 of 30")


sys.exit(main())
