# SPDX-License-Identifier: Apache-2.0
"""Are roofs true? The real engine runs models that lie in L2, in L3 and in memory. Of each brick `brick roofline` says which
level holds its data, from what was touched between two uses. Beside it stands what the hardware says: `working-sets`
replays each step, node for node, and times single cache lines. Weights and caches of each brick must lie where the
hardware finds them, and no brick, on one thread and on two, may be above its roof by more than 5 %, or have a roof that
is in doubt.
`bench/roofs.py [ROUNDS]`: how many recordings of each model (3). Measures ceilings first, and forgets them.
"""
import collections
import csv
import io
import json
import math
import os
import subprocess
import sys
import tempfile

BUILD = os.environ.get("BRICK_BUILD", "build")
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 3
LEAST_SHARE = 0.005  # of a phase: smaller bricks are not held against the hardware
MODELS = {  # f16; sizes of the weights in a decode step
    "L2": "--layers 2 --embd 64 --heads 2 --kv-heads 2 --ff 128 --vocab 384",
    "L3": "--layers 5 --embd 256 --heads 4 --kv-heads 2 --ff 704 --vocab 2048",
    "memory": "--layers 10 --embd 640 --heads 10 --kv-heads 5 --ff 1728 --vocab 4096",
}
PASSED_OPERATIONS, ELEMENT = 8, 4


def run(*args, **more):
    return subprocess.run(args, check=True, capture_output=True, text=True, **more).stdout


def brick(*args):
    return run(f"{BUILD}/bin/brick", *args)


def record(path, model, threads):
    run(f"{BUILD}/bin/brick", "record", "-o", path, "--", f"{BUILD}/bin/brick-llama", "--libs",
        "build/demo/engine/libs", "--model", model, "--threads", str(threads), "--prompt-tokens", "32",
        "--predict", "128")


def own_bytes(row):
    """As the page ROOFLINE.md defines it, for one token."""
    n, flops, moved = (int(row[key] or 0) for key in ("elements", "flops", "bytes"))
    if not n or flops <= PASSED_OPERATIONS * n:
        return 0
    passed = ELEMENT * (n + flops / 2 / n)
    return moved - int(min(passed, moved / 2))


def nodes_of(path):
    """(brick, own, passed) of a decode step, in its order."""
    text = brick("export", "--format", "csv", "--phase", "decode", "--steps", "60", path)
    rows = sorted((row for row in csv.DictReader(io.StringIO(text)) if row["bytes"]),
                  key=lambda row: int(row["begin_ns"]))
    return [(row["brick"], own_bytes(row), int(row["bytes"]) - own_bytes(row)) for row in rows]


def hardware(nodes):
    """Of each brick the level of its own data, and ns a line."""
    out = run(f"{BUILD}/bin/working-sets", input="".join(f"{b} {own} {passed}\n" for b, own, passed in nodes))
    levels, bricks = {}, collections.defaultdict(list)
    for line in out.splitlines():
        words = line.split()
        if words[0] == "level":
            levels[words[1]] = float(words[2])
        elif int(words[2]):
            bricks[words[0]].append((float(words[1]), int(words[2])))
    found = {}
    for name, parts in bricks.items():
        ns = sum(n * lines for n, lines in parts) / sum(lines for _, lines in parts)
        found[name] = (min(levels, key=lambda level: abs(math.log(max(ns, 0.1) / levels[level]))), ns)
    return levels, found


def check_roofs(rows, worst):
    """The greatest OF ROOF of all rows, and that no doubted ceiling gave one."""
    for row in rows:
        if row["distance"] is None:
            continue
        reached = [row["flops_per_s"] / row["roof"]["flops_per_s"] if row["roof"]["flops_per_s"] else 0,
                   row["bytes_per_s"] / row["roof"]["bytes_per_s"] if row["roof"]["bytes_per_s"] else 0]
        if max(reached) > 1.05 or "doubted" in row["flags"]:
            sys.exit(f"{row['phase']} {row['name']}: {max(reached):.1%} of its roof, {row['flags']}")
        worst = max(worst, max(reached))
    return worst


def main():
    counts, worst = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as work:
        os.environ["XDG_CACHE_HOME"] = work
        brick("ceilings", "--json")
        print(f"{'model':<7} {'step':>9}  {'brick':<18} {'share':>6} {'says':<7} {'hardware':<7} {'ns a line':>9} {'of roof':>8}")
        for kind, sizes in MODELS.items():
            model = os.path.join(work, f"{kind}.gguf")
            run(f"{BUILD}/bin/brick-model", *sizes.split(), model)
            for k in range(ROUNDS):
                path = os.path.join(work, f"{kind}-{k}.pftrace")
                record(path, model, 1)
                rows = json.loads(brick("roofline", "--json", path))["bricks"]
                worst = check_roofs(rows, worst)
                record(path + "-2", model, 2)
                worst = check_roofs(json.loads(brick("roofline", "--json", path + "-2"))["bricks"], worst)
                nodes = nodes_of(path)
                levels, found = hardware(nodes)
                size = sum(own for _, own, _ in nodes)
                for row in rows:
                    if row["phase"] != "decode" or row["name"] not in found or row["share"] < LEAST_SHARE:
                        continue
                    says, (is_in, ns) = row["roof"]["bandwidth_level"], found[row["name"]]
                    counts["equal" if says == is_in else "unknown" if says is None else "different"] += 1
                    of_roof = f"{1 - row['distance']:.0%}" if row["distance"] is not None else ",".join(row["flags"])
                    print(f"{kind:<7} {size / 1024:7.0f}K  {row['name']:<18} {row['share']:6.1%} {says or '-':<7} "
                          f"{is_in:<7} {ns:9.2f} {of_roof:>8}")
            print("        a line of: " + ", ".join(f"{name} {ns:.1f} ns" for name, ns in levels.items()))
    print(f"levels: {counts['equal']} equal, {counts['unknown']} unknown, {counts['different']} different; "
          f"most OF ROOF {worst:.0%}")
    sys.exit(1 if counts["different"] else 0)


main()
