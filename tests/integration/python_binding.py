# SPDX-License-Identifier: Apache-2.0
"""The Python package: spans and steps as C's, statistics while it runs, errors as exceptions, and a
recording whose arrays say what the report says. What needs NumPy or pandas runs where they are."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

BUILD = os.environ["BRICK_BUILD"]
SOURCE = os.environ["BRICK_SOURCE"]
BRICK = os.path.join(BUILD, "bin", "brick")
PROGRAM = """
import os, sys, threading, brick
recorded = "BRICK_SESSION_DIR" in os.environ
assert brick.enabled() == recorded
norm = brick.span("RmsNorm", layer=1)

@brick.timed
def attend(n):
    return sum(range(n))

@brick.timed("Fails", category="Mine")
def fails():
    raise KeyError("planted")

def work():
    brick.thread_name("worker")
    with brick.span("Beside", category="Mine"):
        attend(100)

with brick.session(sys.argv[1] if len(sys.argv) > 1 else None):
    brick.note("engine.version", "100 % of 7")
    for token in range(20):
        with brick.step("decode", tokens=1):
            with norm:
                attend(2000)
            with brick.span("LmHead", layer=-1) as span:
                span.work(elements=1000, nbytes=4000, flops=2000)
                attend(1000)
            try:
                fails()
            except KeyError:
                pass
    with brick.request(3, number=77), brick.step("mixed", tokens=5, outputs=2):
        brick.sequence(3, prompt=5, outputs=2, position=0)
        brick.counter("queue", 3.5)
    with brick.request(4):
        with brick.step("prefill", tokens=3):
            brick.sequence(4, prompt=3, position=0, results=0)
        with brick.step("prefill", tokens=2):
            brick.sequence(4, prompt=2, position=3)  # its end makes the first token
        for position in range(5, 8):
            with brick.step("decode"):
                brick.sequence(4, outputs=1, position=position)
    with brick.layer(5):
        with brick.layer(6):
            pass
        with brick.span("Layered"):
            brick.instant("checkpoint")
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert brick.stats("RmsNorm")["count"] == 20, brick.stats("RmsNorm")
    assert brick.stats("LmHead")["flops"] == 40000
    assert brick.stats("Fails")["count"] == 20
    for wrong in (lambda: brick.stats("Never"), lambda: brick.session().__enter__()):
        try:
            wrong()
        except brick.BrickError as error:
            assert error.code < 0 and str(error), error
        else:
            assert recorded, "nothing was raised"
    try:
        brick.step("thinking")
    except ValueError as error:
        assert "decode" in str(error)
    assert brick.category_stats("Mine")["count"] == 21
    if not recorded:
        names = [row["name"] for row in brick.report(format="json")["bricks"]]
        assert "LmHead" in names, names
        assert "Mine,21" in brick.report(by="category", format="csv", columns="count")
        assert "Decode " in brick.report(), brick.report()
        assert brick.summary()["flops"] == 40000, brick.summary()
    brick.pause()
    with norm:
        pass
    brick.resume()
    assert brick.stats("RmsNorm")["count"] == 20
assert brick.enabled() == recorded
"""
SLOW = """
import errno, sys, brick
for wrong in ({"slow": "p99", "slow_bytes": 1}, {"slow_per_hour": 3}):
    try:
        brick.session(sys.argv[1], **wrong).__enter__()
    except brick.BrickError as error:
        assert error.code == -errno.EINVAL, error
    else:
        raise SystemExit(f"{wrong} was taken")
with brick.session(sys.argv[1], slow="p99", slow_only=True, slow_bytes=1 << 24, slow_per_hour=3):
    pass
"""
READER = """
import gc, json, sys, brick
try:
    brick.Recording(sys.argv[2])
except brick.BrickError as error:
    assert sys.argv[2] in str(error), error
else:
    raise SystemExit("a text was read as a recording")
recording = brick.Recording(sys.argv[1])
lanes = recording.lanes
counts = {}
for lane in lanes:
    for sample in lane.samples:
        name = recording.sites[sample["site"]].brick
        counts[name] = counts.get(name, 0) + 1
        assert sample["end_ns"] >= sample["begin_ns"]
report = recording.report()
for row in report["bricks"]:
    assert counts[row["name"]] == row["count"], row
assert [step.phase for step in recording.steps] == (20 * ["decode"] + ["mixed"] + 2 * ["prefill"]
                                                    + 3 * ["decode"]), recording.steps
assert next(site for site in recording.sites if site.brick == "Layered").layer == 5
assert {lane.name for lane in lanes} >= {"worker"}, lanes
head = next(site for site in recording.sites if site.brick == "LmHead")
assert head.layer == -1 and head.flops is None, head  # what varies is in the statistics
assert next(row for row in report["bricks"] if row["name"] == "LmHead")["flops"] == 40000
samples = max((lane.samples for lane in lanes), key=len)
assert not samples.flags.owndata and not samples.flags.writeable
total = int(samples["end_ns"].sum())
del recording, lanes, lane, sample
gc.collect()
assert int(samples["end_ns"].sum()) == total  # the arrays hold what they are views of
if len(sys.argv) > 3:
    frame = brick.Recording(sys.argv[1]).frame()
    assert frame.groupby("brick").size().to_dict() == counts
    assert set(frame[frame.brick == "RmsNorm"].layer) == {1}
    assert "<iframe" in brick.Recording(sys.argv[1])._repr_html_()
"""


def python_with(*modules):
    """A Python that has these, or None."""
    for python in (sys.executable, "/usr/bin/python3"):
        if not subprocess.run([python, "-c", "import " + ",".join(modules)], capture_output=True,
                              check=False).returncode:
            return python
    return None


def run(python, text, *arguments, under=()):
    environment = dict(os.environ, PYTHONPATH=os.path.join(SOURCE, "bindings", "python"),
                       PYTHONDONTWRITEBYTECODE="1", BRICK=BRICK,
                       BRICK_LIBRARY_PATH=os.path.join(BUILD, "lib"))
    done = subprocess.run([*under, python, "-c", text, *arguments], env=environment, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def main():
    with tempfile.TemporaryDirectory() as scratch:
        trace, other = os.path.join(scratch, "run.pftrace"), os.path.join(scratch, "recorded.pftrace")
        run(sys.executable, PROGRAM)
        run(sys.executable, PROGRAM, trace)
        run(sys.executable, SLOW, os.path.join(scratch, "slow.pftrace"))
        run(sys.executable, PROGRAM, trace + ".unused", under=[BRICK, "record", "-q", "-o", other, "--"])
        for path in (trace, other):
            report = json.loads(subprocess.check_output([BRICK, "report", "--json", path]))
            rows = {row["name"]: row for row in report["bricks"]}
            assert rows["RmsNorm"]["count"] == 20 and rows["attend"]["count"] == 41, rows
            assert rows["Fails"]["category"] == "Mine"
            told = json.loads(subprocess.check_output([BRICK, "requests", "--json", path]))
            assert [(r["sequence"], r["prompt_tokens"], r["output_tokens"]) for r in told["requests"]] == [
                (3, 5, 3), (4, 5, 4)], told
            assert report["losses"]["unmatched"] == 0, report["losses"]
        text = os.path.join(scratch, "text")
        with open(text, "w", encoding="utf-8") as file:
            file.write("no recording\n" * 9)
        if python_with("numpy"):
            run(python_with("numpy"), READER, trace, text)
        if python_with("numpy", "pandas"):
            run(python_with("numpy", "pandas"), READER, trace, text, "pandas")
        python = python_with("setuptools.build_meta", "wheel", "pip")
        if not python:
            return 0
        installed = os.path.join(scratch, "installed")
        source = shutil.copytree(os.path.join(SOURCE, "bindings", "python"), os.path.join(scratch, "source"))
        done = subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index",
                               "--disable-pip-version-check", "--target", installed, source], capture_output=True,
                              text=True, env=dict(os.environ, BRICK_LIBRARY_PATH=os.path.join(BUILD, "lib")), check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        # the wheel carries its libraries, and takes these
        where = "import brick; brick.report; brick.Recording(%r); print(open('/proc/self/maps').read())" % trace
        done = subprocess.run([python, "-c", where], capture_output=True, text=True, cwd=scratch, check=True,
                              env={**os.environ, "PYTHONPATH": installed, "BRICK_LIBRARY_PATH": ""})
        loaded = {line.split()[-1] for line in done.stdout.splitlines() if "/libbrick" in line}
        assert len(loaded) == 3 and all(path.startswith(installed) for path in loaded), loaded
    return 0


if __name__ == "__main__":
    sys.exit(main())
