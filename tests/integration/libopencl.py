# SPDX-License-Identifier: Apache-2.0
"""What tests of OpenCL share: a program with and without `brick record`, and its commands."""
import csv
import io
import json
import os
import subprocess
import sys
import zlib

from librecord import BRICK, BUILD, check, fields

PROGRAM = os.path.join(BUILD, "bin", "program-opencl")
QUEUES = os.path.join(BUILD, "bin", "program-opencl_queues")
EMBED = os.path.join(BUILD, "bin", "program-opencl_embed")
DOUBLE = os.path.join(BUILD, "lib", "double")
FORKS = os.path.abspath(os.path.join(BUILD, "lib", "doubles", "fork.so"))
ATTACHED = os.path.join(BUILD, "lib", "libbrick-opencl.so")
ROUNDING_NS = 3
QUEUE_SOURCES = ("device-event",)


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def need_build():
    for path in PROGRAM, ATTACHED:
        if not os.path.exists(path):
            skip(f"there is no {path}: built without OpenCL headers")


def need_device():
    """A real OpenCL driver with a device (PoCL)."""
    need_build()
    if run([PROGRAM, "--kernels", "1"])[0] in (77, 127):
        skip("there is no OpenCL device: install pocl-opencl-icd")


def run(command, env=None, timeout=600):
    """Exit code, standard output and standard error."""
    done = subprocess.run(command, capture_output=True, env=dict(os.environ, **(env or {})),
                          timeout=timeout)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def record(path, command, env=None, options=(), timeout=600):
    return run([BRICK, "record", "-q", "-o", path, *options, "--", *command], env, timeout)


def same(path, command, env=None, mask=lambda text: text, options=()):
    """Run it plainly and recorded: same output and exit code. Returns the recorded run."""
    plain = run(command, env)
    recorded = record(path, command, env, options)
    what = f"{command[1:]} {env or ''}"
    check(recorded[0] == plain[0], what, "exit code", recorded[0], "instead of", plain[0])
    check(mask(recorded[1]) == mask(plain[1]), what, "output differs:\n", plain[1], "---\n",
          recorded[1])
    return recorded


def report(path, *options):
    code, out, err = run([BRICK, "report", path, "--json", *options])
    check(code == 0, "report", path, err)
    return json.loads(out)


def losses(path):
    return {k: v for k, v in report(path)["losses"].items() if v and k != "complete"}


def counted(path):
    """Commands in the recording, and those that it says are not there."""
    queues = report(path, "--by", "queue")["queues"]
    lost = losses(path)
    return (sum(q["count"] for q in queues),
            lost.get("dropped", 0) + lost.get("unsupported", 0))


def queues_come_and_go(path, env=None):
    """An embedding program that makes queue after queue: every one of them is left to it."""
    for code, out, _ in run([QUEUES], env), record(path, [QUEUES], env):
        check((code, out) == (0, "100 bricks, finished\n"), "queues come and go:", code, out)
    rows = {row["name"]: row for row in report(path)["bricks"]}
    counts = {name: (row["count"], row["device_count"]) for name, row in rows.items()}
    # 75 waits of the program, and the one of brick_device_finish(); its one thread was made ready
    check(counts == {"RmsNorm": (0, 100), "Launch": (100, None), "Synchronize": (76, None),
                     "ProfilerReady": (1, None)}, counts)
    check(not losses(path), "losses as queues come and go:", losses(path))


def commands(path, sources=QUEUE_SOURCES[:1]):
    """One dictionary per command of a queue, in the order of their begins."""
    code, out, err = run([BRICK, "export", path, "--format", "csv"])
    check(code == 0, "export", path, err)
    rows = [row for row in csv.DictReader(io.StringIO(out)) if row["source"] in sources]
    for row in rows:
        for key in "begin_ns", "duration_ns", "launch_ns", "queued_ns", "submitted_ns", "bytes":
            row[key] = int(row[key] or 0)
        row["end_ns"] = row["begin_ns"] + row["duration_ns"]
    return sorted(rows, key=lambda row: row["begin_ns"])


def waits(path):
    """Begin and end of each wait, in order."""
    code, out, err = run([BRICK, "export", path, "--format", "csv"])
    check(code == 0, "export", path, err)
    rows = [row for row in csv.DictReader(io.StringIO(out)) if row["brick"] == "Synchronize"]
    return sorted((int(row["begin_ns"]), int(row["begin_ns"]) + int(row["duration_ns"]))
                  for row in rows)


def causal(path):
    """One in-order queue and one thread: launch <= begin, and end <= end of the next wait."""
    ends = waits(path)
    for row in commands(path):
        check(row["launch_ns"] <= row["begin_ns"], row["kernel"], "begins at", row["begin_ns"],
              "before its launch at", row["launch_ns"])
        over = [end for begin, end in ends if begin >= row["launch_ns"]]
        check(not over or row["end_ns"] <= over[0], row["kernel"], "ends at", row["end_ns"],
              "behind the wait for it, which ended at", over[:1])


def unpacked(path):
    """The bytes of a recording's packets."""
    with open(path, "rb") as file:
        data = file.read()
    parts = []
    for _, packet in fields(data):
        for number, value in fields(packet):
            parts.append(zlib.decompress(value) if number == 50 else
                         value if isinstance(value, bytes) else b"")
    return b"".join(parts)


def notes(path, key):
    """Values of a note, from the text report's JSON export."""
    code, out, err = run([BRICK, "export", path, "--format", "json"])
    check(code == 0, "export", path, err)
    found = []

    def search(node):
        if isinstance(node, dict):
            if node.get("key") == key:
                found.append(node.get("value"))
            for value in node.values():
                search(value)
        elif isinstance(node, list):
            for value in node:
                search(value)

    search(json.loads(out))
    return found
