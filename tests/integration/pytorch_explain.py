# SPDX-License-Identifier: Apache-2.0
"""`brick explain` names what is planted into three real programs of bench/torch_causes, with a cost that the program
cannot have less of, and names none of it in the program without a fault. Times off the CPU are left out, so that other
programs change all times alike. Skipped where PyTorch 2.13 cannot be installed."""
import json
import os
import subprocess
import sys

from librecord import *

SOURCE = os.environ["BRICK_SOURCE"]
PLANTED = os.path.join(SOURCE, "bench", "torch_causes", "planted.py")
# fault: its rule, and CPU time in ns that it takes at least (the first batch is loaded before the first step)
FAULTS = {"collate": ("data-loader", 23 * 40_000_000), "checkpointing": ("recomputation", 0),
          "recompile": ("compilation-in-steps", 0), "clean": (None, 0)}


def findings(scratch, python, fault):
    path = scratch.file(fault + ".pftrace")
    done = subprocess.run([BRICK, "record", "--off-cpu", "off", "-o", path, "--", python, PLANTED, fault], capture_output=True,
                          text=True, timeout=600)
    same(done.returncode, 0, done.stderr)
    said = subprocess.run([BRICK, "explain", path, "--json"], capture_output=True, text=True, timeout=600)
    same(said.returncode, 0, said.stderr)
    return {found["rule"]: found for found in json.loads(said.stdout)["findings"]}


if not os.path.exists(os.path.join(BUILD, "lib", "libbrick-torch.so")):
    print("skipped: Brick was built without the attacher of PyTorch")
    sys.exit(77)
with Scratch() as scratch:
    fetched = subprocess.run([os.path.join(SOURCE, "examples", "demo", "torch.sh"), "torch-2.13.0"], capture_output=True, text=True)
    if fetched.returncode:
        print("skipped:", fetched.stderr.strip())
        sys.exit(77)
    rules = {rule for rule, _ in FAULTS.values()}
    for fault, (rule, least_ns) in FAULTS.items():
        found = findings(scratch, fetched.stdout.strip(), fault)
        same(rules & set(found), {rule} - {None}, fault)
        if rule:
            check(found[rule]["cost_ns"] >= least_ns, fault, found[rule])
            check(all(found[rule][key] for key in ("what", "evidence", "try", "see")), found[rule])
