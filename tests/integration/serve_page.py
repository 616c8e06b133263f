# SPDX-License-Identifier: Apache-2.0
"""
The page of `brick serve` in a headless Chromium (tests/html/live.mjs): it follows a recording that
grows, keeps what its reader chose, holds still, and says when it has lost its server.
"""
import os
import shutil
import subprocess
import sys

from libcli import TMP
from libhtml import DEMO, MODULES, need_browser
from libserve import Server, need_server

TOKEN = "correct-horse-battery-staple"


def main():
    chromium = need_browser()
    path = os.path.join(TMP, "demo.pftrace")
    subprocess.run([DEMO, path, "100000"], check=True, timeout=600)
    need_server(path)
    with open(path, "rb") as file:
        whole = file.read()
    growing = os.path.join(TMP, "growing.pftrace")
    with open(growing + ".part", "wb") as file:
        file.write(whole[:len(whole) // 2])
    with open(os.path.join(TMP, "rest"), "wb") as file:
        file.write(whole[len(whole) // 2:])
    server = Server(growing, "--token", TOKEN)
    script = os.path.join(os.environ["BRICK_SOURCE"], "tests", "html", "live.mjs")
    done = subprocess.run([shutil.which("node"), script, MODULES, chromium,
                           f"http://127.0.0.1:{server.port}/?token={TOKEN}", growing,
                           os.path.join(TMP, "rest"), str(server.process.pid)], timeout=600,
                          capture_output=True, text=True)
    server.process.terminate()
    server.process.wait(timeout=600)
    if done.returncode:
        sys.exit(done.stdout + done.stderr[-4000:])


main()
