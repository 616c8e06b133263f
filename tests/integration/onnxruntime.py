# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime as npm ships it, the oldest and the newest version that is known, with Node.js and with a program of C: what
it computes is the same, each node is counted under its name, with the length that its own profiler tells, in the layer that
its name says; a step for each Run; sessions that are never closed, come and go or run at the same time, kernels that fail;
more than a million nodes; and an older version is refused."""
import collections
import csv
import glob
import io
import json
import os
import shutil
import statistics
import subprocess
import sys

from librecord import *

SOURCE = os.environ["BRICK_SOURCE"]
PROGRAMS = os.path.join(SOURCE, "tests", "programs")
OLDEST, NEWEST, REFUSED = "1.17.3", "1.30.0", "1.14.0"
TRANSFORMERS = "transformers-4.3.2"  # of @huggingface; brings the newest
STEPS, LAYERS = 10, 4  # of the decoder


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def fetch(package):
    done = run(os.path.join(SOURCE, "examples", "demo", "onnxruntime.sh"), package)
    return done.stdout.strip() if not done.returncode else skip(done.stderr.strip())


def record(scratch, *command, options=()):
    path = scratch.file("run.pftrace")
    done = run(BRICK, "record", "-o", path, *options, "--", *command)
    same(done.returncode, 0, done.stderr)
    return done, json.loads(run(BRICK, "report", path, "--json").stdout), path


def rows_of(path):
    return list(csv.DictReader(io.StringIO(run(BRICK, "export", "--format", "csv", path).stdout)))


def count(rows, **wanted):
    return sum(all(row[key] == str(value) for key, value in wanted.items()) for row in rows)


class Node:
    def __init__(self, scratch, version):
        self.version = version
        self.modules = fetch(TRANSFORMERS if version == NEWEST else "onnxruntime-" + version)
        self.package = os.path.join(self.modules, "onnxruntime-node")
        self.models = [scratch.file(name + ".onnx") for name in ("decoder", "network")]
        for path in self.models:
            name = os.path.basename(path)[: -len(".onnx")]
            same(run(sys.executable, os.path.join(PROGRAMS, "onnx_model.py"), name, path).returncode, 0, "the model")

    def command(self, work, *more):
        return ["node", os.path.join(PROGRAMS, "onnx_work.cjs"), self.package, work, str(STEPS), *self.models, *more]


def decodes(scratch, node):
    """One prompt and words one by one: bricks, layers, steps."""
    plain = run(*node.command("decode"))
    same(plain.returncode, 0, plain.stderr)
    done, report, path = record(scratch, *node.command("decode"))
    same(done.stdout, plain.stdout, f"{node.version}: what is computed")
    check(f"attached to ONNX Runtime {node.version}: kernels of ONNX Runtime" in done.stderr, done.stderr)
    steps = report["steps"]
    same((steps["prefill"]["count"], steps["prefill"]["tokens"]), (1, 24), "prompts")
    same((steps["decode"]["count"], steps["decode"]["tokens"]), (STEPS, 2 * STEPS), "words")
    rows = rows_of(path)
    for layer in range(LAYERS):
        for brick, times in (("QkvProjection", 3), ("OutputProjection", 1), ("UpProjection", 1), ("DownProjection", 1),
                             ("AttentionSoftmax", 1), ("AttentionOutput", 1), ("Activation", 1),
                             ("LayerNorm", 1)):
            same(count(rows, brick=brick, layer=layer), times * (STEPS + 1), f"{node.version}: {brick} in layer {layer}")
    # the older one gives a product that it fused with a transposition another name, without a layer
    score = {"brick": "AttentionScore", "layer": 3} if node.version == NEWEST else {"label": "MatMul_With_Transpose_token_2"}
    same(count(rows, **score), STEPS + 1, f"{node.version}: scores")
    same(count(rows, label="/layers.3/self_attn/q_proj/MatMul", brick="QkvProjection"), STEPS + 1, "one node")
    same(count(rows, brick="Embedding"), STEPS + 1, "embeddings")
    # the thread of one step or the other was kept from its CPU beside its graph
    covered = [covered_by_graphs(step, rows) for step in rows if step["category"] == "Step"]
    check(len(covered) == STEPS + 1 and statistics.median(covered) >= 0.95, "shares of steps that are covered:", covered)


def covered_by_graphs(step, rows):
    begin, length = int(step["begin_ns"]), int(step["duration_ns"])
    return sum(int(row["duration_ns"]) for row in rows
               if row["brick"] == "GraphCompute" and begin <= int(row["begin_ns"]) < begin + length) / length


def as_its_profiler(scratch, node):
    """Both time the same executions: ours lies within theirs, which is cut to whole microseconds."""
    prefix = scratch.file("profile")
    _, _, path = record(scratch, *node.command("decode", prefix))
    theirs, ours = collections.defaultdict(list), collections.defaultdict(list)
    files = glob.glob(prefix + "*.json")
    same(len(files), 1, "its profile")
    with open(files[0]) as file:
        for event in json.load(file):
            name = event.get("name", "")
            if event.get("cat") == "Node" and name.endswith("_kernel_time"):
                theirs[name[: -len("_kernel_time")]].append(1000 * event["dur"])
    for row in rows_of(path):
        if row["operation"]:
            ours[row["label"]].append(int(row["duration_ns"]))
    check(len(theirs) > 40, "its profiler saw little", theirs)
    same({name: len(times) for name, times in ours.items()}, {name: len(times) for name, times in theirs.items()}, "nodes")
    # Its own work, which writes down shapes, lies in what it tells; how long that takes is this machine's, most for a run's
    # first node. So does whatever preempts the thread: the closest of a node's executions counts.
    beside = {name: min(wanted - got for wanted, got in zip(times, ours[name])) for name, times in theirs.items()}
    usual = statistics.median(beside.values())
    for name, times in theirs.items():
        check(sum(ours[name]) <= sum(times) + 2000 * len(times), name, "is longer than by its profiler", ours[name], times)
        check(beside[name] <= 0.5 * min(times) + 3 * usual, name, "is shorter than by its profiler", ours[name], times, usual)


def other_works(scratch, node):
    for work, steps in ("together", 3 * STEPS), ("sessions", STEPS), ("fail", STEPS):
        plain = run(*node.command(work))
        done, report, path = record(scratch, *node.command(work))
        same((done.stdout, plain.returncode), (plain.stdout, 0), f"{work}: what is computed")
        same(sum(report["steps"][phase]["count"] for phase in ("prefill", "decode", "other")), steps, f"{work}: runs")
        rows = rows_of(path)
        decoders = {"together": 2 * STEPS, "sessions": STEPS // 2, "fail": STEPS // 2}[work]
        same(count(rows, brick="LmHead", label="/lm_head/MatMul"), decoders, f"{work}: runs of the decoder")
        same(count(rows, label="head"), {"together": STEPS, "sessions": STEPS // 2, "fail": 0}[work], f"{work}: of the network")


def threads(scratch, node):
    """A program of C with one session on two threads, and more nodes than its own profiler keeps."""
    library = glob.glob(os.path.join(node.package, "bin", "*", "linux", "x64", "libonnxruntime.so*"))[0]
    program = scratch.file("threads")
    done = run("cc", "-O1", "-w", os.path.join(PROGRAMS, "onnx_threads.c"), "-o", program, library, "-ldl", "-lpthread",
               "-Wl,-rpath," + os.path.dirname(library))
    same(done.returncode, 0, done.stderr)
    runs = 10000
    command = [program, node.models[0], "2", str(runs)]
    plain = run(*command)
    # a ring holds all records of a thread: a recorder that gets no CPU loses none
    done, report, _ = record(scratch, *command, options=["--ring", str(1 << 20)])
    same(done.stdout, plain.stdout, "what two threads compute")
    same(report["steps"]["decode"]["count"], 2 * runs, "runs of two threads")
    counts = {row["name"]: row["count"] for row in report["bricks"]}
    same(counts["QkvProjection"], 2 * runs * 3 * LAYERS, "products")
    check(1000000 < sum(counts.values()) < 2 << 20, "fewer nodes than a million, or more than rings hold", counts)


def transformers(scratch, node):
    """@huggingface/transformers with a model of our own: a tokenizer of a few words, and the decoder."""
    words = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", *"a quick fox runs over lazy dog".split()]
    special = {"[CLS]": 1, "[SEP]": 2}
    files = {
        "config.json": {"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 128, "num_hidden_layers": 4,
                        "num_attention_heads": 4, "vocab_size": 300},
        "tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "model_max_length": 512, "pad_token": "[PAD]",
                                  "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"},
        "tokenizer.json": {
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "lowercase": True},
            "pre_tokenizer": {"type": "BertPreTokenizer"}, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "post_processor": {
                "type": "TemplateProcessing", "pair": [],
                "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                           {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
                "special_tokens": {name: {"id": name, "ids": [number], "tokens": [name]} for name, number in special.items()}},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100, "vocab": {word: i for i, word in enumerate(words)}}},
    }
    models = scratch.file("models")
    os.makedirs(os.path.join(models, "tiny", "onnx"))
    for name, content in files.items():
        with open(os.path.join(models, "tiny", name), "w") as file:
            json.dump(content, file)
    shutil.copy(node.models[0], os.path.join(models, "tiny", "onnx", "model.onnx"))
    command = ["node", os.path.join(PROGRAMS, "onnx_transformers.mjs"), node.modules, models + "/"]
    plain = run(*command)
    same(plain.returncode, 0, plain.stderr)
    done, report, path = record(scratch, *command)
    same(done.stdout, plain.stdout, "features of a sentence")
    same((report["steps"]["prefill"]["count"], report["steps"]["prefill"]["tokens"]), (10, 100), "sentences")
    same(count(rows_of(path), brick="LmHead"), 10, "runs of the model")


def refused(scratch, node):
    plain = run(*node.command("decode"))
    done, _, path = record(scratch, *node.command("decode"))
    same((done.stdout, plain.returncode), (plain.stdout, 0), "a version that is refused")
    notes = " ".join(run(BRICK, "report", path, "--trust").stdout.split())
    said = f"ONNX Runtime {node.version} is not recorded: only 1.15 to 1.30 are known"
    check(said in notes and said in done.stderr, notes, done.stderr)


if not os.path.exists(os.path.join(BUILD, "lib", "libbrick-onnxruntime.so")):
    skip("Brick was built without the attacher of ONNX Runtime")
if not shutil.which("node"):
    skip("there is no Node.js")
with Scratch() as scratch:
    for version in OLDEST, NEWEST:
        node = Node(scratch, version)
        decodes(scratch, node)
    as_its_profiler(scratch, node)
    other_works(scratch, node)
    transformers(scratch, node)
    threads(scratch, node)
    refused(scratch, Node(scratch, REFUSED))
