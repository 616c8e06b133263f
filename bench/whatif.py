# SPDX-License-Identifier: Apache-2.0
"""What `brick path` predicts against what happens. An engine of two threads is recorded; then each of its bricks is really
made a tenth shorter, and as short as it can be. The bench prints the predicted median step and the real one, for the
rounds of this run together.
"""
import json
import os
import statistics
import subprocess
import tempfile

BIN = os.path.join(os.environ["BRICK_BUILD"], "bin")
BRICKS = ["QkvProjection", "AttentionScore", "DownProjection", "UpProjection", "LmHead"]
ROUNDS = 5


def engine(*args):
    out = subprocess.run([os.path.join(BIN, "program-whatif"), *args], check=True,
                         capture_output=True).stdout
    return json.loads(out)["step_ns"] / 1000


def promise(path):
    """The median step's length, and per brick its length with a tenth less and with nothing."""
    out = subprocess.run([os.path.join(BIN, "brick"), "path", "--json", "--step", "decode", path],
                         check=True, capture_output=True).stdout
    section = json.loads(out)["sections"][0]
    rows = {row["name"]: row for row in section["bricks"]}
    return section["path_ns"] / 1000, {
        name: (rows[name]["ten_percent_less"]["time_ns"] / 1000,
               rows[name]["nothing"]["time_ns"] / 1000) for name in BRICKS}


def main():
    recorded, promised, plain, measured = [], {}, [], {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.pftrace")
        for _ in range(ROUNDS):
            engine("--record", path)
            length, rows = promise(path)
            recorded.append(length)
            plain.append(engine())
            for name in BRICKS:
                for k, percent in enumerate((90, 0)):
                    promised.setdefault((name, k), []).append(rows[name][k])
                    measured.setdefault((name, k), []).append(engine(f"{name}={percent}"))
    print(f"median step: {statistics.median(recorded):.1f} us recorded, "
          f"{statistics.median(plain):.1f} us without recording")
    print(f"{'':16}{'10 % less':>24}{'no time':>24}")
    print(f"{'brick':16}" + f"{'promised':>12}{'measured':>12}" * 2)
    for name in BRICKS:
        cells = ""
        for k in range(2):
            for values in (promised[name, k], measured[name, k]):
                cells += f"{statistics.median(values):9.1f} us"
        print(f"{name:16}{cells}")


main()
