# SPDX-License-Identifier: Apache-2.0
"""brick top driven as a person would, in tmux: every view and every key, at 80x24 and 200x50, with
and without colours and UTF-8, through resizes, on terminals that are none."""
import os
import re
import time

from libcli import BRICK, TMP, brick, expect, expect_true, fail
from libtop import Tmux, VIEWS, dump, golden_recording

TITLES = ["Bricks", "Categories", "Layers", "Threads", "Queues", "Tree", "Path", "Losses"]
MARKS = ["BRICK .*SHARE", "CATEGORY .*TOTAL", "LAYER +TIME", "THREAD +WORKED", "KERNEL ",
         "The last whole (decode )?step", "Critical path of decode", "Losses +no records"]


def selected(tmux):
    """Lines below the tabs whose first character is in reverse and bold."""
    on, found = set(), []
    for number, line in enumerate(tmux.screen(colours=True).splitlines()):
        first = None
        for code, text in re.findall(r"\x1b\[([0-9;]*)m|([^\x1b]+)", line):
            if text:
                first = set(on) if first is None else first
                continue
            for part in (code or "0").split(";"):
                if part == "0":
                    on.clear()
                elif part in ("1", "7"):
                    on.add(part)
                elif part in ("22", "27"):
                    on.discard(part[1])
        if number > 4 and first == {"1", "7"}:
            found.append(re.sub(r"\x1b\[[0-9;]*m", "", line).strip())
    return found


def same_as_dump(tmux, path, view, size):
    """The screen is what --dump says it is."""
    wanted = dump("--view", view, path, size=f"{size[0]}x{size[1]}").strip("\n")
    until = time.monotonic() + 600
    while time.monotonic() < until:
        got = "\n".join(line.rstrip() for line in tmux.screen().splitlines()).strip("\n")
        if got == wanted:
            return
        time.sleep(0.05)
    expect(f"screen of {view} at {size}", got, wanted)


def every_view(path):
    for size in (80, 24), (200, 50):
        with Tmux(BRICK, "top", path, size=size) as t:
            for i, view in enumerate(VIEWS):
                t.keys(str(i + 1))
                t.wait(rf"{i + 1}\[{TITLES[i]}\]", MARKS[i])
                same_as_dump(t, path, view, size)
            t.keys("1", "Tab")
            t.wait(r"2\[Categories\]")
            t.keys("BTab", "BTab")
            t.wait(r"8\[Losses\]")
            t.keys("l")
            t.wait(r"1\[Bricks\]")
            t.keys("Right")
            t.wait(r"2\[Categories\]")
            t.keys("h", "Left")
            t.wait(r"8\[Losses\]")
            t.keys("0")
            t.wait("There is no output to show")
            t.keys("q")
            expect("exit code", t.exit_code(), 0)


def moving(path):
    with Tmux(BRICK, "top", path) as t:
        t.wait("DownProjection", "unattributed", "q quit")
        names = [line.split()[0] for line in t.screen().splitlines()[6:-1] if line.strip()][:-1]
        for keys, row in ((["j"], 1), (["Down"], 2), (["k"], 1), (["Up"], 0), (["Up"], 0),
                          (["G"], len(names) - 1), (["j"], len(names) - 1), (["g"], 0),
                          (["End"], len(names) - 1), (["Home"], 0), (["NPage"], len(names) - 1),
                          (["PPage"], 0)):
            t.keys(*keys)
            wait_selected(t, names[row])
        t.keys("/", "S", "a", "m", "p")
        t.wait("/Samp")
        wait_selected(t, "Sampling")
        t.keys("BSpace", "BSpace", "BSpace", "BSpace", "L", "m")
        wait_selected(t, "LmHead")
        t.keys("Enter", "n")
        wait_selected(t, "LmHead")
        t.keys("/", "x", "y", "z")
        t.wait("not found")
        t.keys("Escape", "n")
        t.wait("There is no 'xyz' here")
        t.keys("Enter")
        t.wait("SOURCE", "COUNT +20")
        t.keys("q")
        t.wait("BRICK .*SHARE")
        t.keys("q")
        expect("exit code", t.exit_code(), 0)


def wait_selected(t, name, anywhere=False):
    until = time.monotonic() + 600
    while time.monotonic() < until:
        lines = selected(t)
        if len(lines) == 1 and (name in lines[0] if anywhere else lines[0].startswith(name)):
            return
        time.sleep(0.05)
    fail(f"{name} is not selected, but {selected(t)}\n{t.screen()}")


def sorting(path):
    with Tmux(BRICK, "top", path, size=(120, 24)) as t:
        t.wait("DownProjection")
        first = lambda: t.screen().splitlines()[6].split()[0]
        t.keys("s")
        t.wait("Sorted by CATEGORY")
        order = [line.split()[1] for line in t.screen().splitlines()[6:14]]
        expect("by category", order, sorted(order))
        t.keys("S")
        t.wait("help .*Tab", "(?m)^BarrierWait +Wait(?s:.*)^QkvProjection")
        backwards = [line.split()[1] for line in t.screen().splitlines()[6:14]]
        expect("the other way round", backwards, sorted(backwards, reverse=True))
        said = None
        for wanted, name in ("Sorted by COUNT", "BarrierWait"), ("In the order of the report", "QkvProjection"):
            for _ in range(20):
                t.keys("s")
                # what the key before said may still be there
                said = re.search(r"Sorted by \S+|In the order of the report", t.wait("Sorted by|In the order", gone=said and re.escape(said)))[0]
                if said == wanted:
                    break
            expect(f"{said}: the first", first(), name)
        t.keys("6", "s")
        t.wait("an order of its own")


def narrow(path):
    """At 80x24: whole tabs, all keys, help that fits; sorting begins with a column that is there."""
    with Tmux(BRICK, "top", path) as t:
        screen = t.wait("DownProjection", "DEVICE▼", "q quit").splitlines()
        expect("tabs", re.sub(r"[\d\[\]]", " ", screen[4]).split(), TITLES)
        expect_true(f"all keys: {screen[-1]}", screen[-1].endswith("q quit"))
        t.keys("s")
        said = re.search(r"Sorted by (\S+)", t.wait("Sorted by"))[1]
        expect_true(f"{said} is there, with a mark", f"{said}▼" in t.screen().splitlines()[5])
        t.keys("S")
        t.wait(f"{said}▲")
        t.keys("?")
        screen = t.wait("Any key goes back")
        expect_true("nothing is cut", "…" not in screen)
        t.keys("q", "p")
        t.wait("prefill]")
        t.keys("q")
    with Tmux(BRICK, "top", path, size=(200, 50)) as t:
        t.keys("6")
        line = next(s for s in t.wait("GraphCompute +[0-9]").splitlines() if "GraphCompute" in s)
        expect_true(f"times beside names: {line}", line.index("µs") < 80)
        t.keys("q")


def tree(path):
    with Tmux(BRICK, "top", "--view", "tree", path, size=(100, 60)) as t:
        screen = t.wait("- GraphCompute", r"\+ Layer 0")
        expect_true("closed at first", "RmsNorm" not in screen)
        t.keys("j", "j", "Enter")
        t.wait("- Layer 0", r"\+ RmsNorm")
        t.keys("Left")
        t.wait(r"\+ Layer 0", gone="RmsNorm")
        t.keys("Right", "Right", "l")
        t.wait("- RmsNorm", "RMS_NORM norm-0")
        t.keys("h", "h")
        wait_selected(t, "│  ├─ - Layer 0")
        t.keys("e")
        t.wait("MUL_MAT ffn_out-2", "MUL_MAT result_output")
        t.keys("/", "o", "u", "t", "-", "2", "Enter")
        wait_selected(t, "ffn_out-2", True)
        t.resize(80, 24)
        t.wait("ffn_out-2")
        t.resize(100, 60)
        t.wait("ffn_out-0", "ffn_out-2")
        wait_selected(t, "ffn_out-2", True)
        t.keys("c")
        t.wait(r"\+ GraphCompute", gone="Layer 0 +8")
        t.wait("last whole decode step")  # by itself
        t.keys("p")
        t.wait("Prefill only", "last whole prefill step", "16 tokens")
        t.keys("p")
        t.wait("Steps of all phases", "last whole step")
        t.keys("p")
        t.wait("Decode only", "last whole decode step")


def others(path):
    with Tmux(BRICK, "top", path) as t:
        t.wait("DownProjection")
        t.keys("Space")
        t.wait("Held", "held; recording")
        t.keys("Space")
        t.wait("Goes on", gone="held;")
        for keys, words in (("+", "Every 0.5 s"), ("-", "Every 1 s"), ("-", "Every 2 s")):
            t.keys(keys)
            t.wait(words)
        t.keys("r")
        t.wait("A recording cannot be reset")
        t.keys("?")
        t.wait("other view", "Any key goes back")
        t.keys("x")
        t.wait("BRICK .*SHARE", gone="Any key goes back")
        t.keys("3", ">")
        t.wait("LAYER +TIME +QkvPro")
        t.keys("<")
        t.wait("LAYER +TIME +DownPro")
        t.keys("j", "Enter")
        t.wait("layer 0 +919µs", "DownProjection")
        t.keys("Escape")
        t.wait("LAYER +TIME")
        for size in ((40, 10), (20, 8), (10, 3), (300, 80), (80, 24)):
            t.resize(*size)
        t.wait(r"3\[Layers\]", "layer 2")
        t.keys("C-c")
        expect("Ctrl-C quits", t.exit_code(), 0)


def terminals(path):
    with Tmux(BRICK, "top", path, LC_ALL="C") as t:
        screen = t.wait("DownProjection", "##")
        expect_true("ASCII", screen.isascii())
    with Tmux(BRICK, "top", path, NO_COLOR="1") as t:
        t.wait("DownProjection")
        colours = re.findall(r"\x1b\[[0-9;]*m", t.screen(colours=True))
        expect_true(f"no colours: {colours}",
                    not any(re.search(r"[\[;]3[0-7]m|[\[;]3[0-7];", c) for c in colours))
    with Tmux(BRICK, "top", path) as t:
        t.wait("DownProjection")
        expect_true("colours", re.search(r"\x1b\[[0-9;]*36m", t.screen(colours=True)))
    for term in "dumb", "no-such-terminal", None:
        with Tmux(BRICK, "top", path, TERM=term) as t:
            t.wait(r"--head\s*less", "--dump")
            expect(f"TERM={term}", t.exit_code(), 4)
    for term in "vt100", "xterm-256color", "linux":
        with Tmux(BRICK, "top", path, TERM=term) as t:
            t.wait("DownProjection")
            t.keys("q")
            expect(f"TERM={term}", t.exit_code(), 0)


def graph(path):
    """The tree of an execution graph that was saved as JSON."""
    saved = os.path.join(TMP, "graph.json")
    with open(saved, "wb") as file:
        file.write(brick("graph", "--format", "json", path)[0])
    expect_true("closed at first", "QkvProjection" not in dump(saved))
    expect_true("a whole tree as text", "QkvProjection" in dump("--expand", saved, size="80x900"))
    with Tmux(BRICK, "top", saved) as t:
        t.wait("graph.json", "q quits")
        t.keys("/", "Q", "k", "v", "Enter")  # opens what holds it
        t.wait(r"(?m)^>.*QkvProjection")
        t.keys("Home", "Left")
        t.wait("q quits", gone="QkvProjection")
        t.keys("Enter", "Down")
        t.keys("q")
        expect("exit code", t.exit_code(), 0)


def main():
    if b"no terminal view" in brick("top", "/dev/null", code=4)[1]:
        print("skipped: this build has no terminal view")
        raise SystemExit(77)
    path = golden_recording()
    every_view(path)
    moving(path)
    sorting(path)
    narrow(path)
    tree(path)
    others(path)
    terminals(path)
    graph(path)


main()
