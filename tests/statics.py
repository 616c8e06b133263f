#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A static name stands in one file of src/: functions and variables that are `static` at file scope carry their file's
noun, so that grep, perf and a back trace say which one is meant. main() and usage() are aside. How many static functions
there are, and how many of them are called in one place, is shown, not judged.

  tests/statics.py [TREE]     checks the tree (default: the one that this file is in)
"""

import collections
import os
import re
import sys

import layers

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ASIDE = {"main", "usage"}
NO_CODE = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*|^[ \t]*#(?:\\\n|/\*.*?\*/|[^\n])*',
                     re.S | re.M)
ATTRIBUTE = re.compile(r"\b(?:__attribute__|__declspec|_Alignas|alignas|BRICK_PRINTF)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
COMPARATOR = re.compile(r"^COMPARATOR\((\w+)", re.M)
STATIC = re.compile(r"^ *static\b(?:[^;{}]|\{\})*?(?:;|\)\s*\{\})", re.M)
FUNCTION = re.compile(r"[^=(]*?\b(\w+)\s*\((?!\s*\*)")
MACRO = re.compile(r"static\s+[A-Z_]+\((\w+)[^()]*\)\s*(\w*)")
POINTER = re.compile(r"\(\s*\*\s*(?:const\s+)?(\w+)")


def bare(text):
    """C without comments, strings and directives."""
    return NO_CODE.sub(lambda found: " " if found[0][0] in "/'\"" else "", text)


def outermost(text):
    """What stands at file scope: braces are empty."""
    kept, depth = [], 0
    for piece in re.split(r"([{}])", text):
        depth -= piece == "}"
        if depth == 0:
            kept.append(piece)
        depth += piece == "{"
    return "".join(kept)


def statics(text):
    """(name, it is a function) of each static declaration in bare C."""
    text = re.sub(r"\bElfW\(\w+\)", "Elf", ATTRIBUTE.sub("", outermost(text)))
    yield from ((name, True) for name in COMPARATOR.findall(text))
    for found in STATIC.finditer(text):
        declaration = re.sub(r"\[[^]]*\]", "", found[0])
        function, macro = FUNCTION.match(declaration), MACRO.match(declaration)
        if macro:  # ARRAY(struct x) names; WORDS(names, ...);
            yield macro[2] or macro[1], False
            continue
        if function:
            yield function[1], True
            continue
        for part in re.split(r",(?![^()]*\))", declaration.rstrip(";")):
            name = POINTER.search(part.split("=")[0]) or re.search(r"(\w+)\W*$", part.split("=")[0])
            yield name[1], False


def files(tree):
    """The bare text of each source and header of src/."""
    found = {}
    for path in layers.sources(tree):
        if path.startswith("src/"):
            with open(os.path.join(tree, path), encoding="utf-8") as file:
                found[path] = bare(file.read())
    return found


def places(texts):
    """Where each static name stands."""
    at = collections.defaultdict(set)
    for path, text in texts.items():
        for name, _ in statics(text):
            at[name].add(path)
    return at


def check(tree):
    """Everything that is wrong, a sentence each."""
    return [f"the static name {name} stands in {', '.join(sorted(paths))}"
            for name, paths in sorted(places(files(tree)).items()) if len(paths) > 1 and name not in ASIDE]


def counted(tree):
    """(static functions of src/, those that are called in one place and used in no other, static names that stand in
    several files, places of these)."""
    texts = files(tree)
    functions = once = 0
    for text in texts.values():
        declared = collections.Counter(name for name, function in statics(text) if function)
        functions += len(declared)
        words, calls = (collections.Counter(re.findall(what, text)) for what in (r"(?<![.\w])(?<!->)\w+", r"(?<![.\w])(?<!->)\w+(?=\()"))
        once += sum(words[name] - times == calls[name] - times == 1 for name, times in declared.items())
    several = [paths for name, paths in places(texts).items() if len(paths) > 1 and name not in ASIDE]
    return functions, once, len(several), sum(map(len, several))


def report(tree):
    functions, once, several, stands = counted(tree)
    print(f"static functions of src/: {functions}, of which {once / functions:.1%} are called in one place; "
          f"static names in several files: {several}, in {stands} places")


if __name__ == "__main__":
    TREE = sys.argv[1] if len(sys.argv) > 1 else HERE
    problems = check(TREE)
    for problem in problems:
        print(f"statics: {problem}")
    report(TREE)
    sys.exit(1 if problems else 0)
