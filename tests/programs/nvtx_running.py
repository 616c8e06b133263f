# SPDX-License-Identifier: Apache-2.0
"""A program of ggml's, given by the folder of its libraries, that computes a small graph again and again on one thread. On
another it evaluates the expressions that it reads, one a line, and says their values: calls of objects that have NVTX inside."""
import _ctypes
import ctypes
import os
import subprocess
import sys
import threading
import time

WORK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
PUSH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)
POP = ctypes.CFUNCTYPE(ctypes.c_int)
START = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_char_p)
END = ctypes.CFUNCTYPE(None, ctypes.c_uint64)
PAIRS = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int, ctypes.c_int)


class Object(ctypes.Structure):  # struct annotated_object
    _fields_ = [("work", WORK), ("push", PUSH), ("pop", POP), ("start", START), ("end", END), ("name", ctypes.c_void_p),
                ("pairs", PAIRS)]


class Memory(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_size_t), ("buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool)]


objects, libraries, storms, graphs = {}, {}, [], [0]
libc = ctypes.CDLL(None)


def load(number, path):
    libraries[number] = ctypes.CDLL(path)
    objects[number] = Object.in_dll(libraries[number], "annotated_object")


def unload(number):
    del objects[number]
    _ctypes.dlclose(libraries.pop(number)._handle)


def ranges(number, count):
    """Levels that the pushes returned."""
    one, levels = objects[number], set()
    for _ in range(count):
        levels.add(one.push(b"outer"))
        levels.add(one.push(b"inner"))
        started = one.start(b"handed over")
        one.pop()
        one.pop()
        one.end(started)
    return sorted(levels)


def child(number):
    """As ranges(), in a child."""
    pid = os.fork()
    if not pid:
        os._exit(ranges(number, 1) == [0, 1])
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Storm:
    """`count` threads make ranges without end, one of which is open at any time, and as many change the environment, and look for what they have written."""

    def __init__(self, number, count):
        libc.getenv.restype = ctypes.c_char_p
        self.blows, self.rounds, self.lost = True, 0, []
        self.threads = [threading.Thread(target=self.annotate, args=(number,)) for _ in range(count)]
        self.threads += [threading.Thread(target=self.change, args=(b"STORM%d" % i,)) for i in range(count)]
        for thread in self.threads:
            thread.start()

    def annotate(self, number):
        while self.blows:
            objects[number].pairs(1000, 0)
            self.rounds += 1
            objects[number].push(b"outer")
            time.sleep(0.01)
            objects[number].pop()

    def change(self, name):
        value = 0
        while self.blows:
            value += 1
            libc.setenv(name, b"%d" % value, 1)
            if libc.getenv(name) != b"%d" % value:
                self.lost.append(name)

    def end(self):
        self.blows = False
        for thread in self.threads:
            thread.join()
        return self.lost


def storm(number, count):
    storms.append(Storm(number, count))


def environment():
    """As the program has it, and as a child gets it."""
    where = ctypes.c_void_p.in_dll(libc, "environ").value
    return where, subprocess.check_output(["env"], text=True)


def compute(folder):
    base = ctypes.CDLL(os.path.join(folder, "libggml-base.so"), ctypes.RTLD_GLOBAL)
    cpu = ctypes.CDLL(os.path.join(folder, "libggml-cpu-x64.so"))
    pointer = ctypes.c_void_p
    for function in (base.ggml_init, base.ggml_new_tensor_2d, base.ggml_mul_mat, base.ggml_new_graph):
        function.restype = pointer
    context = pointer(base.ggml_init(Memory(1 << 24, None, False)))
    one, other = (pointer(base.ggml_new_tensor_2d(context, 0, ctypes.c_int64(64), ctypes.c_int64(64))) for _ in range(2))
    graph = pointer(base.ggml_new_graph(context))
    base.ggml_build_forward_expand(graph, pointer(base.ggml_mul_mat(context, one, other)))
    while True:
        cpu.ggml_graph_compute_with_ctx(context, graph, 1)
        graphs[0] += 1
        time.sleep(0.002)


threading.Thread(target=compute, args=(sys.argv[1],), daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    print(repr(eval(line)), flush=True)  # pylint: disable=eval-used
