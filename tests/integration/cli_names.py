# SPDX-License-Identifier: Apache-2.0
"""
Names that quote, break lines, move the cursor, turn the direction of text or are no UTF-8: harmless
in every output, and still there to be read.
"""
import csv
import io
import json
import os
import subprocess
import xml.etree.ElementTree as xml

from libcli import BRICK, TMP, brick, environment, expect, expect_true, on_terminal, plain, recording, shortest_step

ODD = b'q"u,o\'t<e>&\n\x1b[31mred\x1b]0;t\x07\t\\\xc2\x9b\xe2\x80\xae\xff\xc3\xa9\x7f'
CONTROL = [bytes([c]) for c in range(32) if c != 10] + [b"\x7f"]
HARMFUL = CONTROL + [b"\xc2\x9b", b"\xe2\x80\xae"]


def harmless(what, data):
    for piece in HARMFUL:
        expect_true(f"{what} holds {piece!r}", piece not in data)


def main():
    path = recording("odd.pftrace", ODD)
    forms = [["report", path], ["report", "-v", path], ["report", "--trust", path], ["report", "--by", "layer", path], ["report", "--csv", path],
             ["report", "--json", path], ["tree", path], ["tree", "--nodes", path],
             ["tree", "--nodes", "--json", path], ["export", "--format", "json", path]]
    for args in forms:
        for locale in ("C", "C.UTF-8"):
            harmless(f"{args} in {locale}", brick(*args, LC_ALL=locale)[0])
    for form in ("csv", "chrome"):
        harmless(form, brick("export", "--format", form, path)[0])
    screen = plain(on_terminal("report", path)).encode()
    harmless("a terminal", screen)

    report = json.loads(brick("report", "--json", path)[0])
    row = next(r for r in report["bricks"] if r["name"].startswith('q"u,o'))
    expect_true("JSON keeps what it can", 'q"u,o\'t<e>&' in row["name"] and "é" in row["name"])
    rows = list(csv.reader(io.StringIO(brick("report", "--csv", path)[0].decode())))
    expect("CSV columns", {len(r) for r in rows}, {len(rows[0])})
    expect("the first of them", rows[0][:20],
           "name category backend source count total_ns self_ns wait_ns share avg_ns min_ns p50_ns "
           "p95_ns p99_ns max_ns elements bytes flops device_count device_ns".split())
    expect_true("CSV keeps commas and quotes", any(r[0].startswith('q"u,o\'t<e>&') for r in rows))
    tree = brick("tree", "--nodes", path)[0].decode()
    expect_true("the tree shows it in one line", 'q"u,o\'t<e>&' in tree)
    for form in ("json", "chrome"):
        json.loads(brick("export", "--format", form, path)[0])
    # in all steps, of which others preempt some, it may be too narrow for the picture
    svg = brick("flame", "--steps", shortest_step(path), path)[0]
    titles = [title.text for title in xml.fromstring(svg).iter("{http://www.w3.org/2000/svg}title")]
    expect_true("SVG keeps what it can", any('q"u,o\'t<e>&' in title for title in titles))

    # A file's name is no more trusted than what is in it.
    evil = os.path.join(TMP.encode(), b"evil\x1b[2Jname\n.pftrace")
    done = subprocess.run([BRICK.encode(), b"report", evil], capture_output=True, env=environment())
    expect("missing", done.returncode, 3)
    expect("one line", done.stderr.count(b"\n"), 1)
    harmless("the message", done.stderr)
    done = subprocess.run([BRICK.encode(), b"\x1b[2J"], capture_output=True, env=environment())
    harmless("an unknown command", done.stderr)


main()
