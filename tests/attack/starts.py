# SPDX-License-Identifier: Apache-2.0
"""Programs that our libraries cannot be preloaded into start as they do without Brick, also behind a shell, in a
sandbox or by posix_spawn(): same exit code, output and stderr. The recording says that they are missing. Those of
the address sanitizer are recorded."""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
from librecord import *

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
GUEST = os.path.join(BUILD, "bin", "program-attack_guest")
need(GUEST)
BRICKS = 1000
PLAIN = 'int puts(const char *); int main(void) { puts("ran"); return 3; }\n'


def compiled(scratch, name, *compiler, source=None):
    """A program, or None where that compiler is not here."""
    if not source:
        source = scratch.file("plain.c")
        with open(source, "w") as file:
            file.write(PLAIN)
    program = scratch.file(name)
    if not shutil.which(compiler[0]) or subprocess.run([*compiler, source, "-o", program],
                                                       capture_output=True).returncode:
        print("not tried, as nothing can compile it:", name)
        return None
    return program


def starts(scratch, name, command, missing, **keywords):
    """A command with and without Brick; bricks and processes that the recording says are missing."""
    out = scratch.file("starts.pftrace")
    run = record(out, *command, **keywords)
    plain = subprocess.run(command, capture_output=True, timeout=60, **keywords)
    own = b"".join(line for line in run.stderr.splitlines(True) if not line.startswith(b"brick: "))
    same((run.returncode, run.stdout, own), (plain.returncode, plain.stdout, plain.stderr), f"{name}: what it did")
    told = json.loads(subprocess.run([BRICK, "report", "--json", out], capture_output=True, timeout=60).stdout)
    same(told["losses"]["lost_processes"], missing, f"{name}: lost processes ({run.stderr})")
    print(name)
    return sum(b["count"] for b in told["bricks"] if b["name"] == "RmsNorm")


def ways(program):
    """How a program is started by another that we are in."""
    python = [sys.executable, "-c"]
    spawn = "import os, sys; sys.exit(os.waitpid(os.{}({!r}, ['x'], dict(os.environ)), 0)[1] >> 8)"
    yield "shell", ["sh", "-c", f"{program}; exit $?"]
    yield "env", ["env", "A=1", program]
    yield "path", ["env", "PATH=" + os.path.dirname(program), "/bin/sh", "-c", os.path.basename(program)]
    yield "spawn", [*python, spawn.format("posix_spawn", program)]
    yield "spawnp", [*python, spawn.format("posix_spawnp", program)]
    yield "execl", [*python, f"import os; os.execl({program!r}, 'x', 'y')"]
    yield "failed", [*python, f"""
import os
try:
    os.execv('/nonexistent', ['x'])
except OSError:
    os.execv({program!r}, ['x'])
"""]


def foreign(scratch):
    for name, compiler in ("musl", ["musl-gcc"]), ("32-bit", ["cc", "-m32"]):
        program = compiled(scratch, name, *compiler)
        if program:
            starts(scratch, name, [program], 0)  # which the summary says
            script = scratch.file("script")
            with open(script, "w") as file:
                file.write(f"#!{program}\n")
            os.chmod(script, 0o755)
            starts(scratch, name + " as interpreter", ["sh", "-c", f"{script}; exit $?"], 1)
            for way, command in ways(program):
                starts(scratch, f"{name}, {way}", command, 1)


def sandboxes(scratch):
    """Without our libraries' files; without the recorder's directory, and any way to it."""
    program = compiled(scratch, "plain", "cc")
    inner = scratch.file("inner")
    os.mkdir(inner)
    shutil.copy(program, inner)
    bare = ["bwrap", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
            "--ro-bind", inner, "/inner", "--proc", "/proc", "--dev", "/dev", "--unshare-all", "/inner/plain"]
    alone = ["bwrap", "--ro-bind", "/", "/", "--tmpfs", "/dev/shm", "--unshare-all", GUEST, "bricks"]
    if not shutil.which("bwrap") or subprocess.run(bare, capture_output=True).returncode != 3:
        print("no sandboxes here")
        return
    starts(scratch, "sandbox without our files", ["sh", "-c", f"{' '.join(bare)}; exit $?"], 1)
    count = starts(scratch, "sandbox without the recorder", ["sh", "-c", f"{GUEST} bricks; {' '.join(alone)}"], 1)
    same(count, BRICKS, "bricks outside of the sandbox")


def sanitized(scratch):
    guest = ["-I", os.path.join(SOURCE, "include"), "-L", os.path.join(BUILD, "lib"),
             "-Wl,-rpath," + os.path.join(BUILD, "lib"), "-D_GNU_SOURCE", "-Wl,--no-as-needed", "-lbrick", "-pthread"]
    runtimes = subprocess.run(["clang", "-print-file-name=libclang_rt.asan-x86_64.so"], capture_output=True,
                              text=True).stdout if shutil.which("clang") else ""
    for name, compiler in (("gcc", ["gcc", "-fsanitize=address"]),
                           ("clang", ["clang", "-fsanitize=address", "-shared-libasan",
                                      "-Wl,-rpath," + os.path.dirname(runtimes)])):
        program = compiled(scratch, "sanitized by " + name, *compiler, *guest,
                           source=os.path.join(SOURCE, "tests", "programs", "attack_guest.c"))
        if not program:
            continue
        for way, command in ("alone", [program, "fork", "fork"]), ("shell", ["sh", "-c", f"'{program}' fork fork; exit $?"]):
            same(starts(scratch, f"{name}, sanitized, {way}", command, 0), 3 * BRICKS, f"bricks under {name}'s sanitizer")


for test in foreign, sandboxes, sanitized:
    with Scratch() as scratch:
        os.chmod(scratch.path, 0o755)
        test(scratch)
same(sessions(), set(), "session directories left")
