# SPDX-License-Identifier: Apache-2.0
"""What tests of `brick top` share: a recording that is always the same, and tmux to drive it in."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

from libcli import BRICK, BUILD, TMP, environment, expect, expect_true, fail

VIEWS = ["bricks", "categories", "layers", "threads", "queues", "tree", "path", "losses"]
PRODUCER = os.path.join(BUILD, "bin", "program-record_producer")


def golden_recording():
    path = os.path.join(TMP, "golden.pftrace")
    subprocess.run([os.path.join(BUILD, "bin", "program-top_recording"), path], check=True,
                   timeout=600)
    return path


def dump(*args, size="80x24", code=0, **changes):
    """One screen as plain text."""
    done = subprocess.run([BRICK, "top", "--dump", size, *args], capture_output=True,
                          env=environment(**changes), timeout=600)
    if done.returncode != code:
        fail(f"brick top --dump {size} {args}: exit {done.returncode}\n{done.stderr!r}")
    return done.stdout.decode()


def keep_ceilings():
    """Ceilings for the machine of the golden recording, where brick looks for them."""
    home = os.path.join(TMP, "cache")
    os.makedirs(os.path.join(home, "brick"), exist_ok=True)
    figure = lambda best: {"best": best, "median": best, "worst": best, "repetitions": 3}
    document = {
        "schema": "brick/ceilings/1", "measured_unix_ns": 1700000000000000000, "took_ns": 1,
        "host": "box", "cpu": "A CPU", "microcode": "", "cpus": 2, "most_threads": 2,
        "quick": False,
        "levels": [{"name": "L1", "bytes": 32768, "cpus": 1},
                   {"name": "memory", "bytes": None, "cpus": 2}],
        "compute_gops": [{"isa": "AVX2", "type": "f32", "threads": n, **figure(20.0 * n)}
                         for n in (1, 2)],
        "bandwidth_gb_per_s": [
            {"level": level, "kernel": "read", "isa": "AVX2", "threads": n,
             "working_set_bytes": 16384, **figure(rate * n)}
            for level, rate in (("L1", 80.0), ("memory", 8.0)) for n in (1, 2)],
        "latency_ns": [{"backend": "threads", "what": "barrier", "threads": 2, **figure(70.0)}],
        "missing": []}
    with open(os.path.join(home, "brick", "ceilings-box-A-CPU.json"), "w") as file:
        json.dump(document, file)
    return home


def rows(text, first):
    """Lines of the table whose title begins with `first`, without the key line at the end."""
    lines = re.sub(r"(\S+)[▼▲]", r" \1", text).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(first + " "))
    return lines[at], [line for line in lines[at + 1:-1] if line.strip()]


class Tmux:
    """A terminal that is driven as a person would."""

    def __init__(self, *command, size=(80, 24), **changes):
        if not shutil.which("tmux"):
            print("skipped: there is no tmux")
            raise SystemExit(77)
        self.directory = tempfile.mkdtemp(prefix="brick-tmux-")
        self.socket = os.path.join(self.directory, "s")
        self.code = os.path.join(self.directory, "code")
        script = os.path.join(self.directory, "run.sh")
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in command)
        with open(script, "w") as file:
            for name, value in changes.items():
                file.write(f"export {name}='{value}'\n" if value is not None else f"unset {name}\n")
            file.write(f"{quoted}\necho $? > {self.code}\nexec sleep 600\n")
        env = environment()
        env.pop("TMUX", None)
        self.env = env
        self.tmux("-f", "/dev/null", "-u", "new-session", "-d", "-x", str(size[0]), "-y",
                  str(size[1]), "sh", script)

    def tmux(self, *args):
        done = subprocess.run(["tmux", "-S", self.socket, *args], capture_output=True,
                              env=self.env, timeout=600)
        if done.returncode:
            fail(f"tmux {args}: {done.stderr!r}")
        return done.stdout.decode()

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def screen(self, colours=False):
        return self.tmux("capture-pane", "-p", *(["-e"] if colours else []))

    def wait(self, *words, gone=None, seconds=100):
        """Until all words are on the screen, and it was drawn to its end: the next look shows the same, or the
        twentieth, where a program goes on. Returns it."""
        until, before, looks = time.monotonic() + seconds, None, 0
        while True:
            screen = self.screen()
            if all(re.search(w, screen) for w in words) and not (gone and re.search(gone, screen)):
                looks += 1
                if screen == before or looks == 20:
                    return screen
            elif time.monotonic() > until:
                fail(f"waited for {words} (and {gone} to go), but there is\n{screen}")
            before = screen
            time.sleep(0.05)

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def exit_code(self, seconds=100):
        until = time.monotonic() + seconds
        while not os.path.exists(self.code) or not os.path.getsize(self.code):
            if time.monotonic() > until:
                fail(f"it did not end:\n{self.screen()}")
            time.sleep(0.05)
        with open(self.code) as file:
            return int(file.read())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True,
                       env=self.env)
        shutil.rmtree(self.directory, ignore_errors=True)


def recording_of_engine():
    from libcli import recording
    return recording("engine.pftrace")
