# SPDX-License-Identifier: Apache-2.0
"""When there is no room for the recording, the program runs to its end and its code is returned;
what was recorded until then can be read, and is named."""
import os
import resource
import subprocess

from librecord import *

need(PRODUCER)


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000))


def file_size(scratch):
    out = scratch.file("limited.pftrace")
    # the program writes no file, but inherits the limit: its session is larger than it allows
    run = record(out, "sh", "-c", f"ulimit -f unlimited 2>/dev/null; echo ran; exec {PRODUCER} exit=3",
                 preexec_fn=limited)
    same((run.returncode, run.stdout), (3, b"ran\n"), "with a limit on file sizes")


def mounted(scratch):
    disk = scratch.file("disk")
    os.mkdir(disk)
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk],
                                      capture_output=True).returncode:
        print("no tmpfs can be mounted here: a full disk was not tried")
        return
    try:
        out = os.path.join(disk, "run.pftrace")
        run = record(out, PRODUCER, "say=begin", "paced=1,400000,5", "say=end", "exit=6",
                     options=["--no-compress"])
        same((run.returncode, run.stdout), (6, b"begin\nend\n"), "on a full disk")
        same(run.stderr.count(b"No space left on device"), 1, "times that it is said")
        # all that fitted is there, whole, and every command reads it
        same(os.listdir(disk), ["run.pftrace.part"], "files left on the full disk")
        check(f"brick report {out}.part".encode() in run.stderr, run.stderr)
        left = Trace(out + ".part")
        check(not left.cut and left.begins > 1000, "samples left:", left.begins, left.cut)
        for command in (["report"], ["tree"], ["export", "--format", "csv"]):
            run = subprocess.run([BRICK, *command, out + ".part"], capture_output=True)
            same(run.returncode, 0, f"brick {command}: {run.stderr}")
        # what was there before stays
        with open(out, "w") as file:
            file.write("before")
        record(out, PRODUCER, "paced=1,400000,5", options=["--no-compress"])
        with open(out) as file:
            same((sorted(os.listdir(disk)), file.read()), (["run.pftrace", "run.pftrace.part"], "before"),
                 "the old file")
    finally:
        subprocess.run(["umount", disk], check=False)


def no_shared_memory(scratch):
    """Sessions go to TMPDIR when /dev/shm has no room: tried in a namespace with a tiny one."""
    out = scratch.file("small.pftrace")
    unshare = ["unshare", "-m", "sh", "-c",
               'mount -t tmpfs -o size=1m tmpfs /dev/shm && exec "$@"', "sh"]
    if os.geteuid() or subprocess.run([*unshare, "true"], capture_output=True).returncode:
        print("no mount namespace here: a small /dev/shm was not tried")
        return
    run = subprocess.run([*unshare, BRICK, "record", "-o", out, "--", "sh", "-c",
                          f"echo $BRICK_SESSION_DIR; {PRODUCER} samples=5"],
                         capture_output=True, env=dict(os.environ, TMPDIR=scratch.path))
    same(run.returncode, 0, "exit code")
    check(run.stdout.startswith(scratch.path.encode()), "the session directory is", run.stdout)
    same(Trace(out).begins, 5, "samples")


with Scratch() as scratch:
    for test in (file_size, mounted, no_shared_memory):
        test(scratch)
    same(sessions(), set(), "session directories left")
