# SPDX-License-Identifier: Apache-2.0
"""brick import: small files as other tools write them, each with the answer that it must give."""
import gzip
import json
import os
import re
import sqlite3

from libcli import TMP, brick, brick_json, expect, expect_true
from libgpus import check_gpus

DEVICE = {"id": 0, "name": "Example GPU 9000", "totalGlobalMem": 8 << 30, "numSms": 10}


def place(name):
    return os.path.join(TMP, name)


def span(name, cat, ts, dur, tid=100, **args):
    return {"ph": "X", "name": name, "cat": cat, "pid": 100, "tid": tid, "ts": ts, "dur": dur, "args": args}


def launched(name, ts, dur, correlation, launch=None, call="cudaLaunchKernel"):
    """A kernel and, at `launch`, the call that launched it."""
    kernel = {"ph": "X", "name": name, "cat": "kernel", "pid": 0, "tid": 7, "ts": ts, "dur": dur,
              "args": {"device": 0, "stream": 7, "correlation": correlation, "grid": [8, 1, 1], "block": [128, 1, 1]}}
    return [kernel] if launch is None else [span(call, "cuda_runtime", launch, 8, correlation=correlation), kernel]


def kineto(events):
    return json.dumps({"schemaVersion": 1, "deviceProperties": [DEVICE], "traceEvents": events})


def imported(name, text, *options):
    """The recording of a file with that text, as export shows it; its path is in `path`."""
    with open(place(name), "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return imported_file(place(name), *options)


def imported_file(source, *options):
    path = place(os.path.basename(source) + ".pftrace")
    _, err = brick("import", *options, "-o", path, source)
    run = brick_json("export", "--format", "json", path)
    run["path"], run["said"] = path, err.decode()
    return run


def rows(run, *options):
    """By brick: (count, self time on threads or None, device time or None)."""
    report = brick_json("report", "--json", *options, run["path"])
    return {row["name"]: row for row in report["bricks"]}


def samples(run, kind=None):
    """(lane's name, brick, layer, begin, end) of all samples, times from the first one on."""
    first = min(s[0] for lane in run["lanes"] for s in lane["samples"])
    is_one = any(note["key"] == "steps.none" for note in run["notes"])
    return [row for row in all_samples(run, kind, first) if not (is_one and row[1] == "OtherStep")]


def all_samples(run, kind, first):
    return [(lane["name"], run["bricks"][run["sites"][s[2]]["brick"]]["name"], run["sites"][s[2]]["layer"],
             s[0] - first, s[1] - first)
            for lane in run["lanes"] if kind in (None, lane["kind"]) for s in lane["samples"]]


def steps(run):
    return [(s["phase"], s["tokens"], s["end_ns"] - s["begin_ns"]) for s in run["steps"]]


def training(annotation):
    """Three steps of a model of three layers; each layer is a product and an activation."""
    events = []
    for step in range(3):
        at = 2000 * step + 2000
        events.append(span(annotation(step), "user_annotation", at, 1000))
        for layer in range(3):
            begin = at + 10 + 210 * layer
            events.append(span(f"nn.Module: ToyDecoderLayer_{layer}", "python_function", begin, 200))
            for k, op in enumerate(("mm", "silu")):
                link = 1000 * step + 10 * layer + k + 1
                events.append(span("aten::" + op, "cpu_op", begin + 10 + 90 * k, 60))
                events += launched(f"toy_{op}_kernel", begin + 50 + 90 * k, 30, link, begin + 30 + 90 * k)
        events += launched("toy_last", at + 700, 230, 1000 * step + 99, at + 640)
        events.append(span("cudaDeviceSynchronize", "cuda_runtime", at + 650, 300, correlation=1000 * step + 100))
    return events


def profiler_steps():
    text = kineto(training(lambda step: f"ProfilerStep#{step + 1}"))
    run = imported("steps.json", text)
    expect("steps", steps(run), [("other", 0, 1000000)] * 3)
    for command in ("explain", "path", "tree", "report"):
        expect_true(command, brick(command, run["path"])[0])
    brick("diff", run["path"], run["path"])

    operators = [s for s in samples(run, "thread") if s[1] in ("MatrixProduct", "Activation")]
    expect("operators of layers", sorted(s[2] for s in operators), [0] * 6 + [1] * 6 + [2] * 6)
    kernels = [s for s in samples(run, "queue") if s[1] in ("MatrixProduct", "Activation")]
    expect("kernels of layers", sorted(s[2] for s in kernels), [0] * 6 + [1] * 6 + [2] * 6)
    layers = brick_json("report", "--json", "--by", "layer", run["path"])["layers"]
    expect("layers of the report", sorted(row["layer"] for row in layers if row.get("layer", -1) >= 0), [0, 1, 2])

    said = brick("report", run["path"])[0]
    expect_true("the device", b"Example GPU 9000, 10 SMs" in said)
    expect_true("columns and what they mean", b"DEVICE  EXPOSED  SHARE" in said and b"DEVICE is time" in said
                and b"EXPOSED is the part" in said and b"/TOKEN" not in said)
    expect_true("its memory", b"8.59GB of memory" in said)
    # a call that waits is a wait for the last command that ended in it
    waits = [run["lanes"][w[0]]["samples"][w[1]] for w in run["waits"]]
    expect("waits", [run["bricks"][run["sites"][s[2]]["brick"]]["name"] for s in waits], ["Synchronize"] * 3)
    expect("and for what", [run["kernels"][run["commands"][w[2]][2]]["name"] for w in run["waits"]], ["toy_last"] * 3)
    said = brick("explain", run["path"])[0]
    expect_true("it is no work of a CPU, and no other engine's options are advised", b"ran on the CPU" not in said and b"-ngl" not in said
                and b"GGML" not in said)


def engine_steps():
    """vLLM says in a step's name how many tokens of prompts and of outputs it has."""
    for name, text in (("default", "execute_context_1(256)_generation_3(3)"),
                       ("detailed", "execute_259_context_1(sq256sk256sqsq65536sqsk65536)_generation_3(sq3sk900sqsq3sqsk900)")):
        run = imported(f"vllm-{name}.json", kineto(training(lambda _: text)))
        expect(name, [(s["phase"], s["tokens"]) for s in run["steps"]], [("mixed", 259)] * 3)
        expect_true("of both kinds", b"(768 of prompts, 9 of outputs)" in brick("report", run["path"])[0].replace(b"\n" + b" " * 13, b" "))
    run = imported("vllm-prefill.json", kineto(training(lambda _: "execute_context_1(256)_generation_0(0)")))
    expect("prompts alone", steps(run), [("prefill", 256, 1000000)] * 3)
    run = imported("vllm-decode.json", kineto(training(lambda _: "execute_3_context_0(sq0sk0sqsq0sqsk0)_generation_3(sq3sk9sqsq3sqsk9)")))
    expect("outputs alone", steps(run), [("decode", 3, 1000000)] * 3)


def crossing():
    """A thread is one thread: where spans cross, the less important is cut, and every ns counts once."""
    products = [span("aten::mm", "cpu_op", 10 + 100 * i, 80) for i in range(15)]
    run = imported("crossing.json", kineto([span("outer_a", "user_annotation", 0, 1000), span("outer_b", "user_annotation", 500, 1000),
                                            *products]))
    expect("one thread", len(run["lanes"]), 1)
    report = brick_json("report", "--json", run["path"])
    expect("covered", report["coverage"]["share"], 1.0)
    text = brick("report", run["path"])[0].decode()
    expect("times without what is nested", [rows(run)[name]["self_ns"] for name in ("outer_a", "outer_b")], [100000, 200000])
    expect_true("shares are of one thread", "MatrixProduct  80.0%" in text and "100.0% covered" in text)

    frame = "torch/profiler/profiler.py(1): step"
    events = [span(frame, "python_function", 0, 110), span("ProfilerStep#1", "user_annotation", 100, 1000),
              span("toy.py(9): train", "python_function", 120, 950), span(frame, "python_function", 1090, 100),
              span("threading.py(2): wait", "python_function", 0, 1190, tid=0)]
    for i in range(8):
        events.append(span("aten::mm", "cpu_op", 130 + 110 * i, 100))
        events += launched("toy_gemm", 160 + 110 * i, 60, i + 1, 140 + 110 * i)
    run = imported("frames.json", kineto(events))
    expect("a step keeps its length", steps(run), [("other", 0, 1000000)])
    expect("lanes", [lane["kind"] for lane in run["lanes"]], ["thread", "thread", "queue"])
    products = [s for s in samples(run, "thread") if s[1] == "MatrixProduct"]
    expect("operators", len(products), 8)
    kept = sum(s[4] - s[3] for s in samples(run, "thread") if s[1].startswith("torch/profiler"))
    expect("frames are cut where they cross", kept, 200000)
    expect_true("waiting is no work", rows(run)["PythonWait"]["category"] == "Wait")
    expect("its operators are the step's", rows(run)["MatrixProduct"]["count"], 8)


def without_steps():
    """A file without any step is answered as a whole, and each answer says so."""
    events = []
    for i in range(20):
        events += [span("aten::mm", "cpu_op", 100 * i, 60)] + launched("toy_gemm", 100 * i + 30, 40, i + 1, 100 * i + 10)
    run = imported("none.json", kineto(events))
    expect("one step", steps(run), [("other", 0, 1970000)])
    for command in ("explain", "report", "tree", "path"):
        said = brick(command, run["path"])[0]
        expect_true(f"{command}: {said}", b"the file has none: all of it is one step" in said)
    expect_true("costs without tokens are a step's", b" a step, " in brick("explain", run["path"])[0])
    longer = imported("longer.json", kineto(events + [span("aten::silu", "cpu_op", 2000, 500)]))
    said = brick("diff", run["path"], longer["path"])[0]
    expect_true(f"diff: {said}", b"Activation" in said and said.replace(b"\n" + b" " * 13, b" ").count(b"it has no steps: all of it is one") == 2)
    run = imported("pattern.json", kineto(events), "--step", "aten::mm")
    expect("a pattern of names that are steps", steps(run), [("other", 0, 60000)] * 20)


def model(steps, layers, named=True, ends=True, gap=500):
    """Launches of a model: per step an embedding, layers of eight kernels, and a head; nothing says where a step begins."""
    events, at, link = [], 1000, 0

    def kernel(name):
        nonlocal at, link
        link += 1
        events.extend([span("aten::toy", "cpu_op", at, 9)] + launched(name, at + 30, 8, link, at + 2))
        at += 10
    for _ in range(steps):
        for name in ("embed_kernel", "position_kernel") if ends else ():
            kernel(name)
        for layer in range(layers):
            begin = at
            for i in range(8):
                kernel(f"layer_kernel_{i}")
            if named:
                events.append(span(f"nn.Module: ToyDecoderLayer_{layer}", "user_annotation", begin - 1, at - begin))
        for name in ("norm_kernel", "head_kernel", "sample_kernel") if ends else ():
            kernel(name)
        at += gap
    return kineto(events)


def detected():
    """What repeats is a step, if nothing else says what steps are. Layers repeat, too, and are none."""
    run = imported("repeats.json", model(5, 3))
    expect("steps", len(run["steps"]), 5)
    expect("from the first launch of one to that of the next", [s[2] for s in steps(run)][:4], [790000] * 4)
    for command in ("report", "explain", "tree", "path"):
        said = b" ".join(brick(command, run["path"])[0].split())
        expect_true(f"{command}: {said}", b"detected, because 5 sequences of about 29 commands repeat, 100 % alike" in said)
    hidden = imported("hidden.json", kineto([e for e in training(lambda step: "ProfilerStep") if e["name"] != "ProfilerStep"]))
    expect("steps whose annotations are hidden", len(hidden["steps"]), 3)
    for name, text in (("one step of many layers", model(1, 40)), ("without names", model(1, 40, named=False)),
                       ("a part of a step", model(1, 40, ends=False)), ("two steps", model(2, 3))):
        expect(name, [len(imported("alone.json", text)["steps"]), "steps.none" in [n["key"] for n in run_notes("alone.json")]], [1, True])


def run_notes(name):
    return brick_json("export", "--format", "json", place(name + ".pftrace"))["notes"]


def why_idle():
    """Each ns of a GPU's idle time has a cause: the host that does something else, a launch that takes its time, or a replay."""
    events = [span("ProfilerStep#1", "user_annotation", 1000, 2000),
              *launched("toy_a", 1020, 80, 1, 1000),
              span("aten::mm", "cpu_op", 1110, 50), *launched("toy_b", 1170, 30, 2, 1150),
              span("cudaMalloc", "cuda_runtime", 1210, 40), *launched("toy_c", 1262, 38, 3, 1250),
              span("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "user_annotation", 1310, 90),
              *launched("toy_d", 1410, 90, 4, 1400, "cudaGraphLaunch"), *launched("toy_e", 1505, 95, 4),
              *launched("toy_f", 1700, 10, 5)]
    for i, bytes_ in enumerate((1 << 30, 3 << 30, 2 << 30)):
        events.append({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 100, "tid": 100, "ts": 1000 + i,
                       "args": {"Device Type": 1, "Device Id": 0, "Total Allocated": bytes_, "Bytes": 1}})
    # another stream copies beneath the last kernel but one, and beyond it
    events.append({"ph": "X", "name": "Memcpy HtoD (Pageable -> Device)", "cat": "gpu_memcpy", "pid": 0, "tid": 8, "ts": 1580, "dur": 60,
                   "args": {"device": 0, "stream": 8, "correlation": 4, "bytes": 1000}})
    run = imported("idle.json", kineto(events))
    report = brick_json("report", "--json", run["path"])
    gpu, = report["device"]["gpus"]
    expect("busy", (gpu["wall_ns"], gpu["busy_ns"], gpu["idle_ns"]), (690000, 383000, 307000))
    expect("exposed", (gpu["compute_ns"], gpu["exposed_transfer_ns"], gpu["exposed_collective_ns"]), (343000, 40000, 0))
    expect("memory", (gpu["memory_bytes"], gpu["memory_peak_bytes"]), (8 << 30, 3 << 30))
    idle = {cause: part["time_ns"] for cause, part in gpu["idle"].items()}
    expect("why", idle, {"between-operators": 30000, "operator": 40000, "allocation": 40000, "data-loader": 90000, "launch": 42000,
                         "replay": 5000, "unknown": 60000})
    expect("all of it", sum(idle.values()), gpu["idle_ns"])
    expect("by what", gpu["idle"]["allocation"]["brick"], "cudaMalloc")
    copy = next(row for row in report["bricks"] if row["name"] == "DeviceCopy")
    expect("what is hidden", (copy["device_ns"], copy["exposed_ns"]), (60000, 40000))
    said = b" ".join(brick("report", run["path"])[0].split())
    expect_true(f"in words: {said}", b"GPU busy 55.5% of 690\xc2\xb5s (5.8% only transfers), idle 307\xc2\xb5s; at most 3.22GB allocated of "
                b"8.59GB; idle because: 29.3% the data loader (most in DataLoading)" in said)


def collectives():
    """Kind, group, size and bandwidth of collectives, what hides them, and what waits for them."""
    def collective(name, elements, ts, dur, link, kernel="ncclDevKernel_Generic", into=None):
        call, event = launched(kernel, ts, dur, link, ts - 50)
        event["tid"] = event["args"]["stream"] = 8
        event["args"].update({"Collective name": name, "In msg nelems": elements, "Out msg nelems": into or elements, "dtype": "BFloat16",
                              "Group size": 4, "Process Group Description": "toy_group"})
        return [call, event]
    events = [span("ProfilerStep#1", "user_annotation", 0, 1000), span("aten::mm", "cpu_op", 95, 30), *launched("toy_gemm", 120, 80, 1, 100),
              *collective("allreduce", 5000, 160, 100, 2), span("aten::silu", "cpu_op", 195, 30), *launched("toy_silu", 262, 20, 3, 200),
              *collective("_allgather_base", 1000, 400, 8, 4, into=4000)]
    found = {c["name"]: c for c in brick_json("report", "--json", imported("collectives.json", kineto(events))["path"])["device"]["collectives"]}
    check_gpus(place("collectives.json.pftrace"))
    reduce, gather = found["AllReduce"], found["AllGather"]
    expect("group", (reduce["group"], reduce["ranks"]), ("4 ranks of toy_group", 4))
    named = collective("allreduce", 5000, 160, 100, 2)
    named[1]["args"].update({"Process Group Description": "undefined", "Process Group Name": "3"})
    group = brick_json("report", "--json", imported("group.json", kineto(named))["path"])["device"]["collectives"][0]["group"]
    expect("a group whose name is a number", group, "4 ranks of group 3")
    expect("bytes", (reduce["bytes"], gather["bytes"]), (10000, 8000))
    expect("time", (reduce["time_ns"], reduce["exposed_ns"], reduce["hidden_ns"]), (100000, 60000, 40000))
    expect("bandwidths", [round(c[key]) for c in (reduce, gather) for key in ("bytes_per_s", "bus_bytes_per_s")],
           [100000000, 150000000, 1000000000, 750000000])
    expect("who waited", (reduce["waiter"], reduce["waiter_ns"], gather["waiter"]), ("Activation", 60000, None))
    said = b" ".join(brick("report", place("collectives.json.pftrace"))[0].split())
    expect_true(f"in words: {said}", b"AllReduce, 4 ranks of toy_group: 1 of 100\xc2\xb5s, 10.0kB each, 0.10 GB/s (bus 0.15); 60.0% exposed" in said)


def hidden_waits():
    """Waits that nobody asked for are named by who needed a value, memory or a copy."""
    def copy(name, ts, dur, link):
        return {"ph": "X", "name": name, "cat": "gpu_memcpy", "pid": 0, "tid": 7, "ts": ts, "dur": dur,
                "args": {"device": 0, "stream": 7, "correlation": link, "bytes": 4}}
    events = [span("aten::item", "cpu_op", 100, 200), span("aten::_local_scalar_dense", "cpu_op", 105, 190),
              *launched("toy_gemm", 50, 150, 1, 20), span("cudaMemcpyAsync", "cuda_runtime", 110, 10, correlation=2),
              copy("Memcpy DtoH (Device -> Pinned)", 205, 5, 2), span("cudaStreamSynchronize", "cuda_runtime", 125, 100, correlation=3),
              # the program asked for this one
              *launched("toy_silu", 340, 60, 4, 320), span("cudaDeviceSynchronize", "cuda_runtime", 350, 100, correlation=5),
              # a GPU that works is waited for by cudaFree; without work it is not
              *launched("toy_act", 480, 70, 6, 460), span("cudaFree", "cuda_runtime", 470, 100), span("cudaFree", "cuda_runtime", 600, 100)]
    events += [span("aten::to", "cpu_op", 800, 100), span("cudaMemcpyAsync", "cuda_runtime", 810, 80, correlation=7),
               copy("Memcpy DtoH (Device -> Pageable)", 820, 60, 7)]
    run = imported("hidden.json", kineto(events))
    found = brick_json("report", "--json", run["path"])["device"]["hidden_waits"]
    expect("who waited", [(w["asker"], w["call"], w["count"], w["time_ns"], w["commands"]) for w in found],
           [("aten::item", "Synchronize", 1, 100000, 2), ("cudaFree", "cudaFree", 1, 100000, 1), ("aten::to", "cudaMemcpyAsync", 1, 80000, 1)])
    expect("for which kernels", [w["kernel"] for w in found], ["Memcpy DtoH (Device -> Pinned)", "toy_act", "Memcpy DtoH (Device -> Pageable)"])
    said = b" ".join(brick("report", "--trust", run["path"])[0].split())
    expect_true(f"in words: {said}", b"Hidden waits aten::item 1 times, 100\xc2\xb5s, for 2 commands" in said)


def captured():
    """Kernels of a replay have the operator, module and layer that the trace of its capture tells."""
    def pieces(kernels, at, link, told):
        return [launched(kernel, 0, 0, link + i, at + 20 + 20 * i)[0] | {"args": {"correlation": link + i} | ({"kernel": kernel} if told else {})}
                for i, kernel in enumerate(kernels)]

    def capture(told):
        events = []
        for layer in range(2):
            at = 1000 * layer
            events += [span("cudaStreamBeginCapture", "cuda_runtime", at, 5, correlation=at + 1),
                       span(f"nn.Module: ToyDecoderLayer_{layer}", "python_function", at + 10, 900),
                       span("aten::mm", "cpu_op", at + 15, 20), span("aten::silu", "cpu_op", at + 38, 15),
                       *pieces(("toy_gemm", "toy_act"), at, at + 2, told),
                       span("cudaStreamEndCapture", "cuda_runtime", at + 950, 5, correlation=at + 9)]
        # a graph of other kernels belongs to no replay
        events += [span("cudaStreamBeginCapture", "cuda_runtime", 3000, 5, correlation=3001),
                   *pieces(("toy_other", "toy_act", "toy_act"), 3000, 3002, told),
                   span("cudaStreamEndCapture", "cuda_runtime", 3950, 5, correlation=3009)]
        return kineto(events)
    replays = []
    for i in range(5):
        at, names_ = 1000 * i, ("toy_gemm", "toy_act") if i < 4 else ("toy_unknown", "toy_act", "toy_act", "toy_act")
        replays += [span("cudaGraphLaunch", "cuda_runtime", at, 10, correlation=i + 1)]
        replays += [launched(name, at + 100 + 60 * k, 50, i + 1)[0] for k, name in enumerate(names_)]
    for told in (True, False):
        folder = place(f"captures-{told}")
        os.makedirs(folder, exist_ok=True)
        with gzip.open(os.path.join(folder, "rank0.json.gz"), "wt") as file:
            file.write(capture(told))
        run = imported(f"replays-{told}.json", kineto(replays), "--capture", folder)
        expect_true(run["said"], "4 of 5 replays of graphs are named by the 3 captures" in run["said"])
        expect("operators and layers", [s[1:3] for s in samples(run, "queue")][:8], [("MatrixProduct", 0), ("Activation", 0),
                                                                                     ("MatrixProduct", 1), ("Activation", 1)] * 2)
        expect("of the last", [s[1] for s in samples(run, "queue")][8:], ["toy_unknown", "toy_act", "toy_act", "toy_act"])
        lane = next(lane for lane in run["lanes"] if lane["kind"] == "queue")
        sites = [run["sites"][s[2]] for s in lane["samples"][:2]]
        expect("operator and module", [(s["operation"], s["label"]) for s in sites], [("aten::mm", "ToyDecoderLayer_0"), ("aten::silu", "ToyDecoderLayer_0")])
    _, err = brick("import", "--capture", place("nowhere"), "-o", place("no.pftrace"), place("replays-True.json"), code=3)
    expect_true(f"{err}", b"nowhere: No such file" in err)


def asynchronous():
    def point(phase, number, ts):
        return {"ph": phase, "cat": "request", "id": str(number), "name": "request", "pid": 1, "tid": 1, "ts": ts}
    run = imported("async.json", json.dumps([point(p, n, 100 * n + t) for n in range(3) for p, t in (("b", 0), ("e", 250))]))
    expect("spans", [(s[0], s[1], s[4] - s[3]) for s in samples(run, "queue")], [("Asynchronous", "request", 250000)] * 3)
    run = imported("host.json", json.dumps([point("b", 0, 0), point("e", 0, 250), span("work", "", 0, 1000)]))
    expect_true("they are no device's", b"device" not in brick("explain", run["path"])[0])


def names():
    kernels = ["void toy::gemm<" + "float, " * 40 + f"tile_{i}>(args)" for i in range(3)]
    middles = ["void toy::gemm<" + "float, " * 40 + f"tile_{i}" + ", float" * 40 + ">(args)" for i in range(3)]
    run = imported("long.json", kineto([e for i, name in enumerate(kernels + middles)
                                        for e in launched(name, 100 * i + 20, 50, i + 1, 100 * i)]))
    expect("names stay apart", len({k["name"] for k in run["kernels"]}), 6)

    known = {"aten::cudnn_convolution": "Convolution", "aten::miopen_convolution": "Convolution",
             "aten::cudnn_batch_norm": "BatchNorm", "aten::cudnn_batch_norm_backward": "BatchNorm",
             "aten::_flash_attention_forward": "FlashAttention", "flash_attn::_flash_attn_forward": "FlashAttention",
             "aten::_foreach_add_": "Elementwise", "aten::_fused_adamw_": "OptimizerStep", "aten::threshold_backward": "Activation", "aten::clamp_min": "Elementwise",
             "nccl:all_reduce": "AllReduce", "nccl:all_to_all": "AllToAll", "nccl:_all_gather_base": "AllGather"}
    events = []
    for i, name in enumerate(known):
        events.append(span(name, "user_annotation" if name.startswith("nccl") else "cpu_op", 100 * i, 80))
        events += launched("ncclDevKernel_Toy" if name.startswith("nccl") else f"toy_kernel_{i}", 100 * i + 40, 30, i + 1, 100 * i + 10)
    run = imported("operators.json", kineto(events))
    expect("operators", [s[1] for s in samples(run, "thread") if s[1] != "cudaLaunchKernel"], list(known.values()))
    expect("their kernels", [s[1] for s in samples(run, "queue")], list(known.values()))

    told = {"Cijk_Ailk_Bljk_HHS_BH_MT64x64": "MatrixProduct", "cutlass_80_tensorop_f16": "MatrixProduct", "flash_fwd_kernel": "FlashAttention",
            "rms_norm_kernel": "RmsNorm", "triton_poi_fused_add_0": "FusedKernel", "miopenSp3AsmConv_v30": "Convolution"}
    replay = [span("<built-in method replay of toy object at 0x7f00>", "python_function", 0, 900),
              span("cudaGraphLaunch", "cuda_runtime", 10, 300, correlation=1)]
    for i, name in enumerate(told):
        replay += launched(name, 100 + 60 * i, 50, 1)
    run = imported("replay.json", kineto(replay))
    expect("kernels of a replay say what they are", [s[1] for s in samples(run, "queue")], list(told.values()))
    expect("all are the launch's", [c[3] >= 0 for c in run["commands"]], [True] * len(told))


def nsight(name, text, start=12000, call="cudaLaunchKernel_v7000"):
    """An export with one launch, which begins at `start`, in each of four ranges."""
    path = place(name)
    db = sqlite3.connect(path)
    thread, process = 100 << 24 | 100, 100 << 24
    db.executescript("""
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER,
            globalPid INTEGER, demangledName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER,
            blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, registersPerThread INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
        CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER,
            domainId INTEGER);
        CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);
        INSERT INTO TARGET_INFO_GPU VALUES (0, 'Example GPU 9000');
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
    """)
    db.execute("INSERT INTO StringIds VALUES (0, ?), (1, 'toy_gemm')", (call,))
    for i in range(4):
        at = 10000 * i
        db.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, ?, NULL, 0)", (11000 + at, 19000 + at, text(i), thread))
        begin = start + at if i == 0 else 12000 + at
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, 0)", (begin, begin + 1000, thread, i + 1))
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 7, ?, ?, 1, 8, 1, 1, 128, 1, 1, 0, 0, 32)",
                   (14000 + at, 18000 + at, i + 1, process))
    db.commit()
    db.close()
    return imported_file(path)


def nsight_exports():
    for name, call, want in (("a", "cudaLaunchKernel_v7000", "cudaLaunchKernel"), ("b", "cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel"),
                             ("c", "cuMemAlloc_v2", "cuMemAlloc")):
        run = nsight(f"call-{name}.sqlite", lambda i: f"FSDP::pre_forward (blocks.{i}._toy_wrapped_module)", call=call)
        expect_true(call, want in {s[1] for s in samples(run, "thread")})
    expect("layers of ranges", sorted({s[2] for s in samples(run, "thread")}), [0, 1, 2, 3])
    expect("layers of kernels", [s[2] for s in samples(run, "queue")], [0, 1, 2, 3])
    expect_true("the device", b"Example GPU 9000" in brick("report", run["path"])[0])
    run = nsight("negative.sqlite", lambda i: "range", start=-3000)
    expect("what began before the session", samples(run, "thread")[0][3:], (0, 1000))
    expect("the others are there", len(samples(run)), 12)


def packed():
    """A packed file is read as it is, however it is cut into parts."""
    events = training(lambda step: f"ProfilerStep#{step + 1}")
    plain = imported("plain.json", kineto(events))
    run = imported("packed.json.gz", gzip.compress(kineto(events).encode()))
    expect("the same", samples(run), samples(plain))
    # more than a window, with an event that is longer than one
    long = [span("x" * 3000000, "cpu_op", 0, 5)] + [span("aten::mm", "cpu_op", 10 * i, 5) for i in range(1, 30000)]
    run = imported("long.json.gz", gzip.compress(kineto(long).encode(), 1))
    expect("all events", len(samples(run)), 30000)
    whole = gzip.compress(kineto(long).encode(), 1)
    for cut in (100, len(whole) // 2):
        with open(place("cut.json.gz"), "wb") as file:
            file.write(whole[:cut])
        _, err = brick("import", "-o", place("no.pftrace"), place("cut.json.gz"), code=3)
        expect_true(f"cut off: {err}", b"ends here" in err or b"cut off" in err)
    broken = gzip.compress(kineto(long)[:-2].encode() + b"\n\n!]}", 1)
    with open(place("broken.json.gz"), "wb") as file:
        file.write(broken)
    _, err = brick("import", "-o", place("no.pftrace"), place("broken.json.gz"), code=3)
    expect_true(f"the place is that of the text: {err}", f"line 3, byte {len(kineto(long))}".encode() in err)


def rocprof():
    """rocprofv3's JSON and CSV: the same five kernels, a copy, and the calls that launched them."""
    def times(i):
        return {"start_timestamp": 1000 * i + 1000, "end_timestamp": 1000 * i + 1500}
    size = {"workgroup_size": {"x": 256, "y": 1, "z": 1}, "grid_size": {"x": 1024, "y": 1, "z": 1}}
    tool = {
        "metadata": {"pid": 100},
        "agents": [{"id": {"handle": 7}, "type": 1, "name": "a CPU"},
                   {"id": {"handle": 9}, "type": 2, "name": "gfx000", "product_name": "Example GPU 9000"}],
        "kernel_symbols": [{"kernel_id": 0}, {"kernel_id": 1, "formatted_kernel_name": "toy_gemm(float*)"}],
        "strings": {"buffer_records": [{"kind": "NONE", "operations": []}, {"kind": "HIP", "operations": ["hipLaunchKernel"]},
                                       {"kind": "COPY", "operations": ["NONE", "MEMORY_COPY_HOST_TO_DEVICE"]}]},
        "buffer_records": {
            "kernel_dispatch": [{"kind": 0, "operation": 0, "thread_id": 100, "correlation_id": {"internal": i}, **times(i),
                                 "dispatch_info": {"agent_id": {"handle": 9}, "queue_id": {"handle": 1}, "kernel_id": 1, **size}}
                                for i in range(1, 6)],
            "hip_api": [{"kind": 1, "operation": 0, "thread_id": 100, "correlation_id": {"internal": i},
                         "start_timestamp": 1000 * i, "end_timestamp": 1000 * i + 100} for i in range(1, 6)],
            "memory_copy": [{"kind": 2, "operation": 1, "thread_id": 100, "correlation_id": {"internal": 9}, "bytes": 4096,
                             "dst_agent_id": {"handle": 9}, "src_agent_id": {"handle": 7}, **times(8)}]}}
    run = imported("rocprof.json", json.dumps({"rocprofiler-sdk-tool": [tool]}))
    expect("kernels", [s[4] - s[3] for s in samples(run, "queue") if s[1] == "MatrixProduct"], [500] * 5)
    expect("a copy", [s[1] for s in samples(run, "queue")].count("DeviceCopy"), 1)
    expect("launches", sum(c[3] >= 0 for c in run["commands"]), 5)
    expect("calls", [s[1] for s in samples(run, "thread")], ["hipLaunchKernel"] * 5)
    expect("groups, of which a launch has four", [k["grid"] for k in run["kernels"] if k["kind"] == "compute"], [[4, 1, 1]])
    expect_true("the device", b"Example GPU 9000" in brick("report", run["path"])[0])

    table = ('"Kind","Agent_Id","Queue_Id","Thread_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp",'
             '"Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n')
    for i in range(1, 6):
        table += f'"KERNEL_DISPATCH","Agent 4",1,100,"toy_gemm<""a"", int>(float*, int)",{i},{1000 * i},{1000 * i + 500},256,1,1,1024,1,1\n'
    run = imported("kernel_trace.csv", table)
    expect("rows", [(s[1], s[4] - s[3]) for s in samples(run, "queue")], [("MatrixProduct", 500)] * 5)
    expect("a name with quotes and commas", run["kernels"][0]["name"], 'toy_gemm<"a", int>(float*, int)')
    # no event of a host: the file as a whole is the step
    expect("a step", steps(run), [("other", 0, 4500)])
    for command in (("report",), ("explain",), ("path",), ("tree",), ("diff", run["path"])):
        said = b" ".join(brick(*command, run["path"])[0].split())
        expect_true(f"{command}: {said}", b"MatrixProduct" in said or b"toy_gemm" in said or command == ("path",))
        expect_true(f"{command}: {said}", b"it is one step, of a host that it does not show" in said or command[0] == "diff")
    expect_true("all of it, of a host that the file has not", b"host (not in the file)" in brick("report", "--by", "thread", run["path"])[0])
    expect_true("the GPU's time", b"the GPU computes or copies 55.6% of it" in b" ".join(brick("explain", run["path"])[0].split()))
    # two GPUs that do the same by turns: a part of both is none of one
    kernels = [{**launched("gemm_kernel", 50 * i + 450 * gpu, 50, 100 * gpu + i + 1)[0], "pid": gpu} for gpu in (0, 1) for i in range(11)]
    for number, kernel in enumerate(kernels):
        kernel["args"] = {**kernel["args"], "device": number // 11}
    run = imported("turns.json", kineto(kernels))
    said = b" ".join(brick("explain", run["path"])[0].split())
    expect_true(f"two GPUs: {said}", b"one of 2 GPUs computes or copies 55.0% of it; MatrixProduct runs most, on one or more of them for "
                b"100.0% of the time" in said)


def message(*fields):
    """A protobuf of (number, int or bytes)."""
    def varint(n):
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
    return b"".join(varint(f << 3) + varint(v) if isinstance(v, int) else varint(f << 3 | 2) + varint(len(v)) + v for f, v in fields)


def xplane():
    """XLA's XSpace: kernels on a GPU's streams, the host's calls that launched them, lines that repeat kernels."""
    def event(name, offset, length, link):
        return message((1, name), (2, offset * 1000), (3, length * 1000), (4, message((1, 5), (3, link))))

    def table(field, names):
        return [(field, message((1, i), (2, message((1, i), (2, name))))) for i, name in names]
    stats = table(5, [(5, b"correlation_id")])
    gpu = message((2, b"/device:GPU:0"), (3, message((1, 3), (2, b"Stream #7(Kernel)"), (3, 1000), (4, event(1, 500, 200, 9)),
                                                     (4, event(1, 900, 200, 10)))),
                  (3, message((1, 4), (2, b"XLA Modules"), (3, 1000), (4, event(2, 500, 600, 0)))),
                  *table(4, [(1, b"toy_gemm"), (2, b"jit_toy")]), *stats)
    host = message((2, b"/host:CPU"), (3, message((1, 42), (2, b"worker"), (3, 1000), (4, event(1, 100, 50, 9)), (4, event(1, 200, 50, 10)))),
                   *table(4, [(1, b"hipModuleLaunchKernel")]), *stats)
    run = imported("toy.xplane.pb", message((1, gpu), (1, host)))
    expect("kernels", [(s[0], s[1], s[4] - s[3]) for s in samples(run, "queue")], [("device 0 stream 7", "MatrixProduct", 200)] * 2)
    expect("calls", [(s[0], s[1], s[4] - s[3]) for s in samples(run, "thread")], [("worker", "hipModuleLaunchKernel", 50)] * 2)
    expect("launches", sum(c[3] >= 0 for c in run["commands"]), 2)
    expect_true("what repeats is left out", "1 events have no place" in run["said"])
    for cut in range(1, len(gpu), 7):
        with open(place("cut.xplane.pb"), "wb") as file:
            file.write(message((1, gpu), (1, host))[:-cut])
        _, err = brick("import", "-o", place("no.pftrace"), place("cut.xplane.pb"), code=3)
        expect_true(f"cut off: {err}", b"damaged" in err)


def foreign():
    """A trace of another kind is called by its name."""
    with open(place("toy.pftrace"), "wb") as file:
        file.write(b"\x0a\x10\xe2\x03\x0d\x08\x07\x12\x09toy track")
    _, err = brick("import", "-o", place("no.pftrace"), place("toy.pftrace"), code=3)
    expect_true(f"{err}", b"Perfetto" in err)


def findings(run):
    return {f["rule"]: f for f in brick_json("explain", "--json", run["path"])["findings"]}


def words():
    """Screens say of other tools' files only what these tell, in words that a reader of another tool knows."""
    def steps(number, length, launches):
        gpu = dict(DEVICE, id=number, name=f"Example GPU {number}")
        events = [span("aten::empty", "cpu_op", 0, 5)]
        for at in range(length, 13 * length, length):
            events += [span(f"ProfilerStep#{at // length}", "user_annotation", at, length - 10)]
            for i in range(launches):
                begin = at + 10 + i * (length // launches - 10)
                events += [span("aten::mm", "cpu_op", begin, length // launches - 40), *launched("toy_gemm", begin + 30, 5 + length // 2 // launches, at + i + 1, begin + 5)]
        for event in events:
            event["args"].update({"device": number} if event["cat"] == "kernel" else {})
        return imported(f"words.{number}.json", json.dumps({"schemaVersion": 1, "deviceProperties": [gpu], "traceEvents": events}))
    few, many = steps(1, 200, 1), steps(2, 90000, 2)
    expect("start-up", brick_json("report", "--json", few["path"])["run"]["start_up_ns"], None)
    expect_true("start-up", b"program's start" not in brick("report", few["path"])[0])
    said = b" ".join(brick("diff", few["path"], many["path"], code=1)[0].split())
    expect_true(f"GPUs: {said}", b"Differs GPU: A has Example GPU 1, B has Example GPU 2" in said)
    expect_true(f"notes: {said}", b"cuda.device" not in said and b"gpu." not in said and b"not known)" not in said)
    expect_true(f"its reason: {said}", b"MatrixProduct runs 2.00 times a step instead of 1.00" in said and b"a token" not in said)

    expect_true("GPUs without a name are counted", b", 1 GPU\n" in brick("report", imported("nameless.json", json.dumps(
        {"traceEvents": [span("aten::mm", "cpu_op", 0, 30), *launched("toy_gemm", 40, 100, 1, 10)]}))["path"])[0])

    said = b" ".join(brick("diff", few["path"], steps(3, 260, 1)["path"])[0].split())
    expect_true(f"what one run can show: {said}", re.search(rb"; with so few runs only a difference of about \d+( %|x) or more shows Record 4", said))

    # a browser's thread has nothing to do for most of a file: that is no lost time
    browser = [{"ph": "X", "name": "Paint", "cat": "cc", "pid": 1, "tid": 2, "ts": at, "dur": 10} for at in range(0, 10000, 1000)]
    expect("findings of a browser", findings(imported("browser.json", json.dumps(browser))), {})

    # an event without an end is one, and no word on how the program ended
    browser.append({"ph": "B", "name": "Task", "cat": "cc", "pid": 1, "tid": 2, "ts": 500})
    said = b" ".join(brick("report", imported("open.json", json.dumps(browser))["path"])[0].split())
    expect_true(f"an open event: {said}", b"1 process has events without an end" in said and b"_exit()" not in said)

    # a program that pauses between launches, in no event of the file
    events = []
    for at in range(0, 100000, 10000):
        events += [span("aten::mm", "cpu_op", at, 30), *launched("toy_gemm", at + 40, 100, at + 1, at + 10)]
    run = imported("pauses.json", kineto(events))
    expect_true(f"pauses: {findings(run)}", "host-alone" in findings(run))
    said = brick("explain", run["path"])[0]
    expect_true(f"the cause is not known: {said}", b"the file does not say why" in said and b"let the profiler record more" in said
                and b"another thread" not in said)
    # many short events count together, beside a longer one
    for at in range(0, 100000, 10000):
        events += [span("aten::empty", "cpu_op", at + 1000, 1000)] + [span("aten::view", "cpu_op", begin, 90) for begin in range(at + 3000, at + 9000, 100)]
    said = b" ".join(brick("explain", imported("works.json", kineto(events))["path"])[0].split())
    expect_true(f"what the host does: {said}", b"the host is in TensorView (54" in said)


def main():
    words()
    packed()
    rocprof()
    xplane()
    foreign()
    profiler_steps()
    engine_steps()
    crossing()
    without_steps()
    detected()
    why_idle()
    collectives()
    captured()
    hidden_waits()
    asynchronous()
    names()
    nsight_exports()


main()
