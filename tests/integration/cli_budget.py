# SPDX-License-Identifier: Apache-2.0
"""brick report --budget: verdicts from measured numbers, the gate's exit code, clear errors."""
import json
import os

from libcli import TMP, brick, brick_json, expect, expect_true, recording


def budget(text):
    path = os.path.join(TMP, "budget.txt")
    with open(path, "w", encoding="utf-8") as out:
        out.write("brick-budget 1\n" + text)
    return path


def main():
    path = recording()
    report = brick_json("report", "--phase", "decode", "--json", path)
    tokens = report["steps"]["decode"]["tokens"]
    row = max(report["bricks"], key=lambda b: b["share"])
    per_token = row["share"] * report["coverage"]["wall_ns"] / tokens / 1e3
    total = report["steps"]["decode"]["total_ns"] / tokens / 1e3

    wide = budget(f"decode {row['name']} {per_token * 2}\ndecode total {total * 2}\n"
                  f"decode @{row['category']} 1e9\nprefill ttft 1e9\n")
    out = brick("report", "--budget", wide, path)[0].decode()
    expect_true("all kept", "All 4 limits" in out and "OVER" not in out)
    got = brick_json("report", "--json", "--budget", wide, path)["budget"]
    expect("passed", (got["passed"], got["failed"]), (True, 0))
    for line, want in zip(got["lines"], (per_token, total)):
        expect_true(f"{line['name']} took {line['actual_us']}, expected {want}",
                    abs(line["actual_us"] - want) < 0.01 + want * 1e-6)
        expect_true("half used", abs(line["utilisation"] - 0.5) < 1e-3)
    expect("grade", got["lines"][0]["grade"], "A")

    tight = budget(f"# too tight\ndecode {row['name']} {per_token / 2}\ndecode Nonesuch 1e9\n"
                   f"decode total {total * 2}\n")
    out = brick("report", "--budget", tight, path, code=1)[0].decode()
    expect_true("over", "OVER" in out and "2 of 3 limits" in out)
    expect_true("never ran is not kept", "NOT RECORDED" in out)
    brick("report", "--json", "--budget", tight, path, code=1)

    few = budget("decode p99 1e9\ndecode p50 1e9\n")  # 30 steps
    out = brick("report", "--budget", few, path, code=1)[0].decode()
    expect_true("a p99 needs 100 steps", "NEEDS 100 STEPS" in out and "NOT RECORDED" not in out)
    got = json.loads(brick("report", "--json", "--budget", few, path, code=1)[0])["budget"]["lines"]
    expect("in JSON", [line["needs_steps"] for line in got], [100, None])

    error = brick("report", "--budget", budget("decode RmsNorm much\n"), path, code=3)[1].decode()
    expect_true(f"names file and line: {error}", "budget.txt:2: much" in error)
    brick("report", "--budget", os.path.join(TMP, "nowhere"), path, code=3)
    brick("report", "--budget", wide, "--csv", path, code=2)


main()
