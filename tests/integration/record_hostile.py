# SPDX-License-Identifier: Apache-2.0
"""Sessions that lie: the recorder never crashes or hangs, returns the program's code, writes a
whole recording, and counts the process as lost."""
from librecord import *

need(HOSTILE)

EARLY = ("empty short magic version header-bytes lane-bytes state clock notes-offset site-offset "
         "drained-offset kernel-offset kernel-count code-offset code-bytes code-entry "
         "digest-offset digest-head brick-offset-odd brick-count site-count "
         "lane-count lanes-of-nothing "
         "lane-offset lane-offset-odd lane-on-header lane-too-long ring-offset ring-on-lane "
         "histogram-offset capacity capacity-huge head head-huge directory link fifo").split()
LATE = "head-back head-jump bricks-vanish lanes-vanish cut cut-ring".split()


def survived(out, what, *command):
    run = record(out, *command, timeout=600, options=["--interval", "20"])
    same(run.returncode, 0, f"{what}: exit code")
    check(b"brick: " in run.stderr, what, run.stderr)
    trace = Trace(out)
    check(not trace.cut and trace.last("brick.end"), what, "the recording is not whole")
    same(trace.negative, 0, f"{what}: ends without a begin")
    return run, trace


with Scratch() as scratch:
    out = scratch.file("hostile.pftrace")
    run, trace = survived(out, "honest", HOSTILE, "none")
    same(sum(trace.counts.values()), 100, "samples of the honest session")
    same(trace.last("brick.account")["lost_processes"], 0, "lost processes of the honest session")
    # digests that are nonsense leave those beside them, and the process, as they are
    run, trace = survived(out, "digests", HOSTILE, "digests")
    same(sum(trace.counts.values()), 100, "samples beside digests")
    same(trace.last("brick.account")["lost_processes"], 0, "lost processes beside digests")
    for lie in EARLY + LATE:
        run, trace = survived(out, lie, HOSTILE, lie)
        same(trace.last("brick.account")["lost_processes"], 1, f"{lie}: lost processes")
        check(b"could not be read in full" in run.stderr, lie, run.stderr)
    # a liar does not harm what others recorded
    run, trace = survived(out, "beside others", "sh", "-c",
                          f"{PRODUCER} samples=1000 & {HOSTILE} cut & {HOSTILE} head-jump & wait")
    check(trace.counts.get("RmsNorm") == 1000, "beside others:", trace.counts)
    same(trace.last("brick.account")["lost_processes"], 2, "beside others: lost processes")
    for first in range(0, 300, 15):
        survived(out, f"random from {first}", "sh", "-c",
                 f"for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do {HOSTILE} random=$(({first}+i)) & done; wait")
    same(sessions(), set(), "session directories left")
