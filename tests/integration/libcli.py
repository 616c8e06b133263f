# SPDX-License-Identifier: Apache-2.0
"""What tests of the commands share: running them, a recording to run them on, and checks."""
import atexit
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import unicodedata
import fcntl
import termios

BUILD = os.environ["BRICK_BUILD"]
BRICK = os.path.join(BUILD, "bin", "brick")
RECORDER = os.path.join(BUILD, "bin", "program-cli_recording")
TMP = tempfile.mkdtemp(prefix="brick-cli-")
atexit.register(shutil.rmtree, TMP, True)


def environment(**changes):
    """A plain environment: UTF-8, all columns, no wishes about colours."""
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "LC_ALL", "LANG", "LC_CTYPE", "TERM")}
    env.update({"LC_ALL": "C.UTF-8", "TERM": "xterm", "COLUMNS": "0"}, **changes)
    return {k: v for k, v in env.items() if v is not None}


def brick(*args, code=0, stdin=None, cwd=None, **changes):
    """Run a command that must end with this code; (stdout, stderr) as bytes."""
    done = subprocess.run([BRICK, *args], capture_output=True, env=environment(**changes),
                          stdin=stdin, cwd=cwd, timeout=600)
    if done.returncode != code:
        fail(f"brick {' '.join(map(str, args))}: exit {done.returncode}, expected {code}\n"
             f"{done.stdout[-2000:]!r}\n{done.stderr[-2000:]!r}")
    return done.stdout, done.stderr


def brick_json(*args):
    return json.loads(brick(*args)[0])


def on_terminal(*args, rows=50, columns=80, **changes):
    """What a command prints on a terminal of that size."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen([BRICK, *args], stdout=child, stderr=child, stdin=child,
                               env=environment(**{"COLUMNS": None, **changes}))
    os.close(child)
    out = b""
    while select.select([parent], [], [], 600)[0]:
        try:
            part = os.read(parent, 65536)
        except OSError:
            break
        if not part:
            break
        out += part
    os.close(parent)
    if process.wait() != 0:
        fail(f"brick {' '.join(args)} on a terminal: exit {process.returncode}\n{out!r}")
    return out.decode().replace("\r\n", "\n")


def recording(name="run.pftrace", *args, **env):
    """A recording of the engine in miniature."""
    path = os.path.join(TMP, name)
    subprocess.run([RECORDER, path, *args], check=True, timeout=600, env={**os.environ, **env})
    return path


def shortest_step(path):
    """Its number. Beside other programs it is a step that nobody preempted."""
    rows = [row for row in brick_json("report", "--by", "step", "--json", path)["each_step"] if row["step_ns"] is not None]
    return min(rows, key=lambda row: row["step_ns"])["name"].split()[-1]


def columns_of(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in line)


def plain(text):
    """Without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def fail(message):
    sys.exit(message)


def expect(what, got, want):
    if got != want:
        fail(f"{what}: got {got!r}, expected {want!r}")


def expect_true(what, good):
    if not good:
        fail(what)
