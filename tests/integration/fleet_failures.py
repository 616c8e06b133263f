# SPDX-License-Identifier: Apache-2.0
"""
What fails between a recording and Debian's ClickHouse is told, counted and bounded, and no window is lost or there twice: a
spool that is full by runs or bytes and gets empty again, a disk without room, a clock that is set back and forth, and `brick
serve --push` beside a recorder that is killed, with a server that is away, and refuses, and is back.
"""
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time

from libcli import BRICK, BUILD, TMP, environment, expect, expect_true
from libclickhouse import CHDB, PLACE, SECRET, Server, ask, prepare, spooled, sql, until
from libserve import Server as Page

PROGRAM = os.path.join(BUILD, "bin", "program-compare_recording")
EMBEDDED = os.path.join(BUILD, "bin", "program-top_embedded")
CLOCK = os.path.join(BUILD, "lib", "doubles", "clock.so")


def ids():
    """Windows on the server, each of which is there once, and whole."""
    found = sql("SELECT id FROM brick.runs WHERE kind = 'window'").split()
    expect("nothing twice", len(found), len(set(found)))
    parts = sql("SELECT id, phase, kind, name FROM brick.parts WHERE run_kind = 'window'").splitlines()
    expect("no part twice", len(parts), len(set(parts)))
    expect_true("they have parts", set(found) <= {part.split("\t")[0] for part in parts})
    return set(found)


def ids_of(*paths):
    """The windows of recordings, as another history has them."""
    place = os.path.join(TMP, "ids.db")
    if os.path.exists(place):
        os.unlink(place)
    ask("push", *paths, BRICK_DB=place)
    return {row[0] for row in sqlite3.connect(place).execute("SELECT id FROM runs WHERE kind = 'window'")}


def record(name):
    path = os.path.join(TMP, name)
    ask("record", "-q", "--no-history", "-o", path, "--", PROGRAM, os.path.join(TMP, "own"))
    return path


def check_full(server):
    """A spool that is full takes no more, and says so; with the server it gets empty, whoever comes first."""
    waits, first, second, before = record("waits.pftrace"), record("first.pftrace"), record("second.pftrace"), ids()
    server.kill()
    ask("push", waits, code=4)
    bounds = {"BRICK_SPOOL_RUNS": "1"}, {"BRICK_SPOOL_BYTES": "1000"}
    for bound in bounds:
        err = ask("push", first, code=4, **bound)[1].decode()
        expect_true(f"it says so: {err}", "is full" in err and "is not kept" in err and "connect" in err.lower())
        expect("it keeps what it has", len(spooled()), 1)
        ask("push", waits, code=4, **bound)  # which waits already
    server.start()
    command, place = [BRICK, "push", "--background", first], environment(**{**PLACE, **bounds[0]})
    until("the pause is over", lambda: subprocess.run(command, env=place, capture_output=True, check=False, timeout=600).returncode == 0)
    ask("push", second)
    expect("all are there", ids() - before, ids_of(waits, first, second))


def check_disk():
    """No room on the disk: a program's end is its own, the windows that wait stay, and go when there is room."""
    if os.geteuid() or not shutil.which("unshare"):
        print("a full disk was not tried: it needs root and unshare")
        return
    disk, said, more = os.path.join(TMP, "disk"), os.path.join(TMP, "disk.txt"), record("more.pftrace")
    os.mkdir(disk)
    script = f"""mount -t tmpfs -o size=2m none {disk} || exit 77
        export XDG_DATA_HOME={disk} BRICK_DB_PASSWORD_FILE={disk}/wrong; echo no >{disk}/wrong
        say() {{ echo "$1 $?" >>{said}; }}
        {BRICK} push {record("kept.pftrace")}; say waits
        dd if=/dev/zero of={disk}/fill bs=4k 2>/dev/null
        {BRICK} push {more} 2>{said}.push; say full
        record() {{ {BRICK} record -q --push --no-history -o {TMP}/guest.pftrace -- sh -c '{PROGRAM} {TMP}/own; exit 5' 2>{said}.record; }}
        record; code=$?
        while grep -q "in the background" {said}.record; do record; code=$?; done  # its child got too little CPU time to end
        (exit $code); say program
        {BRICK} push --db {disk}/full.db {more} 2>{said}.sqlite; say sqlite
        export BRICK_DB_PASSWORD_FILE={SECRET}
        {BRICK} push 2>{said}.note; say note
        rm {disk}/fill
        {BRICK} push {more}; say room"""
    before = ids()
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], env=environment(**PLACE), stderr=subprocess.DEVNULL, check=False)
    if done.returncode == 77:
        print("a full disk was not tried: no tmpfs can be mounted here")
        return
    with open(said, encoding="utf-8") as file:
        expect("codes", file.read().split("\n")[:-1], ["waits 4", "full 4", "program 5", "sqlite 4", "note 4", "room 0"])
    for name in ("push", "record", "sqlite", "note"):
        with open(f"{said}.{name}", encoding="utf-8") as file:
            text = file.read()
        expect_true(f"{name} says so: {text}", "No space left" in text or "disk is full" in text)
    expect("what waited came, and the other", ids() - before, ids_of(os.path.join(TMP, "kept.pftrace"), more))


def recorder(folder, *options, **changes):
    os.makedirs(folder)
    with open(os.devnull, "w", encoding="utf-8") as null:
        return subprocess.Popen([BRICK, "record", "-q", "--always", "--keep", "40s", "--interval", "100", *options, "-o",
                                 os.path.join(folder, "run.pftrace"), "--", EMBEDDED, "say", "ms=600000"], stdout=null,
                                stderr=subprocess.PIPE, env=environment(**{**PLACE, **changes}))


def files_of(folder):
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]


def check_clock():
    """The calendar is set back by an hour, then ahead by two: windows of a program that runs come, each once."""
    folder, step = os.path.join(TMP, "clock"), os.path.join(TMP, "step")
    with open(step, "w", encoding="utf-8") as file:
        file.write("0")
    before = ids()
    process = recorder(folder, "--push", LD_PRELOAD=CLOCK, CLOCK_STEP=step)
    for seconds in (-3600, 3600, 0):
        count = len(ids())
        until("windows come", lambda: len(ids()) > count)
        with open(step, "w", encoding="utf-8") as file:
            file.write(str(seconds))
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=600)[1].decode()
    lost = re.search(r"push: (\d+) of the recording's files could not be sent", err)
    found = ids() - before
    missing = ids_of(*files_of(folder)) - found
    expect_true(f"lost are {len(missing)}: {err}", len(missing) <= (int(lost[1]) if lost else 0))
    hours = {int(hour) for hour in sql("SELECT DISTINCT intDiv(start_ns, 3600000000000) FROM brick.runs WHERE id IN ("
                                       + ", ".join(f"'{one}'" for one in found) + ")").split()}
    expect_true(f"they are of hours apart: {hours}", len(hours) > 1)
    base = os.path.join(PLACE["XDG_DATA_HOME"], "brick", "spool")
    base = os.path.join(base, os.listdir(base)[0], "pause")
    for ahead, is_over in ((500, False), (100000, True)):  # the clock was set back behind a failure
        with open(base, "w", encoding="utf-8") as file:
            file.write(f"{int(time.time()) + ahead} 600\n")
        err = ask("push", "--background")[1]
        expect(f"{ahead} s ahead: {err}", b"next one is in" not in err, is_over)
    if os.path.exists(base):
        os.unlink(base)


def pushed(page):
    text = page.get("/metrics")[2].decode()
    return [int(re.search(rf"^brick_serve_{name}_total (\d+)$", text, re.M)[1]) for name in ("pushes", "push_failures")]


def check_serve(server):
    """`serve --push` follows a ring; what the server did not take comes later; then the recorder is killed."""
    folder, before = os.path.join(TMP, "served"), ids()
    process = recorder(folder)
    path = os.path.join(folder, "run.pftrace")
    until("it records", lambda: os.path.exists(path + ".part"))
    page = Page("--push", path, **PLACE)
    until("windows come", lambda: len(ids() - before) > 1)
    expect_true("they are counted", pushed(page)[0] >= 2)
    if server:
        server.kill()
        until("failures are counted", lambda: pushed(page)[1] > 1)
        server.start()
        count = pushed(page)[0]
        until("it goes on", lambda: pushed(page)[0] > count)
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="utf-8") as file:
        programs = [int(pid) for pid in file.read().split()]
    for pid in (process.pid, *programs):
        os.kill(pid, signal.SIGKILL)
    process.wait()
    page.process.send_signal(signal.SIGTERM)
    err = page.process.communicate(timeout=600)[1].decode()
    expect("it ends", page.process.returncode, 0)
    if server:
        expect_true(f"the failure is told once: {err}", err.count("history:") == 1)
    ask("push")  # what could not be sent within seconds
    until("all windows of files that are there came", lambda: ids_of(*files_of(folder)) <= ids())
    paths = sql("SELECT DISTINCT path FROM brick.runs WHERE path LIKE '%.part'")
    expect("no window is of a file that is renamed", paths, "")
    expect_true("a place for nothing", b"where --push sends" in ask("serve", "--db", "none", path, code=2)[1])
    expect_true("a part is refused", b"no part" in ask("serve", "--push", "--since", "1s", path, code=2)[1])


def main():
    server = Server()
    prepare(server)
    ask("history", "list")  # makes the tables
    if not CHDB:  # which knows no users
        check_disk()
    check_full(server)
    check_clock()
    check_serve(None if CHDB else server)


main()
