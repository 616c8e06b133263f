# SPDX-License-Identifier: Apache-2.0
"""
What `brick advise` says against the truth. Each case is a model, a workload and a few options of the real engine. advise
gets the options with poor values, and chooses. Then every setting is run without Brick, in turns and in random order, and
the engine's own clock says what it gives. Printed: what the choice loses to the best setting (both run again), how far
predictions are from the truth, also of settings that advise never ran, and how often their intervals hold it. Arguments:
numbers of cases.
"""
import itertools
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.environ["BRICK_BUILD"]
BIN = os.path.join(BUILD, "bin")
DEMO = os.path.join(BUILD, "demo")
ROUNDS = int(os.environ.get("ROUNDS", "3"))

# Model (a file of the demo, or what brick-model makes), workload, goal, options with all of their values: the first is
# what advise is given.
CASES = [
    ("q8_0", "96 8", "all", {"threads": "1 2", "ubatch": "32 48 96"}),
    ("f16", "96 4", "prefill", {"threads": "1 2", "ubatch": "32 48 96"}),
    ("f32", "32 12", "decode", {"threads": "1 2", "cache-type": "q8_0 f16"}),
    ("q8_0", "128 8", "all", {"threads": "1 2", "ubatch": "32 128", "cache-type": "q8_0 f16"}),
    ("--layers 4 --embd 256 --ff 704 --type f16", "256 24", "all", {"threads": "1 2", "ubatch": "32 64 256"}),
    ("--layers 4 --embd 256 --ff 704 --type q8_0", "384 48", "decode", {"threads": "2 1", "flash": "off on"}),
    ("--layers 4 --embd 768 --ff 2048 --type q4_0", "64 6", "all", {"threads": "1 2", "ubatch": "16 32 64"}),
    ("--layers 8 --embd 384 --ff 1024 --type q8_0", "128 4", "prefill",
     {"threads": "1 2", "flash": "off on", "ubatch": "32 128"}),
    ("--layers 6 --embd 128 --heads 4 --kv-heads 2 --ff 256 --type f16", "128 100", "decode",
     {"threads": "2 1", "cache-type": "q8_0 f16"}),
    ("--layers 2 --embd 1024 --heads 16 --ff 2816 --type q8_0", "48 6", "all",
     {"threads": "1 2", "ubatch": "16 48", "cache-type": "q8_0 f16"}),
]


def model_of(what, folder):
    if not what.startswith("--"):
        return os.path.join(DEMO, f"model-{what}.gguf")
    path = os.path.join(folder, "model.gguf")
    subprocess.run([os.path.join(BIN, "brick-model"), *what.split(), path], check=True, stdout=subprocess.DEVNULL)
    return path


def command(model, workload):
    prompt, predict = workload.split()
    return [os.path.join(BIN, "brick-llama"), "--libs", os.path.join(DEMO, "engine", "libs"), "--model", model,
            "--prompt-tokens", prompt, "--predict", predict, "--repeat", "2", "--timing"]


def advise(base, goal, options):
    args = [os.path.join(BIN, "brick"), "advise", "-q", "--json", "--for", goal]
    words = list(base)
    for name, values in options.items():
        args += ["--param", f"{name}={values.replace(' ', ',')}"]
        words += [f"--{name}", f"{{{name}}}"]
    out = subprocess.run([*args, "--", *words], check=True, capture_output=True, timeout=600).stdout
    return json.loads(out)


def busy_s():
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(field) for field in file.readline().split()[1:9]]
    return (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) / os.sysconf("SC_CLK_TCK")


def undisturbed(argv):
    """What it prints on stderr; run again, up to four times, if others used more than 5 % of the CPUs."""
    for _ in range(5):
        busy, began, used = busy_s(), time.monotonic(), sum(os.times()[2:4])
        err = subprocess.run(argv, check=True, capture_output=True, timeout=600, text=True).stderr
        others = busy_s() - busy - (sum(os.times()[2:4]) - used)
        if others <= 0.02 + 0.05 * os.cpu_count() * (time.monotonic() - began):
            break
    return err


def once(base, setting, goal, workload):
    """Tokens a second of the goal, by the median of the repetitions."""
    words = [word for name, value in setting for word in (f"--{name}", value)]
    err = undisturbed([*base, *words])
    lines = [json.loads(line) for line in re.findall(r"^\{.*\}$", err, re.M)]
    prefill = statistics.median(line["prefill_ns"] for line in lines)
    decode = statistics.median(line["decode_p50_ns"] for line in lines)
    prompt, predict = map(int, workload.split())
    if goal == "prefill":
        return 1e9 * prompt / prefill
    if goal == "decode":
        return 1e9 / decode
    return 1e9 * (prompt + predict - 1) / (prefill + (predict - 1) * decode)


def exhaustive(base, goal, workload, options):
    settings = [tuple(zip(options, values)) for values in itertools.product(*(v.split() for v in options.values()))]
    found = {setting: [] for setting in settings}
    order = random.Random(1)
    for _ in range(ROUNDS):
        order.shuffle(settings)
        for setting in settings:
            found[setting].append(once(base, setting, goal, workload))
    return {" ".join(f"{name}={value}" for name, value in setting): statistics.median(values)
            for setting, values in found.items()}


def loss(base, goal, workload, options, choice, best):
    """What the choice loses to the best of the exhaustive search. That one was lucky, too: both run again, in turns."""
    if choice == best:
        return 0.0
    settings = [tuple(zip(options, (word.split("=")[1] for word in name.split()))) for name in (choice, best)]
    rates = [[once(base, setting, goal, workload) for setting in settings] for _ in range(2 * ROUNDS)]
    mine, other = (statistics.median(pair[i] for pair in rates) for i in (0, 1))
    return 1 - mine / other


def run(number, folder):
    what, workload, goal, options = CASES[number]
    base = command(model_of(what, folder), workload)
    answer = advise(base, goal, options)
    truth = exhaustive(base, goal, workload, options)
    best = max(truth, key=truth.get)
    errors, held = [], 0
    for row in answer["settings"]:
        told = row["predicted"]
        if not told["runs"] and told[goal]:
            true = truth[row["setting"]]
            errors.append(abs(told[goal]["tokens_per_s"] / true - 1))
            held += told[goal]["low"] <= true <= told[goal]["high"]
    chosen = next(row for row in answer["settings"] if row["setting"] == answer["advice"])
    told = chosen["predicted"][goal]["tokens_per_s"]
    choice = truth[answer["advice"]]
    return {"case": number + 1, "what": f"{what.replace('--', '')}, {workload.replace(' ', ' + ')} tokens, {goal}",
            "disturbed": answer["disturbed"], "settings": len(truth), "runs": answer["runs"], "measured": answer["measured"], "advice": answer["advice"],
            "base_loses": 1 - truth[answer["base"]] / truth[best], 
            "choice_loses": loss(base, goal, workload, options, answer["advice"], best),
            "choice_error": told / choice - 1, "errors": errors, "held": held}


def main():
    numbers = [int(n) - 1 for n in sys.argv[1:]] or range(len(CASES))
    done = []
    print("| case | settings (measured) | advice | what one has loses | the choice loses | predicted for it | "
          "settings never run: median, worst |\n|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            row = run(number, folder)
            done.append(row)
            errors = row["errors"]
            never = f"{100 * statistics.median(errors):.1f} %, {100 * max(errors):.1f} %" if errors else "-"
            print(f"| {row['case']}: {row['what']} | {row['settings']} ({row['measured']}) | {row['advice']} | "
                  f"{100 * row['base_loses']:.1f} % | {100 * row['choice_loses']:.1f} % | "
                  f"{100 * row['choice_error']:+.1f} % | {never} |", flush=True)
    errors = [error for row in done for error in row["errors"]]
    print(f"\nchoice within 3 %: {sum(row['choice_loses'] <= 0.03 for row in done)} of {len(done)}; "
          f"predicted for it within 10 %: {sum(abs(row['choice_error']) <= 0.1 for row in done)} of {len(done)}; "
          f"of settings never run within 10 %: {sum(e <= 0.1 for e in errors)} of {len(errors)}, "
          f"in their interval {sum(row['held'] for row in done)}; runs of advise that others disturbed: "
          f"{sum(row['disturbed'] for row in done)}")


main()
