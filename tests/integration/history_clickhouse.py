# SPDX-License-Identifier: Apache-2.0
"""
A history in Debian's ClickHouse server, started and stopped here, on loopback: all questions are answered as SQLite
answers them; what waits for a server that is not there is sent later; a server that is killed in the middle of pushes
and started again has every run once. Skipped where there is no server.
"""
import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

from libcli import BRICK, BUILD, TMP, brick, environment, expect, expect_true

SERVER = shutil.which("clickhouse-server") or shutil.which("clickhouse-server", path="/usr/sbin:/usr/bin")
PROGRAM = os.path.join(BUILD, "bin", "program-compare_recording")
FOLDER = os.path.join(TMP, "server")
SIDE = 4

CONFIG = """<?xml version="1.0"?><yandex>
<logger><level>warning</level><log>{0}/log</log><errorlog>{0}/errors</errorlog></logger>
<http_port>{1}</http_port><tcp_port>{2}</tcp_port><interserver_http_port>{3}</interserver_http_port>
<listen_host>127.0.0.1</listen_host><path>{0}/data/</path><tmp_path>{0}/tmp/</tmp_path>
<user_files_path>{0}/files/</user_files_path><format_schema_path>{0}/formats/</format_schema_path>
<users_config>users.xml</users_config><default_profile>default</default_profile>
<default_database>default</default_database><mark_cache_size>67108864</mark_cache_size></yandex>
"""
USERS = """<?xml version="1.0"?><yandex><profiles><default><max_memory_usage>2000000000</max_memory_usage></default>
</profiles><users><brick><password>secret</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
<quota>default</quota></brick></users><quotas><default></default></quotas></yandex>
"""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


PORTS = free_ports(3)
URL = f"http://127.0.0.1:{PORTS[0]}"
SECRET = os.path.join(TMP, "secret")
PLACE = {"BRICK_DB": f"clickhouse+{URL}/brick", "XDG_DATA_HOME": os.path.join(TMP, "data"), "BRICK_DB_USER": "brick",
         "BRICK_DB_PASSWORD_FILE": SECRET}


def sql(query):
    request = urllib.request.Request(URL + "/?user=brick&password=secret", data=query.encode())
    with urllib.request.urlopen(request, timeout=60) as reply:
        return reply.read().decode()


class Server:
    process = None

    def start(self):
        self.process = subprocess.Popen([SERVER, f"--config-file={FOLDER}/config.xml"], cwd=FOLDER,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            try:
                if sql("SELECT 1") == "1\n":
                    return
            except OSError:
                time.sleep(0.1)
            if self.process.poll() is not None:
                break
        print("the server does not start here")
        sys.exit(77)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()


def prepare(server):
    os.makedirs(FOLDER)
    with open(os.path.join(FOLDER, "config.xml"), "w", encoding="utf-8") as file:
        file.write(CONFIG.format(FOLDER, *PORTS))
    with open(os.path.join(FOLDER, "users.xml"), "w", encoding="utf-8") as file:
        file.write(USERS)
    with open(SECRET, "w", encoding="utf-8") as file:
        file.write("secret\n")
    atexit.register(server.kill)
    server.start()
    sql("CREATE DATABASE brick")


def ask(*args, code=0, **changes):
    return brick(*args, code=code, **{**PLACE, **changes})


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
    for args in (("history", "list"), ("history", "list", "--label", "slow"), ("history", "list", "--host", "nobody"),
                 ("history", "show", "@last"), ("history", "show", "@3"), ("history", "plot", "--brick", "DownProjection"),
                 ("history", "plot", "--phase", "prefill"), ("history", "hosts"),
                 ("history", "hosts", "--label", "slow", "--phase", "prefill")):
        real, twin = answers(*args)
        for answer in (real, twin):
            for run in answer.get("runs", []):
                run.pop("labels", None) if args[1] == "plot" else run["labels"].sort()
            for part in answer.get("parts", []):
                part["ns_per_token"] = part["ns_per_token"] and round(part["ns_per_token"], 3)
            answer.get("parts", []).sort(key=str)
        expect(" ".join(args), real, twin)
    done = subprocess.run([BRICK, "diff", "--json", "@main", "@slow"], env=environment(**PLACE), capture_output=True,
                          check=False, timeout=120)
    real, twin = answers("diff", "@main", "@slow", code=done.returncode)
    expect("diff", real["phases"], twin["phases"])
    ask("history", "label", "@1", "new")
    expect("labelled", len(answers("history", "list", "--label", "new")[0]["runs"]), 1)
    ask("history", "label", "--remove", "@1", "new")
    expect("not any more", len(answers("history", "list", "--label", "new")[0]["runs"]), 0)


def check_sums():
    parts = sql("SELECT sum(count), sum(typical_ns), count() FROM brick.parts")
    for table in ("hours", "days"):
        expect(table, sql(f"SELECT sum(count), sum(typical_ns), sum(runs) FROM brick.{table}"), parts)


def write_tests(name, count):
    """Of llama-bench: as many runs."""
    path = os.path.join(TMP, name)
    with open(path, "w", encoding="utf-8") as file:
        for i in range(count):
            file.write(json.dumps({"build_commit": name, "model_filename": "m.gguf", "n_prompt": 0, "n_gen": 128,
                                   "test_time": "2025-04-24T11:57:09Z", "avg_ns": 1000000000 + i}) + "\n")
    return path


def spooled():
    folder = os.path.join(PLACE["XDG_DATA_HOME"], "brick", "spool")
    return [name for _, _, names in os.walk(folder) for name in names if name.endswith(".run")]


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
        process.wait(timeout=120)
        server.start()
        ask("history", "push")
        expect("nothing waits", spooled(), [])
        expect("nothing lost, nothing twice", counts(f"commit{round_}"), f"{count}\t{count}\n" * 2)
        ask("history", "import", path)
        expect("the same again", counts(f"commit{round_}"), f"{count}\t{count}\n" * 2)


def check_half_sent():
    """A batch of which the server has a part only: what is missing is sent, no more."""
    path = write_tests("half", 40)
    ask("history", "import", path)
    ids = sql("SELECT id FROM brick.runs WHERE engine LIKE 'llama.cpp half %' ORDER BY id").split()
    # as if the client had died: runs back in the spool, noted as sent, and of half of them the server has no row
    sql("ALTER TABLE brick.runs DELETE WHERE id IN (" + ", ".join(f"'{i}'" for i in ids[:20]) + ")")
    sql("ALTER TABLE brick.parts DELETE WHERE id IN (" + ", ".join(f"'{i}'" for i in ids[:10]) + ")")
    deadline = time.monotonic() + 60
    while counts("half") != "20\t20\n30\t30\n" and time.monotonic() < deadline:
        time.sleep(0.1)
    base = os.path.join(PLACE["XDG_DATA_HOME"], "brick", "spool")
    with open(os.path.join(base, os.listdir(base)[0], "sending"), "w", encoding="utf-8") as file:
        file.write("".join(i + "\n" for i in ids))
    ask("history", "import", path)
    expect("nothing lost, nothing twice", counts("half"), "40\t40\n" * 2)


def check_refusals():
    ask("history", "list", code=4, BRICK_DB_PASSWORD_FILE=None)
    ask("history", "list", code=4, BRICK_DB=PLACE["BRICK_DB"].replace("http://", "http://user:word@"))
    ask("history", "list", code=4, BRICK_DB=f"clickhouse+{URL}/no-name")
    ask("history", "list", code=4, BRICK_DB=f"clickhouse+{URL}/nowhere")


def main():
    if not SERVER:
        print("no clickhouse-server; apt-get install clickhouse-server")
        sys.exit(77)
    server = Server()
    prepare(server)
    check_questions()
    check_sums()
    check_away(server)
    check_killed(server)
    check_half_sent()
    check_refusals()


main()
