# SPDX-License-Identifier: Apache-2.0
"""What recording costs the real engine: tokens/s with `brick record` against without.

Pairs of fresh processes, interleaved ABBA, 1 thread and 2 threads (both cores saturated). Each
process gives the median of its repeats; the effect is the Hodges-Lehmann shift of the log ratios
with a 95 % interval from the signed-rank distribution. Beside it stands the recording's own
estimate. Beside the medians stand the fastest of each process, which other load on the machine
bends least. `bench/distortion.py [PAIRS [REPEATS [THREADS]]]`
"""
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

from lib.paired import percent, shift

BUILD = os.environ.get("BRICK_BUILD", "build")
PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 15
REPEATS = sys.argv[2] if len(sys.argv) > 2 else "5"
THREADS = [int(sys.argv[3])] if len(sys.argv) > 3 else [1, 2]
JUDGES = {"median": statistics.median, "fastest": min}


def command(threads):
    return [f"{BUILD}/bin/brick-llama", "--libs", f"{BUILD}/demo/engine/libs", "--model",
            f"{BUILD}/demo/model-f16.gguf", "--prompt-tokens", "256", "--predict", "64",
            "--threads", str(threads), "--repeat", REPEATS, "--timing"]


def run(threads, recording):
    cmd = command(threads)
    if recording:
        cmd = [f"{BUILD}/bin/brick", "record", "-q", "-o", recording, "--"] + cmd
    done = subprocess.run(cmd, check=True, capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return {(phase, judge): take(line[f"{phase}_ns"] for line in lines)
            for phase in ("prefill", "decode") for judge, take in JUDGES.items()}


def main():
    limits = {1: {"prefill": 1, "decode": 2}, 2: {"prefill": 2, "decode": 4}}
    with tempfile.TemporaryDirectory() as tmp:
        recording = os.path.join(tmp, "run.pftrace")
        for threads in THREADS:
            logs = {(phase, judge): [] for phase in ("prefill", "decode") for judge in JUDGES}
            own, size = [], []
            for pair in range(PAIRS):
                order = (False, True) if pair % 2 == 0 else (True, False)
                result = {on: run(threads, recording if on else None) for on in order}
                for key in logs:
                    logs[key].append(math.log(result[True][key] / result[False][key]))
                rep = json.loads(subprocess.run(
                    [f"{BUILD}/bin/brick", "report", recording, "--json"], check=True,
                    capture_output=True).stdout)
                own.append(rep["distortion"])
                size.append(os.path.getsize(recording))
                if any(v for k, v in rep["losses"].items() if k != "complete"):
                    print(f"  losses: {rep['losses']}")
            for (phase, judge), values in logs.items():
                mid, low, high = shift(values)
                print(f"{threads} thread(s), {phase:7}, {judge:7}: time with/without "
                      f"{percent(mid)} (95 %: {percent(low)} .. {percent(high)}), "
                      f"limit +{limits[threads][phase]} %, {PAIRS} pairs", flush=True)
            low, mid, high = (statistics.median(o[k] * 100 for o in own)
                              for k in ("low", "share", "high"))
            print(f"{threads} thread(s), the report's own estimate over all steps: "
                  f"{mid:.2f} % (stated interval {low:.2f} .. {high:.2f} %); "
                  f"recording {statistics.median(size) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
