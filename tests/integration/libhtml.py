# SPDX-License-Identifier: Apache-2.0
"""What tests of the page share: making it, taking its numbers out, and skipping without it."""
import html.parser
import json
import os
import shutil
import subprocess
import sys

from libcli import BRICK, BUILD, RECORDER, TMP, environment, fail

DEMO = os.path.join(BUILD, "bin", "program-demo_recording")
DEVICE = os.path.join(BUILD, "bin", "program-device_recording")
MODULES = os.path.join(BUILD, "html", "node_modules")


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def need_page():
    """Whether this build has the page; if not, it must say so, and the test is skipped."""
    path = os.path.join(TMP, "probe.pftrace")
    subprocess.run([RECORDER, path], check=True, timeout=600)
    done = subprocess.run([BRICK, "report", path, "--html", path + ".html"], capture_output=True,
                          env=environment(), timeout=600)
    if done.returncode == 4 and b"npm" in done.stderr:
        if os.path.exists(path + ".html"):
            fail("a build without the page wrote something")
        skip("this build has no page: " + done.stderr.decode().strip())
    if done.returncode:
        fail(f"report --html: {done.stderr!r}")


def need_browser():
    """Path of a Chromium, with the module that drives it."""
    need_page()
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            break
    else:
        skip("no chromium; apt-get install chromium")
    if not os.path.isdir(os.path.join(MODULES, "playwright-core")):
        skip("npm did not fetch playwright-core")
    return shutil.which(name)


class Scripts(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=False)
        self.inside, self.scripts, self.tags = None, [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append([dict(attrs), ""])
            self.inside = self.scripts[-1]

    def handle_endtag(self, tag):
        if tag == "script":
            self.inside = None

    def handle_data(self, data):
        if self.inside:
            self.inside[1] += data


def page_of(path):
    """(numbers, parser, bytes) of a page, as an HTML parser sees it."""
    with open(path, "rb") as file:
        data = file.read()
    parser = Scripts()
    parser.feed(data.decode("utf-8"))
    numbers = [text for attrs, text in parser.scripts if attrs.get("id") == "data"]
    if len(numbers) != 1:
        fail(f"{path}: {len(numbers)} scripts with numbers")
    return json.loads(numbers[0]), parser, data
