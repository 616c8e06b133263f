#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Writes the sample output in README.md: what commands print of a recording of the demo's engine, at 100 columns. A comment
`<!-- sample NAME -->` stands before each. Needs `make` and examples/demo/models.sh, and a quiet machine for good numbers.

    docs/samples.py            makes a recording (build/samples/run.pftrace) and writes README.md anew
    docs/samples.py --check    1 if a command's answer has other lines, labels or columns than its sample
"""
import os
import re
import subprocess
import sys

TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("BRICK_BUILD", os.path.join(TREE, "build"))
BRICK = os.path.join(BUILD, "bin", "brick")
README = os.path.join(TREE, "README.md")
ROOM = os.path.join(BUILD, "samples")
COMMAND = ["build/bin/brick-llama", "--libs", "build/demo/engine/libs", "--model", "build/demo/model-f16.gguf", "--threads", "1",
           "--prompt-tokens", "256", "--predict", "64"]
# Name: what is typed, and how many lines of the answer stand in the page.
SAMPLES = {
    "record": (["record", "--no-history", "-o", "run.pftrace", "--", *COMMAND], 4),
    "report": (["report", "--phase", "decode", "--top", "5", "run.pftrace"], 40),
    "explain": (["explain", "--top", "1", "run.pftrace"], 24),
}
MARK = re.compile(r"(<!-- sample (\w+) -->\n```\n)(.*?)(\n```)", re.S)


def ask(arguments):
    os.makedirs(ROOM, exist_ok=True)
    link = os.path.join(ROOM, "build")  # commands are shown as they are typed in the tree
    if not os.path.exists(link):
        os.symlink(BUILD, link)
    done = subprocess.run([BRICK, *arguments], cwd=ROOM, capture_output=True, text=True, check=False,
                          env={**os.environ, "COLUMNS": "100", "LC_ALL": "C.UTF-8", "BRICK_DB": "none"})
    if done.returncode:
        sys.exit(f"brick {' '.join(arguments)}: {done.stderr}")
    return done.stderr if arguments[0] == "record" else done.stdout


def answer(name):
    arguments, most = SAMPLES[name]
    lines = ask(arguments).rstrip("\n").splitlines()
    typed = " ".join(arguments) if name != "record" else "record -- build/bin/brick-llama --model model-f16.gguf ..."
    return "\n".join([f"$ brick {typed}", *lines[:most], *(["..."] if len(lines) > most else [])])


def shape(text):
    """What does not depend on the run: labels, and titles of columns but for that of a machine's ceilings."""
    found = []
    for line in text.splitlines():
        titles = line.replace("OF ROOF", "").split()
        label = re.match(r"(?:\d )?((?:Prefill|Decode|First token|Trust|Next)|  (?:costs|because|try|see)|prefill|decode)\b", line)
        if "SHARE" in titles:
            found.append(titles)
        elif label and label[1].strip() not in ("prefill", "decode"):
            found.append(label[1].strip())
    # trust stands above the figures of a busy machine, and below those of a quiet one
    return sorted((each for i, each in enumerate(found) if each not in found[:i]), key=lambda each: each == "Trust")


def main():
    with open(README, encoding="utf-8") as file:
        page = file.read()
    new = {name: answer(name) for name in SAMPLES}  # the first one makes the recording
    if "--check" in sys.argv[1:]:
        wrong = [f"README.md: {name}: {shape(text)}, and not {shape(new[name])}: run docs/samples.py"
                 for _, name, text, _ in MARK.findall(page) if shape(text) != shape(new[name])]
        sys.exit("\n".join(wrong) or 0)
    page = MARK.sub(lambda found: found[1] + new[found[2]] + found[4], page)
    with open(README, "w", encoding="utf-8") as file:
        file.write(page)


if __name__ == "__main__":
    main()
