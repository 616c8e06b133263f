# SPDX-License-Identifier: Apache-2.0
"""Description: collectives and messages as NCCL's profiler interface tells them (versions 4, 5, 6), by a program that drives it
as NCCL does: count, length by the GPU's clock, elements and bytes of each kind; and what NCCL may do to a profiler."""
import json
import os
import subprocess
import sys

from librecord import *

PROGRAM = os.path.join(BUILD, "bin", "program-nccl_work")
LIBRARY = os.path.join(BUILD, "lib", "libbrick-nccl.so")


def check_version(scratch, version):
    path, count = scratch.file("run.pftrace"), 400
    run = record(path, PROGRAM, str(version), str(count))
    lines = run.stdout.decode().splitlines()
    same((run.returncode, lines[0]), (0, "mask 4166" if version == 6 else "mask 70"), f"version {version}")
    report = json.loads(subprocess.check_output([BRICK, "report", "--json", path]))
    rows = {row["name"]: row for row in report["bricks"] if row["name"].startswith("NCCL")}
    truth = [line.split("\t") for line in lines[1:]]
    same(sorted(rows), sorted(name for name, *_ in truth), "kinds of operations")
    for name, *numbers in truth:
        row, (times, ns, elements, bytes_) = rows[name], map(int, numbers)
        same((row["count"], row["elements"], row["bytes"]), (times, elements, bytes_), name)
        check(abs(row["total_ns"] - ns) <= times, name, "took", row["total_ns"], "instead of", ns)
        same((times, row["category"], row["cpu_ns"]), (2 * count // 4, "Communication", None), name)
    notes = {}
    for note in report["run"]["notes"]:
        notes.setdefault(note["key"], []).append(note["value"])
    same(sorted(notes["nccl.communicator"]), ["world: rank %d of 2, on 1 nodes" % rank for rank in (0, 1)], "communicators")
    same(notes["nccl.lost"], ["1 operations without an end, 1 without times of the GPU, 0 that were not taken; "
                              "4 channels of none"], "what was lost")
    same(notes.get("nccl.copies"), ["3 collectives of 12000 bytes by copy engines: NCCL tells no time of them"] if version == 6 else None,
         "collectives without a kernel")


def main():
    need(PROGRAM)
    with Scratch() as scratch:
        for version in (4, 5, 6):
            check_version(scratch, version)
        # NCCLs that ask for version 7 must go on to 6: what is behind that name differs between them
        tables = [line.split()[-1] for line in subprocess.check_output(["nm", "-D", "--defined-only", LIBRARY], text=True).splitlines()]
        same(sorted(name for name in tables if "ncclProfiler" in name), ["ncclProfiler_v4", "ncclProfiler_v5", "ncclProfiler_v6"], "versions")
        env = dict(os.environ, NCCL_PROFILER_PLUGIN=LIBRARY)
        plain = subprocess.run([PROGRAM, "6", "100"], env=env, capture_output=True, text=True)
        same((plain.returncode, plain.stdout), (0, "mask 0\n"), "without a recorder nothing is asked for")
        run = record(scratch.file("own.pftrace"), PROGRAM, "6", "100", env=dict(os.environ, NCCL_PROFILER_PLUGIN="none"))
        check(run.stdout.startswith(b"no ncclProfiler_v6 in none"), "the user's own setting stays:", run.stdout)


if __name__ == "__main__":
    sys.exit(main())
