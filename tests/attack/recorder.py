# SPDX-License-Identifier: Apache-2.0
"""What happens to the recorder harms neither the program nor what was recorded, and leaves nothing
behind: SIGKILL and signals that end it, its file replaced or truncated, somebody else's file in its
place, a full disk, a killed `top`."""
import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
from librecord import *

need(PRODUCER)


def until(condition, *what):
    end = time.monotonic() + 600
    while not condition():
        check(time.monotonic() < end, *what)
        time.sleep(0.02)


def started(out, *actions, options=()):
    """A program that goes on when its stdin ends."""
    run = start(out, PRODUCER, "samples=10", "say=ready", "copy", *actions, options=options, stdin=subprocess.PIPE)
    same(run.stdout.readline(), b"ready\n", "first line")
    return run


def samples(path):
    """In a recording, by our own reader, which must read it whatever was done to it."""
    run = subprocess.run([BRICK, "report", "--json", path], capture_output=True, timeout=600)
    same(run.returncode, 0, f"brick report {path}: {run.stderr}")
    return sum(b["count"] for b in json.loads(run.stdout)["bricks"] if b["name"] == "RmsNorm")


def killed_recorder(scratch):
    """The processes that it recorded remove what it left."""
    out = scratch.file("killed.pftrace")
    run = start(out, "sh", "-c", f"exec 3<&0; {PRODUCER} samples=100 say=ready copy samples=5 <&3 & "
                f"{PRODUCER} samples=9 copy; {PRODUCER} samples=1; echo done", stdin=subprocess.PIPE)
    same(run.stdout.readline(), b"ready\n", "first line")
    until(lambda: os.path.exists(out + ".part") and Trace(out + ".part").begins >= 100, "samples")
    run.kill()
    same(run.wait(), -9, "the recorder")
    run.stdin.close()
    same(run.stdout.read(), b"done\n", "after the recorder's death")
    same(sessions(), set(), "session directories after the last process")
    check(samples(out + ".part") >= 100, "samples in PATH.part")


def killed_beside_a_stranger(scratch):
    """A program that has nothing of ours in it removes nothing: the recorder's keeper does."""
    run = start(scratch.file("stranger.pftrace"), "sleep", "1000", options=["--attach", "none"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: sessions() and len(children(run.pid)) == 2, "no directory, or no keeper")
    family = children(run.pid)
    run.kill()
    run.wait()
    until(lambda: not sessions(), "the directory of a killed recorder stays")
    until(lambda: sum(os.path.exists(f"/proc/{pid}") for pid in family) == 1, "the keeper stays")
    for pid in family:
        if os.path.exists(f"/proc/{pid}"):
            os.kill(pid, signal.SIGKILL)


def fatal_signals(scratch):
    for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGILL, signal.SIGFPE):
        out = scratch.file(f"fatal{int(number)}.pftrace")
        run = started(out, "samples=5", "say=done", "exit=3", options=["--interval", "100"])
        run.send_signal(number)
        same(run.wait(), -number, "the recorder")
        run.stdin.close()
        same(run.stdout.read(), b"done\n", "the program")
        check(f"brick report {out}.part".encode() in run.stderr.read(), "PATH.part is not named")
        samples(out + ".part")


def link_as_output(scratch):
    """A recording does not replace a symbolic link."""
    link, target = scratch.file("link.pftrace"), scratch.file("target.pftrace")
    os.symlink(target, link)
    run = record(link, "sh", "-c", "echo ran", timeout=600)
    same((run.returncode, run.stdout, os.path.islink(link)), (4, b"", True), "with -o LINK")
    check(b"symbolic link" in run.stderr, run.stderr)


def full_for_a_moment(scratch):
    """Shared memory that is full when the recorder first looks at a session takes nothing away."""
    out, said, held = (scratch.file(name) for name in ("full.pftrace", "said", "held"))
    os.mkfifo(held)
    program = f"kill -STOP $PPID; echo $PPID; exec {PRODUCER} samples=1000 say=ready copy samples=1000"
    script = (f"mount -t tmpfs -o size=110m tmpfs /dev/shm && {{ {BRICK} record --interval 2000 -o {out} -- sh -c '{program}' "
              f"<{held} >{said} & exec 3>{held}; until grep -q ready {said}; do sleep 0.1; done; "
              f"cd /dev/shm; dd if=/dev/zero of=fill bs=1M; kill -CONT $(head -n 1 {said}); sleep 2; rm fill; exec 3>&-; wait $!; }}")
    before = ["unshare", "-m", "sh", "-c"]
    if os.geteuid() or subprocess.run([*before, "true"], capture_output=True).returncode:
        print("no mount namespace here: shared memory was not filled")
        return
    run = subprocess.run([*before, script], capture_output=True, timeout=600)
    same(samples(out), 2000, f"samples beside full shared memory ({run.stderr})")


def foreign_part(scratch):
    out = scratch.file("foreign.pftrace")
    part, other = out + ".part", scratch.file("other")
    with open(other, "w") as file:
        file.write("mine")
    for make in (lambda: os.mkfifo(part), lambda: os.symlink(other, part), lambda: os.link(other, part),
                 lambda: os.mkdir(part)):
        make()
        run = record(out, "sh", "-c", "echo ran", timeout=600)
        same((run.returncode, run.stdout), (4, b""), "with somebody else's file at PATH.part")
        check(part.encode() in run.stderr and b"remove it" in run.stderr, run.stderr)
        run = record(out, "sh", "-c", "echo ran; exit 5", options=["--keep-going"], timeout=600)
        same((run.returncode, run.stdout), (5, b"ran\n"), "with --keep-going")
        os.rmdir(part) if os.path.isdir(part) else os.unlink(part)
    with open(other) as file:
        same(file.read(), "mine", "the other file")


def interference(scratch):
    """Whoever touches the file meanwhile is told of, and his own file is left alone."""
    def replace(part):
        with open(part + ".new", "w") as file:
            file.write("mine")
        os.rename(part + ".new", part)

    for name, action in (("replace", replace), ("truncate", lambda part: os.truncate(part, 10)),
                         ("remove", os.unlink)):
        out = scratch.file(name + ".pftrace")
        run = started(out, "samples=5", "exit=6", options=["--interval", "100"])
        action(out + ".part")
        run.stdin.close()
        same(run.wait(), 6, name)
        check(b"by somebody else" in run.stderr.read(), name, "is not told of")
        check(not os.path.exists(out), name, "is a success")
        if name == "replace":
            with open(out + ".part") as file:
                same(file.read(), "mine", "the other file")


def children(pid):
    found, new = set(), {pid}
    while new:
        found |= new
        new = set()
        for name in os.listdir("/proc"):
            try:
                with open(f"/proc/{name}/stat") as file:
                    if name.isdigit() and int(file.read().rsplit(")", 1)[1].split()[1]) in found:
                        new.add(int(name))
            except (OSError, ValueError):
                pass
        new -= found
    return found - {pid}


def killed_top(scratch):
    environment = dict(os.environ, TMPDIR=scratch.path)
    run = subprocess.Popen([BRICK, "top", "--headless", "--duration", "60", "--", PRODUCER, "samples=9",
                            "say=ready", "sleep=3600000"],
                           env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: len(children(run.pid)) >= 3, "top does not start its command", children(run.pid))
    family = children(run.pid)
    before = os.listdir(scratch.path)
    check(any(name.startswith("brick-top") for name in before), before)
    run.kill()
    run.wait()
    until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in family), "processes left", family)
    until(lambda: not any(n.startswith("brick-top") for n in os.listdir(scratch.path)),
          "left by top:", os.listdir(scratch.path))


for test in (killed_recorder, killed_beside_a_stranger, fatal_signals, link_as_output, full_for_a_moment, foreign_part,
             interference, killed_top):
    with Scratch() as scratch:
        test(scratch)
        print(test.__name__)
same(sessions(), set(), "session directories left")
