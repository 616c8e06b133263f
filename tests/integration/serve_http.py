# SPDX-License-Identifier: Apache-2.0
"""
`brick serve`: what it gives out and what not, to whom; while a recording grows and when it is
finished; by the id of a process; slow and many clients; the end by a signal.
"""
import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

from libcli import BRICK, BUILD, TMP, brick, brick_json, environment, expect, expect_true, recording
from libserve import Server, need_server

TOKEN = "correct-horse-battery-staple"


def data_of(server):
    status, _, body = server.get("/data.json")
    expect("data", status, 200)
    return json.loads(body)


def documents(server, path):
    status, headers, body = server.get("/")
    expect("page", (status, headers["content-type"]), (200, "text/html; charset=utf-8"))
    expect_true("whole page", body.startswith(b"<!DOCTYPE html>") and body.rstrip().endswith(b"</html>"))
    for name in ("x-content-type-options", "x-frame-options", "referrer-policy", "cache-control",
                 "cross-origin-resource-policy"):
        expect_true(f"{name} is set", name in headers)
    expect_true("nothing may read it from elsewhere", "access-control-allow-origin" not in headers)
    page = data_of(server)
    expect("numbers", page["report"], brick_json("report", "--json", path))
    expect("not live", (page["live"], page["served"]), (False, True))
    status, headers, body = server.get("/metrics")
    expect("metrics", (status, headers["content-type"]),
           (200, "application/openmetrics-text; version=1.0.0; charset=utf-8"))
    expect_true("end of metrics", body.endswith(b"# EOF\n"))
    status, headers, body = server.get("/", method="HEAD")
    expect("HEAD", (status, body), (200, b""))
    expect_true("its length", int(headers["content-length"]) > 10000)
    tag = server.get("/data.json")[1]["etag"]
    expect("known already", server.get("/data.json", If_None_Match=tag)[0], 304)
    expect("another", server.get("/data.json", If_None_Match='"1"')[0], 200)


def questions(server, path):
    """A step as `brick tree` has it, and what ran when."""
    page = data_of(server)
    expect("no samples in a served page", (page["trees"]["others"], page["timeline"]["windows"]), ([], []))
    for number in (1, 7):
        status, headers, body = server.get(f"/step.json?step={number}")
        expect("step", (status, headers["content-type"]), (200, "application/json"))
        answer = json.loads(body)
        nodes, tree = answer["step"]["nodes"], []

        def walk(node):
            tree.append((node["name"], node["count"], node["time_ns"], node["self_ns"]))
            for inner in node["children"]:
                walk(inner)
        walk(brick_json("tree", "--json", "--nodes", "--step", str(number), path)["trees"][0]["tree"])
        expect(f"step {number}", sorted(zip((answer["names"][n] for n in nodes["name"]), nodes["count"],
                                            nodes["time_ns"], nodes["self_ns"])), sorted(tree))
    for bad in ("", "?step=0", "?step=99999", "?step=-1", "?step=x", "?step=", "?step=" + "9" * 40):
        expect(f"step {bad}", server.get("/step.json" + bad)[0], 404)
    whole = json.loads(server.get("/timeline.json")[2])
    expect_true("all of it", sum(lane["count"] for lane in whole["windows"][0]["lanes"]) > 100)
    wall = page["timeline"]["wall_ns"]
    for since, until in ((0, 0), (wall, wall), (wall, 0), (2**64 - 1, 2**64 - 1), ("x", "-1"),
                         (wall // 3, wall // 2), (0, 10**30)):
        status, _, body = server.get(f"/timeline.json?since={since}&until={until}")
        expect(f"{since} to {until}", status, 200)
        window = json.loads(body)["windows"][0]
        expect_true(f"{since} to {until} lies in the run: {window['begin_ns']} to {window['end_ns']}",
                    0 <= window["begin_ns"] < window["end_ns"] <= wall)


def nothing_else(server):
    for path in ("/index.html", "//", "/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/metrics/",
                 "/..%2f..%2fetc%2fpasswd", "/data.json/..", "/" + "a" * 5000, "/\\..\\", "/%00",
                 "/metrics%00", "*"):
        status, _, body = server.get(path)
        expect_true(f"{path[:40]}: {status}", status in (400, 404, 414))
        expect_true("no file", b"root:" not in body)
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "get", "X" * 300):
        expect_true(f"{method[:9]} is refused", server.get("/", method=method)[0] in (400, 405, 501))
    expect("GET with a body", server.get("/", Content_Length="5")[0], 413)
    expect("GET with chunks", server.get("/", Transfer_Encoding="chunked")[0], 413)


def names(server):
    for host in ("localhost", f"localhost:{server.port}", "127.0.0.1", f"127.0.0.1:{server.port}",
                 "[::1]:80"):
        expect(f"Host {host}", server.get("/metrics", host=host)[0], 200)
    for host in ("evil.example", "localhost.evil.example", "192.168.0.7", "", "127.0.0.1.nip.io"):
        expect_true(f"Host {host} is refused", server.get("/metrics", host=host)[0] in (400, 421))
    expect_true("no Host at all", b" 400 " in server.raw(b"GET / HTTP/1.1\r\n\r\n")[:20])
    expect_true("not in HTTP/1.0", b" 421 " in server.raw(b"GET / HTTP/1.0\r\n\r\n")[:20])


def tokens(path):
    for args, code in ((["--bind", "0.0.0.0"], 2), (["--token", "short"], 2),
                       (["--bind", "localhost", "--token", TOKEN], 2),
                       (["--port", "99999"], 2), (["--token", "has blanks in it, it has"], 2),
                       (["--bind", "192.0.2.1", "--token", TOKEN], 4)):
        brick("serve", path, *args, code=code)
    for server in (Server(path, "--bind", "0.0.0.0", "--token", TOKEN),
                   Server(path, BRICK_SERVE_TOKEN=TOKEN)):
        expect_true("the token is not printed", TOKEN.encode() not in server.said)
        for headers, good in (({}, False), ({"Authorization": f"Bearer {TOKEN}"}, True),
                              ({"Authorization": f"Bearer {TOKEN}x"}, False),
                              ({"Authorization": f"Bearer {TOKEN[:-1]}"}, False),
                              ({"Authorization": f"Basic {TOKEN}"}, False),
                              ({"Authorization": "Bearer "}, False)):
            for place in ("/", "/metrics", "/data.json", "/step.json?step=1", "/timeline.json"):
                expect(f"{place} with {headers}", server.get(place, **headers)[0],
                       200 if good else 401)
        expect("asked for", server.get("/")[1]["www-authenticate"], 'Bearer realm="brick"')
        expect("by query", server.get(f"/?token={TOKEN}")[0], 200)
        expect("a wrong one by query", server.get("/?token=1")[0], 401)
        expect("nothing is told without", server.get("/nothing")[0], 401)
        server.stop()


def grows(path):
    """A file that is being written: parts of a finished one, and a process that has it open."""
    with open(path, "rb") as file:
        whole = file.read()
    growing = os.path.join(TMP, "growing.pftrace")
    with open(growing + ".part", "wb") as file:
        file.write(whole[:len(whole) // 2])
        file.flush()
        by_pid = Server(os.getpid())
        expect_true("the recording of a process", b"growing.pftrace" in by_pid.said)
        by_pid.process.terminate()
        expect("its end", by_pid.process.wait(timeout=600), 0)
        server = Server(growing)
        first = data_of(server)
        expect_true("live", first["live"])
        tag = server.get("/data.json")[1]["etag"]
        file.write(whole[len(whole) // 2:])
        file.flush()
        deadline = time.monotonic() + 600
        while server.get("/data.json")[1]["etag"] == tag and time.monotonic() < deadline:
            time.sleep(0.2)
        second = data_of(server)
        expect_true("more samples", second["report"]["coverage"]["samples"] >
                    first["report"]["coverage"]["samples"])
    os.rename(growing + ".part", growing)
    while data_of(server)["live"] and time.monotonic() < deadline:
        time.sleep(0.2)
    expect("finished", data_of(server)["live"], False)
    expect("all of it", data_of(server)["report"], brick_json("report", "--json", growing))
    with open(growing, "wb") as file:
        file.write(b"no recording")
    while b"failures_total 0" in server.get("/metrics")[2] and time.monotonic() < deadline:
        time.sleep(0.2)
    expect("numbers of before are kept", data_of(server)["report"]["coverage"],
           brick_json("report", "--json", path)["coverage"])
    os.remove(growing)
    os.mkfifo(growing)  # nobody ever writes to it
    while b"failures_total 1" in server.get("/metrics")[2] and time.monotonic() < deadline:
        time.sleep(0.2)
    expect_true("a pipe is no recording", data_of(server)["report"])
    server.process.send_signal(signal.SIGTERM)
    errors = server.process.communicate(timeout=600)[1]
    expect_true(f"and it was said: {errors!r}", b"older numbers" in errors and server.process.returncode == 0)
    expect_true("from the start", b"no regular file" in brick("serve", growing, code=3)[1])
    brick("serve", str(os.getpid()), code=3)
    brick("serve", os.path.join(TMP, "none.pftrace"), code=3)
    brick("serve", code=2)


def recorded_process():
    """A program that is really being recorded, by its own process id."""
    out = os.path.join(TMP, "really.pftrace")
    script = ("import subprocess, sys, time\n"
              "child = subprocess.Popen([sys.argv[1], sys.argv[2]])\n"
              "print(child.pid, flush=True)\n"
              "time.sleep(600)\n")
    recorder = subprocess.Popen([BRICK, "record", "-o", out, "--", sys.executable, "-c", script,
                                 shutil.which("sleep"), "600"], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, env=environment())
    try:
        pid = int(recorder.stdout.readline())
        server = Server(pid)
        expect_true("found through what started it", b"really.pftrace" in server.said)
        expect("its state", data_of(server)["live"], True)
        server.stop(signal.SIGINT)
    finally:
        subprocess.run(["kill", str(pid)], check=False)
        recorder.terminate()
        recorder.wait(timeout=600)


def living_process():
    """A process that still runs has not ended badly."""
    out = os.path.join(TMP, "living.pftrace")
    recorder = subprocess.Popen([BRICK, "record", "-o", out, "--interval", "100", "--",
                                 os.path.join(BUILD, "bin", "program-record_producer"), "samples=10",
                                 "say=ready", "sleep=3600000"], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, env=environment())
    try:
        recorder.stdout.readline()
        deadline = time.monotonic() + 600
        told = b""
        while b"RmsNorm" not in told and time.monotonic() < deadline:
            time.sleep(0.1)
            told = subprocess.run([BRICK, "report", "--json", out + ".part"], capture_output=True,
                                  env=environment(), timeout=600).stdout
        server = Server(out)
        page = data_of(server)
        expect("its state", page["live"], True)
        expect("losses", page["report"]["losses"]["unfinished_processes"], 0)
        expect_true("in the metrics",
                    b'brick_lost{kind="unfinished_processes"} 0' in server.get("/metrics")[2])
        server.stop(signal.SIGINT)
    finally:
        recorder.terminate()
        recorder.wait(timeout=600)


def session_without_recording():
    """A program that embeds libbrick and writes nothing: its session, exact while it lives."""
    program = subprocess.Popen([os.path.join(BUILD, "bin", "program-top_embedded"), "memory", "say",
                                "sample=2500", "rate=50000", "ms=600000"], stdout=subprocess.PIPE, env=environment())
    program.stdout.readline()
    server = Server(program.pid)
    tokens, deadline = [], time.monotonic() + 600
    while len(set(tokens)) < 3 and time.monotonic() < deadline:
        match = re.search(rb'tokens_total{phase="decode"} (\d+)', server.get("/metrics")[2])
        tokens.append(int(match[1]) if match else 0)
        time.sleep(0.2)
    expect("tokens only grow", tokens, sorted(tokens))
    expect_true(f"and do: {tokens}", len(set(tokens)) >= 3)
    expect("live", data_of(server)["live"], True)
    # a session without records: all steps are known, and their time is with the sampling after them
    while True:
        text = server.get("/metrics")[2]
        count, total = (float(re.search(rb'step_seconds_%s{phase="decode"} (\S+)' % what, text)[1])
                        for what in (b"count", b"sum"))
        if count >= 500 and data_of(server)["report"]["steps"]["decode"]["count"] >= count:
            break
        expect_true("steps come", time.monotonic() < deadline)
        time.sleep(0.2)
    expect_true(f"{total} s for {count} steps", total / count > 0.0038)
    program.terminate()
    program.wait(timeout=600)
    while data_of(server)["live"] and time.monotonic() < deadline:
        time.sleep(0.2)
    expect("ended", data_of(server)["live"], False)
    expect_true("the last numbers stay", data_of(server)["report"]["bricks"])
    server.stop()


def bad_clients(server):
    """More connections than it has room for, that say nothing, or a byte now and then."""
    silent = [server.connect() for _ in range(20)]
    slow = [server.connect() for _ in range(70)]
    done = threading.Event()

    def drip():
        for piece in itertools.chain([b"GET / HTTP/1.1\r\nHost: l"], itertools.repeat(b"o")):
            for s in slow:
                with contextlib.suppress(OSError):
                    s.send(piece)
            if done.wait(1):
                return
    dripping = threading.Thread(target=drip)
    dripping.start()
    reader = server.connect()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    reader.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    expect("others are still answered", server.get("/metrics")[0], 200)
    done.set()
    dripping.join()
    for s in (*silent, *slow, reader):
        s.close()
    expect("and afterwards", server.get("/metrics")[0], 200)


def crowd(server):
    """Far more connections that never finish their requests than there are places."""
    silent = []
    for _ in range(500):
        with contextlib.suppress(OSError):
            silent.append(server.connect(timeout=5))
            silent[-1].sendall(b"GET / HTTP/1.1\r\nHost: l")
    for _ in range(5):  # it took 35 s before anybody was answered
        expect("one who asks is answered", server.get("/metrics", timeout=25)[0], 200)
    for s in silent:
        s.close()


def two_hosts(server):
    for hosts in (b"Host: localhost\r\nHost: localhost", b"Host: localhost\r\nhost: example.org",
                  b"Host: localhost\r\nHost : example.org", b"hOST\t: example.org\r\nHost: localhost"):
        answer = server.raw(b"GET / HTTP/1.1\r\n" + hosts + b"\r\nConnection: close\r\n\r\n")
        expect_true(f"two Host headers: {answer[:40]}", b" 400 " in answer.split(b"\r\n")[0])


def ends(path):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        server = Server(path)
        with server.connect() as one, server.connect() as two:
            one.sendall(b"GET /")
            two.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            server.stop(number)
    server = Server(path)
    _, errors = brick("serve", path, "--port", str(server.port), code=4)
    expect_true("a port that is taken", str(server.port).encode() in errors)
    server.stop()


def main():
    path = recording()
    need_server(path)
    server = Server(path)
    documents(server, path)
    questions(server, path)
    nothing_else(server)
    names(server)
    bad_clients(server)
    crowd(server)
    two_hosts(server)
    server.stop()
    tokens(path)
    grows(path)
    recorded_process()
    living_process()
    session_without_recording()
    ends(path)


main()
