# SPDX-License-Identifier: Apache-2.0
"""brick doctor: its answer in both forms, and what it says of libraries with and without hooks."""
import os
import shutil
import subprocess
import sys

from libcli import BUILD, TMP, brick, brick_json, expect, expect_true, on_terminal, plain
from libdoctor import EACH_NODE

HOOKS = """
__attribute__((visibility("default"))) int ggml_cpu_extra_compute_forward(void *p, void *n) { return 0; }
__attribute__((visibility("default"))) void ggml_barrier(void *p) {}
__attribute__((visibility("default"))) int llama_decode(void *c) {
	ggml_barrier(c);
	return ggml_cpu_extra_compute_forward(c, c);
}
"""


def compile_library(path, source, *flags):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        print("no C compiler")
        sys.exit(77)
    subprocess.run([compiler, *([] if "-no-pie" in flags else ["-shared"]), "-fPIC", "-O1", "-x", "c", "-", "-o", path, *flags],
                   input=source.encode(), check=True)


def engines():
    # two hundred answers: without waiting for drivers of devices each time
    os.environ.update(OCL_ICD_VENDORS="/nowhere", VK_DRIVER_FILES="/nowhere",
                      VK_ICD_FILENAMES="/nowhere")
    engine = os.path.join(TMP, "engine", "deep")
    os.makedirs(engine)
    library = os.path.join(engine, "libggml-cpu.so")

    def look(path):
        return brick_json("doctor", "--json", "--engine", path)["engines"]

    compile_library(library, HOOKS)
    found = look(os.path.join(TMP, "engine"))
    expect("found below", [e["path"] for e in found], [os.path.realpath(engine)])
    expect("status", found[0]["status"], "ok")
    hooks = {h["symbol"]: h for h in found[0]["hooks"]}
    expect_true("barrier", hooks["ggml_barrier"]["exported"] and hooks["ggml_barrier"]["reached"])
    expect("no such symbol", hooks["ggml_graph_compute"]["exported"], False)

    compile_library(library, HOOKS, "-Wl,-Bsymbolic")
    found = look(library)
    hooks = {h["symbol"]: h for h in found[0]["hooks"]}
    expect("bound within the library", (hooks["ggml_barrier"]["exported"],
                                        hooks["ggml_barrier"]["reached"]), (True, False))
    expect("so nodes cannot be timed", found[0]["status"], "limited")

    compile_library(library, "int other(void) { return 1; }")
    expect("nothing to stand in front of", look(library)[0]["status"], "no")

    # Damaged files: an answer, whatever is in them.
    compile_library(library, HOOKS)
    with open(library, "rb") as file:
        good = file.read()
    for size in (0, 3, 16, 63, 64, len(good) // 2, len(good) - 1):
        with open(library, "wb") as file:
            file.write(good[:size])
        look(library)
    for at in range(0, 64):
        with open(library, "wb") as file:
            file.write(good[:at] + b"\xff" + good[at + 1:])
        look(library)
    # ... and in the table of sections, which the file ends with
    for at in range(len(good) - 64 * 12, len(good), 7):
        with open(library, "wb") as file:
            file.write(good[:at] + b"\xff\xff" + good[at + 2:])
        look(library)
    answer = brick_json("doctor", "--json", "--engine", os.path.join(TMP, "nowhere"))
    expect_true("nowhere", any("No such file" in c["finding"] for c in answer["checks"]))


def users():
    """A library that uses ggml has the text of its assertions, too, but not ggml; whisper.cpp is known."""
    place = os.path.join(TMP, "users")
    os.makedirs(place)
    here = ["-L" + place, "-Wl,-rpath," + place]
    compile_library(os.path.join(place, "libggml-base.so"), HOOKS + "void ggml_abort(const char *s) {}")
    user = """void ggml_abort(const char *);
        const char *text = "GGML_ASSERT(%s) failed";
        void whisper_init_state(void) { ggml_abort(text); }"""
    compile_library(os.path.join(place, "libwhisper.so"), user, *here, "-lggml-base")
    program = os.path.join(place, "program")
    compile_library(program, "void whisper_init_state(void); int main(void) { whisper_init_state(); }",
                    "-no-pie", "-nostartfiles", "-Wl,-e,main", *here, "-lwhisper", "-lggml-base")
    text = " ".join(brick("doctor", "--", program)[0].decode().split())
    if "this Brick cannot look into programs" in text:
        return
    # a backend that ggml opens itself, from beside the program; what is attached to, linked with it or opened; and an
    # engine that no attacher is for
    compile_library(os.path.join(place, "libggml-cpu.so"), "void ggml_cpu_extra_compute_forward(void) {}"
                    "void ggml_barrier(void) { ggml_cpu_extra_compute_forward(); }"
                    "void ggml_graph_compute(void) { ggml_barrier(); }")
    compile_library(os.path.join(place, "libonnxruntime.so.1"), "int ort;")
    compile_library(os.path.join(place, "libopenvino.so"), "int vino;")
    compile_library(program, "extern int ort, vino; void whisper_init_state(void); const char driver[] = \"libOpenCL.so.1\";"
                    "int main(void) { whisper_init_state(); return ort + vino; }", "-no-pie", "-nostartfiles", "-Wl,-e,main",
                    *here, "-lwhisper", "-lggml-base", "-l:libonnxruntime.so.1", "-lopenvino")
    more = " ".join(brick("doctor", "--", program)[0].decode().split())
    expect_true(f"a backend: {more}", "libggml-cpu.so: 3 functions" in more and EACH_NODE in more)
    expect_true(f"a stranger: {more}", "OpenVINO has no attacher" in more and "ONNX Runtime has" not in more)
    expect_true(f"what is attached to: {more}", "ONNX Runtime (1.15 to 1.30 only): its kernels are recorded if it is "
                "used; the program is linked with libonnxruntime.so.1" in more and
                f"OpenCL: its queues are recorded if it is used; libOpenCL.so is named in {program}" in more)
    expect_true(f"what is not named: {text}", "libOpenCL" not in text)
    expect_true(f"a user: {text}", "no table of symbols" not in text and "known from whisper's graphs" in text)


def executable(name, data):
    path = os.path.join(TMP, name)
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, 0o755)
    return path


def commands():
    """What is no program at all, is for another CPU, or starts what it names: said before anything is run."""
    script = executable("script", b"#!/bin/sh\ntouch ran\nexec '%s' \"$@\"\n" % os.path.join(TMP, "users", "program").encode())
    with open("/proc/self/exe", "rb") as file:
        header = bytearray(file.read(4096))
    header[4], header[18:20] = 1, (3).to_bytes(2, "little")
    for command, code, words in (
            (("no-such-thing",), 4, "there is no such command"),
            ((TMP,), 4, "it is a directory"),
            (("/etc/passwd",), 4, "not marked as executable"),
            ((executable("i386", bytes(header)),), 4, "Brick is for 64-bit programs"),
            ((script,), 0, "users/program, by the command or its script"),
            (("sh", "-c", script), 0, "users/program, by the command or its script"),
            (("sh", "-c", "exec " + os.path.join(TMP, "users", "program")), 0, "users/program, by the command")):
        said = " ".join(brick("doctor", "--", *command, code=code)[0].decode().split())
        expect_true(f"{command}: {said}", words in said)
    expect_true("no such process", b"there is none" in brick("doctor", str(2 ** 22 + 1), code=4)[0])
    expect("nothing was run", os.path.exists("ran"), False)


def packages():
    """What scripts import: the native files of packages, of what these depend on, and of folders that are named."""
    place = os.path.join(TMP, "packages")
    engine = os.path.join(place, "node_modules", "@some", "engine-linux")
    brings = os.path.join(place, "node_modules", "brings")
    for folder in (os.path.join(engine, "bin"), brings):
        os.makedirs(folder)
    for folder, text in ((brings, '{"name": "brings", "optionalDependencies": {"@some/engine-linux": "^1"}}'),
                         (engine, '{"name": "@some/engine-linux"}')):
        with open(os.path.join(folder, "package.json"), "w") as file:
            file.write(text)
    compile_library(os.path.join(engine, "bin", "libonnxruntime.so"), "void f(void) {}")
    compile_library(os.path.join(engine, "bin", "addon.node"), HOOKS + "void ggml_init(void) {}")
    script = os.path.join(place, "app.js")
    with open(script, "w") as file:
        file.write('const { run } = require("brings");\n')
    shutil.copy(shutil.which("true"), os.path.join(TMP, "node"))
    node = os.path.join(TMP, "node")
    for command in ((script,), (engine,), ("-e", f'import("{place}/none"); require("brings/lib/x.js")')):
        os.chdir(place)
        said = " ".join(brick("doctor", "--", node, *command)[0].decode().split())
        os.chdir(TMP)
        expect_true(f"{command}: {said}", "linked with libonnxruntime.so" in said and "@some/engine-linux" in said)
        if "this Brick cannot look into programs" not in said:
            expect_true(f"{command}: {said}", "bin/addon.node:" in said.replace(" ", ""))
    with open(script, "w") as file:
        file.write('const { run } = require("other");\n')
    said = brick("doctor", "--", node, script)[0].decode()
    expect_true(said, "libonnxruntime" not in said)


def main():
    answer = brick_json("doctor", "--json")
    expect("schema", answer["schema"], "brick/doctor/1")
    expect("can record", answer["can_record"], True)
    checks = {(c["group"], c["name"]): c for c in answer["checks"]}
    for key in (("Clock", "clock"), ("Machine", "cpus"), ("Machine", "counters"),
                ("Recording", "sessions"), ("Recording", "attach"), ("Output", "characters"),
                ("Output", "terminal"), ("Backends", "cuda"), ("Backends", "cpu"), ("ggml", "libraries")):
        expect_true(f"{key} is told", key in checks)
        expect_true(f"{key} has a status", checks[key]["status"] in ("ok", "limited", "no"))
    text = brick("doctor")[0].decode()
    for group, name in checks:
        expect_true(f"{name} in text", f"\n{group}\n" in "\n" + text and f" {name} " in text)
    attach = checks["Recording", "attach"]
    if os.path.exists(os.path.join(BUILD, "lib", "libbrick-ggml.so")):
        expect(f"attach: {attach['finding']}", attach["status"], "ok")
    for line in plain(on_terminal("doctor", columns=80)).splitlines():
        expect_true(f"80 columns: {line}", len(line) <= 80 or "/" in line)
    engines()
    users()
    commands()
    packages()


main()
