#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The measures of the house: no source has more than 400 lines, no function more than 60, and half of the
functions of C outside of tests have at most 11; no file in a directory that all may write to has a name that
anybody can foretell. Tests are sources too. Functions of C are measured by Universal Ctags; where that is
missing all else is checked and the answer is 77, "skipped".

  tests/measures.py [TREE]     checks the tree (default: the one that this file is in)
"""

import ast
import os
import re
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILE_LINES, FUNCTION_LINES, MEDIAN_LINES = 400, 60, 11
C = (".c", ".h", ".cc")
SOURCES = C + (".py", ".sh", ".js", ".css")
SKIPPED = 77
FORETOLD = re.compile(r"/(?:tmp|var/tmp|dev/shm)/(?!\S*X{6})[\w.%{$-]+")


def sources(tree):
    """All sources that are in the repository or on their way into it, as paths from the root."""
    try:
        listed = subprocess.run(["git", "-C", tree, "ls-files", "-co", "--exclude-standard"],
                                capture_output=True, text=True, check=True).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):
        listed = []
    if not any(listed):  # no checkout: all there is
        listed = [os.path.relpath(os.path.join(at, name), tree) for at, _, names in os.walk(tree) for name in names]
    return sorted(f for f in set(listed) if f.endswith(SOURCES) and os.path.isfile(os.path.join(tree, f)))


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
    """Everything that is wrong, a sentence each; and whether functions of C were measured."""
    files = sources(tree)
    wrong = []
    for path in files:
        lines = text_of(tree, path).split("\n")
        if len(lines) - 1 > FILE_LINES:
            wrong.append(f"{path}: {len(lines) - 1} lines, {FILE_LINES} at most")
        wrong += [f"{path}:{number}: anybody can foretell the name {FORETOLD.search(line)[0]}"
                  for number, line in enumerate(lines, 1) if FORETOLD.search(line)]
    measured = has_ctags()
    of_c = list(functions_of_c(tree, files)) if measured else []
    for lines, where, name in of_c + list(functions_of_python(tree, files)):
        if lines > FUNCTION_LINES:
            wrong.append(f"{where}: {name} has {lines} lines, {FUNCTION_LINES} at most")
    ours = [lines for lines, where, _ in of_c if not where.startswith("tests/")]
    median = statistics.median(ours) if ours else 0
    if median > MEDIAN_LINES:
        wrong.append(f"half of the functions have {median:g} lines or more, {MEDIAN_LINES} at most")
    return wrong, measured


if __name__ == "__main__":
    problems, complete = check(sys.argv[1] if len(sys.argv) > 1 else HERE)
    for problem in problems:
        print(f"measures: {problem}")
    if not complete:
        print("measures: functions of C are not measured, Universal Ctags is missing")
    sys.exit(1 if problems else 0 if complete else SKIPPED)
