#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many lines of C a set of features takes, counted by what is reachable without all others.

usage: feature_lines.py BUILD OLD_LIBRARIES [CUTS]      (docs/measurements/2026-11-22-lines.md)

BUILD was compiled with -O0 -ffunction-sections -fdata-sections: each function and table is a section, and relocations
say who needs whom. Roots: main() of each program, and what libraries export that those in OLD_LIBRARIES export, too.
CUTS: lines 'feature: names' of functions, tables and files (room/, room/file*) that only the feature needs. A cut is
never reached; what nothing else reaches goes with it. A file counts in proportion to its functions."""
import collections
import fnmatch
import os
import re
import subprocess
import sys

TABLE = re.compile(r"^\.(text|data\.rel\.ro\.local|data\.rel\.local|data\.rel\.ro|data\.rel|rodata|data|bss|tbss|tdata)\.")


def lines_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def sections_of(path):
    """{section: symbols and sections that it needs}, {global symbol: its section}, {local symbol: its section}"""
    names, needs, global_, local, at = {}, collections.defaultdict(set), {}, {}, None
    for line in lines_of("readelf", "-SrsW", path):
        if match := re.match(r"\s+\[\s*(\d+)\] (\S+)", line):
            names[match[1]] = match[2]
            needs[match[2]] |= set()
        elif match := re.match(r"Relocation section '\.rela(\S+)'", line):
            at = match[1]
        elif match := re.match(r"[0-9a-f]{12,16}\s+[0-9a-f]+\s+R_\S+\s+[0-9a-f]+\s+(\S+)", line):
            needs[at].add(match[1])
        elif match := re.match(r"\s+\d+: [0-9a-f]+\s+\S+ (\S+)\s+(\S+)\s+\S+\s+(\d+) (\S+)", line):
            (local if match[2] == "LOCAL" else global_)[match[4]] = names.get(match[3], "")
    return needs, global_, local


def load(build):
    """{(target, source): its sections}, {global symbol: where it is defined}"""
    objects, defined = {}, collections.defaultdict(list)
    for path in lines_of("find", build, "-name", "*.c.o"):
        target, source = re.search(r"CMakeFiles/([^/]+)\.dir/(.*)\.o$", path).groups()
        room = os.path.relpath(path.split("CMakeFiles/")[0], build)
        place = target, os.path.normpath(os.path.join(room, source.replace("__/", "../")))
        objects[place] = sections_of(path)
        for symbol, section in objects[place][1].items():
            if section:
                defined[symbol].append(place)
    return objects, defined


def find_roots(objects, old, renamed):
    exports = collections.defaultdict(set)
    for name in os.listdir(old):
        if match := re.match(r"(libbrick.*)\.so$", name):
            for line in lines_of("nm", "-D", "--defined-only", os.path.join(old, name)):
                symbol = line.split()[-1].split("@")[0]
                exports[match[1]].add(renamed.get(symbol, symbol))
    roots = []
    for (target, source), (needs, global_, _) in objects.items():
        library = "libbrick" if re.match(r"brick-(core|base|graph)", target) else "lib" + target
        roots += [(target, source, section) for symbol, section in global_.items()
                  if section and (symbol == "main" or symbol in exports.get(library, ()))]
        roots += [(target, source, s) for s in needs if s.startswith((".init_array", ".fini_array"))
                  and (library in exports or not source.startswith("attach/"))]
    return roots


def is_cut(cuts, source, name):
    return any(cut == name or ("/" in cut and (
        source.startswith(cut) if cut.endswith("/") else fnmatch.fnmatch(source, cut))) for cut in cuts)


def reach(objects, defined, roots, cuts):
    """(target, source, section) of all that the roots need."""
    todo, seen = list(roots), set()
    while todo:
        node = target, source, section = todo.pop()
        if node in seen or is_cut(cuts, source, TABLE.sub("", section)):
            continue
        seen.add(node)
        needs, global_, local = objects[target, source]
        for symbol in needs[section]:
            own = symbol if symbol in needs else global_.get(symbol) or local.get(symbol)
            if own:
                todo.append((target, source, own))
                continue
            places = defined.get(symbol, [])
            places = [p for p in places if p[0] == target] or places
            todo += [(*p, objects[p][1][symbol]) for p in places]
    return seen


def functions_of(sources):
    found = collections.defaultdict(list)
    for line in lines_of("ctags", "--languages=C", "--kinds-C=f", "--fields=+ne", "-x",
                         "--_xformat=%F %N %n %{end}", *sources):
        source, name, first, last = line.split()
        found[source].append((name, int(last) - int(first) + 1))
    return found


def count(all_lines, functions, built, reached, cuts):
    """{source: lines that are kept}; what was not built, and headers of what is kept, counts whole."""
    names, kept = collections.defaultdict(set), {}
    for _, source, section in reached:
        names[source].add(section.removeprefix(".text."))
    for source, lines in all_lines.items():
        own = [(n, name in names[source]) for name, n in functions[source] if name in built.get(source, ())]
        share = sum(n for n, is_kept in own if is_kept) / (sum(n for n, _ in own) or 1)
        kept[source] = 0 if is_cut(cuts, source, "") else lines if source not in built or source.endswith(".h") \
            else lines * share if own else lines * bool(names[source])
    for source in kept:
        twin = source[:-1] + "c"
        if source.endswith(".h") and twin in kept:
            kept[source] *= kept[twin] / max(all_lines[twin], 1)
    return kept


def main():
    build, old, text = sys.argv[1], sys.argv[2], open(sys.argv[3]).read() if len(sys.argv) > 3 else ""
    all_lines = {s: sum(1 for _ in open(s)) for s in lines_of("git", "ls-files", "*.c", "*.h")
                 if not s.startswith(("tests/", "bench/"))}
    objects, defined = load(build)
    roots = find_roots(objects, old, dict(re.findall(r"^renamed (\S+) (\S+)$", text, re.M)))
    built = collections.defaultdict(set)
    for (_, source), (needs, _, _) in objects.items():
        built[source] |= {section.removeprefix(".text.") for section in needs}
    functions, cuts, last = functions_of(all_lines), [], all_lines
    for feature, names in [("what no old program or export reaches", "")] + re.findall(r"^(\w.*): (.*)$", text, re.M):
        cuts += names.split()
        kept = count(all_lines, functions, built, reach(objects, defined, roots, cuts), cuts)
        print(f"{sum(last.values()) - sum(kept.values()):8.0f} {feature}")
        last = kept
    rooms = collections.Counter()
    for source, lines in last.items():
        rooms[source.split("/")[0]] += lines
    print(f"{sum(all_lines.values()):8} all, {sum(last.values()):.0f} kept:",
          ", ".join(f"{room} {lines:.0f}" for room, lines in sorted(rooms.items())))


if __name__ == "__main__":
    main()
