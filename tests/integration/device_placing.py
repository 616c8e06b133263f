# SPDX-License-Identifier: Apache-2.0
"""Where commands of devices are placed on the host's clock, run after run: no command begins before its
launch, or ends after the end of the wait for it, on OpenCL and Vulkan, with clocks that are read well, badly, and
off by more than commands take. BRICK_RUNS=100 for as many of each."""
import csv
import io
import os
import subprocess
import sys
import tempfile

BUILD = os.environ["BRICK_BUILD"]
BRICK = os.path.join(BUILD, "bin", "brick")
RUNS = int(os.environ.get("BRICK_RUNS", "3"))
OPENCL = os.path.join(BUILD, "bin", "program-opencl")
VULKAN = os.path.join(BUILD, "bin", "program-vulkan_work")
CASES = (("OpenCL", "device-event", (OPENCL, "--kernels", "200"), {}),
         ("Vulkan", "timestamp-query", (VULKAN,), {}),
         ("Vulkan, 300 us ahead", "timestamp-query", (VULKAN,), {"BRICK_VULKAN_CALIBRATION": "300000"}),
         ("Vulkan, 300 us behind", "timestamp-query", (VULKAN,), {"BRICK_VULKAN_CALIBRATION": "-300000"}),
         ("Vulkan, by submissions", "timestamp-query", (VULKAN,), {"BRICK_VULKAN_CALIBRATION": "off"}))


def rows_of(path):
    out = subprocess.run([BRICK, "export", path, "--format", "csv"], check=True, capture_output=True).stdout
    for row in csv.DictReader(io.StringIO(out.decode())):
        row["begin"] = int(row["begin_ns"])
        row["end"] = row["begin"] + int(row["duration_ns"])
        row["launch"] = int(row["launch_ns"] or 0)
        yield row


def violations(path, source):
    """One queue and one thread: a wait that begins behind a launch is over when that command is."""
    rows = list(rows_of(path))
    waits = sorted((row["begin"], row["end"]) for row in rows if row["brick"] == "Synchronize")
    done = [row for row in rows if row["source"] == source]
    early = [row["launch"] - row["begin"] for row in done if row["begin"] < row["launch"]]
    late = []
    for row in done:
        over = next((end for begin, end in waits if begin >= row["launch"]), None)
        if over is not None and row["end"] > over:
            late.append(row["end"] - over)
    return len(done), early, late


def runs_of(name, source, command, environment, path):
    commands, early, late = 0, [], []
    for _ in range(RUNS):
        subprocess.run([BRICK, "record", "-q", "-o", path, "--", *command], check=True, capture_output=True,
                       env=dict(os.environ, **environment), timeout=600)
        count, *found = violations(path, source)
        commands += count
        early += found[0]
        late += found[1]
    print(f"{name}: {RUNS} runs, {commands} commands; before their launch {len(early)} (at most "
          f"{max(early, default=0)} ns), behind the end of the wait {len(late)} (at most {max(late, default=0)} ns)")
    return commands == 0 or bool(early or late)


def works(command):
    try:
        return subprocess.run(command, capture_output=True, timeout=600, check=False).returncode == 0
    except FileNotFoundError:
        return False


def main():
    failed = tried = 0
    with tempfile.TemporaryDirectory() as directory:
        for name, source, command, environment in CASES:
            if not works(command):
                print(f"{name}: not tried: {command[0]} does not run here")
                continue
            tried += 1
            failed += runs_of(name, source, command, environment, os.path.join(directory, "run.pftrace"))
    return 1 if failed else 0 if tried else 77


if __name__ == "__main__":
    sys.exit(main())
