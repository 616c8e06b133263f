# SPDX-License-Identifier: Apache-2.0
"""The report of a long recording takes little memory, says the same as one that holds all samples,
and leaves no file behind when it is killed. Memory is what the kernel counted, not a limit."""
import os
import resource
import signal
import subprocess
import time

from libcli import BRICK, BUILD, TMP, environment, expect, expect_true

DEMO = os.path.join(BUILD, "bin", "program-demo_recording")
SAMPLES = 4_000_000  # 128 MB of them
MB = 1 << 20


def no_files():
    """No file may be written to: samples stay in memory."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def report(path, *args, before=None):
    """What it says, and the memory that it needed at most."""
    child = subprocess.Popen([BRICK, "report", path, *args], stdout=subprocess.PIPE, env=environment(),
                             preexec_fn=before)
    with child.stdout:
        text = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    expect(f"exit code of {args}", child.returncode, 0)
    return text, usage.ru_maxrss * 1024


def same_in_less_memory(path):
    part = ("--steps", "2-900", "--layer", "1", "--json")
    for args in ((), ("--json",), ("--by", "layer", "--csv"), part):
        text, used = report(path, *args)
        all_text, all_used = report(path, *args, before=no_files)
        expect_true(f"{args}: the same text", text == all_text and len(text) > 500)
        expect_true(f"{args}: {all_used // MB} MB hold all samples", all_used > SAMPLES * 32)
        expect_true(f"{args}: {used // MB} MB are little", used < SAMPLES * 32 - 20 * MB)


def unnamed_files(pid, directory):
    """What the process has open that was made in the directory."""
    links = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            pass
    return [link for link in links if link.startswith(directory)]


def killed_leaves_nothing(path):
    """It reads from a pipe, the end of which never comes."""
    directory = os.path.join(TMP, "scratch")
    pipe = os.path.join(TMP, "pipe.pftrace")
    os.mkdir(directory)
    os.mkfifo(pipe)
    child = subprocess.Popen([BRICK, "report", pipe], stdout=subprocess.DEVNULL,
                             env=environment(TMPDIR=directory))
    with open(path, "rb") as file, open(pipe, "wb") as writer:
        writer.write(file.read()[:-100_000])
        writer.flush()
        end = time.monotonic() + 600
        while not unnamed_files(child.pid, directory) and time.monotonic() < end:
            time.sleep(0.01)
        expect_true("samples are in a file there", len(unnamed_files(child.pid, directory)) == 1)
        expect("names of it", os.listdir(directory), [])
        child.send_signal(signal.SIGKILL)
        child.wait()
    expect("left behind", os.listdir(directory), [])


def main():
    path = os.path.join(TMP, "long.pftrace")
    subprocess.run([DEMO, path, str(SAMPLES)], check=True, timeout=600)
    same_in_less_memory(path)
    killed_leaves_nothing(path)


main()
