# SPDX-License-Identifier: Apache-2.0
"""Products that ggml's BLAS backend takes (prompts of 32 tokens and more) belong to their nodes, bricks and layers
like those of the CPU backend, for weights that it has to convert, too. The tokens are the same. Digests of their
results are those of the CPU, but for rounding."""
import collections
import os
import subprocess
import tempfile

import libggml as g

PROMPT, PREDICT = 80, 3
BRICK = os.path.join(g.BUILD, "bin", "brick")
PRODUCTS = ("QkvProjection", "OutputProjection", "GateProjection", "UpProjection", "DownProjection")


def command(libs, kind, threads=1):
    return [g.LLAMA, "--libs", libs, "--model", g.demo(f"model-{kind}.gguf"), "--prompt-tokens", str(PROMPT),
            "--predict", str(PREDICT), "--threads", str(threads)]


def recorded(libs, kind, threads):
    plain = g.run(command(libs, kind, threads))
    assert plain.returncode == 0, plain.stderr
    with g.Recorded(command(libs, kind, threads)) as run:
        g.assert_same(plain, run.result, f"{kind} on {threads}")
        session = run.session()
    g.assert_clean(session)
    assert session.note("attach") == ["node hooks"], session.notes
    assert all(text.endswith(" 0 were missed") for text in session.note("graph")), session.notes
    return session


def whole(session):
    """Executions of nodes in the prompt's step, and what work they stand for, by brick and layer."""
    step = g.steps_of(session)[0]
    assert step.tokens == PROMPT
    sites = [(n, session.sites[n.site]) for n in step.walk() if n.site]
    count = collections.Counter((n.brick, n.layer) for n, _ in sites)
    work = collections.Counter()
    for n, site in sites:
        work[n.brick, n.layer] += site.flops
    return count, work


def check(blas, kind, threads):
    ours, plain = recorded(blas, kind, threads), recorded(g.libraries(), kind, threads)
    assert "BLAS" in ours.note("backend"), ours.notes
    assert whole(ours) == whole(plain), (whole(ours), whole(plain))
    one_by_one = [n for lane in ours.lanes for n in g.nodes_of(ours, lane) if n.brick in PRODUCTS]
    assert len({n.layer for n in one_by_one}) == 7, "layers of products"


def digests(blas, scratch):
    """`diverge` finds the products of both; those of the BLAS differ from the CPU's by rounding only."""
    paths = []
    for name, libs in (("cpu", g.libraries()), ("blas", blas)):
        paths.append(os.path.join(scratch, name + ".pftrace"))
        subprocess.run([BRICK, "record", "-q", "--digest", "-o", paths[-1], "--", *command(libs, "f32")], check=True,
                       stdout=subprocess.DEVNULL)
    text = " ".join(subprocess.run([BRICK, "diverge", *paths], capture_output=True, text=True, check=True).stdout.split())
    assert "100.0% of A's, 100.0% of B's" in text and "No divergence" in text, text


def main():
    blas = os.path.dirname(g.demo("engine-blas", "libggml-blas.so"))
    for kind, threads in (("f16", 1), ("f32", 2), ("q8_0", 1)):
        check(blas, kind, threads)
    with tempfile.TemporaryDirectory() as scratch:
        digests(blas, scratch)


main()
