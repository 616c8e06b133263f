# SPDX-License-Identifier: Apache-2.0
"""Programs that run already, for tests of `brick record -p`: what they say, their state as /proc tells it, and small
ones that are compiled here."""
import json
import os
import re
import signal
import struct
import subprocess
import time

from libggml import BUILD, LLAMA, SOURCE, demo, libraries

BRICK = os.path.join(BUILD, "bin", "brick")
WAIT_S = 300
HOOKS_ARE_IN = 2  # BRICK_ENTER_BEGIN


def llama(repeat, threads=1):
    return [LLAMA, "--libs", libraries(), "--model", demo("model-q8_0.gguf"), "--prompt-tokens", "32",
            "--predict", "24", "--threads", str(threads), "--repeat", str(repeat)]


class Program:
    """A program that says a line now and then, into a file: a pipe that nobody reads would hold it up."""

    def __init__(self, folder, command, **more):
        self.said = os.path.join(folder, "said")
        with open(self.said, "wb") as stdout:
            self.process = subprocess.Popen(command, stdout=stdout, **more)
        self.pid = self.process.pid

    def lines(self):
        with open(self.said, encoding="utf-8") as file:
            return file.read().split("\n")[:-1]

    def has_said(self, count):
        until(lambda: len(self.lines()) >= count or self.process.poll() is not None, f"it never says {count} lines")
        assert self.process.poll() is None, "the program has ended"

    def says_more(self, count):
        self.has_said(len(self.lines()) + count)

    def __enter__(self):
        try:
            self.has_said(1)  # some programs say one line only, and have said it already
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def proc(pid, name):
    with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as file:
        return file.read()


def mask_of(pid, tid):
    try:
        return re.search(r"SigBlk:\s*(\w+)", proc(pid, f"task/{tid}/status")).group(1)
    except (FileNotFoundError, ProcessLookupError):
        return "it has just ended"


def file_of(pid, descriptor):
    try:
        return os.readlink(f"/proc/{pid}/fd/{descriptor}")
    except FileNotFoundError:
        return "it has just been closed"


def state(pid):
    """What must be the same afterwards; libraries of ours and theirs, once loaded, stay."""
    status = proc(pid, "status")
    maps = [line.split(maxsplit=5) for line in proc(pid, "maps").splitlines()]
    named = {m[5].strip() for m in maps if len(m) > 5}
    return {
        "descriptors": sorted(file_of(pid, fd) for fd in os.listdir(f"/proc/{pid}/fd")),
        "threads": sorted(os.listdir(f"/proc/{pid}/task")),
        # but for two that the C library takes with the first thread
        "signals": [int(mask, 16) & ~(3 << 31) for mask in re.findall(r"^Sig(?:Blk|Ign|Cgt):\s*(\w+)", status, re.M)],
        "masks": sorted(mask_of(pid, tid) for tid in os.listdir(f"/proc/{pid}/task")),
        "tracer": re.search(r"TracerPid:\s*(\d+)", status).group(1),
        "sessions": sorted(n for n in named if "/brick-" in n and (".session" in n or ".control" in n)),
        "writable code": [m for m in maps if "w" in m[1] and "x" in m[1]],
    }


def code(pid, libs):
    """The engine's code in memory, by library."""
    found = {}
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for line in proc(pid, "maps").splitlines():
            part = line.split(maxsplit=5)
            if len(part) > 5 and "x" in part[1] and part[5].strip().startswith(os.path.realpath(libs)):
                low, end = (int(x, 16) for x in part[0].split("-"))
                memory.seek(low)
                found[part[5].strip(), low] = memory.read(end - low)
    assert found, "no code of the engine is mapped"
    return found


def words(pid, libraries):
    """Words of libraries, by a pattern of their paths, that are constant once they are loaded: hooks are led by them."""
    found = []
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for line in proc(pid, "maps").splitlines():
            part = line.split(maxsplit=5)
            if len(part) > 5 and re.search(libraries, part[5].strip()) and part[1] == "r--p":
                low, end = (int(x, 16) for x in part[0].split("-"))
                memory.seek(low)
                found.append((part[5].strip(), low, hash(memory.read(end - low))))
    assert found, "nothing of the libraries is mapped"
    return found


def ours(pid):
    """Mappings of ours: libraries, sessions, and code that belongs to no file."""
    maps = [line.split(maxsplit=5) for line in proc(pid, "maps").splitlines()]
    return sorted(m[5].strip() if len(m) > 5 else m[1] for m in maps
                  if (len(m) > 5 and "brick" in os.path.basename(m[5])) or (len(m) == 5 and "x" in m[1]))


def record(pid, out, *options, **more):
    return subprocess.run([BRICK, "record", "-p", str(pid), "-o", out, "--no-history", *options],
                          capture_output=True, text=True, timeout=WAIT_S, check=False, **more)


def report(out, *options):
    return subprocess.run([BRICK, "report", *options, out], capture_output=True, text=True, timeout=WAIT_S,
                          check=True).stdout


def until(true, what):
    end = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def rows_so_far(out):
    """Of the file, while it grows; None: it has none yet."""
    done = subprocess.run([BRICK, "report", "--json", out], capture_output=True, text=True, timeout=WAIT_S, check=False)
    return None if done.returncode else json.loads(done.stdout)


def is_recorded(out):
    """It has a step."""
    rows = rows_so_far(out)
    return rows and rows["steps"].get("decode", {}).get("count", 0) > 0


FAR_AHEAD = ("--ring", str(1 << 20))  # of a recorder that gets no CPU for some seconds


def record_while(pid, out, wait, options=()):
    """Stays until wait() returns. A file of a recording before goes first."""
    if os.path.exists(out):
        os.unlink(out)
    recorder = subprocess.Popen([BRICK, "record", "-p", str(pid), "-o", out, "--no-history", "--interval", "100", *options],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait()
        recorder.send_signal(signal.SIGINT)
        stdout, stderr = recorder.communicate(timeout=WAIT_S)
    finally:
        recorder.kill()
    assert recorder.returncode == 0, stderr
    assert not stdout, stdout
    return stderr


def say_more(paths, count):
    """Programs that say their lines into files."""
    def lines(path):
        if not os.path.exists(path):
            return 0
        with open(path, "rb") as file:
            return file.read().count(b"\n")
    wanted = {path: lines(path) + count for path in paths}
    until(lambda: all(lines(path) >= wanted[path] for path in paths), "not all programs compute")


def is_entered(pid):
    """Are its hooks in? The page that it shares with the recorder says so (include/brick/abi/enter.h)."""
    page = re.search(r"(/\S+/enter\.\d+\.control)$", proc(pid, "maps"), re.M)
    try:
        with open(page.group(1), "rb") as file:
            return struct.unpack("II", file.read(8))[1] == HOOKS_ARE_IN
    except (AttributeError, FileNotFoundError):
        return False


def refused(pid, folder, reason, **more):
    out = os.path.join(folder, "refused.pftrace")
    run = record(pid, out, "--duration", "5s", **more)
    assert run.returncode not in (0, 2), (run.returncode, run.stderr)
    assert re.search(reason, run.stderr), f"{reason}: {run.stderr}"
    assert not os.path.exists(out) and not os.path.exists(out + ".part"), "a file is left"


def compile_to(folder, name, text, *flags):
    source, program = os.path.join(folder, name + ".c"), os.path.join(folder, name)
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    made = subprocess.run(["cc", "-o", program, source, *flags], capture_output=True, text=True, check=False)
    return program if not made.returncode else None


def static_program(folder):
    """A program with ggml inside, which calls it without the dynamic linker."""
    top = os.path.dirname(demo("engine-static", "ggml", ".complete"))
    program = os.path.join(folder, "static_ggml")
    source = os.path.join(os.path.dirname(top), "source", "ggml")
    archives = [os.path.join(top, "ggml", "src", f"lib{name}.a") for name in ("ggml", "ggml-cpu", "ggml-base")]
    subprocess.run(["cc", "-c", "-O2", "-D_GNU_SOURCE", "-I" + os.path.join(source, "include"),
                    os.path.join(SOURCE, "tests", "programs", "ggml_static.c"), "-o", program + ".o"], check=True)
    subprocess.run(["c++", program + ".o", *archives, "-o", program, "-lpthread", "-lm", "-ldl"], check=True)
    return program


def compute(pid):
    """For 0.2 s of its CPU time: it has begun, and calls the engine."""
    def ticks():
        return int(proc(pid, "stat").rsplit(")", 1)[1].split()[11])
    wanted = ticks() + os.sysconf("SC_CLK_TCK") // 5
    until(lambda: ticks() >= wanted, "it computes nothing")


SLEEPER = "#include <unistd.h>\nint main(void){write(1, \"x\\n\", 2); for (;;) pause();}\n"
FILTERED = """#include <sys/prctl.h>
#include <linux/seccomp.h>
#include <linux/filter.h>
#include <unistd.h>
int main(void){struct sock_filter f[] = {{BPF_RET, 0, 0, SECCOMP_RET_ALLOW}};
struct sock_fprog p = {1, f}; prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
write(1, "x\\n", 2); for (;;) pause();}
"""


class Running:
    def __init__(self, *command, **more):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **more)
        self.pid = self.process.pid

    def __enter__(self):
        try:
            self.line = self.process.stdout.readline()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
