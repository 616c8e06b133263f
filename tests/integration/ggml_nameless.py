# SPDX-License-Identifier: Apache-2.0
"""Layers of programs whose tensors have no names: equal blocks in a row of the graph, on each thread, each with
all that lies in it, called by the names of their weights where these have some. Where something else repeats, or nothing, no layer is claimed."""
import collections
import os

import libggml as g

PROGRAM = os.path.join(g.BUILD, "bin", "program-ggml_nameless")
LAYERS, GRAPHS = 6, 5
FIRST = 108  # nodes of the first, whose last block is another; a norm and its weight are one
BLOCK = {"MUL_MAT": 7, "AttentionProduct": 1, "AttentionOutput": 1, "RmsNorm": 2, "Elementwise": 3, "AttentionSoftmax": 1, "Activation": 1, "TensorCopy": 1}


def record(mode, threads):
    command = [PROGRAM, g.libraries(), mode, str(threads)]
    session, = g.record_unnoticed(command, f"{mode} on {threads}")
    g.assert_clean(session)
    assert session.note("attach") == ["node hooks"], session.notes
    return session


def graphs_of(session, lane):
    """Nodes of each graph on a lane: as many as there were, of the sizes that two kinds of graphs have."""
    nodes = g.nodes_of(session, lane)
    rest = (len(nodes) - FIRST) // (GRAPHS - 1)
    assert FIRST + rest * (GRAPHS - 1) == len(nodes), len(nodes)
    return [nodes[:FIRST]] + [nodes[FIRST + i * rest:FIRST + (i + 1) * rest] for i in range(GRAPHS - 1)]


def check_block(nodes, layer):
    """All that the block computes, in one row, and nothing else."""
    at = [i for i, n in enumerate(nodes) if n.layer == layer]
    assert at == list(range(at[0], at[0] + len(at))), (layer, at)
    count = collections.Counter(nodes[i].brick for i in at)
    assert count == BLOCK, (layer, count)


def transformer(mode, first, threads):
    session = record(mode, threads)
    said = session.note("layers")
    assert len(said) == 2 and "5 equal blocks" in said[0] and "6 equal blocks" in said[1], said
    for lane in session.lanes:
        for graph, layers in zip(graphs_of(session, lane), [LAYERS - 1] + [LAYERS] * (GRAPHS - 1)):
            for layer in range(first, first + layers):
                check_block(graph, layer)
            named = {first + LAYERS - 1} if first else set()  # of the last block only what has a weight
            assert {n.layer for n in graph} == {-1, *range(first, first + layers)} | named, {n.layer for n in graph}


def main():
    for threads in (1, 2):
        transformer("transformer", 0, threads)
        transformer("weights", 10, threads)
    for mode in ("time", "widths", "two"):
        session = record(mode, 1)
        assert not session.note("layers"), session.notes
        assert {n.layer for lane in session.lanes for n in g.nodes_of(session, lane)} == {-1}, mode


main()
