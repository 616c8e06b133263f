# SPDX-License-Identifier: Apache-2.0
"""What all bricks cost the decoder of examples/: its time with and without a recording, with the same binary.

Two ways, because they fail differently. Pairs of fresh processes, interleaved ABBA, include all that recording does, and
the luck of each process. Blocks of four repetitions off, on, on, off in one process have no luck, but the consumer's
thread exists in both. The effect is the Hodges-Lehmann shift of the log ratios, with a 95 % interval from the signed-rank
distribution; where others use the machine, compare the fastest tenths instead. The bench repeats both with macro and midi
tiles, and ends with llama.cpp's times on the same model, from three processes.
`bench/decoder.py [PAIRS [REPEATS [THREADS]]]`
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
REPEATS = int(sys.argv[2]) if len(sys.argv) > 2 else 6
THREADS = [int(sys.argv[3])] if len(sys.argv) > 3 else [1, 2]
LIMIT, LIMIT_TILES = 2, 5  # percent
PHASES = "prefill", "decode", "decode_p50"  # the last: of single steps


def timed(command, threads, repeats):
    """The lines of one process, one per repetition; the first, which warms up, is left out."""
    done = subprocess.run(command + ["--model", f"{BUILD}/demo/model-f16.gguf", "--timing",
                                     "--threads", str(threads), "--repeat", str(repeats + 1)],
                          check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")][1:]


def decoder(threads, repeats, *options):
    return timed([f"{BUILD}/bin/example-decoder", *options], threads, repeats)


def llama(threads, repeats):
    return timed([f"{BUILD}/bin/brick-llama", "--libs", f"{BUILD}/demo/engine/libs"], threads,
                 repeats)


def medians(lines):
    return {phase: statistics.median(line[f"{phase}_ns"] for line in lines) for phase in PHASES}


def state(what, threads, logs, limit=LIMIT):
    for phase in PHASES:
        mid, low, high = map(percent, shift(logs[phase]))
        print(f"{threads} thread(s), {phase:10} with/without bricks, {what}: {mid} "
              f"(95 %: {low} .. {high}), limit +{limit} %", flush=True)


def processes(threads, recording):
    logs = {phase: [] for phase in PHASES}
    times = {phase: [] for phase in PHASES}
    for pair in range(PAIRS):
        order = (False, True) if pair % 2 == 0 else (True, False)
        result = {on: medians(decoder(threads, REPEATS, *(("--record", recording) if on else ())))
                  for on in order}
        for phase in PHASES:
            logs[phase].append(math.log(result[True][phase] / result[False][phase]))
            times[phase].append(result[False][phase])
    state(f"{PAIRS} pairs of processes", threads, logs)
    return {phase: statistics.median(times[phase]) for phase in PHASES}


def blocks(threads, recording, *options, limit=LIMIT):
    """Off, on, on, off, and again; the first of these blocks warms up."""
    logs = {phase: [] for phase in PHASES}
    times = {(phase, on): [] for phase in PHASES for on in (False, True)}
    for _ in range(PAIRS):
        # what comes is without repetition 0
        lines = decoder(threads, 4 * REPEATS + 3, "--pause", "--record", recording, *options)[3:]
        for first in range(0, len(lines), 4):
            block = lines[first:first + 4]
            assert [line["bricks"] for line in block] == [False, True, True, False]
            for phase in PHASES:
                on, off = (sum(line[f"{phase}_ns"] for line in block if line["bricks"] == wanted)
                           for wanted in (True, False))
                logs[phase].append(math.log(on / off))
        for line in lines:
            for phase in PHASES:
                times[phase, line["bricks"]].append(line[f"{phase}_ns"])
    state(" ".join([f"{len(logs['decode'])} blocks in a process", *options]), threads, logs, limit)
    for phase in PHASES:
        on, off = (statistics.quantiles(times[phase, wanted], n=10)[0] for wanted in (True, False))
        print(f"    {phase}: fastest tenths of {len(lines) * PAIRS // 2} repetitions each: "
              f"{(on / off - 1) * 100:+.2f} %")


def own_estimate(recording):
    done = subprocess.run([f"{BUILD}/bin/brick", "report", recording, "--json"], check=True,
                          capture_output=True)
    rep = json.loads(done.stdout)
    low, mid, high = (rep["distortion"][k] * 100 for k in ("low", "share", "high"))
    print(f"    the recording's own estimate: {mid:.2f} % ({low:.2f} .. {high:.2f} %); "
          f"{os.path.getsize(recording) / 1e6:.2f} MB, dropped {rep['losses']['dropped']}")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        recording = os.path.join(tmp, "run.pftrace")
        for threads in THREADS:
            times = processes(threads, recording)
            own_estimate(recording)
            blocks(threads, recording)
            blocks(threads, recording, "--tiles", limit=LIMIT_TILES)
            peers = [medians(llama(threads, REPEATS)) for _ in range(3)]
            peer = {phase: statistics.median(each[phase] for each in peers) for phase in PHASES}
            for phase in PHASES:
                print(f"    {phase}: {times[phase] / 1e6:.1f} ms, "
                      f"{times[phase] / peer[phase]:.2f} times llama.cpp's {peer[phase] / 1e6:.1f} ms")


main()
