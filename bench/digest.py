# SPDX-License-Identifier: Apache-2.0
"""
What digests cost: the decoder and llama.cpp recorded with and without them, interleaved in fresh
processes; and the digests' own time as their recording states it. Prints ratios of this run.
`bench/digest.py [ROUNDS]`
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

BUILD = os.environ.get("BRICK_BUILD", "build")
BIN = os.path.join(BUILD, "bin")
DEMO = os.environ.get("BRICK_DEMO", os.path.join(BUILD, "demo"))
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
ENGINES = {
    "decoder": [f"{BIN}/example-decoder"],
    "llama.cpp": [f"{BIN}/brick-llama", "--libs", f"{DEMO}/engine/libs"],
}


def run(command, digests, path):
    done = subprocess.run(
        [f"{BIN}/brick", "record", *(["--digest"] if digests else []), "-q", "-o", path, "--",
         *command], check=True, capture_output=True, text=True)
    line = [json.loads(x) for x in done.stderr.splitlines() if x.startswith("{")][-1]
    return line["prefill_ns"], line["decode_ns"]


def stated(path):
    report = json.loads(subprocess.run([f"{BIN}/brick", "report", path, "--json"], check=True,
                                       capture_output=True).stdout)
    row = next(r for r in report["bricks"] if r["name"] == "Digest")
    lost = report["losses"]["dropped"]
    return row["share"], row["avg_ns"], row["p50_ns"], row["count"], lost


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.pftrace")
        for name, engine in ENGINES.items():
            for threads in "1", "2":
                command = [*engine, "--model", f"{DEMO}/model-f32.gguf", "--prompt-tokens", "128",
                           "--predict", "32", "--threads", threads, "--timing"]
                ratios = [[], []]
                for i in range(ROUNDS):
                    times = {}
                    for digests in (False, True) if i % 2 == 0 else (True, False):
                        times[digests] = run(command, digests, path if digests else path + "0")
                    for k in range(2):
                        ratios[k].append(times[True][k] / times[False][k])
                share, mean, median, count, lost = stated(path)
                size = os.path.getsize(path)
                print(f"{name}, {threads} thread(s): with digests prefill takes "
                      f"{statistics.median(ratios[0]):.2f} times as long, decode "
                      f"{statistics.median(ratios[1]):.2f} times; stated by the last: Digest is {share:.1%} of "
                      f"the steps, mean {mean / 1e3:.1f} us, median {median / 1e3:.1f} us; "
                      f"{count} digests in {size / 1e6:.1f} MB, {lost} lost", flush=True)


main()
