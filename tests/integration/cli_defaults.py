# SPDX-License-Identifier: Apache-2.0
"""
Options from the configuration and BRICK_OPTIONS, what is wrong in them, with its place; `record` keeps
the recording before and says how large the file is; scripts for shells offer what --help lists.
"""
import os
import re
import shutil
import subprocess

from libcli import BRICK, TMP, brick, environment, expect, expect_true, recording

RECORDER = os.path.join(os.environ["BRICK_BUILD"], "bin", "program-record_producer")


def lines(text):
    return len(text.splitlines())


def config(text):
    home = os.path.join(TMP, "home")
    os.makedirs(os.path.join(home, "brick"), exist_ok=True)
    path = os.path.join(home, "brick", "config")
    with open(path, "w") as file:
        file.write(text)
    return home, path


def defaults():
    path = recording()
    plain = brick("report", "--csv", path)[0]
    home, file = config("# mine\n\nreport --csv   # always\nreport --top '1'\n")
    short = brick("report", path, XDG_CONFIG_HOME=home)[0]
    expect("the first row", short.splitlines()[1].split(b",")[0], plain.splitlines()[1].split(b",")[0])
    expect("title and a row", lines(short), 2)
    expect("BRICK_OPTIONS comes later",
           lines(brick("report", path, XDG_CONFIG_HOME=home, BRICK_OPTIONS="report --top 2")[0]), 3)
    expect("the command line last", lines(brick("report", "--top", "3", path, XDG_CONFIG_HOME=home,
                                                BRICK_OPTIONS="tree --json; report --top 2")[0]), 4)
    expect("by name", lines(brick("report", path, BRICK_CONFIG=file)[0]), 2)
    expect("none", brick("report", "--csv", path, XDG_CONFIG_HOME=home, BRICK_CONFIG="")[0], plain)
    expect("of HOME", lines(brick("report", path, HOME=home, XDG_CONFIG_HOME=None,
                                  BRICK_CONFIG=None, **{})[0]) > 3, True)
    os.makedirs(os.path.join(home, ".config"), exist_ok=True)
    shutil.move(os.path.join(home, "brick"), os.path.join(home, ".config", "brick"))
    expect("below HOME", lines(brick("report", path, HOME=home, XDG_CONFIG_HOME=None)[0]), 2)


def wrong():
    path = recording()
    for text, said in (("reprot --csv", b"config:1: reprot: no such command"),
                       ("\nreport --cvs", b"config:2: --cvs: no such option; did you mean '--csv'?"),
                       ("report --top x", b"config:1: --top x: must be"),
                       ("report x", b"config:1: x: options only"),
                       ("report --help", b"config:1: --help: only on the command line"),
                       ("report --columns 'a", b"config:1: a quote (') has no end")):
        home, _ = config(text + "\n")
        expect_true(text, said in brick("report", path, code=2, XDG_CONFIG_HOME=home)[1])
    expect_true("BRICK_OPTIONS", b"BRICK_OPTIONS:2: --x: no such option" in
                brick("tree", path, code=2, BRICK_OPTIONS="report --csv; tree --x")[1])
    home, file = config("")
    os.remove(file)
    os.mkdir(file)
    expect_true("a directory", b"Is a directory" in brick("tree", path, code=3,
                                                          XDG_CONFIG_HOME=home)[1])


def old():
    path = os.path.join(TMP, "kept.pftrace")
    said = []
    for samples in (1, 2, 3):
        err = brick("record", "-o", path, "--", RECORDER, f"samples={samples}")[1].decode()
        said.append(re.search(r"kept.pftrace: (\S+);", err)[1])
        size = os.path.getsize(path)
        expect("its real size", said[-1], f"{size}B" if size < 1000 else f"{size / 1000:.2f}kB")
    counts = [brick("export", "--format", "csv", p)[0].count(b"\n") for p in (path, path + ".old")]
    expect_true(f"the last and the one before: {counts}", counts[0] > counts[1] > 1)
    brick("record", "-q", "-o", path, "--", RECORDER, "samples=4", BRICK_OPTIONS="record --no-compress")
    expect_true("options of record", b"RmsNorm" in open(path, "rb").read())
    expect("the program's own are its own", subprocess.run(
        [BRICK, "record", "-q", "-o", path, "echo", "--csv", "-q"], capture_output=True,
        env=environment()).stdout, b"--csv -q\n")


def offered(words, at):
    script = os.path.join(TMP, "brick.bash")
    with open(script, "wb") as file:
        file.write(brick("completion", "bash")[0])
    program = f'. "{script}"; COMP_WORDS=({words}); COMP_CWORD={at}; _brick; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    expect("no complaint", done.stderr, "")
    return done.stdout.split()


def completion():
    commands = re.findall(r"^  ([a-z]+)  +\S", brick("--help")[0].decode().split("Options:")[0], re.M)
    expect("commands", sorted(offered("brick ''", 1)), sorted(commands))
    expect("those that begin so", sorted(offered("brick di", 1)), ["diff", "diverge"])
    for command in commands:
        helped = re.findall(r"^ +(?:-\w, )?--([a-z-]+)", brick(command, "--help")[0].decode(), re.M)
        expect(f"options of {command}", offered(f"brick {command} --", 2),
               ["--" + name for name in helped])
        for shell in ("zsh", "fish"):
            text = brick("completion", shell)[0].decode()
            for name in helped:
                expect_true(f"{shell}: --{name}", f"--{name}" in text or f"-l {name}" in text)
    expect("a program", "bash" in offered("brick record -- ba", 3), True)
    for shell in ("zsh", "fish"):
        if shutil.which(shell):
            subprocess.run([shell, "-n", "/dev/stdin"], input=brick("completion", shell)[0], check=True)
    expect_true("another", b"bash, zsh or fish" in brick("completion", "ksh", code=2)[1])


defaults()
wrong()
old()
completion()
