# SPDX-License-Identifier: Apache-2.0
"""What tests of `brick serve` share: starting it, talking to it as plainly as possible."""
import atexit
import contextlib
import os
import re
import select
import signal
import socket
import subprocess
import time

from libcli import BRICK, environment, fail
from libhtml import need_page, skip


def need_server(path):
    """Skips where this build has no page or no server, having checked that it says so."""
    need_page()
    done = subprocess.run([BRICK, "serve", path, "--port", "0", "--bind", "192.0.2.1", "--token",
                           "0123456789abcdef"], capture_output=True, env=environment(), timeout=600)
    if done.returncode == 4 and b"libmicrohttpd" in done.stderr:
        skip(done.stderr.decode().strip())


class Server:
    def __init__(self, *args, **changes):
        self.process = subprocess.Popen([BRICK, "serve", "--port", "0", *map(str, args)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=environment(**changes))
        atexit.register(self.process.kill)  # nothing stays behind when a test fails
        self.said = b""
        deadline = time.monotonic() + 600
        while b"ends it" not in self.said and time.monotonic() < deadline:
            if select.select([self.process.stdout], [], [], 1)[0]:
                part = os.read(self.process.stdout.fileno(), 65536)
                if not part:
                    break
                self.said += part
        match = re.search(rb"http://(\S+):(\d+)/metrics", self.said)
        if not match:
            self.process.kill()
            fail(f"serve {args}: {self.said!r} {self.process.communicate()[1]!r}")
        self.host, self.port = match[1].decode().strip("[]"), int(match[2])

    def connect(self, timeout=600):
        return socket.create_connection((self.host, self.port), timeout=timeout)

    def raw(self, data, timeout=600):
        """Send bytes; all that comes back until the other side is done."""
        with self.connect(timeout) as s:
            with contextlib.suppress(OSError):
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
            out = b""
            with contextlib.suppress(ConnectionError):
                while part := s.recv(65536):
                    out += part
        return out

    def get(self, path="/", method="GET", host="localhost", timeout=600, **headers):
        """(status, headers, body)"""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        answer = self.raw(("\r\n".join(lines) + "\r\n\r\n").encode(), timeout)
        head, _, body = answer.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 "):
            fail(f"{method} {path}: {answer[:200]!r}")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
        return int(head[9:12]), {k.lower(): v for k, v in fields.items()}, body

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        try:
            out, errors = self.process.communicate(timeout=600)
        except subprocess.TimeoutExpired:
            self.process.kill()
            fail("the server does not end")
        errors = b"".join(line for line in errors.splitlines(True)
                          if not line.endswith(b"which is not finished\n"))
        if self.process.returncode or errors:
            fail(f"serve ended with {self.process.returncode}: {errors.decode()[-3000:]}")
        return out
