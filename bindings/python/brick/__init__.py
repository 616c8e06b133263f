# SPDX-License-Identifier: Apache-2.0
"""Times the bricks of engines that run machine-learning models, and reads what was recorded.

    import brick

    with brick.session("run.pftrace"):
        for token in range(8):
            with brick.step("decode", tokens=1):
                with brick.span("RmsNorm", layer=0):
                    ...

`brick report run.pftrace` shows it; `brick.read("run.pftrace")` has it as arrays. A program that
runs under `brick record` needs no session. `brick.record("run.pftrace")` records PyTorch, too.
"""
from brick._library import BrickError, version
from brick.probe import (category_stats, counter, device_stats, enabled, instant, layer, note, pause,
                         request, reset, resume, sequence, session, span, stats, step, thread_name,
                         timed)
from brick.recording import Recording, read
from brick.results import report, summary
from brick.torch_attach import attach_torch, record

__all__ = ["BrickError", "Recording", "attach_torch", "category_stats", "counter", "device_stats",
           "enabled", "instant", "layer", "note", "pause", "read", "record", "report", "request",
           "reset", "resume", "sequence", "session", "span", "stats", "step", "summary",
           "thread_name", "timed", "version"]
