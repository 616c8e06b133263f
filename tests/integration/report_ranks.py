# SPDX-License-Identifier: Apache-2.0
"""Recordings of a job's ranks are one job: clocks that are hours apart and drift are aligned to within the bound that is
stated, so that the rank that came last is the true one; a rank that is slower by 5 % in one brick is named with the brick;
and recordings that are no job are refused, with the file and the reason."""
import json
import os
import shutil
import subprocess

from libcli import *

JOB = os.path.join(BUILD, "bin", "program-ranks_recording")


def job(name, ranks, steps, seed, **settings):
    """Writes a job; returns its directory, the truth of each rank, and by how much the last of each collective was last."""
    directory = os.path.join(TMP, name)
    command = [JOB, directory, str(ranks), str(steps), str(seed), *(f"{k}={v}" for k, v in settings.items())]
    lines = [json.loads(line) for line in subprocess.run(command, capture_output=True, check=True).stdout.splitlines()]
    return directory, lines[:-1], lines[-1]["margins"]


def off_ns(truth, row, first, ns):
    """How far the report places this time of a rank's clock from the truth, by the first rank's clock."""
    true = (ns - truth["boot_ns"]) / truth["rate"]
    wanted = first["boot_ns"] + true * first["rate"]
    since = ns - truth["came_ns"]
    # a clock that is fast by `drift` has that much more between two times
    found = truth["came_ns"] - row["clock_ahead_ns"] + since / (1 + row["clock_drift"])
    return abs(found - wanted)


def strip(path, rows, drift):
    """Columns have all of the path: by time, by rank, and by what is between ranks."""
    found, column = path["strip"], path["strip"]["column_ns"]
    apart = {each["rank"]: each for each in found["ranks"]}
    for row in rows:
        expect((sum(apart[row["rank"]]["ns"]) if row["rank"] in apart else 0) == row["path_ns"], ("a rank's columns", row))
        expect(all((brick is None) >= (ns == 0) for ns, brick in zip(*(apart[row["rank"]][k] for k in ("ns", "bricks")))) if row["rank"] in apart else True, row)
    between = {key: sum(found[key]) for key in ("exchange_ns", "message_ns")}
    for key, ns in between.items():
        expect(abs(ns - path[key]) <= len(found[key]), (key, ns, path[key]))
    sums = [sum(each) for each in zip(found["exchange_ns"], found["message_ns"], found["others_ns"], *(each["ns"] for each in apart.values()))]
    whole = [column] * (len(sums) - 1) + [path["whole_ns"] - column * (len(sums) - 1)]
    expect(len(sums) == 240 and all(abs(a - b) < drift * column + 100 for a, b in zip(sums, whole)), (column, sums))


def aligned(name, ranks, steps, seed, least=1e3, most=150e3, **settings):
    directory, truths, margins = job(name, ranks, steps, seed, **settings)
    found = brick_json("report", "--json", directory)
    messages = int(settings.get("messages", 0))
    expect((len(found["ranks"]), found["disordered"]) == (ranks, 0), found)
    expect((found["collectives"], found["paired"]) == (steps * (messages < 2), steps * ranks * (messages > 0)), found)
    bounds = []
    for truth, row in zip(truths, found["ranks"]):
        bound = row["clock_bound_ns"]
        bounds.append(bound)
        for ns in (truth["came_ns"], truth["end_ns"]):
            off = off_ns(truth, row, truths[0], ns)
            expect(off <= bound + 1, f"{name}: rank {row['rank']} is {off} ns off, further than {bound}")
        expect(row["steps"] == steps and row["host"].startswith("node"), row)
    expect(bounds[0] == 0 and (ranks == 1 or least < max(bounds) < most), bounds)
    # work on the critical path, each by its rank's clock, and what lies between the ranks are all of it
    path = found["path"]
    drift = 3e-6 * settings.get("drift", 100)
    whole = path["exchange_ns"] + path["message_ns"] + sum(row["path_ns"] for row in found["ranks"])
    expect(abs(whole - path["whole_ns"]) < drift * path["whole_ns"], (whole, path))
    expect((path["exchange_ns"] > 0, path["message_ns"] > 0) == (messages < 2, messages > 0), path)
    strip(path, found["ranks"], drift)
    if messages == 2:
        expect(found["steps"] is None, found)
        return directory, found
    expect(found["steps"]["count"] == steps and len(found["steps"]["worst"]) == 8, found["steps"])
    expect(0 <= found["steps"]["imbalance"] <= found["steps"]["imbalance_most"], found["steps"])
    # who came last is certain where the margin is larger than two bounds
    close = sum(margin <= 2 * max(bounds) for margin in margins)
    wrong = sum(abs(t["last"] - r["last"]) for t, r in zip(truths, found["ranks"])) / 2
    expect(wrong <= close, f"{name}: {wrong} of {steps} have another last rank, {close} can")
    late = [row["rank"] for row in found["ranks"] if row["is_late"]]
    expect(late == [settings[k] for k in ("slow", "late") if k in settings], (name, late))
    for truth, row in zip(truths, found["ranks"]) if not messages else ():
        off = abs(row["path_ns"] - truth["path_ns"])
        expect(off <= close * 6e6 + drift * path["whole_ns"], f"{name}: {off} ns of the path, {close} may be of others: {row}")
    return directory, found


def expect(condition, what):
    if not condition:
        fail(str(what))


for ranks in 2, 4, 8:
    for seed in 1, 2, 3:
        slow = (seed + ranks) % ranks
        directory, found = aligned(f"slow-{ranks}-{seed}", ranks, 200, seed, slow=slow)
        late = max(found["ranks"], key=lambda row: row["caused_ns"])
        expect((late["rank"], late["longer_in"]) == (slow, "QkvProjection"), found)
        expect(late["last"] > 150 and late["work_ns"] > max(r["work_ns"] for r in found["ranks"] if r is not late), late)
        # 5 % of 800 us in 199 steps, and what chance adds
        expect(5e6 < late["longer_ns"] < 12e6, late)
        waiting = [row for row in found["ranks"] if row is not late]
        expect(all(row["exposed_ns"] > late["exposed_ns"] for row in waiting), found)
        expect(sum(row["waited_ns"] for row in found["ranks"]) == sum(row["caused_ns"] for row in found["ranks"]), found)
        expect(0 < found["imbalance"] < 0.06, found["imbalance"])
        # 40 us of 2 ms, and chance
        expect(30e3 < late["behind_ns"] < 50e3 and 0.005 < found["steps"]["imbalance"] < 0.04, late)
        worst = found["steps"]["worst"]
        expect([(step["late"], step["longer_in"]) for step in worst[:3]] == [(slow, "QkvProjection")] * 3, worst)
        expect(all(a["waited_ns"] >= b["waited_ns"] for a, b in zip(worst, worst[1:])), worst)
        part = found["path"]["parts"][0]
        expect((part["rank"], part["brick"]) == (slow, "QkvProjection"), found["path"])
        expect(late["path_ns"] > 0.6 * found["path"]["whole_ns"], found["path"])
    for seed in 7, 17, 27:
        directory, found = aligned(f"even-{ranks}-{seed}", ranks, 200, seed)
        expect(b"no rank is late beyond chance" in brick("report", directory)[0], directory)
    # the first rank, or another, is always late: one limit is 3 ms away, and the bound says so
    aligned(f"late-{ranks}", ranks, 200, 8, least=1e6, most=1e7, late=1)
    aligned(f"fast-{ranks}", ranks, 200, 9, drift=400)
    # messages in both directions beside the collectives; and alone, where far ranks have none with the first one
    aligned(f"messages-{ranks}", ranks, 200, 10, messages=1)
    aligned(f"alone-{ranks}", ranks, 200, 11, messages=2)
    # its neighbours wait for its messages, and come last to the collective: nobody else is late
    for messages in 1, 2:
        _, found = aligned(f"slow-messages-{ranks}-{messages}", ranks, 200, 12 + messages, messages=messages, slow=1)
        rows = found["ranks"]
        expect(sum(row["waited_ns"] for row in rows) == sum(row["caused_ns"] for row in rows), rows)
        expect(max(rows, key=lambda row: row["path_ns"])["rank"] == 1, rows)
        part = found["path"]["parts"][0]
        expect((part["rank"], part["brick"]) == (1, "QkvProjection"), found["path"])
        expect(messages == 1 or max(rows, key=lambda row: row["caused_ns"])["rank"] == 1, rows)

# what is printed, as text and CSV, of a directory, of files and of a pattern
directory, found_usual = aligned("slow-4-1", 4, 200, 1, slow=1)
text = brick("report", directory)[0].decode()
for part in ("4 of 4 ranks on 4 hosts, by Open MPI, 4 recordings\n", "\nClocks       4, aligned by 200 collectives to ",
             "rank 1 was last at ", "longer in QkvProjection", "\nImbalance ", "\nSteps        200 with collectives; imbalance ",
             "\nPath         ", "% on rank 1, ", "QkvProjection of rank 1 "):
    expect(part in text, text)
files = [os.path.join(directory, f"run.{rank}.pftrace") for rank in range(4)]
expect(brick("report", *files)[0].decode() == text, "files are the same as their directory")
expect(brick("report", os.path.join(directory, "run.*.pftrace"))[0].decode() == text, "a pattern")
expect("\nRank         2 of 4 on node2, by Open MPI\n" in brick("report", files[2])[0].decode(), "one rank's own report")
rows = brick("report", "--csv", directory)[0].decode().splitlines()
expect(len(rows) == 5 and rows[0].startswith("rank,world,host,recording,") and len(rows[2].split(",")) == len(rows[0].split(",")), rows)
expect(rows[2].split(",")[:3] == ["1", "4", "node1"], rows)
text = brick("report", "--top", "2", directory)[0].decode()
expect("\n2 more ranks, for which others waited less.\n" in text and "\n   1  node1 " in text, text)

# ranks of one machine share its clock, without any error; those of two do not
directory, truths, _ = job("shared", 4, 200, 4, hosts=2)
found = brick_json("report", "--json", directory)
rows = found["ranks"]
expect([row["clock"] for row in rows] == [0, 1, 0, 1] and rows[2]["clock_bound_ns"] == 0 < rows[3]["clock_bound_ns"], rows)
expect(off_ns(truths[3], rows[3], truths[0], truths[3]["end_ns"]) <= rows[3]["clock_bound_ns"] + 1, "two machines")

# a clock that jumps is no line: that is said, and no bound
directory, _, _ = job("jump", 3, 200, 5, jump=2)
row = brick_json("report", "--json", directory)["ranks"][2]
expect(row["clock_bound_ns"] is None, row)
expect("no line explains that of rank 2" in brick("report", directory)[0].decode(), "a jump")

# a file of --slow is left out, and others are those of their ranks
directory, _, _ = job("slow-4-also", 4, 200, 1, slow=1, also=0)
answer, said = brick("report", "--json", directory)[:2]
also = json.loads(answer)
expect(b"left out: 1" in said, said)
for row, same in zip(also["ranks"], found_usual["ranks"]):
    expect({**row, "recording": os.path.basename(row["recording"])} == {**same, "recording": os.path.basename(same["recording"])}, (row, same))

# a rank without a recording
directory, _, _ = job("missing", 4, 50, 6, skip=2)
expect(brick("report", directory)[0].decode().startswith("3 of 4 ranks on 3 hosts, by Open MPI, 3 recordings, none of rank 2\n"), "a missing rank")
expect(brick_json("report", "--json", directory)["missing"] == [2], "a missing rank")
directory, _, _ = job("few", 12, 20, 6, skip=0)
for rank in 1, 2, 5, 6, 9, 11:
    os.remove(os.path.join(directory, f"run.{rank}.pftrace"))
expect(" ".join(brick("report", directory)[0].decode().split()).startswith("5 of 12 ranks on 5 hosts, by Open MPI, 5 recordings, none of ranks 0, 1, 2, 5, 6 and 2 more"),
       brick("report", directory)[0])
expect(brick_json("report", "--json", directory)["missing"] == [0, 1, 2, 5, 6, 9, 11], "missing ranks")

# files that are cut off, damaged, of no rank, or no files are named, each once, and the others are reported
directory, _, _ = job("damaged", 6, 50, 6)
names = {what: os.path.join(directory, f"run.{rank}.pftrace") for rank, what in enumerate(("whole", "cut", "broken", "lost"))}
with open(names["cut"], "r+b") as file:
    file.truncate(os.path.getsize(names["cut"]) - 100)
with open(names["lost"], "r+b") as file:
    file.truncate(3000)
with open(names["broken"], "r+b") as file:
    file.seek(2000)
    file.write(bytes(400))
names["plain"] = os.path.join(directory, "plain.pftrace")
subprocess.run([RECORDER, names["plain"]], check=True)
names["nowhere"] = os.path.join(directory, "nowhere.pftrace")
os.symlink("/nonexistent", names["nowhere"])
answer, said = (part.decode() for part in brick("report", directory)[:2])
expect(f"{names['cut']}: never finished: cut off behind byte " in said and f"{names['lost']}: never finished: cut off behind byte " in said, said)
expect(f"{names['broken']}: " in said and "of the file unusable" in said, said)
for what in "plain", "lost":
    expect(f"{names[what]}: no process of it is one of several ranks, so it is left out\n" in said, said)
expect(f"{names['nowhere']}: is no plain file, so it is left out\n" in said and names["whole"] not in said, said)
expect("recordings, none of rank" in answer, answer)

# many ranks: one recording is in memory at a time, and of the others only when they came
directory, _, _ = job("many", 256, 60, 12, slow=9, percent=20)
reader = subprocess.Popen([BRICK, "report", "--json", directory], stdout=subprocess.PIPE, env=environment())
found = json.loads(reader.stdout.read())
_, status, usage = os.wait4(reader.pid, 0)
reader.returncode = os.waitstatus_to_exitcode(status)
expect((reader.returncode, len(found["ranks"]), found["collectives"]) == (0, 256, 60), reader.returncode)
expect(max(found["ranks"], key=lambda row: row["caused_ns"])["rank"] == 9, "the slow one of many")
text = brick("report", directory, COLUMNS="1000")[0].decode()
expect("most for rank 9" in text and "," not in {line[-1:] for line in text.splitlines()}, text)
expect(usage.ru_maxrss < 100 << 10, f"{usage.ru_maxrss} KiB")

# no job
other = job("other", 2, 20, 1)[0]
for operands, reason in (
        ([files[0], os.path.join(other, "run.1.pftrace")], "run.1.pftrace: is of a job of 2 ranks, but "),
        ([files[0], os.path.join(job("again", 4, 20, 1)[0], "run.0.pftrace")], "run.0.pftrace: is of rank 0, as "),
        ([files[0], os.path.join(TMP, "none.pftrace")], "none.pftrace: no such file"),
        ([os.path.join(TMP, "none*.pftrace")], "no file matches this pattern")):
    expect(reason in brick("report", *operands, code=3)[1].decode(), (operands, reason, brick("report", *operands, code=3)[1]))
plain = [os.path.join(TMP, name) for name in ("a.pftrace", "b.pftrace")]
subprocess.run([RECORDER, plain[0]], check=True)
shutil.copy(plain[0], plain[1])
expect("so they are no job" in brick("report", *plain, code=3)[1].decode(), "recordings without ranks")
os.mkdir(os.path.join(TMP, "empty"))
expect("no recording (*.pftrace) is in this directory; brick import makes recordings of other tools' traces" in brick("report", os.path.join(TMP, "empty"), code=3)[1].decode(), "empty")
expect("several recordings are the ranks" in brick("report", "--by", "layer", *files, code=2)[1].decode(), "options")
# a directory with one recording is that recording
os.mkdir(os.path.join(TMP, "one"))
shutil.copy(plain[0], os.path.join(TMP, "one"))
expect(b"Decode" in brick("report", os.path.join(TMP, "one"))[0], "one recording")
# ... also beside names that are no files, and the next recording of its name, which has just begun
os.mkfifo(os.path.join(TMP, "one", "pipe.pftrace"))
os.mkdir(os.path.join(TMP, "one", "folder.pftrace"))
os.symlink("/dev/zero", os.path.join(TMP, "one", "endless.pftrace"))
shutil.copy(plain[0], os.path.join(TMP, "one", "a.pftrace.part"))
expect(b"Decode" in brick("report", os.path.join(TMP, "one"))[0], "names that are no files")
