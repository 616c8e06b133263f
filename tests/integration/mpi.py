# SPDX-License-Identifier: Apache-2.0
"""Programs of Open MPI and MPICH, under mpirun: they compute what they do without Brick; each message and collective that
the program counts is recorded with its bytes, and the two ends of each message find each other. Tools that use MPI's
profiling interface, and Fortran, are seen too. Each part is skipped where its compiler is missing."""
import json
import os
import shlex
import shutil
import struct
import subprocess
import sys
import zlib

from librecord import *

PROGRAMS = os.path.join(os.environ["BRICK_SOURCE"], "tests", "programs")
BLOCKING = {"Barrier", "Broadcast", "Gather", "Scatter", "AllGather", "AllToAll", "Reduce", "AllReduce", "ReduceScatter", "Scan"}
SENDING, RECEIVING = 47, 48  # a track event's flows, and those that end there


def run(*command, **keywords):
    return subprocess.run(command, capture_output=True, text=True, timeout=600, **keywords)


def flows(path):
    """Ids of the arrows that begin and of those that end."""
    found = {SENDING: [], RECEIVING: []}

    def packets(data):
        for number, value in fields(data):
            for part, inside in fields(value) if number == 1 else ():
                if part == 50:
                    packets(zlib.decompress(inside))
                elif part == 11:
                    for n, v in fields(inside):
                        if n in found:
                            found[n].append(struct.unpack("<Q", v)[0])

    with open(path, "rb") as file:
        packets(file.read())
    return found


class Mpi:
    def __init__(self, name, scratch):
        self.name, self.scratch = name, scratch
        self.cc, self.mpirun = shutil.which("mpicc." + name), shutil.which("mpirun." + name)
        self.options = ["--allow-run-as-root", "--oversubscribe"] if name == "openmpi" else []

    def job(self, ranks, *command):
        return [self.mpirun, *self.options, "-n", str(ranks), *command] if ranks else list(command)

    def build(self, source, *options):
        out = self.scratch.file(os.path.basename(source) + "." + self.name)
        done = run(self.cc, "-O1", "-pthread", "-o", out, os.path.join(PROGRAMS, source), *options)
        same(done.returncode, 0, done.stderr)
        return out

    def record(self, ranks, *command, env=None):
        """What the ranks say, in order, and the report."""
        path = self.scratch.file("run.pftrace")
        done = run(BRICK, "record", "-o", path, "--", *self.job(ranks, *command), env=env)
        same(done.returncode, 0, done.stdout + done.stderr)
        report = json.loads(run(BRICK, "report", path, "--json").stdout)
        same(report["losses"]["dropped"], 0, "dropped records")
        self.path, self.words = path, done.stderr
        return sorted(map(json.loads, done.stdout.splitlines()), key=lambda said: said["rank"]), report

    def plain(self, ranks, *command):
        done = run(*self.job(ranks, *command))
        same(done.returncode, 0, done.stdout + done.stderr)
        return sorted(map(json.loads, done.stdout.splitlines()), key=lambda said: said["rank"])


def total(rows, what):
    return sum(row[what] for row in rows)


def messages(mpi, work, ranks, *before, mode="messages"):
    """`ranks` 0: one, which no launcher starts."""
    said, report = mpi.record(ranks, *before, work, mode)
    if not before and (ranks, mode) != (2, "messages"):
        same(said, mpi.plain(ranks, work, mode), "what is computed")
    ranks = ranks or 1
    same(len(said), ranks, "ranks")
    found = report["messages"]
    same((found["count"], found["bytes"]), (total(said, "sent"), total(said, "sent_bytes")), "messages")
    same((found["sent_alone"], found["received_alone"], found["unequal"]), (0, 0, 0), found)
    same(found["count"], total(said, "received"), "messages received")
    dump = json.loads(run(BRICK, "export", "--format", "json", mpi.path).stdout)
    told = [dict(zip(dump["message_fields"], message)) for message in dump["messages"]]
    for event in "sent", "received":
        same(sum(each["bytes"] for each in told if each["event"] == event), found["bytes"], "exported, " + event)
    arrows = flows(mpi.path)
    same(len(set(arrows[SENDING])), found["count"], "arrows")
    same(sorted(arrows[SENDING]), sorted(arrows[RECEIVING]), "arrows that arrive")
    notes = [note["value"] for note in report["run"]["notes"] if note["key"] == "mpi.rank"]
    same(sorted(notes), ["%d of %d" % (rank, ranks) for rank in range(ranks)], "ranks")
    check("attached to MPI" in mpi.words, mpi.words)
    text = run(BRICK, "report", mpi.path).stdout
    check("\nMessages     %d with " % found["count"] in text, text)


def two_jobs(mpi, work, ranks):
    """Their messages agree in all that ranks see of them."""
    job = shlex.join(mpi.job(ranks, work, "messages"))
    said, report = mpi.record(0, "sh", "-c", f"{job} & {job} & wait")
    found = report["messages"]
    same((found["count"], found["bytes"]), (total(said, "sent"), total(said, "sent_bytes")), "messages of two jobs")
    same((found["sent_alone"], found["received_alone"], found["unequal"]), (0, 0, 0), found)


def collectives(mpi, work, ranks):
    said, report = mpi.record(ranks, work, "collectives")
    if ranks > 2:
        same(said, mpi.plain(ranks, work, "collectives"), "what is computed")
    rows = [row for row in report["bricks"] if row["name"] in BLOCKING]
    same({row["name"] for row in rows}, BLOCKING, "kinds of collectives")
    same(total(rows, "count"), total(said, "collectives"), "collectives")
    same(sum(row["bytes"] or 0 for row in rows), total(said, "collective_bytes"), "their bytes")
    same([row["count"] for row in report["bricks"] if row["name"] == "CollectiveWait"], [2 * ranks], "waits")
    same(report["messages"], None, "messages")


def odd(mpi, work, ranks):
    """Receives that were cancelled, or had too little room, leave all messages in step."""
    said, report = mpi.record(ranks, work, "odd")
    found = report["messages"]
    same((found["count"], found["sent_alone"], found["received_alone"]), (total(said, "sent"), 0, 0), found)
    # of a message that had too little room MPICH tells no bytes
    same(found["unequal"], 8 * ranks if mpi.name == "mpich" else 0, found)


def freed(mpi, work):
    """A message that came unseen may be any: none is given a number that may be another's."""
    said, report = mpi.record(2, work, "freed")
    same(report["messages"]["count"], 0, report["messages"])
    same(report["messages"]["sent_alone"], total(said, "sent"), report["messages"])


def calls(mpi, work, mode, ranks, expected):
    """Calls that are complete in unusual ways are recorded: how often each brick ran in each rank."""
    said, report = mpi.record(ranks, work, mode)
    rows = {row["name"]: row for row in report["bricks"]}
    same({name: rows[name]["count"] for name in expected}, {name: ranks * n for name, n in expected.items()}, mode)
    blocking = [row for name, row in rows.items() if name in BLOCKING]
    same(total(blocking, "count"), total(said, "collectives"), "collectives")
    same(sum(row["bytes"] or 0 for row in blocking), total(said, "collective_bytes"), "their bytes")
    return report


def many(mpi, work):
    """Communicators without end leave room for the sites of others."""
    calls(mpi, work, "many", 2, {"AllReduce": 300})
    sites = json.loads(run(BRICK, "export", "--format", "json", mpi.path).stdout)["sites"]
    labels = {site["label"] for site in sites if site["operation"] == "MPI_Allreduce"}
    check(100 < len(labels) <= 201 and "other communicators" in labels, labels)


def windows(mpi, work):
    """One-sided calls have their bytes; nobody is told, so that there is no message of them."""
    report = calls(mpi, work, "windows", 2, {"Put": 2, "Get": 1, "Accumulate": 2, "WindowWait": 6, "MessageWait": 1})
    rows = {row["name"]: row for row in report["bricks"]}
    same([rows[name]["bytes"] for name in ("Put", "Get", "Accumulate")], [2 * 4 * 4, 2 * 5 * 4, 2 * 3 * 4], "bytes of windows")
    same([rows[name]["category"] for name in ("Put", "WindowWait")], ["Communication", "Wait"], rows)
    same(report["messages"], None, "messages of windows")


def large(mpi):
    """MPI-4's functions with counts of 64 bits are those without."""
    versions = run(mpi.cc, "-E", "-", input="#include <mpi.h>\nversion MPI_VERSION\n").stdout.splitlines()
    if int(versions[-1].split()[1]) < 4:
        print("skipped: large counts of", mpi.name)
        return
    work = mpi.build("mpi_work.c", "-DLARGE_COUNTS")
    symbols = run("nm", "-D", work).stdout
    check(" U MPI_Send_c" in symbols and " U MPI_Send\n" not in symbols, "the program calls them")
    messages(mpi, work, 2)
    odd(mpi, work, 3)
    calls(mpi, work, "between", 3, {"Broadcast": 1, "Gather": 1, "Scatter": 1, "Reduce": 1, "ReduceScatter": 2})
    collectives(mpi, work, 2)
    windows(mpi, work)


def late(mpi, work, ranks, who):
    """The rank that comes after all others is the one that they wait for."""
    said, report = mpi.record(ranks, work, "late", str(who), "20", mpi.scratch.file(f"come.{mpi.name}.{ranks}"))
    rows = report["ranks"]
    same([(row["rank"], row["collectives"], row["bytes"]) for row in rows],
         [(rank, told["collectives"], told["collective_bytes"]) for rank, told in enumerate(said)], "collectives of ranks")
    same(max(rows, key=lambda row: row["caused_ns"])["rank"], who, rows)
    same(max(rows, key=lambda row: row["last"])["rank"], who, rows)


def fortran(mpi):
    compiler = shutil.which("mpif90." + mpi.name)
    if not compiler or not shutil.which("gfortran"):
        print("skipped: there is no Fortran for", mpi.name)
        return
    out, path = mpi.scratch.file("fortran." + mpi.name), mpi.scratch.file("run.pftrace")
    same(run(compiler, "-o", out, os.path.join(PROGRAMS, "mpi_work.f90")).returncode, 0, "build")
    plain = run(*mpi.job(2, out))
    done = run(BRICK, "record", "-o", path, "--", *mpi.job(2, out))
    same((done.returncode, done.stdout), (0, plain.stdout), done.stderr)
    report = json.loads(run(BRICK, "report", path, "--json").stdout)
    rows = {row["name"]: (row["count"], row["bytes"]) for row in report["bricks"]}
    same([rows[name] for name in ("Send", "Receive", "AllReduce")], [(20, 80), (20, 80), (20, 160)], "Fortran's calls")
    same((report["messages"]["count"], report["messages"]["bytes"]), (20, 80), "Fortran's messages")


def static(mpi, scratch):
    """A program that has MPI inside runs as ever, and Brick says why it records nothing. A double has the names alone."""
    source, out = scratch.file("static.c"), scratch.file("static")
    with open(source, "w", encoding="utf-8") as file:
        file.write("int PMPI_Init(int *a, char ***b) { return 0; }\nint MPI_Init(int *a, char ***b) { return PMPI_Init(a, b); }\n"
                   "int main(int n, char **v) { return MPI_Init(&n, &v); }\n")
    same(run("cc", "-O0", "-o", out, source).returncode, 0, "build")
    why = "static has MPI inside, not as a shared library, so its messages cannot be recorded"
    done = run(BRICK, "record", "-o", scratch.file("run.pftrace"), "--", *mpi.job(2, out))
    same(done.returncode, 0, done.stderr)
    check("nothing was attached: " + why in done.stderr, done.stderr)
    check(why in " ".join(run(BRICK, "doctor", "--", out).stdout.split()), "doctor of a static program")
    check("MPI inside" not in run(BRICK, "doctor", "--", scratch.file("mpi_work.c." + mpi.name)).stdout, "doctor of a shared one")


def absent(scratch):
    """A program that asks by weak symbols whether MPI is there is told the truth: not before it is loaded."""
    source, out = scratch.file("weak.c"), scratch.file("weak")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <stdio.h>\nextern int MPI_Init(int *, char ***) __attribute__((weak));\n"
                   "extern int PMPI_Send(void) __attribute__((weak));\nint (*kept)(int *, char ***) = MPI_Init;\n"
                   "int main(int n, char **v) { printf(\"%d %d %d\\n\", MPI_Init != 0, PMPI_Send != 0, kept != 0);"
                   " return MPI_Init ? MPI_Init(&n, &v) : 0; }\n")
    for options in ("-O1", "-fPIE", "-pie"), ("-O1", "-fPIE", "-pie", "-Wl,-z,now,-z,relro"):
        same(run("cc", *options, "-o", out, source).returncode, 0, "build")
        for before in (), ("env",):  # itself, and as a child
            done = run(BRICK, "record", "-o", scratch.file("run.pftrace"), "--", *before, out)
            same((done.returncode, done.stdout), (0, "0 0 0\n"), done.stderr)


def asked(mpi, scratch):
    """A module that is loaded later, as mpi4py, and asks for MPI-4's functions by weak symbols is told the truth; and a
    function that it looks up by its name is recorded."""
    source, module, main_, out = (scratch.file("asks" + end) for end in (".c", ".so", "_main.c", ""))
    with open(source, "w", encoding="utf-8") as file:
        file.write("#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <mpi.h>\n#include <stdio.h>\n#pragma weak MPI_Send_c\n#pragma weak PMPI_Bcast_c\n"
                   "extern int MPI_Send_c(), PMPI_Bcast_c();\nvoid ask(void) { int rank; MPI_Init(NULL, NULL);"
                   " MPI_Comm_rank(MPI_COMM_WORLD, &rank);"
                   " ((int (*)(MPI_Comm))dlsym(RTLD_DEFAULT, \"MPI_Barrier\"))(MPI_COMM_WORLD); printf(\"{\\\"rank\\\": %d, \\\"large\\\": %d}\\n\", rank,"
                   " (MPI_Send_c != 0) + 2 * (PMPI_Bcast_c != 0)); fflush(stdout); MPI_Finalize(); }\n")
    with open(main_, "w", encoding="utf-8") as file:
        file.write("#include <dlfcn.h>\nint main(int n, char **v) { void *m = dlopen(v[1], RTLD_NOW | RTLD_GLOBAL);"
                   " void (*ask)(void) = m ? (void (*)(void))dlsym(m, \"ask\") : 0; return ask ? ask(), 0 : 1; }\n")
    if run(mpi.cc, "-O1", "-shared", "-fPIC", "-o", module, source).returncode:  # its header declares them otherwise
        with open(source, encoding="utf-8") as file:
            text = file.read().replace("extern int MPI_Send_c(), PMPI_Bcast_c();\n", "")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        same(run(mpi.cc, "-O1", "-shared", "-fPIC", "-o", module, source).returncode, 0, "build of a module")
    same(run("cc", "-o", out, main_, "-ldl").returncode, 0, "build of a program that loads it")
    said, report = mpi.record(2, out, module)
    same(said, mpi.plain(2, out, module), "what is there")
    same([row["count"] for row in report["bricks"] if row["name"] == "Barrier"], [2], "a function by its name")


def untouched(mpi, work):
    for arguments in ("init", "1"), ("init", "3"), ("error",):
        same(mpi.record(2, work, *arguments)[0], mpi.plain(2, work, *arguments), " ".join(arguments))


def tools(mpi, work, scratch):
    """A tool of the user's behind Brick, and one that is part of the program."""
    tool = mpi.build("mpi_tool.c", "-shared", "-fPIC")
    log = scratch.file("tool.log." + mpi.name)
    messages(mpi, work, 2, "env", "LD_PRELOAD=" + tool, "MPI_TOOL_LOG=" + log)
    with open(log, encoding="utf-8") as file:
        same(len(file.read().split()), 2, "ranks that the user's tool saw")
    inside = scratch.file("inside." + mpi.name)
    sources = [os.path.join(PROGRAMS, name) for name in ("mpi_work.c", "mpi_tool.c")]
    same(run(mpi.cc, "-O1", "-pthread", "-o", inside, *sources).returncode, 0, "build with a tool inside")
    messages(mpi, inside, 2)


def main():
    with Scratch() as scratch:
        tried = 0
        absent(scratch)
        for mpi in Mpi("openmpi", scratch), Mpi("mpich", scratch):
            if not mpi.cc or not mpi.mpirun:
                print("skipped: there is no", mpi.name)
                continue
            tried += 1
            work = mpi.build("mpi_work.c")
            messages(mpi, work, 2)
            messages(mpi, work, 4)
            messages(mpi, work, 0)
            two_jobs(mpi, work, 0)
            two_jobs(mpi, work, 2)
            messages(mpi, work, 2, mode="threads")
            odd(mpi, work, 3)
            freed(mpi, work)
            calls(mpi, work, "jumps", 2, {"AllReduce": 5})
            calls(mpi, work, "polls", 2, {"CollectiveWait": 3, "MessageWait": 3, "Start": 1, "Send": 2})
            calls(mpi, work, "between", 3, {"Broadcast": 1, "Gather": 1, "Scatter": 1, "Reduce": 1, "ReduceScatter": 2})
            many(mpi, work)
            collectives(mpi, work, 2)
            collectives(mpi, work, 4)
            windows(mpi, work)
            large(mpi)
            late(mpi, work, 2, 1)
            late(mpi, work, 4, 2)
            fortran(mpi)
            asked(mpi, scratch)
            untouched(mpi, work)
            static(mpi, scratch)
            tools(mpi, work, scratch)
        sys.exit(0 if tried else 77)


if __name__ == "__main__":
    main()
