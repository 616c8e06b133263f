# SPDX-License-Identifier: Apache-2.0
"""A machine that fails takes at most the last --interval of a recording along: whatever was recorded
before is in the part of the file that was synced, by the recorder and by a program that embeds one.
Nothing here depends on how fast this machine is: a double notes when the writer slept of its own
will, and that is what the interval bounds."""
import csv
import os
import shutil
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
from librecord import *

need(PRODUCER)
DOUBLE = os.path.join(BUILD, "lib", "doubles", "sync.so")
INTERVAL_MS = 300
MS = 1000000
# Bursts fill rings between the times that the interval alone would have them emptied.
# The program leaves no CPU idle, as engines do.
WORK = [f"busy={os.cpu_count() + 1},4000"] + (["samples=5", "sleep=20"] * 17 + ["samples=700"]) * 7
LOOKED_AT = 8  # syncs of each recording: a look is a process of its own


def until(condition, *what):
    end = time.monotonic() + 600
    while not condition():
        check(time.monotonic() < end, *what)
        time.sleep(0.02)


def samples(path):
    """In a recording, by our own reader: when each ended (CLOCK_MONOTONIC) by its beginning."""
    run = subprocess.run([BRICK, "export", "--format", "csv", path], capture_output=True, text=True,
                         timeout=600)
    same(run.returncode, 0, f"brick export {path}: {run.stderr}")
    start = Trace(path).last("brick.run")["start_ns"]
    return {begin: start + begin + int(row["duration_ns"])
            for row in csv.DictReader(run.stdout.splitlines()) for begin in [int(row["begin_ns"])]}


class Log:
    """What the double has noted."""

    def __init__(self, path):
        with open(path) as file:
            lines = [line.split() for line in file]
        self.syncs = [[int(v) for v in line[1:]] for line in lines if line[0] == "sync"]
        self.writes = [[int(v) for v in line[1:]] for line in lines if line[0] == "write"]
        self.sleeps = [[int(v) for v in line[1:]] for line in lines if line[0] == "sleep"]

    def round(self, moment):
        """When the writer had last gone on by then."""
        return max([end for _, _, end in self.sleeps if end <= moment], default=0)

    def wished(self, begin, end, least_ms=0):
        """For how long it slept in between because it wanted to, for so long at least."""
        return sum(max(0, min(wished, to, end) - max(at, begin)) for at, wished, to in self.sleeps
                   if wished - at > least_ms * MS)


def flushes(path):
    """When the file was completed, each time; the last is the end."""
    return [account["end_ns"] for account in Trace(path).all("brick.account")]


def bound(scratch, what, log, out):
    """Of a recording that has ended, and was never synced but as the log says."""
    log, whole, left = Log(log), samples(out), scratch.file("left")
    oldest, before = 0, None
    ends = flushes(out)
    with open(out, "rb") as file:
        data = file.read()
    seen, idle_ns, late = 0, 0, 0  # flushes in what was synced; since when the disk had no work
    step = -(-len(log.syncs) // LOOKED_AT)
    for number, (_, end, size, policy) in enumerate(log.syncs):
        # the worst that can happen: it fails just before this sync is through
        oldest = max([oldest] + [end - ended for sample, ended in whole.items()
                                 if before and sample not in before and ended < end])
        with open(left, "wb") as file:
            file.write(data[:size])
        flushed = flushes(left)
        check(flushed, what, "a file without an account is synced")
        check(policy != os.SCHED_IDLE, what, "who syncs gets a CPU only where nobody else wants it")
        # what was asked for at the end of a round is written soon, by whom it may
        written = next(end for end, reach in log.writes if reach >= size)
        slept = log.wished(flushed[-1], written, 6)  # less is to let another thread have the CPU
        check(slept <= (INTERVAL_MS / 4 + 5) * MS, what, "slept", slept, "ns before a flush was written")
        before = None
        if number % step == 0:
            before = kept = samples(left)
            moment = log.round(flushed[-1])
            lost = [sample for sample, ended in whole.items() if ended < moment - MS and sample not in kept]
            same(lost, [], f"{what}: not synced, and older than the round that flushed")
        # one that neither disk nor CPU kept from it, and that leaves two flushes to one sync
        late += len(flushed) > seen + 1 and idle_ns < ends[seen]
        seen, idle_ns = len(flushed), end
    check(2 * late < len(log.syncs), what, len(log.syncs), "syncs, of them late:", late)

    first = min(whole.values())
    for last, flush in zip([first] + ends, ends):
        waiting = min([ended for ended in whole.values() if ended > log.round(last)], default=flush)
        slept = log.wished(max(waiting, last), flush)
        check(slept <= (INTERVAL_MS * 3 / 4 + 5) * MS, what, "waited", slept, "ns of its own will with samples")
    check(len(ends) > 4, what, "flushes:", ends)
    print(f"{what}: {len(log.syncs)} syncs, at the worst moment {oldest / MS:.0f} ms are lost "
          f"of an interval of {INTERVAL_MS} ms")


def interval_of_the_recorder(scratch):
    log, out = scratch.file("log"), scratch.file("recorder.pftrace")
    run = record(out, PRODUCER, *WORK, options=["--interval", str(INTERVAL_MS), "--ring", "1024"],
                 env=dict(os.environ, LD_PRELOAD=DOUBLE, SYNC_LOG=log))
    same(run.returncode, 0, run.stderr)
    bound(scratch, "recorder", log, out)


def interval_of_an_embedded_writer(scratch):
    log, out = scratch.file("log"), scratch.file("embedded.pftrace")
    subprocess.run([PRODUCER, f"embed={INTERVAL_MS},{out}", *WORK], check=True, timeout=600,
                   env=dict(os.environ, LD_PRELOAD=DOUBLE, SYNC_LOG=log))
    bound(scratch, "embedded writer", log, out)


def mount(image, disk):
    return not os.geteuid() and not subprocess.run(["mount", "-o", "loop", image, disk],
                                                   capture_output=True).returncode


def failing_machine(scratch):
    """What is surely on the disk while the program goes on: as much of the file as was synced, and a
    copy of the disk from below its file system where one can be had."""
    image, disk, log = (scratch.file(name) for name in ("image", "disk", "log"))
    os.mkdir(disk)
    with open(image, "wb") as file:
        file.truncate(32 << 20)
    formatted = shutil.which("mkfs.ext4") and not subprocess.run(["mkfs.ext4", "-q", image]).returncode
    mounted = formatted and mount(image, disk)
    if not mounted:
        print("no image can be mounted here: only what was synced is looked at")
    out = os.path.join(disk, "run.pftrace")
    copy, left = scratch.file("copy"), scratch.file("left")

    def synced():
        with open(out + ".part", "rb") as part, open(left, "wb") as copied:
            copied.write(part.read(Log(log).syncs[-1][2]))
        return len(samples(left))

    def on_disk():
        shutil.copyfile(image, copy)
        os.path.isdir(left + "disk") or os.mkdir(left + "disk")
        check(mount(copy, left + "disk"), "the copy of a live image cannot be mounted")
        try:
            return len(samples(os.path.join(left + "disk", "run.pftrace.part")))
        finally:
            subprocess.run(["umount", left + "disk"], check=False)

    run = start(out, PRODUCER, "paced=1,500,3000", "say=recorded", "sleep=3600000",
                options=["--interval", "500"],
                env=dict(os.environ, LD_PRELOAD=DOUBLE, SYNC_LOG=log))
    try:
        same(run.stdout.readline(), b"recorded\n", "first line")
        until(lambda: os.path.exists(log) and Log(log).syncs, "nothing is synced")
        until(lambda: synced() == 500, "samples that were synced")
        if mounted:
            until(lambda: on_disk() == 500, "samples on the disk")
        run.send_signal(signal.SIGTERM)
        run.wait()
    finally:
        if mounted:
            subprocess.run(["umount", disk], check=False)


for test in (interval_of_the_recorder, interval_of_an_embedded_writer, failing_machine):
    with Scratch() as scratch:
        test(scratch)
        print(test.__name__)
same(sessions(), set(), "session directories left")
