# SPDX-License-Identifier: Apache-2.0
"""
The page in a headless Chromium, used as a reader would (tests/html/page.mjs): every element, the
keyboard, light and dark, paper, a small screen, hostile names, a long run; and silence on the
console.
"""
import json
import os
import shutil
import subprocess
import sys

from libcli import TMP, brick, expect, recording
from libhtml import DEMO, DEVICE, MODULES, need_browser, page_of

HOSTILE = "</script><img src=x onerror=hacked=1>\u2028'\""


def make(recording_path, name):
    brick("report", recording_path, "--html", os.path.join(TMP, name))


def keep(name, *args):
    with open(os.path.join(TMP, name), "wb") as file:
        file.write(brick(*args)[0])


def main():
    chromium = need_browser()
    path = recording()
    make(path, "run.html")
    with open(os.path.join(TMP, "data.json"), "w") as file:
        json.dump(page_of(os.path.join(TMP, "run.html"))[0], file)
    keep("run.json", "report", "--json", path)
    for phase in ("prefill", "decode"):
        keep(f"{phase}.json", "report", "--json", "--phase", phase, path)
    keep("layers.json", "report", "--json", "--by", "layer", path)
    keep("path.json", "path", "--json", path)
    keep("folded.txt", "flame", "--format", "folded", path)
    keep("explain.json", "explain", "--json", path)
    with open(os.path.join(TMP, "screen.txt"), "wb") as file:
        file.write(brick("report", path, COLUMNS="10000")[0])
    device = os.path.join(TMP, "device.pftrace")
    with open(os.path.join(TMP, "device.txt"), "w") as file:
        subprocess.run([DEVICE, device, "20"], check=True, timeout=600, stdout=file)
    make(device, "device.html")
    keep("kernels.json", "report", "--json", "--by", "kernel", device)
    keep("kernels-decode.json", "report", "--json", "--by", "kernel", "--phase", "decode", device)
    hostile = recording("hostile.pftrace", HOSTILE)
    make(hostile, "hostile.html")
    keep("hostile.json", "report", "--json", hostile)
    subprocess.run([DEMO, os.path.join(TMP, "long.pftrace"), "1000000", "32"], check=True,
                   timeout=600)
    make(os.path.join(TMP, "long.pftrace"), "long.html")
    script = os.path.join(os.environ["BRICK_SOURCE"], "tests", "html", "page.mjs")
    done = subprocess.run([shutil.which("node"), script, MODULES, chromium, TMP], timeout=600,
                          capture_output=True, text=True)
    sys.stdout.write(done.stdout)
    if done.returncode:
        sys.exit(done.stderr[-4000:])
    expect("no complaints of its driver", done.stderr, "")


main()
