# SPDX-License-Identifier: Apache-2.0
"""PyTorch as it is: what it computes is the same, each operator is counted, with the length that PyTorch's own profiler
tells of it, in the layer of its module; steps of inference and of training, their phases, data loaders in processes of
their own, exceptions; and what does not behave as PyTorch is refused. With what /usr/bin/python3 has, and 2.13."""
import collections
import csv
import glob
import io
import json
import os
import re
import shutil
import subprocess
import sys

from librecord import *

FAKE = os.path.join(os.environ["BRICK_SOURCE"], "tests", "programs", "torch_fake.c")
WORK = os.path.join(os.environ["BRICK_SOURCE"], "tests", "programs", "torch_work.py")
STEPS, LAYERS = 6, 4


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def record(scratch, *command, options=()):
    path = scratch.file(f"{'-'.join(command[2:])}.pftrace".replace("/", "_"))
    done = run(BRICK, "record", *options, "-o", path, "--", *command)
    same(done.returncode, 0, done.stderr)
    rows = list(csv.DictReader(io.StringIO(run(BRICK, "export", "--format", "csv", path).stdout)))
    return done, json.loads(run(BRICK, "report", path, "--json").stdout), rows


def count(rows, **wanted):
    return sum(all(row[key] == str(value) for key, value in wanted.items()) for row in rows)


def parts(scratch):
    """A program that calls embedding, layers and head by themselves: that a token is several steps is said first."""
    record(scratch, PYTHON, WORK, "parts", str(STEPS))
    said = " ".join(run(BRICK, "report", scratch.file(f"parts-{STEPS}.pftrace")).stdout.split())
    check("a token may be several steps" in said, said)
    record(scratch, PYTHON, WORK, "decode", str(STEPS))
    said = run(BRICK, "report", scratch.file(f"decode-{STEPS}.pftrace")).stdout
    check("several steps" not in said, said)


def computes(scratch):
    works = "decode+see+train+fail"
    plain = run(PYTHON, WORK, works, str(STEPS))
    done, report, rows = record(scratch, PYTHON, WORK, works, str(STEPS))
    same(done.stdout, plain.stdout, "what is computed")
    said = re.search("attached to PyTorch ([0-9.+a-z]+): operators of PyTorch", done.stderr)
    check(said and VERSION.startswith(said[1]), done.stderr)
    check("PyTorch takes a slower path" in report["distortion"]["method"], report["distortion"])
    check("splits graphs" not in report["distortion"]["method"], report["distortion"])
    steps = report["steps"]
    same((steps["decode"]["count"], steps["decode"]["tokens"]), (STEPS, 2 * STEPS), "steps of new tokens")
    same((steps["prefill"]["count"], steps["prefill"]["tokens"]), (1, 64), "the prompt")
    # the images, the steps of training, and the forwards that fail or not
    same((steps["other"]["count"], steps["other"]["tokens"]), (STEPS + STEPS + 6, 64 * STEPS), "other steps")
    training = steps["training"]
    same((training["count"], training["tokens"]), (STEPS, 64 * STEPS), "steps of training")
    parts = [training[part] for part in ("forward_ns", "backward_ns", "optimizer_ns")]
    check(min(parts) > 0 and sum(parts) <= training["total_ns"], "its phases", training)
    evaluated = STEPS + 1 + STEPS  # of the decoder
    for layer in range(LAYERS):
        for brick, times, operation, products in (
                ("QkvProjection", 3, "aten::linear", "mm"), ("OutputProjection", 1, "aten::linear", "mm"),
                ("UpProjection", 1, "aten::linear", "mm"), ("DownProjection", 1, "aten::linear", "mm"),
                ("GateProjection", 1, "aten::linear", "mm"), ("LayerNorm", 2, "aten::layer_norm", "NativeLayerNorm"),
                ("AttentionSoftmax", 1, "aten::softmax", "Softmax"), ("AttentionProduct", 2, "aten::matmul", "mm")):
            same(count(rows, brick=brick, layer=layer, operation=operation), times * evaluated, f"{brick} in layer {layer}")
            back = [row["label"] for row in rows if row["brick"] == brick and row["layer"] == str(layer)
                    and row["operation"].lower().endswith(f"{products}backward0".lower())]
            same(len(back), times * STEPS, f"{brick} in layer {layer} of backward passes")
            check(all(name.startswith(f"layers.{layer}.") for name in back), back)
    same(count(rows, brick="QkvProjection", operation="aten::linear", label="layers.3.self_attn.q_proj"), evaluated,
         "q_proj of layer 3")
    same(count(rows, brick="Embedding", operation="aten::embedding"), evaluated, "embeddings")
    same(count(rows, brick="Embedding", operation="EmbeddingBackward0", label="embed"), STEPS, "embeddings of backward passes")
    same(count(rows, brick="Convolution", operation="aten::conv2d"), 2 * STEPS, "convolutions")
    same(count(rows, brick="Backward"), STEPS + 2, "backward passes")
    same(count(rows, brick="OptimizerStep"), STEPS, "the optimizer's steps")
    same(count(rows, operation="aten::addmm"), 0, "an operator inside of a linear layer")
    same(count(rows, operation="SoftmaxBackward0"), STEPS * LAYERS, "nodes of autograd")
    phases_lie_in_steps(rows)


def compiles(scratch):
    """torch.compile looks into the modules that we see called, and finds what it finds without us."""
    plain = run(PYTHON, WORK, "compiled", "3")
    same(plain.returncode, 0, plain.stderr)
    done, report, rows = record(scratch, PYTHON, WORK, "compiled", "3")
    same((done.stdout, done.stderr.count("Warning")), (plain.stdout, plain.stderr.count("Warning")), "what is compiled")
    if any(row["brick"].startswith("Torch-Compiled Region") for row in rows):
        same(count(rows, operation="aten::linear"), (1 + 3) * (7 * LAYERS + 1), "operators, also in compiled regions")
    plain = run(PYTHON, WORK, "recompiled", "3")
    done, report, rows = record(scratch, PYTHON, WORK, "recompiled", "3")
    same(done.stdout, plain.stdout, "what is compiled again")
    # what goes on behind the break is the function 2, compiled while 1 runs
    same([row["label"] for row in rows if row["brick"] == "Compilation"][:2], ["0/0", "1/0"], "compilations")
    # 2.6 says L['x'] for x; a label has room for 63 bytes
    found = [re.sub(r"L\['(\w+)'\]", r"\1", row["label"]) for row in rows
             if row["brick"] == "Recompilation" and row["label"].startswith("1/")]
    whole = [f"1/{i}: tensor 'x' size mismatch at index 0. expected {i}, actual {i + 1}" for i in (1, 2)]
    same([text[:len(part)] for text, part in zip(whole, found)], found, "recompilations")
    check(len(found) == 2 and all(len(part) > 50 for part in found), found)
    with open(WORK, encoding="utf-8") as file:
        line = 1 + next(i for i, text in enumerate(file) if "the graph breaks here" in text)
    breaks = [row["label"] for row in rows if row["brick"] == "GraphBreak"]
    same([text.startswith(f"torch_work.py:{line}: ") for text in breaks], [True] * 3, breaks)
    if VERSION.startswith("2.13"):
        plain = run(PYTHON, WORK, "looped", "3")
        done, report, rows = record(scratch, PYTHON, WORK, "looped", "3")
        same(done.stdout, plain.stdout, "what is not compiled")
        with open(WORK, encoding="utf-8") as file:
            line = 1 + next(i for i, text in enumerate(file) if "breaks in a loop" in text)
        breaks = [row["label"] for row in rows if row["brick"] == "GraphBreak"]
        same([text.startswith(f"torch_work.py:{line}: not compiled: ") for text in breaks], [True], breaks)


def works(scratch):
    """FLOPs of products and convolutions are those that PyTorch's own counter has; steps beyond one asked in sixteen, too."""
    wanted = int(run(PYTHON, WORK, "decode+see", "20", "flops").stdout)
    _, report, rows = record(scratch, PYTHON, WORK, "decode+see+attend", "20")
    same(sum(int(row["flops"] or 0) for row in rows
             if row["operation"] in ("aten::linear", "aten::matmul", "aten::conv2d")), wanted, "FLOPs")
    same([int(row["flops"]) for row in rows if row["operation"] == "aten::scaled_dot_product_attent"],
         [2 * 2 * 4 * 3 * i * (8 + 16) for i in range(1, 21)], "FLOPs of attention")
    same({(row["bytes"], row["flops"]) for row in rows if row["operation"] == "aten::silu" and row["layer"] == "0"},
         {(str(2 * tokens * 512 * 4), str(tokens * 512)) for tokens in (64, 2)}, "work of activations")
    same({row["bytes"] for row in rows if row["operation"] == "aten::embedding"},
         {str(tokens * (8 + 2 * 256 * 4)) for tokens in (64, 2)}, "bytes of embeddings")
    same({row["flops"] for row in rows if row["operation"] == "aten::view"}, {""}, "work of views")
    _, _, rows = record(scratch, PYTHON, WORK, "many", "200")
    same([int(row["flops"] or 0) for row in rows if row["operation"] == "aten::linear"],
         [2 * 2 * 8 * i for i in range(1, 201)], "FLOPs of models that are called once")
    _, _, rows = record(scratch, PYTHON, WORK, "twins", "20")
    same([int(row["flops"] or 0) for row in rows if row["operation"] == "aten::linear"],
         [2 * 2 * 8 * wide for wide in (16, 16, 64, 64)] * 20, "FLOPs of models with equal paths")
    _, _, rows = record(scratch, PYTHON, WORK, "wide", "2")
    same(collections.Counter(row["flops"] for row in rows if row["operation"] == "aten::linear"),
         collections.Counter({str(2 * 4 * 4): 2 * 1000}), "FLOPs of a thousand modules")
    _, _, rows = record(scratch, PYTHON, WORK, "beside", "8")
    same(collections.Counter(int(row["flops"] or 0) for row in rows if row["operation"] == "aten::linear"),
         collections.Counter([2 * 2 * 8 * 8] * 8 + [2 * 2 * 8 * i for i in range(1, 9)] * 2), "FLOPs of two threads in turns")


def of_cpp(scratch):
    """A program of C++ that is linked with libtorch: looked at before any of its code has run."""
    place = run(PYTHON, "-c", "import torch; print(torch.__path__[0])").stdout.strip()
    program, source = scratch.file("cpp"), scratch.file("cpp.cc")
    with open(source, "w") as file:
        file.write("""#include <ATen/ATen.h>
int main() { return at::matmul(at::ones({4, 8}), at::ones({8, 3})).sum().item<double>() != 96; }
""")
    built = run("c++", "-std=c++20", f"-I{place}/include", source, "-o", program, f"-L{place}/lib", f"-Wl,-rpath,{place}/lib",
                "-Wl,--no-as-needed", "-ltorch_cpu", "-lc10")
    if built.returncode:
        print("without a program of C++:", built.stderr[:200])
        return
    _, _, rows = record(scratch, program)
    same([(row["bytes"], row["flops"]) for row in rows if row["operation"] == "aten::matmul"],
         [(str(4 * (4 * 8 + 8 * 3 + 4 * 3)), str(2 * 4 * 8 * 3))], "its product")


def phases_lie_in_steps(rows):
    """Each step of training holds one forward, one backward and one optimizer's step, in this order."""
    named = [row for row in rows if row["brick"] in ("OtherStep", "Prefill", "Forward", "Backward", "OptimizerStep")]
    named.sort(key=lambda row: (int(row["begin_ns"]), int(row["depth"])))
    held, open_step = collections.Counter(), None
    for row in named:
        begin, end = int(row["begin_ns"]), int(row["begin_ns"]) + int(row["duration_ns"])
        if row["brick"] in ("OtherStep", "Prefill"):
            open_step, inside = (begin, end), []
            continue
        if open_step and begin >= open_step[0] and end <= open_step[1] + 1:
            inside.append(row["brick"])
            if row["brick"] == "OptimizerStep":
                held[tuple(inside)] += 1
    same(held, {("Forward", "Backward", "OptimizerStep"): STEPS}, "what steps of training hold")


def as_its_profiler(scratch):
    done, _, rows = record(scratch, PYTHON, WORK, "decode+see+train", str(STEPS), "profile")
    theirs = json.loads(done.stdout)
    ours = collections.defaultdict(list)
    for row in rows:
        if row["operation"]:
            ours[row["operation"]].append(int(row["duration_ns"]))
    check(len(theirs) > 20, "the profiler saw little", theirs)
    for name, times in theirs.items():
        same(len(ours[name]), len(times), f"how often {name} ran")
        # one of both is called inside of the other, and what one does lies between, or who preempts it there: never in all
        wanted, got = min(times), min(ours[name])
        check(len(times) < 5 or abs(got - wanted) <= 0.1 * wanted + 20000, name, ours[name], "and not", times)


def inner_operators(scratch):
    """Those that PyTorch's own profiler sees inside of outermost operators, which stay what they are."""
    done, _, rows = record(scratch, PYTHON, WORK, "decode+see+train", str(STEPS), "inner", options=["--inner"])
    theirs = {name: len(times) for name, times in json.loads(done.stdout).items()}
    check({"aten::addmm", "aten::mm", "aten::convolution"} <= set(theirs), "the profiler saw little", theirs)
    same(dict(collections.Counter(row["brick"][:-len("(inner)")] for row in rows if row["brick"].endswith("(inner)"))), theirs,
         "operators inside of others")
    same(count(rows, brick="QkvProjection", layer=3, operation="aten::linear"), 3 * (STEPS + 1 + STEPS), "q, k and v of layer 3")
    same({row["layer"] for row in rows if row["brick"] == "aten::addmm(inner)"}, {str(i) for i in range(-1, LAYERS)}, "their layers")


def loaders(scratch):
    done, report, rows = record(scratch, PYTHON, WORK, "workers", "4")
    pids = collections.Counter(row["pid"] for row in rows if row["operation"].startswith("aten::"))
    same(len(pids), 3, "processes that run operators")
    same(report["steps"]["other"]["count"], 4, "steps of training")
    losses = report["losses"]
    same((losses["open"], losses["unmatched"]), (0, 0), "steps of what is called inside of the loaders")
    stacked = collections.Counter(row["pid"] for row in rows if row["operation"] == "aten::stack")
    same(sum(stacked.values()), 8, "batches put together")
    same(len(stacked), 2, "processes that put batches together")
    same(count(rows, brick="DataLoading"), 5, "batches that were waited for")


def scripts(scratch):
    """Each call of a function of TorchScript is a step, and what its compiler runs is none."""
    _, report, rows = record(scratch, PYTHON, WORK, "scripted", str(STEPS))
    same(report["steps"]["other"]["count"], STEPS, "steps of TorchScript")
    same(count(rows, operation="aten::mul", depth=2), STEPS, "their operators")


def not_recorded():
    """The library is in a program that nobody records, and PyTorch was never looked at: backward() goes through it."""
    plain = run(PYTHON, WORK, "train", "1")
    library = os.path.join(BUILD, "lib", "libbrick-torch.so")
    done = subprocess.run([PYTHON, WORK, "train", "1"], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "LD_PRELOAD": library})
    same((done.returncode, done.stdout), (0, plain.stdout), "a program that is not recorded")


def fake(scratch, fault):
    """A library of that name whose observers behave as `fault` says (tests/programs/torch_fake.c); None: cc is missing."""
    place = scratch.file(f"torch{fault}")
    os.makedirs(os.path.join(place, "lib"))
    library = os.path.join(place, "lib", "libtorch_cpu.so")
    if run("cc", f"-DFAULT={fault}", "-shared", "-fPIC", "-o", library, FAKE).returncode:
        return None
    with open(os.path.join(place, "version.py"), "w") as file:
        file.write("from typing import Optional\n__version__ = '2.99.1+cpu'\ndebug = False\n")
    return library


def refused(scratch):
    """A library of that name that does not behave as PyTorch's is left alone, and the recording says why."""
    other = next(iter(glob.glob("/lib/*-linux-gnu/libz.so.1") + glob.glob("/usr/lib/*-linux-gnu/libz.so.1")))
    os.makedirs(scratch.file("lib"))
    libraries = {shutil.copy(other, scratch.file("lib/libtorch_cpu.so")):
                 "PyTorch of an unknown version is not recorded: its library has no _ZNK2at14RecordFunction4nameEv"}
    for fault, why in (0, None), (1, "an observer is called for other scopes"), (2, "an observer is not called for its scope"), \
            (3, "an observed function has another name than it was given"), (4, "an observer is not told the function's address"), \
            (5, "an observer's context is not handed back"):
        libraries[fake(scratch, fault)] = why and f"PyTorch 2.99.1+cpu is not recorded: {why}"
    for library, why in libraries.items():
        path = scratch.file("refused.pftrace")
        done = run(BRICK, "record", "-o", path, "--", sys.executable, "-c",
                   f"import ctypes; ctypes.CDLL({library!r}); print('well')")
        same((done.returncode, done.stdout), (0, "well\n"), "the program")
        check(f"brick: {why}" in done.stderr if why else "is not recorded" not in done.stderr, why, done.stderr)
        if why:
            notes = run(BRICK, "report", path, "--trust").stdout
            check(why in " ".join(notes.split()), notes)


def interpreters():
    """Those that have a PyTorch, by its version."""
    asks = "import torch; print(torch.__version__)"
    fetched = run(os.path.join(os.environ["BRICK_SOURCE"], "examples", "demo", "torch.sh"), "torch-2.13.0")
    for python in "/usr/bin/python3", fetched.stdout.strip():
        asked = run(python, "-c", asks) if python else None
        if asked and not asked.returncode:
            yield python, asked.stdout.strip()
    if fetched.returncode:
        print("without PyTorch 2.13:", fetched.stderr.strip())


if not os.path.exists(os.path.join(BUILD, "lib", "libbrick-torch.so")):
    print("skipped: Brick was built without the attacher of PyTorch")
    sys.exit(77)
with Scratch() as scratch:
    refused(scratch)
    found = list(interpreters())
    for PYTHON, VERSION in found:
        print("PyTorch", VERSION)
        computes(scratch)
        if not VERSION.startswith("1."):
            compiles(scratch)
            works(scratch)
            of_cpp(scratch)
        parts(scratch)
        as_its_profiler(scratch)
        inner_operators(scratch)
        loaders(scratch)
        scripts(scratch)
        not_recorded()
    if not found:
        print("skipped: there is no PyTorch (Debian's python3-torch: 250 MB with all that it needs)")
        sys.exit(77)
