#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No file in a directory that all may write to has a name that anybody can foretell. No test in Python takes the time,
though it may wait until a time: no test asserts on elapsed time. Lengths of files and functions are
shown, not judged: the longest of each, and medians. Universal Ctags measures functions of C. tests/statics.py counts
static functions.

  tests/measures.py [TREE]     checks the tree (default: the one that this file is in)
"""

import ast
import os
import re
import shutil
import statistics
import subprocess
import sys

import layers

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHOWN = 10
C = (".c", ".h", ".cc")
SOURCES = C + (".py", ".sh", ".js", ".css")
ELAPSED = re.compile(r"\b(?:monotonic|perf_counter|time)(?:_ns)?\(\) - ")
# what a program says of code that it made is perf's own convention
FORETOLD = re.compile(r"/(?:tmp|var/tmp|dev/shm)/(?!\S*X{6}|perf-(?:PID|70|%u|%d)\.map)[\w.%{$-]+")


def text_of(tree, path):
    with open(os.path.join(tree, path), encoding="utf-8") as file:
        return file.read()


def has_ctags():
    """Exuberant Ctags does not say where a function ends."""
    program = shutil.which("ctags")
    return program and "Universal" in subprocess.run([program, "--version"], capture_output=True, text=True).stdout


def functions_of_c(tree, files):
    """(lines, where, name) of each function."""
    # C++ too: its parser takes a macro's arguments for names, and our headers are C.
    answer = subprocess.run(["ctags", "-x", "--kinds-C=f", "--kinds-C++=f", "--map-C=+.h", "--_xformat=%F\t%n\t%e\t%N",
                             "-L", "-"], input="\n".join(f for f in files if f.endswith(C)), cwd=tree,
                            capture_output=True, text=True, check=True).stdout
    for line in answer.splitlines():
        path, begin, end, name = line.split("\t")
        if end.isdigit():
            yield int(end) - int(begin) + 1, f"{path}:{begin}", name


def functions_of_python(tree, files):
    for path in files:
        if not path.endswith(".py"):
            continue
        for node in ast.walk(ast.parse(text_of(tree, path))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.end_lineno - node.lineno + 1, f"{path}:{node.lineno}", node.name


def check(tree):
    """Everything that is wrong, a sentence each."""
    return [f"{path}:{number}: anybody can foretell the name {FORETOLD.search(line)[0]}"
            for path in layers.sources(tree, SOURCES) for number, line in enumerate(text_of(tree, path).split("\n"), 1)
            if FORETOLD.search(line)] + [
        f"{path}:{number}: a test takes the time"
        for path in layers.sources(tree, (".py",)) if path.startswith("tests/")
        for number, line in enumerate(text_of(tree, path).split("\n"), 1) if ELAPSED.search(line)]


def show(what, lengths):
    """The median of (lines, where, name)..., and the longest of them."""
    print(f"{what}: {len(lengths)}, half of them have at most {statistics.median(n for n, _, _ in lengths):g} lines")
    for lines, where, name in sorted(lengths, reverse=True)[:SHOWN]:
        print(f"  {lines:5} {where} {name}")


def report(tree):
    files = [path for path in layers.sources(tree, SOURCES) if not path.startswith("tests/")]
    show("files of C outside of tests", [(text_of(tree, path).count("\n"), path, "") for path in files if path.endswith(C)])
    if has_ctags():
        show("functions of C outside of tests", list(functions_of_c(tree, files)))
    show("functions of Python", list(functions_of_python(tree, files)))


if __name__ == "__main__":
    TREE = sys.argv[1] if len(sys.argv) > 1 else HERE
    problems = check(TREE)
    for problem in problems:
        print(f"measures: {problem}")
    report(TREE)
    sys.exit(1 if problems else 0)
