# SPDX-License-Identifier: Apache-2.0
"""record --always: a program without an end is recorded into a ring of files. Each file is a whole recording, no step is in
two of them, the last one has the exact statistics of all, and the files are readable at once whether the program ends or the
recorder is killed. What a killed recorder left goes on in the ring of the next one."""
import contextlib
import glob
import json
import os
import re
import select
import signal
import sqlite3
import subprocess
import tempfile
import time

import libggml
import libserve
from libcli import BRICK, BUILD, TMP, brick, brick_json, environment, expect, expect_true, fail
from librunning import FAR_AHEAD

KEEP = "24s"  # a file takes 3 s
LAYERS = 4
EMBEDDED = os.path.join(BUILD, "bin", "program-top_embedded")


def start(directory, *options, command=(EMBEDDED, "say", "ms=600000")):
    path = os.path.join(TMP, directory, "run.pftrace")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    # a file: a program whose output nobody reads would wait for that
    with tempfile.TemporaryFile(dir=TMP) as out:
        process = subprocess.Popen([BRICK, "record", "--always", "--interval", "100", "-o", path, *options, "--", *command],
                                   stdout=out, stderr=subprocess.PIPE, env=environment())
        until = time.monotonic() + 600
        while not os.fstat(out.fileno()).st_size:
            if process.poll() is not None:
                fail(f"it has ended: {process.returncode} {process.stderr.read()}")
            expect_true("it says something", time.monotonic() < until)
            time.sleep(0.05)
    return path, process


def earlier(path):
    return sorted(glob.glob(path.replace(".pftrace", ".*.pftrace")), key=lambda name: int(name.split(".")[-2]))


def wait_for_files(path, count):
    until = time.monotonic() + 600
    while len(earlier(path)) < count:
        if time.monotonic() > until:
            fail(f"waited for {count} files: {os.listdir(os.path.dirname(path))}")
        time.sleep(0.1)


def steps(report):
    return sum(report["steps"][phase]["count"] for phase in ("prefill", "decode") if phase in report["steps"])


def stop_with_steps(process, path):
    """Stops the recorder when its present file has steps; returns how many."""
    until = time.monotonic() + 600
    while True:
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        done = subprocess.run([BRICK, "report", "--json", path], check=False, capture_output=True, env=environment())
        if count := 0 if done.returncode else steps(json.loads(done.stdout)):
            return count
        expect_true(f"waited for steps: {done.stderr}", time.monotonic() < until)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.1)


def windows(history):
    with contextlib.suppress(sqlite3.OperationalError):  # it has no tables yet
        return {row[0] for row in sqlite3.connect(history).execute("SELECT id FROM runs WHERE kind = 'window'")}
    return set()


def expect_whole(path, *options):
    report = brick_json("report", "--json", *options, path)
    ignored = () if "." in os.path.basename(path)[4:-8] else ("open", "unfinished_processes")  # a signal ends the program
    losses = {kind: count for kind, count in report["losses"].items() if count and kind not in ignored}
    expect(f"losses of {path}", losses, {"complete": True})
    return report


def expect_parts(path):
    """All files together have the steps that the last one's totals have, but for those that an end of a file has cut."""
    files = [*earlier(path)[::-1], path]
    reports = [expect_whole(file) for file in files]
    totals = expect_whole(path, "--totals")
    missing = steps(totals) - sum(steps(report) for report in reports)
    runs = [sum(row["count"] for row in report["bricks"] if row["name"] == "LmHead") for report in (totals, *reports)]
    expect_true(f"{runs} executions are in two files", sum(runs[1:]) <= runs[0])
    is_first = [m["kind"] for m in reports[0]["run"]["marks"]] == ["next"]  # a slow machine may have removed it by now
    expect_true(f"{missing} steps are in no file", 0 <= missing and (not is_first or missing < len(files)))
    for report in reports:  # the recorder's time in this file, not in all of them
        expect_true("the recorder's share", (report["distortion"] or {}).get("recorder") is None or
                    report["distortion"]["recorder"] <= 1)
    expect("kinds", [m["kind"] for m in reports[-1]["run"]["marks"]], ["part"])
    expect("start-up is not known", reports[-1]["run"]["start_up_ns"], None)
    return [report for report in reports if steps(report)]


def ends():
    path, process = start("ends", "--keep", KEEP)
    wait_for_files(path, 2)
    process.terminate()
    _, said = process.communicate(timeout=600)
    expect_true(f"{said}", f"brick report {path}".encode() in said)
    expect_true("steps", expect_parts(path))
    expect("left over", glob.glob(path + "*"), [path])
    text = brick("report", path)[0].decode()
    expect_true(f"{text}", "a part of a recording that has several files" in text)
    expect_true("totals", "statistics since recording began" in brick("report", "--totals", path)[0].decode())
    expect_true("--totals of steps", "do not know when" in brick("report", "--totals", "--step", "1", path, code=2)[1].decode())
    return path


def served(path):
    """`serve --push` follows the ring of the test before, and sends no file of somebody else that has a name in between."""
    foreign, (ours, theirs, others) = path.replace(".pftrace", ".2.pftrace"), [os.path.join(TMP, name) for name in ("1.db", "2.db", "3.db")]
    for number in range(len(earlier(path)), 1, -1):
        os.rename(path.replace(".pftrace", f".{number}.pftrace"), path.replace(".pftrace", f".{number + 1}.pftrace"))
    brick("push", "--db", theirs, *earlier(path))
    brick("record", "--no-history", "-o", foreign, "--", EMBEDDED, "ms=1000")
    brick("push", "--db", others, foreign)
    try:
        libserve.need_server(path)
    except SystemExit:
        print("serve --push was not tried: this build has no server")
        os.unlink(foreign)
        return
    page = libserve.Server("--push", "--db", ours, path)
    until = time.monotonic() + 600
    while not windows(theirs) <= windows(ours):
        expect_true("all windows of earlier files come", time.monotonic() < until)
        time.sleep(0.1)
    page.process.terminate()
    page.process.communicate(timeout=600)
    expect("no window of another recording", windows(ours) & windows(others), set())
    os.unlink(foreign)  # as a recorder does not begin beside it


def killed(path):
    """In the ring of the test before."""
    before = len(earlier(path))
    _, process = start(os.path.basename(os.path.dirname(path)), "--keep", KEEP)
    expect_true("what was there moved", len(earlier(path)) > before)
    wait_for_files(path, before + 2)
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        children = [int(pid) for pid in file.read().split()]
    last = stop_with_steps(process, path)
    process.send_signal(signal.SIGKILL)
    process.wait()
    names = []
    for pid in children:
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            names.append(file.read().strip())
    expect_true(f"the program goes on: {names}", any(name.startswith("program-top") for name in names))
    expect("it is as it was", steps(brick_json("report", "--json", path)), last)
    for pid, name in zip(children, names):
        if name.startswith("program-top"):
            os.kill(pid, signal.SIGKILL)
    unfinished = os.stat(path + ".part").st_ino
    _, process = start(os.path.basename(os.path.dirname(path)), "--keep", KEEP)
    process.send_signal(signal.SIGSTOP)  # or the ring may go on
    os.waitpid(process.pid, os.WUNTRACED)
    moved = [name for name in earlier(path) if os.stat(name).st_ino == unfinished]
    expect("the unfinished file is one of the earlier", [steps(brick_json("report", "--json", name)) for name in moved], [last])
    process.send_signal(signal.SIGCONT)
    process.terminate()
    process.communicate(timeout=600)


def llama_command(name, *options):
    # some 70 000 records/s and thread: rings hold 15 s of them while there is no recorder, or it gets no CPU
    model = os.path.join(TMP, f"{name}.gguf")
    subprocess.run([os.path.join(BUILD, "bin", "brick-model"), "--type", "f32", "--embd", "512", "--heads", "4", "--kv-heads",
                    "2", "--ff", "1408", "--vocab", "512", "--layers", str(LAYERS), model], check=True, stdout=subprocess.DEVNULL)
    return ["stdbuf", "-oL", os.path.join(BUILD, "bin", "brick-llama"), "--libs", libggml.libraries(), "--model", model,
            "--prompt-tokens", "8", "--predict", "8", "--threads", "2", "--repeat", "1000000", *options]


def expect_nodes(report):
    counts = {row["name"]: row["count"] for row in report["bricks"]}
    expect("a node for each layer and step", counts.get("DownProjection", 0), LAYERS * counts.get("LmHead", 0))


def llama():
    path, process = start("llama", "--keep", KEEP, *FAR_AHEAD, command=llama_command("always"))
    wait_for_files(path, 2)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=600)
    reports = expect_parts(path)
    expect_true("steps", reports)
    for report in reports:
        expect_true(f"coverage {report['coverage']['share']}", report["coverage"]["share"] > 0.9)
        expect_nodes(report)


def program_of(process):
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        children = [int(pid) for pid in file.read().split()]
    program = next(pid for pid in children if os.readlink(f"/proc/{pid}/exe").endswith("brick-llama"))
    with open(f"/proc/{program}/maps", encoding="ascii") as file:
        return program, next(line.split()[-1].rsplit("/", 1)[0] for line in file if line.split()[-1].endswith(".session"))


def expect_runs(program):
    with open(f"/proc/{program}/stat", encoding="ascii") as file:
        expect_true("the program goes on", file.read().rsplit(")", 1)[1].split()[0] in "RSD")


def wait_for_end(directory):
    until = time.monotonic() + 600
    while os.path.exists(directory):
        expect_true(f"its keeper removes {directory}", time.monotonic() < until)
        time.sleep(0.05)


def without_recorder():
    """A program whose recorder was killed goes on, and cannot be entered: the reason is said."""
    path = os.path.join(TMP, "left.pftrace")
    process = subprocess.Popen([BRICK, "record", "-o", path, "--", *llama_command("left")], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, env=environment())
    process.stdout.readline()
    program, directory = program_of(process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_for_end(directory)
    try:
        _, said = brick("record", "-p", str(program), "-o", path, code=4)
        expect_true(f"{said}", b"whose recorder is gone; restart it" in said)
        _, said = brick("record", "--always", "-p", str(program), "-o", path.replace("left", "lost"), code=4)
        expect_true(f"{said}", b"whose recorder is gone; restart it" in said)
        expect_runs(program)
    finally:
        os.kill(program, signal.SIGKILL)
        process.stdout.close()


def wait_for_turn(path):
    """One more file is complete; older ones may go."""
    def newest():
        return max((os.stat(name).st_mtime_ns for name in earlier(path)), default=0)
    before, until = newest(), time.monotonic() + 600
    while newest() <= before:
        expect_true(f"a file ends: {os.listdir(os.path.dirname(path))}", time.monotonic() < until)
        time.sleep(0.1)


def go_on(program, path):
    return subprocess.Popen([BRICK, "record", "--always", "--keep", KEEP, "--interval", "100", "-p", str(program), "-o", path],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment())


def executions(report):
    return sum(row["count"] for row in report["bricks"] if row["name"] == "LmHead")


def followed():
    """A recorder is killed, its successor replaced, and the next one ends: the program notices nothing, and the next recorder
    goes on in the same ring. No step is in two files, files have whole steps, and statistics are those since the begin."""
    path, first = start("followed", "--keep", KEEP, *FAR_AHEAD, command=llama_command("followed"))
    program, directory = program_of(first)
    wait_for_files(path, 1)
    first.kill()
    first.wait()
    first.stderr.close()
    fourth = None
    try:
        _, said = brick("record", "-p", str(program), "-o", path.replace("run", "other"), code=4)
        expect_true(f"{said}", b"its recorder is gone; with --always recording goes on" in said)
        expect_true("the directory waits", os.path.exists(directory))
        second = go_on(program, path)
        wait_for_turn(path)  # what the first one left
        wait_for_turn(path)
        third = go_on(program, path)
        _, said = second.communicate(timeout=600)
        expect(f"it leaves: {said}", (second.returncode, b"another recorder goes on" in said), (0, True))
        wait_for_turn(path)
        third.terminate()
        _, said = third.communicate(timeout=600)
        expect(f"it ends: {said}", (third.returncode, b"to go on: brick record --always --pid" in said), (0, True))
        expect_runs(program)
        fourth = go_on(program, path)
        wait_for_turn(path)
    finally:
        os.kill(program, signal.SIGKILL)
    _, said = fourth.communicate(timeout=600)
    expect(f"it ends with the program: {said}", fourth.returncode, 0)
    wait_for_end(directory)
    files = [path, *earlier(path)]
    reports = [json.loads(brick("report", "--json", file)[0]) for file in files]
    totals = json.loads(brick("report", "--json", "--totals", path)[0])
    expect_true("no step is in two files", sum(executions(report) for report in reports) <= executions(totals))
    whole = [report for report in reports if report["losses"]["complete"] and report is not reports[0]]
    expect_true("only the killed one left its file", len(whole) >= len(reports) - 2)
    for report in whole:
        expect("nothing of it is lost", {kind for kind, count in report["losses"].items() if count}, {"complete"})
        expect_nodes(report)


def two_follow():
    """The recorder is killed, and two follow it at once: one of them records. It leaves for nobody that cannot begin."""
    path, first = start("two", "--keep", KEEP)
    with open(f"/proc/{first.pid}/task/{first.pid}/children", encoding="ascii") as file:
        program = next(pid for pid in map(int, file.read().split()) if os.readlink(f"/proc/{pid}/exe") == os.path.realpath(EMBEDDED))
    foreign, missing = path.replace("run", "foreign"), os.path.join(TMP, "two", "missing", "run.pftrace")
    with open(foreign, "w", encoding="ascii") as file:
        file.write("mine")
    try:
        for name, reason in ((foreign, b"is no part of this ring"), (missing, b"No such file")):
            _, said = brick("record", "--always", "-p", str(program), "-o", name, code=4)
            expect_true(f"{said}", reason in said)
            brick("mark", str(program), "it leaves for nobody that cannot begin")  # its recorder answers
        first.kill()
        both = [go_on(program, path) for _ in range(2)]
        first.wait()
        first.stderr.close()
        until = time.monotonic() + 600
        while all(process.poll() is None for process in both):
            expect_true("one of them leaves", time.monotonic() < until)
            time.sleep(0.05)
        ended, stays = sorted(both, key=lambda process: process.poll() is None)
        _, said = ended.communicate(timeout=600)
        expect(f"one leaves: {said}", (ended.returncode, b"another recorder goes on" in said), (0, True))
        wait_for_turn(path)
        wait_for_turn(path)
        brick("mark", str(program), "the other one records")
    finally:
        os.kill(program, signal.SIGKILL)
    _, said = stays.communicate(timeout=600)
    expect(f"it ends with the program: {said}", stays.returncode, 0)


def refused():
    def wrong(*options):
        return brick("record", *options, "--", "true", code=2)[1].decode()
    expect_true("less", "at least 16MB" in wrong("--always", "--keep", "15MB"))
    expect_true("no unit", "at least 16MB" in wrong("--always", "--keep", "200"))
    expect_true("alone", "says how much --always keeps" in wrong("--keep", "1GB"))
    expect_true("--sample", "names functions once" in wrong("--always", "--sample"))
    path = os.path.join(TMP, "foreign.pftrace")
    os.symlink("/nowhere", path.replace(".pftrace", ".2.pftrace"))
    _, said = brick("record", "--always", "-o", path, "--", "true", code=4)
    expect_true(f"{said}", b"foreign.2.pftrace is a symbolic link, which a recording does not replace" in said)
    path, rank = (os.path.join(TMP, "job", name) for name in ("run.pftrace", "run.1.pftrace"))
    os.mkdir(os.path.dirname(path))
    brick("record", "-o", rank, "--", EMBEDDED, "ms=1")  # another job's rank 1
    for name in (rank, path):  # as the ring's earlier file, and as its newest
        with open(name, "rb") as file:
            before = file.read()
        _, said = brick("record", "--always", "-o", path, "--", "true", code=4)
        expect_true(f"{said}", f"{name}: is no part of this ring of files".encode() in said)
        with open(name, "rb") as file:
            expect("it is as it was", file.read(), before)
        if name == rank:
            os.rename(rank, path)
    expect("nothing else", os.listdir(os.path.dirname(path)), ["run.pftrace"])


def hear(process, said, text):
    """What the recorder says, until it says this."""
    until = time.monotonic() + 600
    while text not in said:
        expect_true(f"it says {text}: {said}", time.monotonic() < until and process.poll() is None)
        if select.select([process.stderr], [], [], 1)[0]:
            said += os.read(process.stderr.fileno(), 65536)
    return said


def expect_back(path, process, said, reason):
    """Recording goes on in a new file once there can be one, and the recorder says so."""
    said = hear(process, said, b": goes on; ")
    wait_for_turn(path)  # later files end, too
    process.send_signal(signal.SIGINT)
    said += process.communicate(timeout=600)[1]
    expect(f"it says so once: {said}", [said.count(text) for text in (reason, b"nothing is kept until", b": goes on; ")], [1, 1, 1])
    for file in [*earlier(path), path]:
        brick("report", "--json", file)  # the newest, and the one before the gap, may have no step
    behind = brick_json("report", "--json", earlier(path)[0])
    expect_true("steps behind the gap", steps(behind) > 0)
    totals = brick_json("report", "--json", "--totals", path)
    expect_true("statistics are of all", totals["bricks"][0]["count"] > behind["bricks"][0]["count"])


def remove_files(path):
    """The unfinished one first: between two files there is none, and a recorder that then begins one has lost nothing."""
    until = time.monotonic() + 600
    while True:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + ".part")
            break
        expect_true("there is an unfinished file", time.monotonic() < until)
        time.sleep(0.001)
    while names := os.listdir(os.path.dirname(path)):
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # its recorder has just moved it on
                os.unlink(os.path.join(os.path.dirname(path), name))


def removed():
    """Somebody removes all files of a ring. One recording ends as soon as there is a file again, one before that."""
    stops, never = (start(name, "--keep", KEEP) for name in ("stops", "never"))
    os.rename(os.path.dirname(never[0]), os.path.dirname(never[0]) + ".away")  # nor can there be a file again
    said = hear(never[1], b"", b"nothing is kept until")
    never[1].terminate()
    said += never[1].communicate(timeout=600)[1]
    expect_true(f"how much is not kept: {said}", re.search(rb"never/run.pftrace: the last \d+ s are not kept", said))
    path, process = start("removed", "--keep", KEEP)
    wait_for_files(path, 1)
    remove_files(stops[0])
    remove_files(path)
    said = hear(stops[1], b"", b"nothing is kept until")
    until = time.monotonic() + 600
    while not os.listdir(os.path.dirname(stops[0])):
        expect_true("there is a file again", time.monotonic() < until)
        time.sleep(0.05)
    stops[1].terminate()
    said += stops[1].communicate(timeout=600)[1]
    expect_true(f"how much is not kept: {said}", re.search(rb"goes on; [1-9]\d* s before it are not kept", said))
    expect_back(path, process, b"", b"was removed, replaced or changed by somebody else")


def full():
    """Somebody fills the disk, and makes room again."""
    disk = os.path.join(TMP, "full")
    os.mkdir(disk)
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", disk], capture_output=True, check=False).returncode:
        print("no tmpfs can be mounted here: a full disk was not tried")
        return
    try:
        path, process = start("full", "--keep", KEEP)
        said = b""
        with open(os.path.join(disk, "fill"), "wb", buffering=0) as fill:
            while b"nothing is kept" not in said:
                with contextlib.suppress(OSError):
                    fill.write(bytes(4096))
                    continue
                if select.select([process.stderr], [], [], 0.1)[0]:
                    said += os.read(process.stderr.fileno(), 65536)
        os.unlink(os.path.join(disk, "fill"))
        expect_back(path, process, said, b"No space left on device")
    finally:
        subprocess.run(["umount", "-l", disk], check=False)


if __name__ == "__main__":
    refused()
    removed()
    full()
    ring = ends()
    served(ring)
    killed(ring)
    without_recorder()
    followed()
    two_follow()
    llama()
