# SPDX-License-Identifier: Apache-2.0
"""Recording changes nothing that a program on llama.cpp says: tokens, messages, exit code; from C and
from Node.js, for every way to run the demo's model."""
import itertools
import os

import libggml as g


def variants():
    for model, flash, threads in itertools.product(("f16", "q8_0"), ("on", "off"), ("1", "2")):
        yield model, ["--flash", flash, "--threads", threads]
    yield "f16", ["--threads", "2", "--no-pool"]
    yield "q8_0", ["--threads", "1", "--no-pool", "--ubatch", "16"]


def from_c():
    libs = g.libraries()
    for model, options in variants():
        command = [g.LLAMA, "--libs", libs, "--model", g.demo(f"model-{model}.gguf"),
                   "--prompt-tokens", "40", "--predict", "6", *options]
        plain = g.run(command)
        assert plain.returncode == 0, plain.stderr
        with g.Recorded(command) as recorded:
            g.assert_same(plain, recorded.result, f"{model} {options}")
            session = recorded.session()
            g.assert_clean(session)
            assert len(g.steps_of(session)) >= 6, "steps were missed"


def errors():
    """Exit codes and messages of failures."""
    command = [g.LLAMA, "--libs", g.libraries(), "--model", os.devnull]
    plain = g.run(command)
    assert plain.returncode == 1
    with g.Recorded(command) as recorded:
        g.assert_same(plain, recorded.result, "no model")


def from_node():
    node, script = g.demo("engine", "node"), os.path.join(g.SOURCE, "examples", "demo", "generate.mjs")
    command = [node, script, "--engine", g.demo("engine"), "--model", g.demo("model-f16.gguf"),
               "--prompt-tokens", "40", "--predict", "6"]
    plain = g.run(command)
    assert plain.returncode == 0, plain.stderr
    with g.Recorded(command) as recorded:
        g.assert_same(plain, recorded.result, "Node.js")
        session = next(s for s in recorded.sessions() if s.note("steps"))
        g.assert_clean(session)
        steps = g.steps_of(session)
        assert [s.brick for s in steps][:2] == ["Prefill", "Decode"], steps
        assert sum(s.tokens for s in steps) == 40 + 5, [s.tokens for s in steps]


from_c()
errors()
from_node()
