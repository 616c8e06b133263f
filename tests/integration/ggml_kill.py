# SPDX-License-Identifier: Apache-2.0
"""A program that is killed in the middle of its work leaves all that it had recorded behind."""
import os
import signal
import subprocess
import time

import libggml as g

command = [g.LLAMA, "--libs", g.libraries(), "--model", g.demo("model-f16.gguf"),
           "--prompt-tokens", "16", "--predict", "200", "--repeat", "100", "--threads", "1"]
recorded = g.Recorded(command)
process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           env={**os.environ, **recorded.env})
try:
    deadline = time.monotonic() + 600
    steps = 0
    while steps < 20 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.1)
        try:
            steps = recorded.session().stats[0].get("Decode", [0])[0]
        except (AssertionError, subprocess.CalledProcessError):
            continue
    assert process.poll() is None, "it ended before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()
    session = recorded.session()
finally:
    process.kill()
    recorded.__exit__()

assert steps >= 20, f"only {steps} steps were recorded in time"
assert session.state == 1, "the session is still open"
stats = session.stats[0]
decodes = stats["Decode"][0]
assert decodes >= steps
# Whole graphs are there, and at most the one in flight is not.
heads = sum(n.brick == "LmHead" for n in g.nodes_of(session, 0))
assert stats["LmHead"][0] == heads, "records and statistics tell the same"
evaluations = decodes + stats["Prefill"][0]
assert evaluations <= heads <= evaluations + 1, (evaluations, heads)
