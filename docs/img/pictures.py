#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Makes pictures of all that people see, in build/pictures/drawn, and renews those of this folder. They show what each command
prints, as terminals of 80x24 and 200x50 show it with all that has scrolled by (tmux, drawn by Chromium), and the page at 1400
and 390 pixels, light and dark, of recordings of the real engine on the CPU and on a Vulkan device. Needs `make`,
examples/demo/models.sh, tmux, chromium, node and pngquant.

    docs/img/pictures.py [NAME...]      all of them, or those whose names begin so
"""
import glob
import html
import os
import re
import shutil
import subprocess
import sys
import time

BUILD = "build"  # commands are shown as they are typed
BRICK = os.path.join(BUILD, "bin", "brick")
ROOM = os.path.join(BUILD, "pictures")
OUT, SHOWN = os.path.join(ROOM, "drawn"), "docs/img"
SIZES = ((80, 24), (200, 50))
MAX_LINES = 125  # of a picture
COLOURS = ["#1d1f21", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#c8ccd4"]
BRIGHT = ["#7f848e", "#ff7b86", "#b5e890", "#ffd98b", "#82c7ff", "#e09cf5", "#7fdbe6", "#ffffff"]
STYLE = """body { margin: 0; background: #1d1f21 } pre { margin: 8px; color: #c8ccd4;
    font: %dpx/%dpx 'DejaVu Sans Mono', monospace }"""


def engine(model, *options):
    return [os.path.join(BUILD, "bin", "brick-llama"), "--libs", f"{BUILD}/demo/engine/libs", "--model",
            f"{BUILD}/demo/model-{model}.gguf", "--threads", "1", *options]


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


def screen(command, columns, rows, keys=(), live=False):
    """What a terminal of that size has shown when the command has ended; or, of a live view, what it shows after a while."""
    tmux("-f", "/dev/null", "new-session", "-d", "-s", "s", "-x", str(columns), "-y", str(rows),
         f"export LC_ALL=C.UTF-8 TERM=tmux-256color; clear; {command}; echo; echo END; sleep 600")
    until = time.monotonic() + 180
    while not live and "\nEND" not in tmux("capture-pane", "-p", "-t", "s") and time.monotonic() < until:
        time.sleep(0.5)
    time.sleep(live)
    for key in keys:
        tmux("send-keys", "-t", "s", key)
        time.sleep(2)
    text = tmux("capture-pane", "-e", "-p", "-t", "s", *(("-N",) if live else ("-S", "-")))
    tmux("kill-server")
    lines = re.sub(r"\n\s*(?:\x1b\[[0-9;]*m)*END\b.*", "\n", text, flags=re.S).split("\n")
    return "\n".join(lines[:MAX_LINES] + (["..."] if len(lines) > MAX_LINES else []))


def smaller(picture, colours=64):
    """By a palette; letters need fewer colours than charts."""
    subprocess.run(["pngquant", "--force", "--skip-if-larger", "--strip", "--output", picture, str(colours), picture], check=False)
    print(f"{picture}: {os.path.getsize(picture)} bytes", flush=True)


def shoot(address, picture, width, height):
    subprocess.run([shutil.which("chromium") or "chromium-browser", "--headless", "--no-sandbox", "--hide-scrollbars", "--disable-lcd-text",
                    f"--window-size={width},{height}", f"--screenshot={os.path.abspath(picture)}", address],
                   check=True, capture_output=True, timeout=120)
    smaller(picture, 24)


def draw(name, text, columns):
    size = 12 if columns < 150 else 11  # of the letters
    page = os.path.join(ROOM, "page.html")
    with open(page, "w") as file:
        file.write(as_html(text, size))
    shoot(page, os.path.join(OUT, f"terminal-{name}.png"), int(columns * size * 0.603) + 18,
          text.rstrip("\n").count("\n") * (size + 3) + size + 19)


def record(name, command, *options, **environment):
    """The recording of that name, made once."""
    path = os.path.join(ROOM, name + ".pftrace")
    if not os.path.exists(path):
        subprocess.run([BRICK, "record", "-q", *options, "-o", path, "--", *command], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, **environment})
    return path


def on_device():
    """The demo's engine on a Vulkan device, which may be Mesa's lavapipe."""
    libraries = sorted(glob.glob(f"{BUILD}/demo/engine-vulkan/*"))[-1]
    model = os.path.join(ROOM, "small.gguf")
    if not os.path.exists(model):
        subprocess.run([f"{BUILD}/bin/brick-model", "--layers", "3", "--embd", "256", "--heads", "4", "--kv-heads", "2", "--ff", "512",
                        "--vocab", "512", model], check=True)
    os.environ["GGML_VK_VISIBLE_DEVICES"] = "0"  # also where that is lavapipe, which ggml leaves alone by itself
    command = [f"{BUILD}/bin/brick-llama", "--libs", libraries, "--model", model, "--prompt-tokens", "8", "--flash", "on"]
    record("shaders", [*command, "--predict", "2"], MESA_SHADER_CACHE_DIR=f"{BUILD}/demo/shader-cache")  # compiles them
    return record("vulkan", [*command, "--predict", "12"], MESA_SHADER_CACHE_DIR=f"{BUILD}/demo/shader-cache")


def prepare():
    """Recordings by name; ceilings and a history."""
    os.makedirs(OUT, exist_ok=True)
    os.environ.update(XDG_CACHE_HOME=os.path.abspath(os.path.join(ROOM, "cache")),
                      XDG_CONFIG_HOME=os.path.abspath(os.path.join(ROOM, "config")), BRICK_DB=os.path.join(ROOM, "history.db"))
    if not os.path.exists(os.environ["XDG_CACHE_HOME"]):
        subprocess.run([BRICK, "ceilings"], check=True, stdout=subprocess.DEVNULL)
    asked = ("--prompt-tokens", "256", "--predict", "128")
    runs = {"run": record("run", engine("f16", *asked)), "vulkan": on_device()}
    for side, model in (("a", "f16"), ("b", "q8_0")):
        runs[side] = " ".join(record(f"{side}{i}", engine(model, *asked)) for i in range(4))
        runs["digest-" + side] = record("digest-" + side, engine(model, "--prompt-tokens", "16", "--predict", "2"), "--digest")
    decoder = [f"{BUILD}/bin/example-decoder", "--model", f"{BUILD}/demo/model-f16.gguf", "--prompt-tokens", "70", "--predict", "8"]
    runs["tiles"] = record("tiles", decoder, "--tiles")
    return runs


def commands(runs):
    """Name: what is typed, keys, and for how many seconds what lives is left alone."""
    live = f"{BRICK} top -- " + " ".join(engine("f16", "--prompt-tokens", "256", "--predict", "128", "--repeat", "200"))
    once = " ".join(engine("f16", "--prompt-tokens", "64", "--predict", "16"))
    pair = " --- ".join(" ".join(engine(model, "--prompt-tokens", "64", "--predict", "32")) for model in ("f16", "q8_0"))
    run, vulkan = runs["run"], runs["vulkan"]
    return {
        "help": (f"{BRICK} --help",),
        "record": (f"{BRICK} record --no-history -o {ROOM}/again.pftrace -- {once}",),
        "report": (f"{BRICK} report {run}",),
        "report-vulkan": (f"{BRICK} report --phase decode {vulkan}",),
        "tree": (f"{BRICK} tree --step decode {run}",),
        "tree-vulkan": (f"{BRICK} tree --step decode {vulkan}",),
        "path": (f"{BRICK} path {run}",),
        "path-vulkan": (f"{BRICK} path --phase decode {vulkan}",),
        "ceilings": (f"{BRICK} ceilings",),
        "roofline": (f"{BRICK} roofline {run}",),
        "roofline-vulkan": (f"{BRICK} roofline --phase decode {vulkan}",),
        "tiles": (f"{BRICK} tiles --map {runs['tiles']}",),
        "explain": (f"{BRICK} explain {run}",),
        "explain-vulkan": (f"{BRICK} explain {vulkan}",),
        "diff": (f"{BRICK} diff {runs['a']} -- {runs['b']}",),
        "bench": (f"{BRICK} bench -q --no-history --runs 6 2>/dev/null -- {pair}",),
        "history-list": (f"{BRICK} history list",),
        "history-plot": (f"{BRICK} history plot",),
        "history-show": (f"{BRICK} history show @1",),
        "diverge": (f"{BRICK} diverge {runs['digest-a']} {runs['digest-b']}",),
        "flame-folded": (f"{BRICK} flame --format folded {run} | head -20",),
        "doctor": (f"{BRICK} doctor",),
        "selftest": (f"{BRICK} selftest",),
        "top": (live, (), 45),
        "top-help": (f"{BRICK} top {run}", ("?",), 3),
        "top-tree": (f"{BRICK} top --view tree --expand {run}", (), 3),
        "top-path": (f"{BRICK} top --view path {run}", (), 3),
        "top-queues": (f"{BRICK} top --view queues {vulkan}", (), 3),
        "top-losses": (f"{BRICK} top --view losses {run}", (), 3),
    }


def pages(runs):
    """Of a run and of a comparison, by src/ui/page/pictures.mjs; and a flame graph."""
    made = os.path.join(ROOM, "pages")
    shutil.rmtree(made, ignore_errors=True)
    os.makedirs(made)
    subprocess.run([BRICK, "report", runs["run"], "--html", f"{ROOM}/run.html"], check=True)
    subprocess.run([f"{BRICK} diff {runs['a']} --html {ROOM}/diff.html -- {runs['b']} >/dev/null"], shell=True, check=False)
    for page in ("run", "diff"):
        subprocess.run(["node", "src/ui/page/pictures.mjs", f"{BUILD}/html", shutil.which("chromium") or "chromium-browser",
                        f"{ROOM}/{page}.html", made], check=True)
    for picture in sorted(os.listdir(made)):
        smaller(shutil.move(os.path.join(made, picture), os.path.join(OUT, picture)))
    subprocess.run([BRICK, "flame", runs["run"], "-o", f"{ROOM}/flame.svg"], check=True)
    shoot(os.path.abspath(f"{ROOM}/flame.svg"), os.path.join(OUT, "flame.png"), 1400, 160)


def main():
    os.chdir(os.path.join(os.path.dirname(__file__), "..", ".."))
    runs = prepare()
    wanted = lambda name: len(sys.argv) < 2 or name.startswith(tuple(sys.argv[1:]))
    for name, (command, *rest) in commands(runs).items():
        for columns, rows in SIZES:
            if wanted(name):
                draw(f"{name}-{columns}x{rows}", screen(command, columns, rows, *rest), columns)
    if wanted("pages"):
        pages(runs)
    for picture in os.listdir(OUT):
        if os.path.exists(os.path.join(SHOWN, picture)):
            shutil.copyfile(os.path.join(OUT, picture), os.path.join(SHOWN, picture))


main()
