#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do layers.py, measures.py, statics.py, objects.py and docs.py see what they are for? In a copy of the tree as it is
they find nothing more than in the tree; then arrows up between rooms and inside of them, a circle of files, a layout of
shared memory in the run, a question for the OS, a second file of one name, a folder at the top, a name in /tmp,
elapsed time and static names that another file has are planted, one at a time, and each must be found where it stands."""

import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(HERE, "tests"))
import docs  # noqa: E402
import layers  # noqa: E402
import measures  # noqa: E402
import objects  # noqa: E402
import statics  # noqa: E402

TABLE = "docs/ARCHITECTURE.md"


def copy(to):
    for path in sorted(set(layers.sources(HERE, measures.SOURCES) + [TABLE])):
        os.makedirs(os.path.dirname(os.path.join(to, path)), exist_ok=True)
        shutil.copyfile(os.path.join(HERE, path), os.path.join(to, path))


def planted(tree, path, text):
    """Append to a file (or make one); gives back what undoes it."""
    full = os.path.join(tree, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    before = measures.text_of(tree, path) if os.path.exists(full) else None
    with open(full, "w", encoding="utf-8") as file:
        file.write((before or "") + text)

    def undo():
        if before is None:
            os.remove(full)
            if not os.listdir(os.path.dirname(full)):
                os.rmdir(os.path.dirname(full))
        else:
            with open(full, "w", encoding="utf-8") as file:
                file.write(before)
    return undo


def found(tree):
    return set(layers.check(tree) + measures.check(tree) + statics.check(tree))


def breaches_of_objects():
    """Objects that breach each rule, in a build tree of their own; how many rules."""
    rooms = {"cli": {"a": "int in_cli(void); int in_cli(void) { return 1; }"},
             "base": {"b": "int c(void); int b(void); int b(void) { return c(); }",
                      "c": "int b(void); int c(void); int c(void) { return b(); }",
                      "d": "#include <stdlib.h>\nvoid d(void); void d(void) { exit(1); }",
                      "e": "int in_cli(void); int e(void); int e(void) { return in_cli(); }"}}
    wanted = ["a circle of 2 objects: base/b.c, base/c.c", "src/base/d.c calls exit(), which only src/cli/ may",
              "src/base/e.c calls in_cli() of src/cli/a.c, whose room stands above"]
    with tempfile.TemporaryDirectory() as tree:
        os.makedirs(os.path.join(tree, "lib"))
        for room, sources in rooms.items():
            open(os.path.join(tree, "lib", f"libbrick-{room}.a"), "w", encoding="utf-8").close()
            place = os.path.join(tree, "src", room, "CMakeFiles", f"brick-{room}.dir")
            os.makedirs(place)
            for name, source in sources.items():
                subprocess.run([os.environ.get("CC", "cc"), "-c", "-x", "c", "-", "-o", os.path.join(place, name + ".c.o")],
                               input=source, text=True, check=True)
        got = objects.check(tree)
        assert sorted(got) == sorted(wanted), got
    return len(wanted)


def flaky_tests():
    """A test that fails, and passes alone, is counted and fails; one that tests/flaky.txt lists is only counted."""
    with tempfile.TemporaryDirectory() as tree:
        os.makedirs(os.path.join(tree, "tests"))
        run = shutil.copy(os.path.join(HERE, "tests", "run.sh"), os.path.join(tree, "tests"))
        for reasons, last, code in (("", "1 passed, 1 failed, 1 flaky", 1),
                                    ("unit/planted it is planted\n", "1 passed, 0 failed, 1 flaky", 0)):
            with open(os.path.join(tree, "tests", "flaky.txt"), "w", encoding="utf-8") as file:
                file.write(reasons)
            with open(os.path.join(tree, "CTestTestfile.cmake"), "w", encoding="utf-8") as file:
                file.write(f'add_test(unit/planted sh -c "if [ -e {tree}/seen ]; then rm {tree}/seen; else touch {tree}/seen; exit 1; fi")\n'
                           'add_test(unit/sane true)\n')
            done = subprocess.run([run, "suite", tree], capture_output=True, text=True, check=False)
            assert (done.stdout.splitlines()[-1], done.returncode) == (last, code), done.stdout
    return 2


def main():
    plants = [
        ("an arrow up", [("src/base/array.c", '#include "lib/probe/ring.h"\n')], "base may not include from lib/probe (src/lib/probe/ring.h)"),
        ("an arrow up inside of the library", [("src/lib/session/session_map.h", '#include "lib/probe/waits.h"\n')],
         "lib/session may not include from lib/probe (src/lib/probe/waits.h)"),
        ("an arrow up inside of the analysis", [("src/analysis/steps/step_times.h", '#include "analysis/accounts/launches.h"\n')],
         "analysis/steps may not include from analysis/accounts (src/analysis/accounts/launches.h)"),
        ("an arrow up inside of an attacher", [("src/attach/ggml/nodes/node_text.c", '#include "attach/ggml/steps/batch.h"\n')],
         "attach/ggml/nodes may not include from attach/ggml/steps (src/attach/ggml/steps/batch.h)"),
        ("a circle", [("src/base/array.h", '#include "base/fnv.h"\n'), ("src/base/fnv.h", '#include "base/array.h"\n')],
         "a circle of 2 files: src/base/array, src/base/fnv"),
        ("a layout of shared memory in the run", [("include/brick/digest.h", '#include "brick/abi/overhead.h"\n')],
         "src/trace/run.h reaches include/brick/abi/overhead.h"),
        ("a question for the OS", [("src/lib/drain/drain.c", "#ifdef __linux__\n#endif\n")],
         "asks for the OS or the CPU outside of lib/sys/"),
        ("a second file of one name", [("src/lib/sys/array.c", "int planted;\n")],
         "src/base/array.c and src/lib/sys/array.c have one name"),
        ("a folder at the top", [("planted/planted.txt", "")], "planted/ is a folder at the top"),
        ("a name in /tmp", [("tests/planted.sh", "echo >/" + "tmp/planted-$$\n")],
         "tests/planted.sh:1: anybody can foretell the name /tm" + "p/planted-$$"),
        ("elapsed time", [("tests/planted.py", "assert time.monotonic" + "() - begin < 5\n")],
         "tests/planted.py:1: a test takes the time"),
    ]
    for what in ("static bool planted(void)\n{\n\treturn true;\n}\n", "static const char *const planted[] = {\"a\", \"b\"};\n",
                 "__attribute__((constructor)) static void planted(void)\n{\n}\n", "static ARRAY(struct pair) planted;\n",
                 "static int (*planted)(int), other_planted;\n", "COMPARATOR(planted, struct pair, ORDER(x->a, y->a))\n"):
        plants.append((what, [("src/base/planted_a.c", what), ("src/cli/planted_b.c", "static int planted;\n")],
                       "the static name planted stands in src/base/planted_a.c, src/cli/planted_b.c"))
    with tempfile.TemporaryDirectory() as tree:
        copy(tree)
        before = found(tree)
        assert before == found(HERE), before ^ found(HERE)
        for what, files, sentence in plants:
            undo = [planted(tree, path, text) for path, text in files]
            new = found(tree) - before
            assert len(new) == 1 and sentence in new.copy().pop(), f"{what}: {sorted(new)}"
            for back in undo:
                back()
        assert found(tree) == before
    pages = [("`src/gone.c`", "src/gone.c is not there"), ("[gone](GONE.md)", "GONE.md is not there"),
             ("as iss" + "ue 12 asks", "cites iss" + "ue 12")]
    for text, sentence in pages:
        assert docs.wrong_in(HERE, "docs/HACKING.md", text) == ["docs/HACKING.md: " + sentence], text
    comments = [("src/a.c", "/* The forms are in gone.c. */\nint x;", ["src/a.c:1: gone.c is not there"]),
                ("src/a.c", "/* They lie in tui/, and not in base/. */", ["src/a.c:1: tui/ is not there"]),
                ("src/a.js", "// as kept.h says", []), ("src/a.c", 'const char *x = "gone.c";', []),
                ("tests/a.py", '"""Runs\nx/gone.py."""', ["tests/a.py:1: x/gone.py is not there"])]
    known = docs.names_of({"src/base/kept.h": "#include <stdio.h>\n"})
    assert {"kept.h", "base/kept.h", "stdio.h"} <= known and "gone.c" not in known
    for path, text, sentences in comments:
        assert list(docs.gone_from_comments(path, text, known)) == sentences, text
    print(f"{len(plants) + len(pages) + len(comments) + breaches_of_objects() + flaky_tests()} plants found")


if __name__ == "__main__":
    main()
