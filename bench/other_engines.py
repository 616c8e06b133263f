# SPDX-License-Identifier: Apache-2.0
"""Programs of other kinds for bench/engines.py --others: addons of other makers and years, static builds, training,
RPC, programs on OpenCL and Vulkan, and programs in which nothing can be recorded, which must run as ever."""
import os
import subprocess

from engines import ADDONS, DEMO, MODEL, NODE, PROGRAMS, PROMPT, SMALL, SOURCE, Program

OTHERS = os.path.join(DEMO, "engine-others")
MODULES = os.path.join(OTHERS, "node_modules")
STATIC = os.path.join(PROGRAMS, "static", "bin")
PYTHON = "/usr/bin/python3"
LAVAPIPE = {"GGML_VK_VISIBLE_DEVICES": "0",
            "VK_ICD_FILENAMES": f"/usr/share/vulkan/icd.d/lvp_icd.{os.uname().machine}.json"}

POCL = {"OPENCV_OPENCL_DEVICE": ":CPU:"}

# {n} in a command: tokens, or repetitions of its work, two numbers of which give the cost of one.
TOKENS = (440, 8)

NODE_LLAMA_2 = """
const { LLAMAModel, LLAMAContext } = require(process.argv[1]);
const context = new LLAMAContext(new LLAMAModel(process.argv[2], { gpuLayers: 0 }), { contextSize: 512, batchSize: 64, threads: 1 });
(async () => {
    const chosen = [];
    for (let tokens = Uint32Array.from({ length: 40 }, (_, i) => 10 + 7 * i); chosen.length < Number(process.argv[3]);
        tokens = Uint32Array.of(chosen.at(-1)))
        chosen.push(await context.eval(tokens, { temperature: 0 }));
    console.log(chosen.join(" "));
})();
"""
LLAMA_2023 = """
const [addon, modelPath, count] = process.argv.slice(1);
require(addon).LLama.load({ modelPath, nCtx: 512, nGpuLayers: 0, seed: 1, f16Kv: true, logitsAll: false, vocabOnly: false,
    useMlock: false, embedding: false, useMmap: true }, false).then((llama) => {
    let text = "";
    llama.inference({ nThreads: 1, nTokPredict: Number(count), topK: 1, topP: 1, temp: 0.2, repeatPenalty: 1,
        prompt: "The people who build an engine want to know." }, (said) => {
        text += said.data?.token ?? "";
        if (said.type === "End" || said.type === "Error")
            console.log(said.type, text);
    });
});
"""
WHISPER_RUST = """
const [addon, model, sound, count] = process.argv.slice(1);
const { Whisper, WhisperFullParams } = require(addon);
const bytes = require("node:fs").readFileSync(sound).subarray(44);
const samples = Float32Array.from({ length: bytes.length / 2 }, (_, i) => bytes.readInt16LE(2 * i) / 32768);
const whisper = new Whisper(model, { useGpu: false });
for (let i = 0; i < Number(count); i++) {
    const parameters = new WhisperFullParams(0);
    Object.assign(parameters, { nThreads: 1, language: "en", printProgress: false, printRealtime: false, printTimestamps: false });
    console.log(JSON.stringify(whisper.full(parameters, samples)));
}
"""
ONNX = """
const ort = require(process.argv[1]);
ort.InferenceSession.create(process.argv[2], { intraOpNumThreads: 1 }).then(async (session) => {
    const x = new ort.Tensor("float32", Float32Array.from({ length: 3 * 64 * 64 }, (_, i) => (i % 251) / 251), [1, 3, 64, 64]);
    let said;
    for (let i = 0; i < Number(process.argv[3]); i++)
        said = await session.run({ x });
    console.log(said.y.data.join(" "));
});
"""
TORCH = """
import sys, torch
torch.manual_seed(1)
torch.set_num_threads(1)
layer = torch.nn.TransformerEncoderLayer(256, 4, 512, batch_first=True)
net, x = torch.nn.TransformerEncoder(layer, 4).eval(), torch.randn(1, 64, 256)
with torch.no_grad():
    for _ in range(int(sys.argv[1])):
        x = net(x)
print(x.flatten()[:4].tolist())
"""
# Python 3.14: interpreters with a GIL of their own come and go meanwhile
TORCH_BESIDE = f"""
import threading
from concurrent import interpreters
has_ended = []
def others():
    while not has_ended:
        other = interpreters.create()
        other.exec('import colorsys, json')
        other.close()
beside = threading.Thread(target=others)
beside.start()
{TORCH}
has_ended.append(True)
beside.join()
"""
TORCH_TRAINING = """
import sys, torch
torch.manual_seed(1)
torch.set_num_threads(1)
layer = torch.nn.TransformerEncoderLayer(256, 4, 512, batch_first=True)
net, x = torch.nn.TransformerEncoder(layer, 4), torch.randn(4, 64, 256)
optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
for _ in range(int(sys.argv[1])):
    optimizer.zero_grad()
    loss = (net(x) - x).square().mean()
    loss.backward()
    optimizer.step()
print(loss.item())
"""
OPENCV_NET = """
import sys, numpy, cv2
cv2.setNumThreads(1)
net = cv2.dnn.readNetFromONNX(sys.argv[1])
net.setPreferableTarget(getattr(cv2.dnn, sys.argv[3]))
image = numpy.random.RandomState(1).rand(64, 64, 3).astype(numpy.float32)
for _ in range(int(sys.argv[2])):
    net.setInput(cv2.dnn.blobFromImage(image))
    out = net.forward()
print(out.flatten().tolist())
"""
OPENCV_FILTERS = """
import sys, numpy, cv2
image = cv2.UMat(numpy.random.RandomState(1).randint(0, 255, (512, 512), numpy.uint8))
for _ in range(int(sys.argv[1])):
    image = cv2.GaussianBlur(image, (7, 7), 1.5)
print(int(cv2.Canny(image, 10, 20).get().astype(numpy.int64).sum()), int(image.get().astype(numpy.int64).sum()))
"""
PYOPENCL = """
import sys, pyopencl, numpy
context = pyopencl.create_some_context(interactive=False)
queue = pyopencl.CommandQueue(context)
program = pyopencl.Program(context, "__kernel void f(__global float *a) { int i = get_global_id(0);"
                           " for (int k = 0; k < 999; k++) a[i] = a[i] * 0.5f + i; }").build()
a = numpy.arange(65536, dtype=numpy.float32)
b = pyopencl.Buffer(context, pyopencl.mem_flags.COPY_HOST_PTR, hostbuf=a)
for _ in range(int(sys.argv[1])):
    program.f(queue, a.shape, None, b)
pyopencl.enqueue_copy(queue, a, b)
print(a.sum())
"""
NUMBA = """
import sys, numba
@numba.njit(parallel=True)
def add(n):
    s = 0
    for i in numba.prange(n):
        s += i * i % 7
    return s
print(add(int(sys.argv[1]) * 1000000))
"""
LEARN = """
import sys, numpy
from sklearn.ensemble import RandomForestClassifier
r = numpy.random.RandomState(1)
x = r.rand(500, 10)
print(RandomForestClassifier(int(sys.argv[1]), random_state=1, n_jobs=2).fit(x, x[:, 0] > .5).predict_proba(x[:3]).tolist())
"""
BOOST = """
import sys, numpy, xgboost
r = numpy.random.RandomState(1)
x = r.rand(500, 10)
print(xgboost.XGBClassifier(n_estimators=int(sys.argv[1]), n_jobs=2).fit(x, x[:, 0] > .5).predict_proba(x[:3]).tolist())
"""
NUMPY = """
import sys, numpy
a = numpy.random.RandomState(1).rand(300, 300)
for _ in range(int(sys.argv[1])):
    a = a @ a
    a /= abs(a).max()
print(a.sum(), numpy.linalg.svd(a)[1][:3].tolist())
"""
USEARCH = """
const { Index } = require(process.argv[1]);
const index = new Index({ metric: "l2sq", dimensions: 16 });
let seed = 1;
const next = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
for (let i = 0; i < 2000; i++)
    index.add(BigInt(i), Float32Array.from({ length: 16 }, next));
console.log(index.search(Float32Array.from({ length: 16 }, next), 5, 1).keys.join(" "));
"""
CANVAS = """
const { createCanvas } = require(process.argv[1]);
const canvas = new createCanvas(256, 256), context = canvas.getContext("2d");
for (let i = 0; i < 200; i++)
    context.fillRect((i * 37) % 256, (i * 91) % 256, 20, 30);
console.log(canvas.toBuffer ? canvas.toBuffer("image/png").length : Object.keys(canvas).length);
"""
LOADED = "console.log(Object.keys(require(process.argv[1])).length);"
VECTORS = """
import sqlite3, struct, sys
db = sqlite3.connect(":memory:")
db.enable_load_extension(True)
db.load_extension(sys.argv[1])
db.execute("create virtual table t using vec0(v float[4])")
for i in range(1000):
    db.execute("insert into t(rowid, v) values (?, ?)", (i, struct.pack("4f", i, i % 7, i % 11, i % 13)))
print(db.execute("select rowid, distance from t where v match ? and k = 3 order by distance", (struct.pack("4f", 5, 5, 5, 5),)).fetchall())
"""


def node(name, script, *arguments, **more):
    return Program(name, [NODE, "-e", script, *arguments], **more)


def python(name, script, *arguments, **more):
    return Program(name, [PYTHON, "-c", script, *arguments], **more)


def shell(name, text, *needs, **more):
    return Program(name, ["/bin/sh", "-c", text], needs=needs, **more)


def addons():
    model, sound = f"{ADDONS}/whisper.bin", f"{ADDONS}/sound.wav"
    yield node("llama.cpp of 2023 in @llama-node's addon (Rust)", LLAMA_2023,
               f"{MODULES}/llama-node-0.1.6/@llama-node/llama-cpp.linux-x64-gnu.node", f"{OTHERS}/ggjt.bin", "{n}", lengths=(150, 8))
    yield node("node-llama-cpp 2.8.16's addon", NODE_LLAMA_2, f"{OTHERS}/node-llama-cpp-2.8.16/llama-addon.node", MODEL, "{n}",
               lengths=TOKENS)
    for version in "3.6.0", "3.12.4":
        addon = f"{MODULES}/node-llama-cpp-{version}/bins/linux-x64/llama-addon.node"
        yield Program(f"node-llama-cpp {version}'s addon", [NODE, f"{SOURCE}/tests/programs/addon_node_llama.cjs", addon, MODEL, "{n}"],
                      lengths=TOKENS)
    for version, year in ("3.1.1", 2024), ("3.9.0", 2025):
        yield Program(f"node-llama-cpp {version}'s addon", [
            NODE, f"{SOURCE}/tests/programs/addon_node_llama.cjs", f"{ADDONS}/llama-{year}.node", MODEL, "{n}"], lengths=TOKENS)
    llama = f"{SOURCE}/tests/programs/addon_llama.cjs"
    yield Program("llama.cpp in @fugood's addon 1.4.3", [NODE, llama, f"{MODULES}/fugood-llama-1.4.3/index.node", MODEL, "{n}"],
                  lengths=(120, 8))
    yield Program("@fugood's addon 1.7.15 on Vulkan (lavapipe)", [
        NODE, llama, f"{MODULES}/fugood-llama-vulkan-1.7.15/index.node", MODEL, "8", "99"], env=LAVAPIPE)
    for threads in "1", "2":
        yield Program(f"gpt4all 4.0.0's addon, threads: {threads}", [
            NODE, f"{SOURCE}/tests/programs/addon_gpt4all.cjs", f"{ADDONS}/gpt4all.node", f"{ADDONS}/gpt4all", MODEL, threads, "{n}"],
            lengths=(120, 8))
    for version in "1.0.11", "1.2.0-rc.0":
        yield Program(f"whisper.cpp in @fugood's addon {version}", [
            NODE, f"{SOURCE}/tests/programs/addon_whisper.cjs", f"{MODULES}/fugood-whisper-{version}/index.node", model, sound,
            "plain", "", "{n}"], lengths=(5, 1))
    yield node("whisper.cpp in @napi-rs's addon (Rust)", WHISPER_RUST,
               f"{MODULES}/@napi-rs/whisper-linux-x64-gnu/whisper.linux-x64-gnu.node", model, sound, "{n}", lengths=(5, 1))
    for version in "onnxruntime-1.17.3", "transformers-4.3.2":
        yield node(f"ONNX Runtime of {version}", ONNX, f"{DEMO}/onnxruntime/{version}/node_modules/onnxruntime-node",
                   f"{OTHERS}/network.onnx", "{n}", lengths=(60, 5))


def static_programs(place):
    text = os.path.join(place, "text.txt")
    with open(text, "w", encoding="ascii") as file:
        file.write(" ".join(str(i) for i in range(200)))
    yield Program("llama-completion, static", [f"{STATIC}/llama-completion", "-m", MODEL, "-p", PROMPT, "-n", "{n}", "--temp", "0",
                                               "-no-cnv", "--no-perf", "-t", "1", "--ignore-eos"], lengths=TOKENS)
    yield Program("llama-bench, static", [f"{STATIC}/llama-bench", "-m", SMALL, "-t", "1", "-p", "32", "-n", "{n}", "-r", "2"],
                  output="times", lengths=(100, 4))
    yield Program("llama-finetune, static (training)", [
        f"{STATIC}/llama-finetune", "-m", os.path.join(DEMO, "model-f32.gguf"), "-f", text, "-c", "64", "-b", "64", "-ub", "64", "-t",
        "1", "-epochs", "{n}", "-o", "trained.gguf"], output="times", lengths=(2, 1))
    yield shell("ggml-rpc-server and its client, static", f"""
        {STATIC}/ggml-rpc-server -p {{port}} -t 1 >/dev/null 2>&1 & server=$!
        sleep 2
        {STATIC}/llama-completion -m {MODEL} -p x -n 100 --temp 0 -no-cnv --no-perf --rpc 127.0.0.1:{{port}} -ngl 99 2>/dev/null
        kill $server
        wait $server
        true""", f"{STATIC}/ggml-rpc-server")


def devices():
    yield shell("hashcat on PoCL", "hashcat -m 0 -a 3 --force --potfile-disable --quiet -D 1 -o found "
                "900150983cd24fb0d6963f7d28e17f72 '?l?l?l' >/dev/null; cat found; rm -f found", "/usr/bin/hashcat")
    yield python("pyopencl on PoCL", PYOPENCL, "50")
    yield python("OpenCV's filters on PoCL", OPENCV_FILTERS, "20", env=POCL)
    yield python("OpenCV's networks on PoCL", OPENCV_NET, f"{OTHERS}/network.onnx", "10", "DNN_TARGET_OPENCL", env=POCL)
    yield python("OpenCV's networks on the CPU", OPENCV_NET, f"{OTHERS}/network.onnx", "50", "DNN_TARGET_CPU")
    video = ["/usr/bin/ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=duration=4:size=320x240:rate=10"]
    yield Program("ffmpeg, filters", [*video, "-vf", "gblur=2,edgedetect", "-f", "framemd5", "-"])
    yield Program("ffmpeg, OpenCL filters on PoCL", [
        *video[:3], "-init_hw_device", "opencl=o", "-filter_hw_device", "o", *video[3:], "-vf",
        "format=yuv420p,hwupload,avgblur_opencl=3,unsharp_opencl,hwdownload,format=yuv420p", "-f", "framemd5", "-"])
    yield Program("ffmpeg, Vulkan filter on lavapipe", [
        *video[:3], "-init_hw_device", "vulkan=v", "-filter_hw_device", "v", *video[3:], "-vf",
        "format=yuv420p,hwupload,avgblur_vulkan=3,hwdownload,format=yuv420p", "-f", "framemd5", "-"], env=LAVAPIPE)
    yield Program("vkcube on lavapipe", ["/usr/bin/xvfb-run", "-a", "/usr/bin/vkcube", "--c", "40", "--suppress_popups"], env=LAVAPIPE,
                  needs=("/usr/bin/vkcube",))
    yield shell("vulkaninfo", "vulkaninfo --summary | grep -v -i layer", "/usr/bin/vulkaninfo", env=LAVAPIPE)  # it lists Brick's
    yield Program("clinfo", ["/usr/bin/clinfo"])
    leela = f"/usr/lib/leelaz/bin/leelaz -w {OTHERS}/leela.txt -g -q --noponder -p 40 -t 1 -s 1 -m 0"
    game = "printf 'genmove b\\ngenmove w\\nshowboard\\nquit\\n' | "
    yield shell("leela-zero on the CPU", f"{game}{leela} --cpu-only", "/usr/lib/leelaz/bin/leelaz", f"{OTHERS}/leela.txt")
    yield shell("leela-zero on PoCL (it wants a GPU)", f"{game}{leela}", "/usr/lib/leelaz/bin/leelaz", f"{OTHERS}/leela.txt")


def torch_programs():
    needs = ("/usr/lib/python3/dist-packages/torch",)
    yield python("PyTorch 1.13, a transformer", TORCH, "{n}", lengths=(100, 5), needs=needs)
    yield python("PyTorch 1.13, training", TORCH_TRAINING, "{n}", lengths=(20, 2), needs=needs)
    # of virtual environments with others, as PyPI's builds for CUDA, which also run on a CPU
    for interpreter in filter(None, os.environ.get("BRICK_TORCHES", "").split(":")):
        version = "import sys, torch; print(torch.__version__ + ', Python ' + sys.version.split('(')[0].strip())"
        what = "PyTorch " + subprocess.run([interpreter, "-c", version], capture_output=True, text=True, check=True).stdout.strip()
        yield Program(what + ", a transformer", [interpreter, "-c", TORCH, "{n}"], lengths=(100, 5))
        yield Program(what + ", training", [interpreter, "-c", TORCH_TRAINING, "{n}"], lengths=(20, 2))
        if subprocess.run([interpreter, "-c", "import concurrent.interpreters"], capture_output=True, check=False).returncode == 0:
            yield Program(what + ", beside interpreters", [interpreter, "-c", TORCH_BESIDE, "{n}"], lengths=(100, 5))


def without_attacher():
    yield python("numpy on OpenBLAS or BLAS", NUMPY, "50")
    yield python("scikit-learn, joblib's threads", LEARN, "50")
    yield python("XGBoost, OpenMP", BOOST, "20")
    yield python("numba, threads of its own", NUMBA, "50")
    yield Program("octave", ["/usr/bin/octave-cli", "--no-init-file", "--eval",
                             "rand('seed', 1); a = rand(300); for i = 1:20; a = a * a; a = a / max(a(:)); end; printf('%.9g\\n', sum(a(:)))"])
    yield Program("R, matrices", ["/usr/bin/Rscript", "-e", "set.seed(1); a <- matrix(rnorm(90000), 300); for (i in 1:5) b <- solve(a);"
                        " print(sum(b))"])
    yield Program("Open MPI, 2 processes", ["/usr/bin/mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", PYTHON, "-c", NUMPY,
                                            "20"])
    yield shell("fastText, training and prediction", """
        for i in 1 2 3 4 5 6 7 8; do echo "__label__a the cat sat"; echo "__label__b a dog ran"; done >words
        fasttext supervised -input words -output words -epoch 200 -thread 1 >/dev/null 2>&1
        echo "a cat" | fasttext predict-prob words.bin - 2""", "/usr/bin/fasttext")
    yield shell("tesseract (LSTM)", """
        ffmpeg -v error -y -f lavfi -i testsrc=size=400x80 -frames:v 1 page.png
        tesseract page.png - 2>/dev/null; tesseract --version 2>&1 | head -1""", "/usr/bin/tesseract")
    yield shell("LAMMPS (MPI)", """
        printf 'units lj\\natom_style atomic\\nlattice fcc 0.8442\\nregion box block 0 5 0 5 0 5\\ncreate_box 1 box\\n' >in.lj
        printf 'create_atoms 1 box\\nmass 1 1.0\\nvelocity all create 3.0 87287\\npair_style lj/cut 2.5\\n' >>in.lj
        printf 'pair_coeff 1 1 1.0 1.0 2.5\\nfix 1 all nve\\nthermo 50\\nrun 200\\n' >>in.lj
        lmp -in in.lj -log none | grep -A4 '^ *Step'""", "/usr/bin/lmp")
    yield shell("stockfish (NNUE)", "(printf 'setoption name Threads value 1\\ngo depth 13\\n'; sleep 4; echo quit) | "
                "/usr/games/stockfish | grep bestmove", "/usr/games/stockfish")
    yield shell("john", "john --list=build-info 2>/dev/null | head -1; echo 'u:$1$abcdefgh$irWbblnpmw.5z7wgBnprh0' >p; "
                "john --pot=pot --session=s --incremental=digits --max-run-time=1 p >/dev/null 2>&1; rm -f pot s.*; echo done",
                "/usr/sbin/john")
    yield shell("espeak-ng", "espeak-ng --stdout 'where the time of every token went' | md5sum", "/usr/bin/espeak-ng")
    yield Program("glmark2 on llvmpipe (OpenGL)", ["/usr/bin/xvfb-run", "-a", "/usr/bin/glmark2", "--benchmark", "build:duration=0.3", "-s",
                                                  "100x100"], output="times", needs=("/usr/bin/glmark2",))
    yield node("usearch (vectors)", USEARCH, f"{MODULES}/usearch/javascript/dist/cjs/usearch.js")
    yield python("sqlite-vec (vectors)", VECTORS, f"{MODULES}/sqlite-vec-linux-x64/vec0.so")
    yield node("@napi-rs/canvas (Skia)", LOADED, f"{MODULES}/@napi-rs/canvas-linux-x64-gnu/skia.linux-x64-gnu.node")
    yield node("sharp (libvips)", LOADED, f"{MODULES}/@img/sharp-linux-x64/lib/sharp-linux-x64-0.35.5.node")
    yield node("Hugging Face's tokenizers (Rust)", LOADED, f"{MODULES}/@anush008/tokenizers-linux-x64-gnu/tokenizers.linux-x64-gnu.node")


def other_kinds(place):
    yield from addons()
    yield from static_programs(place)
    yield from devices()
    yield from torch_programs()
    yield from without_attacher()
