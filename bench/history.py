# SPDX-License-Identifier: Apache-2.0
"""How long questions to a history take.

SQLite: 10 000 runs of 30 bricks in two phases, on four hosts. With `--clickhouse URL` (a server of your own,
"http://127.0.0.1:8123") also a database brick_bench: 1000 hosts with 1000 runs each, 30 bricks, one phase. The server
makes it in a quarter of an hour and keeps it for the next time. `brick` asks each question five times, and each time the
shortest question as well (SELECT 1, or `brick --version` for SQLite): where that takes long, the machine is busy. The
bench prints wall time (fastest, median, slowest), the command's CPU time, and the server's if --server-pid names it.
`bench/history.py [--clickhouse URL [--server-pid PID]]`
"""
import json
import os
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

BUILD = os.environ.get("BRICK_BUILD", "build")
BRICK = f"{BUILD}/bin/brick"
RUNS, BRICKS, HOSTS, REPEAT = 10000, 30, 4, 5
COLUMNS = ("day, start_ns, run_kind, host, engine, phase, kind, name, count, tokens, total_ns, typical_tokens, "
           "typical_ns, united, buckets, bucket_counts")


def argument(name):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None


def server_s():
    """CPU time of the server."""
    pid = argument("--server-pid")
    if not pid:
        return 0
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def shortest(place):
    begin = time.perf_counter()
    if place.startswith("clickhouse"):
        post(argument("--clickhouse"), "SELECT 1")
    else:
        subprocess.run([BRICK, "--version"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def ask(place, *args, codes=(0,)):
    times, idle = [], []
    usage, server = resource.getrusage(resource.RUSAGE_CHILDREN), server_s()
    for _ in range(REPEAT):
        begin = time.perf_counter()
        done = subprocess.run([BRICK, *args], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              env={**os.environ, "BRICK_DB": place})
        times.append(time.perf_counter() - begin)
        if done.returncode not in codes:
            sys.exit(f"{args}: {done.stderr.decode()}")
        if place.startswith("clickhouse"):
            idle.append(shortest(place))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (after.ru_utime + after.ru_stime - usage.ru_utime - usage.ru_stime + server_s() - server) / REPEAT
    idle = idle or [shortest(place) for _ in range(REPEAT)]
    print(f"| `{' '.join(args)}` | {min(times):.3f} | {statistics.median(times):.3f} | {max(times):.3f} | {cpu:.3f} "
          f"| {statistics.median(idle):.3f} |", flush=True)


def ask_all(place):
    print(f"load average {os.getloadavg()[0]:.0f}, {os.cpu_count()} CPUs\n| | fastest | median | slowest | CPU | shortest question |")
    for args in (("list",), ("list", "--limit", "1000"), ("list", "--label", "main"), ("show", "@3"),
                 ("plot",), ("plot", "--brick", "Brick7"), ("plot", "--brick", "Brick7", "--host", "host2"), ("hosts",),
                 ("hosts", "--by", "engine"), ("hosts", "--host", "host2"), ("hosts", "--label", "main"), ("hosts", "--limit", "1000")):
        ask(place, "history", *args)
    ask(place, "diff", "--disturbed", "@1", "@2", codes=(0, 1))
    ask(place, "diff", "--disturbed", "@last", "@main", codes=(0, 1))
    ask(place, "report", "@3", codes=(3,))  # finds the run, whose recording is not there
    ask(place, "history", "label", "@2", "other")


def histogram(draw):
    return " ".join(f"{160 + k}:{draw.randint(1, 90)}" for k in range(24))


def fill_sqlite(path, folder):
    """The tables are those that the program makes."""
    lines = os.path.join(folder, "one.jsonl")
    with open(lines, "w", encoding="utf-8") as file:
        file.write(json.dumps({"n_prompt": 1, "avg_ns": 5, "test_time": "2020-01-01T00:00:00Z"}) + "\n")
    subprocess.run([BRICK, "history", "import", lines], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "BRICK_DB": path})
    db, draw = sqlite3.connect(path), random.Random(1)
    series = [(p, k, n) for p in ("prefill", "decode")
              for k, n in [("step", "")] + [("brick", f"Brick{i}") for i in range(BRICKS)]
              + [("layer", f"layer {i}") for i in range(8)]]
    for number, one in enumerate(series, 100):
        db.execute("INSERT OR REPLACE INTO series VALUES (?, ?, ?, ?)", (number, *one))
    for run in range(RUNS):
        number = run + 10
        db.execute("INSERT INTO runs (number, id, kind, host, cpu, engine, version, command, path, start_ns, wall_ns, "
                   "ttft_ns, exit_code, value) VALUES (?, ?, 'recorded', ?, 'cpu', ?, '0.1.0', './engine -m m.gguf', "
                   "'/srv/run.pftrace', ?, 1000000000, 9, 0, 0)",
                   (number, f"{run:016x}", f"host{run % HOSTS}", f"ggml {run // 1000}", 1700000000000000000 + run * 10**12))
        if run % 100 == 0:
            db.execute("INSERT INTO labels VALUES (?, 'main')", (number,))
        db.executemany("INSERT INTO parts VALUES (?, ?, 100, 100, ?, 50, ?, 1, ?)",
                       [(s, number, 10**8 + draw.randint(0, 10**6), (5 + (run > 6000)) * 10**7 + draw.randint(0, 10**6),
                         histogram(draw)) for s in range(100, 100 + len(series))])
    db.commit()
    db.close()


def post(url, query):
    with urllib.request.urlopen(url, data=query.encode(), timeout=3600) as reply:
        return reply.read().decode()


def fill_clickhouse(url):
    """A million runs, 100 hosts at a time."""
    at = url + "/?database=brick_bench"
    start = "toUInt64(1700000000000000000 + number * 60000000000)"
    who = "concat('host', toString(number % 1000)) AS host, concat('ggml ', toString(intDiv(number, 200000))) AS engine"
    day = f"toDate(toDateTime(intDiv({start}, 1000000000))) AS day"
    for part in range(10):
        numbers = f"(SELECT number + {part * 100000} AS number FROM system.numbers LIMIT 100000)"
        post(at, "INSERT INTO parts (id, " + COLUMNS + ") SELECT lower(hex(number + 4294967296 * 4097)) AS id, " + day
             + f", {start} AS start_ns, 'recorded', {who}, 'decode', if(b = 0, 'step', 'brick') AS kind, "
             "if(b = 0, '', concat('Brick', toString(b))) AS name, 100, 100, 100000000 + number % 1000, 50, "
             "if(b = 0, 30, 1) * (50000000 + (number * 7919 + b * 31) % 1000000) "
             "+ (number % 1000 = 77 AND (b = 0 OR b = 7)) * 30000000 AS typical_ns, 1, "
             "[160, 161, 162, 163, 164, 170, 180, 190], [10, 20, 30, 20, 10, 5, 4, 1] "
             f"FROM {numbers} ARRAY JOIN range({BRICKS + 1}) AS b")
        post(at, "INSERT INTO runs SELECT lower(hex(number + 4294967296 * 4097)) AS id, " + day
             + f", {start} AS start_ns, 'recorded', concat('host', toString(number % 1000)) AS host, 'cpu', "
             "concat('ggml ', toString(intDiv(number, 200000))), '0.1.0', './engine', '', '', '', 'engine', 1000000000, 9, 0, 0, [], [] "
             f"FROM {numbers}")
        print(f"{(part + 1) * 100000} runs", file=sys.stderr, flush=True)
    post(at, "OPTIMIZE TABLE months FINAL")  # as the server does by itself with the small parts of pushes
    post(at, "INSERT INTO labels SELECT id, 'main', 1, 1 FROM runs WHERE intDiv(start_ns - 1700000000000000000, "
             "60000000000) % 10007 = 5")


def main():
    with tempfile.TemporaryDirectory(prefix="brick-history-") as folder:
        path = os.path.join(folder, "history.db")
        fill_sqlite(path, folder)
        print(f"SQLite {sqlite3.sqlite_version}, {RUNS} runs, {os.path.getsize(path) >> 20} MB, {REPEAT} times each")
        ask_all(path)
    if "--clickhouse" not in sys.argv:
        return
    url = argument("--clickhouse")
    place, at = "clickhouse+" + url + "/brick_bench", url + "/?database=brick_bench"
    post(url, "CREATE DATABASE IF NOT EXISTS brick_bench")
    subprocess.run([BRICK, "history", "list"], check=True, stdout=subprocess.DEVNULL, env={**os.environ, "BRICK_DB": place})  # makes the tables
    if post(at, "SELECT count() FROM labels").strip() == "0":
        post(url, "DROP DATABASE brick_bench")
        post(url, "CREATE DATABASE brick_bench")
        subprocess.run([BRICK, "history", "list"], check=True, stdout=subprocess.DEVNULL, env={**os.environ, "BRICK_DB": place})
        fill_clickhouse(url)
    print(f"ClickHouse {post(url, 'SELECT version()').strip()}, {post(at, 'SELECT count() FROM runs').strip()} runs, "
          f"{post(at, 'SELECT count() FROM parts').strip()} parts, {REPEAT} times each")
    ask_all(place)
    hosts = json.loads(subprocess.run([BRICK, "history", "hosts", "--json"], check=True, stdout=subprocess.PIPE,
                                      env={**os.environ, "BRICK_DB": place}).stdout)["hosts"]
    print(f"slowest of {len(hosts)} hosts: {hosts[0]['name']} by {100 * hosts[0]['effect']:.1f} %, in {hosts[0]['brick']}")


main()
