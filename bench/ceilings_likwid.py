# SPDX-License-Identifier: Apache-2.0
"""`brick ceilings` against likwid-bench (Debian package likwid), interleaved in one run: arithmetic, and bandwidth of each
level on the same working sets, by instruction set, on one thread and on all. Each keeps the best of as many repetitions.
likwid-bench runs for about as long at a time as the sweep, and gets huge pages as the sweep does. Without likwid-bench
the bench says "skipped".
`bench/ceilings_likwid.py [ROUNDS [THREADS]]`: default 5, and one thread and all.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = os.environ.get("BRICK_BUILD", "build")
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
REPETITIONS = 3  # of the sweep's, of which it keeps the best
THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else None
SLOT_S = 0.02
PEAKS = {("AVX2", "f64"): "peakflops_avx_fma", ("AVX-512", "f64"): "peakflops_avx512_fma",
         ("AVX2", "f32"): "peakflops_sp_avx_fma", ("AVX-512", "f32"): "peakflops_sp_avx512_fma"}
STREAMS = {("AVX2", "read"): "load_avx", ("AVX-512", "read"): "load_avx512",
           ("AVX2", "copy"): "copy_avx", ("AVX-512", "copy"): "copy_avx512",
           ("AVX2", "triad"): "stream_sp_avx_fma", ("AVX-512", "triad"): "stream_sp_avx512_fma"}


def likwid(test, size, threads, iterations, unit):
    out = subprocess.run(["likwid-bench", "-t", test, "-w", f"N:{size}B:{threads}",
                          "-i", str(max(1, iterations))], capture_output=True, text=True,
                         env={**os.environ, "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}).stdout
    found = re.search(rf"^{unit}/s:\s+([0-9.]+)", out, re.M)
    return float(found.group(1)) / 1000 if found else 0


def sweep():
    with tempfile.TemporaryDirectory() as cache:
        out = subprocess.run([f"{BUILD}/bin/brick", "ceilings", "--force", "--quick", "--json"],
                             check=True, capture_output=True,
                             env={**os.environ, "XDG_CACHE_HOME": cache}).stdout
    return json.loads(out)


def rows_of(ceilings):
    """(what, likwid's test, working set, threads, rate, flops or bytes per pass of likwid's)"""
    ends = {THREADS} if THREADS else {1, ceilings["most_threads"]}
    for row in ceilings["compute_gops"]:
        test = PEAKS.get((row["isa"], row["type"]))
        if test and row["threads"] in ends:
            yield (f"{row['isa']} {row['type']}", test, 16384 * row["threads"], row["threads"],
                   row["best"], "MFlops")
    for row in ceilings["bandwidth_gb_per_s"]:
        test = STREAMS.get((row["isa"], row["kernel"]))
        if test and row["threads"] in ends:
            yield (f"{row['level']} {row['kernel']} {row['isa']}", test, row["working_set_bytes"],
                   row["threads"], row["best"], "MByte")


def main():
    if not shutil.which("likwid-bench"):
        print("skipped: no likwid-bench (Debian package likwid)")
        return
    ours, theirs, order = {}, {}, []
    for _ in range(ROUNDS):
        for what, test, size, threads, rate, unit in rows_of(sweep()):
            key = (what, threads)
            if key not in ours:
                order.append(key)
            ours[key] = max(ours.get(key, 0), rate)
            # likwid's peakflops does 30 operations on each element that it passes over
            element = 4 if "_sp_" in test else 8
            work = size / element * 30 if unit == "MFlops" else size
            passes = int(rate * 1e9 * SLOT_S / work)
            for _ in range(REPETITIONS):
                found = likwid(test, size, threads, passes, unit)
                theirs[key] = max(theirs.get(key, 0), found)
    load = os.getloadavg()[0]
    print(f"load average {load:.1f}" + (": figures of a busy machine" if load > 1.5 else ""))
    print(f"{'':26}{'threads':>8}{'brick':>10}{'likwid':>10}{'ratio':>8}   "
          f"GFLOP/s or GB/s, best of {ROUNDS}")
    for key in order:
        ratio = f"{ours[key] / theirs[key]:8.3f}" if theirs[key] else f"{'-':>8}"
        print(f"{key[0]:26}{key[1]:8}{ours[key]:10.1f}{theirs[key]:10.1f}{ratio}")


main()
