# SPDX-License-Identifier: Apache-2.0
"""
The history: `record` keeps what it recorded, unless told not to; list, show, label, rm, plot, hosts, import; diff and
report take its runs; what a history cannot keep is a warning.
"""
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess

from libcli import BRICK, BUILD, TMP, brick, environment, expect, expect_true, recording

PROGRAM = os.path.join(BUILD, "bin", "program-compare_recording")
DB = os.path.join(TMP, "data", "history.db")
SIDE = 5


def ask(*args, code=0, **changes):
    return brick(*args, code=code, **{"BRICK_DB": DB, **changes})


def answer(*args, code=0):
    return json.loads(ask(args[0], "--json", *args[1:], code=code)[0])


def runs(*args):
    return answer("history", "list", *args)["runs"]


def record(name, *args, code=0, percent=0, **changes):
    path = os.path.join(TMP, name + ".pftrace")
    _, err = ask("record", "-q", "-o", path, *args, "--", PROGRAM, os.path.join(TMP, "own"), str(percent),
                 code=code, **changes)
    return path, err.decode()


def check_record():
    for i in range(SIDE):
        record(f"a{i}", "--label", "main")
        record(f"b{i}", "--label", "slow", percent=300)
    record("not", "--no-history")
    expect("runs", len(runs()), 2 * SIDE)
    expect("of a label", len(runs("--label", "main")), SIDE)
    newest = runs("--limit", "1")[0]
    expect("newest first", newest["labels"], ["slow"])
    expect("path", newest["path"], os.path.join(TMP, f"b{SIDE - 1}.pftrace"))
    record("x", BRICK_DB="none")
    expect("switched off", len(runs()), 2 * SIDE)


def check_failures_are_warnings():
    _, err = record("y", BRICK_DB="/proc/nowhere/h.db")
    expect_true(f"a warning: {err}", "history: /proc/nowhere/h.db" in err)
    damaged = os.path.join(TMP, "damaged.db")
    with open(damaged, "w", encoding="utf-8") as file:
        file.write("x" * 5000)
    _, err = record("z", BRICK_DB=damaged)
    expect_true(f"a warning: {err}", "damaged" in err)
    with open(damaged, encoding="utf-8") as file:
        expect("left alone", file.read(), "x" * 5000)
    err = brick("history", "list", code=3, BRICK_DB=damaged)[1].decode()
    expect_true(f"exit code 3: {err}", "damaged" in err)
    brick("history", "list", code=3, BRICK_DB=os.path.join(TMP, "none.db"))
    expect_true("asking makes none", not os.path.exists(os.path.join(TMP, "none.db")))


def check_locked():
    """Whoever reads, reads; whoever writes waits, and then says so."""
    other = sqlite3.connect(DB, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    expect("reading goes on", len(runs()), 2 * SIDE)
    _, err = record("locked")
    expect_true(f"a warning: {err}", "locked" in err)
    other.execute("ROLLBACK")
    other.close()


def check_full():
    """A disk that is full in the middle: what was kept stays, the rest is said, and can be kept later."""
    before, path = runs(), os.path.join(TMP, "many.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        for i in range(200):
            file.write(json.dumps({"build_commit": "full", "n_prompt": 0, "n_gen": 128, "test_time": "2025-04-24T11:57:09Z",
                                   "avg_ns": 1000000000 + i}) + "\n")

    def no_more():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000))
    done = subprocess.run([BRICK, "history", "import", path], env=environment(BRICK_DB=DB), capture_output=True, check=False,
                          timeout=600, preexec_fn=no_more)
    expect_true(f"it is said: {done}", done.returncode == 4 and DB.encode() in done.stderr)
    kept = len(runs()) - len(before)
    expect_true(f"{kept} of 200 are kept", 0 < kept < 200)
    expect("nothing lost", runs("--kind", "recorded"), before)
    ask("history", "import", path)
    expect("kept later, and once", len(runs()), len(before) + 200)
    expect("old ones", ask("history", "rm", "--older-than", "30")[0], b"200 runs\n")
    expect("gone again", runs(), before)


def same_rows(one, other):
    """Recordings and their summaries say the same, but for rounding."""
    for phase in ("prefill", "decode"):
        rows = {row["name"]: row for row in other["phases"][phase]["bricks"]}
        for row in one["phases"][phase]["bricks"]:
            twin = rows[row["name"]]
            expect(f"verdict on {row['name']}", row["verdict"], twin["verdict"])
            for key in ("a_ns", "b_ns", "effect"):
                if row[key] is None:  # it took no time in A: there is no ratio
                    expect(f"{key} of {row['name']}", twin[key], None)
                    continue
                expect_true(f"{key} of {row['name']}", abs(row[key] - twin[key]) <= 1e-6 * abs(row[key]) + 1e-9)
        time, twin = one["phases"][phase]["rate"], other["phases"][phase]["rate"]
        expect_true("rate", abs(time["a_ns"] - twin["a_ns"]) <= 1e-6 * time["a_ns"])


def check_diff():
    a = [os.path.join(TMP, f"a{i}.pftrace") for i in range(SIDE)]
    b = [os.path.join(TMP, f"b{i}.pftrace") for i in range(SIDE)]
    done = subprocess.run([BRICK, "diff", "--disturbed", "--json", *a, "--", *b], capture_output=True, check=False,
                          env=environment(BRICK_DB="none"))
    of_files = json.loads(done.stdout)
    of_history = answer("diff", "--disturbed", "@main", "--", "@slow", code=done.returncode)
    mixed = answer("diff", "--disturbed", "@main", "--", *b, code=done.returncode)
    same_rows(of_files, of_history)
    same_rows(of_files, mixed)
    settings = lambda found: [d for d in found["differences"] if d["key"] != "disturbed"]  # others' doing
    expect("differences", settings(of_history), settings(of_files))
    layers = answer("diff", "--disturbed", "--by", "layer", "@main", "@slow", code=done.returncode)["phases"]["decode"]["layers"]
    expect("layer", next(row["name"] for row in layers if row["name"] not in ("preempted", "blocked")), "layer 1")  # beside others' doing
    ask("diff", "@main", "@nobody", code=3)


def check_names():
    text = ask("history", "show", "@last")[0].decode()
    expect_true(f"it has bricks:\n{text}", "DownProjection" in text)
    run = runs()[2]
    expect("by place", answer("history", "show", "@3")["id"], run["id"])
    expect("by distance", answer("history", "show", "@last~2")["id"], run["id"])
    expect("by id", answer("history", "show", "@" + run["id"][:6])["id"], run["id"])
    expect_true("report", b"Decode" in ask("report", "@3")[0])
    ask("history", "label", "@3", "third")
    expect("labelled", runs("--label", "third")[0]["id"], run["id"])
    ask("history", "label", "--remove", "@third", "third")
    expect("not any more", runs("--label", "third"), [])
    ask("history", "show", "@third", code=3)
    added = recording("added.pftrace")
    ask("history", "add", added, "--label", "added")
    ask("history", "add", added)
    expect("added once", len(runs("--label", "added")), 1)
    os.unlink(added)
    expect_true("its recording is gone", b"was not kept" in ask("report", "@added", code=3)[1])
    ask("history", "rm", "@added")
    expect("removed", len(runs()), 2 * SIDE)


def check_list(commands):
    rows = ask("history", "list")[0].decode().splitlines()[1:-1]
    expect("lists show where commands of a program differ", {row.split()[-1] for row in rows}, commands)


def check_plot():
    plot = answer("history", "plot", "--brick", "DownProjection")
    expect("points of the newest run's workload", len(plot["runs"]), SIDE)
    expect_true(f"which is named: {plot['workload']}", plot["workload"]["workload"].endswith("own 300"))
    expect("the others are named", [(w["workload"], w["runs"]) for w in plot["left_out"]],
           [(plot["workload"]["workload"][:-3] + "0", SIDE)])
    other = answer("history", "plot", "--brick", "DownProjection", "--command", "own 0")
    expect("of the other", (len(other["runs"]), other["left_out"]), (SIDE, []))
    text = ask("history", "plot", "--command", "own")[0].decode()
    expect_true(f"what is left out is said:\n{text}", f"Left out  {SIDE} runs of" in text and "own 0" in text)
    check_list({"0", "300"})
    ask("bench", "-q", "--runs", "1", "--plain", "--", "/bin/true")
    check_list({"0", "300", "/bin/true"})  # another program's command has nothing in common with these
    newest = answer("history", "plot", "--brick", "DownProjection")
    expect("a plain run is no workload to plot", newest["workload"], plot["workload"])
    expect("nor one of hosts", answer("history", "hosts")["hosts"][0]["runs"], SIDE)
    for number in ("11", "22"):
        ask("bench", "-q", "--runs", "1", "--plain", "--", "/bin/echo", "-t", number, "-x", "same")
    text = ask("history", "list")[0].decode()
    expect_true(f"options keep their names:\n{text}", "... -t 11 ..." in text and "... -t 22 ..." in text)
    for _ in range(2):
        ask("history", "rm", "@1")
    ask("history", "rm", "@last")
    expect("filtered", len(runs("--command", "own 300")), SIDE)
    text = ask("history", "plot", "--layer", "1")[0].decode()
    expect_true(f"a sparkline:\n{text}", any(c in text for c in "▁▂▃▄▅▆▇█"))
    svg, page = os.path.join(TMP, "t.svg"), os.path.join(TMP, "t.html")
    ask("history", "plot", "--svg", svg, "--html", page)
    with open(svg, encoding="utf-8") as file:
        expect("a circle each", file.read().count("<circle"), SIDE)
    with open(page, encoding="utf-8") as file:
        expect_true("the page has the picture", "<svg" in file.read())
    ask("history", "plot", "--brick", "Nothing", code=3)
    expect_true("a slip is said", b"did you mean 'DownProjection'?" in ask("history", "plot", "--brick", "downprojektion", code=3)[1])
    ask("history", "plot", "--brick", "A", "--layer", "1", code=2)
    hosts = answer("history", "hosts")
    expect("one host", hosts["hosts"][0]["runs"], SIDE)
    expect("steps", hosts["steps"], SIDE * 48)
    expect("the others are named, too", sum(w["runs"] for w in hosts["left_out"]), SIDE)


LINES = [{"build_commit": "8cf427ff", "build_number": 5163, "cpu_info": "AMD", "model_filename": "m.gguf",
          "n_threads": 8, "n_prompt": 512, "n_gen": 0, "test_time": "2025-04-24T11:57:09Z", "avg_ns": 70285660,
          "samples_ns": [69000000, 70000000, 72000000]},
         {"build_commit": "8cf427ff", "build_number": 5163, "cpu_info": "AMD", "model_filename": "m.gguf",
          "n_threads": 8, "n_prompt": 0, "n_gen": 128, "test_time": "2025-04-24T11:58:09Z", "avg_ns": 1280000000}]


def check_explain():
    """`explain` compares with earlier recordings of the same workload, and needs no history to say the rest."""
    place, spins_ns = os.path.join(TMP, "explain.db"), 48 * 9 * 20000  # of all decoding, on the CPU
    paths = [os.path.join(TMP, f"usual{i}.pftrace") for i in range(5)]

    def found(where, *part):
        said = json.loads(ask("explain", "--json", *part, paths[-1], BRICK_DB=where)[0])["findings"]
        return [f for f in said if f.get("expectation", {}).get("source") == "history"]

    def is_swamped():
        """Where others have had the CPU for nine tenths of the time, the excess is too small beside that."""
        phases = json.loads(ask("explain", "--json", paths[-1], BRICK_DB="none")[0])["phases"]
        return next(phase["wall_ns"] for phase in phases if phase["phase"] == "decode") > 10 * spins_ns
    for path in paths:
        subprocess.run([PROGRAM, path], check=True)
        ask("history", "add", path, BRICK_DB=place)
    for _ in range(6):
        if not is_swamped():
            break
        ask("history", "rm", "@last", BRICK_DB=place)
        subprocess.run([PROGRAM, paths[-1]], check=True)
        ask("history", "add", paths[-1], BRICK_DB=place)
    with sqlite3.connect(place) as db:  # the earlier ones were quick, however busy the machine is
        newest = "(SELECT number FROM runs ORDER BY start_ns DESC LIMIT 1)"
        db.execute(f"UPDATE runs SET workload = (SELECT workload FROM runs WHERE number = {newest})")
        db.execute(f"UPDATE parts SET typical_ns = typical_ns / 20 WHERE run != {newest}")
    expect_true("bricks of the history", found(place) and all(f["row"].endswith("Projection") for f in found(place)))
    # 19 of 20 parts, if all earlier ones took what this one did; and others make caches cold
    decode = sum(f["cost_ns"] for f in found(place) if f["phase"] == "decode")
    expect_true(f"what it takes more: {decode} of {spins_ns}", 0.8 * spins_ns < decode < 2 * spins_ns)
    expect_true("how to compare", found(place)[0]["see"].startswith("brick diff @"))
    expect("a part of the recording", found(place, "--phase", "prefill"), [])
    for where in ("none", os.path.join(TMP, "nowhere", "h.db")):
        expect(f"no history: {where}", found(where), [])


def check_import():
    path, sql = os.path.join(TMP, "bench.jsonl"), os.path.join(TMP, "bench.sql")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(map(json.dumps, LINES)) + "\n")
    keys = [key for key in LINES[1] if key != "samples_ns"]
    with open(sql, "w", encoding="utf-8") as file:
        file.write(f"CREATE TABLE IF NOT EXISTS test ({', '.join(key + ' TEXT' for key in keys)});\n\n")
        file.write(f"INSERT INTO test ({', '.join(keys)}) VALUES ("
                   + ", ".join(f"'{LINES[1][key]}'" for key in keys) + ");\n")
    for _ in range(2):
        ask("history", "import", path, "--label", "imported")
    expect("two tests, once", len(runs("--kind", "imported")), 2)
    decode = next(run for run in runs("--label", "imported") if run["decode_tokens_per_s"])
    expect("tokens/s", decode["decode_tokens_per_s"], 100)
    prompt = next(run for run in runs("--label", "imported") if run["prefill_tokens_per_s"])
    expect_true("the median", abs(prompt["prefill_tokens_per_s"] - 512 / 0.07) < 0.1)
    ask("history", "import", sql)
    expect("the same test as SQL is the same run", len(runs("--kind", "imported")), 2)
    evil, target = os.path.join(TMP, "evil.sql"), os.path.join(TMP, "evil.db")
    with open(evil, "w", encoding="utf-8") as file:
        file.write(f"ATTACH '{target}' AS e; CREATE TABLE e.test (n_prompt);")
    ask("history", "import", evil, code=3)
    expect_true("SQL opens no files", not os.path.exists(target))
    for what, line in (("rows double", "INSERT INTO test SELECT * FROM test;\n" * 40),
                       ("rows multiply", f"SELECT * FROM {', '.join('test ' + c for c in 'abcdefghijkl')};\n")):
        with open(evil, "w", encoding="utf-8") as file:
            file.write("CREATE TABLE test (n_prompt);\n" + "INSERT INTO test VALUES (1);\n" * 10 + line)
        err = brick("history", "import", evil, code=3, BRICK_DB=DB)[1].decode()
        expect_true(f"{what}, within bounds: {err}", f"{evil}: line " in err)
    with open(evil, "w", encoding="utf-8") as file:
        file.write('{"not": "a test"}\n')
    ask("history", "import", evil, code=3)
    for name, line, text in (
            ("SQL", 4, "\n" + open(sql, encoding="utf-8").read().splitlines()[0] + "\n\nINSERT INTO test VALUS (1);\n"),
            ("lines", 3, json.dumps(LINES[0]) + "\n\n[1]\n"), ("a text", 1, "hello\n")):
        with open(evil, "w", encoding="utf-8") as file:
            file.write(text)
        err = brick("history", "import", evil, code=3, BRICK_DB=DB)[1].decode()
        expect_true(f"{name}: file and line of what is wrong: {err}", err.startswith(f"brick: {evil}: line {line}: "))


def check_passwords():
    """An address with a password is refused, and not printed, whatever else is wrong with it."""
    for where in ("clickhouse+http://me:secret@host:8123", "clickhouse+http://me:secret@host:8123/db", "clickhouse+ftp://me:secret@host/db",
                  "postgres://me:secret@host/db", "clickhouse+http://me:secret@host:8123/No Name"):
        for command in (("history", "list"), ("history", "--db", where, "list")):
            out, err = brick(*command, code=4, BRICK_DB=where)
            expect_true(f"{where}: {err!r}", b"secret" not in out + err and b"BRICK_DB_PASSWORD_FILE" in err)
    empty = os.path.join(TMP, "no-password")
    with open(empty, "wb"):
        pass
    for path in (empty, TMP, os.path.join(TMP, "nowhere")):
        err = brick("history", "list", code=4, BRICK_DB="clickhouse+http://127.0.0.1:1/brick", BRICK_DB_PASSWORD_FILE=path)[1].decode()
        expect_true(f"the file of the password is at fault: {err}", path + " (BRICK_DB_PASSWORD_FILE)" in err)


def check_usage():
    ask("history", code=2)
    ask("history", "lost", code=2)
    ask("history", "show", code=2)
    ask("history", "list", "much", code=2)
    err = brick("history", "list", code=4, BRICK_DB="none")[1].decode()
    expect_true(f"none is said: {err}", "BRICK_DB" in err)
    home = os.path.join(TMP, "home")
    record("home", BRICK_DB=None, XDG_DATA_HOME=home)
    expect_true("the default", os.path.exists(os.path.join(home, "brick", "history.db")))
    shutil.rmtree(home)


def main():
    check_record()
    check_failures_are_warnings()
    check_locked()
    check_full()
    check_diff()
    check_names()
    check_plot()
    check_explain()
    check_import()
    check_passwords()
    check_usage()


main()
