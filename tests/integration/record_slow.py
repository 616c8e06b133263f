# SPDX-License-Identifier: Apache-2.0
"""record --always --slow: each slow step is in a file of its own, a whole recording of the seconds around it, which says what was
different from its neighbours; at most so many files are written in an hour; lost records have one, too. A program that records
itself has the same by its options."""
import glob
import os
import shutil
import subprocess
import time

import libggml
from libcli import BRICK, BUILD, TMP, brick, brick_json, environment, expect, expect_true

EMBEDDED = os.path.join(BUILD, "bin", "program-top_embedded")


def start(name, *options, command):
    directory = os.path.join(TMP, name)
    os.makedirs(directory)
    path = os.path.join(directory, "run.pftrace")
    out = open(os.path.join(directory, "out"), "w+b")  # pylint: disable=consider-using-with
    process = subprocess.Popen([BRICK, "record", "--always", "--interval", "200", "-o", path, *options, "--", *command],
                               stdout=out, stderr=subprocess.PIPE, env=environment())
    return path, process, out


def end(started, code=0):
    path, process, out = started
    _, said = process.communicate(timeout=600)
    out.seek(0)
    planted = out.read().count(b"slow\n")
    out.close()
    expect("exit code", process.returncode, code)
    return path, said.decode(), planted


def files(path):
    return sorted(glob.glob(path.replace(".pftrace", ".slow*.pftrace")))


def expect_whole(report, path):
    losses = {kind: count for kind, count in report["losses"].items() if count}
    expect(f"losses of {path}", losses, {"complete": True})
    kinds = [mark["kind"] for mark in report["run"]["marks"]]
    expect(f"marks of {path}", (kinds[0], kinds[-1], set(kinds[1:-1])), ("part", "next", {"exemplar"}))


def planted_steps(path):
    """The steps that the files were kept for, and that took 80 ms longer in DownProjection."""
    found = 0
    for file in files(path):
        report = brick_json("report", "--json", file)
        expect_whole(report, file)
        for kept in report["run"]["exemplars"]:
            expect("why", kept["why"], "slow step")
            if kept["step"] is None:  # a slow machine: the first steps have no neighbours
                continue
            expect_true(f"slower: {kept}", kept["took_ns"] > kept["usual_ns"] and kept["neighbours"] >= 4)
            grown = [part["took_ns"] - part["usual_ns"] for part in kept["longer"]]
            expect("the largest first", grown, sorted(grown, reverse=True))
            # it is the first, or the thread lost its CPU for longer in another
            found += any(part["brick"] == "DownProjection" and ns >= 70e6 for part, ns in zip(kept["longer"], grown))
    return found


def own(name, *options):
    """A program without a recorder: its recording, and the files beside it."""
    directory = os.path.join(TMP, name)
    os.makedirs(directory)
    path = os.path.join(directory, "run.pftrace")
    done = subprocess.run([EMBEDDED, "keep=decode=60ms", *options, f"output={path}", "slow=3000", "ms=10000", "stop"],
                          capture_output=True, check=True, env=environment(), timeout=600)
    planted = done.stdout.count(b"slow\n")
    expect_true(f"planted {planted}, {files(path)}", planted >= 2 and planted_steps(path) >= planted)
    expect("left over", glob.glob(path.replace(".pftrace", "*.part")), [])
    return path


def by_itself():
    path = own("own")
    report = brick_json("report", "--json", path)
    expect("the recording is whole", {kind for kind, count in report["losses"].items() if count}, {"complete"})
    expect("its marks", report["run"].get("marks", []), [])
    notes = {note["key"]: note["value"] for note in report["run"]["notes"]}
    expect("files are counted", notes["slow"], f"{len(files(path))} files; 0 steps and losses beyond slow_per_hour")
    path = own("only", "only")
    expect("nothing else is written", os.path.exists(path), False)
    foreign = path.replace(".pftrace", ".slow.1.pftrace")
    with open(foreign, "w", encoding="ascii") as file:
        file.write("mine")
    refused_start("keep=p99", f"output={path}", reason="File exists")
    with open(foreign, encoding="ascii") as file:
        expect("it is as it was", file.read(), "mine")
    expect("no output is begun", glob.glob(path + "*"), [])
    subprocess.run([EMBEDDED, f"output={path}", "ms=300", "die"], check=False, env=environment(), timeout=600)
    killed = os.stat(path + ".part")
    refused_start("keep=p99", f"output={path}", reason="File exists")
    expect("a killed program's recording stays", os.stat(path + ".part"), killed)
    refused_start("keep=p99", "only", f"output={TMP}/none/run.pftrace", reason="No such file")
    for limits in ("", "50", "p98", "decode=", "p99,", "encode=5ms", "request=p99", "x" * 300):
        refused_start("keep=" + limits, f"output={path}", reason="Invalid argument")
    refused_start("only", f"output={path}", reason="Invalid argument")


def waits():
    """The file is there although nothing follows its step."""
    path, go = os.path.join(TMP, "waits.pftrace"), os.path.join(TMP, "hold")
    with subprocess.Popen([EMBEDDED, "keep=decode=60ms", f"output={path}", "slow=500", f"until={go}", "hold", "stop"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as process:
        expect("its step", process.stdout.readline(), b"slow\n")
        with open(go, "w", encoding="ascii"):
            pass
        until = time.monotonic() + 600
        while not files(path):
            expect_true("there is no file", time.monotonic() < until)
            time.sleep(0.1)
        process.stdin.close()
    expect("it ends", process.returncode, 0)


def lost_once():
    """Statistics that begin anew have no losses: that is no loss."""
    path = os.path.join(TMP, "lost.pftrace")
    with subprocess.Popen([EMBEDDED, "keep=request=1000s", "ring=1024", f"output={path}", "burst=1000000", "hold", "reset", "ms=50",
                           "stop"], stdin=subprocess.PIPE, env=environment()) as process:
        until = time.monotonic() + 600
        while not files(path):
            expect_true("there is no file", time.monotonic() < until)
            time.sleep(0.1)
        process.stdin.close()
    expect("its files", (process.returncode, len(files(path))), (0, 1))


def one_at_a_time():
    """Nobody else writes the output of a session that keeps slow steps only, nor its slow steps."""
    path = os.path.join(TMP, "alone.pftrace")
    with subprocess.Popen([EMBEDDED, "keep=p99", "only", f"output={path}", "say", "hold", "stop"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, env=environment()) as process:
        process.stdout.readline()
        for options in (["keep=p99", "only"], ["keep=p99"], []):
            refused_start(*options, f"output={path}", reason="resource busy")
        process.stdin.close()
    expect("it ends", process.returncode, 0)
    expect("left over", glob.glob(path.replace(".pftrace", "*")), [])


def cannot_be_written():
    """A session with nothing but these files says at its end that it could not write."""
    directory, go = os.path.join(TMP, "taken"), os.path.join(TMP, "go")
    os.makedirs(directory)
    with subprocess.Popen([EMBEDDED, "keep=decode=60ms", "only", f"output={directory}/run.pftrace", "say", "slow=500", f"until={go}",
                           "stop"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        process.stdout.readline()
        shutil.rmtree(directory)
        expect("its step", process.stdout.readline(), b"slow\n")
        with open(go, "w", encoding="ascii"):
            pass
        _, said = process.communicate(timeout=600)
    expect("its end", (process.returncode, said), (1, b"top_embedded: No such file or directory\n"))


def refused_start(*options, reason):
    done = subprocess.run([EMBEDDED, *options], capture_output=True, check=False, env=environment(), timeout=600)
    expect_true(f"{options}: {done.stderr}", done.returncode == 1 and reason.encode() in done.stderr)


def embedded():
    program = [EMBEDDED, "slow=3000", "ms=14000"]
    above = start("above", "--slow", "decode=60ms", "--slow-limit", "100", command=program)
    tail = start("tail", "--slow", "p99", "--slow-limit", "100", command=program)
    limited = start("limited", "--slow", "60ms", "--slow-limit", "1", command=[EMBEDDED, "slow=4000", "ms=14000"])
    lost = start("lost", "--slow", "10s", "--ring", "1024",
                 command=["sh", "-c", f"kill -STOP $PPID; {EMBEDDED} burst=5000 say ms=3000 | {{ read x; kill -CONT $PPID; cat; }}"])
    foreign = above[0].replace(".pftrace", ".slow.1.pftrace")
    until = time.monotonic() + 600
    while not os.path.exists(above[0] + ".part"):
        expect_true("it records", time.monotonic() < until)
        time.sleep(0.05)
    with open(foreign, "w", encoding="ascii") as file:  # somebody else's file takes a name of the ring
        file.write("mine")
    path, said, planted = end(above)
    expect_true(f"it is not said of another's file: {said}", foreign not in said and "run.slow.2.pftrace" in said)
    os.unlink(foreign)
    expect_true(f"planted {planted}, {said}", planted >= 3 and planted_steps(path) >= planted)
    expect_true(f"it is said: {said}", "run.slow.pftrace: step " in said and "DownProjection +" in said)
    expect("left over", glob.glob(path.replace(".pftrace", "*.part")), [])
    text = brick("report", path.replace(".pftrace", ".slow.pftrace"))[0].decode()
    expect_true(f"{text}", "Kept for" in text and "its neighbours" in text)
    path, said, planted = end(tail)
    expect_true(f"planted {planted}, {said}", planted >= 3 and planted_steps(path) >= planted)
    path, said, planted = end(limited)
    expect(f"files: {said}", len(files(path)), 1)
    expect_true(f"planted {planted}, {said}", planted >= 2 and "--slow-limit is 1 an hour" in said)
    path, said, _ = end(lost)
    whys = {kept["why"] for file in files(path) for kept in brick_json("report", "--json", file)["run"]["exemplars"]}
    expect(f"{said}", whys, {"lost records"})


def llama():
    """A file that begins in the middle: its steps are whole on all threads."""
    # large enough that a recorder which gets no CPU for seconds loses none of its nodes
    model = os.path.join(TMP, "slow.gguf")
    subprocess.run([os.path.join(BUILD, "bin", "brick-model"), "--type", "f32", "--embd", "256", "--heads", "4", "--kv-heads",
                    "2", "--ff", "704", "--vocab", "512", "--layers", "8", model], check=True, stdout=subprocess.DEVNULL)
    command = [os.path.join(BUILD, "bin", "brick-llama"), "--libs", libggml.libraries(), "--model", model,
               "--prompt-tokens", "8", "--predict", "60", "--threads", "2", "--repeat", "1000000"]
    started = start("llama", "--slow", "decode=1us", "--slow-limit", "8", command=command)
    path, process, _ = started
    until = time.monotonic() + 600
    while len(files(path)) < 7 and process.poll() is None and time.monotonic() < until:
        time.sleep(0.2)
    process.terminate()  # in the seconds after a slow step
    path, said, _ = end(started, 143)
    expect_true(f"{said}", len(files(path)) >= 7)
    for file in files(path):
        report = brick_json("report", "--json", file)
        expect_whole(report, file)
        expect_true(f"coverage {report['coverage']['share']}", report["coverage"]["share"] > 0.9)
        counts = {row["name"]: row["count"] for row in report["bricks"]}
        expect("a node for each layer and step", counts["DownProjection"], 8 * counts["LmHead"])


def refused():
    def wrong(*options):
        return brick("record", *options, "--", "true", code=2)[1].decode()
    expect_true("no unit", "must be p99, or a time" in wrong("--always", "--slow", "50"))
    expect_true("one of several", "must be p99, or a time" in wrong("--always", "--slow", "p99,50"))
    expect_true("a phase", "must be p99, or a time" in wrong("--always", "--slow", "encode=50ms"))
    expect_true("no time", "must be p99, or a time" in wrong("--always", "--slow", "request=p99"))
    expect_true("alone", "goes with --always" in wrong("--slow", "50ms"))
    expect_true("limit", "how many files of --slow" in wrong("--always", "--slow-limit", "3"))
    path = os.path.join(TMP, "foreign.pftrace")
    os.symlink("/nowhere", path.replace(".pftrace", ".slow.2.pftrace"))
    _, said = brick("record", "--always", "--slow", "50ms", "-o", path, "--", "true", code=4)
    expect_true(f"{said}", b"foreign.slow.2.pftrace" in said)


if __name__ == "__main__":
    refused()
    by_itself()
    waits()
    lost_once()
    one_at_a_time()
    cannot_be_written()
    embedded()
    llama()
