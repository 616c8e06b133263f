# SPDX-License-Identifier: Apache-2.0
"""The real engine beside a competitor on its CPU: path's first advice is that of a quiet run.

No times of two runs are compared: what was preempted is a row of its own that nobody buys, and the
brick that is worth most is that with most time on the CPU. Three products of the demo's model are
nearly the same work, so the first advice of two runs is the same when it is one of these.
"""
import json
import os
import subprocess
import sys
import tempfile

import libggml as g

BRICK = os.path.join(g.BUILD, "bin", "brick")


def check(condition, what):
    if not condition:
        sys.exit("FAILED: " + what)


def decode(path):
    out = subprocess.run([BRICK, "path", "--json", path], check=True, capture_output=True)
    return next(s for s in json.loads(out.stdout)["sections"] if s["phase"] == "decode")


def record(path, cpu):
    command = [g.LLAMA, "--libs", g.libraries(), "--model", g.demo("model-f16.gguf"),
               "--prompt-tokens", "16", "--predict", "40", "--threads", "1"]
    subprocess.run([BRICK, "record", "-q", "--off-cpu", "on", "-o", path, "--", *command], check=True,
                   capture_output=True, preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))


def most_on_cpu(path):
    out = subprocess.run([BRICK, "report", "--json", "--phase", "decode", path], check=True,
                         capture_output=True)
    report = json.loads(out.stdout)
    if report["presence"]["off_cpu"] is None:
        print("skipped: the kernel does not say when threads are off their CPUs")
        sys.exit(77)
    rows = [r for r in report["bricks"] if r["category"] not in ("Wait", "Profiler")]
    return sorted(rows, key=lambda r: -r["cpu_ns"]), report["presence"]


def examine(path, what):
    section, (rows, presence) = decode(path), most_on_cpu(path)
    first = section["bricks"][0]
    close = [r["name"] for r in rows if r["cpu_ns"] > 0.97 * rows[0]["cpu_ns"]]
    alike = [r["name"] for r in rows if r["cpu_ns"] > 0.85 * rows[0]["cpu_ns"]]
    check(first["name"] in close, f"{what}: the first advice is {first['name']}, not of {close}")
    off = [b for b in section["bricks"] if b["name"] in ("preempted", "blocked")]
    for row in off:
        check(row["ten_percent_less"]["time_ns"] == section["path_ns"],
              f"{what}: a faster brick buys being {row['name']}: {row}")
    preempted = sum(b["on_path_ns"] for b in off if b["name"] == "preempted")
    return preempted, presence, first["name"], alike


def main():
    cpu = min(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as tmp:
        quiet, busy = os.path.join(tmp, "quiet.pftrace"), os.path.join(tmp, "busy.pftrace")
        record(quiet, cpu)
        competitor = subprocess.Popen(["sh", "-c", "while :; do :; done"],
                                      preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
        try:
            record(busy, cpu)
        finally:
            competitor.kill()
            competitor.wait()
        _, _, advised, alike = examine(quiet, "quiet")
        preempted, presence, first, _ = examine(busy, "beside a competitor")
        check(preempted > 0 and presence["preempted"] > 0, "the competitor took nothing")
        check(first in alike, f"quiet {advised}, alike {alike}; beside a competitor {first}")


main()
