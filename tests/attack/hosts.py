# SPDX-License-Identifier: Apache-2.0
"""Programs in states that few are in: without streams or descriptors, within tiny limits, in namespaces of their own,
with children in their memory, or started from files without names. Same exit code, output and stderr as without
Brick, and every brick is recorded or counted. ATTACK_ROUNDS: how often what happens at a random time is tried (5)."""
import os
import platform
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
from libattack import *

HOSTS = os.path.join(BUILD, "bin", "program-attack_hosts")
need(HOSTS)
ROUNDS = int(os.environ.get("ATTACK_ROUNDS", "5"))
ROOT = os.geteuid() == 0


def both(*what, bricks, embedded=None, **options):
    """embedded: how many bricks a session of the program's own has, where it is not the same."""
    counted(*what, bricks=bricks, program=HOSTS, **options)
    counted(*what, bricks=bricks if embedded is None else embedded, program=HOSTS, embed=True, **options)


def shell(script):
    return ["sh", "-c", script + '; exec "$@"', "sh"]


def children():
    for how in "vfork", "clone", "vfork-exit", "clone-exit":
        both("child", how, bricks=2 * BRICKS + 10)
    for how in "fork", "_Fork", "clone":
        counted("beside", how, bricks=2 * BRICKS + 1, program=HOSTS, processes=2)
        counted("beside", how, bricks=BRICKS + 1, program=HOSTS, embed=True)
    for how in "_Fork", "clone":
        counted("choosing", how, bricks=BRICKS + 10, program=HOSTS)
        both("often", how, bricks=500 * BRICKS + 500, embedded=500 * BRICKS)


def programs():
    """Those without names are recorded as others are."""
    for how in "fexecve", "execveat", "syscall-execveat", "syscall-execve":
        counted("exec", how, GUEST, bricks=2 * BRICKS, program=HOSTS)


def descriptors():
    both("streams", bricks=160 * BRICKS)
    both("numbers", bricks=6 * BRICKS, embedded=5 * BRICKS)
    both("signals", bricks=5 * BRICKS, embedded=4 * BRICKS)
    for streams in "<&-", ">&- 2>&-", "<&- >&- 2>&-":
        both("bricks", bricks=4 * BRICKS, before=["sh", "-c", f'exec "$@" {streams}', "sh"])
    for _ in range(ROUNDS):
        counted("reuse", "@", bricks=200 * BRICKS, program=HOSTS, options=["--ring", "1024"])
    # counters of steps have descriptors, which the program closes, and uses the numbers
    counted("steps", "@", bricks=4 * BRICKS, program=HOSTS, options=["--counters"])


def limits():
    for limit in "-f 0", "-n 16", "-n 5", "-s 64":
        counted("bricks", bricks=4 * BRICKS, program=HOSTS, before=shell("ulimit " + limit))
    # one descriptor is too few for a session, and enough to say so
    count, losses, text = attack("bricks", program=HOSTS, before=shell("ulimit -n 4"))
    same((count, losses["lost_processes"]), (0, 1), f"with one descriptor: bricks, lost processes ({text})")
    if ROOT:
        counted("locked", bricks=BRICKS, program=HOSTS)


def handlers():
    """A handler that leaves by siglongjmp() leaves none of our locks behind."""
    for what in ["timeout"], ["timeout", "@"]:
        counted(*what, bricks=4 * BRICKS, program=HOSTS)  # the one that it left never began


def daemons():
    """What a launcher with bricks leaves behind is waited for, and said where it is not."""
    for ms, options in ("0", []), ("100", []), ("300", ["--wait"]), ("3000", ["--wait"]):
        counted("daemon", ms, bricks=2 * BRICKS, program=HOSTS, options=options)
    with Scratch() as scratch:
        run = record(scratch.file("daemon.pftrace"), HOSTS, "daemon", "10000")
        same(told(scratch.file("daemon.pftrace"))[0], BRICKS, "a daemon that sleeps: bricks so far")
        check(b"left behind" in run.stderr, "it is not said that one still runs:", run.stderr)


def counters():
    """Without the CPU's counter nothing is timed, and the program goes on."""
    if platform.machine() != "x86_64":
        return
    for how in "tsc", "tsc-by-number", "strict", "strict-by-number":
        count, losses, text = attack("without", how, program=HOSTS)
        same((count, losses and losses["refused"]), (BRICKS, 0), f"without {how}: bricks before it ({text})")
    count, losses, text = attack("without", "tsc-first", program=HOSTS)
    same((count, losses and losses["refused"]), (0, 2 * BRICKS), f"without tsc-first: refused ({text})")
    counted("without", "cpuid", bricks=2 * BRICKS, program=HOSTS)


def addresses():
    """A program that just has enough addresses (RLIMIT_AS) has enough of them beside us, too."""
    for mb in "110", "200", "400":
        counted("addresses", mb, bricks=BRICKS, program=HOSTS)


def static_parents():
    """A static program starts others by itself; one with the address sanitizer bears our libraries there, too."""
    with Scratch() as scratch:
        parent, kid, code = scratch.file("parent"), scratch.file("kid"), scratch.file("code.c")
        with open(code, "w") as file:
            file.write("""#include <stdio.h>\n#include <unistd.h>
                int main(int n, char **v) { if (n > 1) return execv(v[1], v + 1); return puts("ok") < 0; }""")
        for out, flag in (parent, "-static"), (kid, "-fsanitize=address"):
            if subprocess.run(["cc", "-w", flag, "-o", out, code], capture_output=True).returncode:
                print("cannot be built here:", flag)
                return
        for before in [], ["sh", "-c", 'exec "$@"', "sh"]:
            run = record(scratch.file("static.pftrace"), *before, parent, kid)
            same((run.returncode, run.stdout, own_lines(run.stderr)), (0, b"ok\n", b""),
                 f"a sanitized child of a static program {before}")
        grep = shutil.which("grep")
        for before in [], [shutil.which("sh"), "-c", 'exec "$@"', "sh"]:
            run = record(scratch.file("static.pftrace"), parent, *before, grep, "-q", "libbrick-ggml", "/proc/self/maps")
            same((run.returncode, own_lines(run.stderr)), (0, b""), f"children of a static program have our libraries {before}")
        if not shutil.which("musl-gcc") or subprocess.run(["musl-gcc", "-w", "-o", kid, code], capture_output=True).returncode:
            print("cannot be built here: a program of musl")
            return
        for before in [], [shutil.which("sh"), "-c", 'exec "$@"', "sh"]:
            run = record(scratch.file("static.pftrace"), parent, *before, kid)
            same((run.returncode, run.stdout, own_lines(run.stderr)), (0, b"ok\n", b""), f"musl's child of a static program {before}")


def places():
    for space in ("--pid --fork", "--user --map-root-user", "--user", "--net", "--ipc --uts",
                  "--user --map-root-user --pid --fork --mount --mount-proc"):
        before = ["unshare", *space.split()]
        if subprocess.run([*before, "true"], capture_output=True).returncode:
            print("no such namespaces here:", space)
        else:
            counted("bricks", bricks=4 * BRICKS, program=HOSTS, before=before)
    gone = ["sh", "-c", 'd=$(mktemp -d) && cd "$d" && rmdir "$d" && exec "$@"', "sh"]
    both("bricks", bricks=4 * BRICKS, before=gone)


for test in children, programs, descriptors, limits, handlers, daemons, static_parents, counters, addresses, places:
    test()
    print(test.__name__)
same(sessions(), set(), "session directories left")
