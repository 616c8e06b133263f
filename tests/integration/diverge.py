# SPDX-License-Identifier: Apache-2.0
"""`brick diverge` on real runs: llama.cpp against itself on one and two threads, against other
weights, and against the decoder of examples/, right and with an error of 1 % in one layer; what is
no comparison at all; recordings with damage in them."""
import json
import os
import random
import subprocess
import sys
import tempfile

import libggml
from libggml import BUILD, LLAMA, demo, libraries

BRICK = os.path.join(BUILD, "bin", "brick")
DECODER = os.path.join(BUILD, "bin", "example-decoder")
PROMPT, PREDICT = "40", "6"
N_LAYERS = 7


def fail(text):
    sys.exit(text)


def expect(what, got, want):
    if got != want:
        fail(f"{what}: got {got!r}, expected {want!r}")


def run(command, code=0):
    done = subprocess.run(command, capture_output=True, timeout=600)
    if done.returncode != code:
        fail(f"{command}: exit {done.returncode}, expected {code}\n{done.stdout[-3000:].decode()}"
             f"\n{done.stderr[-3000:].decode()}")
    return done


class Runs:
    def __init__(self, folder):
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name + ".pftrace")

    def model(self, kind):
        """Of the demo's weights, in 4 bits, too."""
        if kind != "q4_0":
            return demo(f"model-{kind}.gguf")
        path = os.path.join(self.folder, "model-q4_0.gguf")
        if not os.path.exists(path):
            run([os.path.join(BUILD, "bin", "brick-model"), "--type", kind, path])
        return path

    def llama(self, name, model, *options, digest="--digest"):
        command = [LLAMA, "--libs", libraries(), "--model", self.model(model),
                   "--prompt-tokens", PROMPT, "--predict", PREDICT, *options]
        recorded = run([BRICK, "record", *([digest] if digest else []), "-q", "-o",
                        self.path(name), "--", *command])
        expect(f"tokens of {name}", recorded.stdout, run(command).stdout)
        return self.path(name)

    def decoder(self, name, *options, model="f32", prompt=PROMPT, predict=PREDICT):
        run([DECODER, "--model", demo(f"model-{model}.gguf"), "--prompt-tokens", prompt,
             "--predict", predict, "--digest", "--record", self.path(name), *options])
        return self.path(name)


def diverge(a, b, *options, code=0):
    answer = json.loads(run([BRICK, "diverge", "--json", *options, a, b], code).stdout)
    expect("schema", answer["schema"], "brick/diverge/1")
    expect("the exit code says so", answer["diverges"], code == 1)
    return answer


def shares(answer):
    return [answer["coverage"][side]["compared_share"] for side in "ab"]


def threads(runs, f32):
    two = runs.llama("two", "f32", "--threads", "2")
    answer = diverge(f32, two)
    expect("coverage", shares(answer), [1, 1])
    expect("largest error on two threads", answer["worst"]["error"], 0)
    # embedding; 15 results a layer and a row gather in the last; norm and head; every step
    if answer["coverage"]["compared"] < int(PREDICT) * (N_LAYERS * 15 + 3):
        fail(f"only {answer['coverage']['compared']} results were compared")
    new_threads = runs.llama("new", "f32", "--threads", "2", "--no-pool")
    expect("without a pool", diverge(f32, new_threads)["worst"]["error"], 0)
    everything = runs.llama("all", "f32", digest="--digest=all")
    expect("all nodes", diverge(f32, everything)["worst"]["error"], 0)
    report = json.loads(run([BRICK, "report", "--json", two]).stdout)
    expect("losses", [report["losses"][k] for k in ("dropped", "unmatched", "clamped")], [0, 0, 0])
    rows = {row["name"]: row for row in report["bricks"]}
    expect("the digests' own time", rows["Digest"]["count"], answer["coverage"]["b"]["digests"])


def formats(runs, f32):
    for model, largest in ("f16", 3e-3), ("q8_0", 6e-2):
        other = runs.llama(model, model)
        answer = diverge(f32, other, "--all", code=1)
        over = [p for p in answer["places"] if p["diverges"]]
        expect(f"{model}: places over their limits", len(over), answer["over"])
        for place in answer["places"]:
            if place["diverges"] and not place["explained"]:
                fail(f"{model}: formats do not explain {place}")
        # the amount: not nothing, and no more than the format's own rounding comes to
        head = [p for p in answer["places"] if p["brick"] == "LmHead"]
        apart = answer["coverage"]["other_tokens_from_step"]
        expect("heads", len(head), (apart - 1) if apart else int(PREDICT))
        for place in head[:1]:
            if not 1e-5 < place["error"] < largest:
                fail(f"{model}: error of the head is {place['error']}")
        # attention inherits from keys and values, through the cache that they were written to
        sources = {p["inherited_from"]["label"][:4] for p in answer["places"]
                   if p["brick"] == "FlashAttention" and p["inherited_from"]}
        if not sources & {"Kcur", "Vcur"}:
            fail(f"{model}: attention inherits from {sources} only")
        expect("with formats allowed", diverge(f32, other, "--allow-formats")["over"], 0)
        text = run([BRICK, "diverge", f32, other], 1).stdout.decode()
        for words in "They diverge", "within what formats explain", "would not show":
            if words not in text:
                fail(f"{words!r} is missing:\n{text}")
    # 4 bits are 16 times as coarse, which the runs tell; also where both are quantised
    four = runs.llama("q4_0", "q4_0")
    for name in "f32", "f16", "q8_0":
        answer = diverge(runs.path(name), four, "--allow-formats")
        if answer["explained"] < 100 or not 0.1 < answer["formats_middle"] < 0.5:
            fail(f"q4_0 and {name}: {answer['explained']}, {answer['formats_middle']}")


def engines(runs, f32):
    right = runs.decoder("right")
    answer = diverge(f32, right)
    if min(shares(answer)) < 0.85:
        fail(f"coverage is {shares(answer)}")
    missing = {row["brick"]: row for row in answer["coverage"]["bricks"]
               if row["only_a"] or row["only_b"]}
    expect("what only one of them has", sorted(missing),
           ["AttentionOutput", "FlashAttention", "RowGather"])
    expect("decoder on two threads",
           diverge(right, runs.decoder("right2", "--threads", "2"))["worst"]["error"], 0)
    diverge(f32, runs.decoder("scalar", "--isa", "scalar", "--threads", "3"))
    diverge(right, f32)
    apart = runs.llama("apart", "f32", "--flash", "off")
    answer = diverge(apart, right)
    compared = {row["brick"]: row["compared"] for row in answer["coverage"]["bricks"]}
    expect("attention, where both have it", compared["AttentionOutput"], N_LAYERS * int(PREDICT))

    # limits follow what is computed from what: 16-bit and quantised weights on both sides
    for model in "f16", "q8_0":
        theirs = runs.llama("theirs", model, "--predict", "1")
        diverge(theirs, runs.decoder("ours", model=model, predict="1"))
        wrong = runs.decoder("wrong", "--mistake", "RopeEmbedding:2:3", model=model, predict="1")
        first = diverge(theirs, wrong, code=1)["first"]
        expect(f"the first place on {model}", (first["layer"], first["brick"]),
               (2, "RopeEmbedding"))

    # what other weights do hides no mistake, however deep it is
    quantised = runs.llama("quantised", "q8_0", "--predict", "1")
    diverge(quantised, runs.decoder("exact", predict="1"), "--allow-formats")
    for layer in 0, N_LAYERS - 1:
        wrong = runs.decoder("wrong", "--mistake", f"RopeEmbedding:{layer}:4.9", predict="1")
        first = diverge(quantised, wrong, "--allow-formats", code=1)["first"]
        expect("the first place behind other weights", (first["layer"], first["brick"]),
               (layer, "RopeEmbedding"))
    # nor one that is smaller than what they do, but not like rounding
    for of, brick in ("RopeEmbedding", "RopeEmbedding"), ("Vcur", "QkvProjection"):
        wrong = runs.decoder("wrong", "--mistake", f"{of}:3:1", predict="1")
        first = diverge(quantised, wrong, "--allow-formats", code=1)["first"]
        expect("1 % behind other weights", (first["layer"], first["brick"], first["unlike_formats"]),
               (3, brick, "scaled"))
        expect("1 % is less than what formats come to",
               first["nmse"] < first["explained_by_formats"], True)
    one = runs.decoder("one", "--mistake", "OutputProjection:3:-100:17:5", predict="1")
    first = diverge(quantised, one, "--allow-formats", code=1)["first"]
    expect("one value of 20480", (first["layer"], first["brick"], first["unlike_formats"]),
           (3, "OutputProjection", "few elements"))

    for layer in 0, 3, N_LAYERS - 1:
        wrong = runs.decoder("wrong", "--mistake", f"RopeEmbedding:{layer}:1")
        for other in f32, right:
            first = diverge(other, wrong, code=1)["first"]
            expect("the first place that diverges",
                   (first["step"], first["layer"], first["brick"]), (1, layer, "RopeEmbedding"))
            if not 0.008 < first["error"] < 0.012 or not 0.008 < first["added"] < 0.012:
                fail(f"1 % was estimated as {first['error']}, added {first['added']}")
            if first["inherited"] > 1e-3:
                fail(f"inherited {first['inherited']}")


def refusals(runs, f32):
    without = runs.llama("without", "f32", digest=None)
    for a, b in (f32, without), (without, f32):
        err = run([BRICK, "diverge", a, b], 3).stderr.decode()
        expect("names the file without digests", "without.pftrace: holds no digests" in err, True)
    # no result in common: other steps, or other bricks
    short = runs.decoder("short", prompt="8", predict="1")
    err = run([BRICK, "diverge", f32, short], 3).stderr.decode()
    expect("nothing in common", "nothing was compared" in err, True)
    for args, why in ((["diverge", f32], "two recordings"), (["diverge"], "two recordings"),
                      (["diverge", f32, f32, f32], "two recordings"),
                      (["diverge", "--threshold", "x", f32, f32], "--threshold x"),
                      (["diverge", "--threshold", "-1", f32, f32], "--threshold -1"),
                      (["record", "--digest=some", "true"], "--digest=some")):
        expect(f"{args}", why in run([BRICK, *args], 2).stderr.decode(), True)
    expect("--rules", b"NMSE" in run([BRICK, "diverge", "--rules"]).stdout, True)
    diverge(f32, f32, "--threshold", "0")


def damage(runs):
    """Bytes changed anywhere: an answer or a refusal, never a crash."""
    path = runs.path("plain")
    run([BRICK, "record", "--digest", "--no-compress", "-q", "-o", path, "--", DECODER, "--model",
         demo("model-f32.gguf"), "--prompt-tokens", "4", "--predict", "2"])
    whole = open(path, "rb").read()
    at = whole.find(b"brick.digest")
    expect("digests in it", at > 0, True)
    dice = random.Random(4)
    for trial in range(60):
        data = bytearray(whole)
        low, high = (at, min(len(data), at + 6000)) if trial % 2 else (0, len(data))
        for _ in range(dice.choice((1, 3, 20))):
            data[dice.randrange(low, high)] = dice.randrange(256)
        if trial % 7 == 0:
            del data[dice.randrange(at, len(data)):]
        with open(runs.path("damaged"), "wb") as out:
            out.write(data)
        done = subprocess.run([BRICK, "diverge", "--json", path, runs.path("damaged")],
                              capture_output=True, timeout=600)
        if done.returncode not in (0, 1, 3):
            fail(f"trial {trial}: exit {done.returncode}\n{done.stderr.decode()}")


def main():
    libggml.libraries()
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(folder)
        f32 = runs.llama("f32", "f32")
        threads(runs, f32)
        engines(runs, f32)
        formats(runs, f32)
        refusals(runs, f32)
        damage(runs)


main()
