# SPDX-License-Identifier: Apache-2.0
"""On a terminal: the program owns it, Ctrl-C and Ctrl-Z reach it once, and the recording is whole."""
import contextlib
import os
import pty
import select
import signal
import time

from librecord import *

need(PRODUCER)


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, *command):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(command[0], command)
        RECORDERS.add(self.pid)
        self.text = b""

    def expect(self, word):
        until = time.monotonic() + 600
        while word not in self.text:
            ready, _, _ = select.select([self.fd], [], [], max(0, until - time.monotonic()))
            check(ready, "waited for", word, "in", self.text)
            try:
                self.text += os.read(self.fd, 4096)
            except OSError:
                check(word in self.text, "the terminal was closed before", word, self.text)

    def type(self, keys):
        os.write(self.fd, keys)

    def ended(self):
        """Exit code; reads the rest."""
        try:
            while data := os.read(self.fd, 4096):
                self.text += data
        except OSError:
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def interrupt(out):
    script = ("trap 'n=$((n+1)); echo int $n' INT; trap 'echo quit; exit 5' QUIT; echo ready; "
              "while :; do sleep 0.05; done")
    t = Terminal(BRICK, "record", "-o", out, "--", "sh", "-c", script)
    t.expect(b"ready")
    for count in (b"1", b"2"):
        t.type(b"\x03")
        t.expect(b"int " + count)
    t.type(b"\x1c")
    t.expect(b"quit")
    same(t.ended(), 5, "exit code")
    check(b"int 3" not in t.text, "an interrupt arrived twice", t.text)
    check(Trace(out).last("brick.end"), "the recording is not whole")
    # what does not catch it is ended by it
    t = Terminal(BRICK, "record", "-o", out, "--", PRODUCER, "samples=10", "say=ready", "sleep=3600000")
    t.expect(b"ready")
    t.type(b"\x03")
    same(t.ended(), 130, "exit code after Ctrl-C")
    same(Trace(out).begins, 10, "samples")


def ownership(out):
    script = "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo terminal; read line; echo got $line"
    t = Terminal(BRICK, "record", "-q", "-o", out, "--", "sh", "-c", script)
    t.expect(b"terminal")
    t.type(b"some words\n")
    t.expect(b"got some words")
    same(t.ended(), 0, "exit code")


def stop(out):
    """Ctrl-Z stops recorder and program together, and a shell continues both."""
    t = Terminal("/bin/sh", "-i")
    t.type(f"PS1=; {BRICK} record -o {out} -- {PRODUCER} samples=3 say=ready copy say=done samples=1\n".encode())
    t.expect(b"ready\r\n")
    t.type(b"\x1a")
    t.expect(b"Stopped")
    t.type(b"fg\n")
    t.expect(b"samples=1\r\n")  # the shell names what it continues
    t.type(b"\x04")
    t.expect(b"done\r\n")
    t.type(b"echo code $?; exit\n")
    t.expect(b"code 0")
    t.ended()
    same(Trace(out).begins, 4, "samples")


def stopped(out):
    """A program that stops itself gives the terminal back to the shell, which continues both."""
    t = Terminal("/bin/sh", "-i")
    t.type(f"PS1=; {BRICK} record -o {out} -- sh -c '{PRODUCER} samples=3; kill -STOP $$; {PRODUCER} samples=1 say=done'\n".encode())
    t.expect(b"Stopped")
    t.type(b"fg\n")
    t.expect(b"done\r\n")
    t.type(b"echo code $?; exit\n")
    t.expect(b"code 0")
    t.ended()
    same(Trace(out).begins, 4, "samples")


def wait_interrupted(out):
    """--wait can be ended by hand."""
    t = Terminal(BRICK, "record", "--wait", "-o", out, "--", "sh", "-c",
                 f"{PRODUCER} samples=4 sleep=3600000 </dev/null >/dev/null 2>&1 & echo $!; sleep 1; echo ended")
    t.expect(b"ended")
    pid = int(t.text.split()[0])
    time.sleep(3)
    same(os.waitpid(t.pid, os.WNOHANG), (0, 0), "3 s after the end of the program, the recorder")
    # the background job of a shell without job control ignores it
    t.type(b"\x03")
    same(t.ended(), 0, "exit code")
    check(b"1 process is still running" in t.text, t.text)
    with contextlib.suppress(ProcessLookupError):  # the end of its terminal ends it, too
        os.kill(pid, signal.SIGKILL)
    same(Trace(out).begins, 4, "samples")


with Scratch() as scratch:
    for test in (interrupt, ownership, stop, stopped, wait_interrupted):
        test(scratch.file(test.__name__ + ".pftrace"))
    same(sessions(), set(), "session directories left")
