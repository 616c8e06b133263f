#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `brick report --html` of a long recording takes: wall time, CPU, memory, size; in turns with another brick, if one
is given.

  bench/page.py BUILD [SAMPLES [TURNS [OTHER_BRICK]]]      10000000 samples of 32 layers, 3 turns
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time


def page(brick, path, out):
    """(wall seconds, CPU seconds, MB)"""
    begin = time.monotonic()
    child = subprocess.Popen([brick, "report", "--html", out, path])
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{brick}: exit code {child.returncode}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build = sys.argv[1]
    samples = sys.argv[2] if len(sys.argv) > 2 else "10000000"
    turns = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    bricks = [os.path.join(build, "bin", "brick"), *sys.argv[4:5]]
    took = {brick: [] for brick in bricks}
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, "long.pftrace"), os.path.join(folder, "long.html")
        subprocess.run([os.path.join(build, "bin", "program-demo_recording"), path, samples, "32"], check=True)
        for _ in range(turns):
            for brick in bricks:
                took[brick].append(page(brick, path, out))
                size = os.path.getsize(out) / 1e6
                print(f"{brick}: wall {took[brick][-1][0]:.2f} s, CPU {took[brick][-1][1]:.2f} s, "
                      f"{took[brick][-1][2]:.0f} MB, a page of {size:.1f} MB", flush=True)
    for brick in bricks:
        wall, cpu, memory = (statistics.median(column) for column in zip(*took[brick]))
        print(f"{brick}: medians: wall {wall:.2f} s, CPU {cpu:.2f} s, {memory:.0f} MB")


main()
