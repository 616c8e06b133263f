# SPDX-License-Identifier: Apache-2.0
"""brick top --dump: whole screens of every view, the same for the same recording, down to the last
character. BRICK_UPDATE_GOLDEN=1 writes them anew (look at the difference before you keep it)."""
import os

from libcli import TMP, brick, fail
from libtop import VIEWS, dump, expect, expect_true, golden_recording

GOLDEN = os.path.join(os.environ["BRICK_SOURCE"], "tests", "data", "top")


def compare(name, text):
    path = os.path.join(GOLDEN, name + ".txt")
    if os.environ.get("BRICK_UPDATE_GOLDEN"):
        os.makedirs(GOLDEN, exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return
    with open(path) as file:
        wanted = file.read()
    for i, (got, want) in enumerate(zip(text.splitlines(), wanted.splitlines())):
        if got != want:
            fail(f"{name}, line {i + 1}:\n  is     {got!r}\n  was    {want!r}\n\n{text}")
    expect(f"lines of {name}", text.count("\n"), wanted.count("\n"))


def main():
    path = golden_recording()
    os.environ["XDG_CACHE_HOME"] = os.path.join(TMP, "empty")
    for view in VIEWS:
        for size in "80x24", "200x50":
            text = dump("--view", view, path, size=size)
            compare(f"{view}-{size}", text)
            columns, lines = map(int, size.split("x"))
            expect(f"lines of {view} {size}", len(text.splitlines()), lines)
            for line in text.splitlines():
                expect_true(f"{view} {size}: {line!r}", len(line) <= columns)
                expect_true(f"no blanks at the end: {line!r}", line == line.rstrip())
            expect(f"{view} again", dump("--view", view, path, size=size), text)
        plain = dump("--view", view, path, LC_ALL="C")
        compare(f"{view}-ascii", plain)
        expect_true(f"{view} in ASCII", plain.isascii())
    compare("tree-expanded", dump("--view", "tree", "--expand", path, size="100x60"))
    compare("bricks-prefill", dump("--phase", "prefill", path))
    for size in "20x8", "1000x1000", "31x9":
        dump("--view", "tree", path, size=size)
        dump(path, size=size)
    for wrong in "19x24", "80", "80x", "80x24x", "axb", "80x7", "1001x24", "-80x24":
        brick("top", "--dump", wrong, path, code=2)
    brick("top", "--view", "nonsense", path, code=2)
    brick("top", "--dump", "80x24", path + ".not-there", code=3)
    brick("top", "--dump", "80x24", code=2)
    brick("top", "--json", path, code=2)
    brick("top", "-o", "x", "--dump", "80x24", path, code=2)
    out, err = brick("top", path, code=4)
    expect_true("names the headless mode", b"no terminal" in err and b"--headless" in err)


main()
