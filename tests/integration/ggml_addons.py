# SPDX-License-Identifier: Apache-2.0
"""Engines inside of addons for Node.js, one stripped object each. whisper.cpp: its four graphs are told
apart and its weights named though no tensor has a name, a sound and each decoder's graph are a step.
llama.cpp: choosing tokens is Sampling though the addon calls no function of llama.cpp's interface for it.
gpt4all's llama.cpp of 2024 has no function that is called for each node, but a local one that computes it.
llama.cpp of 2025 gives some nodes of attention no names. `brick doctor` says beforehand what happens, and `brick
record` warns before it splits graphs, as it must for digests of llama.cpp of 2024, and for all of one that was stripped."""
import collections
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

import libggml as g
import libsession
from libdoctor import EACH_NODE
from librunning import Program, report

ADDONS = os.path.dirname(g.demo("engine-addons", "whisper.node"))
NODE = g.demo("engine", "node")
BRICK = os.path.join(g.BUILD, "bin", "brick")
LAYERS = range(4)

# Executions of nodes in a block, by what they are labelled: a product and its bias, but keys have none.
ATTENTION = {"query": 2, "key": 1, "value": 2, "out": 2}
ENCODER = {"attn_ln": 3, "mlp_ln": 3, "mlp.0": 3, "mlp.2": 2, "residual": 2, "attn.out": 2}
DECODER = {**ENCODER, "cross_attn_ln": 3, "residual": 3, "cross_attn.query": 2, "cross_attn.out": 2}


def addon(name):
    return os.path.join(ADDONS, name + ".node")


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


def labels_of(session, node):
    """Nodes below a graph, by the part of their names behind the block's number, for each block."""
    found = collections.defaultdict(collections.Counter)
    for n in node.walk():
        parts = session.sites[n.site].label.split(".", 3) if n.site else []
        if len(parts) == 4 and parts[1] == "blocks":
            assert int(parts[2]) == n.layer, (parts, n.layer)
            found[parts[0], n.layer][parts[3]] += 1
    return found


def check_blocks(session, graph, side, expected):
    found = labels_of(session, graph)
    assert sorted(found) == [(side, layer) for layer in LAYERS], sorted(found)
    for counts in found.values():
        for label, count in expected.items():
            assert counts[label] == count, (side, label, counts)


def graphs_of(step):
    return [n for n in step.children if n.brick.endswith("Graph")]


def check_encoder(session, step):
    assert (step.brick, step.tokens) == ("Prefill", 1500), (step.brick, step.tokens)
    conv, encoder, cross = graphs_of(step)
    assert [conv.brick, encoder.brick, cross.brick] == ["ConvGraph", "EncoderGraph", "CrossGraph"]
    check_blocks(session, encoder, "encoder", ENCODER)
    check_blocks(session, cross, "decoder", {"cross_attn.key": 2, "cross_attn.value": 2,
                                             "cross_attn.key.cache": 1})
    bricks = collections.Counter(n.brick for n in cross.walk() if n.site)
    assert set(bricks) == {"CrossKvProjection", "KvCacheWrite"}, bricks
    bricks = collections.Counter(n.brick for n in conv.walk() if n.site)
    assert set(bricks) == {"Convolution"}, bricks


def check_decoder(session, step):
    (graph,) = graphs_of(step)
    assert graph.brick == "DecoderGraph"
    check_blocks(session, graph, "decoder", DECODER)
    bricks = collections.Counter(n.brick for n in graph.walk() if n.site)
    assert bricks["CrossAttention"] and not bricks["CrossKvProjection"], bricks
    assert bricks["LmHead"] == 1 and bricks["Embedding"] == 3, bricks
    assert bricks["KvCacheWrite"] == 2 * len(LAYERS), bricks


def whisper_memory():
    """The process's memory is told with each step, where no call that makes a buffer is left to see."""
    with tempfile.TemporaryDirectory() as place:
        out = os.path.join(place, "run.pftrace")
        done = g.run([BRICK, "record", "-q", "--no-history", "-o", out, "--", NODE,
                      os.path.join(g.SOURCE, "tests/programs/addon_whisper.cjs"), addon("whisper"),
                      os.path.join(ADDONS, "whisper.bin"), os.path.join(ADDONS, "sound.wav")])
        assert done.returncode == 0, done.stderr
        rows = json.loads(g.run([BRICK, "report", out, "--by", "memory", "--json"]).stdout)["rows"]
        live = {row["kind"]: row["live_bytes"] for row in rows}
        assert live["anonymous"] >= os.path.getsize(os.path.join(ADDONS, "whisper.bin")), rows  # it has read that


def whisper(*options):
    """Positions of the sound, then tokens of each decoder's step."""
    session = record([NODE, os.path.join(g.SOURCE, "tests/programs/addon_whisper.cjs"), addon("whisper"),
                      os.path.join(ADDONS, "whisper.bin"), os.path.join(ADDONS, "sound.wav"), *options])
    assert session.note("steps") == ["graphs of whisper.cpp"], session.notes
    assert session.note("whisper.library") and not session.note("llama.library"), session.notes
    check_keys_have_no_bias(session)
    encoder, *decoder = g.steps_of(session)
    check_encoder(session, encoder)
    for step in decoder:
        check_decoder(session, step)
    return [(step.brick, step.tokens) for step in decoder]


def switched():
    """`brick off` and `brick on` at any moment: a step of three graphs has all of them, or none."""
    with tempfile.TemporaryDirectory() as place:
        out = os.path.join(place, "run.pftrace")
        with Program(place, [BRICK, "record", "-q", "--no-history", "-o", out, "--", NODE,
                             os.path.join(g.SOURCE, "tests/programs/addon_whisper.cjs"), addon("whisper"),
                             os.path.join(ADDONS, "whisper.bin"), os.path.join(ADDONS, "sound.wav"), "", "", "1000000"]) as program:
            program.says_more(1)
            for part in range(4):
                for word in "off", "on":
                    time.sleep(0.15 * part)
                    done = g.run([BRICK, word, str(program.pid)])
                    assert done.returncode == 0, done
                    program.says_more(1)
            assert g.run([BRICK, "off", str(program.pid)]).returncode == 0
            program.says_more(2)
            program.process.terminate()
            program.process.wait()
        rows = json.loads(report(out, "--json"))
    counts = {row["name"]: row["count"] for row in rows["by_phase"]["prefill"]["bricks"]}
    assert counts["ConvGraph"] == counts["EncoderGraph"] == counts["CrossGraph"], counts


def check_keys_have_no_bias(session):
    """The order of the weights in the model is believed; that keys have no bias must agree with it."""
    with_bias = {s.label for s in session.sites.values() if s.operation == "ADD"}
    for side, attention in ("encoder", "attn"), ("decoder", "attn"), ("decoder", "cross_attn"):
        for layer in LAYERS:
            name = f"{side}.blocks.{layer}.{attention}."
            assert name + "key" not in with_bias and name + "value" in with_bias, sorted(with_bias)


def sampling():
    session = record([NODE, os.path.join(g.SOURCE, "tests/programs/addon_llama.cjs"), addon("llama"),
                      g.demo("model-f16.gguf")])
    steps = [s for s in g.steps_of(session) if s.brick == "Decode"]
    calls = sum(stats["Sampling"][0] for stats in session.stats.values() if "Sampling" in stats)
    assert len(steps) >= 10 and calls >= len(steps), (len(steps), calls)


def old_engine():
    command = [NODE, os.path.join(g.SOURCE, "tests/programs/addon_gpt4all.cjs"), addon("gpt4all"),
               os.path.join(ADDONS, "gpt4all"), g.demo("model-f16.gguf"), "1"]
    session = record(command)
    steps = [s for s in g.steps_of(session) if s.brick == "Decode"]
    assert len(steps) == 8, len(steps)
    for step in steps:
        counts = collections.Counter(n.brick for n in step.walk() if n.site)
        for brick in "GateProjection", "UpProjection", "DownProjection", "OutputProjection", "AttentionSoftmax":
            assert counts[brick] == 7, (brick, counts)
        assert counts["QkvProjection"] == 21 and counts["LmHead"] == 1, counts
    foreseen(command)


def foresee(command):
    return " ".join(g.run([BRICK, "doctor", "--", *command]).stdout.split())


def foreseen(command):
    said = foresee(command)
    assert EACH_NODE in said and "no llama.cpp" not in said, said


def nameless_attention():
    """Without flash attention, whose products and softmax have no names there: each is its layer's."""
    command = [NODE, os.path.join(g.SOURCE, "tests/programs/addon_node_llama.cjs"), addon("llama-2025"),
               g.demo("model-f16.gguf"), "6"]
    session = record(command)
    prompt, *steps = g.steps_of(session)
    assert (prompt.tokens, [s.tokens for s in steps]) == (40, 5 * [1]), g.steps_of(session)
    for step in prompt, *steps:
        attention = collections.Counter((n.brick, n.layer) for n in step.walk() if n.site and n.brick.startswith("Attention"))
        expected = {"AttentionScore": 1, "AttentionSoftmax": 1, "AttentionOutput": 2}
        assert attention == {(brick, layer): n for brick, n in expected.items() for layer in range(7)}, attention
    foreseen(command)


def splits():
    """What record and doctor say beforehand, in the same words, it does; and where it does not split, they say nothing.
    Without its local functions, as distributions ship libraries, nothing stands in for the node hooks."""
    with tempfile.TemporaryDirectory() as place:
        stripped = shutil.copytree(os.path.dirname(os.path.realpath(addon("llama-2024"))), os.path.join(place, "stripped"))
        subprocess.run(["strip", os.path.join(stripped, "libggml.so")], check=True)
        for there, options, attached in ((addon("llama-2024"), ["--digest"], "eval callback"),
                                         (addon("llama-2024"), [], "node hooks"),
                                         (os.path.join(stripped, "llama-addon.node"), [], "eval callback")):
            command = [NODE, os.path.join(g.SOURCE, "tests/programs/addon_node_llama.cjs"), there, g.demo("model-f16.gguf"), "3"]
            said = g.run([BRICK, "record", *options, "--no-history", "-o", os.path.join(place, "run.pftrace"), "--", *command])
            assert said.returncode == 0 and attached in said.stderr, said
            warned, splits = (re.search(r"expect [\d.]+ to \d+ times the time on one thread, and \d+ to \d+ times on several",
                                        " ".join(text.split())) for text in (said.stderr.split("attached to")[0], foresee(command)))
            assert bool(warned) == (attached == "eval callback"), said.stderr
            assert options or (splits and splits.group()) == (warned and warned.group()), (warned, splits)


g.libraries()
prompt, *tokens = whisper("plain")
assert prompt == ("Prefill", 1) and set(tokens) == {("Decode", 1)}, (prompt, tokens)
prompt, *tokens = whisper("flash", "3")
assert prompt == ("Prefill", 1) and tokens[0] == ("Decode", 3), (prompt, tokens)
whisper_memory()
switched()
sampling()
old_engine()
nameless_attention()
splits()
