# SPDX-License-Identifier: Apache-2.0
"""Each function that `libbrick-mpi.so` hooks is called, in programs of Open MPI and MPICH, and with MPI-4's large counts: the
recording has as many calls of it as the program made, with the bytes that the program counts; the messages of neighbours,
partitions and new communicators find their other ends; and docs/MPI.md has a row for each function of MPI-4.0."""
import collections
import json
import os
import re

from mpi import *

SOURCE = os.environ["BRICK_SOURCE"]
PROTOTYPES = "/usr/include/x86_64-linux-gnu/mpich/mpi_proto.h"


def hooked():
    """Names of functions, with their large forms and Open MPI's own names apart."""
    with open(os.path.join(SOURCE, "src", "attach", "mpi", "mpi.map"), encoding="utf-8") as file:
        return set(re.findall(r"^\t(MPIX?_\w+);", file.read(), re.M))


def recorded(path):
    """Calls and their bytes, by operation."""
    found = json.loads(run(BRICK, "export", "--format", "json", path).stdout)
    calls = collections.defaultdict(lambda: [0, 0])
    for lane in found["lanes"]:
        for values in lane["samples"]:
            sample = dict(zip(found["sample_fields"], values))
            operation = found["sites"][sample["site"]]["operation"]
            if operation and operation.startswith("MPI_"):
                calls[operation][0] += 1
    names = [site["operation"] for site in found["sites"]]
    messages = collections.Counter()
    for values in found["messages"]:
        message = dict(zip(found["message_fields"], values))
        lane = found["lanes"][message["lane"]]
        sample = dict(zip(found["sample_fields"], lane["samples"][message["sample"]]))
        calls[names[sample["site"]]][1] += message["bytes"]
        messages[message["event"]] += 1
    return calls, messages


COLLECTIVE = re.compile(r"MPI_I?(barrier|bcast|(all)?gatherv?|scatterv?|alltoall[vw]?|(all)?reduce|reduce_scatter(_block)?)(_init)?$", re.I)
# calls that move bytes without a message
ONE_SIDED = re.compile(r"MPI_R?(Put|Get|Accumulate|Get_accumulate)$|MPI_(Fetch_and_op|Compare_and_swap)$", re.I)


def every(mpi, work, ranks, *arguments):
    out = mpi.scratch.file("calls")
    said, report = mpi.record(ranks, work, out, *arguments)
    for row in said:
        with open(f"{out}.{row['rank']}", encoding="utf-8") as file:
            row["calls"] = json.load(file)
    same(total(said, "wrong"), 0, "what is computed")
    calls, messages = recorded(mpi.path)
    told = collections.defaultdict(lambda: [0, 0])
    for row in said:
        for name, (count, bytes_) in row["calls"].items():
            told[name][0] += count
            told[name][1] += bytes_
    for name, (count, bytes_) in told.items():
        wanted = (count, 0 if ONE_SIDED.match(name) else bytes_)
        same(tuple(calls[name]), wanted if count else (0, 0), f"{mpi.name}, {ranks} ranks: {name}")
    same(sorted(name for name in calls if calls[name][0] and name not in told), [], "calls that the program does not tell of")
    one_sided = sum(bytes_ for name, (_, bytes_) in told.items() if ONE_SIDED.match(name))
    rows = [row["bytes"] or 0 for row in report["bricks"] if row["name"] in ("Put", "Get", "Accumulate")]
    same(sum(rows), one_sided, "bytes of windows")
    found = report["messages"]
    same((found["count"], found["bytes"], found["sent_alone"], found["received_alone"], found["unequal"]),
         (total(said, "sent"), total(said, "sent_bytes"), 0, 0, 0), f"messages: {found}")
    same((messages["received"], found["bytes"]), (total(said, "received"), total(said, "received_bytes")), "received")
    for row, rank in zip(said, report["ranks"]):
        same(rank["collectives"], sum(count for name, (count, _) in row["calls"].items() if COLLECTIVE.match(name)), "collectives of a rank")
    return set(told)


def documented():
    """Each function of MPI-4.0 has one row of the table, and the recorded ones are those with hooks."""
    with open(PROTOTYPES, encoding="utf-8") as file:
        functions = set(re.findall(r"^(?:int|double|MPI_\w+) (MPI_[A-Z]\w*)\(", file.read(), re.M))
    functions = {name[:-2] if name.endswith("_c") and name[:-2] in functions else name for name in functions}
    with open(os.path.join(SOURCE, "docs", "MPI.md"), encoding="utf-8") as file:
        rows = [line.split("|")[1:-1] for line in file if re.match(r"\| `MPI_", line)]
    found = collections.defaultdict(list)
    for row in rows:
        for pattern in re.findall(r"`(MPI_[\w*]+)`", row[0]):
            matching = [name for name in functions if re.fullmatch(pattern.replace("*", r"\w*"), name)]
            check(matching, "no function is called", pattern)
            for name in matching:
                found[name].append((len(pattern.replace("*", "")), row[1].strip()))
    hooks = {name for name in hooked() if not name.startswith("MPIX_")}
    for name in sorted(functions):
        check(found[name], "docs/MPI.md has no row for", name)
        longest = max(found[name])
        check([each[0] for each in found[name]].count(longest[0]) == 1, name, "has two rows")
        same(longest[1] != "no", name in hooks, f"{name} is recorded, as docs/MPI.md says: {longest[1]}")


def main():
    with Scratch() as scratch:
        tried = 0
        for mpi in Mpi("openmpi", scratch), Mpi("mpich", scratch):
            if not mpi.cc or not mpi.mpirun:
                print("skipped: there is no", mpi.name)
                continue
            tried += 1
            work = mpi.build("mpi_every.c", "-w")
            needed = run("ldd", work).stdout
            library = next(line.split()[2] for line in needed.splitlines() if re.search(r"libmpi(ch)?\.so", line))
            there = set(re.findall(r" [TW] (MPIX?_\w+)", run("nm", "-D", library).stdout)) & hooked()
            told = every(mpi, work, 2)
            told |= every(mpi, work, 4, "1" if mpi.name == "mpich" else "2")
            small = {re.sub("^MPIX_", "MPI_", name) for name in there if not name.endswith("_c")}
            same(sorted(small - told), [], "functions of " + mpi.name + " that were not called")
            large = sorted(name for name in there if name.endswith("_c"))
            if large:
                names = scratch.file("large.h")
                with open(names, "w", encoding="utf-8") as file:
                    file.writelines(f"#define {name[:-2]} {name}\n" for name in large)
                work = mpi.build("mpi_every.c", "-w", f'-DLARGE_NAMES="{names}"')
                same(sorted(set(large) - set(re.findall(r" U (MPI_\w+)", run("nm", "-D", work).stdout))), [], "large forms that were not called")
                every(mpi, work, 2)
        if os.path.exists(PROTOTYPES):
            documented()
        sys.exit(0 if tried else 77)


if __name__ == "__main__":
    main()
