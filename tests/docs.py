#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What documentation names exists: files that pages link or quote, tests and benches that they cite, pages that sources
cite, files that comments of sources name, presets that scripts build. Each row of docs/PARITY.md names a test. Nothing in the tree cites an issue's number, and the glossary and the changelog of a version stay short.

  tests/docs.py [TREE]     checks the tree (default: the one that this file is in)
"""

import glob
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
QUOTED = re.compile(r"`([\w.*/-]+/[\w.*-]*)`")
PAGE = re.compile(r"\bdocs/[A-Z]+\.md\b")
ISSUE = re.compile(r"\bissues? #?\d+\b", re.I)
PRESET = re.compile(r"\bcmake (?:--build )?--preset[ =](\w+)")
# Comments, in C and its kin and in scripts; what stands in quotes there is none.
TEXTS = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
COMMENTS = {(".c", ".h", ".hpp", ".cc", ".rs", ".js", ".mjs"): re.compile(TEXTS + r"|(/\*.*?\*/|//[^\n]*)", re.S),
            (".py", ".sh"): re.compile(r'(""".*?""")|' + TEXTS + r"|(#[^\n]*)", re.S)}
SOURCE = re.compile(r"(?<![\w./<*-])((?:[\w-]+/)*[\w-]+\.(?:c|h|hpp|cc|py|js|mjs|sh|rs|rules|sql))\b(?![\w(]|\.\w)")
FOLDER = re.compile(r"(?<![\w./<*\"-])((?:[\w-]+/)+)(?=[\s,.;:)])")
SYSTEM = re.compile(r"^\s*#\s*include <([^>]+)>", re.M)
# Files and folders of other projects, or of a build, that comments name, and words that only look like names.
FOREIGN = {"Node.js", "ATen/record_function.h", "registration.h", "fwd.h", "callback_tracing.h", "context.h",
           "version.py", "ggml-cpu.c", "src/main.rs",
           "build/", "shared/", "gpt4all/", "man3/", "context/device/"}
PLACEHOLDER = re.compile(r"NAME|FILE|PID|ROOM|THING|SOURCE|TARGET|DIR")
FOLDERS = ("src", "include", "docs", "tests", "examples", "bench", "cmake", "packaging")
MOST_TERMS, MOST_LINES = 60, 60
# Where a quoted name may lie: its first word, and patterns of paths.
CITED = {"unit": ["tests/unit/{}.c"], "integration": ["tests/integration/{}.py"], "attack": ["tests/attack/{}.py"],
         "brick": ["include/brick/{}"], "bench": ["bench/{}", "bench/{}.py", "bench/{}.c"]}


def text_of(tree, path):
    with open(os.path.join(tree, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def files(tree):
    return subprocess.run(["git", "-C", tree, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True,
                          check=True).stdout.split("\n")[:-1]


def is_there(tree, patterns):
    return any(glob.glob(os.path.join(tree, pattern)) for pattern in patterns)


def missing(tree, page, text):
    """What a page links or quotes and the tree has not."""
    for target in LINK.findall(text):
        if "://" not in target and not is_there(tree, [os.path.join(os.path.dirname(page), target)]):
            yield target
    for name in QUOTED.findall(text):
        first, rest = name.split("/", 1)
        if PLACEHOLDER.search(name) or not rest:
            continue
        if first in CITED and not (first == "brick" and not name.endswith((".h", ".hpp"))):
            patterns = [pattern.format(rest) for pattern in CITED[first]]
        elif first in FOLDERS:
            patterns = [name]
        else:
            continue
        if not is_there(tree, patterns):
            yield name


def wrong_in(tree, path, text):
    gone = {page for page in PAGE.findall(text) if not os.path.exists(os.path.join(tree, page))}
    if path.endswith(".md"):
        gone.update(missing(tree, path, text))
    return [f"{path}: {name} is not there" for name in sorted(gone)] + [f"{path}: cites {i}" for i in ISSUE.findall(text)]


def gone_from_comments(path, text, known):
    """Files and folders that the comments of a source name and the tree has not."""
    for ends, comments in COMMENTS.items():
        if path.endswith(ends):
            for match in comments.finditer(text):
                comment = next((group for group in match.groups() if group), "")
                for name in SOURCE.findall(comment) + FOLDER.findall(comment):
                    if name not in known and not PLACEHOLDER.search(name):
                        yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {name} is not there"


def names_of(texts):
    """What a comment may call a file: the end of a path, or a header of the system that a source includes. Folders, too."""
    known = set(FOREIGN)
    for path, text in texts.items():
        parts = path.split("/")
        known.update("/".join(parts[i:]) for i in range(len(parts)))
        known.update("/".join(parts[i:j]) + "/" for j in range(1, len(parts)) for i in range(j))
        known.update(SYSTEM.findall(text))
    return known


def presets(tree):
    text = text_of(tree, "CMakePresets.json")
    return {preset["name"] for preset in json.loads(text)["configurePresets"]}


def too_long(tree):
    terms = len(re.findall(r"^\| (?!word )[^-|]", text_of(tree, "docs/GLOSSARY.md"), re.M))
    if terms > MOST_TERMS:
        yield f"docs/GLOSSARY.md: {terms} terms, at most {MOST_TERMS}"
    for part in re.split(r"^(?=## )", text_of(tree, "CHANGELOG.md"), flags=re.M)[1:]:
        lines = part.rstrip().count("\n") + 1
        if lines > MOST_LINES:
            yield f"CHANGELOG.md: {lines} lines of {part.splitlines()[0][3:]}, at most {MOST_LINES}"


def wrong_manuals(tree):
    """Each command has a page, stands in that of all, and its page names its options."""
    commands = re.findall(r"each\((\w+)\)", text_of(tree, "src/cli/command.h").split("CLI_COMMANDS(each)")[1])
    listed = re.findall(r"^\.It Cm (\w+)", text_of(tree, "docs/man/brick.1"), re.M)
    for name in commands:
        page, source = f"docs/man/brick-{name}.1", f"src/cli/cmd_{name}.c"
        if name not in listed:
            yield f"docs/man/brick.1: {name} is not listed"
        if not os.path.exists(os.path.join(tree, page)):
            yield f"{page} is not there"
            continue
        told = set(re.findall(r"-([a-z][a-z-]+)", "\n".join(re.findall(r"^\.It Fl (.*)$", text_of(tree, page), re.M))))
        for table in re.findall(r"struct cli_option \w+\[\] = \{(.*?)^\};", text_of(tree, source), re.M | re.S):
            for option in re.findall(r'^\t\{"([a-z][a-z-]*)"', table, re.M):
                if option not in told:
                    yield f"{page}: --{option} is not there"


def unproven(tree):
    """Each row of what our predecessors do names a test, by its name or its protocol's number."""
    protocols = set(re.findall(r"\bF\d{3}\b", text_of(tree, "docs/PROTOCOLS.md")))
    for line in text_of(tree, "docs/PARITY.md").split("\n"):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) < 3 or cells[0] in ("feature", "mistake") or cells[0].startswith("-"):
            continue
        named = re.findall(r"`((?:unit|integration)/[\w*]+)`", cells[-1])
        if not named and not protocols & set(re.findall(r"\bF\d{3}\b", cells[-1])) and "PROTOCOLS.md" not in cells[-1]:
            yield f"docs/PARITY.md: no test shows: {cells[0]}"


def unmarked_samples(tree):
    """docs/samples.py writes the answers in README.md, which nobody writes by hand."""
    for mark, block in re.findall(r"^(.*)\n```\n(\$ brick .*)$", text_of(tree, "README.md"), re.M):
        if not re.fullmatch(r"<!-- sample \w+ -->", mark):
            yield f"README.md: no '<!-- sample NAME -->' before {block}"


def check(tree):
    wrong = list(too_long(tree)) + list(wrong_manuals(tree)) + list(unproven(tree)) + list(unmarked_samples(tree))
    known = presets(tree)
    texts = {path: text_of(tree, path) for path in files(tree) if os.path.isfile(os.path.join(tree, path))
             and not path.endswith((".png", "package-lock.json", "LICENSE"))}
    names = names_of(texts)
    for path, text in texts.items():
        wrong += wrong_in(tree, path, text)
        wrong += gone_from_comments(path, text, names)
        wrong += [f"{path}: {name} is no preset" for name in sorted(set(PRESET.findall(text)) - known)]
    return wrong


def main():
    wrong = check(sys.argv[1] if len(sys.argv) > 1 else HERE)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
