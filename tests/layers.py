#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The arrows of the house: which room may include from which, as the table in docs/ARCHITECTURE.md
says ("Rooms and arrows"). Fails on an #include that the table does not allow, on a table whose rooms
use rooms above them, on a circle of files (a source and its header are one file here), on a run in
memory that reaches the writer or layouts of shared memory, on code that asks for the OS or the CPU
outside of lib/sys/, on a name that two sources outside of tests have, and on folders at the top that
are not in the table of places.

  tests/layers.py [TREE]     checks the tree (default: the one that this file is in)
"""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<(brick/[^>]+)>)', re.M)
MODEL = "src/trace/run.h"  # all analysis stands on it
NOT_OF_THE_MODEL = ("src/lib/", "include/brick/abi/")  # the writer, and layouts of shared memory
TOP = ("include", "src", "bindings", "examples", "tests", "bench", "docs", "packaging", "cmake")
SYSTEM = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b.*\b(?:__x86_64__|__i386__|__aarch64__|"
                    r"__arm__|__linux__|__APPLE__|__MACH__|_WIN32|__FreeBSD__)", re.M)


def sources(tree, endings=(".c", ".h")):
    """All files with these endings that are in the repository or on their way into it, as paths from the root."""
    try:
        listed = subprocess.run(["git", "-C", tree, "ls-files", "-co", "--exclude-standard"],
                                capture_output=True, text=True, check=True).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):
        listed = []
    if not any(listed):  # no checkout: all there is
        listed = [os.path.relpath(os.path.join(at, name), tree) for at, _, names in os.walk(tree) for name in names]
    return sorted(f for f in set(listed) if f.endswith(endings) and os.path.isfile(os.path.join(tree, f)))


def table(tree):
    """Rooms from the top down, each with the rooms that it may use. A folder of rooms stands for all of them."""
    rooms, inside = {}, False
    with open(os.path.join(tree, "docs/ARCHITECTURE.md"), encoding="utf-8") as text:
        for line in text:
            if line.startswith("#"):
                inside = line.strip("# \n") == "Rooms and arrows"
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if inside and line.startswith("| `"):
                rooms[cells[0].strip("`/")] = [r.strip("`/") for r in re.findall(r"`[^`]+`", cells[1])]
    return {room: [other for use in uses
                   for other in ([use] if use in rooms else [r for r in rooms if r.startswith(use + "/")] or [use])]
            for room, uses in rooms.items()}


def unit(path):
    """A source and its header are one."""
    return os.path.splitext(path)[0]


def twins(files):
    """Sources of one name. Public headers are named with their folder, as <brick/abi/session.h>."""
    places = {}
    for path in files:
        if not path.startswith(("tests/", "bench/", "include/")):
            places.setdefault(os.path.basename(path), []).append(path)
    return [f"{' and '.join(paths)} have one name" for paths in places.values() if len(paths) > 1]


def strangers(tree):
    """Folders at the top that are none of TOP."""
    names = {path.split("/")[0] for path in sources(tree, "") if "/" in path}
    return [f"{name}/ is a folder at the top, which has {', '.join(TOP)}"
            for name in sorted(names) if name not in TOP and not name.startswith(".")]


def room_of(path, rooms):
    """The longest room that the path lies in; None: no room (tests, examples, demo, bench)."""
    at = os.path.dirname(path[4:] if path.startswith("src/") else path)
    while at and at not in rooms:
        at = os.path.dirname(at)
    return at or None


def included(tree, path, known):
    """(line, file) of what a file includes of this tree."""
    with open(os.path.join(tree, path), encoding="utf-8") as text:
        source = text.read()
    for match in INCLUDE.finditer(source):
        name = match.group(1) or match.group(2)
        for place in ("src/" + name, "include/" + name, os.path.join(os.path.dirname(path), name)):
            place = os.path.normpath(place)
            if place in known:
                yield source.count("\n", 0, match.start()) + 1, place
                break


def reached(tree, path, known):
    """All files of this tree that a file includes, by itself or by others."""
    found, left = set(), [path]
    while left:
        for _, target in included(tree, left.pop(), known):
            if target not in found:
                found.add(target)
                left.append(target)
    return found


def circles(arrows):
    """Strongly connected parts of more than one node (Tarjan), each sorted."""
    index, low, stack, on, found = {}, {}, [], set(), []

    def visit(start):
        work = [(start, iter(sorted(arrows.get(start, ()))))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on.add(start)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on.add(other)
                    work.append((other, iter(sorted(arrows.get(other, ())))))
                    break
                if other in on:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = []
                    while not part or part[-1] != node:
                        part.append(stack.pop())
                        on.discard(part[-1])
                    if len(part) > 1:
                        found.append(sorted(part))

    for node in sorted(arrows):
        if node not in index:
            visit(node)
    return found


def check(tree):
    """Everything that is wrong, a sentence each."""
    wrong = []
    rooms = table(tree)
    if not rooms:
        return ["docs/ARCHITECTURE.md: no table under \"Rooms and arrows\""]
    order = list(rooms)
    for room, uses in rooms.items():
        for other in uses:
            if other not in rooms:
                wrong.append(f"docs/ARCHITECTURE.md: {room} uses {other}, which is no room")
            elif order.index(other) <= order.index(room):
                wrong.append(f"docs/ARCHITECTURE.md: {room} uses {other}, which does not stand below it")
    files = sources(tree)
    known = set(files)
    arrows = {}
    for path in files:
        room = room_of(path, rooms)
        if not room:
            continue
        for line, target in included(tree, path, known):
            other = room_of(target, rooms)
            if other != room and other not in rooms[room]:
                wrong.append(f"{path}:{line}: {room} may not include from {other or 'no room'} ({target})")
            one, two = unit(path), unit(target)
            if one != two:
                arrows.setdefault(one, set()).add(two)
        if room != "lib/sys":
            with open(os.path.join(tree, path), encoding="utf-8") as text:
                source = text.read()
            for match in SYSTEM.finditer(source):
                line = source.count("\n", 0, match.start()) + 1
                wrong.append(f"{path}:{line}: asks for the OS or the CPU outside of lib/sys/")
    if MODEL in known:
        wrong += [f"{MODEL} reaches {path}" for path in sorted(reached(tree, MODEL, known))
                  if path.startswith(NOT_OF_THE_MODEL)]
    wrong += twins(files) + strangers(tree)
    wrong += [f"a circle of {len(part)} files: {', '.join(part)}" for part in circles(arrows)]
    return wrong


if __name__ == "__main__":
    problems = check(sys.argv[1] if len(sys.argv) > 1 else HERE)
    for problem in problems:
        print(f"layers: {problem}")
    sys.exit(1 if problems else 0)
