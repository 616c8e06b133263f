# SPDX-License-Identifier: Apache-2.0
"""Tests that pytest runs are bricks of their names, with the operators that they call in them, and end as they do without
Brick. Skipped where PyTorch 2.13 or pytest cannot be installed."""
import csv
import io
import re
import subprocess

from librecord import *

TESTS = """
import pytest
import torch


@pytest.mark.parametrize("rows", (2, 3))
def test_product(rows):
    assert torch.nn.Linear(4, 5)(torch.ones(rows, 4)).shape == (rows, 5)


class TestSums:
    def test_sum(self):
        assert torch.ones(3).sum() == 4
"""
# test: what it runs
NAMES = {"test_product[2]": "aten::linear", "test_product[3]": "aten::linear", "test_sum": "aten::sum"}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def without_times(text):
    return re.sub(r" in [0-9.]+s.*|0x[0-9a-f]+", "", text)


with Scratch() as scratch:
    python = python_with_torch()
    if run(python, "-c", "import pytest").returncode:
        print("skipped: there is no pytest beside PyTorch")
        sys.exit(77)
    file, path = scratch.file("test_some.py"), scratch.file("run.pftrace")
    with open(file, "w", encoding="utf-8") as out:
        out.write(TESTS)
    tests = (python, "-m", "pytest", "-q", "-p", "no:cacheprovider", file)
    plain = run(*tests)
    done = run(BRICK, "record", "-o", path, "--", *tests)
    same((plain.returncode, done.returncode), (1, 1), done.stdout + done.stderr)
    same(without_times(done.stdout), without_times(plain.stdout), "what pytest says")
    rows = list(csv.DictReader(io.StringIO(run(BRICK, "export", "--format", "csv", path).stdout)))
    found = {row["brick"]: row for row in rows if row["brick"].startswith("test_")}
    same(set(found), set(NAMES), "tests")
    for name, operator in NAMES.items():
        begin = int(found[name]["begin_ns"])
        end = begin + int(found[name]["duration_ns"])
        inside = {row["operation"] for row in rows if begin < int(row["begin_ns"]) < end}
        check(operator in inside, name, inside)
        check(found[name]["label"].endswith("::" + name), found[name])
