#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Makes docs/img/terminal-*.png: commands as a terminal shows them, in tmux, with the real engine, drawn by Chromium.
Needs `make`, demo/models.sh, tmux and chromium. Run it from the repository: docs/img/terminal.py [NAME...]
"""
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

BUILD = "build"  # commands are shown as they are typed
BRICK = os.path.join(BUILD, "bin", "brick")
OUT = "docs/img"
COLOURS = ["#1d1f21", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#c8ccd4"]
BRIGHT = ["#7f848e", "#ff7b86", "#b5e890", "#ffd98b", "#82c7ff", "#e09cf5", "#7fdbe6", "#ffffff"]
STYLE = """body { margin: 0; background: #1d1f21 } pre { margin: 8px; color: #c8ccd4;
    font: %dpx/%dpx 'DejaVu Sans Mono', monospace }"""


def engine(model, *options):
    return [os.path.join(BUILD, "bin", "brick-llama"), "--libs", f"{BUILD}/demo/engine/libs", "--model",
            f"{BUILD}/demo/model-{model}.gguf", "--prompt-tokens", "256", "--predict", "64", *options]


def colour(number):
    """Of 256."""
    if number < 16:
        return (COLOURS + BRIGHT)[number]
    if number < 232:
        level = lambda n: 55 + 40 * n if n else 0
        number -= 16
        return "#%02x%02x%02x" % (level(number // 36), level(number // 6 % 6), level(number % 6))
    return "#%02x%02x%02x" % ((8 + 10 * (number - 232),) * 3)


class Pen:
    """What has been switched on by escape sequences (SGR)."""

    def __init__(self):
        self.front = self.back = None
        self.bold = self.dim = self.reverse = self.underline = False

    def obey(self, codes):
        while codes:
            code = codes.pop(0)
            if code == 0:
                self.__init__()
            elif code in (1, 2, 4, 7):
                setattr(self, {1: "bold", 2: "dim", 4: "underline", 7: "reverse"}[code], True)
            elif code in (22, 24, 27):
                for name in {22: ("bold", "dim"), 24: ("underline",), 27: ("reverse",)}[code]:
                    setattr(self, name, False)
            elif code in (38, 48) and codes[:1] == [5]:
                setattr(self, "front" if code == 38 else "back", colour(codes[1]))
                del codes[:2]
            elif code in (39, 49):
                setattr(self, "front" if code == 39 else "back", None)
            elif 30 <= code <= 47:
                setattr(self, "front" if code < 40 else "back", COLOURS[code % 10])
            elif 90 <= code <= 107:
                setattr(self, "front" if code < 100 else "back", BRIGHT[code % 10])

    def style(self):
        front, back = self.front or "#c8ccd4", self.back
        if self.reverse:
            front, back = back or "#1d1f21", front
        return (f"color:{front};" + (f"background:{back};" if back else "") + ("font-weight:bold;" if self.bold else "") +
                ("opacity:.6;" if self.dim else "") + ("text-decoration:underline;" if self.underline else ""))


def as_html(text, size):
    pen, parts = Pen(), []
    for part in re.split(r"(\x1b\[[0-9;]*m)", text.rstrip("\n")):
        codes = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if codes:
            pen.obey([int(code or 0) for code in codes[1].split(";")])
        elif part:
            parts.append(f'<span style="{pen.style()}">{html.escape(part)}</span>')
    return f"<meta charset=utf-8><style>{STYLE % (size, size + 3)}</style><pre>{''.join(parts)}</pre>"


def tmux(*arguments):
    return subprocess.run(["tmux", "-L", f"brick-img-{os.getpid()}", *arguments], capture_output=True, text=True).stdout


def screen(command, columns, rows, keys=(), wait=None):
    """What a terminal of that size shows when the command has ended, or shows `wait`."""
    tmux("-f", "/dev/null", "new-session", "-d", "-s", "s", "-x", str(columns), "-y", str(rows),
         f"export LC_ALL=C.UTF-8 TERM=tmux-256color; clear; {command}; echo; echo END; sleep 600")
    until = time.monotonic() + 90
    while time.monotonic() < until:
        time.sleep(0.5)
        if (wait or "\nEND") in tmux("capture-pane", "-p", "-t", "s"):
            break
    if wait:
        time.sleep(20)  # the last minute fills
    for key in keys:
        tmux("send-keys", "-t", "s", key)
        time.sleep(2)
    text = tmux("capture-pane", "-e", "-p", "-t", "s")
    tmux("kill-server")
    return re.sub(r"\n\s*(?:\x1b\[[0-9;]*m)*END\b.*", "\n", text, flags=re.S)


def draw(name, text, columns, directory):
    size = 12 if columns < 150 else 11  # of the letters
    page, picture = os.path.join(directory, "page.html"), os.path.join(OUT, f"terminal-{name}.png")
    with open(page, "w") as file:
        file.write(as_html(text, size))
    width, height = int(columns * size * 0.603) + 18, text.rstrip("\n").count("\n") * (size + 3) + size + 19
    subprocess.run([shutil.which("chromium") or "chromium-browser", "--headless", "--no-sandbox", "--hide-scrollbars", "--disable-lcd-text",
                    f"--window-size={width},{height}", f"--screenshot={os.path.abspath(picture)}", page],
                   check=True, capture_output=True, timeout=120)
    print(f"{picture}: {os.path.getsize(picture)} bytes")


def main():
    directory = tempfile.mkdtemp(prefix="brick-img-")
    os.chdir(os.path.join(os.path.dirname(__file__), "..", ".."))
    run, live = os.path.join(directory, "run.pftrace"), " ".join(engine("f16", "--threads", "1", "--repeat", "200"))
    record = lambda path, model: subprocess.run([BRICK, "record", "-q", "-o", path, "--", *engine(model, "--threads", "1")],
                                                check=True, stdout=subprocess.DEVNULL)
    record(run, "f16")
    sides = [[os.path.join(directory, f"{side}{i}.pftrace") for i in range(4)] for side in "ab"]
    for a, b in zip(*sides):
        record(a, "f16")
        record(b, "q8_0")
    pair = " --- ".join(" ".join(engine(model, "--threads", "1")) for model in ("f16", "q8_0"))
    a, b = (" ".join(side) for side in sides)
    # name: command, columns, lines, keys, what to wait for
    pictures = {
        "top-80x24": (f"{BRICK} top -- {live}", 80, 24, (), "BRICK "),
        "top-200x50": (f"{BRICK} top -- {live}", 200, 50, (), "BRICK "),
        "report": (f"{BRICK} report --top 3 --phase decode {run}", 100, 60),
        "path": (f"{BRICK} path {run}", 80, 50),
        "roofline": (f"{BRICK} ceilings --quick >/dev/null; {BRICK} roofline --phase decode {run}", 100, 60),
        "explain": (f"{BRICK} explain {run}", 80, 50),
        "diff": (f"{BRICK} diff --top 3 {a} -- {b}", 100, 60),
        "bench": (f"{BRICK} bench -q --no-history --plain --runs 8 2>/dev/null -- {pair}", 100, 50),
    }
    for name, (command, columns, *rest) in pictures.items():
        if len(sys.argv) < 2 or name in sys.argv[1:]:
            draw(name, screen(command, columns, *rest), columns, directory)
    shutil.rmtree(directory)


main()
