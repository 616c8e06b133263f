# SPDX-License-Identifier: Apache-2.0
"""How long questions about a fleet take: 1000 hosts, 24 hours of windows of `--minutes` (1), 30 bricks.

A server of your own makes them in a database brick_fleet_bench and keeps them for the next time. SQLite has `--hosts` (1000) of
the same hosts, in windows of `--sqlite-minutes` (10): its file would take 10 GB with windows of a minute. `brick` asks each question
five times; the bench prints wall time (fastest, median, slowest), the command's CPU time, and the server's if --server-pid names it:
on a busy machine only CPU time says how long a question takes.
`bench/fleet.py [--clickhouse URL [--server-pid PID]] [--minutes N] [--hosts N] [--sqlite-minutes N]`
"""
import json
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

BRICK = os.environ.get("BRICK_BUILD", "build") + "/bin/brick"
HOSTS, HOURS, BRICKS, REPEAT, SLOW = 1000, 24, 30, 5, 77
QUESTIONS = (("hosts",), ("hosts", "--hours", "1"), ("bricks",), ("bricks", "--phase", "decode"), ("since", "ggml 2"), ("exemplars",))


def argument(name, default=None):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def post(url, query):
    with urllib.request.urlopen(url, data=query.encode(), timeout=3600) as reply:
        return reply.read().decode()


def cpu_s():
    """CPU time of all commands so far, and of the server."""
    usage, pid = resource.getrusage(resource.RUSAGE_CHILDREN), argument("--server-pid")
    spent = [usage.ru_utime + usage.ru_stime, 0]
    if pid:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        spent[1] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return spent


def ask_all(place):
    print(f"load average {os.getloadavg()[0]:.0f}, {os.cpu_count()} CPUs\n| | fastest | median | slowest | CPU | server's CPU |")
    for args in QUESTIONS:
        times, before = [], cpu_s()
        for _ in range(REPEAT):
            begin = time.perf_counter()
            done = subprocess.run([BRICK, "fleet", "--json", *args], check=False, capture_output=True, env={**os.environ, "BRICK_DB": place})
            times.append(time.perf_counter() - begin)
            if done.returncode:
                sys.exit(f"{args}: {done.stderr.decode()}")
            if args == ("hosts",):
                first = json.loads(done.stdout)["hosts"][0]
        print(f"| `{' '.join(args)}` | {min(times):.3f} | {statistics.median(times):.3f} | {max(times):.3f} | "
              + " | ".join(f"{(after - b) / REPEAT:.3f}" for after, b in zip(cpu_s(), before)) + " |", flush=True)
    print(f"the slow one: {first['name']}, by {100 * first['effect']:.1f} %, in {first['brick']}")


def fill_clickhouse(url, minutes, begin_s):
    """An hour of all hosts at a time. Two versions of the engine; host 77 is slow in Brick7; each host is one rank."""
    at, per_host = url + "/?database=brick_fleet_bench", 60 // minutes
    for hour in range(HOURS):
        count, first = HOSTS * per_host, hour * HOSTS * per_host
        numbers = f"(SELECT number + {first} AS number FROM system.numbers LIMIT {count})"
        start = (f"toUInt64({(begin_s + hour * 3600) * 10**9} + intDiv(number - {first}, {HOSTS}) * {minutes * 60 * 10**9} "
                 "+ number % 1000 * 1000)")
        who = (f"lower(hex(number + 4294967296 * 4097)) AS id, toDate(toDateTime(intDiv({start}, 1000000000))) AS day, {start} AS start_ns, "
               "'window', concat('host', toString(number % 1000)) AS host")
        engine = "'ggml 1 (a)'" if hour < HOURS / 2 else "'ggml 2 (b)'"
        post(at, "INSERT INTO parts (id, day, start_ns, run_kind, host, engine, workload, rank, phase, kind, name, count, tokens, total_ns, "
             f"typical_tokens, typical_ns, united, buckets, bucket_counts) SELECT {who}, {engine}, 'engine, model', toInt32(number % 1000), "
             "'decode', if(b = 0, 'step', 'brick'), if(b = 0, '', concat('Brick', toString(b))), 1000, 1000, "
             "if(b = 0, 30, 1) * toUInt64(1000000000), 500, if(b = 0, 30, 1) * (500000000 + (number * 7919 + b * 31) % 10000000) + "
             f"(number % 1000 = {SLOW} AND (b = 0 OR b = 7)) * 300000000, 1, arrayMap(x -> toUInt16(160 + x + if(b = 0, 60, 0)), range(24)), "
             f"arrayMap(x -> toUInt64(10 + (number + x) % 60), range(24)) FROM {numbers} ARRAY JOIN range({BRICKS + 1}) AS b")
        post(at, "INSERT INTO runs (id, day, start_ns, kind, host, cpu, engine, version, workload, rank, batch, fact_keys, fact_values) SELECT "
             f"{who}, 'cpu', {engine}, '0.2.0', 'engine, model', toInt32(number % 1000), 'job', ['slowest decode'], "
             f"[concat(toString(1000000 + (number * 104729) % 40000000), ' ns, step 5')] FROM {numbers}")
        print(f"{hour + 1} hours", file=sys.stderr, flush=True)
    post(at, "OPTIMIZE TABLE fleet FINAL")  # as the server does by itself


def fill_sqlite(path, minutes, hosts, begin_s):
    """The tables are those that the program makes; it makes their sums, as for a history of an older Brick."""
    lines = path + ".jsonl"
    with open(lines, "w", encoding="utf-8") as file:
        file.write(json.dumps({"n_prompt": 1, "avg_ns": 5, "test_time": "2020-01-01T00:00:00Z"}) + "\n")
    place = {**os.environ, "BRICK_DB": path}
    subprocess.run([BRICK, "history", "import", lines], check=True, stdout=subprocess.DEVNULL, env=place)
    db, windows = sqlite3.connect(path), HOURS * 60 // minutes
    db.executescript("DROP TABLE fleet; DROP TABLE members; DROP INDEX facts_slowest; PRAGMA user_version = 4; PRAGMA synchronous = OFF; PRAGMA cache_size = -400000;"
                     "CREATE TEMP TABLE texts(variant INTEGER PRIMARY KEY, step TEXT, brick TEXT)")
    db.executemany("INSERT INTO texts VALUES (?, ?, ?)",
                   [(v, *[" ".join(f"{x + at}:{10 + (v + x) % 60}" for x in range(24)) for at in (220, 160)]) for v in range(60)])
    db.execute(f"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {windows * hosts - 1}) "
               "INSERT INTO runs(number, id, kind, host, cpu, engine, version, command, path, start_ns, wall_ns, ttft_ns, exit_code, value, "
               f"workload, rank) SELECT i + 10, printf('%016x', i + 10), 'window', 'host' || ({SLOW} + i % {hosts}), 'cpu', "
               f"CASE WHEN i / {hosts} < {windows // 2} THEN 'ggml 1 (a)' ELSE 'ggml 2 (b)' END, '0.2.0', '', '', "
               f"({begin_s} + i / {hosts} * {minutes * 60}) * 1000000000 + i % {hosts}, 1, 0, 0, 0, 'engine, model', i % {hosts} FROM n")
    db.execute("INSERT INTO facts SELECT number, 'slowest decode', (1000000 + number * 104729 % 40000000) || ' ns, step 5' FROM runs "
               "WHERE kind = 'window'")
    for b in range(BRICKS + 1):
        name, factor = f"Brick{b}" if b else "", 1 if b else 30
        db.execute("INSERT INTO series VALUES (?, 'decode', ?, ?)", (100 + b, "brick" if b else "step", name))
        db.execute(f"INSERT INTO parts SELECT {100 + b}, number, 1000, 1000, {factor} * 1000000000, 500, {factor} * (500000000 + number * 7919 "
                   f"% 10000000) + (rank = 0 AND {b} IN (0, 7)) * 300000000, 1, {'brick' if b else 'step'} FROM runs JOIN texts "
                   "ON variant = number % 60 WHERE kind = 'window' ORDER BY number")
    db.commit()
    db.close()
    begin = time.perf_counter()
    subprocess.run([BRICK, "history", "list", "--limit", "1"], check=True, stdout=subprocess.DEVNULL, env=place)
    print(f"sums of {windows * hosts} windows: {time.perf_counter() - begin:.0f} s")


def main():
    minutes, hosts, begin_s = int(argument("--minutes", 1)), int(argument("--hosts", HOSTS)), int(time.time()) // 3600 * 3600 - 23 * 3600
    with tempfile.TemporaryDirectory(prefix="brick-fleet-") as folder:
        path, each = os.path.join(folder, "fleet.db"), int(argument("--sqlite-minutes", 10))
        fill_sqlite(path, each, hosts, begin_s)
        print(f"SQLite {sqlite3.sqlite_version}, {hosts} hosts, windows of {each} min, {os.path.getsize(path) >> 20} MB, {REPEAT} times each")
        ask_all(path)
    url = argument("--clickhouse")
    if not url:
        return
    place, at = "clickhouse+" + url + "/brick_fleet_bench", url + "/?database=brick_fleet_bench"
    post(url, "CREATE DATABASE IF NOT EXISTS brick_fleet_bench")
    for _ in range(2):  # the program makes the tables
        subprocess.run([BRICK, "history", "list"], check=True, stdout=subprocess.DEVNULL, env={**os.environ, "BRICK_DB": place})
        if post(at, f"SELECT max(start_ns) > {begin_s * 10**9} FROM runs").strip() == "1":
            break
        post(url, "DROP DATABASE brick_fleet_bench")
        post(url, "CREATE DATABASE brick_fleet_bench")
        subprocess.run([BRICK, "history", "list"], check=True, stdout=subprocess.DEVNULL, env={**os.environ, "BRICK_DB": place})
        fill_clickhouse(url, minutes, begin_s)
    count = {table: post(at, f"SELECT count() FROM {table}").strip() for table in ("runs", "parts", "fleet")}
    print(f"ClickHouse {post(url, 'SELECT version()').strip()}, {HOSTS} hosts, {HOURS} h: {count['runs']} windows, {count['parts']} parts, "
          f"{count['fleet']} rows of sums, {REPEAT} times each")
    ask_all(place)


main()
