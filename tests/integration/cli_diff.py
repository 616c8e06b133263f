# SPDX-License-Identifier: Apache-2.0
"""
`brick diff` on real recordings of an engine whose bricks spin: a planted slower brick is found and
named, with its layer; copies are the same; what stands on one side only, what is unfair, wrong usage.
"""
import json
import os
import shutil
import subprocess
import sys

from libcli import BRICK, BUILD, TMP, brick, expect, expect_true, on_terminal, plain

RECORDER = os.path.join(BUILD, "bin", "program-compare_recording")
SIDE = 5


def record(name, *args):
    path = os.path.join(TMP, name + ".pftrace")
    subprocess.run([RECORDER, path, *map(str, args)], check=True, timeout=600)
    return path


def diff(*args, code=0):
    """Its answer. None: what the machine does decides on the code, which is then that of the verdict."""
    done = subprocess.run([BRICK, "diff", "--disturbed", "--json", *args], capture_output=True, timeout=600, check=False)
    answer = json.loads(done.stdout)
    expect("schema", answer["schema"], "brick/diff/2")
    expect("exit code", done.returncode, int(answer["verdict"] == "slower") if code is None else code)
    return answer


def named(rows, name):
    return next(row for row in rows if row["name"] == name)


def of_the_program(rows):
    """Names, what differs most first. Beside others, what these take may differ by more."""
    return [row["name"] for row in rows if row["name"] not in ("preempted", "blocked")]


def in_turns():
    """A B B A ...: five fresh processes a side, B with twice the time in one layer's DownProjection."""
    sides = ([], [])
    for i in range(2 * SIDE):
        side = (i + 1) // 2 % 2
        sides[side].append(record(f"{'ab'[side]}{i}", 100 * side, *(["Late"] if side else [])))
    return sides


def recorded_well():
    """
    On a machine that is busy enough no comparison says more than "not enough data": then it is recorded
    anew, as once in a hundred times, when one of two bricks that are alike seems slower. What it says otherwise must be right.
    """
    wrong = 0
    for attempt in range(6):
        a, b = in_turns()
        done = subprocess.run([BRICK, "diff", "--disturbed", "--json", *a, "--", *b], capture_output=True, timeout=600)
        answer = json.loads(done.stdout)
        decode = answer["phases"]["decode"]
        said = {decode["time"]["verdict"], named(decode["bricks"], "DownProjection")["verdict"]}
        expect_true(f"never faster nor the same: {said}", said <= {"slower", "beyond zero", "not enough data"})
        alike = {name: named(decode["bricks"], name)["verdict"] for name in ("QkvProjection", "UpProjection")}
        wrong += "slower" in alike.values()
        expect_true(f"bricks that are alike: {alike}", wrong < 3)
        if said == {"slower"} and "slower" not in alike.values() and answer["verdict"] == "slower" and not answer["mixed"]:
            return a, b
    print("the machine is too busy to compare anything")
    sys.exit(77)


def check_planted(a, b):
    answer = diff(*a, "--", *b, code=1)
    decode = answer["phases"]["decode"]
    expect("unit", answer["unit"], "recordings")
    expect("verdict", answer["verdict"], "slower")
    expect("time", decode["time"]["verdict"], "slower")
    row = named(decode["bricks"], "DownProjection")
    expect("brick", row["verdict"], "slower")
    expect_true(f"effect {row}", 0.2 < row["effect"] < 0.45 and row["low"] <= row["effect"] <= row["high"])
    expect("it stands first", of_the_program(decode["bricks"])[0], "DownProjection")
    expect("one side", named(decode["bricks"], "Late")["verdict"], "only in B")
    points = sum(r["points"] for r in decode["bricks"]) + decode["residual"]
    expect_true("it adds up", abs(points - decode["time"]["effect"]) < 1e-9)
    expect_true("rate", abs(decode["rate"]["a_tokens_per_s"] * decode["rate"]["a_ns"] - 1e9) < 1e6)
    categories = {row["name"]: row for row in diff("--by", "category", *a, "--", *b, code=1)["phases"]["decode"]["categories"]}
    expect("category", categories["FFN"]["verdict"], "slower")
    layers = diff("--by", "layer", *a, "--", *b, code=1)["phases"]["decode"]["layers"]
    expect("layer", of_the_program(layers)[0], "layer 1")
    expect("layer's verdict", named(layers, "layer 1")["verdict"], "slower")
    # The other way around it is faster, and no failure.
    expect("faster", diff(*b, "--", *a)["verdict"], "faster")


def check_same(a):
    copies = [shutil.copy(path, path + ".copy") for path in a]
    answer = diff(*a, "--", *copies)
    expect_true("copies are not slower", answer["verdict"] in ("same", "not enough data"))
    for row in answer["phases"]["decode"]["bricks"]:
        expect_true(f"copies differ in nothing: {row}", row["verdict"] in ("same", "not enough data"))
        expect_true(f"no effect: {row}", not row["effect"])
    one = diff(a[0], copies[0])
    expect_true("it is said that one is few", one["assumes"] and not answer["assumes"])
    expect("nobody knows", one["verdict"], "not enough data")
    diff("--strict", a[0], copies[0], code=1)


def check_few():
    """One recording a side shows what is far beyond all that steps vary by."""
    short, long = record("short", 0), record("long", 60000)
    answer = diff("--phase", "decode", short, long, code=1)
    expect("slower", answer["verdict"], "slower")
    expect("the brick", named(answer["phases"]["decode"]["bricks"], "DownProjection")["verdict"], "slower")
    expect("and faster", diff("--phase", "decode", long, short)["verdict"], "faster")
    text = brick("diff", "--disturbed", "--phase", "decode", short, long, code=1)[0].decode()
    expect_true(f"the sentence is on top:\n{text}", text.startswith("Verdict") and "by decode" in text)
    # beside others, long steps are preempted for longer than they run
    rows = answer["phases"]["decode"]["bricks"]
    why = {"DownProjection": "DownProjection runs as often and on as much data in both",
           "preempted": "preempted: others ran on its threads' CPUs"}[max(rows, key=lambda row: row["points"])["name"]]
    expect_true(f"why:\n{text}", why in " ".join(text.split()))


def check_between():
    """A program that sleeps between its steps is slower for who waits, though no step is."""
    for _ in range(6):  # what others take may hide it, and is said then
        sides = [[record(f"{kind}{i}", 0, *(["", 20000] if kind == "lazy" else [])) for i in range(4)] for kind in ("prompt", "lazy")]
        both = (*sides[0], "--", *sides[1])
        answer = diff(*both, code=None)
        decode, code = answer["phases"]["decode"], int(answer["verdict"] == "slower")
        # beside others, who sleeps is preempted less: then the steps got faster, and that is said
        expect_true(f"slower or mixed: {answer['said']}", answer["verdict"] in ("slower", "beyond zero", "not enough data") or answer["mixed"])
        said = decode["elapsed"]["verdict"]
        expect_true(f"never faster nor the same: {said}", said in ("slower", "beyond zero", "not enough data"))
        if said == "slower" and (code or answer["mixed"]):
            break
    else:
        print("the machine is too busy: a program that sleeps was not compared")
        return
    expect_true(f"by what it sleeps: {decode['elapsed']}", decode["elapsed"]["b_ns"] > 19e6)
    expect_true(f"the steps are not: {decode['time']}", decode["time"]["b_ns"] < 10e6)
    expect("nothing lies before a prompt", answer["phases"]["prefill"]["elapsed"], None)
    text = " ".join(brick("diff", "--disturbed", *both, code=code)[0].decode().split())
    for part in ("decode: between steps the program takes", "decode, time between too"):
        expect_true(f"{part!r} in {text}", part in text)


def check_pairs():
    """A brick that was renamed is one row."""
    early, late = record("early", 0, "Early"), record("late", 0, "Late")
    names = [row["name"] for row in diff("--phase", "decode", early, late, code=None)["phases"]["decode"]["bricks"]]
    expect_true(f"one row: {names}", "Early -> Late" in names and "Late" not in names)


def check_differences(a, b):
    rows = diff(*a, "--", *b, code=1)["differences"]
    keys = {row["key"] for row in rows}
    expect_true("commands differ", "command" in keys)
    expect_true("nothing is unfair", not any(row["unfair"] for row in rows))
    rows = diff(*sorted(a), "--", *[record(f"late{i}") for i in range(2)], code=None)["differences"]
    expect_true("not in turns", rows[0]["unfair"] and "take turns" in rows[0]["text"])


def check_text(a, b):
    text = brick("diff", "--disturbed", *a, "--", *b, code=1)[0].decode()
    for part in ("decode, a token", "slower", "in DownProjection", "only in B", "settings that differ: command"):
        expect_true(f"{part} in\n{text}", part in text)
    expect_true("no colours in a pipe", "\x1b" not in text)
    expect_true("bounded", len(text) < 8000)
    shown = on_terminal("diff", "--disturbed", "--threshold", "900", "--phase", "decode", *a[:2])
    expect_true("it says what one recording is", "too few" in " ".join(plain(shown).split()))
    expect_true("width", all(len(line) <= 80 for line in plain(shown).splitlines()))


def check_usage(a, b):
    brick("diff", a[0], code=2)
    brick("diff", *a[:3], code=2)
    brick("diff", "--", *a[:3], code=2)
    page = os.path.join(TMP, "behind.html")
    brick("diff", "--disturbed", a[0], "--", *a[1:3], "--threshold", "900", "--phase", "decode", "--html", page)
    expect_true("options may stand behind the sides", os.path.exists(page))
    brick("diff", "--top", "3", "--all", a[0], a[1], code=2)
    brick("diff", "--threshold", "-1", a[0], a[1], code=2)
    brick("diff", a[0], os.path.join(TMP, "none"), code=3)
    # the one step of a prompt may take 10 times as long on a machine that is busy
    answer = diff("--threshold", "900", "--phase", "decode", *a, "--", *b)
    decode = answer["phases"]["decode"]
    expect("within a great threshold what was slower is the same", decode["time"]["verdict"], "same")
    # tokens/s are of all steps, which others may keep from their CPU in one recording and not in the next
    expect("nothing is slower", answer["verdict"], decode["rate"]["verdict"])
    expect_true(f"nor faster: {answer['said']}", answer["verdict"] in ("same", "beyond zero", "not enough data"))


def main():
    a, b = recorded_well()
    check_planted(a, b)
    check_same(a)
    check_few()
    check_between()
    check_pairs()
    check_differences(a, b)
    check_text(a, b)
    check_usage(a, b)


main()
