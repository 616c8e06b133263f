# SPDX-License-Identifier: Apache-2.0
"""Page faults of each brick and phase are as many as the kernel counts for the thread, also of a file that is in no memory, and of
256 MB beside faults of other programs; where the kernel does not record them, a report says why."""
import collections
import csv
import io
import json
import os
import subprocess
import tempfile

from libcli import BRICK, BUILD, TMP, brick, brick_json, environment, expect, expect_true

PROGRAM = os.path.join(BUILD, "bin", "program-page_faults")
PAGES, MANY = 700, 65536
PHASES = {"TouchFile": "loading", "TouchInStep": "decode", "TouchBeside": "decode", "TouchBetween": "between"}


def cold_file(folder):
    """A file whose pages are on the disk alone, as far as the file system has one."""
    path = os.path.join(folder, "file")
    with open(path, "wb") as out:
        out.write(os.urandom(8 << 20))
        out.flush()
        os.fsync(out.fileno())
        os.posix_fadvise(out.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return path


def record(path, file, *before, pages=PAGES):
    done = subprocess.run([*before, BRICK, "record", "--no-history", "-o", path, "--", PROGRAM, file, str(pages)], check=True,
                          capture_output=True, text=True, timeout=600, env=environment())
    return json.loads(done.stdout.splitlines()[-1])


def counted(file):
    path = os.path.join(TMP, "faults.pftrace")
    truth = record(path, file)
    answer = brick_json("report", "--by", "faults", "--json", path)
    expect("lost, known to the end", (answer["lost"], answer["until_ns"]), (0, None))
    rows = {row["brick"]: row for row in answer["rows"] if row["brick"] in truth}
    expect("bricks", set(rows), set(PHASES))
    for name, (minor, major) in truth.items():
        row = rows[name]
        expect(f"phase of {name}", row["phase"], PHASES[name])
        expect(f"faults of {name}", (row["minor"], row["major"]), (minor, major))
        expect_true(f"time of {name}: {row}", row["fault_ns"] > 0 and (row["driver_ns"] == row["fault_ns"] if name == "TouchInStep" else
                                                                       row["driver_ns"] == 0))
    expect_true(f"more than half a thousand: {truth}", truth["TouchInStep"][0] >= PAGES and truth["TouchBeside"][0] >= PAGES)
    bricks = {row["name"]: row for row in brick_json("report", "--json", "--phase", "all", path)["bricks"]}
    for name in ("TouchFile", "TouchBetween"):
        expect_true(f"no longer than {name} itself", rows[name]["fault_ns"] <= bricks[name]["total_ns"])
    expect_true(f"all of the program: {answer['program']}",
                sum(row["minor"] for row in answer["rows"]) <= answer["program"]["minor"])
    table = list(csv.DictReader(io.StringIO(brick("report", "--by", "faults", "--csv", path)[0].decode())))
    expect("CSV", [(row["phase"], row["brick"] or None, int(row["minor"])) for row in table],
           [(row["phase"], row["brick"], row["minor"]) for row in answer["rows"]])
    text = brick("report", "--by", "faults", path)[0].decode()
    expect_true(f"text: {text}", "TouchFile" in text and "by the system's count" in text)
    brick("report", "--by", "faults", "--phase", "decode", path, code=2)


def many(file):
    """All of 256 MB, whatever else faults: a recorder that stops early would count less. A busy one may lose records, and says so."""
    path = os.path.join(TMP, "many.pftrace")
    truth = record(path, file, pages=MANY)
    answer = brick_json("report", "--by", "faults", "--json", path)
    expect("known to the end", answer["until_ns"], None)
    rows = {row["brick"]: row for row in answer["rows"]}
    for name, (minor, _) in truth.items():
        expect_true(f"faults of {name}: {rows[name]}, lost {answer['lost']}", rows[name]["minor"] <= minor <= rows[name]["minor"] + answer["lost"])


def little_memory():
    """Where little memory may be locked, all CPUs' rings become smaller, and none takes what another needs. There are no rings
    where this user's other recorders have locked all of it."""
    before = ["setpriv", "--bounding-set=-ipc_lock", "prlimit", "--memlock=0"]
    done = subprocess.run([*before, BRICK, "record", "-q", "--no-history", "-o", os.path.join(TMP, "little.pftrace"), "--", "sh", "-c",
                           "grep perf_event /proc/$PPID/maps || :"], check=True, capture_output=True, text=True, timeout=120, env=environment())
    ranges = [line.split()[0].split("-") for line in done.stdout.splitlines()]
    sizes = collections.Counter(int(end, 16) - int(begin, 16) for begin, end in ranges)
    expect_true(f"one size for each CPU: {done.stdout}", all(count % os.cpu_count() == 0 for count in sizes.values()))


def refused(file):
    path = os.path.join(TMP, "refused.pftrace")
    record(path, file, os.path.join(BUILD, "bin", "program-no_perf"))
    said = brick("report", "--by", "faults", path, code=3)[1].decode()
    expect_true(f"why: {said}", "page faults are not known: " in said and "nobody" not in said)


with tempfile.TemporaryDirectory(dir=BUILD) as made:  # on a disk: /tmp may be memory
    cold = cold_file(made)
    counted(cold)
    many(cold)
    little_memory()
    refused(cold)
