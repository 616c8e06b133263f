# SPDX-License-Identifier: Apache-2.0
"""The decoder of examples/: it chooses the tokens that llama.cpp chooses, on every instruction set
and with every number of threads, recorded or not; and its recording adds up."""
import json
import os
import subprocess
import sys
import tempfile

BUILD = os.environ["BRICK_BUILD"]
DECODER = os.path.join(BUILD, "bin", "example-decoder")
LLAMA = os.path.join(BUILD, "bin", "brick-llama")
BRICK = os.path.join(BUILD, "bin", "brick")
ISAS = ("scalar", "avx2", "avx512", "neon")
PRODUCTS = ("QkvProjection", "OutputProjection", "GateProjection", "UpProjection", "DownProjection",
            "LmHead")
N_PROMPT, N_PREDICT = 48, 16
N_EMBD, N_VOCAB, N_LAYERS = 512, 2048, 7  # of the demo's models


def demo(*names):
    """A file of the demo, wherever it was made; skips the test if it was not."""
    for root in BUILD, os.path.join(os.environ["BRICK_SOURCE"], "build"):
        path = os.path.join(root, "demo", *names)
        if os.path.exists(path):
            return path
    print(f"skipped: {os.path.join('demo', *names)} is not there: run `make demo`")
    sys.exit(77)


def expect(what, got, want):
    if got != want:
        sys.exit(f"{what}: got {got!r}, expected {want!r}")


def run(command, code=0):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode != code:
        sys.exit(f"{command}: exit {done.returncode}, expected {code}\n{done.stderr}")
    return done


def decode(model="f32", options=(), prompt=N_PROMPT, predict=N_PREDICT):
    return run([DECODER, "--model", demo(f"model-{model}.gguf"), "--prompt-tokens", str(prompt),
                "--predict", str(predict), *options]).stdout


def llama(model, prompt=N_PROMPT, predict=N_PREDICT):
    return run([LLAMA, "--libs", demo("engine", "libs"), "--model", demo(f"model-{model}.gguf"),
                "--prompt-tokens", str(prompt), "--predict", str(predict)]).stdout


def isas():
    """Those that this CPU has."""
    model = demo("model-f32.gguf")
    found = []
    for isa in ISAS:
        done = subprocess.run([DECODER, "--model", model, "--isa", isa, "--prompt-tokens", "1",
                               "--predict", "1"], capture_output=True, text=True, timeout=600)
        if done.returncode == 0:
            found.append(isa)
        else:
            expect(f"--isa {isa}", done.returncode, 4)
    expect("scalar kernels", "scalar" in found, True)
    return found


def same_tokens(found):
    for model in "f32", "f16":
        want = llama(model)
        expect("tokens of llama.cpp", len(want.split()), N_PREDICT)
        for isa in found:
            for threads in "1", "2", "3":
                expect(f"tokens on {model}, {isa}, {threads} threads",
                       decode(model, ["--isa", isa, "--threads", threads]), want)
    # llama.cpp rounds activations to Q8_0 as well, so there only our own kernels can be compared.
    want = decode("q8_0", ["--isa", "scalar"])
    for isa in found:
        expect(f"tokens on q8_0, {isa}", decode("q8_0", ["--isa", isa, "--threads", "2"]), want)
    # Prompts of one token, of whole and of half blocks, and of more than one pass.
    for prompt in 1, 17, 64, 600:
        expect(f"tokens behind {prompt}", decode("f32", prompt=prompt, predict=24),
               llama("f32", prompt, 24))


def report(path, *options):
    return json.loads(run([BRICK, "report", path, "--json", *options]).stdout)


def recorded(tmp, threads, options=(), model="f16"):
    path = os.path.join(tmp, f"{threads}.pftrace")
    plain = decode(model, ["--threads", threads, *options])
    expect("tokens while recording",
           decode(model, ["--threads", threads, "--record", path, *options]), plain)
    rep = report(path)
    for loss in "dropped", "open", "unmatched", "clamped", "unsupported":
        expect(loss, rep["losses"][loss], 0)
    return rep, {row["name"]: row for row in rep["bricks"]}


def accounts(tmp):
    """What was recorded adds up, on one thread and on two."""
    rep, one = recorded(tmp, "1", ["--isa", "scalar"])
    expect("backends", rep["run"]["backends"], ["cpu scalar"])
    expect("prefill", (rep["steps"]["prefill"]["count"], rep["steps"]["prefill"]["tokens"]),
           (1, N_PROMPT))
    expect("decode steps", rep["steps"]["decode"]["count"], N_PREDICT - 1)
    expect("LmHead runs once per token", one["LmHead"]["count"], N_PREDICT)
    expect("FLOPs of LmHead", one["LmHead"]["flops"], 2 * N_EMBD * N_VOCAB * N_PREDICT)
    expect("Sampling", one["Sampling"]["count"], N_PREDICT)
    expect("QkvProjection", one["QkvProjection"]["count"], 3 * N_LAYERS * N_PREDICT)
    expect("AttentionSoftmax", one["AttentionSoftmax"]["count"], N_LAYERS * N_PREDICT)
    expect("waits of a thread alone", "BarrierWait" in one, False)
    expect("KvCacheWrite is attention", one["KvCacheWrite"]["category"], "Attention")
    off = sum(row["share"] for row in rep["rests"] if row["name"] in ("preempted", "blocked"))
    products = sum(one[name]["share"] for name in PRODUCTS) / (1 - off)
    if products < 0.5:
        sys.exit(f"products with weights are {products:.1%} of the time, not at least half")
    covered = sum(row["share"] for row in rep["bricks"]) + off
    if not 0.85 <= covered <= 1.0001:
        sys.exit(f"the bricks add up to {covered:.1%} of the time, not to 85 % at least")

    rep, two = recorded(tmp, "2", ["--isa", "scalar"])
    expect("there are waits", two["BarrierWait"]["count"] > 0, True)
    expect("threads", sorted(row["name"].split(" (")[0] for row in
                             report(os.path.join(tmp, "2.pftrace"), "--by", "thread")["threads"]),
           ["decoder 0", "decoder 1"])
    for name, row in one.items():
        for unit in "elements", "flops":
            expect(f"{unit} of {name} on two threads", two[name][unit], row[unit])


def switches(tmp):
    """On and off at run time, and under `brick record`."""
    path = os.path.join(tmp, "pause.pftrace")
    lines = decode("f16", ["--repeat", "4", "--pause", "--record", path]).splitlines()
    expect("repetitions", (len(lines), len(set(lines))), (4, 1))
    rows = {row["name"]: row for row in report(path)["bricks"]}
    expect("LmHead in two repetitions of four", rows["LmHead"]["count"], 2 * N_PREDICT)

    path = os.path.join(tmp, "outside.pftrace")
    run([BRICK, "record", "-q", "-o", path, "--", DECODER, "--model", demo("model-f16.gguf"),
         "--prompt-tokens", "8", "--predict", "2", "--isa", "scalar"])
    rep = report(path)
    expect("backend under brick record", "cpu scalar" in rep["run"]["backends"], True)
    expect("prompt under brick record", rep["steps"]["prefill"]["tokens"], 8)

    right = decode("f32", ["--mistake", "RopeEmbedding:3:0"])
    expect("an error of 0 %", right, decode("f32"))
    expect("an error of 80 % is one", decode("f32", ["--mistake", "RopeEmbedding:3:80"]) != right, True)


def refusals(tmp):
    short = os.path.join(tmp, "short.gguf")
    with open(demo("model-q8_0.gguf"), "rb") as model, open(short, "wb") as out:
        out.write(model.read(100000))
    for options, code, reason in (
            (["--model", short], 3, f"{short}: offset "),
            (["--model", "/nonexistent"], 3, "/nonexistent: offset 0: cannot read it"),
            ([], 2, "--model is missing"),
            (["--model"], 2, "--model: its value is missing"),
            (["--model", short, "--threads", "0"], 2, "0: not a number from 1"),
            (["--model", short, "--isa", "mmx"], 4, "--isa mmx"),
            (["--model", short, "--mistake", "x"], 2, "--mistake x: not OF:LAYER:PERCENT"),
            (["--fast"], 2, "--fast: not an option")):
        done = run([DECODER, *options], code)
        expect(f"why {options} is refused", reason in done.stderr, True)
        expect("one line", done.stderr.count("\n"), 1)
    expect("--help", "--prompt-tokens" in run([DECODER, "--help"]).stdout, True)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        refusals(tmp)
        found = isas()
        accounts(tmp)
        switches(tmp)
        demo("engine", "libs")
        same_tokens(found)
        print(f"tokens are those of llama.cpp on {', '.join(found)}")


main()
