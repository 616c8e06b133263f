# SPDX-License-Identifier: Apache-2.0
"""
Debian's ClickHouse server, started and stopped by a test, on loopback. With BRICK_CHDB=FOLDER/node_modules (the package
chdb of npm) it is a ClickHouse of today instead.
"""
import atexit
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

from libcli import TMP, brick, expect_true
from libports import free_port

SERVER = shutil.which("clickhouse-server") or shutil.which("clickhouse-server", path="/usr/sbin:/usr/bin")
CHDB = os.environ.get("BRICK_CHDB")
FOLDER = os.path.join(TMP, "server")

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


PORTS = [free_port() for _ in range(3)]
URL = f"http://127.0.0.1:{PORTS[0]}"
SECRET = os.path.join(TMP, "secret")
PLACE = {"BRICK_DB": f"clickhouse+{URL}/brick", "XDG_DATA_HOME": os.path.join(TMP, "data"), "BRICK_DB_USER": "brick",
         "BRICK_DB_PASSWORD_FILE": SECRET}


def sql(query):
    request = urllib.request.Request(URL + "/?user=brick&password=secret", data=query.encode())
    with urllib.request.urlopen(request, timeout=600) as reply:
        return reply.read().decode()


class Server:
    process = None

    def start(self):
        command = [SERVER, f"--config-file={FOLDER}/config.xml"]
        if CHDB:
            command = ["node", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs", "chdb_server.js"), str(PORTS[0]), FOLDER + "/data"]
        self.process = subprocess.Popen(command, cwd=TMP if CHDB else FOLDER, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={**os.environ, "NODE_PATH": CHDB or ""})
        deadline = time.monotonic() + 600
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
    """Starts the server with an empty database; skips the test where there is none."""
    if not SERVER and not CHDB:
        print("no clickhouse-server; apt-get install clickhouse-server")
        sys.exit(77)
    os.makedirs(FOLDER)
    with open(os.path.join(FOLDER, "config.xml"), "w", encoding="utf-8") as file:
        file.write(CONFIG.format(FOLDER, *PORTS))
    with open(os.path.join(FOLDER, "users.xml"), "w", encoding="utf-8") as file:
        file.write(USERS)
    with open(SECRET, "w", encoding="utf-8") as file:
        file.write("secret\n")
    atexit.register(server.kill)
    server.start()
    sql("CREATE DATABASE IF NOT EXISTS brick")


def ask(*args, code=0, **changes):
    return brick(*args, code=code, **{**PLACE, **changes})


def spooled():
    folder = os.path.join(PLACE["XDG_DATA_HOME"], "brick", "spool")
    return [name for _, _, names in os.walk(folder) for name in names if name.endswith(".run")]


def until(what, is_so):
    deadline = time.monotonic() + 600
    while not is_so():
        expect_true(f"{what}", time.monotonic() < deadline)
        time.sleep(0.1)
