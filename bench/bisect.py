# SPDX-License-Identifier: Apache-2.0
"""How often `brick bisect` finds the build, and in how many steps: 32 builds of an engine of spinning bricks, whose
DownProjection takes 5 % longer from a random build on.
`bench/bisect.py [TRIALS [PERCENT]]`
"""
import json
import os
import random
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(os.environ.get("BRICK_BUILD", "build"))
TRIALS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
PERCENT = float(sys.argv[2]) if len(sys.argv) > 2 else 5
BUILDS = 32
# One layer of three has it: 3 times as much there.
ENGINE = """#!/bin/sh
[ "$1" -ge "$2" ] && percent=$3 || percent=0
exec {program} "$0.own" "$percent"
"""


def main():
    draw, found, steps, runs = random.Random(1), 0, [], []
    with tempfile.TemporaryDirectory(prefix="brick-bisect-") as folder:
        engine = os.path.join(folder, "engine")
        with open(engine, "w", encoding="utf-8") as file:
            file.write(ENGINE.format(program=f"{BUILD}/bin/program-compare_recording"))
        os.chmod(engine, 0o755)
        for _ in range(TRIALS):
            first_bad = draw.randrange(1, BUILDS)
            done = subprocess.run([f"{BUILD}/bin/brick", "bisect", "-q", "--json", "--builds", ",".join(map(str, range(BUILDS))),
                                   "--", engine, "{}", str(first_bad), str(round(3 * PERCENT))], capture_output=True, text=True)
            if done.returncode not in (0, 1):
                sys.exit(done.stderr)
            answer = json.loads(done.stdout)
            right = (answer["bad"], answer["brick"]) == (str(first_bad), "DownProjection")
            found += right
            steps.append(len(answer["steps"]) - 1)
            runs.append(sum(step["runs"] for step in answer["steps"]))
            if not right:
                doubtful = [step["build"] for step in answer["steps"] if step.get("is_doubtful")]
                print(f"planted {first_bad}, said {answer['bad']} ({answer['brick']}), doubtful: {doubtful}", flush=True)
    print(f"{PERCENT:g} % in one brick of {BUILDS} builds: build and brick found in {found} of {TRIALS}, in at most {max(steps)} "
          f"steps; builds ran {sum(runs) / len(runs):.0f} times, and the first one as often beside them")


main()
