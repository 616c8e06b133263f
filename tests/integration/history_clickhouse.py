# SPDX-License-Identifier: Apache-2.0
"""
A history in Debian's ClickHouse server, started and stopped here, on loopback: all questions are answered as SQLite
answers them; what waits for a server that is not there is sent later; a server that is killed in the middle of pushes
and started again has every run once, and in its sums; tables of a former version are brought up to date; old runs are
removed. Skipped where there is no server. With BRICK_CHDB=FOLDER/node_modules (the package chdb of npm) it is a ClickHouse of
today instead of Debian's, which also forgets by itself (src/analysis/history/clickhouse/ttl.sql).
"""
import json
import os
import random
import re
import subprocess
import time
import urllib.error

from libcli import BRICK, BUILD, TMP, environment, expect, expect_true
from libclickhouse import CHDB, PLACE, URL, Server, ask, prepare, spooled, sql

PROGRAM = os.path.join(BUILD, "bin", "program-compare_recording")
STATEMENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "analysis", "history", "clickhouse")
SIDE = 4


def answers(*args, code=0):
    """Of both engines."""
    sqlite = {"BRICK_DB": os.path.join(TMP, "twin.db")}
    return [json.loads(ask(args[0], "--json", *args[1:], code=code, **place)[0]) for place in ({}, sqlite)]


def check_questions():
    for i in range(SIDE):
        for side, percent in (("main", 0), ("slow", 300)):
            path = os.path.join(TMP, f"{side}{i}.pftrace")
            ask("record", "-q", "-o", path, "--label", side, "--", PROGRAM, os.path.join(TMP, "own"), str(percent))
            for _ in range(2):
                ask("history", "add", "--label", side, path, BRICK_DB=os.path.join(TMP, "twin.db"))
            ask("history", "add", "--label", side, path)
    imported = write_tests("more", 5)
    for place in ({}, {"BRICK_DB": os.path.join(TMP, "twin.db")}):
        ask("history", "import", "--label", "more", imported, **place)
    for args in ((), ("--label", "slow"), ("--host", "nobody")):
        check_same("list", *args)
    for args in (("show", "@last"), ("show", "@3"), ("plot", "--brick", "DownProjection"), ("plot", "--phase", "prefill"),
                 ("hosts",), ("hosts", "--label", "slow", "--phase", "prefill")):
        check_same(*args)
    check_random_questions()
    done = subprocess.run([BRICK, "diff", "--disturbed", "--json", "@main", "@slow"], env=environment(**PLACE), capture_output=True,
                          check=False, timeout=600)
    real, twin = answers("diff", "--disturbed", "@main", "@slow", code=done.returncode)
    expect("diff", real["phases"], twin["phases"])
    ask("history", "label", "@1", "new")
    expect("labelled", len(answers("history", "list", "--label", "new")[0]["runs"]), 1)
    ask("history", "label", "--remove", "@1", "new")
    expect("not any more", len(answers("history", "list", "--label", "new")[0]["runs"]), 0)


def check_same(*args):
    """Both engines answer alike."""
    done = subprocess.run([BRICK, "history", "--json", *args], env=environment(**PLACE), capture_output=True, check=False, timeout=600)
    if done.returncode:
        expect(f"{args}: {done.stderr}", done.returncode, 3)
        ask("history", *args, code=3, BRICK_DB=os.path.join(TMP, "twin.db"))
        return False
    real, twin = answers("history", *args)
    for answer in (real, twin):
        for run in answer.get("runs", []):
            run.pop("labels", None) if args[0] == "plot" else run["labels"].sort()
        for part in answer.get("parts", []):
            part["ns_per_token"] = part["ns_per_token"] and round(part["ns_per_token"], 3)
    expect(" ".join(args), real, twin)
    return True


def check_random_questions(count=30):
    """Any filter with any other."""
    draw, host, answered = random.Random(15), answers("history", "list")[0]["runs"][0]["host"], 0
    options = (("--label", "main"), ("--label", "slow"), ("--label", "more"), ("--host", host), ("--kind", "recorded"),
               ("--kind", "imported"), ("--limit", "3"), ("--limit", "7"))
    for _ in range(count):
        question = draw.choice((("list",), ("hosts",), ("hosts", "--by", "engine"), ("hosts", "--phase", "prefill"), ("plot",),
                                ("plot", "--brick", "DownProjection"), ("plot", "--layer", "0"), ("plot", "--phase", "prefill")))
        chosen = dict(draw.sample(options, draw.randint(0, 2)))
        answered += check_same(*question, *[word for option in chosen.items() for word in option])
    expect_true("most are answered", answered > count / 2)


def check_sums(what="sums"):
    numbers = "SELECT sum(count), sum(typical_ns), sum(arraySum({1})), {0} FROM brick."
    parts = numbers.format("count()", "bucket_counts")
    expect(f"{what}: by run", sql(parts + "parts_by_run"), sql(parts + "parts"))
    for table in ("hours", "days", "months", "fleet"):
        of = "parts WHERE run_kind " + ("=" if table == "fleet" else "!=") + " 'window'"
        expect(f"{what}: {table}", sql(numbers.format("sum(runs)", "histogramMap.count") + table), sql(parts + of))


def was_version(version):
    """The tables say that they are of a former version."""
    for later in range(version + 1, 5):
        sql(f"ALTER TABLE brick.brick_schema DROP PARTITION {later}")
    sql(f"INSERT INTO brick.brick_schema VALUES ({version})")


def check_migration():
    """Tables as they were before there were months and a version."""
    before = ask("history", "hosts", "--json")[0]
    for name in ("parts_to_months", "months", "parts_to_runs", "parts_by_run", "brick_schema"):
        sql(f"DROP TABLE brick.{name}")
    expect("brought up to date", ask("history", "hosts", "--json")[0], before)
    check_sums("brought up to date")
    for column in ("workload", "model"):  # and as they were before there were workloads
        sql(f"ALTER TABLE brick.runs DROP COLUMN {column}")
    was_version(2)
    expect_true("of the newest run's command", json.loads(ask("history", "hosts", "--json")[0])["workload"]["workload"])
    expect("one column a time", sql("SELECT count() FROM system.columns WHERE database = 'brick' AND table = 'runs' AND "
                                    "name IN ('model', 'workload')"), "2\n")
    before = ask("history", "hosts", "--json")[0]
    for table in ("parts_to_fleet", "fleet", "parts_to_days"):  # and as they were before there were windows
        sql(f"DROP TABLE brick.{table}")
    sql("CREATE MATERIALIZED VIEW brick.parts_to_days TO brick.days AS SELECT day, host, engine, phase, kind, name, toUInt64(1) AS "
        "runs, count, tokens, total_ns, typical_tokens, typical_ns, buckets AS `histogramMap.bucket`, bucket_counts AS "
        "`histogramMap.count` FROM brick.parts")
    for table, column in (("runs", "rank"), ("parts", "rank"), ("parts", "workload")):
        sql(f"ALTER TABLE brick.{table} DROP COLUMN {column}")
    was_version(3)
    expect("brought up to date from 3", ask("history", "hosts", "--json")[0], before)
    ask("push", os.path.join(TMP, "main0.pftrace"))
    expect("windows have a sum of their own", sql("SELECT uniqExact(host, rank) FROM brick.fleet"), "1\n")
    check_sums("windows are in no other sum")
    before = ask("history", "hosts", "--json")[0]
    sql("INSERT INTO brick.brick_schema VALUES (99)")
    expect_true("a newer one is refused", b"newer Brick" in ask("history", "list", code=3)[1])
    sql("ALTER TABLE brick.brick_schema DROP PARTITION 99")
    expect("and was left as it is", ask("history", "hosts", "--json")[0], before)


def check_removal():
    """A run that is removed leaves all tables."""
    for place in ({}, {"BRICK_DB": os.path.join(TMP, "twin.db")}):
        expect("removed", ask("history", "rm", "@2", **place)[0], b"1 run\n")
    for question in ("list", "hosts", "plot"):
        check_same(question)
    check_sums("one removed")


def check_age():
    """What is old goes by months."""
    old = int(sql("SELECT count() FROM brick.runs WHERE toYear(day) = 2025"))
    expect_true("there are old ones", old > 5)
    expect("so many", ask("history", "rm", "--older-than", "60")[0], b"%d runs\n" % old)
    expect("gone", sql("SELECT count() FROM brick.runs WHERE toYear(day) = 2025"), "0\n")
    check_sums("old ones removed")
    expect("as many", ask("history", "rm", "--older-than", "60", BRICK_DB=os.path.join(TMP, "twin.db"))[0], b"5 runs\n")
    ask("history", "rm", code=2)
    ask("history", "rm", "--older-than", "3", "@3", code=2)


def check_ttl():
    """A server that can forgets by itself; one that cannot says so, and has lost nothing."""
    ask("history", "import", write_tests("forget", 3))
    before, refused = sql("SELECT count() FROM brick.runs"), 0
    with open(os.path.join(STATEMENTS, "ttl.sql"), encoding="utf-8") as file:
        for statement in re.sub("--.*", "", file.read()).split(";")[:-1]:
            try:
                sql(statement.replace("ALTER TABLE ", "ALTER TABLE brick."))
            except urllib.error.HTTPError:
                refused += 1
    if not CHDB:
        expect("18.16 knows none", (refused, sql("SELECT count() FROM brick.runs")), (5, before))
        return
    expect("refused", refused, 0)
    for table in ("runs", "parts", "parts_by_run", "hours"):
        sql(f"OPTIMIZE TABLE brick.{table} FINAL")
    expect("the old are forgotten", int(sql("SELECT count() FROM brick.runs")), int(before) - 3)
    expect("of the parts, too", sql("SELECT count() FROM brick.parts WHERE toYear(day) = 2025"), "0\n")
    expect_true("not by the sums", sql("SELECT count() FROM brick.months WHERE toYear(month) = 2025") != "0\n")


def write_tests(name, count):
    """Of llama-bench: as many runs."""
    path = os.path.join(TMP, name)
    with open(path, "w", encoding="utf-8") as file:
        for i in range(count):
            file.write(json.dumps({"build_commit": name, "model_filename": "m.gguf", "n_prompt": 0, "n_gen": 128,
                                   "test_time": "2025-04-24T11:57:09Z", "avg_ns": 1000000000 + i}) + "\n")
    return path


def counts(commit):
    return sql(f"SELECT count(), uniqExact(id) FROM brick.runs WHERE engine LIKE 'llama.cpp {commit} %'") + sql(
        f"SELECT count(), uniqExact(id) FROM brick.parts WHERE engine LIKE 'llama.cpp {commit} %'")


def check_away(server):
    """Recording goes on without a server; what was kept is sent when it is there again."""
    server.kill()
    path = os.path.join(TMP, "away.pftrace")
    err = ask("record", "-q", "-o", path, "--label", "away", "--", PROGRAM, os.path.join(TMP, "own"))[1]
    expect("no word of it", err, b"")
    expect("it waits", len(spooled()), 1)
    expect_true("who asks is told", PLACE["BRICK_DB"].encode() in ask("history", "list", code=4)[1])
    server.start()
    ask("history", "push")
    expect("nothing waits", spooled(), [])
    expect("it is there", len(answers("history", "list", "--label", "away")[0]["runs"]), 1)


def check_killed(server):
    """The server dies in the middle of a push: afterwards every run is there, and once."""
    for round_, delay in enumerate((0.05, 0.5)):
        count = 700  # more than a batch
        path = write_tests(f"commit{round_}", count)
        process = subprocess.Popen([BRICK, "history", "import", path], env=environment(**PLACE),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while len(spooled()) < count and process.poll() is None:
            time.sleep(0.02)
        time.sleep(delay)
        server.kill()
        process.wait(timeout=600)
        server.start()
        ask("history", "push")
        expect("nothing waits", spooled(), [])
        expect("nothing lost, nothing twice", counts(f"commit{round_}"), f"{count}\t{count}\n" * 2)
        ask("history", "import", path)
        expect("the same again", counts(f"commit{round_}"), f"{count}\t{count}\n" * 2)
        check_sums("killed")


def check_half_sent():
    """A batch of which the server has a part only: what is missing is sent, no more."""
    path = write_tests("half", 40)
    ask("history", "import", path)
    ids = sql("SELECT id FROM brick.runs WHERE engine LIKE 'llama.cpp half %' ORDER BY id").split()
    # as if the client had died: runs back in the spool, noted as sent, and of half of them the server has no row
    sql("ALTER TABLE brick.runs DELETE WHERE id IN (" + ", ".join(f"'{i}'" for i in ids[:20]) + ")")
    sql("ALTER TABLE brick.parts DELETE WHERE id IN (" + ", ".join(f"'{i}'" for i in ids[:10]) + ")")
    deadline = time.monotonic() + 600
    while counts("half") != "20\t20\n30\t30\n" and time.monotonic() < deadline:
        time.sleep(0.1)
    for table in ("hours", "days", "months", "parts_by_run"):  # nor what is made of them
        sql(f"ALTER TABLE brick.{table} DROP PARTITION 202504")
    base = os.path.join(PLACE["XDG_DATA_HOME"], "brick", "spool")
    with open(os.path.join(base, os.listdir(base)[0], "sending"), "w", encoding="utf-8") as file:
        file.write("".join(i + "\n" for i in ids))
    ask("history", "import", path)
    expect("nothing lost, nothing twice", counts("half"), "40\t40\n" * 2)
    check_sums("half sent")


def check_refusals():
    if not CHDB:  # which knows no users
        ask("history", "list", code=4, BRICK_DB_PASSWORD_FILE=None)
    ask("history", "list", code=4, BRICK_DB=PLACE["BRICK_DB"].replace("http://", "http://user:word@"))
    ask("history", "list", code=4, BRICK_DB=f"clickhouse+{URL}/no-name")
    ask("history", "list", code=4, BRICK_DB=f"clickhouse+{URL}/nowhere")


def main():
    server = Server()
    prepare(server)
    check_questions()
    check_sums()
    check_removal()
    check_away(server)
    check_killed(server)
    check_half_sent()
    check_migration()
    check_age()
    check_ttl()
    check_refusals()


main()
