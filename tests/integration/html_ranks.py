# SPDX-License-Identifier: Apache-2.0
"""The page of a job: `brick report --html` of a directory has the sentences, the rows and the critical path of its text and
JSON, and a recording that holds several ranks has the same section (tests/html/ranks.mjs)."""
import json
import os
import shutil
import subprocess
import sys

from libcli import *
from libhtml import MODULES, need_browser, page_of

JOB = os.path.join(BUILD, "bin", "program-ranks_recording")


def job(name, ranks, steps, seed, **settings):
    directory = os.path.join(TMP, name)
    subprocess.run([JOB, directory, str(ranks), str(steps), str(seed), *(f"{k}={v}" for k, v in settings.items())],
                   check=True, stdout=subprocess.DEVNULL)
    return directory


def write(name, value):
    with open(os.path.join(TMP, name), "w") as file:
        json.dump(value, file)


chromium = need_browser()
for name, directory in (("slow", job("slow.d", 4, 200, 1, slow=1)), 
                        ("messages", job("messages.d", 4, 200, 10, messages=1, slow=2)), ("many", job("many.d", 200, 40, 12, slow=9, percent=20))):
    brick("report", directory, "--html", os.path.join(TMP, name + ".html"))
    page, found = page_of(os.path.join(TMP, name + ".html"))[0], brick_json("report", "--json", directory)
    expect(f"{name}: schema", page["schema"], "brick/ranks-page/1")
    expect(f"{name}: the numbers of --json", page["ranks"], found)
    text = brick("report", directory, COLUMNS="10000")[0].decode().splitlines()
    lines = [" ".join((line["label"] + " " + line["text"]).split()) for line in page["head"]]
    expect(f"{name}: the sentences of the text", lines, [" ".join(line.split()) for line in text[:len(lines)]])
    write(name + ".json", found)
    write(name + ".labels.json", [line["label"] for line in page["head"][1:]])

# all ranks in one recording, whose rows the report has, too
one = os.path.join(TMP, "one.pftrace")
subprocess.run([os.path.join(BUILD, "bin", "program-ranks_recording"), one, "3", "60", "5", "slow=2", "together=1"], check=True, stdout=subprocess.DEVNULL)
brick("report", one, "--html", os.path.join(TMP, "one.html"))
found = page_of(os.path.join(TMP, "one.html"))[0]["ranks"]
for row, said in zip(found["ranks"], brick_json("report", "--json", one)["ranks"]):
    expect(f"row {said['rank']}", {key: row[key] for key in said}, said)
expect("late", [row["rank"] for row in found["ranks"] if row["is_late"]], [2])
write("one.json", found)

done = subprocess.run([shutil.which("node"), os.path.join(os.environ["BRICK_SOURCE"], "tests", "html", "ranks.mjs"), MODULES, chromium, TMP],
                      timeout=600, capture_output=True, text=True)
if done.returncode:
    sys.exit(done.stderr[-4000:])
expect("no complaints of its driver", done.stderr, "")
