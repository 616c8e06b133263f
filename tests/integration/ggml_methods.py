# SPDX-License-Identifier: Apache-2.0
"""The other ways of timing, forced by BRICK_ATTACH: the evaluation callback and whole graphs. Same
output, and the recording says which it was. A user's rules, good and bad."""
import os
import tempfile

import libggml as g

CALLBACK_SOURCE, TSC_SOURCE = 7, 1


def llama(*options):
    return [g.LLAMA, "--libs", g.libraries(), "--model", g.demo("model-f16.gguf"),
            "--prompt-tokens", "32", "--predict", "4", *options]


def record(command, **env):
    plain = g.run(command)
    assert plain.returncode == 0, plain.stderr
    with g.Recorded(command, **env) as recorded:
        g.assert_same(plain, recorded.result, str(env))
        session = recorded.session()
    g.assert_clean(session)
    return session


def sources(session):
    return {n.source for lane in session.lanes for n in g.nodes_of(session, lane)}


def callback():
    session = record(llama(), BRICK_ATTACH="callback")
    assert session.note("attach") == [
        "eval callback: it splits the graph, times are inflated (BRICK_ATTACH)"]
    assert sources(session) == {CALLBACK_SOURCE}
    bricks = {n.brick for lane in session.lanes for n in g.nodes_of(session, lane)}
    assert {"RmsNorm", "FlashAttention", "DownProjection", "LmHead"} <= bricks, bricks
    # Without fusion a norm is two nodes.
    norms = [n for lane in session.lanes for n in g.nodes_of(session, lane) if n.brick == "RmsNorm"]
    assert len(norms) == 4 * 15 * 2, len(norms)


def callback_of_the_program():
    """It is asked about every node still, and called for those it wants, no others."""
    command = [g.GRAPH, g.libraries(), "sched", "1", "6"]
    session = record(command, BRICK_ATTACH="callback")
    assert sources(session) == {CALLBACK_SOURCE}
    assert len(g.nodes_of(session, 0)) == 6 * 4


def graphs():
    session = record(llama(), BRICK_ATTACH="graph")
    assert session.note("attach") == ["graphs only: no node is timed (BRICK_ATTACH)"]
    assert not sources(session)
    steps = g.steps_of(session)
    assert len(steps) == 4
    assert all("GraphCompute" in {n.brick for n in s.walk()} for s in steps)


def trust():
    """Coverage by one brick of whole graphs is not praised as coverage."""
    with tempfile.TemporaryDirectory() as place:
        for method, said in ("graph", True), ("nodes", False):
            path = os.path.join(place, "run.pftrace")
            brick = os.path.join(g.BUILD, "bin", "brick")
            done = g.run([brick, "record", "-q", "--no-history", "--attach", method, "-o", path, "--", *llama()])
            assert done.returncode == 0, done.stderr
            brief = " ".join(g.run([brick, "report", path]).stdout.split())
            assert ("by whole graphs" in brief) == said, brief


def nodes():
    session = record(llama(), BRICK_ATTACH="nodes")
    assert session.note("attach") == ["node hooks (BRICK_ATTACH)"]
    assert sources(session) == {TSC_SOURCE}


def with_rules(text, **env):
    with tempfile.NamedTemporaryFile("w", suffix=".rules") as file:
        file.write(text)
        file.flush()
        session = record(llama(), BRICK_RULES=file.name, **env)
        return session, file.name


def rules():
    session, name = with_rules("brick-rules 1\n"
                               "# the whole network in one\n"
                               "node MUL_MAT * *ffn_* MyFeedForward FFN\n")
    assert session.note("rules") == [name + ", then default"]
    bricks = {n.brick for n in g.nodes_of(session, 0)}
    assert "MyFeedForward" in bricks and "QkvProjection" in bricks, bricks
    assert not bricks & {"UpProjection", "GateProjection", "DownProjection"}, bricks
    assert session.categories["MyFeedForward"] == "FFN"

    session, name = with_rules("brick-rules 1\ndefaults-off\nnode MUL_MAT * * Product Other\n")
    bricks = {n.brick for n in g.nodes_of(session, 0)}
    assert "Product" in bricks and "ROPE" in bricks and "RmsNorm" not in bricks, bricks

    session, name = with_rules("brick-rules 1\nnode MUL_MAT * *\n")
    assert session.note("rules") == [
        f"default ({name}:2: node needs OPERATION NAME SOURCE BRICK [CATEGORY])"]
    assert "UpProjection" in {n.brick for n in g.nodes_of(session, 0)}

    session = record(llama(), BRICK_RULES="/nonexistent/rules")
    assert session.note("rules")[0].startswith("default (/nonexistent/rules:0: "), session.notes


callback()
callback_of_the_program()
graphs()
trust()
nodes()
rules()
