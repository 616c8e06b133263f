# SPDX-License-Identifier: Apache-2.0
"""
alone.py COMMAND...: runs a test, ends what it leaves behind, and ends as it did. A rank whose launcher was killed, or a server
whose test failed, would take the CPU of all later tests.
"""
import ctypes
import os
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
PATIENCE_S = 10  # a keeper still removes its recorder's directory


def children():
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return [int(pid) for pid in file.read().split()]


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def end_others():
    """Their own children come to us as they end."""
    until, said = time.monotonic() + PATIENCE_S, set()
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        if time.monotonic() > until:
            for pid in children():
                if pid not in said:
                    said.add(pid)
                    print(f"the test left {pid} behind, which is killed: {command_of(pid)}")
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def main():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    test = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
    ended = None
    while ended != test:
        ended, status = os.wait()
    end_others()
    code = os.waitstatus_to_exitcode(status)
    sys.exit(128 - code if code < 0 else code)


main()
