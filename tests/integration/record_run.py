# SPDX-License-Identifier: Apache-2.0
"""A recorded program runs as it does alone: its input and output, exit code, signals, environment,
descriptors; and what the recorder says when something cannot be done."""
import os
import random
import signal
import stat
import subprocess
import sys

from librecord import *

need(PRODUCER)


def exit_codes(scratch):
    out = scratch.file("run.pftrace")
    for code in (0, 1, 42, 127, 255):
        same(record(out, "sh", "-c", f"exit {code}").returncode, code, "exit code")
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGINT):
        found = record(out, "sh", "-c", f"ulimit -c 0; kill -{int(number)} $$").returncode
        same(found, 128 + number, "code after a signal")


def streams(scratch):
    out = scratch.file("run.pftrace")
    data = random.Random(1).randbytes(1 << 20)
    run = record(out, PRODUCER, "copy", "samples=10", "warn=to stderr", input=data)
    check(run.stdout == data, "stdout is not what went into stdin")
    check(run.stderr.startswith(b"to stderr\n"), "stderr is", run.stderr)
    check(b"brick: " in run.stderr, "there is no summary")
    run = record(out, PRODUCER, "copy", "samples=10", "warn=to stderr", input=b"",
                 options=["-q"])
    same((run.stdout, run.stderr), (b"", b"to stderr\n"), "with -q, output")
    # nothing of the recorder's in the middle of what the program writes
    run = record(out, "sh", "-c", "for i in 1 2 3 4 5 6; do echo $i >&2; sleep 0.2; done")
    check(run.stderr.startswith(b"1\n2\n3\n4\n5\n6\nbrick: "), "stderr is", run.stderr)
    # a closed stdin, stdout or stderr stays closed, and none of our files takes its place
    script = "for fd in 0 1 2; do readlink /proc/$$/fd/$fd || echo closed; done > "
    found = []
    for name, command in (("alone", []), ("recorded", [BRICK, "record", "-o", out, "--"])):
        subprocess.run(["sh", "-c", '"$@" <&- >&- 2>&-', "sh", *command, "sh", "-c",
                        script + scratch.file("descriptors")], check=True)
        with open(scratch.file("descriptors")) as file:
            found.append(file.read())
    same(found[1], found[0], "with closed standard descriptors, what the program finds")
    check("closed" in found[0], "descriptors were not closed")
    check(not Trace(out).cut, "the recording is damaged")


def surroundings(scratch):
    """What a program can see of its environment, with and without being recorded."""
    out = scratch.file("run.pftrace")
    script = ("grep -E '^(SigBlk|SigIgn|SigCgt|Groups|Uid)' /proc/self/status; ulimit -a; pwd; umask;"
              "ls /proc/self/fd | wc -l; ps -o pgid= -o sid= -o ni= -o cls= -p $$;"
              "cat /proc/self/timerslack_ns;"
              "env | grep -v -e ^BRICK_ -e ^LD_PRELOAD= -e ^CUDA_INJECTION64_PATH= -e ^ROCP_TOOL_LIBRARIES= "
              "-e ^NVTX_INJECTION64_PATH= -e ^INTEL_LIBITTNOTIFY64= -e ^NCCL_PROFILER_PLUGIN= -e ^XDG_DATA_DIRS= -e ^_= | sort")
    command = ["sh", "-c", script]
    alone = subprocess.run(command, stdout=subprocess.PIPE, cwd=scratch.path, check=True)
    recorded = record(out, *command, cwd=scratch.path)
    same(recorded.stdout, alone.stdout, "what the program sees")
    # and with signals that a parent ignores or blocks
    def ignoring():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    status = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]
    alone = subprocess.run(status, stdout=subprocess.PIPE, preexec_fn=ignoring, check=True)
    recorded = record(out, *status, preexec_fn=ignoring)
    same(recorded.stdout, alone.stdout, "signal state")
    same(recorded.returncode, 0, "exit code while SIGCHLD is ignored")


def preload(scratch):
    out = scratch.file("run.pftrace")
    environment = dict(os.environ, LD_PRELOAD="libc.so.6")
    show = ["sh", "-c", "echo $LD_PRELOAD"]
    run = record(out, *show, env=environment)
    if b"ASan runtime" in run.stderr:
        return  # built so that it tolerates no preloading
    ours = [os.path.join(BUILD, "lib", name) for name in
            ("libbrick-ggml.so", "libbrick-torch.so", "libbrick-onnxruntime.so", "libbrick-opencl.so", "libbrick-mpi.so")]
    expected = ":".join([os.path.realpath(path) for path in ours if os.path.exists(path)] +
                        ["libc.so.6"])
    same(run.stdout.decode().strip(), expected, "LD_PRELOAD")
    run = record(out, *show, env=environment, options=["--attach", "none"])
    same(run.stdout.decode().strip(), "libc.so.6", "LD_PRELOAD with --attach none")
    # a start script with a list of its own: what it starts gets ours in front of that
    script = ["sh", "-c", "LD_PRELOAD=libm.so.6 sh -c 'echo $LD_PRELOAD'; LD_PRELOAD= sh -c 'echo $LD_PRELOAD'"]
    run = record(out, *script, env=environment)
    ours = expected.removesuffix(":libc.so.6")
    same(run.stdout.decode().split("\n"), [f"{ours}:libm.so.6", "", ""], "LD_PRELOAD of a start script")


def signals(scratch):
    """What a supervisor sends to the recorder reaches the program."""
    out = scratch.file("run.pftrace")
    script = "trap 'echo term; exit 3' TERM; trap 'echo usr1' USR1; echo ready; while :; do sleep 0.05; done"
    run = start(out, "sh", "-c", script)
    same(run.stdout.readline(), b"ready\n", "first line")
    run.send_signal(signal.SIGUSR1)
    same(run.stdout.readline(), b"usr1\n", "after SIGUSR1")
    run.send_signal(signal.SIGTERM)
    same((run.stdout.readline(), run.wait()), (b"term\n", 3), "after SIGTERM")
    # what a supervisor alone sends does, too: SIGINT of a terminal comes to the whole group
    for number, name in ((signal.SIGINT, "INT"), (signal.SIGQUIT, "QUIT"), (signal.SIGALRM, "ALRM")):
        run = start(out, "sh", "-c", f"trap 'echo {name}; exit 4' {name}; echo ready; while :; do sleep 0.05; done")
        run.stdout.readline()
        run.send_signal(number)
        same((run.stdout.readline(), run.wait()), (name.encode() + b"\n", 4), "after SIG" + name)
        check(not Trace(out).cut, "the recording is damaged")


def failures(scratch):
    out = scratch.file("run.pftrace")
    left = lambda: sorted(os.listdir(scratch.path))
    before = left()
    run = record(scratch.file("new.pftrace"), "no-such-command-anywhere")
    same(run.returncode, 127, "code of a missing command")
    same(run.stderr, b"brick: record: no-such-command-anywhere: No such file or directory\n", "stderr")
    run = record(scratch.file("new.pftrace"), scratch.path)
    same(run.returncode, 126, "code of a directory as command")
    same(left(), before, "files left by commands that do not start")
    null = os.stat("/dev/null")
    for output in ("/nonexistent-directory/run.pftrace", scratch.path, scratch.path + "/", "/dev/null",
                   "/proc/run.pftrace"):
        run = record(output, "sh", "-c", "echo ran; exit 7")
        same((run.returncode, run.stdout), (4, b""), "with an unwritable output")
        check(b"nothing was run" in run.stderr, run.stderr)
        run = record(output, "sh", "-c", "echo ran; exit 7", options=["--keep-going"])
        same((run.returncode, run.stdout), (7, b"ran\n"), "with --keep-going")
        check(run.stderr.startswith(b"brick: record: " + output.encode() + b": "), run.stderr)
        check(b"the program runs unrecorded" in run.stderr, run.stderr)
    same(left(), before, "files left by unwritable outputs")
    same(os.stat("/dev/null").st_rdev, null.st_rdev, "/dev/null")
    check(not os.path.exists("/dev/null.part"), "there is a /dev/null.part")
    for wrong in (["--mode", "sometimes"], ["--ring", "many"], ["--ring", "0"], ["--interval", "-1"],
                  ["--no-such-option"], ["--attach", "all"], ["--rules", "/nonexistent"], ["-o", ""]):
        run = subprocess.run([BRICK, "record", *wrong, "--", "touch", scratch.file("touched")],
                             capture_output=True)
        same(run.returncode, 2, f"code of {wrong}")
    for wrong in ([], ["-q"], ["-o"], ["--"]):
        run = subprocess.run([BRICK, "record", *wrong], capture_output=True)
        same(run.returncode, 2, f"code of {wrong} without a command")
    check(not os.path.exists(scratch.file("touched")), "a command ran in spite of wrong usage")
    same(subprocess.run([BRICK, "record", "--help"], capture_output=True).returncode, 0, "--help")


def names(scratch):
    """The default name; an old recording stays until the new one is whole."""
    run = subprocess.run([BRICK, "record", PRODUCER, "samples=5"], cwd=scratch.path,
                         capture_output=True)
    same(run.returncode, 0, "exit code")
    default = scratch.file("run.pftrace")
    same(Trace(default).begins, 5, "samples")
    same(stat.S_IMODE(os.stat(default).st_mode) & 0o111, 0, "mode bits for execution")
    record(default, "no-such-command-anywhere")
    same(Trace(default).begins, 5, "samples after a failed run")


def twice(scratch):
    """Two recorders that would write to the same file: the second one does not."""
    out = scratch.file("twice.pftrace")
    first = start(out, PRODUCER, "samples=6", "say=ready", "copy", "samples=1", stdin=subprocess.PIPE)
    first.stdout.readline()
    second = record(out, PRODUCER, "samples=50", "say=ran", "exit=2")
    same((second.returncode, second.stdout), (4, b""), "the second program")
    check(b"another recording is being written there" in second.stderr, second.stderr)
    first.stdin.close()  # which the program waits for
    same((first.wait(), Trace(out).begins), (0, 7), "the first recording")
    same(record(out, PRODUCER, "samples=9").returncode, 0, "afterwards")
    same(Trace(out).begins, 9, "samples afterwards")


def clock(scratch):
    """The fall-back clock, which all processes of a recording must share."""
    out = scratch.file("clock.pftrace")
    record(out, PRODUCER, "nested=7", env=dict(os.environ, BRICK_CLOCK="monotonic"))
    trace = Trace(out)
    same((trace.begins, trace.last("brick.clock")["clock"]["source"]), (14, 0), "samples, clock")
    # one that insists on another clock than the recorder's is not mixed in, but counted
    run = record(out, "env", "BRICK_CLOCK=monotonic", PRODUCER, "nested=7")
    trace = Trace(out)
    lost = trace.last("brick.account")["lost_processes"]
    same((trace.begins, lost) in ((0, 1), (14, 0)), True, "samples and lost processes")
    same(b"reads another clock" in run.stderr, lost == 1, "the message")


def removed(scratch):
    """Somebody removes a directory of ours while a program runs: that of its sessions, or the recording's."""
    out = scratch.file("removed.pftrace")
    run = record(out, "sh", "-c", f"rm -r $BRICK_SESSION_DIR; {PRODUCER} samples=5")
    check(b"the recorder's directory was removed meanwhile" in run.stderr, run.stderr)
    folder = scratch.file("folder")
    os.mkdir(folder)
    run = record(os.path.join(folder, "removed.pftrace"), "sh", "-c", f"{PRODUCER} samples=5; rm -r {folder}")
    check(b"its directory " + folder.encode() + b"/ was removed meanwhile" in run.stderr, run.stderr)


def nothing(scratch):
    out = scratch.file("nothing.pftrace")
    run = record(out, "true")
    check(b"nothing was attached: " in run.stderr, run.stderr)
    check(b"no process recorded anything" in run.stderr and b"0 processes" not in run.stderr, run.stderr)
    check(not Trace(out).cut and Trace(out).last("brick.end"), "the empty recording is damaged")
    run = record(out, "nice", "timeout", "60", "true")
    check(b"attached: true computed nothing" in run.stderr, "a wrapper's program is not named", run.stderr)
    for options in (["-i"], ["-"], ["--ignore-environment"], ["-u", "HOME", "-i"], ["--unset", "HOME", "-iuTMP"]):
        run = record(out, "env", *options, "true")
        check(b"env empties the environment" in run.stderr, options, run.stderr)
    for options in (["-u", "-i"], ["-uTi"], ["--chdir", "/", "i=i"]):
        run = record(out, "env", *options, "true")
        check(b"env empties" not in run.stderr, options, run.stderr)
    for option in (["--mode", "none"], ["--attach", "none"]):
        run = record(out, "true", options=option)
        check(b"nothing was recorded: " in run.stderr, option, run.stderr)
    same(record(out, PRODUCER, "samples=5", options=["--mode", "none"]).returncode, 0, "exit code")
    same(Trace(out).begins, 0, "samples with --mode none")
    ours = os.path.join(BUILD, "lib", "libbrick-ggml.so")
    if os.path.exists(ours) and os.access("/sbin/ldconfig", os.X_OK):
        run = record(out, "/sbin/ldconfig", "-p")  # static on all systems with glibc
        same(run.returncode, 0, "exit code of a static program")
        check(b"nothing was attached: the program is linked statically" in run.stderr, run.stderr)
    # a recorder under a recorder: the inner one records its own program
    inner = scratch.file("inner.pftrace")
    run = record(out, BRICK, "record", "-q", "-o", inner, "--", PRODUCER, "samples=8", "exit=9")
    same((run.returncode, Trace(inner).begins, Trace(out).begins), (9, 8, 0), "nested recorders")
    run = record(out, PRODUCER, "samples=1", options=["--graph"])
    check(b"--graph: nothing in this run could record it" in run.stderr, run.stderr)


with Scratch() as scratch:
    for test in (exit_codes, streams, surroundings, preload, signals, failures, names, twice, clock, nothing, removed):
        test(scratch)
    same(sessions(), set(), "session directories left")
