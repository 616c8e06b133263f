# SPDX-License-Identifier: Apache-2.0
"""What takes longer than two seconds says on a terminal how far it is, and takes that back; elsewhere
nothing is said."""
import os
import pty
import re
import select
import subprocess
import time

from libcli import BRICK, BUILD, TMP, environment, expect, expect_true, fail, recording


BIG = os.path.join(TMP, "big.pftrace")


def slowly(path, errors, command=("report", "-")):
    """A command on a pipe whose second half comes late; (its stdin, the process)."""
    process = subprocess.Popen([BRICK, *command], stdin=subprocess.PIPE, stderr=errors,
                               stdout=subprocess.DEVNULL, env=environment())
    with open(path, "rb") as file:
        data = file.read()
    process.stdin.write(data[:len(data) // 2])
    process.stdin.flush()
    return process, data[len(data) // 2:]


def said(parent, wanted):
    """All that is said until that is."""
    text, until = b"", time.monotonic() + 600
    while not re.search(wanted, text):
        if not select.select([parent], [], [], max(0, until - time.monotonic()))[0]:
            fail(f"nothing is said: {text!r}")
        text += os.read(parent, 4096)
    return text


def rest_of(parent, text):
    while True:
        try:
            part = os.read(parent, 4096)
        except OSError:
            break
        if not part:
            break
        text += part
    expect_true("taken back", text.endswith(b"\r\x1b[K"))


def on_terminal(path, command, what):
    parent, child = pty.openpty()
    process, rest = slowly(path, child, command)
    os.close(child)
    text = said(parent, what + rb": [0-9.]+[kM]?B so far")
    process.stdin.write(rest)
    process.stdin.close()
    rest_of(parent, text)
    expect("exit code", process.wait(60), 0)


def writing():
    """An export whose reader is slow."""
    parent, child = pty.openpty()
    process = subprocess.Popen([BRICK, "export", "--format", "csv", BIG], stdout=subprocess.PIPE,
                               stderr=child, env=environment())
    os.close(child)
    text = said(parent, rb"export: [0-9]+%, [0-9]+ s left")  # on a slow machine it says how far it has read, too
    lines = process.stdout.read().count(b"\n")
    rest_of(parent, text)
    expect("exit code", process.wait(60), 0)
    expect_true(f"all of it: {lines}", lines > 100000)


def elsewhere(path):
    process, rest = slowly(path, subprocess.PIPE)
    time.sleep(2.5)
    process.stdin.write(rest)
    process.stdin.close()
    expect("nothing is said", process.stderr.read(), b"")
    expect("exit code", process.wait(60), 0)


PATH = recording()
subprocess.run([os.path.join(BUILD, "bin", "program-demo_recording"), BIG, "100000", "2"], check=True,
               timeout=600)
on_terminal(PATH, ("report", "-"), rb"/dev/stdin")
on_terminal(BIG, ("diff", "--disturbed", BIG, "/dev/stdin"), rb"2 recordings")
writing()
elsewhere(PATH)
