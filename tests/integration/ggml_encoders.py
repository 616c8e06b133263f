# SPDX-License-Identifier: Apache-2.0
"""llama.cpp's encoders (mtmd) inside of an addon for Node.js: an image and a sound in the middle of a prompt are each
encoded in a step of its own, with the encoder's blocks as layers, no unknown operation, and as many prompt tokens as
there are positions. These are then a part of the text model's prompt."""
import collections
import os
import subprocess
import sys
import tempfile

import libggml as g
import libsession

ADDON = g.demo("engine-addons", "llama.node")
NODE = g.demo("engine", "node")
MODEL = g.demo("model-f16.gguf")
SOUND = os.path.join(os.path.dirname(ADDON), "sound.wav")
# Executions of nodes in a block: keys have no bias, a norm is three nodes, and keys and values are cast.
BLOCK = {"LayerNorm": 6, "QkvProjection": 5, "TensorCopy": 2, "FlashAttention": 1, "OutputProjection": 2, "ResidualAdd": 2,
         "UpProjection": 2, "Activation": 1, "DownProjection": 2}
# Of those before and behind the blocks.
AROUND = {"image": {"Convolution": 2, "Embedding": 1, "RowGather": 1, "Projector": 4},
          "sound": {"Convolution": 10, "Projector": 4}}


def record(command):
    plain = g.run(command)
    assert plain.returncode == 0, plain.stderr
    with g.Recorded(command) as recorded:
        assert recorded.result.stdout == plain.stdout, (plain.stdout, recorded.result.stdout)
        session = recorded.session()
    g.assert_clean(session)
    assert session.note("attach") == ["node hooks"], session.notes
    unknown = [s for s in session.sites.values() if s.flags & libsession.SITE_UNKNOWN]
    assert not unknown, unknown
    return session


def check_encoder(step, kind, blocks):
    (graph,) = [n for n in step.children if n.brick.endswith("Graph")]
    assert graph.brick == kind.capitalize() + "Graph", graph.brick
    found = collections.defaultdict(collections.Counter)
    for n in graph.walk():
        if n.site:
            found[n.layer][n.brick] += 1
    around = found.pop(-1)
    assert found == {layer: BLOCK for layer in range(blocks)}, found
    assert {name: around[name] for name in AROUND[kind]} == AROUND[kind], around


def encode(kind, medium, blocks, positions):
    with tempfile.TemporaryDirectory() as place:
        encoder, picture = os.path.join(place, "encoder.gguf"), os.path.join(place, "picture.png")
        subprocess.run([sys.executable, os.path.join(g.SOURCE, "examples/demo/gguf_make.py"), MODEL, kind, encoder, picture],
                       check=True)
        session = record([NODE, os.path.join(g.SOURCE, "tests/programs/addon_llama.cjs"), ADDON, MODEL, "4", "0", encoder,
                          medium or picture])
    steps = g.steps_of(session)
    bricks, tokens = [s.brick for s in steps], [s.tokens for s in steps]
    assert bricks == 4 * ["Prefill"] + 3 * ["Decode"], bricks
    assert tokens[1:3] == 2 * [positions] and tokens[4:] == [1, 1, 1], tokens
    check_encoder(steps[1], kind, blocks)
    for step in steps[:1] + steps[2:]:
        layers = {n.layer for n in step.walk() if n.site}
        assert layers == {-1, *range(7)} and not any(n.brick == "Projector" for n in step.walk()), layers


g.libraries()
encode("image", None, 2, 16)
encode("sound", SOUND, 3, 52)
