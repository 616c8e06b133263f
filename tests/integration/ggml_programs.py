# SPDX-License-Identifier: Apache-2.0
"""Programs that use ggml in unusual ways are recorded and not disturbed: without a scheduler, with an
evaluation callback of their own, with backends that come and go, graphs inside of graphs, several
contexts at once, and fork. A graph that trains is a step of its own kind: forward, backward, optimizer."""
import collections
import os

import libggml as g
import libsession

GRAPHS = 5
NODES = ["UpProjection", "Activation", "ADD", "MUL_MAT"]


def check(mode, threads):
    libs = g.libraries()
    command = [g.GRAPH, libs, mode, str(threads), str(GRAPHS)]
    sessions = g.record_unnoticed(command, f"{mode} on {threads}")
    for session in sessions:
        g.assert_clean(session)
        assert session.note("attach") == ["node hooks"], session.notes
        assert session.note("steps")[0].startswith("one per graph"), session.notes
        for step in g.steps_of(session):
            assert (step.brick, step.tokens) == ("Decode", 0)
            assert [c.brick for c in step.children][-1] == "GraphCompute", step.children
    return sessions


def counts(sessions):
    """Executions of each brick over all lanes of all sessions."""
    return collections.Counter(
        n.brick for s in sessions for lane in s.lanes for n in g.nodes_of(s, lane))


def check_names(session):
    """A rule knows the first two; the others stand under the names of their operations."""
    sites = {s.label: s for s in session.sites.values() if not s.flags & libsession.SITE_PART}
    assert session.bricks[sites["ffn_up-3"].brick] == "UpProjection"
    assert sites["ffn_up-3"].layer == sites["ffn_silu-3"].layer == 3
    assert session.bricks[sites["mystery"].brick] == "MUL_MAT"
    assert session.categories["MUL_MAT"] == "Other"
    assert sites["mystery"].flags & libsession.SITE_UNKNOWN
    assert not sites["ffn_up-3"].flags & libsession.SITE_UNKNOWN
    assert sites["mystery"].flops == 2 * 64 * 64 * 8


for threads in (1, 2):
    (plain,) = check("plain", threads)
    # "l_out-3" is a residual add by its name
    expected = {"UpProjection": 1, "Activation": 1, "ResidualAdd": 1, "MUL_MAT": 1}
    check_names(plain)
    assert counts([plain]) == {k: v * GRAPHS * threads for k, v in expected.items()}
    assert counts(check("sched", threads)) == counts([plain])
    assert counts(check("local", threads)) == counts([plain])

    (grown,) = check("grow", threads)
    assert counts([grown]) == {k: v * GRAPHS * (threads + 1) for k, v in expected.items()}
    waited = sum(n.wait > 0 for lane in grown.lanes for n in g.nodes_of(grown, lane))
    alone = len(expected) * GRAPHS
    assert waited == 0 if threads == 1 else waited > alone, f"{waited} nodes end at a barrier"

    reloaded = check("reload", threads)
    assert counts(reloaded) == {k: v * (GRAPHS + 1) * threads for k, v in expected.items()}
    assert len(reloaded[0].note("ggml.library")) in (1, 2), reloaded[0].notes

    nested = counts(check("nested", threads))
    # the outer graph on all threads, the inner one on one
    assert nested["Activation"] == GRAPHS * (threads + 1), nested
    assert nested["MAP_CUSTOM1"] == GRAPHS * threads, nested

    parallel = check("parallel", threads)
    assert counts(parallel) == {k: v * 2 * GRAPHS * threads for k, v in expected.items()}

    forked = check("fork", threads)
    assert len(forked) == 2, "the child has a session of its own"
    assert counts(forked) == {k: v * 3 * threads for k, v in expected.items()}

session, = g.record_unnoticed([g.TRAIN, g.libraries(), "cpu", str(GRAPHS)], "train")
g.assert_clean(session)
steps = g.steps_of(session)
assert [(s.brick, s.tokens) for s in steps] == GRAPHS * [("Prefill", 8)], steps
for step in steps:
    (graph,) = [n for n in step.walk() if n.brick == "TrainingGraph"]
    phases = [(n.brick, [(k.brick, session.categories.get(k.brick), k.layer) for k in n.walk() if k.site])
              for n in graph.walk() if n.brick in ("Forward", "Backward", "OptimizerStep")]
    assert phases == [("Forward", [("UpProjection", "FFN", 3), ("Loss", "Other", 3)]),
                      ("Backward", [("Gradient", "Backward", 3), ("BackwardProduct", "Backward", 3)]),
                      ("OptimizerStep", [("WeightUpdate", "Optimizer", 3)])], phases
    assert len([n for n in graph.walk() if n.site]) == 5, "no node is outside of them"

# Gradients that are accumulated over several graphs, and what is only evaluated, are no decode of unknown tokens.
for part, brick, wanted in (("accumulate", "TrainingGraph", ["Forward", "Backward"]), ("evaluate", "EvaluationGraph", [])):
    session, = g.record_unnoticed([g.TRAIN, g.libraries(), "cpu", str(GRAPHS), part], part)
    steps = g.steps_of(session)
    assert [(s.brick, s.tokens) for s in steps] == GRAPHS * [("Prefill", 8)], (part, steps)
    for step in steps:
        (graph,) = [n for n in step.walk() if n.brick == brick]
        assert [n.brick for n in graph.walk() if n.brick in ("Forward", "Backward", "OptimizerStep")] == wanted, part

# A thread that forks while another is about to tell libbrick something.
forks = os.path.join(g.BUILD, "lib", "doubles", "fork.so")
command = [g.GRAPH, g.libraries(), "plain", "2", str(GRAPHS)]
with g.Recorded(command, LD_PRELOAD=f"{g.INTERPOSER}:{os.path.abspath(forks)}") as recorded:
    assert recorded.result.returncode == 0, recorded.result
    for what in "brick_note", "brick_site_register":
        assert f"forks in {what}" in recorded.result.stderr, recorded.result.stderr
