# SPDX-License-Identifier: Apache-2.0
"""
Windows of recordings in Debian's ClickHouse server: each is there once, whatever is killed, away, slow, refused or full in
between, and no recorded program notices; a ring of files loses none. Questions about a fleet of many hosts have the true
answers, and the same ones from SQLite: the slow rank and its brick, percentiles over all hosts, the brick that got slower since
a version, the longest steps. Workloads are never mixed.
"""
import atexit
import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time

from libcli import BRICK, BUILD, TMP, brick, environment, expect, expect_true
from libclickhouse import CHDB, PLACE, PORTS, SECRET, Server, ask, prepare, spooled, sql, until

PROGRAM = os.path.join(BUILD, "bin", "program-compare_recording")
EMBEDDED = os.path.join(BUILD, "bin", "program-top_embedded")
TWIN = {"BRICK_DB": os.path.join(TMP, "twin.db")}
SUMS = "count(), sum(count), sum(total_ns)"


def windows(where="1"):
    """Windows and their parts; and what the server makes of them."""
    heads = sql(f"SELECT count(), uniqExact(id) FROM brick.runs WHERE kind = 'window' AND {where}").split()
    parts = sql(f"SELECT {SUMS} FROM brick.parts WHERE run_kind = 'window' AND {where}").split()
    return [int(number) for number in heads + parts]


def fleet_sums():
    return sql("SELECT sum(runs), sum(count), sum(total_ns), sum(arraySum(histogramMap.count)) FROM brick.fleet")


def twin(query):
    return sqlite3.connect(TWIN["BRICK_DB"]).execute(query).fetchall()


def expect_twin(what):
    """The server has what SQLite has, each window once, and the right sums."""
    heads = twin("SELECT count(*), count(*) FROM runs WHERE kind = 'window'")[0]
    parts = twin("SELECT count(*), sum(count), sum(total_ns) FROM parts JOIN runs ON run = number WHERE kind = 'window'")[0]
    expect(what, windows(), [*heads, *parts])
    expect(f"{what}: sums", fleet_sums(), sql("SELECT count(), sum(count), sum(total_ns), sum(arraySum(bucket_counts)) FROM "
                                              "brick.parts WHERE run_kind = 'window'"))


def record(name):
    path = os.path.join(TMP, name)
    ask("record", "-q", "--no-history", "-o", path, "--", PROGRAM, os.path.join(TMP, "own"), "0", "", "60000")
    return path


def check_cut():
    """A recording's windows have all of its executions, each in one window."""
    path = record("cut.pftrace")
    for _ in range(2):
        for place in ({}, TWIN):
            ask("push", "--window", "1", path, **place)
    expect_true("it was cut", windows()[0] > 2)
    expect_twin("pushed twice")
    report = json.loads(brick("report", "--json", path)[0])
    expect("all executions", dict(twin("SELECT name, sum(count) FROM parts JOIN series ON series = number WHERE kind = 'brick' "
                                       "GROUP BY name")), {row["name"]: row["count"] for row in report["bricks"]})
    numbers = [int(value.split()[-1]) for value, in twin("SELECT value FROM facts WHERE key = 'slowest decode'")]
    expect_true(f"steps have numbers of the whole: {numbers}", len(set(numbers)) == len(numbers) and max(numbers) > 20)
    expect("which program", len(twin("SELECT DISTINCT batch FROM runs WHERE kind = 'window'")), 1)
    expect_true("no run", not json.loads(ask("history", "list", "--json", **TWIN)[0])["runs"])


def check_growing():
    """Windows of a recording that grows are sent when they cannot change any more."""
    path = os.path.join(TMP, "growing.pftrace")
    with open(os.devnull, "w", encoding="utf-8") as null:
        process = subprocess.Popen([BRICK, "record", "-q", "--no-history", "--interval", "100", "-o", path, "--", EMBEDDED, "say",
                                    "ms=600000"], env=environment(**PLACE), stdout=null, stderr=null)
        command, before = [BRICK, "push", "--window", "1", path], windows()[0]
        until("early windows", lambda: subprocess.run(command, env=environment(**PLACE), stderr=null, check=False).returncode == 0
              and windows()[0] > before)
    early = windows()[0]
    err = ask("push", "--window", "1", path)[1]
    expect_true(f"it says what is left out: {err}", b"is being written: its last two windows are left out" in err)
    killed = os.path.join(TMP, "killed.pftrace")  # nobody writes it: it cannot grow
    shutil.copy(path + ".part", killed + ".part")
    place = {"BRICK_DB": os.path.join(TMP, "killed.db")}
    err = ask("push", "--window", "1", killed, **place)[1]
    expect_true(f"nothing is left out: {err}", b"left out" not in err and b"never finished" in err)
    steps = json.loads(brick("report", "--json", killed)[0])["steps"]
    found = sqlite3.connect(place["BRICK_DB"]).execute("SELECT phase, sum(count) FROM parts JOIN series ON series = number "
                                                       "WHERE kind = 'step' GROUP BY phase").fetchall()
    expect("all steps of a killed one", dict(found), {name: of["count"] for name, of in steps.items() if isinstance(of, dict) and of.get("count")})
    process.send_signal(signal.SIGINT)
    process.wait(timeout=600)
    for place in ({}, TWIN):
        ask("push", "--window", "1", path, **place)
    expect_true(f"some before its end, not all: {before}, {early}, {windows()[0]}", before < early < windows()[0])
    expect_twin("grown")


def check_skipped():
    """A file that cannot be pushed keeps no other from it."""
    place = {"BRICK_DB": os.path.join(TMP, "skipped.db")}
    dateless = os.path.join(TMP, "dateless.json")
    with open(dateless, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 5, "dur": 10}]}, file)
    ask("import", "-o", dateless + ".pftrace", dateless)
    pipe = os.path.join(TMP, "pipe.pftrace")
    os.mkfifo(pipe)
    err = ask("push", os.path.join(TMP, "missing.pftrace"), dateless + ".pftrace", pipe, os.path.join(TMP, "cut.pftrace"), code=3, **place)[1]
    expect_true(f"it says why: {err}", b"missing.pftrace: no such file" in err and b"dateless.json.pftrace: has no date" in err
                and b"pipe.pftrace: is no regular file" in err)
    found = sqlite3.connect(place["BRICK_DB"]).execute("SELECT kind, path FROM runs").fetchall()
    expect("the good one is there", found, [("window", os.path.realpath(os.path.join(TMP, "cut.pftrace")))])


def check_far():
    """Years between two events, as where a clock was set, are no windows: they are passed over at once."""
    place, path = {"BRICK_DB": os.path.join(TMP, "far.db")}, os.path.join(TMP, "far.json")
    steps = [{"ph": "X", "name": f"ProfilerStep#{i}", "cat": "user_annotation", "pid": 1, "tid": 1, "ts": 10 ** 15 + i * 500000, "dur": 900}
             for i in range(4)]
    far = {"ph": "X", "name": "aten::mm", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 10 ** 15 + 10 ** 15, "dur": 100}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"baseTimeNanoseconds": 1, "traceEvents": [*steps, far]}, file)
    ask("import", "-o", path + ".pftrace", path)
    ask("push", "--window", "1", path + ".pftrace", **place)
    found = sqlite3.connect(place["BRICK_DB"]).execute("SELECT count(*), sum(count) FROM parts JOIN series ON series = number "
                                                       "WHERE kind = 'step'").fetchall()
    expect("two windows with all steps", found, [(2, 4)])


def check_rank():
    """A launcher's rank is known."""
    ask("record", "-q", "--push", "--no-history", "-o", os.path.join(TMP, "rank.pftrace"), "--", PROGRAM, os.path.join(TMP, "own"),
        OMPI_COMM_WORLD_RANK="1", OMPI_COMM_WORLD_SIZE="2")
    until("a rank", lambda: sql("SELECT rank, count() FROM brick.runs WHERE rank >= 0 GROUP BY rank") == "1\t1\n")
    ask("push", os.path.join(TMP, "rank.1.pftrace"), **TWIN)
    expect("rank", twin("SELECT rank FROM runs WHERE rank >= 0"), [(1,)])


def check_ring():
    """
    Each file of a ring goes to the server when it ends, and the last one at the end, also for a user without privileges. Files
    that could not wait, because other programs have the CPUs, are counted.
    """
    folder, said, data = (os.path.join(TMP, name) for name in ("ring", "said", "nobody"))
    os.makedirs(folder)
    os.makedirs(data)
    user = []
    if os.geteuid() == 0 and shutil.which("setpriv"):
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        for owned in (folder, data, SECRET):
            os.chown(owned, 65534, 65534)
        os.chmod(TMP, 0o755)
    path = os.path.join(folder, "run.pftrace")
    with open(said, "w", encoding="utf-8") as out:
        process = subprocess.Popen([*user, BRICK, "record", "--always", "--keep", "16s", "--interval", "100", "--push", "--slow",
                                    "1us", "--slow-limit", "1", "-o", path, "--", EMBEDDED, "say", "ms=600000"], stdout=out, stderr=subprocess.PIPE,
                                   env=environment(**{**PLACE, "XDG_DATA_HOME": data, "HOME": data}))
    before = windows()
    until("sent while it runs", lambda: windows()[0] >= before[0] + 3)
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=600)[1].decode()
    counted = re.search(r"push: (\d+) of the recording's files could not be sent", err)
    have = set(sql("SELECT id FROM brick.runs WHERE kind = 'window'").split())
    before = twin("SELECT count(*) FROM runs")
    skipped = ask("push", os.path.join(folder, "run.slow.pftrace"), **TWIN)[1]  # it repeats seconds of others
    expect_true(f"it is not pushed: {skipped}", b"for --slow, and is not pushed" in skipped)
    job = os.path.join(TMP, "job")
    os.makedirs(job)
    for one in (os.path.join(TMP, "rank.1.pftrace"), os.path.join(folder, "run.slow.pftrace")):
        shutil.copy(one, job)
    skipped = brick("report", job)[1]
    expect_true(f"it is no rank: {skipped}", b"left out: 1" in skipped)
    expect("no window", twin("SELECT count(*) FROM runs"), before)
    for file in sorted(os.listdir(folder)):
        ask("push", os.path.join(folder, file), **TWIN)
    lost = [row[0] for row in twin("SELECT id FROM runs WHERE kind = 'window'") if row[0] not in have]
    expect_true(f"lost are {len(lost)}, {err}", len(lost) <= (int(counted[1]) if counted else 0) and "history:" not in err)
    for file in sorted(os.listdir(folder)):
        ask("push", os.path.join(folder, file))
    numbers = windows()
    expect("nothing twice", numbers[0], numbers[1])
    expect("only what was lost is sent", numbers[0] - len(lost), len(have))
    expect("not sent again", spooled(), [])


class Left:
    """A recorder whose child waits for its password: it leaves the child, which sends the window all the same."""

    def __init__(self):
        self.fifo, self.path = os.path.join(TMP, "fifo"), os.path.join(TMP, "left.pftrace")
        os.mkfifo(self.fifo)
        self.place = {**PLACE, "BRICK_DB_PASSWORD_FILE": self.fifo, "XDG_DATA_HOME": os.path.join(TMP, "left")}
        self.process = subprocess.Popen([BRICK, "record", "-q", "--push", "--no-history", "-o", self.path, "--", PROGRAM,
                                         os.path.join(TMP, "own")], stderr=subprocess.PIPE, env=environment(**self.place))
        atexit.register(self.process.kill)

    def tell(self):
        """To who reads it now, if anyone."""
        with contextlib.suppress(OSError), open(os.open(self.fifo, os.O_WRONLY | os.O_NONBLOCK), "wb", buffering=0) as fifo:
            fifo.write(b"secret\n")

    def check(self):
        err = self.process.communicate(timeout=600)[1].decode()
        expect("the program's", self.process.returncode, 0)
        expect_true(f"it says so: {err}", "goes on with it in the background" in err)
        before = windows()[0]
        until("it came", lambda: self.tell() or windows()[0] == before + 1)
        ask("push", self.path, **TWIN)
        expect_twin("left")


def remove_all():
    for statement in ("DROP DATABASE brick", "CREATE DATABASE brick"):
        sql(statement)
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(TWIN["BRICK_DB"] + suffix):
            os.unlink(TWIN["BRICK_DB"] + suffix)


def check_killed(server):
    """The server dies while windows are sent: afterwards each is there, and once."""
    paths = [record(f"killed{i}.pftrace") for i in range(3)]
    ask("push", "--window", "1", *paths, **TWIN)
    for delay in (0.02, 0.15):
        with open(os.devnull, "w", encoding="utf-8") as null:
            process = subprocess.Popen([BRICK, "push", "--window", "1", *paths], env=environment(**PLACE), stderr=null)
        while not spooled() and process.poll() is None:
            time.sleep(0.01)
        time.sleep(delay)
        server.kill()
        process.wait(timeout=600)
        server.start()
        ask("push")
        expect("nothing waits", spooled(), [])
    expect_twin("killed")


def check_credentials():
    """A wrong password is told, and what was to be sent waits for the right one."""
    path = record("secret.pftrace")
    wrong = os.path.join(TMP, "wrong")
    with open(wrong, "w", encoding="utf-8") as file:
        file.write("wrong\n")
    err = ask("push", path, code=4, BRICK_DB_PASSWORD_FILE=wrong)[1]
    expect_true(f"it says why: {err}", b"HTTP" in err and b"waits on the disk" in err and b"wrong\n" not in err)
    expect("it waits", len(spooled()), 1)
    guests = [path]

    def is_told():
        guests.append(os.path.join(TMP, f"guest{len(guests)}.pftrace"))
        err = ask("record", "--push", "--no-history", "-o", guests[-1], "--", PROGRAM, os.path.join(TMP, "own"),
                  BRICK_DB_PASSWORD_FILE=wrong)[1]
        return b"HTTP" in err or b"next one is in" in err

    until("a recorder says it, too, unless it left its child", is_told)
    until("they wait", lambda: len(spooled()) == len(guests))
    ask("push", BRICK_DB_PASSWORD_FILE=SECRET)
    for one in guests:
        ask("push", one, **TWIN)
    expect_twin("the right password")


class Hanging:
    """A server that takes what one says, and never answers."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.taken = []
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            self.taken.append(self.listener.accept()[0])


def check_slow():
    """Neither a program nor its exit code waits for a server that does not answer."""
    hanging = Hanging()
    place = {"BRICK_DB": f"clickhouse+http://127.0.0.1:{hanging.port}/brick", "XDG_DATA_HOME": os.path.join(TMP, "slow")}
    ask("record", "-q", "--push", "--no-history", "-o", os.path.join(TMP, "slow.pftrace"), "--", PROGRAM, os.path.join(TMP, "own"),
        **place)
    until("it was asked", lambda: hanging.taken)
    until("the window waits", lambda: [name.endswith(".run") for _, _, names in os.walk(place["XDG_DATA_HOME"])
                                       for name in names].count(True) == 1)
    # each try that fails doubles the pause, until the next command comes within it
    until("it waits longer after each failure", lambda: b"next one is in" in ask("push", "--background", **place)[1])


def check_full():
    """A spool that is full takes no more, says so, and loses nothing that it has."""
    place = {"BRICK_DB": f"clickhouse+http://127.0.0.1:{PORTS[1]}/full", "XDG_DATA_HOME": os.path.join(TMP, "full")}
    path = os.path.join(TMP, "secret.pftrace")
    ask("push", path, code=4, **place)
    base = os.path.join(place["XDG_DATA_HOME"], "brick", "spool")
    base = os.path.join(base, os.listdir(base)[0])
    kept = [name for name in os.listdir(base) if name.endswith(".run")]
    expect("one waits", len(kept), 1)
    for i in range(2):
        os.close(os.open(os.path.join(base, f"{i:016x}.run"), os.O_CREAT | os.O_WRONLY, 0o600))
    err = ask("push", os.path.join(TMP, "cut.pftrace"), code=4, BRICK_SPOOL_RUNS="3", **place)[1]
    expect_true(f"it says so: {err}", b"is full" in err)
    expect("no more than before", len(os.listdir(base)) - 2 - len(kept), len([n for n in os.listdir(base) if "." not in n]))


# A fleet whose truth is known.

HOSTS, RANKS, HOURS, BRICKS = 12, 2, 3, ("QkvProjection", "FlashAttention", "DownProjection")
BASE_NS = {"QkvProjection": 400000, "FlashAttention": 300000, "DownProjection": 800000}
SLOW, SLOWER = ("host07", 1), "FlashAttention"  # by half
CHANGED, SINCE = "DownProjection", "ggml 2 (b)"  # by a quarter


def bucket_of(ns):
    """As in src/analysis/history/kept_histogram.h: 16 buckets to an octave."""
    if ns < 16:
        return ns
    octave = ns.bit_length() - 5
    return octave * 16 + (ns >> octave)


def histogram(values):
    counts = {}
    for ns in values:
        counts[bucket_of(ns)] = counts.get(bucket_of(ns), 0) + 1
    return sorted(counts.items())


def make_fleet(now_s):
    """Windows as spools have them, and all lengths of executions."""
    draw, rows, lengths, longest = random.Random(45), [], {}, []
    for number in range(HOSTS * RANKS * HOURS * 2):
        host, rank = f"host{number % HOSTS:02}", number // HOSTS % RANKS
        hour = number // HOSTS // RANKS % HOURS
        other = number >= HOSTS * RANKS * HOURS
        engine = "ggml 1 (a)" if hour == 0 else SINCE
        steps, parts = 50, []
        lists = {name: [int(BASE_NS[name] * draw.uniform(0.98, 1.02) * (1.5 if (host, rank) == SLOW and name == SLOWER else 1)
                            * (1.25 if hour and name == CHANGED else 1) * (40 if other else 1)) for _ in range(steps)] for name in BRICKS}
        whole = [sum(values) for values in zip(*lists.values())]
        for kind, name, values in [("step", "", whole), *[("brick", name, lists[name]) for name in BRICKS]]:
            parts.append({"phase": "decode", "kind": kind, "name": name, "count": steps, "tokens": steps, "total_ns": sum(values),
                          "typical_tokens": steps, "typical_ns": sum(values), "united": 1.0, "histogram": histogram(values)})
            if not other:
                lengths.setdefault(name, []).extend(values)
        start = (now_s - 3600 * (HOURS - hour)) * 10**9 + number - other * 10**9  # the newest is of the first workload
        if not other:
            longest.append((start, max(whole), host, rank))
        rows.append({"id": f"{number + 1:016x}", "kind": "window", "host": host, "cpu": "cpu", "engine": engine, "version": "1",
                     "command": "", "path": f"/r/{number}.pftrace", "batch": f"job{other}", "model": "",
                     "workload": "other" if other else "first", "start_ns": start, "wall_ns": 6 * 10**10, "ttft_ns": 0, "exit_code": 0,
                     "rank": rank, "value": 0.0, "facts": [["slowest decode", f"{max(whole)} ns, step {whole.index(max(whole)) + 1}"]],
                     "labels": [], "parts": parts})
    return rows, lengths, longest


def make_steady(now_s):
    """Windows of a workload whose steps take the same, the least of a bucket; and of one that has few of them."""
    rows = []
    for number, (workload, steps) in enumerate((("steady", 60), ("steady", 60), ("few", 50))):
        part = {"phase": "decode", "kind": "step", "name": "", "count": steps, "tokens": steps, "total_ns": steps << 20,
                "typical_tokens": steps, "typical_ns": steps << 20, "united": 1.0, "histogram": histogram([1 << 20] * steps)}
        parts = [part, {**part, "kind": "brick", "name": f"Only{number}"}]
        rows.append({"id": f"abcdef{number:010x}", "kind": "window", "host": "steady", "cpu": "cpu", "engine": f"ggml {number + 1}",
                     "version": "1", "command": workload, "path": "/r/steady.pftrace", "batch": workload, "model": "", "workload": workload,
                     "start_ns": (now_s - 3600 * (9 - number)) * 10**9, "wall_ns": 6 * 10**10, "ttft_ns": 0, "exit_code": 0, "rank": -1,
                     "value": 0.0, "facts": [["slowest decode", f"{1 << 20} ns, step 1"]], "labels": [], "parts": parts})
    return rows


def check_steady():
    exemplars = answer("exemplars", "--command", "steady")["exemplars"]
    expect("all are as long as the p99", [one["ns"] for one in exemplars], [1 << 20] * 2)
    expect_true("one host", b"the p99 on steady," in ask("fleet", "exemplars", "--command", "steady", "--host", "steady")[0])
    err = ask("fleet", "exemplars", "--command", "few", code=3)[1]
    expect_true(f"too few: {err}", b"50 decode steps have no 99th percentile" in err)
    err = ask("fleet", "exemplars", "--phase", "prefill", code=3)[1]
    expect_true(f"none: {err}", b"no window has prefill steps" in err)
    text = ask("fleet", "since", "ggml 2", "--command", "steady")[0].decode()
    expect_true(f"bricks of one side: {text}", "Only0" in text and "Only1" in text and "nan" not in text)
    for place in ({}, TWIN):
        shown = json.loads(ask("history", "show", "--json", exemplars[0]["id"], **place)[0])
        expect_true(f"by its id: {shown}", exemplars[0]["id"] in json.dumps(shown))
    ask("history", "rm", exemplars[0]["id"], **TWIN)
    expect("it is gone", twin(f"SELECT id FROM runs WHERE id = '{exemplars[0]['id']}'"), [])


def fill(rows):
    """The server by the spool, SQLite by its tables."""
    base = os.path.join(PLACE["XDG_DATA_HOME"], "brick", "spool")
    base = os.path.join(base, os.listdir(base)[0])
    for row in rows:
        line = {**row, "parts": [{**part, "histogram": " ".join(f"{i}:{n}" for i, n in part["histogram"])} for part in row["parts"]]}
        with open(os.path.join(base, row["id"] + ".run"), "w", encoding="utf-8") as file:
            file.write(json.dumps(line))
    ask("push")
    ask("push", **TWIN)
    db = sqlite3.connect(TWIN["BRICK_DB"])
    texts = ("id", "kind", "host", "cpu", "engine", "version", "command", "path", "batch", "model", "workload", "start_ns", "wall_ns",
             "ttft_ns", "exit_code", "rank", "value")
    for number, row in enumerate(rows, 1):
        db.execute(f"INSERT INTO runs(number, {', '.join(texts)}) VALUES({', '.join('?' * (len(texts) + 1))})",
                   (number, *[row[text] for text in texts]))
        db.executemany("INSERT INTO facts VALUES(?, ?, ?)", [(number, *fact) for fact in row["facts"]])
        for part in row["parts"]:
            db.execute("INSERT OR IGNORE INTO series(phase, kind, name) VALUES(?, ?, ?)", (part["phase"], part["kind"], part["name"]))
            db.execute("INSERT INTO parts SELECT number, ?, ?, ?, ?, ?, ?, 1, ? FROM series WHERE kind = ? AND name = ?",
                       (number, *[part[key] for key in ("count", "tokens", "total_ns", "typical_tokens", "typical_ns")],
                        " ".join(f"{i}:{n}" for i, n in part["histogram"]), part["kind"], part["name"]))
    db.executescript("DROP TABLE fleet; DROP TABLE members; DROP INDEX facts_slowest; PRAGMA user_version = 4")  # as of an older Brick, which makes the sums
    db.commit()
    db.close()


def answer(*args, code=0):
    """The same from both engines."""
    real, same = [json.loads(ask("fleet", "--json", *args, **place)[0]) for place in ({}, TWIN)]
    expect(" ".join(args), real, same)
    ask("fleet", *args)  # as text
    return real


def check_fleet():
    now_s = int(time.time()) // 3600 * 3600 + 1800
    rows, lengths, longest = make_fleet(now_s)
    rows += make_steady(now_s)
    remove_all()
    fill(rows)
    expect_twin("a fleet")

    hosts = answer("hosts")
    expect("workloads", (hosts["workload"]["workload"], {w["workload"] for w in hosts["left_out"]}), ("first", {"other", "steady", "few"}))
    expect("all ranks", len(hosts["hosts"]), HOSTS * RANKS)
    first = hosts["hosts"][0]
    expect("the slow one", (first["name"], first["brick"]), (f"{SLOW[0]} rank {SLOW[1]}", SLOWER))
    share = 0.5 * BASE_NS[SLOWER] / (sum(BASE_NS.values()) + 0.25 * BASE_NS[CHANGED])
    expect_true(f"by that much: {first['effect']}", abs(first["effect"] / share - 1) < 0.15)
    expect("the others are not", [row["name"] for row in hosts["hosts"][1:] if row["effect"] > 0.05], [])
    expect("one host", len(answer("hosts", "--host", "host03")["hosts"]), RANKS)

    bricks = {row["name"]: row for row in answer("bricks")["bricks"]}
    for name, values in lengths.items():
        values.sort()
        expect(f"{name}: executions", bricks[name]["count"], len(values))
        for percent in (50, 99):
            exact, found = values[-(-len(values) * percent // 100) - 1], bricks[name][f"p{percent}_ns"]
            expect_true(f"p{percent} of {name}: {found} for {exact}", abs(found / exact - 1) <= 0.032)

    since = answer("since", "ggml 2")
    expect("sides", (since["before"], since["after"]), (["ggml 1 (a)"], [SINCE]))
    step, worst, *others = since["changes"]
    expect("what got slower", (step["name"], worst["name"]), ("", CHANGED))
    expect_true("by a quarter", abs(worst["after_ns_per_token"] / worst["before_ns_per_token"] - 1.25) < 0.02)
    expect("no other", [row["name"] for row in others if row["change_ns_per_token"] > 0.02 * row["before_ns_per_token"]], [])
    ask("fleet", "since", "ggml 1", code=3)  # nothing is before it
    ask("fleet", "since", "ggml 3", code=3)

    exemplars = answer("exemplars", "--limit", "5")
    wanted = [(start, ns, host, rank) for start, ns, host, rank in sorted(longest, reverse=True) if ns >= exemplars["p99_ns"]][:5]
    expect("the newest of the longest steps", [(e["start_unix_ns"], e["ns"], e["host"], e["rank"]) for e in exemplars["exemplars"]],
           wanted)
    expect_true("there are some", wanted and all(e["path"] and e["step"] for e in exemplars["exemplars"]))

    check_steady()
    ask("fleet", "hosts", "--command", "nothing", code=3)
    ask("fleet", code=2)
    ask("fleet", "since", code=2)


def main():
    server = Server()
    prepare(server)
    left = Left()
    check_cut()
    check_growing()
    check_skipped()
    check_far()
    check_rank()
    check_ring()
    left.check()
    remove_all()
    check_killed(server)
    if not CHDB:  # which knows no users
        check_credentials()
        check_full()
    check_slow()
    check_fleet()


main()
