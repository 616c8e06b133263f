# SPDX-License-Identifier: Apache-2.0
"""Every operation of models beyond llama's is known by a rule, in its layer, and the tokens stay the same:
experts, a state-space model, latent attention, a gated delta net; and what options add: an adapter (LoRA),
the rotation of a quantised KV cache, attention without its flash form. Made by examples/demo/gguf_make.py."""
import collections
import os
import subprocess
import sys
import tempfile

import libggml as g
import libsession

LIBS = g.libraries()
LLAMA = g.demo("model-f16.gguf")
STEPS, LAYERS, LLAMA_LAYERS = 6, 2, 7
Q8_0 = 8

# Executions of each in a step; what is not named is not counted.
EXPECTED = {
    "moe": {"ExpertRouter": 7 * LAYERS, "GateProjection": LAYERS, "ExpertCombine": 2 * LAYERS, "FlashAttention": LAYERS},
    "mamba": {"StateSpaceScan": LAYERS, "StateSpaceProjection": 6 * LAYERS, "StateRead": LAYERS},
    "deepseek2": {"QkvProjection": 5 * LAYERS, "FlashAttention": LAYERS, "ExpertRouter": 4},
    "qwen35": {"LinearAttention": 1, "FlashAttention": 1, "AttentionGate": 1, "StateSpaceConv": 1},
}
OPTIONS = {
    "lora": {"LoraProjection": 4 * 4 * LLAMA_LAYERS, "QkvProjection": 3 * LLAMA_LAYERS},
    f"cache={Q8_0} flash=1": {"CacheRotation": 4 * LLAMA_LAYERS, "KvCacheWrite": 2 * LLAMA_LAYERS},
    "flash=0": {"AttentionScore": LLAMA_LAYERS, "AttentionSoftmax": LLAMA_LAYERS, "FlashAttention": 0},
}
# These read weights of a block or its cache; others have no layer where the engine does not name them.
IN_LAYERS = {"QkvProjection", "RopeEmbedding", "KvCacheWrite", "FlashAttention", "OutputProjection", "GateProjection",
             "UpProjection", "DownProjection", "ExpertRouter", "CacheRotation", "AttentionGate"}


def make(kind, place):
    path = os.path.join(place, kind + ".gguf")
    subprocess.run([sys.executable, os.path.join(g.SOURCE, "examples", "demo", "gguf_make.py"), LLAMA, kind, path], check=True)
    return path


def check(what, arguments, expected):
    command = [sys.executable, os.path.join(g.SOURCE, "tests/programs/llama_options.py"), LIBS, *arguments]
    plain = g.run(command)
    assert plain.returncode == 0 and len(plain.stdout.split()) == STEPS, (what, plain)
    assert len(set(plain.stdout.split())) > 2, "the model computes something"
    with g.Recorded(command) as recorded:
        g.assert_same(plain, recorded.result, what)
        session = recorded.session()
    g.assert_clean(session)
    bricks, places = collections.Counter(), collections.defaultdict(set)
    for lane in session.lanes:
        for node in g.nodes_of(session, lane):
            site = session.sites[node.site]
            assert not site.flags & libsession.SITE_UNKNOWN, (what, site)
            bricks[node.brick] += 1
            places[node.brick].add(node.layer)
    for brick, count in expected.items():
        assert bricks[brick] == count * STEPS, (what, brick, bricks)
    for brick, layers in places.items():
        assert brick not in IN_LAYERS or -1 not in layers, (what, brick, layers)


with tempfile.TemporaryDirectory() as place:
    for kind, expected in EXPECTED.items():
        check(kind, [make(kind, place)], expected)
    for options, expected in OPTIONS.items():
        given = options.replace("lora", "lora=" + make("lora", place)).split()
        check(options, [LLAMA, *given], expected)
