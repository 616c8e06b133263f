# SPDX-License-Identifier: Apache-2.0
"""Children, grandchildren, programs that replace themselves, daemons, threads that come and go:
every process is in the recording, once, with all that it did, and with how it ended."""
import subprocess

from librecord import *

need(PRODUCER)


def ends(trace):
    return sorted(e["text"].split("session.end=")[1].split("\n")[0] for e in trace.all("brick.notes"))


def balanced(trace):
    same((trace.negative, [d for d in trace.open.values() if d]), (0, []), "unbalanced tracks")
    same(trace.last("brick.account")["lost_processes"], 0, "lost processes")


def statistics(trace, brick):
    """Executions of a brick according to the exact statistics, over all lanes."""
    lanes = {}
    for event in trace.all("brick.statistics"):
        lanes.setdefault(event["lane"], {}).update({b["brick"]: b for b in event.get("bricks", [])})
    return sum(l[brick]["count"] for l in lanes.values() if brick in l)


def fork(out):
    run = record(out, PRODUCER, "samples=100", "fork", "samples=10", "fork", "samples=1", "exit=5")
    same(run.returncode, 5, "exit code")
    trace = Trace(out)
    # _exit() leaves no chance to end the session; its parents end in good order
    same(ends(trace), ["closed", "closed", "dead"], "ends")
    same(trace.counts["RmsNorm"], 111, "samples")
    same(statistics(trace, "RmsNorm"), 111, "counted executions")
    same(len({e["pid"] for e in trace.all("brick.process")}), 3, "processes")
    same({e["closed"] for e in trace.all("brick.process_end")}, {0, 1}, "closed")
    balanced(trace)


def replace(out):
    run = record(out, PRODUCER, "samples=20", "exec", "samples=3", "exec", "samples=1")
    same(run.returncode, 0, "exit code")
    trace = Trace(out)
    same(ends(trace), ["closed", "exec", "exec"], "ends")
    same(trace.counts["RmsNorm"], 24, "samples")
    same(len({e["pid"] for e in trace.all("brick.process")}), 1, "pids")
    balanced(trace)


def many(out):
    script = f'for i in 1 2 3 4 5 6 7 8 9 10; do {PRODUCER} samples=7 & done; wait; {PRODUCER} samples=1'
    same(record(out, "sh", "-c", script).returncode, 0, "exit code")
    trace = Trace(out)
    same(len(trace.all("brick.process_end")), 11, "processes")
    same(trace.counts["RmsNorm"], 71, "samples")
    balanced(trace)


def record_beside(out, *actions, **keywords):
    """Recorded to the recorder's end, while a daemon of it waits for the end of its stdin."""
    run = start(out, PRODUCER, *actions, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, **keywords)
    same(run.wait(), 0, "exit code")
    run.stdin.close()


def daemon(out):
    """One that goes on holds the recording up for 2 s, or until its end with --wait."""
    with open(out + ".stderr", "wb") as stderr: # a pipe would stay open as long as the daemon
        record_beside(out, "samples=2", "daemon", "samples=3", "copy", "samples=100", stderr=stderr)
    with open(out + ".stderr") as stderr:
        check("1 process is still running" in stderr.read(), "it is not said that one still runs")
    trace = Trace(out)
    same(ends(trace), ["closed", "outlived"], "ends")
    same(trace.counts["RmsNorm"], 5, "samples")
    said = subprocess.run([BRICK, "report", "--trust", out], check=True, capture_output=True, timeout=600).stdout
    check(b"ended by" not in said, "a process that goes on ended:", said)
    run = record(out, PRODUCER, "samples=2", "daemon", "samples=3", "sleep=2500", "samples=100",
                 options=["--wait"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                 stderr=subprocess.DEVNULL)
    trace = Trace(out)
    same(ends(trace), ["closed", "closed"], "ends with --wait")
    same(trace.counts["RmsNorm"], 105, "samples with --wait")
    balanced(trace)


def silent_daemon(out):
    """One that has recorded nothing when the program ends is waited for as well."""
    with open(out + ".stderr", "wb") as stderr:
        record_beside(out, "daemon", "copy", "samples=100", stderr=stderr)
    with open(out + ".stderr") as stderr:
        check("which it left behind, goes on; --wait" in stderr.read(), "it is not said that one still runs")
    record(out, PRODUCER, "daemon", "sleep=500", "samples=100", options=["--wait"],
           stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    same(Trace(out).counts.get("RmsNorm"), 100, "samples of one that began late, with --wait")


def threads(out):
    run = record(out, PRODUCER, "churn=40,12,50", "nested=10", "threads=30,100")
    same(run.returncode, 0, "exit code")
    trace = Trace(out)
    same(trace.counts["RmsNorm"], 40 * 12 * 50 + 30 * 100, "samples")
    same(statistics(trace, "RmsNorm"), 40 * 12 * 50 + 30 * 100, "counted executions")
    # each thread's part is marked: those that a lane began with, and those that took one over
    same(len(trace.all("brick.lane")) + len(trace.all("Thread")) >= 40 * 12 + 30, True, "owners")
    balanced(trace)


def inside(out):
    """However a process ends, or its recording, the brick that is open then is shown as open."""
    own = out + ".own"
    for how, actions in (("exit", []), ("_exit", ["exit=0"]), ("kill", ["signal=9"]),
                         ("a session of its own", [])):
        before = [] if actions or how == "exit" else [f"embed=1000,{own}"]
        if before:
            subprocess.run([PRODUCER, *before, "samples=3", "open"], check=True)
        else:
            record(out, PRODUCER, "samples=3", "open", *actions)
        trace = Trace(own if before else out)
        same((trace.begins, sorted(trace.open.values())), (4, [1]), "begins, and what is open after " + how)
    record_beside(out, "samples=3", "daemon", "open", "copy", stderr=subprocess.DEVNULL)
    trace = Trace(out)
    same((ends(trace), trace.begins, sorted(trace.open.values())), (["closed", "outlived"], 4, [0, 1]),
         "what outlived its recording")


with Scratch() as scratch:
    for test in (fork, replace, many, daemon, silent_daemon, threads, inside):
        test(scratch.file(test.__name__ + ".pftrace"))
    same(sessions(), set(), "session directories left")
