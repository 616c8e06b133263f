# SPDX-License-Identifier: Apache-2.0
"""ggml inside of programs, where the dynamic linker has no part in its calls: in a static program, in an addon
that exports none of it, in libraries that bind within themselves, and both of the first at once. Each node is
seen on each thread, the results are the same. Where it cannot be done, it is said why and what helps."""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

import libggml as g
from libdoctor import EACH_NODE

GRAPHS = 3
LAYERS = 3
PROGRAM = os.path.join(g.SOURCE, "tests", "programs", "ggml_static.c")
BRICK = os.path.join(g.BUILD, "bin", "brick")
OPENS = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int run_graphs(int threads, int graphs);
int main(int argc, char **argv)
{
	void *addon = dlopen(argv[3], RTLD_NOW | RTLD_LOCAL);
	int (*run)(int, int) = addon ? (int (*)(int, int))dlsym(addon, "run_graphs") : NULL;
	if (!run)
		return fprintf(stderr, "%s\\n", dlerror()), 3;
#ifdef OWN
	if (run_graphs(atoi(argv[1]), atoi(argv[2])))
		return 4;
#endif
	return run(atoi(argv[1]), atoi(argv[2]));
}
"""


# Opens the addon, runs it and closes it, OPENINGS times: it may lie elsewhere then, or where it was.
REOPENS = """
#include <dlfcn.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	int code = 0;
	for (int i = 0; i < OPENINGS && !code; i++) {
		void *addon = dlopen(argv[3], RTLD_NOW | RTLD_LOCAL);
		int (*run)(int, int) = addon ? (int (*)(int, int))dlsym(addon, "run_graphs") : NULL;
		code = run ? run(atoi(argv[1]), atoi(argv[2])) : 3;
		if (!code && (dlclose(addon) || dlopen(argv[3], RTLD_NOW | RTLD_NOLOAD)))
			code = 5;
	}
	return code;
}
"""
OPENINGS = 3


class Builder:
    def __init__(self, scratch):
        self.scratch = scratch
        top = g.demo("engine-static", "ggml", ".complete")
        top = os.path.dirname(top)
        self.archives = [os.path.join(top, "ggml", "src", f"lib{name}.a") for name in ("ggml", "ggml-cpu", "ggml-base")]
        self.program_object = os.path.join(top, "ggml-cpu-program.o")
        self.backend_object = os.path.join(top, "ggml-backend-program.o")
        self.clang_object = os.path.join(top, "ggml-cpu-clang.o")
        self.lto_objects = [os.path.join(top, name + "-lto.o") for name in ("ggml-cpu", "traits")]
        source = os.path.join(os.path.dirname(top), "source", "ggml")
        self.include, self.inside = "-I" + os.path.join(source, "include"), "-I" + os.path.join(source, "src")

    def path(self, name):
        return os.path.join(self.scratch, name)

    def compile(self, name, *options, source=PROGRAM, text=None):
        source = ["-x", "c", "-"] if text else [source]
        subprocess.run(["cc", "-c", "-O2", "-fPIC", "-D_GNU_SOURCE", self.include, *source, "-o", self.path(name), *options],
                       input=text and text.encode(), check=True)
        return self.path(name)

    def link(self, name, *inputs):
        subprocess.run(["c++", *inputs, "-o", self.path(name), "-lpthread", "-lm", "-ldl"], check=True)
        return self.path(name)

    def library(self, name, archive, *needs):
        return self.link(name, "-shared", "-Wl,-Bsymbolic-functions", "-Wl,--whole-archive", archive,
                         "-Wl,--no-whole-archive", *needs, "-Wl,-rpath," + self.scratch)


def check(command, threads, copies=1, openings=1, **environment):
    """All nodes of all graphs are there, and the program has not noticed."""
    command = [command[0], str(threads), str(GRAPHS), *command[1:]]
    plain = g.run(command)
    assert plain.returncode == 0, plain.stderr
    with g.Recorded(command, **environment) as recorded:
        g.assert_same(plain, recorded.result, f"{command} on {threads}")
        session = recorded.session()
    g.assert_clean(session)
    assert session.note("attach") == ["node hooks"], session.notes
    counts = collections.Counter(n.brick for lane in session.lanes for n in g.nodes_of(session, lane))
    each = LAYERS * GRAPHS * threads * copies * openings
    for brick in ("UpProjection", "Activation", "ResidualAdd"):
        assert counts[brick] == each, (brick, each, counts)
    patched = session.note("patched")
    assert len(patched) == copies and all(", not " not in p for p in patched), patched
    steps = g.steps_of(session)
    assert len(steps) == GRAPHS * copies * openings, len(steps)
    return patched


def record(command, scratch):
    run = g.run([BRICK, "record", "-o", os.path.join(scratch, "run.pftrace"), "--", *command])
    return run.returncode, run.stdout, run.stderr


def doctor(*command):
    return g.run([BRICK, "doctor", *command]).stdout


def in_debug_file(build, program):
    """Stripped, with its symbols in a file of their own: found by build ID or by the link, if it is the right one."""
    debug, alone = build.path("alone.debug"), build.path("alone")
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["objcopy", "--strip-all", "--add-gnu-debuglink=" + debug, program, alone], check=True)
    check([alone], 1)
    text = " ".join(doctor("--", alone).split())
    assert "get jumps to Brick's hooks" in text and "each node is timed" in text, text
    known = re.search(r"Build ID: (\w+)", subprocess.run(["readelf", "-nW", alone], capture_output=True, text=True, check=True).stdout)
    if known:
        cache = os.path.join(build.scratch, "cache", known[1])
        os.makedirs(cache)
        shutil.move(debug, os.path.join(cache, "debuginfo"))
        code, _, err = record([alone, "1", "1"], build.scratch)
        assert code == 0 and "no debug file of it is there (build ID " + known[1] in err, err
        check([alone], 1, DEBUGINFOD_CACHE_PATH=os.path.dirname(cache))
    # no ID: the link's checksum decides; a file of that name with another one is not believed
    nameless = build.path("nameless")
    subprocess.run(["objcopy", "--only-keep-debug", "--remove-section=.note.gnu.build-id", program, debug], check=True)
    subprocess.run(["objcopy", "--strip-all", "--remove-section=.note.gnu.build-id", "--add-gnu-debuglink=" + debug, program, nameless],
                   check=True)
    check([nameless], 1)
    with open(debug, "ab") as file:
        file.write(b"x")
    code, _, err = record([nameless, "1", "1"], build.scratch)
    assert code == 0 and "no debug file of it is there (it has no build ID)" in err, err


def refused(build, program, host, addon):
    """Stripped, and with the C library inside: they run as ever, and are told about, by both commands alike."""
    expected = g.run([program, "1", "1"]).stdout
    for original, options, before in ((program, [], []), (program, ["--strip-unneeded"], []), (addon, [], [host, "1", "1"])):
        stripped = build.path("stripped" + os.path.splitext(original)[1])
        subprocess.run(["strip", *options, "-o", stripped, original], check=True)
        command = [*before, stripped] if before else [stripped, "1", "1"]
        code, out, err = record(command, build.scratch)
        text = doctor("--", *command)
        wanted = "the file was stripped of its table of symbols (.symtab), and no debug file of it is there"
        assert (code, out) == (0, expected), (code, out, err)
        for told in (err, text):
            told = " ".join(told.split())
            assert stripped + ": ggml is inside" in told and wanted in told, told
            assert "build it without -s, strip and CMAKE_INSTALL_STRIP, or with -DBUILD_SHARED_LIBS=ON" in told, told
    try:
        whole = build.link("whole", "-static", build.path("main.o"), *build.archives)
    except subprocess.CalledProcessError:
        print("no static C library here")
        return
    code, out, err = record([whole, "1", "1"], build.scratch)
    assert (code, out) == (0, expected) and "linked statically" in err and "without -static" in err, (code, out, err)
    text = " ".join(doctor("--", whole).split())
    assert "without -static" in text and "would get jumps" in text, text
    subprocess.run(["strip", whole], check=True)
    code, out, err = record([whole, "1", "1"], build.scratch)
    assert (code, out) == (0, expected) and "linked statically" in err and "stripped of its table" in err, (code, out, err)


def told(program, libraries):
    """`doctor` says beforehand what the recordings have shown."""
    for command in (program, libraries, os.path.join(os.path.dirname(program), "lto")):
        text = " ".join(doctor("--", command).split())
        assert EACH_NODE in text and "get jumps to Brick's hooks" in text, text
    with subprocess.Popen(["sleep", "3600"]) as process:
        text = " ".join(doctor(str(process.pid)).split())
        process.kill()
    assert "nothing gets into a process that runs" in text and "nothing in its files speaks for ggml" in text, text


def trains(build):
    """Through the function of the scheduler that the hooked one is inlined into."""
    source = os.path.join(g.SOURCE, "tests", "programs", "ggml_train.c")
    program = build.link("train", build.compile("train.o", source=source), build.program_object, build.backend_object,
                         *build.archives)
    for threads in (1, 2):
        session, = g.record_unnoticed([program, str(threads), str(GRAPHS)], "a program that trains")
        g.assert_clean(session)
        steps = g.steps_of(session)
        assert [(s.brick, s.tokens) for s in steps] == GRAPHS * [("Prefill", 8)], steps
        for step in steps:
            phases = [(n.brick, [k.brick for k in n.walk() if k.site]) for n in step.walk()
                      if n.brick in ("Forward", "Backward", "OptimizerStep")]
            assert phases == [("Forward", ["UpProjection", "Loss"]), ("Backward", ["Gradient", "BackwardProduct"]),
                              ("OptimizerStep", ["WeightUpdate"])], phases


def on_device(build):
    """The scheduler has the function inlined that is hooked for a backend's graphs, so the backend's table is. What the
    device is given is its graph's; where nothing says when that begins, all of the graph's, and never a copy's."""
    source = os.path.join(g.SOURCE, "tests", "programs", "ggml_device.c")
    program = build.link("device", build.compile("device.o", build.inside, "-I" + os.path.join(g.SOURCE, "include"), source=source),
                         build.program_object, build.backend_object, *build.archives)
    blind, owners = build.path("blind"), build.path("owners")
    subprocess.run(["strip", "-N", "ggml_backend_graph_compute_async", "-o", blind, program], check=True)
    for command, owner, said in ((program, "Graph Fake0", "the backend calls no function for each"),
                                 (blind, "GraphCompute", "it is not seen when the backend begins a graph")):
        session, = g.record_unnoticed([command, str(GRAPHS), owners], "a device's graphs")
        g.assert_clean(session)
        with open(owners, encoding="ascii") as file:
            assert file.read().split("\n")[:-1] == GRAPHS * [owner], (owner, open(owners, encoding="ascii").read())
        bricks = collections.Counter(n.brick for step in g.steps_of(session) for n in step.walk())
        assert bricks["SplitCopy"] and bricks["RmsNorm"] == bricks["Activation"] == GRAPHS, bricks
        assert bricks["Graph Fake0"] == (GRAPHS if command == program else 0), bricks
        assert any(said in note for note in session.note("ggml.device")), session.notes


def graphs_only(build, program):
    """Where nothing is left that is called for a node, no node is claimed: by notes, both commands or the line of trust."""
    alone, path = build.path("graphs_only"), os.path.join(build.scratch, "run.pftrace")
    gone = ("ggml_cpu_extra_compute_forward", "ggml_compute_forward", "ggml_backend_sched_set_eval_callback")
    subprocess.run(["strip", *(f"-N{name}" for name in gone), "-o", alone, program], check=True)
    session, = g.record_unnoticed([alone, "1", str(GRAPHS)], "graphs only")
    assert session.note("attach")[0].startswith("graphs only"), session.notes
    assert [n.brick for step in g.steps_of(session) for n in step.walk() if n.site] == [], session.notes
    code, _, err = record([alone, "1", str(GRAPHS)], build.scratch)
    assert code == 0 and "graphs only" in err and "node hooks" not in err, err
    brief = " ".join(g.run([BRICK, "report", path]).stdout.split())
    assert "by whole graphs" in brief and "limited by coverage" in brief, brief
    assert "and no single node" in " ".join(doctor("--", alone).split()), doctor("--", alone)


def warms_up(build, addon_object):
    """What llama.cpp has for a warm-up's tokens is found where it exports nothing."""
    source = os.path.join(g.SOURCE, "tests", "programs", "llama_small.c")
    program = build.link("small", build.compile("small.o", source=source), addon_object, build.program_object, *build.archives)
    session, = g.record_unnoticed([program], "llama.cpp in miniature")
    steps = [(s.brick, s.tokens) for s in g.steps_of(session)]
    assert steps == [("Prefill", 16), *4 * [("Decode", 1)]], (steps, session.notes)
    warm_ups = [n.tokens for lane in session.lanes for n in session.tree(lane) if n.brick == "WarmUp"]
    assert warm_ups == [2], (warm_ups, session.notes)


def symbols(program):
    return subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout


def main():
    if not os.path.exists(os.path.join(g.BUILD, "lib", "libbrick-patch.so")):
        g.skip("Brick was built without patches")
    if not shutil.which("c++"):
        g.skip("no C++ compiler")
    with tempfile.TemporaryDirectory() as scratch:
        build = Builder(scratch)
        ours = build.compile("main.o")
        addon_object = build.compile("addon.o", "-DADDON")
        program = build.link("program", ours, build.program_object, *build.archives)
        addon = build.link("addon.node", "-shared", addon_object, *build.archives, "-Wl,--exclude-libs,ALL")
        another = build.link("another.so", "-shared", build.compile("another.o", text="int another;"))
        opener = build.link("opener.node", "-shared", build.compile("opener.o", "-DADDON", f'-DOPENS="{another}"'),
                            *build.archives, "-Wl,--exclude-libs,ALL")
        host = build.link("host", build.compile("host.o", text=OPENS))
        both = build.link("both", build.compile("both.o", "-DOWN", text=OPENS), addon_object, build.program_object,
                          *build.archives)
        base = build.library("libggml-base.so", build.archives[2])
        cpu = build.library("libggml-cpu.so", build.archives[1], base)
        library = build.library("libggml.so", build.archives[0], cpu, base)
        libraries = build.link("libraries", ours, library, cpu, base, "-Wl,-rpath," + scratch)
        for threads in (1, 2):
            check([program], threads)
            check([host, addon], threads)
            check([both, addon], threads, 2)
            # clang keeps numbers in vector registers over ggml_barrier()
            if os.path.exists(build.clang_object):
                check([build.link("by_clang", ours, build.clang_object, *build.archives)], threads)
            # nothing is left of the function that is hooked for nodes, so another stands in for it
            check([build.link("lto", "-flto=2", "-O2", ours, *build.lto_objects, *build.archives)], threads)
        assert "ggml_cpu_extra_compute_forward" not in symbols(build.path("lto"))
        trains(build)
        on_device(build)
        graphs_only(build, program)
        warms_up(build, addon_object)
        check([host, opener], 1)
        again = build.link("again", build.compile("again.o", f"-DOPENINGS={OPENINGS}", text=REOPENS))
        for threads in (1, 2):
            check([again, addon], threads, openings=OPENINGS)
        shared = g.run([libraries, "1", str(GRAPHS)])
        assert shared.stdout == g.run([program, "1", str(GRAPHS)]).stdout, shared
        with g.Recorded([libraries, "1", str(GRAPHS)]) as recorded:
            g.assert_same(shared, recorded.result, "libraries that bind within themselves")
            session = recorded.session()
        assert session.note("attach") == ["node hooks"], session.notes
        counts = collections.Counter(n.brick for lane in session.lanes for n in g.nodes_of(session, lane))
        assert counts["UpProjection"] == LAYERS * GRAPHS, counts
        refused(build, program, host, addon)
        in_debug_file(build, program)
        told(program, libraries)


sys.exit(main())
