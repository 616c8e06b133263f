# SPDX-License-Identifier: Apache-2.0
"""Every node of llama.cpp's graphs is recorded once per thread, under the right brick, layer and
amount of work, inside of the right step, and what is left of a step's time is small."""
import collections
import os
import statistics

import libggml as g
import libsession

LAYERS = 7
PROMPT, PREDICT = 48, 8

# Executions per graph and layer, and outside of layers, of the demo's model.
FLASH = {"RmsNorm": (2, 1), "QkvProjection": (3, 0), "RopeEmbedding": (2, 0), "KvCacheWrite": (2, 0),
         "FlashAttention": (1, 0), "OutputProjection": (1, 0), "ResidualAdd": (2, 0),
         "GateProjection": (1, 0), "UpProjection": (1, 0), "Activation": (1, 0),
         "DownProjection": (1, 0), "Embedding": (0, 1), "LmHead": (0, 1)}
PLAIN = {**FLASH, "AttentionScore": (1, 0), "AttentionSoftmax": (1, 0), "AttentionOutput": (2, 0)}
del PLAIN["FlashAttention"]


def record(flash, threads, **env):
    command = [g.LLAMA, "--libs", g.libraries(), "--model", g.demo("model-f16.gguf"),
               "--prompt-tokens", str(PROMPT), "--predict", str(PREDICT), "--flash", flash,
               "--threads", str(threads)]
    with g.Recorded(command, **env) as recorded:
        assert recorded.result.returncode == 0, recorded.result.stderr
        session = recorded.session()
    g.assert_clean(session)
    return session


def check_step_kinds(session):
    steps = g.steps_of(session)
    assert [s.brick for s in steps] == ["Prefill"] + ["Decode"] * (PREDICT - 1)
    assert [s.tokens for s in steps] == [PROMPT] + [1] * (PREDICT - 1)


def check_graph(session, nodes, expected):
    """The nodes of one graph: how many of which brick, in which layer."""
    count = collections.Counter((n.brick, n.layer) for n in nodes)
    for brick, (inside, outside) in expected.items():
        for layer in range(LAYERS):
            assert count.pop((brick, layer), 0) == inside, (brick, layer)
        assert count.pop((brick, -1), 0) == outside, brick
    rows = count.pop(("RowGather", LAYERS - 1), 0) + count.pop(("RowGather", LAYERS - 2), 0)
    assert rows in (0, 2), "rows of the outputs"
    assert not count, f"unexpected: {count}"


def check_lanes(session, expected, threads):
    """All lanes compute the same nodes; work is counted on one of them only."""
    per_lane = [g.nodes_of(session, lane) for lane in session.lanes]
    assert len(per_lane) == threads
    for nodes in per_lane:
        assert [(n.brick, n.layer) for n in nodes] == [(n.brick, n.layer) for n in per_lane[0]]
        size = len(nodes) // PREDICT
        assert len(nodes) % PREDICT == 0, f"{len(nodes)} nodes"
        for i in range(PREDICT):
            check_graph(session, nodes[i * size:(i + 1) * size], expected)
    parts = [{bool(session.sites[n.site].flags & libsession.SITE_PART) for n in nodes}
             for nodes in per_lane]
    assert sorted(map(sorted, parts)) == [[False]] + [[True]] * (threads - 1), parts
    for nodes in per_lane[1:]:
        assert not any(session.sites[n.site].flops for n in nodes)


def check_sites(session):
    assert not [s for s in session.sites.values() if s.flags & libsession.SITE_UNKNOWN]
    heads = [s for s in session.sites.values()
             if session.bricks[s.brick] == "LmHead" and s.flops]
    # 512 wide, 2048 tokens of vocabulary, f16: one row whatever the step
    assert {(s.elements, s.bytes, s.flops) for s in heads} == \
        {(2048, 2048 * 512 * 2 + 512 * 4 + 2048 * 4, 2 * 2048 * 512)}, heads
    ups = {s.elements: s for s in session.sites.values()
           if session.bricks[s.brick] == "UpProjection" and s.layer == 0 and s.flops}
    assert set(ups) == {1408, 1408 * PROMPT}, ups
    for n in (1, PROMPT):
        assert ups[1408 * n].flops == 2 * 512 * 1408 * n
        assert ups[1408 * n].bytes == 512 * 1408 * 2 + 512 * n * 4 + 1408 * n * 4


def uncovered(session):
    """Medians of what is left of steps, where that is too much. A recording has one prompt."""
    shares = collections.defaultdict(list)
    for step in g.steps_of(session):
        shares[step.brick].append(1 - step.own() / step.length)
    medians = {brick: statistics.median(shares[brick]) for brick in ("Prefill", "Decode")}
    return [] if medians["Prefill"] > 0.99 and medians["Decode"] > 0.97 else [medians]


def check_coverage(session, again, attempts=3):
    """One preemption between two bricks spoils a prompt, but hardly several prompts in a row."""
    poor = uncovered(session)
    while poor and len(poor) < attempts:
        found = uncovered(again())
        if not found:
            return
        poor += found
    assert not poor, poor


def check_own_calls():
    """What Brick asks the kernel about a step is in no step, however long that takes."""
    slow = os.path.join(g.BUILD, "lib", "slow-usage.so")
    assert os.path.exists(slow), slow
    again = lambda: record("on", 1, LD_PRELOAD=f"{g.INTERPOSER}:{slow}")
    session = again()
    check_step_kinds(session)
    check_coverage(session, again)


def check_notes(session, flash):
    assert session.note("attach") == ["node hooks"]
    assert session.note("backend") == ["CPU"]
    assert not session.note("layers"), "names say what layer a node is in"
    assert session.note("rules") == ["default"]
    assert session.note("ggml.layout")[0].startswith("type 0, ne 16"), session.note("ggml.layout")
    assert len(session.note("ggml.library")) == 1
    graphs = session.note("graph")
    assert graphs and all(text.endswith(" 0 were missed") for text in graphs), graphs
    return graphs


def check_costs(session):
    for lane in session.lanes.values():
        assert lane.hook_timed * 32 <= lane.hook_calls <= (lane.hook_timed + 1) * 128, lane
        assert lane.hook_ticks > 0, lane


for flash, threads, expected in (("on", 1, FLASH), ("off", 1, PLAIN), ("on", 2, FLASH)):
    session = record(flash, threads)
    check_step_kinds(session)
    check_lanes(session, expected, threads)
    check_sites(session)
    check_coverage(session, lambda: record(flash, threads))
    check_notes(session, flash)
    check_costs(session)
check_own_calls()
