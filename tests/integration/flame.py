# SPDX-License-Identifier: Apache-2.0
"""
All forms of `brick flame` have the same stacks, whose times add up to those of the samples; pprof's
is what its schema says; a part of a recording, names that would break out, and a long recording.
`brick open` shows the page, and gives Perfetto the recording.
"""
import csv
import io
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import xml.etree.ElementTree as xml

from libcli import BUILD, TMP, brick, expect, expect_true, on_terminal, recording, shortest_step
from libhtml import DEMO

SOURCE = os.environ["BRICK_SOURCE"]


def folded(path, *options):
    text = brick("flame", "--format", "folded", *options, path)[0].decode()
    stacks = {}
    for line in text.splitlines():
        stack, ns = line.rsplit(" ", 1)
        expect_true(f"once: {stack}", stack not in stacks)
        stacks[stack] = int(ns)
    return stacks


def all_ns(path):
    """Of all threads: what is outermost, with the waits after it."""
    rows = csv.DictReader(io.StringIO(brick("export", "--format", "csv", path)[0].decode()))
    return sum(int(r["duration_ns"]) + int(r["wait_ns"]) for r in rows if r["depth"] == "0")


def same_in_speedscope(path, stacks):
    document = json.loads(brick("flame", "--format", "speedscope", path)[0])
    names = [frame["name"].replace(";", ",") for frame in document["shared"]["frames"]]
    profile = document["profiles"][0]
    got = {";".join(names[i] for i in stack): ns
           for stack, ns in zip(profile["samples"], profile["weights"])}
    expect("speedscope", got, stacks)
    expect("its end", profile["endValue"], sum(stacks.values()))
    expect("its schema", document["$schema"], "https://www.speedscope.app/file-format-schema.json")


def numbers(text, name):
    return [int(n) for n in re.findall(rf"\b{name}: (\d+)", text)]


def same_in_pprof(path, stacks):
    if not shutil.which("protoc"):
        return
    data = brick("flame", "--format", "pprof", path)[0]
    for form in "pprof", "folded", "speedscope", "svg":
        expect(f"{form} as an export", brick("export", "--format", form, path)[0],
               brick("flame", "--format", form, path)[0])
    text = subprocess.run(
        ["protoc", f"-I{SOURCE}/tests/data", "--decode=Profile", "pprof_subset.proto"], input=data,
        capture_output=True, check=True).stdout.decode()
    expect_true("nothing that the schema does not have", not re.search(r"^ *\d+[:{ ]", text, re.M))
    strings = [json.loads(s) for s in re.findall(r'^string_table: (".*")$', text, re.M)]
    blocks = re.findall(r"^(\w+) \{\n(.*?)^\}", text, re.M | re.S)
    functions = {numbers(b, "id")[0]: numbers(b, "name")[0] for n, b in blocks if n == "function"}
    locations = {numbers(b, "id")[0]: strings[functions[numbers(b, "function_id")[0]]]
                 for n, b in blocks if n == "location"}
    types = [(strings[numbers(b, "type")[0]], strings[numbers(b, "unit")[0]])
             for n, b in blocks if n == "sample_type"]
    expect("types", types, [("executions", "count"), ("time", "nanoseconds")])
    expect("the one to begin with", strings[numbers(text, "default_sample_type")[0]], "time")
    got = {}
    for name, block in blocks:
        if name == "sample":
            ids, values = numbers(block, "location_id"), numbers(block, "value")
            if values[1]:
                got[";".join(locations[i] for i in reversed(ids)).replace("; ", ", ")] = values[1]
    expect("pprof", got, stacks)


def picture(path, stacks):
    data = brick("flame", path)[0]
    root = xml.fromstring(data)
    boxes = []
    for group in root.iter("{http://www.w3.org/2000/svg}g"):
        box = group.find("{http://www.w3.org/2000/svg}rect")
        boxes.append((float(box.get("y")), float(box.get("width")),
                      group.find("{http://www.w3.org/2000/svg}title").text))
    top = min(y for y, _, _ in boxes)
    width = sum(w for y, w, _ in boxes if y == top)
    expect_true(f"threads fill the width: {width}", abs(width - 1180) < 0.1)
    for name in ("decode", "RmsNorm"):
        ns = sum(n for s, n in stacks.items() if name in s.split(";"))
        wide = sum(w for _, w, title in boxes if title.startswith(name + ":"))
        expect_true(f"{name} is as wide as it took", abs(wide - 1180 * ns / sum(stacks.values())) < 1)


def terminal(path):
    """No picture is printed on a terminal: it is a file, which is named."""
    there = os.getcwd()
    os.chdir(TMP)
    expect("svg", on_terminal("flame", path), "run.svg: the flame graph; a browser shows it, a click zooms\n")
    with open("run.svg", "rb") as file:
        expect("the same picture", file.read(), brick("flame", path)[0])
    expect("pprof", on_terminal("flame", "--format", "pprof", path), "run.pb: the flame graph\n")
    expect_true("lines are for people, too", ";decode;" in on_terminal("flame", "--format", "folded", path))
    for name in "some-3.1-8b", "some-3.2-3b":  # only the suffix is cut
        shutil.copy(path, f"{name}.pftrace")
        expect_true("a picture of each", on_terminal("flame", f"{name}.pftrace").startswith(f"{name}.svg: "))
    os.chdir(there)


def zoom(path):
    """A click makes a box as wide as the picture, what holds it too, and hides the rest."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not browser:
        print("no browser: nothing was clicked at")
        return
    click = ("<script>const q=[...document.querySelectorAll('g')].find(g=&gt;g.querySelector('title').textContent.startsWith('RmsNorm'));"
             "q.dispatchEvent(new MouseEvent('click',{bubbles:true}))</script></svg>").encode()
    page = os.path.join(TMP, "zoom.svg")
    with open(page, "wb") as file:
        file.write(brick("flame", path)[0].replace(b"</svg>", click))
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={TMP}/browser", "--dump-dom",
                           "file://" + page], capture_output=True, timeout=600)
    seen = {}
    for group in re.findall(r"<g\b.*?</g>", done.stdout.decode(), re.S):
        name = re.search(r"<title>(.*?): ", group)[1]
        if "display: none" not in group.split(">")[0]:
            seen[name] = float(re.search(r'width="([0-9.]+)"', group)[1])
    expect_true(f"the box and what holds it: {seen}", {"RmsNorm", "GraphCompute"} <= set(seen) and "UpProjection" not in seen and
                all(abs(width - 1180) < 0.1 for name, width in seen.items() if name in ("RmsNorm", "GraphCompute")))


def hostile():
    name = "a;<b>&\"'\x1b[31m"
    path = recording("hostile.pftrace", name)
    subprocess.run([DEMO, os.path.join(TMP, "small.pftrace"), "20000", "8"], check=True, timeout=600)
    small = brick("flame", os.path.join(TMP, "small.pftrace"))[0]
    expect_true("some are below a part in a thousand", b"&lt;0.1%" in small)
    xml.fromstring(small)
    xml.fromstring(brick("flame", path)[0])
    json.loads(brick("flame", "--format", "speedscope", path)[0])
    stacks = folded(path)
    expect_true("neither a break nor a control character",
                any("a,<b>&" in s for s in stacks) and not any("\x1b" in s for s in stacks))


def part(path, stacks):
    some = folded(path, "--steps", shortest_step(path), "--brick", "RmsNorm")
    expect_true("less", 0 < sum(some.values()) < sum(stacks.values()) / 10)
    expect("what was asked for, and the rest", {s.split(";")[-1] for s in some},
           {"RmsNorm", "left out", "decode"})
    layers = folded(path, "--layers")
    expect_true("layers between", any(";Layer 1;" in s for s in layers))
    expect("the same time", sum(layers.values()), sum(stacks.values()))


def long_run():
    """More than four million samples."""
    path = os.path.join(TMP, "long.pftrace")
    subprocess.run([DEMO, path, "4200000", "8"], check=True, timeout=600)
    expect_true("a picture", len(brick("flame", path)[0]) < 100000)


def script(name, body):
    path = os.path.join(TMP, name)
    with open(path, "w") as file:
        file.write(body)
    os.chmod(path, stat.S_IRWXU)
    return path


def page(path):
    if b"no page" in subprocess.run([os.path.join(BUILD, "bin", "brick"), "report", path, "--html",
                                     "/dev/null"], capture_output=True).stderr:
        return
    seen = os.path.join(TMP, "seen")
    show = script("show", f'#!/bin/sh\nprintf %s "$1" >"{seen}"\n')
    out = brick("open", "--steps", "3", path, BROWSER=show, TMPDIR=TMP)[0].decode().strip()
    url = open(seen).read()
    expect("the address", url, out)
    expect_true("the page", url.startswith("file://") and
                open(url[7:], "rb").read(9) == b"<!DOCTYPE")
    err = brick("open", path, BROWSER="/no/such", TMPDIR=TMP)[1]
    expect_true("nothing shows it", b"open it yourself" in err)


FETCH = """#!/usr/bin/env python3
import os, sys, urllib.request
if os.fork():
    os._exit(0)
url = sys.argv[1].split("url=")[1]
answer = urllib.request.urlopen(url, timeout=600)
open({copy!r} + ".new", "wb").write(answer.read())
open({head!r}, "w").write(str(answer.headers))
os.rename({copy!r} + ".new", {copy!r})
"""


def perfetto(path):
    with socket.socket() as probe:  # the port is Perfetto's choice; somebody may have it
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", 9001))
        except OSError:
            return
    copy, head = os.path.join(TMP, "copy"), os.path.join(TMP, "head")
    out = brick("open", "--perfetto", path,
                BROWSER=script("fetch", FETCH.format(copy=copy, head=head)))[0].decode()
    expect_true("its page", out.startswith("https://ui.perfetto.dev/#!/?url=http://127.0.0.1:9001/"))
    for _ in range(6000):
        if os.path.exists(copy):
            break
        subprocess.run(["sleep", "0.1"], check=True)
    expect("the recording", open(copy, "rb").read(), open(path, "rb").read())
    expect_true("for that page only",
                "Access-Control-Allow-Origin: https://ui.perfetto.dev" in open(head).read())
    brick("open", "--perfetto", "--steps", "3", path, code=2)
    brick("open", "--perfetto", os.path.join(TMP, "none"), code=3)


PATH = recording()
STACKS = folded(PATH)
expect("all the time of all threads", sum(STACKS.values()), all_ns(PATH))
same_in_speedscope(PATH, STACKS)
same_in_pprof(PATH, STACKS)
picture(PATH, STACKS)
terminal(PATH)
zoom(PATH)
hostile()
part(PATH, STACKS)
long_run()
page(PATH)
perfetto(PATH)
