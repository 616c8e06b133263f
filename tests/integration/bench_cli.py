# SPDX-License-Identifier: Apache-2.0
"""
`brick bench` on programs that print what they took, so that the truth is known however busy the machine is: verdicts,
stopping, the floor, baselines, git bisect on a repository with a planted regression; a killed bench and a full
disk lose no finished run; one recorded comparison.
"""
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

from libcli import BRICK, BUILD, TMP, brick, environment, expect, expect_true, on_terminal

DATA = os.path.join(TMP, "data")
PLACE = {"BRICK_DB": None, "XDG_DATA_HOME": DATA}
# programs print what they took, so that others on the machine change nothing
PRINTED = ["--plain", "--warmup", "0", "--value", "took ([0-9.]+) ms", "--disturbed"]


def program(name, base, spread=4):
    """Prints another time in each run, of a fixed sequence."""
    path, count = os.path.join(TMP, name), os.path.join(TMP, name + ".count")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""#!/bin/sh
n=$(($(cat {count} 2>/dev/null || echo 0) + 1))
echo $n >{count}
echo "took 1 ms: not this one"
echo "took $(({base} * 10 + n * 7919 % 101 * {spread} / 10)).5 ms"
""")
    os.chmod(path, 0o755)
    return path


def bench(*args, code=0, **changes):
    out, err = brick("bench", "--json", *args, code=code, **{**PLACE, **changes})
    answer = json.loads(out)
    expect("schema", answer["schema"], "brick/bench/2")
    return answer, err.decode()


def history(*args):
    return json.loads(brick("history", "list", "--json", *args, **PLACE)[0])["runs"]


def check_verdicts():
    a, same, slow = program("a", 100), program("same", 100), program("slow", 105)
    answer, _ = bench(*PRINTED, "--runs", "12", "--", a, "---", slow, code=1)
    expect("slower", answer["verdict"], "slower")
    expect("runs", (answer["a"]["plain"], answer["b"]["plain"]), (12, 12))
    plain = answer["plain"]
    expect_true(f"effect {plain}", 0.03 < plain["low"] <= plain["effect"] <= plain["high"] < 0.07)
    expect("why it stopped", answer["stopped"], "runs")
    expect("faster is no failure", bench(*PRINTED, "--runs", "12", "--", slow, "---", a)[0]["verdict"], "faster")
    answer, _ = bench(*PRINTED, "--precision", "2", "--threshold", "2", "--floor", "--", a, "---", same)
    expect("same", answer["verdict"], "same")
    expect("precise", answer["stopped"], "precise")
    expect_true("floor", answer["plain_floor"] is not None)
    rate = ["--plain", "--runs", "12", "--rate", "took ([0-9.]+) ms", "--disturbed"]
    answer, _ = bench(*rate, "--", a, "---", slow)
    expect("of a rate more is better", answer["verdict"], "faster")
    expect_true("as it was printed", 1000 < answer["plain"]["a"] < 1060)
    far = ["--plain", "--value", "took ([0-9.]+) ms", "--disturbed", "--", a, "---", program("far", 200)]
    answer, err = bench(*far, code=1)
    expect("it stops when the verdict cannot change", answer["stopped"], "settled")
    expect_true(f"soon: {answer['a']}", answer["a"]["plain"] <= 6)
    expect_true(f"it says first how long it will take: {err}",
                re.search(r"bench: 4 to 60 blocks of 2 runs, each about .*: about .* to ", err))
    expect("who asks for a precision gets it", bench("--precision", "2", *far, code=1)[0]["stopped"], "precise")
    only = either_way("bench", "--json", "-q", "--metric", "wall", "--runs", "4", *far)
    expect("the metric that was asked for", only["metric"], "wall time")
    wild = program("wild", 100, 400)
    answer, _ = bench(*PRINTED, "--precision", "0.1", "--", wild)
    expect("hopeless", answer["stopped"], "hopeless")
    expect_true("how many it would take", answer["forecast_runs"] > 120)
    bench(*PRINTED, "--runs", "4", "--bisect", "--", a, "---", same, code=125)


def check_forms():
    a, slow = program("form_a", 100), program("form_b", 110)
    table = os.path.join(TMP, "table.md")
    out, _ = brick("bench", *PRINTED, "--runs", "10", "--format", "markdown", "-o", table, "--", a, "---", slow,
                   code=1, **PLACE)
    for part in ("what it printed", "slower", "Machine", "by what it printed"):
        expect_true(f"{part} in {out.decode()}", part in out.decode())
    with open(table, encoding="utf-8") as file:
        text = file.read()
    expect_true(f"a table: {text}", "|---|---|---|---|---|" in text and "slower" in text)
    shown = on_terminal("bench", *PRINTED, "--runs", "10", "--", a, **PLACE)
    expect_true(f"progress: {shown!r}", re.search(r"bench: \d+ runs.*about \d+ s left", shown))


def check_matrix():
    """All combinations of parameters, in turns; the best, and what memory buys, are those that were planted."""
    path, order = os.path.join(TMP, "engine-matrix"), os.path.join(TMP, "order")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""#!{sys.executable}
import sys
threads, model = int(sys.argv[1]), sys.argv[2]
with open({order!r}, "a") as out:
    print(threads, model, file=out)
    runs = len(open({order!r}).readlines())
held = bytearray((40 if model == "big" else 10) << 20)
print("took", (400 / threads + (40 if model == "big" else 0)) * (1 + runs * 7919 % 11 / 1000), "ms")
""")
    os.chmod(path, 0o755)
    prepared = os.path.join(TMP, "prepared")
    answer, _ = bench(*PRINTED, "--runs", "12", "--param", "threads=1,2,4", "--param", "model=small,big",
                      "--prepare", f"echo {{threads}} >>{prepared}", "--", path, "{threads}", "{model}")
    sides = {side["name"]: side for side in answer["sides"]}
    names = [f"threads={t} model={m}" for t in (1, 2, 4) for m in ("small", "big")]
    expect("settings", list(sides), names)
    expect("runs", {side["plain"] for side in sides.values()}, {12})
    expect("the best", answer["best"], "threads=4 model=small")
    expect("no verdict on a pair", (answer["verdict"], answer["b"]), (None, None))
    expect("fast and small", [n for n in names if sides[n]["pareto"]], ["threads=4 model=small"])
    for name in names:
        against = sides[name]["against_best"]
        if name == answer["best"]:
            expect("not against itself", against, None)
            continue
        true = (400 / int(name[8]) + (40 if "big" in name else 0)) / 100 - 1
        expect_true(f"{name}: {against} around {true}", against["low"] <= true * 1.02 + 0.02
                    and against["high"] >= true * 0.98 - 0.02 and against["low"] > 0)
    small, big = (sides[f"threads=1 model={m}"]["peak_bytes"] for m in ("small", "big"))
    expect_true(f"memory is the program's own: {small}, {big}", 29e6 < big - small < 34e6 and small < 40e6)
    with open(prepared, encoding="utf-8") as file:
        expect("prepared once a run", sorted(file.read().split()), sorted("124" * 24))
    with open(order, encoding="utf-8") as file:
        runs = [line.strip() for line in file]
    expect("72 runs", len(runs), 72)
    for block in range(0, 72, 6):
        expect("each once in a block", len(set(runs[block:block + 6])), 6)
    out = brick("bench", *PRINTED, "--runs", "2", "--param", "model=x,y", "--", path, "1", "{model}", **PLACE)[0]
    expect_true(f"said: {out.decode()}", b"2 settings" in out and b"do not tell it from: model=" in out)
    for wrong in (["--param", "threads=1"], ["--param", "threads"], ["--param", "a=1", "--param", "a=2"]):
        brick("bench", *PRINTED, *wrong, "--", path, "{a}", code=2, **PLACE)
    err = brick("bench", *PRINTED, "--runs", "1", "--prepare", "echo why >&2; exit 3", "--", path, "1", "x", code=125,
                **PLACE)[1]
    expect_true(f"a failed preparation: {err}", b"exit code 3" in err and b"why" in err)


def check_many():
    """Three commands are three sides; outliers are counted."""
    a, b, c = program("m1", 100), program("m2", 120), program("m3", 140)
    answer, _ = bench(*PRINTED, "--runs", "12", "--", a, "---", b, "---", c)
    expect("sides", [(side["name"], side["plain"]) for side in answer["sides"]], [("A", 12), ("B", 12), ("C", 12)])
    expect("commands", [side["command"] for side in answer["sides"]], [a, b, c])
    expect("the best", answer["best"], "A")
    middle = answer["sides"][1]
    expect_true(f"its numbers: {middle}", 1200 < middle["min"] < middle["mean"] < middle["max"] < 1245
                and 5 < middle["sigma"] < 20 and middle["outliers"] == 0)
    brick("bench", *PRINTED, "--label", "x", "--", a, "---", b, "---", c, code=2, **PLACE)
    brick("bench", "--", a, "---", "---", c, code=2, **PLACE)
    late = os.path.join(TMP, "late")
    with open(late, "w", encoding="utf-8") as file:
        file.write(f"""#!/bin/sh
n=$(($(cat {late}.count 2>/dev/null || echo 0) + 1)); echo $n >{late}.count
[ $n = 5 ] && echo "took 900 ms" || echo "took $((100 + n % 3)) ms"
""")
    os.chmod(late, 0o755)
    expect("one is an outlier", bench(*PRINTED, "--runs", "10", "--", late)[0]["sides"][0]["outliers"], 1)


def check_ci():
    """JUnit and GitHub: what their readers take, with the verdict."""
    a, slow = program("ci_a", 100), program("ci_b", 110)
    run = ["bench", *PRINTED, "--runs", "10"]
    out, _ = brick(*run, "--format", "junit", "--", a, "---", slow, code=1, **PLACE)
    suite = xml.etree.ElementTree.fromstring(out)
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    expect("cases", list(cases), ["A", "B", "B is not slower than A"])
    expect("what it counts", (suite.get("tests"), suite.get("failures"), suite.get("errors")), ("3", "1", "0"))
    expect_true("it fails, and says why",
                "slower" in cases["B is not slower than A"].find("failure").get("message"))
    expect_true("no failure the other way", b"<failure" not in
                brick(*run, "--format", "junit", "--", slow, "---", a, **PLACE)[0])
    summary = os.path.join(TMP, "summary.md")
    for _ in range(2):
        out, _ = brick(*run, "--format", "github", "--", a, "---", slow, code=1, GITHUB_STEP_SUMMARY=summary, **PLACE)
        expect_true(f"an annotation: {out}", b"\n::error title=brick bench::" in out)
    with open(summary, encoding="utf-8") as file:
        text = file.read()
    expect("appended", text.count("| effect |"), 2)
    out, _ = brick(*run, "--format", "junit", "--", "false", code=125, **PLACE)
    error = xml.etree.ElementTree.fromstring(out).find(".//error")
    expect_true("a program that fails is an error", "false: exit code 1" in error.get("message"))


def check_keep():
    """The directory of recordings is made, with those above it."""
    engine, own = os.path.join(BUILD, "bin", "program-compare_recording"), os.path.join(TMP, "own-keep")
    folder = os.path.join(TMP, "not", "yet", "there")
    bench("--recorded", "--warmup", "0", "--runs", "2", "--keep", folder, "--", engine, own)
    expect("recordings", sorted(os.listdir(folder)), ["a0.pftrace", "a1.pftrace"])
    with open(os.path.join(TMP, "file"), "w", encoding="utf-8"):
        pass
    brick("bench", "--keep", os.path.join(TMP, "file", "x"), "--", "true", code=4, **PLACE)


def check_failures():
    err = bench(*PRINTED, "--runs", "4", "--", program("good", 10), "---", "/nowhere/none", code=125)[1]
    expect_true(f"it is named: {err}", "/nowhere/none: cannot be run" in err)
    a = program("fails", 10)
    with open(a, "a", encoding="utf-8") as file:
        file.write("echo the reason >&2; exit 3\n")
    out, err = brick("bench", *PRINTED, "--", a, code=125, **PLACE)
    expect_true(f"its last lines: {err}", b"exit code 3" in err and b"the reason" in err and not out)
    brick("bench", "--plain", "--value", "took ([0-9]+) days", "--", program("other", 10), code=125, **PLACE)
    brick("bench", "--value", "no group", "--", "true", code=2, **PLACE)
    brick("bench", code=2, **PLACE)
    brick("bench", "--", "true", "---", code=2, **PLACE)
    brick("bench", "--plain", "--recorded", "--", "true", code=2, **PLACE)
    brick("bench", "--baseline", "nobody", "--plain", "--", "true", code=3, **PLACE)
    expect_true("what cannot be recorded is said",
                b"--plain" in brick("bench", "--recorded", "--runs", "2", "--", "true", code=125, **PLACE)[1])


def git(folder, *args):
    return subprocess.run(["git", "-C", folder, "-c", "user.name=x", "-c", "user.email=x@y", *args], check=True,
                          capture_output=True, text=True, timeout=600, env=environment(**PLACE)).stdout


def check_bisect():
    """Seven commits, of which the fifth takes 10 % longer."""
    folder = os.path.join(TMP, "repository")
    os.mkdir(folder)
    git(folder, "init", "-q")
    commits = []
    for i in range(7):
        engine = program("engine", 110 if i >= 4 else 100)
        with open(engine, encoding="utf-8") as file, open(os.path.join(folder, "engine"), "w", encoding="utf-8") as to:
            to.write(file.read() + f"# {i}\n")
        os.chmod(os.path.join(folder, "engine"), 0o755)
        git(folder, "add", "engine")
        git(folder, "commit", "-qm", f"commit {i}")
        commits.append(git(folder, "rev-parse", "HEAD").strip())
    options = [*PRINTED, "--runs", "8", "-q"]
    git(folder, "checkout", "-q", commits[0])
    brick("bench", *options, "--label", "v1", "--", "./engine", cwd=folder, **PLACE)
    expect("the baseline", len(history("--label", "v1")), 8)
    git(folder, "bisect", "start", commits[-1], commits[0])
    said = git(folder, "bisect", "run", BRICK, "bench", *options, "--baseline", "v1", "--threshold", "3", "--",
               "./engine")
    expect_true(f"the planted commit is found:\n{said}", f"{commits[4]} is the first bad commit" in said)


def journals():
    folder = os.path.join(DATA, "brick")
    return [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".bench")]


def check_killed():
    """All that had ended is in the journal and in the history, and counts when the bench is resumed."""
    a = program("killed", 100)
    for path in journals():
        os.unlink(path)
    before = len(history())
    process = subprocess.Popen([BRICK, "bench", "-q", *PRINTED, "--runs", "100000", "--", a],
                               env=environment(**PLACE), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and not (journals() and os.path.getsize(journals()[0]) > 2000):
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    path = journals()[0]
    with open(path, encoding="utf-8") as file:
        finished = file.read().count("\n")
    expect_true("there are some", finished > 2)
    expect_true("in the history, too", len(history()) - before >= finished - 1)
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"id": "01234')
    answer, _ = bench(*PRINTED, "--runs", str(finished + 3), "--resume", path, "--", a)
    expect("they count", answer["a"]["plain"], finished + 3)
    expect_true("then it is done", not os.path.exists(path))


def check_interrupted():
    a = program("interrupted", 100)
    process = subprocess.Popen([BRICK, "bench", "--json", "-q", *PRINTED, "--runs", "100000", "--", a],
                               env=environment(**PLACE), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    count = a + ".count"
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and not (os.path.exists(count) and os.path.getsize(count)
                                               and int(open(count, encoding="utf-8").read() or 0) > 5):
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    answer = json.loads(process.communicate(timeout=600)[0])
    expect("exit code", process.returncode, 0)
    expect("it says so", answer["stopped"], "interrupted")
    expect_true("with what was there", answer["a"]["plain"] >= 5)


def no_more_than(size):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def check_full():
    """A journal that cannot grow: measuring ends, and all runs are told."""
    a = program("full", 100)
    for path in journals():
        os.unlink(path)
    done = subprocess.run([BRICK, "bench", "--json", "-q", *PRINTED, "--runs", "1000", "--", a],
                          env=environment(**{**PLACE, "BRICK_DB": "none"}), capture_output=True, timeout=600, check=False,
                          preexec_fn=lambda: no_more_than(4096))
    expect("exit code", done.returncode, 125)
    expect_true(f"it is said: {done.stderr}", b"measuring ends here" in done.stderr)
    answer = json.loads(done.stdout)
    path = journals()[0]
    with open(path, "rb") as file:
        text = file.read()
    expect_true("only whole lines", text.endswith(b"\n"))
    expect("all but the one that did not fit", text.count(b"\n"), answer["a"]["plain"] - 1)


def check_kept():
    """The answer names the runs in the history if they are there."""
    a, b = program("kept-a", 100), program("kept-b", 100)
    for path in journals():
        os.unlink(path)
    for options, kept in (((), True), (("--no-history",), False)):
        out = subprocess.run([BRICK, "bench", "-q", *PRINTED, *options, "--runs", "2", "--", a, "---", b],
                             env=environment(**PLACE), capture_output=True, timeout=600, check=False).stdout
        expect_true(f"{options}: {out}", b"Verdict" in out)
        expect(f"kept with {options}", b"Kept as" in out, kept)
        expect(f"no journal is left with {options}", journals(), [])
    out = subprocess.run([BRICK, "bench", "-q", *PRINTED, "--runs", "2", "--", a, "---", b],
                         env=environment(BRICK_DB="none"), capture_output=True, timeout=600, check=False).stdout
    expect_true(f"nowhere without a history: {out}", b"Verdict" in out and b"Kept as" not in out)


def either_way(command, *args):
    """Whatever it says: the exit code is that of the verdict."""
    done = subprocess.run([BRICK, command, "--disturbed", *args], env=environment(**PLACE), capture_output=True, timeout=600, check=False)
    answer = json.loads(done.stdout)
    expect("exit code", done.returncode, 1 if answer["verdict"] == "slower" else 0)
    return answer


def check_recorded():
    """Plain and recorded; on any machine never faster, and the parts are there."""
    engine, own = os.path.join(BUILD, "bin", "program-compare_recording"), os.path.join(TMP, "own")
    out, _ = brick("bench", "--json", "-q", "--runs", "4", "--", engine, own, **PLACE)
    answer = json.loads(out)
    expect("kinds", (answer["a"]["plain"], answer["a"]["recorded"]), (4, 4))
    answer = either_way("bench", "--json", "-q", "--runs", "5", "--threshold", "5", "--", engine, own, "---", engine,
                        own, "300")
    rows = answer["diff"]["phases"]["decode"]["bricks"]
    names = [row["name"] for row in rows if row["name"] not in ("preempted", "blocked")]  # beside others' doing
    expect("bricks are compared", names[0], "DownProjection")
    one_verdict(answer, "--threshold", "5", "--disturbed")


def one_verdict(answer, *options):
    """`diff` and its page say of the same runs what `bench` said."""
    sides, page = [f"@{answer['batch']}/{side}" for side in "ab"], os.path.join(TMP, "verdict.html")
    code = 125 if answer["disturbed"] else 1 if answer["verdict"] == "slower" else 0
    said = json.loads(brick("diff", "--json", *options, *sides, code=code, **PLACE)[0])
    for key in ("verdict", "metric", "mixed", "said"):
        expect(f"{key} from the history", said[key], answer[key])
    expect("all rows", {k: said[k] for k in ("ttft", "wall", "printed", "phases")},
           {k: answer["diff"][k] for k in ("ttft", "wall", "printed", "phases")})
    text = " ".join(brick("diff", *options, *sides, code=code, **PLACE)[0].decode().split())
    expect_true(f"{answer['said']!r} in {text}", answer["said"] in text)
    done = subprocess.run([BRICK, "diff", "--html", page, *options, *sides], env=environment(**PLACE), capture_output=True,
                          timeout=600, check=False)
    expect_true(f"the page's exit code: {done}", done.returncode in (code, 4))


def check_disturbed():
    """Beside programs that spin there is no verdict, by no command, whatever the runs took; nor is a best one named."""
    spins = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() // 8 + 1)]
    try:
        run = ["--plain", "--warmup", "0", "--runs", "4"]
        answer, _ = bench(*run, "--", "sleep", "0.4", "---", "sleep", "1.6", code=125)
        three, _ = bench(*run, "--", "sleep", "0.3", "---", "sleep", "0.6", "---", "sleep", "0.9", code=125)
    finally:
        for spin in spins:
            spin.kill()
            spin.wait()
    expect("no verdict", (answer["verdict"], answer["disturbed"]), ("not enough data", True))
    expect("no best one", three["best"], None)
    one_verdict(answer)
    a, b = (f"@{answer['batch']}/{side}" for side in "ab")
    said = either_way("diff", "--json", a, b)
    expect("a user may ask for it all the same", (said["verdict"], said["disturbed"]), ("slower", False))


def check_many_settled():
    """Among three, too, it stops when it is known which is best."""
    sides = [program(f"settled{i}", base) for i, base in enumerate((100, 200, 300))]
    answer, err = bench(*PRINTED, "--warmup", "1", "--", sides[1], "---", sides[0], "---", sides[2])
    expect("settled", (answer["stopped"], answer["best"]), ("settled", "B"))
    expect_true(f"soon: {answer['sides']}", all(side["plain"] <= 8 for side in answer["sides"]))
    expect_true(f"it says so first: {err}", "4 to 60 blocks of 3 runs" in err)
    same = [program(f"alike{i}", 100, 100) for i in range(3)]
    answer, _ = bench(*PRINTED, "--", same[0], "---", same[1], "---", same[2])
    expect_true(f"sides that are alike are not told apart soon: {answer['stopped']}", answer["stopped"] != "settled")


def check_floor():
    """What A differs by from itself is kept, and `diff` uses it, too."""
    engine, own = os.path.join(BUILD, "bin", "program-compare_recording"), os.path.join(TMP, "own")
    answer = either_way("bench", "--json", "--recorded", "-q", "--runs", "4", "--floor", "--", engine, own, "---",
                        engine, own)
    kept = history("--kind", "floor")
    expect("kept", [run["value"] for run in kept], [answer["diff"]["floor"]])
    # how large it is depends on other programs: one step of a prompt is short
    expect_true(f"it is a part of what diff has: {answer['floor']}", 0 < answer["floor"] <= answer["diff"]["floor"])
    a, b = (f"@{answer['batch']}/{side}" for side in "ab")
    said = either_way("diff", "--json", a, b)
    expect("diff knows it", said["floor"], answer["diff"]["floor"])
    expect("and nothing below matters", said["threshold"], max(0.01, answer["diff"]["floor"]))
    one_verdict(answer, "--disturbed")
    text = brick("bench", "--plain", "--runs", "3", "--floor", "--", "true", **PLACE)[0].decode()
    expect_true(f"of one command, too: {text}", re.search(r"^Floor +plain runs of A differed by", text, re.M))
    expect_true("floors are no runs", all(run["kind"] != "floor" for run in history()))


def main():
    check_verdicts()
    check_matrix()
    check_many()
    check_many_settled()
    check_disturbed()
    check_ci()
    check_keep()
    check_forms()
    check_failures()
    check_bisect()
    check_killed()
    check_interrupted()
    check_full()
    check_kept()
    check_recorded()
    check_floor()


main()
