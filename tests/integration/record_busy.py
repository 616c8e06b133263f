# SPDX-License-Identifier: Apache-2.0
"""A program that leaves no core idle: the thread that encodes hardly runs, yet nothing is dropped
and the file keeps growing."""
import os
import time

from librecord import *

need(PRODUCER)

with Scratch() as scratch:
    out = scratch.file("busy.pftrace")
    cores = os.cpu_count()
    # every core burnt twice over, and beside it two threads with 100000 bricks a second each
    run = start(out, PRODUCER, f"busy={2 * cores},4000", "say=ready", "paced=2,200000,10", "say=end")
    same(run.stdout.readline(), b"ready\n", "first line")
    grown = 0
    while not grown and run.poll() is None:
        time.sleep(0.5)
        grown = os.path.exists(out + ".part") and Trace(out + ".part").begins
    check(grown, "nothing was in PATH.part before the program ended")
    run.wait()
    trace = Trace(out)
    same(trace.counts["RmsNorm"], 400000, "samples")
    same({e["ledger"]["dropped"] for e in trace.all("brick.statistics")}, {0}, "dropped")
    same(trace.negative, 0, "ends without a begin")
