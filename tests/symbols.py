#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the libraries export. Each map names every symbol, by version, without wildcards; the library
exports just these; and what was released stays: the list next to the map (NAME.symbols, a line
"symbol@VERSION function" or "symbol@VERSION data BYTES") only grows. Symbols of BRICK_PRIVATE are
Brick's own and in no list.

  tests/symbols.py           checks the libraries of $BRICK_BUILD (default: build)
  tests/symbols.py --write   adds to the lists what is new; it takes nothing away
"""

import os
import re
import subprocess
import sys

SOURCE = os.environ.get("BRICK_SOURCE") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("BRICK_BUILD") or os.path.join(SOURCE, "build")
LIBRARIES = [("libbrick.so", "src/lib/brick"), ("libbrick-graph.so", "src/lib/graph/graph"),
             ("libbrick-report.so", "src/ui/results/results")]
PRIVATE = "BRICK_PRIVATE"


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return re.sub(r"#.*", "", file.read())


def mapped(path):
    """The map's symbols, each as "symbol@VERSION"."""
    found = []
    for version, body in re.findall(r"(\w+)\s*\{(.*?)\}", read(path), re.S):
        exported = re.search(r"global:(.*?)(?:local:|$)", body, re.S)
        found += [f"{name}@{version}" for name in re.findall(r"[^\s;]+", exported.group(1))]
    return found


def exported(library):
    """What the library exports, as symbol@VERSION: what it is."""
    out = subprocess.run(["nm", "-D", "-S", "--defined-only", os.path.join(BUILD, "lib", library)],
                         capture_output=True, text=True, check=True).stdout
    found = {}
    for line in out.splitlines():
        words = line.split()
        kind, name = words[-2], words[-1].replace("@@", "@")
        if kind != "A":  # the names of the versions
            found[name] = "function" if kind in "TW" else f"data {int(words[1], 16)}"
    return found


def released(path):
    return dict(line.split(" ", 1) for line in read(path).split("\n") if line.strip())


def public(symbols):
    return {name for name in symbols if not name.endswith("@" + PRIVATE)}


def check(library, base):
    """Everything that is wrong, a line each."""
    names, there, kept = mapped(base + ".map"), exported(library), released(base + ".symbols")
    wrong = [f"{base}.map: {name} is a wildcard" for name in names if "*" in name]
    wrong += [f"{base}.map: {name} stands there twice" for name in set(names) if names.count(name) > 1]
    wrong += [f"{base}.map has {name}, {library} has not" for name in set(names) - set(there)]
    wrong += [f"{library} exports {name}, {base}.map has not" for name in set(there) - set(names)]
    wrong += [f"{name} was released ({base}.symbols) and is gone" for name in set(kept) - set(there)]
    wrong += [f"{name} was {kept[name]} ({base}.symbols) and is {there[name]}"
              for name in set(kept) & set(there) if kept[name] != there[name]]
    wrong += [f"{name} is new: {base}.symbols needs it (tests/symbols.py --write)"
              for name in public(there) - set(kept)]
    return sorted(wrong)


def write(library, base):
    there, kept = exported(library), released(base + ".symbols")
    kept.update({name: there[name] for name in public(there) if name not in kept})
    with open(os.path.join(SOURCE, base + ".symbols"), "w", encoding="utf-8") as file:
        file.write(f"# What {library} exports since its version. Lines are added and never taken away.\n")
        file.writelines(f"{name} {kept[name]}\n" for name in sorted(kept))


def main():
    if sys.argv[1:] == ["--write"]:
        for library, base in LIBRARIES:
            write(library, base)
    wrong = [line for library, base in LIBRARIES for line in check(library, base)]
    print("\n".join(wrong) or "symbols: as listed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
