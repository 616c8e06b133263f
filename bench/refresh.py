# SPDX-License-Identifier: Apache-2.0
"""What `brick serve` takes to read a recording and make its page, as it does whenever the recording has changed: CPU and
wall time until it can be asked. Several commands take turns: medians, minima, and each median's ratio to the first.

    bench/refresh.py [--samples N] [--threads N | --recording FILE] [--rounds N] [BRICK...]

BRICK: commands to compare. FILE: a recording that all of them can read, if one cannot read today's format.
"""
import argparse
import os
import statistics
import subprocess
import tempfile
import time

BUILD = os.environ.get("BRICK_BUILD", "build")


def seconds(command, path):
    """(CPU, wall)"""
    start = time.monotonic()
    server = subprocess.Popen([command, "serve", "--port", "0", path], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
    with server.stdout:
        if not any(b"ends it" in line for line in server.stdout):
            raise SystemExit(f"{command} serve does not serve")
        wall = time.monotonic() - start
        server.terminate()
    _, status, usage = os.wait4(server.pid, 0)
    server.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, wall


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--recording")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("commands", nargs="*", default=[f"{BUILD}/bin/brick"])
    args = parser.parse_args()
    times = [[] for _ in args.commands]
    with tempfile.TemporaryDirectory() as directory:
        path = args.recording or os.path.join(directory, "run.pftrace")
        if not args.recording:
            subprocess.run([f"{BUILD}/bin/program-demo_recording", path, str(args.samples), "6",
                            str(args.threads)], check=True)
        for i in range(args.rounds):
            turn = list(enumerate(args.commands))
            for k, command in turn if i % 2 else turn[::-1]:
                times[k].append(seconds(command, path))
    for kind, name in enumerate(("CPU", "wall")):
        of = [[turn[kind] for turn in each] for each in times]
        medians = [statistics.median(each) for each in of]
        for command, each, median in zip(args.commands, of, medians):
            print(f"{command}: {median:.3f} s {name} (least {min(each):.3f}), "
                  f"{median / medians[0]:.2f} of the first")


main()
