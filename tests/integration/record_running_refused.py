# SPDX-License-Identifier: Apache-2.0
"""`brick record -p PID` refuses each kind of process that cannot be entered, with its reason and advice. The process
runs on unchanged, and is traced by nobody. In a tree of processes each refusal is told, also the root's, and what can be
entered is recorded."""
import os
import re
import shutil
import signal
import subprocess
import tempfile

import libggml
from libggml import BUILD, LLAMA, libraries
from librunning import (BRICK, FILTERED, SLEEPER, WAIT_S, Running, compile_to, is_entered, llama,
                        proc, record_while, refused, say_more, until)

TRACED = """#include <sys/ptrace.h>
#include <sys/wait.h>
#include <stdio.h>
#include <unistd.h>
int main(void){int s; pid_t p = fork(); if (!p) for (;;) pause();
ptrace(PTRACE_SEIZE, p, 0, 0); printf("%d\\n", p); fflush(stdout); for (;;) pause();}
"""
THREADED = """#include <pthread.h>
#include <unistd.h>
static void *wait_on(void *p){write(1, "x\\n", 2); for (;;) pause(); return p;}
int main(void){pthread_t t; pthread_create(&t, 0, wait_on, 0); for (;;) pause();}
"""
LOADS = """#include <dlfcn.h>
#include <unistd.h>
int main(int c, char **v){for (int i = 1; i < c; i++) if (!dlopen(v[i], RTLD_NOW)) return 1;
write(1, "x\\n", 2); for (;;) pause();}
"""
# as a program that has changed its user: its own user may not look at its memory
CLOSED = """#include <sys/prctl.h>
#include <unistd.h>
int main(void){prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); write(1, "x\\n", 2); for (;;) pause();}
"""
STRICT = """#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(void){char c; int p[2]; if (pipe(p)) return 1; write(1, "x\\n", 2);
if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) return 1; for (;;) read(p[0], &c, 1);}
"""
TRACED_STOP = """#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void){int s; pid_t p = fork(); if (!p) { ptrace(PTRACE_TRACEME, 0, 0, 0); raise(SIGUSR1); _exit(0); }
waitpid(p, &s, 0); printf("%d\\n", p); fflush(stdout); for (;;) pause();}
"""
# its first thread ends, another one goes on
LEADERLESS = """#include <pthread.h>
#include <unistd.h>
static void *wait_on(void *p){write(1, "x\\n", 2); for (;;) pause(); return p;}
int main(void){pthread_t t; pthread_create(&t, 0, wait_on, 0); pthread_exit(0);}
"""
# has an engine, and waits in the kernel where nothing but a signal that ends it wakes it
VFORKED = """#include <dlfcn.h>
#include <unistd.h>
int main(int c, char **v){if (!dlopen(v[1], RTLD_NOW)) return 1;
if (!vfork()) { write(1, "x\\n", 2); for (;;) pause(); } return 0;}
"""
# starts its arguments, and is under a filter then
FILTERED_PARENT = FILTERED.replace("int main(void){", """int main(int c, char **v){
if (c > 1 && !fork()) { execvp(v[1], v + 1); _exit(1); }
""")


def in_other_worlds(folder, kind, sleeper):
    """Namespaces, which unshare(1) makes where it may."""
    def may(*options):
        return not subprocess.run(["unshare", *options, "true"], stderr=subprocess.DEVNULL, check=False).returncode

    def child(running):
        def found():
            return proc(running.pid, f"task/{running.pid}/children").split()
        until(found, "it has no child")
        return int(found()[0])
    if may("--user", "--map-root-user"):
        kind("unshare", "it runs in a container .other numbers of processes or users.", "--user", "--map-root-user", sleeper)
    if may("--pid", "--fork"):
        kind("unshare", "it runs in a container .other numbers of processes or users.", "--pid", "--fork", "--kill-child",
             sleeper, pid=child)
    if may("--mount"):
        kind("unshare", "it runs among other files", "--mount", "sh", "-c",
             f"mount -t tmpfs none /dev/shm && exec {sleeper}")
        if os.path.exists(LLAMA):
            kind("unshare", "it runs among other files .* does not see /.*/libbrick-ggml.so", "--mount", "sh", "-c",
                 f"mount -t tmpfs none {BUILD}/lib && exec {folder}/loads {engine()}")


def of_other_builds(folder, kind):
    """By what was linked or loaded."""
    kind(compile_to(folder, "static", SLEEPER, "-static"), "linked statically")
    kind(compile_to(folder, "narrow", SLEEPER, "-m32"), "not a 64-bit program")
    kind(compile_to(folder, "address", SLEEPER, "-fsanitize=address"), "sanitizer")
    kind(compile_to(folder, "thread", SLEEPER, "-fsanitize=thread"), "sanitizer")
    loader = os.path.join(folder, "ld-musl-x86_64.so.1")
    shutil.copy("/lib64/ld-linux-x86-64.so.2", loader)
    kind(compile_to(folder, "musl", SLEEPER, f"-Wl,--dynamic-linker={loader}"), "another C library")
    loads = compile_to(folder, "loads", LOADS)
    for library, title in (("libtorch_cpu.so", "PyTorch"), ("libonnxruntime.so.1", "ONNX Runtime"),
                           ("libcudart.so.12", "CUDA"), ("libOpenCL.so.1", "OpenCL"), ("libvulkan.so.1", "Vulkan"),
                           ("libnvToolsExt.so.1", "NVTX")):
        kind(loads, "it uses " + title, compile_to(folder, library, "int none(void){return 1;}\n", "-shared", "-fPIC"))
    kind(loads, "it uses Python's onnxruntime, .* brick import", compile_to(
        folder, "onnxruntime_pybind11_state.so", "int none(void){return 1;}\n", "-shared", "-fPIC"))
    kind(loads, "its ONNX Runtime cannot be patched: its table of functions", compile_to(
        folder, "libonnxruntime.so.1.20", "const void *words[300]; const void *OrtGetApiBase(void){return words;}\n", "-shared", "-fPIC"))
    kind(loads, "it has libbrick inside, and records itself", os.path.join(BUILD, "lib", "libbrick.so"))
    narrow = compile_to(folder, "libnarrow.so", "void ggml_graph_compute(void){}\n", "-shared", "-fPIC", "-O2", "-fcf-protection=none")
    kind(loads, "its ggml cannot be patched: .*; start it by brick record", narrow)
    if os.path.exists(LLAMA):
        former = compile_to(folder, "libbrick-ggml.so", "int none(void){return 1;}\n", "-shared", "-fPIC")
        kind(loads, f"a former recorder left {former} in it, and this one would need /", former, engine())


def engine():
    return os.path.join(libraries(), "libggml-base.so")


def by_rights(folder, kind, sleeper):
    """By whose it is, and what it may do."""
    kind(compile_to(folder, "filtered", FILTERED), "seccomp")
    kind(compile_to(folder, "strict", STRICT), "seccomp")
    kind(compile_to(folder, "traced", TRACED), r"process \d+ traces it", pid=lambda r: int(r.line))
    kind(compile_to(folder, "traced_stop", TRACED_STOP), r"process \d+ traces it", pid=lambda r: int(r.line))
    if os.geteuid():
        return
    os.chmod(folder, 0o777)
    privileged = shutil.copy(sleeper, os.path.join(folder, "privileged"))
    os.chown(privileged, 0, 65534)
    os.chmod(privileged, 0o2755)
    kind(privileged, "changes its user or group")
    kind(sleeper, "it runs as user 65534", user=65534, group=65534, cwd="/")
    everybody = {"user": 65534, "group": 65534, "cwd": "/"}
    if not subprocess.run([BRICK, "--version"], capture_output=True, check=False, **everybody).returncode:
        kind(compile_to(folder, "closed", CLOSED), "it has more rights than you", by=everybody, **everybody)
    kernel = next((int(p) for p in os.listdir("/proc") if p.isdigit() and proc(p, "status").startswith("Name:\tkthreadd")), 0)
    if kernel:
        kind(None, "thread of the kernel", pid=kernel)


def by_state(folder, kind, sleeper):
    """By what it does, or does not any more."""
    kind(compile_to(folder, "threaded", THREADED, "-pthread"), r"it is a thread of process \d+: say -p \d+",
         pid=lambda r: max(int(tid) for tid in os.listdir(f"/proc/{r.pid}/task")))
    kind(sleeper, "stopped by a signal", before=lambda r: (
        os.kill(r.pid, signal.SIGSTOP), until(lambda: "T (stopped)" in proc(r.pid, "status"), "it does not stop")))
    kind(compile_to(folder, "leaderless", LEADERLESS, "-pthread"), "its first thread has ended", before=lambda r: (
        until(lambda: "Z (zombie)" in proc(r.pid, "status"), "its thread does not end")))
    kind(None, "no such process", pid=2**22 - 3)
    with Running(sleeper) as running:
        running.process.kill()
        until(lambda: "Z (zombie)" in proc(running.pid, "status"), "it does not end")
        kind(None, "it has ended", pid=running.pid)
    itself = subprocess.run(["sh", "-c", f"exec {BRICK} record -p $$ --no-history -o {folder}/itself"], capture_output=True,
                            text=True, check=False)
    assert itself.returncode not in (0, 2) and "it is this command itself" in itself.stderr, itself.stderr
    if os.path.exists(LLAMA):
        kind(compile_to(folder, "vforked", VFORKED), "one of its threads does not stop: it waits in the kernel",
             os.path.join(libraries(), "libggml-base.so"), start_new_session=True)
        kind(folder + "/vforked", r"it shares its memory with process \d+", engine(), start_new_session=True,
             pid=lambda r: int(proc(r.pid, f"task/{r.pid}/children")))


def all_refusals(folder):
    """Kinds of processes that must be refused; the machine may lack a compiler's part, or rights, for a few."""
    sleeper = compile_to(folder, "sleeper", SLEEPER)
    assert sleeper, "no compiler"
    kinds = 1  # this command itself

    def kind(program, reason, *arguments, pid=None, before=None, by=None, **more):
        nonlocal kinds
        if not program and not isinstance(pid, int):
            print("not tried:", reason)
            return
        kinds += 1
        if not program:
            refused(pid, folder, reason)
            return
        with Running(program, *arguments, **more) as running:
            assert running.line, f"it does not run: {reason}"
            if before:
                before(running)
            refused(pid(running) if pid else running.pid, folder, reason, **(by or {}))
            assert running.process.poll() is None, f"it has ended: {reason}"
            if more.get("start_new_session"):
                os.killpg(running.pid, signal.SIGKILL)

    kind(sleeper, "it has no ggml")
    of_other_builds(folder, kind)
    by_rights(folder, kind, sleeper)
    by_state(folder, kind, sleeper)
    in_other_worlds(folder, kind, sleeper)
    print(kinds, "kinds were refused")
    assert kinds >= 20, f"only {kinds} kinds could be tried"


def of_the_engine(folder):
    """With the engine in it: a process of a recorder."""
    out = os.path.join(folder, "other.pftrace")
    recorder = subprocess.Popen([BRICK, "record", "-q", "-o", out, "--no-history", *llama(100000)],
                                stdout=subprocess.PIPE, text=True)
    try:
        assert recorder.stdout.readline()
        child = 0
        for pid in proc(recorder.pid, f"task/{recorder.pid}/children").split():
            if proc(int(pid), "cmdline").startswith(LLAMA):
                child = int(pid)
        refused(child, folder, "it is being recorded|started by brick record")
        os.kill(child, signal.SIGTERM)
        recorder.communicate(timeout=WAIT_S)
    finally:
        recorder.kill()


def have_begun(*paths):
    """Programs that say a line, at least, into these files."""
    until(lambda: all(os.path.exists(path) and os.path.getsize(path) for path in paths), "not all have begun")


def told_of_each(folder):
    """A child's refusal is told beside others that are entered, and the root's, too; but no process without an engine."""
    address = compile_to(folder, "address", SLEEPER, "-fsanitize=address")
    root = compile_to(folder, "root", FILTERED_PARENT)
    begun = [f"{folder}/{name}" for name in ("told", "address.1", "address.2", "sleeper.1")]
    script = (f"{' '.join(llama(100000))} >{begun[0]} & echo $!; {address} >{begun[1]} & {address} >{begun[2]} & "
              f"{folder}/sleeper >{begun[3]} & wait")
    with Running(root, "sh", "-c", script, start_new_session=True) as running:
        numbers = [line.strip() for line in (running.line, running.process.stdout.readline())]
        engine = next(int(line) for line in numbers if line.isdigit())

        def steps():
            until(lambda: is_entered(engine), "it is not entered")
            say_more([folder + "/told"], 2)
        try:
            have_begun(*begun)
            stderr = record_while(running.pid, os.path.join(folder, "told.pftrace"), steps)
            assert "attached to ggml" in stderr, stderr
            said = re.findall(r"process (\d+)(?: and (\d) more)? cannot be entered: (.*)", stderr)
            assert len(said) == 2, stderr
            assert said[0][0] == str(running.pid) and "seccomp" in said[0][2], stderr
            assert said[1][1] == "1" and "sanitizer" in said[1][2], stderr
        finally:
            os.killpg(running.pid, signal.SIGKILL)


def ends_beside_refused(folder):
    """A process that was recorded to its end is no failure because another one of the tree cannot be entered."""
    out, filtered = os.path.join(folder, "beside.pftrace"), compile_to(folder, "filtered", FILTERED)
    engine = " ".join(llama(100000))
    with Running("sh", "-c", f"{engine} >{folder}/beside & echo $!; {filtered} >{folder}/filtered.1 & wait",
                 start_new_session=True) as running:
        try:
            have_begun(folder + "/beside", folder + "/filtered.1")
            recorder = subprocess.Popen([BRICK, "record", "-p", str(running.pid), "-o", out, "--no-history"],
                                        stderr=subprocess.PIPE, text=True)
            until(lambda: is_entered(int(running.line)), "it is not entered")
            say_more([folder + "/beside"], 2)
            os.kill(int(running.line), signal.SIGTERM)
            _, stderr = recorder.communicate(timeout=WAIT_S)
            assert recorder.returncode == 0 and "cannot be entered" in stderr, (recorder.returncode, stderr)
        finally:
            os.killpg(running.pid, signal.SIGKILL)


def main():
    with tempfile.TemporaryDirectory() as folder:
        all_refusals(folder)
        if not os.path.exists(LLAMA):
            libggml.skip("brick-llama is not built")
        of_the_engine(folder)
        told_of_each(folder)
        ends_beside_refused(folder)


main()
