# SPDX-License-Identifier: Apache-2.0
"""16 000 names made at run time, on three threads: each has its exact count in the recording, in reports, the live view
and the program's own results; also after SIGKILL, with few addresses, and where there is no memory for all of them. One
name too many is refused, by a number that says why."""
import json
import os
import signal
import subprocess

from libcli import BRICK, BUILD, TMP, brick, brick_json, environment, expect, expect_true

PROGRAM = os.path.join(BUILD, "bin", "program-many_names")
NAMES, THREADS = 16000, 3
EACH = 1 + 2 + 3


def record(name, *args, code=0, **how):
    path = os.path.join(TMP, name)
    done = subprocess.run([BRICK, "record", "-o", path, "--", PROGRAM, *args], capture_output=True, text=True,
                          env=environment(), timeout=600, **how)
    expect(f"{name}: {done.stderr[-500:]}", done.returncode, code)
    return path, done.stderr


def expect_rows(what, report):
    rows = {row["name"]: row for row in report["bricks"]}
    wrong = [(i, rows.get(f"name {i}", {}).get("count")) for i in range(NAMES)
             if rows.get(f"name {i}", {}).get("count") != EACH]
    expect(f"{what}: counts", wrong[:5], [])
    return rows


def recorded():
    path, _ = record("many.pftrace", str(NAMES), str(THREADS), "end")
    report = brick_json("report", "--json", path)
    rows = expect_rows("report", report)
    expect("nothing lost", [key for key, n in report["losses"].items() if n and key != "complete"], [])
    expect("percentiles", [name for name, row in rows.items() if name.startswith("name") and row["p50_ns"] is None], [])
    shown = brick("report", "--csv", path)[0].decode().splitlines()
    expect("rows of CSV", len({line for line in shown if "name " in line}), NAMES)
    csv = brick("export", "--format", "csv", path)[0].decode()
    expect("samples in CSV", csv.count(",name 15999,"), EACH)
    chrome = json.loads(brick("export", "--format", "chrome", path)[0])
    events = chrome["traceEvents"] if isinstance(chrome, dict) else chrome
    expect("events of Chrome's", sum(1 for e in events if e.get("name") == "name 1024"), EACH)


def killed():
    path, _ = record("killed.pftrace", str(NAMES), str(THREADS), "kill", code=128 + signal.SIGKILL)
    expect_rows("after SIGKILL", brick_json("report", "--json", path))


def live():
    """While the program runs, and when it has ended. `brick top` keeps its own input, so the program waits on a pipe."""
    pipe = os.path.join(TMP, "pipe")
    os.mkfifo(pipe)
    top = subprocess.Popen([BRICK, "top", "--headless", "--json", "-i", "0.5", "--", "sh", "-c",
                            'exec "$0" "$@" < ' + pipe, PROGRAM, str(NAMES), str(THREADS), "wait"],
                           stdout=subprocess.PIPE, env=environment())
    end = open(pipe, "w", encoding="ascii")
    while True:
        picture = json.loads(top.stdout.readline())
        if sum(row["count"] for row in picture.get("bricks", []) if row["name"].startswith("name ")) == NAMES * EACH:
            break
    expect("still running", picture["over"], False)
    expect_rows("the live view", picture)
    end.close()
    rest = top.communicate(timeout=600)[0].decode().splitlines()
    expect_rows("its end", json.loads(rest[-1]))


def own():
    done = subprocess.run([PROGRAM, str(NAMES), str(THREADS), "own"], capture_output=True, timeout=600)
    expect("own results: " + done.stderr.decode(), done.returncode, 0)
    expect_rows("own results", json.loads(done.stdout))


def few_addresses():
    """The recorder has its own limits: only the program's are meant."""
    limit = ["sh", "-c", 'ulimit -v 1500000; exec "$0" "$@"', PROGRAM, str(NAMES), str(THREADS), "end"]
    path = os.path.join(TMP, "few.pftrace")
    done = subprocess.run([BRICK, "record", "-o", path, "--", *limit], capture_output=True, text=True, timeout=600)
    expect("ulimit -v: " + done.stderr[-500:], done.returncode, 0)
    expect_rows("ulimit -v", brick_json("report", "--json", path))


def too_many():
    done = subprocess.run([PROGRAM, "16384", "1", "end"], capture_output=True, text=True)
    expect("exit", done.returncode, 3)
    expect_true(f"says why: {done.stderr}", "a fixed-size table is full" in done.stderr)


recorded()
killed()
own()
live()
few_addresses()
too_many()
