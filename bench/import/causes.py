#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""causes.py BRICK [SEED]: imports simulated traces (simulator.py) with a planted cause and clean ones, and asks explain: the planted cause must
come first, and in a clean trace there must be none. "saved" is the part of the time that the simulator saves without the cause: the finding's
cost must be near it. Prints each planted trace with what was found, and the counts."""
import json
import os
import subprocess
import sys
import tempfile

import simulator


def findings(brick, text, folder):
    source, recording = os.path.join(folder, "run.json"), os.path.join(folder, "run.pftrace")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run([brick, "import", "-o", recording, source], check=True, stderr=subprocess.DEVNULL)
    said = json.loads(subprocess.run([brick, "explain", "--json", recording], check=True, capture_output=True).stdout)
    phase = {p["phase"]: p["elapsed_ns"] for p in said["phases"]}
    return [(f["rule"], f["cost_ns"] / phase[f["phase"]]) for f in said["findings"]]


def main():
    brick, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    first = false = near = 0
    with tempfile.TemporaryDirectory() as folder:
        print("| planted | must come first | did | cost | saved | others |\n|---|---|---|--:|--:|---|")
        for name, (cause, _) in simulator.PLANTED.items():
            found = findings(brick, simulator.planted(name, seed), folder)
            right = bool(found) and found[0][0] == cause
            first += right
            others = ", ".join(f"{rule} {part:.0%}" for rule, part in found[1:])
            saved = simulator.gain(name, seed)
            near += right and abs(found[0][1] - saved) <= max(0.02, 0.25 * saved)
            print(f"| {name} | {cause} |", "yes" if right else f"NO: {found[0][0] if found else 'nothing'}",
                  f"| {found[0][1]:.0%}" if found else "| -", f"| {saved:.0%} | {others or '-'} |")
        for name in simulator.CLEAN:
            found = findings(brick, simulator.clean(name, seed), folder)
            false += len(found)
            print(f"| {name} | none |", "yes" if not found else f"NO: {found}", "| - | - | - |")
    print(f"\n{near} costs within a quarter of what is saved, or 2 % of the time\n{first} of {len(simulator.PLANTED)} causes first; {false} findings in {len(simulator.CLEAN)} clean traces")
    sys.exit(first < 0.9 * len(simulator.PLANTED) or false > 0)


main()
