# SPDX-License-Identifier: Apache-2.0
"""`brick record -p PID` enters and leaves programs that use ONNX Runtime, whose sessions exist already, again and again, a
program of C and Node.js: each node and each run is counted as with `record --`, results are the same, and the process keeps
no descriptor, thread or word of ours. Neither does it after a recorder that was killed."""
import glob
import json
import os
import subprocess
import sys
import tempfile

from libggml import SOURCE
from librunning import BRICK, FAR_AHEAD, WAIT_S, Program, is_recorded, ours, record_while, report, state, until, words

TIMES = int(os.environ.get("ATTACK_ROUNDS", "3"))
PROGRAMS = os.path.join(SOURCE, "tests", "programs")
LIBRARY = r"/libonnxruntime\.so"
OF_A_RUN = {"GraphCompute": 1, "QkvProjection": 12, "OutputProjection": 4, "UpProjection": 4, "LayerNorm": 4, "LmHead": 1}


def fetch(package):
    done = subprocess.run([os.path.join(SOURCE, "examples", "demo", "onnxruntime.sh"), package], capture_output=True,
                          text=True, timeout=600, check=False)
    if done.returncode:
        print("skipped:", done.stderr.strip())
        sys.exit(77)
    return done.stdout.strip()


def program_of_c(folder, model, threads):
    library, = glob.glob(os.path.join(fetch("onnxruntime-1.17.3"), "onnxruntime-node", "bin", "*", "linux", "x64",
                                      "libonnxruntime.so*"))
    program = os.path.join(folder, "program")
    subprocess.run(["cc", "-O1", "-w", os.path.join(PROGRAMS, "onnx_threads.c"), "-o", program, library, "-ldl", "-lpthread",
                    "-Wl,-rpath," + os.path.dirname(library)], check=True)
    return [program, model, str(threads), "300", "rounds"]


def program_of_node(model):
    package = os.path.join(fetch("transformers-4.3.2"), "onnxruntime-node")
    return ["node", os.path.join(PROGRAMS, "onnx_work.cjs"), package, "endless", "300", model, model]


def enter_and_leave(folder, command, threads):
    out, mappings = os.path.join(folder, "run.pftrace"), []

    def wait(path=out):
        until(lambda: is_recorded(path), "nothing is recorded")
        program.says_more(3)
    with Program(folder, command) as program:
        before, constant = state(program.pid), words(program.pid, LIBRARY)
        for i in range(TIMES):
            said = record_while(program.pid, out, wait, FAR_AHEAD)
            assert "attached to ONNX Runtime 1." in said and "stay" not in said, said
            after = state(program.pid)
            assert after == before, f"{i}: {before} became {after}"
            assert words(program.pid, LIBRARY) == constant, f"{i}: words have changed"
            mappings.append(ours(program.pid))
            assert mappings[i] == mappings[0], f"{i}: {mappings[0]} became {mappings[i]}"
            rows = json.loads(report(out, "--json"))
            runs, counts = rows["steps"]["decode"]["count"], {r["name"]: r["count"] for r in rows["bricks"]}
            assert runs > 300, (said, counts)
            for brick, times in OF_A_RUN.items():
                # nodes of another thread's run that was open before are recorded while one of ours is
                assert 0 <= counts[brick] - times * runs <= times * (threads - 1), (i, brick, runs, counts)
        recorder = subprocess.Popen([BRICK, "record", "-q", "-p", str(program.pid), "-o", out + ".killed", "--no-history"])
        wait(out + ".killed")
        recorder.kill()
        recorder.wait()
        until(lambda: state(program.pid) == before and words(program.pid, LIBRARY) == constant, "it is not left")
        record_while(program.pid, out, wait, FAR_AHEAD)
        program.says_more(1)
        assert len(set(program.lines())) == 1, "its results have changed"


def main():
    if not os.path.exists(os.path.join(os.environ["BRICK_BUILD"], "lib", "libbrick-onnxruntime.so")):
        print("skipped: Brick was built without the attacher of ONNX Runtime")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "decoder.onnx")
        subprocess.run([sys.executable, os.path.join(PROGRAMS, "onnx_model.py"), "decoder", model], check=True)
        for threads in 1, 2:
            enter_and_leave(folder, program_of_c(folder, model, threads), threads)
        enter_and_leave(folder, program_of_node(model), 1)


main()
