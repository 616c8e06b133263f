# SPDX-License-Identifier: Apache-2.0
"""What `brick doctor -- CMD` foresees is what `brick record` attaches to, for real programs: all that is certain, and
nothing that was not at least possible; and it does not call everything possible. Programs that nothing can be preloaded
into are named, also where a shell starts them. What is not installed is left out."""
import json
import os
import re
import shutil
import subprocess
import sys

from libdoctor import agrees, foreseen, happened
from librecord import *

SOURCE = os.environ["BRICK_SOURCE"]
DEMO = os.path.join(BUILD, "demo")
PYTHON = "/usr/bin/python3"
NODE, MODEL = os.path.join(DEMO, "engine", "node"), os.path.join(DEMO, "model-f16.gguf")
ADDONS = os.path.join(DEMO, "engine-addons")
LAVAPIPE = {"VK_ICD_FILENAMES": f"/usr/share/vulkan/icd.d/lvp_icd.{os.uname().machine}.json"}
DEVICES = {"CUDA", "HIP"}  # possible wherever their drivers are

TORCH = "import torch\nresult = torch.ones(3).sum().item()"
PYOPENCL = """
import pyopencl
context = pyopencl.create_some_context(interactive=False)
queue = pyopencl.CommandQueue(context)
pyopencl.enqueue_fill_buffer(queue, pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 64), b"1234", 0, 64).wait()
"""
OPENCV = """
import sys, numpy, cv2
image = cv2.UMat(numpy.ones((64, 64), numpy.uint8))
print(cv2.GaussianBlur(image, (7, 7), 1.5).get().sum())
"""
# A graph of one sum, computed by the libraries that the program is linked with.
GRAPH = """
#include <stdbool.h>
#include <stddef.h>
struct parameters { size_t bytes; void *buffer; bool no_alloc; };
void *ggml_init(struct parameters), *ggml_new_tensor_1d(void *, int, long), *ggml_add(void *, void *, void *);
void *ggml_new_graph(void *), ggml_build_forward_expand(void *, void *);
int ggml_graph_compute_with_ctx(void *, void *, int);
int compute(void)
{
	void *context = ggml_init((struct parameters){1 << 24, NULL, false});
	void *a = ggml_new_tensor_1d(context, 0, 64), *graph = ggml_new_graph(context);
	ggml_build_forward_expand(graph, ggml_add(context, a, a));
	return ggml_graph_compute_with_ctx(context, graph, 1);
}
"""
LINKED = "int compute(void);\nint main(void) { return compute(); }"
OPENED = """
#include <dlfcn.h>
int main(void)
{
	void *library = dlopen("PLACE/libggml_graph.so", RTLD_NOW);
	int (*compute)(void) = library ? (int (*)(void))dlsym(library, "compute") : 0;
	return compute ? compute() : 1;
}
"""
GO = 'int main(void) { return 0; }\n__asm__(".section .go.buildinfo,\\"aw\\"\\n.ascii \\"Go\\"\\n.text");'


def compiled(scratch, name, source, *flags, compiler="cc"):
    """None: it cannot be, here."""
    path = scratch.file(name)
    made = subprocess.run([compiler, "-O1", "-x", "c", "-", "-o", path, *flags], input=source.encode(), stderr=subprocess.PIPE,
                          check=False) if shutil.which(compiler) else None
    return path if made and not made.returncode else None


def importable(*modules):
    return not subprocess.run([PYTHON, "-c", "import " + ",".join(modules)], capture_output=True, check=False).returncode


def is_there(*paths):
    return all(path and (os.path.exists(path) or shutil.which(path)) for path in paths)


def run(*command, **env):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env={**os.environ, "BRICK_DB": "none", **env},
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def programs(scratch):
    """(command, certain, possible, recorded, environment)"""
    script = scratch.file("script.py")
    for path, text in (script, f"#!{PYTHON}\nfrom parts.work import result\nprint(result)"), (scratch.file("parts/work.py"), TORCH):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
    os.chmod(script, 0o755)
    if importable("torch"):
        yield ["sh", "-c", f"exec {script}"], (), ("PyTorch", "ITT"), ("PyTorch",), {}
    if importable("pyopencl"):
        yield [PYTHON, "-c", PYOPENCL], (), ("OpenCL",), ("OpenCL",), {}
    if importable("cv2", "numpy"):
        yield [PYTHON, "-c", OPENCV], (), ("OpenCL", "ITT"), ("OpenCL",), {"OPENCV_OPENCL_DEVICE": ":CPU:"}
        yield [PYTHON, "-c", "import cv2"], (), ("OpenCL", "ITT"), (), {}
    yield [PYTHON, "-c", "import json\nprint('import', 1)"], (), (), (), {}
    if is_there("clinfo"):
        yield ["clinfo", "-l"], (), ("OpenCL",), (), {}
    if is_there("vulkaninfo", LAVAPIPE["VK_ICD_FILENAMES"]):
        yield ["sh", "-c", "vulkaninfo --summary | grep -v x"], (), ("Vulkan",), ("Vulkan",), LAVAPIPE
    yield ["cat", "/dev/null", "torch"], (), (), (), {}
    libraries = os.path.join(DEMO, "engine", "libs")
    engine = [f"-L{libraries}", "-Wl,-rpath," + libraries, "-l:libggml-cpu-x64.so", "-l:libggml-base.so"]
    graph = compiled(scratch, "graph", GRAPH + LINKED, *engine)
    library = compiled(scratch, "libggml_graph.so", GRAPH, "-shared", "-fPIC", *engine)
    if graph and library:
        yield [compiled(scratch, "opens", OPENED.replace("PLACE", os.path.dirname(library)), "-ldl")], (), ("ggml",), ("nodes",), {}
        yield [graph], ("nodes",), (), ("nodes",), {}
        yield ["sh", "-c", graph], (), ("nodes",), ("nodes",), {}
    if is_there(NODE, MODEL, libraries):
        yield [NODE, f"{SOURCE}/examples/demo/generate.mjs", "--engine", os.path.join(DEMO, "engine"), "--model", MODEL,
               "--prompt-tokens", "4", "--predict", "2"], (), ("ggml",), ("nodes",), {}
    yield [os.path.join(BUILD, "bin", "example-embed")], (), (), (), {}
    if is_there(MODEL, libraries):
        yield [os.path.join(BUILD, "bin", "brick-llama"), "--libs", libraries, "--gpu-layers", "0", "--model", MODEL,
               "--prompt-tokens", "4", "--predict", "2"], (), ("nodes",), ("nodes",), {}
    if is_there(NODE, MODEL, os.path.join(ADDONS, "gpt4all.node")):
        yield [NODE, f"{SOURCE}/tests/programs/addon_gpt4all.cjs", f"{ADDONS}/gpt4all.node", f"{ADDONS}/gpt4all", MODEL, "1",
               "2"], (), ("nodes", "Vulkan"), ("nodes",), {}
    package = os.path.join(DEMO, "onnxruntime", "onnxruntime-1.17.3", "node_modules", "onnxruntime-node")
    model = scratch.file("sum.onnx")
    if is_there(NODE, package):
        with open(model, "wb") as file:
            file.write(SUM)
        yield [NODE, "-e", ONNX, package, model], (), ("ONNX Runtime",), ("ONNX Runtime",), {}


# y = x + x, of one float
SUM = bytes.fromhex("0808" "3a33" "0a0e" "0a0178" "0a0178" "120179" "2203416464" "120173" "5a0f" "0a0178" "120a" "0a08" "0801"
                    "1204" "0a020801" "620d" "0a0179" "1208" "0a06" "0801" "1202" "0a00" "4204" "0a00" "100d")
ONNX = """
const ort = require(process.argv[1]);
ort.InferenceSession.create(process.argv[2]).then(async (session) =>
    console.log((await session.run({ x: new ort.Tensor("float32", Float32Array.of(2), [1]) })).y.data));
"""


def foresees(scratch):
    for command, *expected, env in programs(scratch):
        code, answer, err = run(BRICK, "doctor", "--json", "--", *command, **env)
        same(code, 0, err)
        certain, possible = foreseen(json.loads(answer))
        code, _, said = run(BRICK, "record", "-o", scratch.file("run.pftrace"), "--", *command, **env)
        found = set(certain), set(possible) - DEVICES, set(happened(said))
        print(command[:2], *found)
        check(agrees(certain, possible, found[2]), command, found, said)
        same(found, tuple(map(set, expected)), command)
        if not found[2]:  # the recorder says by the same look what it could have been
            for kind in found[1]:
                check(re.search(rf"computed nothing with what it may use: .*\b{kind} \(", said), kind, said)


def other_version(scratch):
    """Of PyTorch: found where the interpreter would, and left alone where it is not what its name says."""
    place = os.path.join(scratch.file("venv"), "")
    version = subprocess.run([PYTHON, "-c", "import sys; print(*sys.version_info[:2], sep='.')"], capture_output=True, text=True,
                             check=True).stdout.strip()
    torch = f"{place}lib/python{version}/site-packages/torch"
    os.makedirs(torch + "/lib")
    os.makedirs(place + "bin")
    python = place + "bin/python3"
    os.symlink(PYTHON, python)
    if not compiled(scratch, os.path.relpath(torch + "/lib/libtorch_cpu.so", os.path.dirname(scratch.file("x"))),
                    "int torch;", "-shared", "-fPIC"):
        return
    for name, text in ((place + "pyvenv.cfg", "home = /usr/bin\n"), (torch + "/version.py", "__version__ = '2.5.1+cpu'\n"),
                       (torch + "/__init__.py", f"import ctypes\nctypes.CDLL('{torch}/lib/libtorch_cpu.so')\n")):
        with open(name, "w") as file:
            file.write(text)
    _, answer, _ = run(BRICK, "doctor", "--json", "--", python, "-c", "import torch")
    answer = json.loads(answer)
    said = " ".join(c["finding"] for c in answer["checks"])
    check("PyTorch 2.5.1+cpu: its modules and operations are recorded if it is used; torch is named in the command" in said, said)
    os.rename(f"{place}lib/python{version}", f"{place}lib/python{version}t")
    _, answer, _ = run(BRICK, "doctor", "--json", "--", python, "-c", "import torch")
    said = " ".join(c["finding"] for c in json.loads(answer)["checks"])
    check("PyTorch 2.5.1+cpu: its operations are recorded, but no modules or steps, as this Python is free-threaded, if" in said, said)
    os.rename(f"{place}lib/python{version}t", f"{place}lib/python{version}")
    _, _, said = run(BRICK, "record", "-o", scratch.file("run.pftrace"), "--", python, "-c", "import torch")
    check("PyTorch 2.5.1+cpu is not recorded: its library has no _ZNK2at14RecordFunction4nameEv" in said and "may use: PyTorch" not in said, said)


def are_closed(scratch):
    """What nothing can be preloaded into, as the command or within a shell's."""
    for name, source, options, words in (("musl", GO, {"compiler": "musl-gcc"}, "another C library (such as musl)"),
                                         ("static", "int main(void) { return 0; }", {}, "linked statically"),
                                         ("go", GO, {}, "is a program in Go, without libraries in C")):
        program = compiled(scratch, name, source, *([] if options else ["-static"]), **options)
        if not program:
            continue
        _, answer, _ = run(BRICK, "doctor", "--json", "--", program)
        answer = json.loads(answer)
        said = " ".join(c["finding"] for c in answer["checks"])
        check(words in said and not answer["can_record"], name, said)
        same(foreseen(answer), ([], []), name)
        code, text, _ = run(BRICK, "doctor", "--", "sh", "-c", program + " && true")
        text = " ".join(text.split())
        check(not code and words in text and "it runs unrecorded" in text, name, text)


with Scratch() as scratch:
    foresees(scratch)
    other_version(scratch)
    are_closed(scratch)
