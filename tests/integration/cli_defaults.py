# SPDX-License-Identifier: Apache-2.0
"""
Options from the configuration and BRICK_OPTIONS, what is wrong in them, with its place; `record` keeps
the recording before and says how large the file is; scripts for shells offer what --help lists.
"""
import csv
import io
import os
import re
import shutil
import subprocess

from libcli import BRICK, TMP, brick, environment, expect, expect_true, recording

PATH = f"{os.path.dirname(BRICK)}:{os.environ['PATH']}"
RECORDER = os.path.join(os.environ["BRICK_BUILD"], "bin", "program-record_producer")


def lines(text):
    return len(text.splitlines())


def rows(text):
    """The title, and rows of all phases: those of each phase stand behind them."""
    return 1 + sum(not row["phase"] for row in csv.DictReader(io.StringIO(text.decode())))


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
    expect("title and a row", rows(short), 2)
    expect("BRICK_OPTIONS comes later",
           rows(brick("report", path, XDG_CONFIG_HOME=home, BRICK_OPTIONS="report --top 2")[0]), 3)
    expect("the command line last", rows(brick("report", "--top", "3", path, XDG_CONFIG_HOME=home,
                                               BRICK_OPTIONS="tree --json; report --top 2")[0]), 4)
    expect("by name", rows(brick("report", path, BRICK_CONFIG=file)[0]), 2)
    expect("none", brick("report", "--csv", path, XDG_CONFIG_HOME=home, BRICK_CONFIG="")[0], plain)
    expect("of HOME", lines(brick("report", path, HOME=home, XDG_CONFIG_HOME=None,
                                  BRICK_CONFIG=None, **{})[0]) > 3, True)
    os.makedirs(os.path.join(home, ".config"), exist_ok=True)
    shutil.move(os.path.join(home, "brick"), os.path.join(home, ".config", "brick"))
    expect("below HOME", rows(brick("report", path, HOME=home, XDG_CONFIG_HOME=None)[0]), 2)


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


def unreadable():
    """What is no configuration is no reason to do nothing: a warning at most."""
    path = recording()
    plain = brick("report", "--csv", path)[0]
    home, file = config("")
    os.remove(file)
    for make, why in ((lambda: os.mkdir(file), b"Is a directory"), (lambda: os.mkfifo(file), b"it is a pipe"),
                      (lambda: os.symlink(file, file), b"Too many levels"),
                      (lambda: open(file, "w").write("#" * 70000), b"it has more than")):
        make()
        out, err = brick("report", "--csv", path, XDG_CONFIG_HOME=home)
        expect(f"{why!r}: the answer", out, plain)
        expect_true(f"{why!r}: {err!r}", why in err and file.encode() in err and err.count(b"\n") == 1)
        os.rmdir(file) if os.path.isdir(file) else os.remove(file)
    for command in (("report", "--csv", path), ("explain", path), ("tree", path), ("completion", "bash")):
        out, err = brick(*command, HOME="/dev/null", XDG_CONFIG_HOME=None, XDG_DATA_HOME=None, XDG_CACHE_HOME=None, BRICK_DB=None)
        expect_true(f"HOME=/dev/null, {command[0]}: {err!r}", out and b"/dev/null" not in err)


def another_users():
    """Root with the HOME of a user follows no links there, and obeys no options."""
    if os.geteuid():
        print("not root: nobody else's HOME was tried")
        return
    path = recording()
    home, target = os.path.join(TMP, "another"), os.path.join(TMP, "target")
    for folder in (".config/brick", ".local/share/brick", ".cache/brick"):
        os.makedirs(os.path.join(home, folder))
    with open(os.path.join(home, ".config", "brick", "config"), "w") as file:
        file.write(f"report --html {target}\n")
    os.symlink(target, os.path.join(home, ".local", "share", "brick", "history.db"))
    subprocess.run(["chown", "-hR", "54321", home], check=True)
    changes = {"HOME": home, "XDG_CONFIG_HOME": None, "XDG_DATA_HOME": None, "XDG_CACHE_HOME": None, "BRICK_DB": None}
    out, err = brick("report", path, **changes)
    expect_true(f"its configuration is not read, which is said: {err!r}", out and b"of another user" in err)
    brick("record", "-o", os.path.join(TMP, "root.pftrace"), "--", RECORDER, "samples=3", **changes)
    brick("history", "list", code=4, **changes)
    expect("nothing is written through its links", os.path.exists(target), False)
    link = os.path.join(TMP, "another.html")
    os.symlink(target, link)
    os.chown(link, 54321, -1, follow_symlinks=False)
    brick("report", "--html", link, path, code=4, **changes)
    expect("nor through one that stands for the answer", os.path.exists(target), False)
    named = brick("history", "--db", os.path.join(home, "mine.db"), "add", path, **changes)
    expect_true(f"a history that is named is kept: {named!r}", os.path.exists(os.path.join(home, "mine.db")))


def old():
    path = os.path.join(TMP, "kept.pftrace")
    said = []
    for samples in (1, 2, 3):
        err = brick("record", "-o", path, "--", RECORDER, f"samples={samples}")[1].decode()
        said.append(re.search(r"(\S+) recorded;", err)[1])
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
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True,
                          cwd=TMP, env=environment(PATH=PATH))
    expect("no complaint", done.stderr, "")
    return done.stdout.split()


def words(*line):
    return brick("completion", "--values", "--", *line)[0].decode().splitlines()


def values_are_accepted(command):
    """What is offered is what the command takes: its complaint says the same words."""
    compared = 0
    for option in re.findall(r"--([a-z-]+)", brick(command, "--help")[0].decode()):
        given = words(command, f"--{option}", "")
        if not given:
            continue
        done = subprocess.run([BRICK, command, f"--{option}=zzzz", "zzzz"], capture_output=True,
                              text=True, env=environment(), cwd=TMP, timeout=600)
        said = re.search(r"--\S+ zzzz: must be (?:one of )?(.*)", done.stderr)
        if said and "number" not in said[1]:
            compared += 1
            expect(f"values of {command} --{option}", sorted(given),
                   sorted(set(re.split(", | or ", said[1]))))
    return compared


def in_fish(line):
    """Without the descriptions."""
    done = subprocess.run(["fish", "-N", "-c", f"source {TMP}/brick.fish; complete -C '{line}'"],
                          capture_output=True, text=True, check=True, cwd=TMP,
                          env=environment(PATH=PATH))
    return [offer.split("\t")[0] for offer in done.stdout.splitlines()]


def in_zsh(line, wanted):
    """It lists that at a press of Tab, on a terminal of its own; else this waits until it is killed."""
    talk = f"""
        zmodload zsh/zpty
        zpty z zsh -f -i
        zpty -w z 'PS1= PROMPT_EOL_MARK=; fpath=({TMP} $fpath); autoload -U compinit; \
            compinit -u -d {TMP}/dump; bindkey "^I" list-choices; cd {TMP}; echo REA""DY'
        zpty -r z out '*READY*'
        zpty -w -n z '{line}'$'\\t'
        zpty -r z out '*{wanted}*'"""
    subprocess.run(["zsh", "-f", "-c", talk], check=True, timeout=600,
                   env=environment(PATH=PATH, TERM="dumb"))


def values():
    """Of a recording in the directory, or of one that is named."""
    expect("in the directory", recording(), os.path.join(TMP, "run.pftrace"))
    brick("record", "-q", "-o", os.path.join(TMP, "other.pftrace"), "--", RECORDER, "samples=1")
    cases = (("report --brick Rm", ["RmsNorm"]), ("report --phase de", ["decode"]),
             ("report --steps s", ["slowest", "slow"]), ("tree --layer ''", ["-1", "0", "1", "2"]),
             ("report --columns self,gf", ["self,GFLOP/s"]), ("flame --format sp", ["speedscope"]),
             ("record --attach no", ["none", "nodes"]), ("top --view los", ["losses"]),
             ("report --top 1", []), ("report other.pftrace --brick Qkv", []),
             ("report ru", ["run.pftrace"]), ("selftest led", ["ledger"]))
    for line, wanted in cases:
        expect(f"bash: {line}", offered(f"brick {line}", len(line.split())), wanted)
        if shutil.which("fish") and "''" not in line:
            expect(f"fish: {line}", sorted(in_fish(f"brick {line}")), sorted(wanted))
    expect("bash: --phase=", offered("brick report --phase = de", 4), ["decode"])
    expect("bash: --tiles=", offered("brick record --tiles = mi", 4), ["midi", "micro"])
    expect("bash: --tiles", "midi" in offered("brick record --tiles ''", 3), False)
    expect("bash: a letter", offered("brick flame -o run.pf", 3), ["run.pftrace"])
    if shutil.which("zsh"):
        in_zsh("brick report --brick R", "RmsNorm")


def completion():
    for shell, name in (("zsh", "_brick"), ("fish", "brick.fish")):
        with open(os.path.join(TMP, name), "wb") as file:
            file.write(brick("completion", shell)[0])
    commands = re.findall(r"^  ([a-z]+)  +\S", brick("--help")[0].decode().split("Options:")[0], re.M)
    compared = 0
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
        compared += values_are_accepted(command)
    expect_true(f"options whose values were compared: {compared}", compared > 20)
    expect("a program", "bash" in offered("brick record -- ba", 3), True)
    values()
    for shell in ("zsh", "fish"):
        if shutil.which(shell):
            subprocess.run([shell, "-n", "/dev/stdin"], input=brick("completion", shell)[0], check=True)
    expect_true("another", b"bash, zsh or fish" in brick("completion", "ksh", code=2)[1])


defaults()
wrong()
unreadable()
another_users()
old()
completion()
