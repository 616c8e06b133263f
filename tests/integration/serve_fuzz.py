# SPDX-License-Identifier: Apache-2.0
"""
Requests that no sane client sends, mutated from sane ones: the server stays, answers sane ones as
before, and gives nothing away. Run under ASan it also shows that nothing was read or written where
it must not be (tests/run.sh does so). SEED=n repeats a run, ROUNDS=n makes it longer.
"""
import contextlib
import os
import random
import re
import socket

from libcli import expect, expect_true, recording
from libserve import Server, need_server

TOKEN = "correct-horse-battery-staple"
SEEDS = [
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\n\r\n",
    b"GET /data.json?token=abc&token=def HTTP/1.1\r\nHost: 127.0.0.1:80\r\nIf-None-Match: \"1\"\r\n"
    b"Authorization: Bearer abcdef\r\nCookie: a=b; c=\"d\r\n\r\n",
    b"GET /step.json?step=3 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /timeline.json?since=1000&until=500000 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"HEAD / HTTP/1.0\r\nHost: [::1]:99\r\nConnection: keep-alive\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
    b"PUT /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n0123456789",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
]
PIECES = [b"\r\n", b"\n", b"\r", b"\0", b"\xff" * 9, b": ", b"%", b"%2e%2e/", b"A" * 40000,
          b"Content-Length: -1\r\n", b"Content-Length: 99999999999999999999\r\n", b"[", b"]:",
          b"Transfer-Encoding: chunked\r\n", b"fffffffffffffffff\r\n", b"Host: \r\n", b"HTTP/9.9",
          b"Authorization: Bearer \r\n", b"?token=", b"&=&&=", b"\t", b" ", b"x: y\r\n" * 900]


def mutate(dice):
    data = bytearray(dice.choice(SEEDS))
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(data) + 1)
        kind = dice.randrange(5)
        if kind == 0:
            data[at:at] = dice.choice(PIECES)
        elif kind == 1:
            del data[at:at + dice.randint(1, 30)]
        elif kind == 2 and at < len(data):
            data[at] = dice.randrange(256)
        elif kind == 3:
            data[at:at] = data[dice.randrange(len(data) + 1):][:dice.randint(1, 200)]
        else:
            data += dice.choice(SEEDS)
        if not data:
            data += b"\r\n"
    return bytes(data)


def throw(server, dice, data):
    """In one piece or several; sometimes without waiting for the answer, sometimes with a reset."""
    out = b""
    with contextlib.suppress(OSError), server.connect(20) as s:
        while data:
            n = dice.choice((len(data), len(data), dice.randint(1, len(data))))
            s.sendall(data[:n])
            data = data[n:]
        if dice.randrange(4) == 0:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            return b""
        s.shutdown(socket.SHUT_WR)
        s.settimeout(0.2)  # what is not whole gets no answer
        while part := s.recv(65536):
            out += part
    return out


def main():
    path = recording()
    need_server(path)
    seed = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"SEED={seed}")
    dice = random.Random(seed)
    plain, guarded = Server(path), Server(path, "--token", TOKEN)
    before = plain.get("/metrics")[2]
    for i in range(int(os.environ.get("ROUNDS", "600"))):
        data = mutate(dice)
        throw(plain, dice, data)
        out = throw(guarded, dice, data)
        expect_true(f"SEED={seed}: request {i} got numbers without a token: {data[:300]!r}",
                    not any(word in out for word in (b"brick_tokens", b"brick/page", b'"windows"', b'"kinds"')))
        if i % 100 == 0:
            expect(f"SEED={seed}: answers after request {i}", plain.get("/metrics")[2], before)
    expect("answers at the end", plain.get("/metrics")[2], before)
    own = rb"(?m)^process_.*\n"  # each server's own
    expect("with a token", re.sub(own, b"", guarded.get("/metrics", Authorization=f"Bearer {TOKEN}")[2]),
           re.sub(own, b"", before))
    plain.stop()
    guarded.stop()


main()
