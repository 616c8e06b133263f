#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What objects ask of each other, by nm. Fails on a circle of objects (the table of commands, which names all of them
while some list its rows, is left out), on an object that calls into a room above its own (docs/ARCHITECTURE.md has the
table), on one outside of src/cli/ that ends the process, and on a probe that calls anything but the library: a lock, an
allocation, a system call, a format.

  tests/objects.py [BUILD]     checks a build tree (default: $BRICK_BUILD, or build/)
"""

import os
import re
import subprocess
import sys

import layers

ENDS = {"exit", "_exit", "_Exit", "abort", "quick_exit", "err", "errx", "verr", "verrx"}
# A child between fork() and exec() leaves without the handlers of its parent.
CHILDREN = {"_exit": {"record/keeper.c", "record/live/live_source.c", "record/program.c",
                      "record/runner/turn_launch.c"}}
PROBES = {"lib/probe/probe.c"}
COMPILERS = re.compile(r"_|mem(cpy|move|set)$")  # what a compiler adds
TABLE = "cli/commands.c"
KEPT = {"brick-core", "brick-graph-objects"}  # objects that libraries are made of


def objects(build):
    """Path of each object of src/ -> (its target, the source as seen from src/), without those of sources that are gone."""
    found = {}
    try:
        with open(os.path.join(build, "build.ninja"), encoding="utf-8") as file:
            made = set(re.findall(r"^build (\S+\.o):", file.read(), re.M))
    except OSError:
        made = None  # another generator, or none
    for at, _, names in os.walk(os.path.join(build, "src")):
        if ".dir" not in at:
            continue
        room, _, rest = at.partition("/CMakeFiles/")
        target, _, below = rest.partition(".dir")
        for name in names:
            if name.endswith(".c.o") and (made is None or os.path.relpath(os.path.join(at, name), build) in made):
                source = os.path.normpath(os.path.join(os.path.relpath(room, os.path.join(build, "src")),
                                                       below.strip("/").replace("__", ".."), name[:-2]))
                found[os.path.join(at, name)] = (target, source)
    return found


def symbols(paths):
    """Of each object: what it defines for others, what it asks for."""
    defines, asks, at = {}, {}, None
    for line in subprocess.run(["nm", "-gA", *paths], capture_output=True, text=True, check=True).stdout.splitlines():
        at, _, rest = line.partition(":")
        kind, name = rest.split()[-2:]
        if kind in "Uw":
            asks.setdefault(at, set()).add(name)
        else:
            defines.setdefault(name, []).append(at)
    return defines, asks


def calls_of(found, build, defines, asks):
    """(source, name, source that has it). What is linked into one program alone is in reach of that alone."""
    shared = {target for target, _ in found.values()
              if target in KEPT or os.path.exists(os.path.join(build, "lib", f"lib{target}.a"))}
    for one, names in sorted(asks.items()):
        for name in sorted(names):
            able = [o for o in defines.get(name, ()) if found[o][0] == found[one][0]] or \
                   [o for o in defines.get(name, ()) if found[o][0] in shared]
            for other in {found[o][1] for o in able} - {found[one][1]}:
                if found[one][1] != TABLE:
                    yield found[one][1], name, other


def check(build):
    """Everything that is wrong, a sentence each."""
    found = objects(build)
    if not found:
        return [f"{build}: no objects there"]
    defines, asks = symbols(sorted(found))
    rooms = layers.table(layers.HERE)
    order = {room: at for at, room in enumerate(rooms)}
    arrows, wrong = {}, []
    for one, name, other in calls_of(found, build, defines, asks):
        arrows.setdefault(one, set()).add(other)
        here, there = (layers.room_of("src/" + source, rooms) for source in (one, other))
        if there != here and order.get(there, len(order)) <= order.get(here, -1):
            wrong.append(f"src/{one} calls {name}() of src/{other}, whose room stands above")
    wrong += [f"a circle of {len(part)} objects: {', '.join(part)}" for part in layers.circles(arrows)]
    for path, (_, source) in sorted(found.items()):
        for name in sorted(ENDS & asks.get(path, set())):
            if not source.startswith("cli/") and source not in CHILDREN.get(name, ()):
                wrong.append(f"src/{source} calls {name}(), which only src/cli/ may")
        for name in sorted(asks.get(path, ())) if source in PROBES else ():
            if not name.startswith("brick_") and not COMPILERS.match(name):
                wrong.append(f"src/{source}, which every brick runs, calls {name}()")
    return wrong


if __name__ == "__main__":
    problems = check(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("BRICK_BUILD", "build"))
    for problem in problems:
        print(f"objects: {problem}")
    sys.exit(1 if problems else 0)
