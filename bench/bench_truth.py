# SPDX-License-Identifier: Apache-2.0
"""How often `brick bench` is wrong on this machine, beside hyperfine and benchstat's method.

An engine of spinning bricks runs against itself, and against one with a brick that takes 2, 5 and 10 % longer, as
`brick bench` runs them: plain and recorded, in random order. TRIALS times, ten runs a side are drawn from RUNS of each
side and kind (fixed seed), and `brick bench --resume` judges them. Mann and Whitney's test of each measure by itself at
5 % (benchstat's method) judges the same runs. hyperfine runs ten of each, one side after the other, SESSIONS times; it
tells a difference where its ratio is further from 1 than its +-. The bench also prints the power that the answers
state: how likely each would find the effect of all runs, by its own interval and `detectable`. With --real, the real
engine (llama.cpp, q8_0, 32 tokens of prompt, 32 generated) runs against itself.
`bench/bench_truth.py [--real] [RUNS [TRIALS [SESSIONS]]]`
"""
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

BUILD = os.environ.get("BRICK_BUILD", "build")
REAL = "--real" in sys.argv
NUMBERS = [int(a) for a in sys.argv[1:] if a != "--real"]
RUNS, TRIALS, SESSIONS = NUMBERS + [40, 200, 30][len(NUMBERS):]
BRICK = os.path.abspath(f"{BUILD}/bin/brick")
ENGINE = os.path.abspath(f"{BUILD}/bin/program-compare_recording")
SIDE, BOUND = 10, 23  # of U, two-sided 5 %, 10 and 10
DIFFERENT = {"slower", "faster", "only in A", "only in B"}
PLANTED = "DownProjection"


def engine(folder, percent):
    """One layer of three has it: 3 times as much there."""
    if REAL:
        return [f"{os.path.abspath(BUILD)}/bin/brick-llama", "--libs", f"{os.path.abspath(BUILD)}/demo/engine/libs", "--model",
                f"{os.path.abspath(BUILD)}/demo/model-q8_0.gguf", "--prompt-tokens", "32", "--predict", "32"]
    return [ENGINE, f"{folder}/own", str(3 * percent)]


def bench(folder, percent, *options, code=(0, 1)):
    done = subprocess.run([BRICK, "bench", "-q", "--json", "--no-history", "--disturbed", *options, "--", *engine(folder, 0),
                           "---", *engine(folder, percent)], capture_output=True, text=True, check=False,
                          env={**os.environ, "XDG_DATA_HOME": folder, "BRICK_DB": "none"})
    if done.returncode not in code:
        sys.exit(done.stderr)
    return json.loads(done.stdout), done.stderr


def measure(folder, percent):
    """All runs as lines of the journal, by side and kind."""
    path, lines = os.path.join(folder, "measured.bench"), {}
    with open(path, "w", encoding="utf-8"):
        pass  # a journal that is given is kept
    bench(folder, percent, "--resume", path, "--runs", str(RUNS))
    with open(path, encoding="utf-8") as journal:
        for line in journal:
            run = json.loads(line)
            lines.setdefault((run["batch"][-1], run["kind"]), []).append(line)
    return lines


def judge(folder, percent, lines, take):
    path = os.path.join(folder, "drawn.bench")
    with open(path, "w", encoding="utf-8") as journal:
        for some in lines.values():
            journal.writelines(take(some))
    count = len(take(next(iter(lines.values()))))
    return bench(folder, percent, "--resume", path, "--runs", str(count))[0]


def rows(answer):
    named = [("wall", answer["plain"])]
    recorded = answer["diff"]
    if recorded["ttft"]:
        named.append(("ttft", recorded["ttft"]))
    for name, phase in recorded["phases"].items():
        named += [(f"{name} rate", phase["rate"]), (f"{name} time", phase["time"])]
        named += [(f"{name} {row['name']}", row) for row in phase["bricks"]]
    return dict(named)


def values(line):
    """What benchstat would get: the wall time, and each brick's time per token."""
    run = json.loads(line)
    if run["kind"] == "plain":
        return {"wall": run["wall_ns"]}
    return {f"{p['phase']} {p['name']}": p["total_ns"] / p["tokens"] for p in run["parts"]
            if p["kind"] in ("brick", "step", "unattributed")}


def differs(a, b):
    above = sum((y > x) + (y == x) / 2 for x in a for y in b)
    return min(above, len(a) * len(b) - above) <= BOUND


def by_itself(lines):
    """Whether Mann and Whitney's test finds any difference, and whether it finds the planted one."""
    told = {}
    for kind in ("plain", "recorded"):
        a, b = [[values(line) for line in lines[side, kind]] for side in "ab"]
        for key in a[0]:
            if all(key in v for v in a + b):
                told[key] = differs([v[key] for v in a], [v[key] for v in b])
    return any(told.values()), told.get(f"decode {PLANTED}", False), told["wall"]


def stated_power(row, truth):
    """How likely an answer says that it would find this effect; `detectable` is the effect with 80 %."""
    if row["low"] is None or row["high"] is None or row["detectable"] is None or row["low"] <= -1:
        return 0
    deviation = (math.log1p(row["high"]) - math.log1p(row["low"])) / 2 / 1.96
    return statistics.NormalDist().cdf((math.log1p(truth) - math.log1p(row["detectable"])) / deviation + 0.8416) if deviation else 1


def trials(folder, percent, count):
    lines, draw = measure(folder, percent), random.Random(percent)
    truth = rows(judge(folder, percent, lines, lambda some: some)).get(f"decode {PLANTED}", {"effect": 0})["effect"]
    seen = {"family": 0, "whole": 0, "found": 0, "covered": 0, "others": 0, "any": 0, "planted": 0, "wall": 0, "power": 0,
            "sees": []}
    for _ in range(count):
        drawn = {key: draw.sample(some, SIDE) for key, some in lines.items()}
        answer = judge(folder, percent, drawn, lambda some: some)
        told = {name for name, row in rows(answer).items() if row["verdict"] in DIFFERENT}
        row = rows(answer).get(f"decode {PLANTED}", {"verdict": "", "low": 0, "high": 0, "detectable": None})
        seen["family"] += bool(told)
        seen["whole"] += answer["verdict"] in DIFFERENT
        seen["found"] += row["verdict"] == "slower"
        seen["covered"] += row["low"] <= truth <= row["high"]
        seen["power"] += stated_power(row, truth)
        seen["sees"].append(row["detectable"] or math.inf)
        seen["others"] += any("QkvProjection" in name or "UpProjection" in name for name in told)
        for key, value in zip(("any", "planted", "wall"), by_itself(drawn)):
            seen[key] += value
    return seen, truth


def hyperfine(folder, percent):
    told = 0
    path = os.path.join(folder, "hyperfine.json")
    for _ in range(SESSIONS):
        subprocess.run(["hyperfine", "-N", "--warmup", "1", "--runs", str(SIDE), "--export-json", path,
                        " ".join(engine(folder, 0)), " ".join(engine(folder, percent))],
                       check=True, capture_output=True)
        with open(path, encoding="utf-8") as file:
            a, b = json.load(file)["results"]
        ratio = b["mean"] / a["mean"]
        spread = ratio * ((a["stddev"] / a["mean"]) ** 2 + (b["stddev"] / b["mean"]) ** 2) ** 0.5
        told += abs(ratio - 1) > spread
    return told


def main():
    with tempfile.TemporaryDirectory(prefix="brick-truth-") as folder:
        for percent in (0,) if REAL else (0, 2, 5, 10):
            count = TRIALS if not percent else TRIALS // 2
            seen, truth = trials(folder, percent, count)
            print(f"{percent} % (all runs: {100 * truth:.3f}), of {count} draws:", flush=True)
            print(f"  brick bench: any measure called different {seen['family']}, the whole {seen['whole']}, {PLANTED} "
                  f"slower {seen['found']}, by the power that it states {seen['power']:.0f} (80 % from "
                  f"{100 * statistics.median(seen['sees']):.2f} % on), its interval holds it {seen['covered']}, another brick "
                  f"{seen['others']}")
            print(f"  each by itself (Mann-Whitney, 5 %): any {seen['any']}, {PLANTED} {seen['planted']}, wall time "
                  f"{seen['wall']}", flush=True)
            if shutil.which("hyperfine"):
                print(f"  hyperfine: {hyperfine(folder, percent)} of {SESSIONS} sessions", flush=True)


main()
