# SPDX-License-Identifier: Apache-2.0
"""
`brick advise` on the real engine: it finds the options that can be tried, records some settings, predicts the others, runs
its choice, leaves out what does not run, and says the same of recordings that were made before. Says nothing of how good
the choice is: bench/advise.py does.
"""
import json
import os
import signal
import subprocess
import time

from libcli import BRICK, BUILD, TMP, brick, environment, expect, expect_true, fail

ENGINE = [os.path.join(BUILD, "bin", "brick-llama"), "--libs", os.path.join(BUILD, "demo", "engine", "libs"), "--model",
          os.path.join(TMP, "model.gguf"), "--prompt-tokens", "64", "--predict", "6"]


DB = os.path.join(TMP, "advise.db")


def advise(*args, code=0, **changes):
    done = subprocess.run([BRICK, "advise", "-q", *args], env=environment(**changes), capture_output=True, timeout=600, check=False)
    if done.returncode != code:
        fail(f"advise {args}: exit {done.returncode}: {done.stderr}")
    return done.stdout.decode(), done.stderr.decode()


def rows_of(answer):
    expect("schema", answer["schema"], "brick/advise/1")
    return {row["setting"]: row for row in answer["settings"]}


def is_sure(answer):
    """Nothing is better for certain while the intervals meet."""
    rows = rows_of(answer)
    advice, base = (rows[answer[which]]["answer"][answer["goal"]] for which in ("advice", "base"))
    sure = answer["advice"] == answer["base"] or advice["low"] > base["high"]
    expect(f"sure of {advice} against {base}", answer["sure"], sure)
    return sure


def check_command():
    """Threads, ubatch and the cache's type are found beside what --param names."""
    answer = json.loads(advise("--json", "--runs", "1", "--param", "f=on,off", "--", *ENGINE, "--threads", "1",
                               "--ubatch=64", "--cache-type", "f16", "--flash", "{f}", BRICK_DB=DB)[0])
    kept = json.loads(brick("history", "list", "--json", "--all", BRICK_DB=DB)[0])["runs"]
    good = sum(row["answer"]["runs"] for row in answer["settings"])
    expect("its runs are in the history", len(kept), good)
    expect_true(f"by setting: {kept[0]}", all(run["batch"].startswith("advise-") for run in kept)
                and len({run["batch"] for run in kept}) > 3)
    rows = rows_of(answer)
    is_sure(answer)
    expect("what it is", answer["base"], "f=on threads=1 ubatch=64 cache-type=f16")
    expect_true(f"all combinations: {list(rows)}", {"f=on threads=1 ubatch=32 cache-type=q8_0",
                                                    "f=off threads=1 ubatch=64 cache-type=f16"} <= set(rows))
    expect("settings", len(rows), 2 * 2 * 2 * (len(rows) // 8))
    chosen, base = rows[answer["advice"]], rows[answer["base"]]
    expect_true(f"its choice was run: {chosen}", answer["checked"] and chosen["answer"]["runs"] >= 1)
    expect_true("and is not worse than what it was given", chosen["answer"]["all"]["tokens_per_s"]
                >= base["answer"]["all"]["tokens_per_s"])
    predicted = rows["f=on threads=1 ubatch=32 cache-type=q8_0"]["predicted"]
    expect("a combination is predicted", predicted["runs"], 0)
    for phase in ("prefill", "decode", "all"):
        rate = predicted[phase]
        expect_true(f"{phase}: {rate}", 0 < rate["low"] < rate["tokens_per_s"] < rate["high"])
    expect("no mixed steps", predicted["mixed"], None)


def check_left_out():
    """A value that the engine refuses is named, and nothing is said of it."""
    args = ["--runs", "1", "--param", "type=f16,f99", "--param", "u=64,32", "--", *ENGINE, "--cache-type", "{type}",
            "--ubatch", "{u}"]
    answer = json.loads(advise("--json", *args)[0])
    rows = rows_of(answer)
    expect_true(f"named: {answer['faults']}", "type=f99 u=64 (" in answer["faults"])
    expect("nothing is known of it", [rows[f"type=f99 u={u}"]["answer"]["all"] for u in (64, 32)], [None, None])
    expect_true(f"not advised: {answer['advice']}", "f16" in answer["advice"])
    text = advise(*args)[0]
    expect_true(f"said: {text}", "Left out" in text and "Advice" in text and "TOKENS/S" in text)
    out, err = advise("--runs", "1", "--", *ENGINE, "--cache-type", "f99", code=125)
    expect_true(f"what one has does not run: {err}", "f99" in err and not out)


def check_files():
    """Of recordings: their commands say the settings; one that nobody ran is predicted, and not run."""
    paths = []
    for i, (ubatch, flash) in enumerate((("64", "on"), ("32", "on"), ("64", "off"))):
        paths.append(os.path.join(TMP, f"{i}.pftrace"))
        subprocess.run([BRICK, "record", "-q", "-o", paths[-1], "--", *ENGINE, "--ubatch", ubatch, "--flash", flash],
                       env=environment(), check=True, capture_output=True, timeout=600)
    answer = json.loads(advise("--json", *paths)[0])
    rows = rows_of(answer)
    expect("settings", sorted(rows), sorted(f"ubatch={u} flash={f}" for u in (32, 64) for f in ("on", "off")))
    expect("what they have in common", answer["base"], "ubatch=64 flash=on")
    expect("runs", {name: row["answer"]["runs"] for name, row in rows.items()},
           {name: int(name != "ubatch=32 flash=off") for name in rows})
    rate = rows["ubatch=32 flash=off"]["answer"]["prefill"]
    expect_true(f"predicted: {rate}", 0 < rate["low"] < rate["tokens_per_s"] < rate["high"])
    expect_true("not run", not answer["checked"])
    expect("doubt is said", "do not tell them apart" in " ".join(advise(*paths)[0].split()), not is_sure(answer))
    expect_true("said", "was not run" in advise(*paths)[0] or answer["advice"] != "ubatch=32 flash=off")
    err = advise(paths[0], paths[0], code=3)[1]
    expect_true(f"nothing differs: {err}", "do not differ" in err)
    short = os.path.join(TMP, "short.pftrace")
    subprocess.run([BRICK, "record", "-q", "-o", short, "--", *ENGINE], env=environment(), check=True, capture_output=True,
                   timeout=600)
    err = advise(paths[0], short, code=3)[1]
    expect_true(f"another command: {err}", "short.pftrace" in err and "words" in err)


def check_matrix():
    """`brick bench` of the same engine: tokens a second by the recordings, and the memory of each setting."""
    done = subprocess.run([BRICK, "bench", "-q", "--json", "--disturbed", "--runs", "2", "--warmup", "0", "--no-history", "--param",
                           "prompt=8,64", "--", *ENGINE, "--prompt-tokens", "{prompt}"], env=environment(),
                          capture_output=True, timeout=600, check=True)
    answer = json.loads(done.stdout)
    expect("settings", [side["name"] for side in answer["sides"]], ["prompt=8", "prompt=64"])
    for side in answer["sides"]:
        for phase in ("prefill", "decode"):
            expect_true(f"{side['name']} {phase}: {side}", side[f"{phase}_tokens_per_s"]["value"] > 1)
        expect_true(f"memory of the engine, not of Brick: {side}", 5e6 < side["peak_bytes"] < 150e6)
        expect_true(f"CPU time: {side}", side["user_ns"] + side["system_ns"] > 1e6)
    expect_true("one is the best", answer["best"] in ("prompt=8", "prompt=64"))


def check_interrupted():
    """Ctrl-C ends it with that signal's code, and leaves nothing behind."""
    place = os.path.join(TMP, "interrupted")
    os.mkdir(place)
    process = subprocess.Popen([BRICK, "advise", "-q", "--runs", "1000", "--", *ENGINE, "--threads", "1"],
                               env=environment(TMPDIR=place), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and not os.listdir(place):
        time.sleep(0.05)
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=600)
    expect_true(f"ended by it: {process.returncode} {out} {err}", process.returncode in (128 + signal.SIGINT, 125))
    left = [name for _, folders, files in os.walk(place) for name in folders + files]
    expect("nothing is left", left, [])


def check_stopped():
    """Each run is told when it ends; a signal ends it with the answer of the runs that are there."""
    process = subprocess.Popen([BRICK, "advise", "--json", "--no-history", "--runs", "1000", "--param", "prompt=8,64", "--",
                                *ENGINE, "--prompt-tokens", "{prompt}"], env=environment(), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    told = []
    for line in process.stderr:
        told.append(line)
        if any("prompt=8: " in line and "tokens/s" in line for line in told):
            break
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=600)
    expect(f"the signal's code: {told} {err}", process.returncode, 128 + signal.SIGINT)
    answer = json.loads(out)
    rows = rows_of(answer)
    expect("it says so", (answer["interrupted"], answer["base"]), (True, "prompt=8"))
    expect_true(f"the choice was run: {answer}", rows[answer["advice"]]["answer"]["runs"] >= 1)


def check_usage():
    for wrong in ([], ["--"], ["--", "true"], ["--param", "x=1,2", "--", *ENGINE, "--threads", "1"],
                  ["--for", "nothing", "--", *ENGINE], ["--param", "x=1", "a.pftrace"]):
        advise(*wrong, code=2)
    advise(os.path.join(TMP, "none.pftrace"), code=3)
    expect_true("said what it can try", "-t N" in advise("--", "true", code=2)[1])


def main():
    subprocess.run([os.path.join(BUILD, "bin", "brick-model"), "--layers", "2", "--embd", "128", "--heads", "4", "--kv-heads", "2", "--ff", "256",
                    ENGINE[4]], check=True, stdout=subprocess.DEVNULL, timeout=600)
    check_usage()
    check_command()
    check_left_out()
    check_files()
    check_matrix()
    check_interrupted()
    check_stopped()
    brick("advise", "--help")


main()
