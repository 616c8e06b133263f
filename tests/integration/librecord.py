# SPDX-License-Identifier: Apache-2.0
"""What tests of the recorder share: running it, and reading recordings without Brick's own reader."""
import os
import shutil
import subprocess
import sys
import tempfile
import zlib

BUILD = os.environ["BRICK_BUILD"]
BRICK = os.path.join(BUILD, "bin", "brick")
PRODUCER = os.path.join(BUILD, "bin", "program-record_producer")
HOSTILE = os.path.join(BUILD, "bin", "program-record_hostile")
# Open MPI's mpirun wants a remote shell, also where all ranks are here. A rank of MPICH that waits spins, and gives its CPU to
# the rank that it waits for only if it yields.
os.environ.update(OMPI_MCA_plm_rsh_agent="/bin/true", PRTE_MCA_plm_ssh_agent="/bin/true", MPIR_CVAR_POLLS_BEFORE_YIELD="1")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """(number, value) of a protobuf message; IndexError where it is cut off."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = data[at : at + 8], at + 8
        elif key & 7 == 5:
            value, at = data[at : at + 4], at + 4
        elif key & 7 == 2:
            size, at = varint(data, at)
            if at + size > len(data):
                raise IndexError("cut off")
            value, at = data[at : at + size], at + size
        else:
            raise ValueError("bad wire type")
        yield key >> 3, value


class Trace:
    """A Perfetto trace, as far as these tests look into it."""

    def __init__(self, path):
        self.begins = 0
        self.ends = 0
        self.open = {}  # track: depth
        self.off_cpu = 0  # times that a thread was off its CPU
        self.negative = 0  # ends without a begin
        self.backwards = 0  # events before their predecessor on a sequence
        self.events = []  # (name, annotations) of the run's own instants
        self.cut = False
        self.names = {}  # (sequence, iid)
        self.keys = {}
        self.tracks = {}  # default track of a sequence
        self.counts = {}  # begins by name
        self.times = {}
        self.sequence_clocks = {}
        with open(path, "rb") as file:
            data = file.read()
        self.bytes = len(data)
        self.packets(data)

    def packets(self, data):
        try:
            for number, value in fields(data):
                if number == 1:
                    self.packet(value)
        except IndexError:
            self.cut = True

    def packet(self, data):
        parts = list(fields(data))
        sequence = next((v for n, v in parts if n == 10), 0)
        for number, value in parts:
            if number == 50:
                self.packets(zlib.decompress(value))
            elif number == 12:
                self.intern(sequence, value)
            elif number == 59:
                for n, v in fields(value):
                    if n == 11:
                        for m, u in fields(v):
                            if m == 11:
                                self.tracks[sequence] = u
        for number, value in parts:
            if number == 11:
                self.event(sequence, value)

    def intern(self, sequence, data):
        for number, value in fields(data):
            if number in (2, 3):
                entry = dict(fields(value))
                table = self.names if number == 2 else self.keys
                table[sequence, entry[1]] = entry[2].decode()

    def event(self, sequence, data):
        parts = list(fields(data))
        first = dict(reversed(parts))
        track = first.get(11, self.tracks.get(sequence))
        name = first[23].decode() if 23 in first else self.names.get((sequence, first.get(10)))
        kind = first.get(9)
        if sequence >= 1 << 20:  # of when threads were off their CPUs
            self.off_cpu += kind == 1
        elif kind == 1:
            self.begins += 1
            self.counts[name] = self.counts.get(name, 0) + 1
            self.open[track] = self.open.get(track, 0) + 1
        elif kind == 2:
            self.ends += 1
            self.open[track] = self.open.get(track, 0) - 1
            self.negative += self.open[track] < 0
        elif kind == 3:
            entries = [self.annotation(sequence, v) for n, v in parts if n == 4]
            self.events.append((name, dict(entries)))

    def annotation(self, sequence, data):
        name = value = None
        for number, part in fields(data):
            if number == 1:
                name = self.keys.get((sequence, part))
            elif number == 10:
                name = part.decode()
            elif number in (2, 3):
                value = part
            elif number == 4:
                value = part - (1 << 64) if part >> 63 else part
            elif number == 6:
                value = part.decode()
            elif number == 11:
                value = value if isinstance(value, dict) else {}
                key, entry = self.annotation(sequence, part)
                value[key] = entry
            elif number == 12:
                value = value if isinstance(value, list) else []
                value.append(self.annotation(sequence, part)[1])
            elif number == 17:
                value = part
        return name, value

    def all(self, name):
        return [annotations for event, annotations in self.events if event == name]

    def last(self, name):
        found = self.all(name)
        return found[-1] if found else None


class Scratch:
    """A directory of its own for a test, removed at the end."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="brick-test-")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def file(self, name):
        return os.path.join(self.path, name)


RECORDERS = set()  # pids of those that this test has started


def python_with_torch():
    """A Python that has PyTorch 2.13. Ends the test as skipped where there is none, or no attacher for it."""
    if not os.path.exists(os.path.join(BUILD, "lib", "libbrick-torch.so")):
        print("skipped: Brick was built without the attacher of PyTorch")
        sys.exit(77)
    fetched = subprocess.run([os.path.join(os.environ["BRICK_SOURCE"], "examples", "demo", "torch.sh"), "torch-2.13.0"],
                             capture_output=True, text=True, timeout=600, check=False)
    if fetched.returncode:
        print("skipped:", fetched.stderr.strip())
        sys.exit(77)
    return fetched.stdout.strip()


def sessions():
    """Session directories of this test's recorders: those of others come and go meanwhile."""
    found = set()
    for base in ("/dev/shm", os.environ.get("TMPDIR", "/tmp")):
        try:
            found |= {os.path.join(base, n) for n in os.listdir(base)
                      if n.startswith("brick-") and n.split("-")[1].isdigit()
                      and int(n.split("-")[1]) in RECORDERS}
        except OSError:
            pass
    return found


def start(output, *command, options=(), **keywords):
    """Start `brick record`; both streams are pipes unless said otherwise."""
    keywords.setdefault("stdout", subprocess.PIPE)
    keywords.setdefault("stderr", subprocess.PIPE)
    run = subprocess.Popen([BRICK, "record", "-o", output, *options, "--", *command], **keywords)
    RECORDERS.add(run.pid)
    return run


def record(output, *command, input=None, timeout=600, **keywords):
    """The same, to its end; returns what subprocess.run does."""
    if input is not None:
        keywords["stdin"] = subprocess.PIPE
    run = start(output, *command, **keywords)
    try:
        stdout, stderr = run.communicate(input, timeout)
    except subprocess.TimeoutExpired:
        run.kill()
        check(False, command, "did not end within", timeout, "s")
    return subprocess.CompletedProcess(run.args, run.returncode, stdout, stderr)


def check(condition, *what):
    if not condition:
        print("FAILED:", *what)
        sys.exit(1)


def same(found, expected, what):
    check(found == expected, what, "is", repr(found), "instead of", repr(expected))


def need(program):
    if not os.access(program, os.X_OK):
        print("skipped: there is no", program)
        sys.exit(77)
