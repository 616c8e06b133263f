# SPDX-License-Identifier: Apache-2.0
"""What a program asks of its own session (tests/programs/own_questions.c asserts it), and that `brick report` says the
same of the recordings that it leaves."""
import json
import os
import subprocess

from libcli import BUILD, TMP, brick, expect

done = subprocess.run([os.path.join(BUILD, "bin", "program-own_questions"), TMP], capture_output=True, text=True,
                      timeout=600)
expect("exit: " + done.stderr, done.returncode, 0)
rows = {row["name"]: row for row in json.loads(brick("report", os.path.join(TMP, "2.pftrace"), "--json")[0])["bricks"]}
expect("told to the ns", rows["FFT1D"]["total_ns"], sum(i * 997 + 13 for i in range(1, 1001)))
expect("with its elements", rows["FFT1D"]["elements"], 2000)
expect("and counted", rows["SpMV"]["count"], 2)
