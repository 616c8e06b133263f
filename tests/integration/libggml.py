# SPDX-License-Identifier: Apache-2.0
"""What tests of the ggml interposer share: the engine that `make demo` installed, and running a
program on it with and without being recorded. Sessions are read as they are, without a recorder."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

import libsession

BUILD = os.environ["BRICK_BUILD"]
SOURCE = os.environ["BRICK_SOURCE"]
INTERPOSER = os.path.join(BUILD, "lib", "libbrick-ggml.so")
GRAPH = os.path.join(BUILD, "bin", "program-ggml_graph")
TRAIN = os.path.join(BUILD, "bin", "program-ggml_training")
LLAMA = os.path.join(BUILD, "bin", "brick-llama")


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def demo(*path):
    """A file of the demo, wherever it was made; skips the test if it was not."""
    for root in (BUILD, os.path.join(SOURCE, "build")):
        place = os.path.join(root, "demo", *path)
        if os.path.exists(place):
            return place
    return skip(os.path.join("demo", *path) + " is not there: run `make demo`")


def libraries():
    libs = demo("engine", "libs")
    if not os.path.exists(os.path.join(libs, "libggml-cpu-x64.so")):
        skip(libs + " has no CPU backend for this machine")
    return libs


def build_with_llama(directory, libs, name, out=None, options=()):
    """tests/programs/NAME.c, linked to the engine's libraries, with further options: a program, or what `out` names."""
    source = os.path.dirname(demo("engine-static", "source", "include", "llama.h"))
    program = os.path.join(directory, out or name)
    libraries = [found[0] for name in ("libllama.*", "libllama.v*", "libggml.v*", "libggml.s*", "libggml-base*")
                 if (found := glob.glob(os.path.join(libs, name + ".so")))]
    made = subprocess.run(
        ["cc", "-O1", "-D_GNU_SOURCE", "-I", source, "-I", os.path.join(source, "..", "ggml", "include"),
         os.path.join(SOURCE, "tests", "programs", name + ".c"), "-o", program, *libraries,
         "-Wl,-rpath," + libs, "-lm", *options], capture_output=True, text=True, check=False)
    assert not made.returncode, made.stderr
    return program


def run(command, **env):
    return subprocess.run(command, capture_output=True, text=True, timeout=600,
                          env={**os.environ, **env})


class Recorded:
    """One run under the interposer; a context manager that removes the sessions."""

    def __init__(self, command, **env):
        shm = "/dev/shm" if os.path.isdir("/dev/shm") else None
        self.directory = tempfile.mkdtemp(prefix="brick-test-", dir=shm)
        self.env = {"BRICK_SESSION_DIR": self.directory, "BRICK_RING_RECORDS": "262144",
                    "LD_PRELOAD": INTERPOSER, **env}
        self.command = command

    def __enter__(self):
        try:
            self.result = run(self.command, **self.env)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.directory, ignore_errors=True)

    def sessions(self):
        return libsession.load(BUILD, self.directory)

    def session(self):
        sessions = self.sessions()
        assert len(sessions) == 1, f"{len(sessions)} sessions"
        return sessions[0]


def assert_same(plain, recorded, what):
    """The interposer may not be noticed by anything that the program says."""
    for name in ("returncode", "stdout", "stderr"):
        a, b = getattr(plain, name), getattr(recorded, name)
        assert a == b, f"{what}: {name} differs\n--- without\n{a}\n--- with\n{b}"


def record_unnoticed(command, what):
    """Sessions of a program that says the same with and without Brick; skipped where it says that it cannot run."""
    plain = run(command)
    if plain.returncode == 77:
        skip(plain.stderr)
    assert plain.returncode == 0, plain.stderr
    with Recorded(command) as recorded:
        assert_same(plain, recorded.result, what)
        return recorded.sessions()


def assert_clean(session, open_frames=0):
    for lane in session.lanes.values():
        assert lane.dropped == lane.unmatched == lane.clamped == lane.too_deep == 0, lane
        assert lane.depth == open_frames, lane
    assert session.table_full == 0


def nodes_of(session, lane):
    """Executions of sites on a lane, in order."""
    return [n for top in session.tree(lane) for n in top.walk() if n.site]


def steps_of(session):
    """Steps of all lanes, in order of time."""
    steps = [n for lane in session.lanes for n in session.tree(lane)
             if n.brick in ("Prefill", "Decode")]
    return sorted(steps, key=lambda n: n.begin)
