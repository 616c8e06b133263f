# SPDX-License-Identifier: Apache-2.0
"""Batches of changing size: every node has the work of its own step's shape, on every thread, also when
its graph was recognised from an earlier step; and a copy of the engine out of reach is not recorded."""
import collections
import os

import libggml as g

PAIR = os.path.join(g.BUILD, "bin", "engine-pair")
ROUNDS, WARM_UP = 1, 4
BATCHES = [2, 3, 4, 5, 16, 1]
WIDTH, LAYERS = 1408, 7  # of the demo's model


def record(threads):
    if not os.path.exists(PAIR):
        g.skip("the benches are not built")
    command = [PAIR, g.libraries(), g.demo("model-f16.gguf"), str(threads), str(ROUNDS),
               "c", "2", "3", "4", "5", "c", "16", "1"]
    with g.Recorded(command) as recorded:
        assert recorded.result.returncode == 0, recorded.result.stderr
        return recorded.session()


def check(threads):
    session = record(threads)
    g.assert_clean(session)
    steps = g.steps_of(session)
    assert [s.tokens for s in steps] == BATCHES * (ROUNDS + WARM_UP), [s.tokens for s in steps]
    lookups = collections.Counter()
    for step in steps:
        nodes = [n for n in step.walk() if n.site]
        ups = [session.sites[n.site] for n in nodes if n.brick == "UpProjection"]
        # Behind the last attention only the row of the output is left.
        assert [(s.layer, s.elements) for s in ups] == \
            [(layer, WIDTH * (step.tokens if layer < LAYERS - 1 else 1)) for layer in range(LAYERS)], \
            (step.tokens, ups)
        heads = [session.sites[n.site] for n in nodes if n.brick == "Embedding"]
        assert len(heads) == 1 and heads[0].elements == 512 * step.tokens, heads
        lookups[step.tokens] += sum(n.brick == "ProfilerLookup" for n in step.walk())
    # Each step's shape is another than the last one's, and is looked at once.
    assert set(lookups.values()) == {ROUNDS + WARM_UP}, lookups
    # All threads do the same nodes, in the same order.
    lanes = [[(n.brick, n.layer) for n in g.nodes_of(session, lane)] for lane in session.lanes]
    assert len(lanes) == threads and all(lane == lanes[0] for lane in lanes), [len(x) for x in lanes]


for count in (1, 2):
    check(count)
