# SPDX-License-Identifier: Apache-2.0
"""
`brick bisect` on an engine whose bricks spin: the first of 32 builds that is slower is found in at most 6 steps, with the
brick, also among builds that fail; commits of git are built in work trees of their own, which are gone afterwards; where
nothing is slower that is said.
"""
import json
import os
import subprocess
import sys

from libcli import BRICK, BUILD, TMP, brick, environment, expect, expect_true

PROGRAM = os.path.join(BUILD, "bin", "program-compare_recording")
ENGINE = f"""#!/bin/sh
[ "$1" = 21 ] && exit 3
[ "$1" -ge "$2" ] && percent=300 || percent=0
exec {PROGRAM} "$0.own" "$percent"
"""
NAMES = list(map(str, range(32)))


def make(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)
    return path


def bisect(*args, code=0, cwd=None):
    done = subprocess.run([BRICK, "bisect", "-q", "--json", *args], env=environment(BRICK_DB="none"), cwd=cwd, capture_output=True,
                          text=True, timeout=600)
    expect_true(f"{args}: exit {done.returncode}: {done.stderr}", done.returncode in (code, 1))
    return json.loads(done.stdout), done.returncode


def find(*args, cwd=None):
    """Its answer, where it is certain; the truth, a brick that takes four times as long, is clear on most machines."""
    answer, code = bisect(*args, cwd=cwd)
    if code == 1 or any(step.get("is_doubtful") for step in answer["steps"]):
        print("the machine is too busy to compare anything")
        sys.exit(77)
    return answer


def check_builds():
    engine = make(os.path.join(TMP, "engine"), ENGINE)
    for first_bad in (20, 3):
        answer = find("--builds", ",".join(NAMES), "--", engine, "{}", str(first_bad))
        expect("the first bad one", (answer["bad"], answer["good"]), (str(first_bad), str(first_bad - 1)))
        expect("the brick", answer["brick"], "DownProjection")
        expect_true(f"slower in both phases: {answer['phase']}", answer["phase"] in ("decode", "prefill"))
        expect_true(f"steps: {answer['steps']}", len(answer["steps"]) - 1 <= 6)
        # of whole steps beside other programs it may give no verdict, of the brick it does
        rows = answer["diff"]["phases"][answer["phase"]]["bricks"]
        expect("why", [row["verdict"] for row in rows if row["name"] == "DownProjection"], ["slower"])
        expect_true("the steps", answer["diff"]["verdict"] in ("slower", "beyond zero", "not enough data"))
        for step in answer["steps"]:
            expect("judged rightly", step.get("is_bad", int(step["build"]) >= first_bad), int(step["build"]) >= first_bad)
    names = make(os.path.join(TMP, "names"), "19\n20\n21\n22\n")
    answer = find("--builds", "@" + names, "--", engine, "{}", "22")
    expect("a build that fails is passed over", (answer["good"], answer["bad"], answer["between"]), ("20", "22", 1))
    expect_true("and it is said why", any("exit code 3" in (step["fault"] or "") for step in answer["steps"]))
    # by the threshold of a percent some comparison of identical builds calls a brick slower
    answer, code = bisect("--builds", "0,1,2", "--runs", "4", "--threshold", "900", "--", engine, "{}", "99", code=1)
    expect("nothing is slower", (code, answer["bad"]), (1, None))
    answer, code = bisect("--builds", "0,1,2", "--runs", "4", "--", engine, "{}", "99")
    expect("nor is it the same, unless the whole interval says so", answer["steps"][0]["is_doubtful"],
           code == 1 and not answer["steps"][0]["high"] <= 0.01)
    brick("bisect", "--builds", "21,1", "--", engine, "{}", "99", code=125)


def check_commits():
    folder = os.path.join(TMP, "repository")
    os.mkdir(folder)
    git = ["git", "-C", folder, "-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
    subprocess.run([*git, "init", "-q"], check=True)
    for i in range(5):
        make(os.path.join(folder, "percent"), "300" if i >= 3 else "0")
        make(os.path.join(folder, "number"), str(i))
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-q", "-m", f"number {i}"], check=True)
    wanted = subprocess.run([*git, "rev-parse", "--short", "HEAD~1"], check=True, capture_output=True, text=True).stdout.strip()
    build = f"printf '#!/bin/sh\\nexec {PROGRAM} %s/own %s\\n' $PWD $(cat percent) >engine && chmod +x engine"
    answer = find("--commits", "HEAD~4..HEAD", "--build", build, "--", "{}/engine", cwd=folder)
    expect_true(f"the commit: {answer['bad']}, {wanted}", wanted.startswith(answer["bad"]) or answer["bad"].startswith(wanted))
    expect("work trees are gone", subprocess.run([*git, "worktree", "list"], check=True, capture_output=True, text=True).stdout.count("\n"), 1)


def check_usage():
    brick("bisect", "--", "x", "{}", code=2)
    brick("bisect", "--builds", "a,b", "--", "x", code=2)
    brick("bisect", "--builds", "a", "--", "true", "{}", code=2)
    brick("bisect", "--commits", "a..b", "--", "{}/x", code=2)
    brick("bisect", "--builds", "@" + os.path.join(TMP, "none"), "--", "x", "{}", code=3)


def main():
    check_builds()
    check_commits()
    check_usage()


main()
