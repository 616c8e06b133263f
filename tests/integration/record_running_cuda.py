# SPDX-License-Identifier: Apache-2.0
"""`brick record -p PID` enters and leaves llama.cpp on the doubles of a GPU, whose contexts, streams and graphs exist
already: what the device does from then on is recorded, and is of the same bricks as by `brick record --`. CUPTI is left for others, and what the
program says, its descriptors, threads and mappings are as before."""
import json
import os
import re
import subprocess
import tempfile

import libcuda
import libggml as g
from librunning import BRICK, FAR_AHEAD, WAIT_S, Program, is_entered, record_while, report, state, until

TIMES = int(os.environ.get("ATTACK_ROUNDS", "3"))


def recorded(out):
    rows = json.loads(report(out, "--json"))
    notes = {note["key"]: note["value"] for note in rows["run"]["notes"]}
    return rows, notes


def commands_of_a_step(rows):
    return {row["name"]: row["device_count"] / rows["steps"]["decode"]["count"]
            for row in rows["by_phase"]["decode"]["bricks"] if row["device_count"]}


def enter_and_leave(folder, command, has_graphs, **variables):
    out = os.path.join(folder, "run.pftrace")
    with Program(folder, command, env=libcuda.environment("", **variables)) as program:
        program.says_more(2)
        before = state(program.pid)

        def steps():
            until(lambda: is_entered(program.pid), "it is not entered")
            program.says_more(4)
        for i in range(TIMES):
            said = record_while(program.pid, out, steps, FAR_AHEAD)
            assert "attached to ggml" in said and "stay" not in said, said
            assert state(program.pid) == before, f"{i}: {before} became {state(program.pid)}"
            rows, notes = recorded(out)
            assert "through CUPTI" in notes["cuda"], notes
            kernels, copies = map(int, re.match(r"(\d+) kernels, (\d+) copies", notes["cuda.records"]).groups())
            assert kernels > 100 and copies and libcuda.ALL_CALLED in notes["cuda.records"], notes
            assert "none: the process ran already" in notes["cuda.calibration"], notes
            unknown = int(re.search(r"(\d+) graph nodes unknown", notes["cuda.records"]).group(1))
            assert (unknown > 0) == has_graphs, notes
            lost = {kind: count for kind, count in rows["losses"].items() if count and kind != "complete"}
            assert not lost, rows["losses"]
        program.says_more(1)
        assert len(set(program.lines())) == 1, "its results have changed"
    return rows


def main():
    g.libraries()
    command = [g.LLAMA, "--libs", libcuda.engine(), "--model", g.demo("model-f16.gguf"), "--prompt-tokens", "16", "--predict", "12"]
    with tempfile.TemporaryDirectory() as folder:
        whole = os.path.join(folder, "whole.pftrace")
        subprocess.run([BRICK, "record", "-q", "--no-history", "-o", whole, "--", *command, "--repeat", "2"], check=True, timeout=WAIT_S,
                       stdout=subprocess.DEVNULL, env=libcuda.environment("", GGML_CUDA_DISABLE_GRAPHS="1"))
        command += ["--repeat", "100000"]
        rows = enter_and_leave(folder, command, False, GGML_CUDA_DISABLE_GRAPHS="1")
        expected, seen = commands_of_a_step(json.loads(report(whole, "--json"))), commands_of_a_step(rows)
        for name, count in expected.items():
            assert abs(seen.get(name, 0) - count) < 0.05 * count, (name, seen, expected)
        enter_and_leave(folder, command, True)


main()
