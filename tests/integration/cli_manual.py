# SPDX-License-Identifier: Apache-2.0
"""Each command has a manual page, which names the options that --help shows and no others; the page of
report lists the columns that the program has."""
import os
import re
import shutil
import subprocess

from libcli import BUILD, brick, expect, expect_true, recording

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


def check(command):
    path = page_of(command)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    expect(f"options of {command}", options_of_page(text), options_of_help(command))
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


def main():
    commands = re.findall(r"^  ([a-z]+)  +\S", brick("--help")[0].decode().split("Options:")[0], re.M)
    expect_true("there are commands", len(commands) > 10)
    for command in commands:
        check(command)
    columns()


main()
