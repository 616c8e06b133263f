# SPDX-License-Identifier: Apache-2.0
"""Description: tests/gpu/run.sh, which settles on a device what doubles cannot, passes all its parts on the doubles:
a run on a device fails for no other reason than the device."""
import os
import re
import subprocess

from librecord import BUILD, Scratch, check

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PARTS = ("probe", "doctor", "plain", "graph", "events", "streams", "threads", "crowd", "wide", "child", "inside", "early", "many",
         "leave", "fork", "killed", "cost")


def main():
    with Scratch() as scratch:
        run = subprocess.run([os.path.join(ROOT, "tests/gpu/run.sh"), "--dry", os.path.abspath(BUILD),
                              scratch.file("gpu")], capture_output=True, text=True, env={**os.environ, "GPU_PART_S": "600"})
        check(run.returncode == 0, run.stdout[-6000:], run.stderr[-2000:])
        passed = re.findall(r"^-- (\S+): passed$", run.stdout.split("== results")[0], re.M)
        check(set(PARTS) <= set(passed), "parts that passed:", passed)
        with open(scratch.file("gpu") + "/probe.txt", encoding="utf-8") as probe:
            text = probe.read()
        check("node cloned" in text and "record kernel" in text and "forced: 7 kernels of 7" in text, text)


main()
