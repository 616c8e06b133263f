# SPDX-License-Identifier: Apache-2.0
"""What takes longer than two seconds says on a terminal how far it is, and takes that back; elsewhere
nothing is said."""
import os
import pty
import re
import select
import subprocess
import time

from libcli import BRICK, environment, expect, expect_true, fail, recording


def slowly(path, errors):
    """`brick report` of a pipe whose second half comes late; (its stdin, the process)."""
    process = subprocess.Popen([BRICK, "report", "-"], stdin=subprocess.PIPE, stderr=errors,
                               stdout=subprocess.DEVNULL, env=environment())
    with open(path, "rb") as file:
        data = file.read()
    process.stdin.write(data[:len(data) // 2])
    process.stdin.flush()
    return process, data[len(data) // 2:]


def on_terminal(path):
    parent, child = pty.openpty()
    process, rest = slowly(path, child)
    os.close(child)
    text, until = b"", time.monotonic() + 60
    while b"so far" not in text:
        if not select.select([parent], [], [], max(0, until - time.monotonic()))[0]:
            fail(f"nothing is said: {text!r}")
        text += os.read(parent, 4096)
    process.stdin.write(rest)
    process.stdin.close()
    while True:
        try:
            part = os.read(parent, 4096)
        except OSError:
            break
        if not part:
            break
        text += part
    expect("exit code", process.wait(60), 0)
    expect_true(f"how much: {text!r}", re.search(rb"/dev/stdin: [0-9.]+k?B so far", text))
    expect_true("taken back", text.endswith(b"\r\x1b[K"))


def elsewhere(path):
    process, rest = slowly(path, subprocess.PIPE)
    time.sleep(2.5)
    process.stdin.write(rest)
    process.stdin.close()
    expect("nothing is said", process.stderr.read(), b"")
    expect("exit code", process.wait(60), 0)


PATH = recording()
on_terminal(PATH)
elsewhere(PATH)
