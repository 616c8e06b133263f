# SPDX-License-Identifier: Apache-2.0
"""Help for all commands, messages and exit codes of wrong usage, and output that cannot be written."""
import fcntl
import json
import os
import re
import signal
import subprocess

from libcli import BRICK, TMP, brick, environment, expect, expect_true, fail, recording
from libwire import varint


def help_is_there():
    out = brick("--help")[0].decode()
    expect("-h", brick("-h")[0].decode(), out)
    for line in out.splitlines():
        expect_true(f"--help fits 80 columns: {line}", len(line) <= 80)
    commands = re.findall(r"^  ([a-z]+)  +\S", out.split("Options:")[0], re.M)
    expect_true("all that there are", len(commands) >= 14 and {"record", "report"} <= set(commands))
    for command in commands:
        expect_true(f"{command} is listed", re.search(rf"^  {command} +\S", out, re.M))
        text, err = brick(command, "--help")
        expect_true(f"usage of {command}", text.startswith(f"Usage: brick {command}".encode()))
        expect("nothing on stderr", err, b"")
        expect("help COMMAND", brick("help", command)[0], text)
        for line in text.decode().splitlines():
            expect_true(f"{command} --help fits 80 columns: {line}", len(line) <= 80)
    expect_true("version", re.fullmatch(rb"brick \d+\.\d+\.\d+\n", brick("--version")[0]))


def wrong_usage():
    path = recording()
    cases = [
        ([], b""),
        (["reprot"], b"'report'"),
        (["xyzzy"], b"no such command"),
        (["--nope"], b"--nope"),
        (["report"], b"no recording given"),
        (["report", path, path], b"is named twice"),
        (["report", "--by", "layr", path], b"'layer'"),
        (["report", "--by", "colour", path], b"must be brick"),
        (["report", "--phase", "training", path], b"prefill, decode, mixed, warm-up, other or all"),
        (["report", "--by"], b"needs a value"),
        (["report", "--sort", "colour", path], b"must be one of"),
        (["report", "--top", "0", path], b"whole number"),
        (["report", "--top", "-3", path], b"whole number"),
        (["report", "--top", "2x", path], b"whole number"),
        (["report", "--json", "--csv", path], b"one form"),
        (["report", "--json=x", path], b"takes no value"),
        (["report", "-q", path], b"-q: no such option"),
        (["report", "--quark", path], b"--quark: no such option"),
        (["report", "--jsno", path], b"did you mean '--json'?"),
        (["tree", "--dept=3", path, path], b"one recording"),  # as far as it is clear what is meant
        (["roofline", "--celings=x", path], b"did you mean '--ceilings'?"),
        (["tree", "--depth", "0", path], b"whole number"),
        (["tree", "--step", "last", path], b"a phase (decode, prefill, mixed, warm-up, other), slowest or a number"),
        (["diverge", "--top", "3", "--all", path, path], b"exclude each other"),
        (["graph", "-o", path, path], b"the recording itself"),
        (["export", "--format", "csv", "-o", path, path], b"the recording itself"),
        (["export", path], b"--format"),
        (["export", "--format", "chrom", path], b"'chrome'"),
        (["doctor", "extra"], b"--engine"),
    ]
    for args, why in cases:
        out, err = brick(*args, code=2)
        expect(f"stdout of {args}", out, b"")
        expect_true(f"{args}: {err!r} names {why!r}", why in err)
        if args:
            expect_true(f"{args}: {err!r} begins with brick:", err.startswith(b"brick: "))


def run(args, **options):
    return subprocess.run([BRICK, *args], stderr=subprocess.PIPE, env=environment(), timeout=600,
                          **options)


def cannot_be_written():
    path = recording()
    forms = [["report", path], ["report", "-v", path], ["report", "--trust", path], ["report", "--json", path], ["report", "--csv", path],
             ["tree", path], ["tree", "--json", path], ["export", "--format", "json", path],
             ["export", "--format", "chrome", path], ["export", "--format", "csv", path],
             ["doctor"], ["--help"], ["report", "--help"]]
    for args in forms:
        with open("/dev/full", "wb") as full:
            done = run(args, stdout=full)
        expect(f"{args} on a full disk", done.returncode, 4)
        expect_true(f"{args}: {done.stderr!r}", b"No space left" in done.stderr)
        done = run(args, preexec_fn=lambda: os.close(1))
        expect(f"{args} with stdout closed", done.returncode, 4)
        expect_true(f"{args}: {done.stderr!r}", b"Bad file descriptor" in done.stderr)


def reader_goes_away():
    """`brick report | head`: no noise, no signal, whether SIGPIPE is ignored or not."""
    path = recording()
    graph = os.path.join(TMP, "graph.json")
    brick("graph", "--format", "json", "-o", graph, path)
    for disposition in (signal.SIG_DFL, signal.SIG_IGN):
        for args in (["report", path], ["export", "--format", "json", path], ["tree", graph], ["path", graph]):
            r, w = os.pipe()
            os.close(r)
            done = run(args, stdout=w, preexec_fn=lambda: signal.signal(signal.SIGPIPE, disposition))
            os.close(w)
            expect(f"{args}", (done.returncode, done.stderr), (0, b""))


def reader_has_seen_enough():
    """The same when it goes away in the middle of what is larger than a pipe."""
    path = recording()
    for args in (["export", "--format", "json", path], ["graph", "--format", "json", path]):
        done = subprocess.Popen([BRICK, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=environment())
        expect_true("there is an answer", done.stdout.read(1) in b"{[")
        done.stdout.close()
        err = done.stderr.read()
        expect(f"{args}", (done.wait(60), err), (0, b""))


def ends_of_packets(data):
    ends, at = set(), 0
    while at < len(data):
        size, begin = varint(data, at + 1)
        at = begin + size
        ends.add(at)
    return ends


def bad_files():
    def write(name, data):
        path = os.path.join(TMP, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    with open(recording(), "rb") as file:
        good = file.read()
    cases = [
        (os.path.join(TMP, "none.pftrace"), b"no such file"),
        ("/proc/sys", b"irectory"),
        (write("empty", b""), b"the file is empty"),
        (write("text", b"this is no trace\n" * 100), b"at byte"),
        (write("zeros", bytes(4096)), b"at byte"),
    ]
    for path, why in cases:
        for command in (["report"], ["tree"], ["export", "--format", "csv"]):
            out, err = brick(*command, path, code=3)
            expect(f"stdout for {path}", out, b"")
            expect_true(f"{err!r} names the file", err.startswith(b"brick: " + path.encode()))
            expect_true(f"{err!r} says {why!r}", why in err)
    at, ends = len(good) * 2 // 3, ends_of_packets(good)
    while at in ends or at - 1 in ends:  # within a packet, wherever that begins
        at += 1
    cut = write("cut", good[:at])
    out, err = brick("report", cut)
    expect_true("a cut-off recording says so", b"never finished" in out)
    expect_true(f"before all else: {err!r}", err.startswith(b"brick: " + cut.encode() + b": never finished: cut off"))
    for command in (["report", "--csv"], ["tree"], ["path"], ["path", "--json"], ["graph"],
                    ["export", "--format", "json"]):
        done = run([*command, cut], stdout=subprocess.DEVNULL)
        err = done.stderr
        expect_true(f"{command}: {done.returncode}", done.returncode in (0, 3))
        expect_true(f"{command} says that it is cut off: {err!r}", b"never finished" in err)
        for line in err.splitlines():
            expect_true(f"{line!r}", line.startswith(b"brick: " + cut.encode()))
        expect_true(f"{command}: its cause comes first: {err!r}", b"never finished" in err.splitlines()[0])
    said = re.search(rb"(\d+) bytes at the end of the file unreadable, from byte (\d+) on", err)
    expect_true(f"where it is cut off: {err!r}", said)
    expect("up to its end", sum(map(int, said.groups())), at)
    whole = int(said.group(2))
    damaged = write("damaged", good[:whole] + b"\x0a\x02\xff\xff" + good[whole:])
    err = run(["tree", damaged], stdout=subprocess.DEVNULL).stderr
    expect_true(f"where it is damaged: {err!r}", b"1 packet of the file unusable, at byte %d\n" % whole in err)
    still_written(cut)


def still_written(path):
    """An unfinished recording is followed while somebody writes it, and is the last picture when nobody does."""
    follow = ["top", "--headless", "--json", "-i", "0.1"]
    tops = [json.loads(line) for line in brick(*follow, path)[0].splitlines()]
    expect("nobody writes it", [top["over"] for top in tops], [True])
    with open(path, "r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)  # as its writer does
        with subprocess.Popen([BRICK, *follow, path], stdout=subprocess.PIPE, env=environment()) as top:
            overs = [json.loads(top.stdout.readline())["over"] for _ in range(2)]
            top.kill()
    expect("somebody writes it", overs, [False, False])


def named_by_nobody():
    """run.pftrace of the directory where no recording is named, stdin where "-" is."""
    path = recording()
    want = brick("tree", path)[0]
    with open(path, "rb") as file:
        expect("stdin", brick("tree", "-", stdin=file)[0], want)
    here = os.path.join(TMP, "here")
    os.makedirs(here, exist_ok=True)
    os.symlink(path, os.path.join(here, "run.pftrace"))
    expect("run.pftrace", brick("tree", cwd=here)[0], want)
    empty = os.path.join(TMP, "nothing-here")
    os.makedirs(empty, exist_ok=True)
    expect_true("nothing here", b"no run.pftrace here" in brick("tree", cwd=empty, code=2)[1])


if __name__ == "__main__":
    named_by_nobody()
    help_is_there()
    wrong_usage()
    cannot_be_written()
    reader_goes_away()
    reader_has_seen_enough()
    bad_files()
