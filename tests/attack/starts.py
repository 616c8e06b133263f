# SPDX-License-Identifier: Apache-2.0
"""Programs that our libraries cannot be preloaded into start as they do without Brick, also behind a shell, in a
sandbox or by posix_spawn(): same exit code, output and stderr. The recording says that they are missing. Those of
the address sanitizer are recorded. Who starts without its parent's environment is missed, too. A program without
ggml is not searched for its functions, whatever symbols its libraries have."""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
from libattack import *

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HOSTS = os.path.join(BUILD, "bin", "program-attack_hosts")
need(GUEST)
PLAIN = 'int puts(const char *); int main(void) { puts("ran"); return 3; }\n'


MINE = """
const char mine[] = "ggml";
__attribute__((noinline)) void ggml_compute_forward(void *a, void *b) { __asm__ volatile("" : : "r"(a), "r"(b)); }
int main(int argc, char **argv) { if (argc > 9) ggml_compute_forward(argv, argv); return mine[0] != (char)103; }
"""


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
    plain = subprocess.run(command, capture_output=True, timeout=600, **keywords)
    same((run.returncode, run.stdout, own_lines(run.stderr)), (plain.returncode, plain.stdout, plain.stderr), f"{name}: what it did")
    told = json.loads(subprocess.run([BRICK, "report", "--json", out], capture_output=True, timeout=600).stdout)
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
    for how in "fexecve", "execveat", "syscall-execveat", "syscall-execve":
        yield how, [HOSTS, "exec", how, program]
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


def static(scratch):
    """What is linked statically may record by itself, so it is not counted, but named where nothing was recorded."""
    for name, option in ("static", "-static"), ("static and relocatable", "-static-pie"):
        program = compiled(scratch, "alone", "cc", option)
        if program:
            command = ["sh", "-c", f"{program}; exit $?"]
            starts(scratch, name, command, 0)
            run = record(scratch.file("starts.pftrace"), *command)
            check(b"alone, which it started: the program is linked statically" in run.stderr, name, run.stderr)


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
    for devices in "--dev /dev", "--dev-bind /dev /dev":  # with the recorder's directory
        script = " ".join(bare).replace("--dev /dev", devices)
        starts(scratch, f"sandbox without our files, {devices}", ["sh", "-c", f"{script}; exit $?"], 1)
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


def unsearched(scratch):
    """The C library's own symbols are there, as with libc6-dbg, and one program that is searched: what opens ours
    for that says so, and many programs that do not use ggml start as fast as ever."""
    libc = next(line.split()[2] for line in subprocess.run(["ldd", "/bin/true"], capture_output=True, text=True).stdout.splitlines()
                if "libc.so" in line)
    notes = subprocess.run(["readelf", "-n", libc], capture_output=True, text=True).stdout
    build_id = notes.partition("Build ID: ")[2].split()[0]
    if not os.path.exists(f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"):
        print("not tried, as the C library has no symbols here (libc6-dbg)")
        return
    source = scratch.file("mine.c")
    with open(source, "w") as file:
        file.write(MINE)
    ours = compiled(scratch, "mine", "cc", source=source)
    for name, program, opened in ("other programs", "/bin/true", False), ("one with ggml's functions", ours, True):
        run = record(scratch.file("starts.pftrace"), "sh", "-c", f"{program}; {program}", env={**os.environ, "LD_DEBUG": "files"})
        same(run.returncode, 0, name)
        same(b"calling init" in run.stderr and b"libbrick-patch" in run.stderr, opened, f"{name}: is it searched?")
        print(name)


BARE = """
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char *nothing[] = {0};
	pid_t child = fork();
	if (!child)
		execve(argv[1], argv + 1, nothing);
	int status;
	return argc < 2 || child < 0 || waitpid(child, &status, 0) < 0 || status;
}
"""


def static_sleep(scratch, name, text):
    """A static program that sleeps for so many seconds, and mentions the text."""
    with open(scratch.file(name + ".c"), "w") as file:
        file.write(f'#include <stdlib.h>\n#include <unistd.h>\nconst char mentioned[] = "{text}";\n'
                   'int main(int argc, char **argv) { return mentioned[0] == 1 || sleep(atoi(argv[argc - 1])); }\n')
    return compiled(scratch, name, "cc", "-static", source=file.name)


def emptied(scratch):
    """Without the environment of who started it nothing of ours is in a program. Who starts it says so; where that
    cannot be, since nothing of ours is in there either, the program is seen from outside, if it takes its time."""
    source = scratch.file("bare.c")
    with open(source, "w") as file:
        file.write(BARE)
    bare = compiled(scratch, "bare", "cc", "-static", source=source)
    idle, engine = (static_sleep(scratch, name, text) for name, text in (("idle", ""), ("engine", "ggml_graph_compute")))
    for name, script, missing, rest in (("env -i", f"env -i {GUEST} bricks; {GUEST} bricks", 1, BRICKS),
                                        ("nothing", f"{GUEST} bricks; sleep 1", 0, BRICKS),
                                        ("env -u", f"env -u HOME {GUEST} bricks; env -u BRICK_SESSION_DIR true", 1, BRICKS),
                                        *([("bare", f"{GUEST} bricks; {bare} /bin/sleep 3", 1, BRICKS),
                                           ("static", f"{GUEST} bricks; env -i {bare} {bare} {bare} /bin/true; env -i {idle} 3", 0, BRICKS),
                                           ("static with ggml", f"{GUEST} bricks; env -i {engine} 3", 1, BRICKS)] if bare else [])):
        same(starts(scratch, "emptied, " + name, ["sh", "-c", script + "; exit $?"], missing), rest, f"bricks beside {name}")
    name = subprocess.run([BRICK, "record", "-o", scratch.file("named.pftrace"), "--", "sh", "-c", "env -i sleep 0; true"],
                          capture_output=True, timeout=600).stderr
    check(b"could not record: sleep (process " in name, "its name:", name)


for test in foreign, static, sandboxes, sanitized, unsearched, emptied:
    with Scratch() as scratch:
        os.chmod(scratch.path, 0o755)
        test(scratch)
same(sessions(), set(), "session directories left")
