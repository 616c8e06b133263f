#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""speed.py [--events N] [--trace-processor PROGRAM] [--hta] BRICK [OTHER-BRICK...]: CPU time, wall time and largest memory of reading one
large trace of Kineto (large.py): `brick import`, Perfetto's trace_processor with a query of one row, and HolisticTraceAnalysis (of the Python
that runs this) with its temporal breakdown. They run one after another, on the same file, three rounds; the least CPU time of each is shown."""
import argparse
import os
import subprocess
import sys
import tempfile

import large

HTA = """
import sys, logging, warnings
sys.path.pop(0)  # hta.py may lie there
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="").get_temporal_breakdown(visualize=False)
"""
# its only child's usage, because memory of a child begins with that of its parent
MEASURE = """
import resource, subprocess, sys, time
begin = time.monotonic()
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, time.monotonic() - begin, used.ru_maxrss / 1024, done.returncode, done.stderr[-300:].replace("\\n", " "))
"""


def measured(command):
    cpu, wall, megabytes, code, *why = subprocess.run([sys.executable, "-c", MEASURE, *command], check=True, capture_output=True,
                                                      text=True).stdout.split(None, 4)
    if int(code):
        print(command[0], "failed:", code, *why, file=sys.stderr)
        return None
    return float(cpu), float(wall), float(megabytes)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=float, default=1e6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trace-processor")
    parser.add_argument("--hta", action="store_true")
    parser.add_argument("--file", help="a file that large.py made, instead of a new one")
    parser.add_argument("brick", nargs="+")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.file or os.path.join(folder, "large.json.gz")
        if not arguments.file:
            large.write(int(arguments.events), path)
        commands = {f"{brick} import": [brick, "import", "-o", os.path.join(folder, "run.pftrace"), path] for brick in arguments.brick}
        if arguments.trace_processor:
            commands["trace_processor"] = [arguments.trace_processor, "query", path, "select count(*) from slice"]
        if arguments.hta:
            commands["HolisticTraceAnalysis"] = [sys.executable, "-c", HTA, path]
        best = {}
        for _ in range(arguments.rounds):
            for name, command in list(commands.items()):
                used = measured(command)
                if not used:
                    del commands[name]
                elif name not in best or used < best[name]:
                    best[name] = used
        print(f"{os.path.getsize(path) / 1e6:.0f} MB packed; load {os.getloadavg()[0]:.0f} on {os.cpu_count()} CPUs", "CPU s", "wall s", "MB", sep="\t")
        for name, (cpu, wall, megabytes) in best.items():
            print(name, f"{cpu:.2f}", f"{wall:.1f}", f"{megabytes:.0f}", sep="\t")


main()
