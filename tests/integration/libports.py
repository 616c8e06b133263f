# SPDX-License-Identifier: Apache-2.0
"""Ports for servers that a test starts, or starts again: below the kernel's own choices, so that no connection takes them."""
import contextlib
import itertools
import os
import socket

PORTS = itertools.count(10000 + os.getpid() % 2000 * 10)  # of this process


def free_port():
    for port in PORTS:
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
