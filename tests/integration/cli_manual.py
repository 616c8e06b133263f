# SPDX-License-Identifier: Apache-2.0
"""Each command has a manual page, which names the options that --help shows and no others; the page of
report lists the columns that the program has. Options that pages and messages name exist."""
import glob
import os
import re
import shutil
import subprocess

from libcli import BRICK, BUILD, TMP, brick, environment, expect, expect_true, recording

SOURCES = os.path.join(os.path.dirname(__file__), "..", "..")


def page_of(command):
    built = os.path.join(BUILD, "man", f"brick-{command}.1")
    path = built if os.path.exists(built) else os.path.join(SOURCES, "docs", "man", f"brick-{command}.1")
    expect_true(f"{command} has a manual page", os.path.exists(path))
    return path


def options_of_help(command):
    text = brick(command, "--help")[0].decode()
    return set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", text, re.M))


def options_of_page(text):
    items = re.findall(r"^\.It Fl (.*)$", text, re.M)
    return {name for item in items for name in re.findall(r"-([a-z][a-z-]+)", item)}


def check_words(command, text):
    """The page has each word that a value may be; it leaves phases to brick(1), and what top records to brick-record(1)."""
    with open(page_of("record"), encoding="utf-8") as file:
        record = file.read()
    with open(os.path.join(SOURCES, "docs", "man", "brick.1"), encoding="utf-8") as file:
        elsewhere = {"phase": file.read(), "mode": record, "attach": record}
    helped = brick(command, "--help")[0].decode()
    for option in re.findall(r"^ +(?:-\w, )?--([a-z-]+)[ =\[]+[A-Z]", helped, re.M):
        done = subprocess.run([BRICK, command, f"--{option}=nonsense"], capture_output=True, text=True, cwd=TMP, env=environment(),
                              stdin=subprocess.DEVNULL, timeout=600)
        words = re.search(rf"^brick: --{option} nonsense: must be ([a-z-]+(?:, [a-z-]+)* or [a-z-]+)$", done.stderr, re.M)
        for word in re.split(", | or ", words[1]) if words else []:
            expect_true(f"brick-{command}.1: --{option} {word}", re.search(rf"(?<![\w-]){word}(?![\w-])", text + elsewhere.get(option, "")))


def check(command):
    path = page_of(command)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    expect(f"options of {command}", options_of_page(text), options_of_help(command))
    check_words(command, text)
    if shutil.which("mandoc"):
        done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", path], capture_output=True, text=True)
        expect(f"{path} is sound", done.stdout, "")


def columns():
    err = brick("report", "--columns", "nonsense", recording(), code=2)[1].decode()
    names = " ".join(err.split()).split("must be one of ")[1].split(", ")
    with open(page_of("report"), encoding="utf-8") as file, open(
            os.path.join(SOURCES, "docs", "man", "brick-report.1"), encoding="utf-8") as kept:
        expect_true("the page in the tree is whole: cp build/man/brick-report.1 docs/man/", file.read() == kept.read())
    with open(page_of("report"), encoding="utf-8") as file:
        listed = re.findall(r"^\.It (.*) Pq [\w.]+$", file.read(), re.M)
    expect("columns", sorted(title.lower() for title in listed), sorted(name.lower() for name in names))


def named(path):
    """Pairs of a command and an option, as in `brick report --by layer`, or in a manual that refers to another one."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if path.endswith(".1"):
        text = re.sub(r"\n?\.?\bFl -", " --", text).replace(".Xr brick-", "brick ").replace(" 1 --", " --")
    text = re.sub(r'"\s*\n\s*"', "", text)  # a message may go on in the next line
    for command, rest in re.findall(r"\bbrick ([a-z]+)((?: (?:--?[a-z][a-z-]*(?:=[^\s`'\"]*)?|[\w./@*{}%]+))+)", text):
        for option in re.findall(r"(?<= --)[a-z][a-z-]+", rest.split(" -- ")[0]):
            yield command, option


def check_named(commands):
    known = {command: options_of_help(command) | {"help"} for command in commands}
    pages = [os.path.join(SOURCES, "README.md")] + glob.glob(os.path.join(SOURCES, "docs", "**", "*.[1m]*"), recursive=True)
    found = 0
    for path in pages + glob.glob(os.path.join(SOURCES, "src", "**", "*.c"), recursive=True):
        for command, option in named(path):
            found += command in known
            expect_true(f"{path}: brick {command} --{option}", option in known.get(command, {option}))
    expect_true(f"{found} options are named", found > 100)


def main():
    commands = re.findall(r"^  ([a-z]+)  +\S", brick("--help")[0].decode().split("Options:")[0], re.M)
    expect_true("there are commands", len(commands) > 10)
    for command in commands:
        check(command)
    columns()
    check_named(commands)


main()
