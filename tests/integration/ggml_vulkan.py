# SPDX-License-Identifier: Apache-2.0
"""llama.cpp's Vulkan backend, unmodified, on lavapipe: each dispatch and transfer belongs to a
node's brick and layer, in every version of it that is installed (examples/demo/engine-device.sh vulkan), and the
host's time of recording them is apart from the device's. Where it trains, each lies in its phase of the step."""
import collections
import csv
import glob
import io
import os
import statistics
import subprocess

import libggml as g
from libcli import TMP, brick, brick_json, environment, expect, expect_true
from libscreen import check_screen

# As many layers, and as small a head (3 in 200 of its weights), as models that people run have.
LAYERS, PREDICT = 24, 4
SHAPE = {"layers": LAYERS, "embd": 256, "heads": 4, "kv-heads": 2, "ff": 704, "vocab": 1024}
COST_MOST = 0.04  # of a decode step
ICD = "/usr/share/vulkan/icd.d/lvp_icd." + os.uname().machine + ".json"
# Per graph and layer; norms and projections may be one dispatch or several.
IN_LAYERS = ("RmsNorm", "QkvProjection", "RopeEmbedding", "OutputProjection", "GateProjection",
             "UpProjection", "Activation", "DownProjection")
OUTSIDE = {"LmHead", "RmsNorm", "SplitCopy", "InputCopy", "OutputCopy", "RowGather", "TensorCopy",
           "Graph Vulkan0"}


def engines():
    found = {}
    for root in (g.BUILD, os.path.join(g.SOURCE, "build")):
        for path in glob.glob(os.path.join(root, "demo", "engine-vulkan", "*", "libggml-vulkan.so")):
            found.setdefault(os.path.basename(os.path.dirname(path)), os.path.dirname(path))
    if not found:
        g.skip("no Vulkan backend: run examples/demo/engine-device.sh vulkan")
    if not os.path.exists(ICD):
        g.skip("no lavapipe: " + ICD)
    return found


def model():
    path = os.path.join(TMP, "small.gguf")
    options = [text for name, value in SHAPE.items() for text in ("--" + name, str(value))]
    subprocess.run([os.path.join(g.BUILD, "bin", "brick-model"), *options, path],
                   check=True, stdout=subprocess.DEVNULL)
    return path


def flash_of(libs):
    """3.14.0 corrupts its heap with flash attention on lavapipe, without Brick too."""
    return "off" if os.path.basename(libs) == "3.14.0" else "on"


def run(libs, gguf, *options, **how):
    return start([g.LLAMA, "--libs", libs, "--model", gguf, "--prompt-tokens", "8", "--predict", str(PREDICT), "--flash",
                  flash_of(libs), *options], **how)


def start(command, record=None, device="0", attach="auto"):
    before = [os.path.join(g.BUILD, "bin", "brick"), "record", "-q", "--attach", attach, "-o",
              record, "--"]
    cache = os.path.join(g.BUILD, "demo", "shader-cache")  # compiling takes most of the time
    done = subprocess.run(
        [*(before if record else []), *command], capture_output=True, text=True, timeout=1700,
        env=environment(GGML_VK_VISIBLE_DEVICES=device, VK_ICD_FILENAMES=ICD,
                        MESA_SHADER_CACHE_DIR=cache))
    expect("exit: " + done.stderr, done.returncode, 0)
    return done.stdout


def rows_of(path):
    rows = list(csv.DictReader(io.StringIO(brick("export", "--format", "csv", path)[0].decode())))
    for row in rows:
        row["begin"], row["length"] = int(row["begin_ns"]), int(row["duration_ns"])
    return rows, [row for row in rows if row["source"] == "timestamp-query"]


def time_of(rows):
    return sum(row["length"] for row in rows)


def typical_time(rows):
    """Each command with the median of its kernel: the renderer's threads are preempted, and then one command takes all the time."""
    lengths = collections.defaultdict(list)
    for row in rows:
        lengths[row["kernel"]].append(row["length"])
    return sum(statistics.median(of_one) * len(of_one) for of_one in lengths.values())


def check_owners(rows, device):
    """Loading the model is not a step: what that copies is nobody's."""
    first = min(row["begin"] for row in rows if row["brick"] == "RecordCommands")
    stepped = [row for row in device if row["begin"] >= first]
    named = [row for row in stepped if row["brick"] != row["kernel"]]
    placed = [row for row in named if int(row["layer"]) >= 0]
    rest = [row for row in stepped if row["brick"] == row["kernel"] or int(row["layer"]) < 0]
    inside, outside = typical_time(placed), typical_time(rest)
    expect_true(f"{inside} of {inside + outside} ns in bricks with a layer", inside >= 0.95 * (inside + outside))
    nobody = {row["kernel"] for row in stepped} - {row["kernel"] for row in named}
    expect("kernels of nobody", nobody, set())
    count = collections.Counter((row["brick"], int(row["layer"])) for row in named)
    for brick_name in IN_LAYERS:
        numbers = {count.pop((brick_name, layer), 0) for layer in range(LAYERS)}
        expect_true(f"{brick_name}: {numbers} commands in layers", min(numbers) >= PREDICT)
    outside = {name for name, layer in count if layer < 0}
    expect_true(f"outside of layers: {outside}", outside <= OUTSIDE)
    expect("unknown", {n for n, layer in count if layer >= 0} -
           {"FlashAttention", "AttentionScore", "AttentionSoftmax", "AttentionOutput",
            "KvCacheWrite", "ResidualAdd", "RowGather", "TensorCopy"}, set())


def check_names(device):
    names = {row["kernel"] for row in device if not row["kernel"].startswith("vkCmd")}
    expect("named after hashes alone", {n for n in names if n.startswith("main")}, set())
    first = {n.split(" ")[0] for n in names}
    expect_true(f"fused and single operations: {first}",
                {"RMS_NORM+MUL", "MUL_MAT", "SWIGLU"} <= first and
                ({"FLASH_ATTN_EXT", "SOFT_MAX"} & first))


def check_sums(path, device):
    """A brick's device time is the sum of its commands' own: none of one brick overlap here."""
    report = brick_json("report", "--json", path)
    have = {row["name"]: row["device_ns"] for row in report["bricks"] if row["device_ns"]}
    want = collections.Counter()
    for row in device:
        want[row["brick"]] += row["length"]
    expect("bricks", set(have), set(want))
    for name in want:
        expect_true(f"{name}: {have[name]} of {want[name]} ns",
                    abs(have[name] - want[name]) <= 0.001 * want[name] + 2)
    expect("steps", [report["steps"][phase]["count"] for phase in ("prefill", "decode")],
           [1, PREDICT - 1])
    for phase in report["by_phase"].values():
        expect_true(f"coverage: {phase['coverage']}", phase["coverage"]["share"] > 0.97)
    lost = {k: v for k, v in report["losses"].items() if k != "complete" and v}
    expect("losses", lost, {})


def check_host(rows):
    record = [row for row in rows if row["brick"] == "RecordCommands"]
    expect("layers", {int(row["layer"]) for row in record}, {-1, *range(LAYERS)})
    expect("is work of the engine", {row["category"] for row in record}, {"Engine"})
    expect_true("no device's node is the host's time too",
                not [r for r in rows if r["source"] == "tsc" and r["brick"] in IN_LAYERS])


def check_shown(path, device):
    """Other views of the same: the tree names them, and each layer has the device time of its commands."""
    shown = collections.Counter()
    for phase in ("prefill", "decode"):
        rows = brick_json("report", "--by", "layer", "--phase", phase, "--json", path)["layers"]
        busy = {row["name"]: row["device_ns"] for row in rows}
        expect_true(f"{phase}, device time by layer: {busy}", all(busy[f"layer {i}"] for i in range(LAYERS)))
        shown.update({name: ns for name, ns in busy.items() if name.startswith("layer")})
    exported = collections.Counter()
    for row in device:
        if int(row["layer"]) >= 0:
            exported[f"layer {row['layer']}"] += row["length"]
    expect("layers", set(shown), set(exported))
    for name, ns in exported.items():
        expect_true(f"{name}: {shown[name]} of {ns} ns", abs(shown[name] - ns) <= 0.001 * ns + 2)
    tree = brick("tree", path)[0].decode()
    expect_true(f"tree: {tree}", "RecordCommands" in tree and "RMS_NORM+MUL (SPIR-V" in tree)
    homes = set()

    def visit(node, layer, name):
        for below in node["children"]:
            if below["kind"] == "kernel":
                homes.add((name, layer))
            visit(below, below["name"] if below["kind"] == "layer" else layer,
                  below["name"] if below["kind"] == "brick" else name)
    visit(brick_json("tree", "--json", path)["trees"][0]["tree"], None, None)
    expect_true(f"commands stand below their nodes: {homes}",
                {(name, layer) for name, layer in homes if name == "UpProjection"} ==
                {("UpProjection", layer) for layer in {l for _, l in homes} - {None}})


def check_path(path):
    """The critical path leads through waits into what the device did for them."""
    section, = [s for s in brick_json("path", "--phase", "decode", "--json", path)["sections"]
                if s["phase"] == "decode"]
    queue = sum(t["on_path_ns"] for t in section["threads"] if "queue" in t["name"])
    rows = {row["name"]: row["on_path_ns"] for row in section["bricks"]}
    expect_true(f"{queue} of {section['path_ns']} ns on the queue", queue > 0.3 * section["path_ns"])
    expect_true(f"bricks of the device, not the wait: {rows}",
                rows["UpProjection"] > 0 and rows.get("Synchronize", 0) < queue)


def cost_of_marker(path):
    """Of a decode step; each hook's time, as far as it was measured in place, and what the layer takes on the host."""
    return brick_json("report", "--json", path)["distortion"]["decode"]["share"]


def whole(version, libs, gguf):
    path = os.path.join(TMP, version + ".pftrace")
    plain = run(libs, gguf)
    for _ in range(3):  # one of the few calls that are timed may have been preempted
        expect(version + ": tokens", run(libs, gguf, record=path), plain)
        cost = cost_of_marker(path)
        if cost <= COST_MOST:
            break
    expect_true(f"{version}: marking nodes took {cost} of a token", 0 < cost <= COST_MOST)
    rows, device = rows_of(path)
    check_owners(rows, device)
    check_names([row for row in device if row["brick"] != row["kernel"]])
    check_sums(path, device)
    check_host(rows)
    check_shown(path, device)
    check_path(path)
    print(f"{version}: {len(device)} commands; {cost:.2%} of a token for the marker")


def split(libs, gguf):
    """The last layer on the device, the others on the CPU: both have their nodes."""
    path = os.path.join(TMP, "split.pftrace")
    run(libs, gguf, "--gpu-layers", "2", record=path)
    check_screen(path)
    rows, device = rows_of(path)
    layers = {source: {int(row["layer"]) for row in rows if row["brick"] == "UpProjection" and
                       row["source"] == source} for source in ("tsc", "timestamp-query")}
    copies = [row for row in rows if row["brick"] == "SplitCopy"]
    expect_true(f"{len(copies)} copies from one backend to another", len(copies) >= PREDICT)
    both = layers["tsc"] | layers["timestamp-query"]
    expect_true(f"layers of CPU and device: {layers}", both == set(range(LAYERS)) and
                not layers["tsc"] & layers["timestamp-query"] and layers["tsc"])


def by_callback(libs, gguf):
    """Each node's brick holds what it launched; nothing breaks the order of its thread."""
    path = os.path.join(TMP, "callback.pftrace")
    expect("tokens", run(libs, gguf, record=path, attach="callback"), run(libs, gguf))
    report = brick_json("report", "--json", path)
    expect("losses", {k: v for k, v in report["losses"].items() if v}, {"complete": True})
    rows = {row["name"]: row for row in report["bricks"]}
    for name in ("QkvProjection", "UpProjection", "DownProjection"):
        row = rows[name]
        expect(name + ": source", set(row["source"].split("+")), {"callback", "timestamp-query"})
        expect_true(f"{name}: {row}", row["count"] >= LAYERS * PREDICT and row["share"] > 0 and
                    row["flops"] and row["device_ns"] <= row["total_ns"])


def check_work(device, host):
    """A product is as much work on the device as on the CPU: told once, in one command of several."""
    ceilings = os.path.join(TMP, "ceilings.json")
    with open(ceilings, "wb") as file:
        file.write(brick("ceilings", "--quick", "--threads", "1", "--json",
                         XDG_CACHE_HOME=TMP, VK_ICD_FILENAMES=ICD,
                         OCL_ICD_VENDORS="/nowhere")[0])
    on = {}
    for path in (device, host):
        rows = brick_json("roofline", "--phase", "decode", "--ceilings", ceilings, "--json", path)
        on[path] = {row["name"]: row for row in rows["bricks"] if row["device"] == (path == device)}
    for name in ("QkvProjection", "GateProjection", "UpProjection", "LmHead"):
        a, b = on[device][name], on[host][name]
        expect(name, [a[key] for key in ("count", "flops", "bytes")],
               [b[key] for key in ("count", "flops", "bytes")])
        # a renderer on a shared CPU may be measured with a cache whose edge its data lie at: then no level is known
        levels = ["cache", "memory"] + ([None] if "no-level" in a["flags"] else [])
        expect_true(f"{name} under the device's roof: {a}", a["roof"]["bandwidth_level"] in levels and
                    a["roof"]["peak_isa"] == "kernel")
    expect("FLOPs of a norm and its weight", on[device]["RmsNorm"]["flops"],
           on[host]["RmsNorm"]["flops"])
    # The device adds what is left over at the end of the product: its FLOPs are the product's then,
    # and what is handed on is no byte.
    fused = ("OutputProjection", "DownProjection", "ResidualAdd")
    flops, size = ([sum(on[path][name][key] or 0 for name in fused if name in on[path])
                    for path in (device, host)] for key in ("flops", "bytes"))
    expect("FLOPs of products and sums", flops[0], flops[1])
    expect_true(f"bytes of products and sums: {size}", size[0] <= size[1])


def without_device(libs, gguf, device_path):
    path = os.path.join(TMP, "cpu.pftrace")
    run(libs, gguf, record=path, device="")
    rows, device = rows_of(path)
    expect("commands", [row for row in device if row["brick"] != row["kernel"]], [])
    expect("marker", [row for row in rows if row["brick"] in ("RecordCommands", "SplitCopy")], [])
    expect_true("nodes", any(row["brick"] == "UpProjection" for row in rows))
    check_work(device_path, path)


PHASES = {"Forward": {"UpProjection", "Loss"}, "Backward": {"Gradient", "BackwardProduct"}, "OptimizerStep": {"WeightUpdate"}}


def homes_of(tree):
    """Bricks that commands stand below, by the phase of training around them."""
    found = collections.defaultdict(set)

    def visit(node, phase, name):
        if node["kind"] == "brick":
            phase, name = (node["name"], None) if node["name"] in PHASES else (phase, node["name"])
        if node["kind"] == "kernel" and name not in OUTSIDE | {"Launch", "RecordCommands"}:
            found[phase].add(name)
        for below in node["children"]:
            visit(below, phase, name)
    visit(tree, None, None)
    return dict(found)


def trained(libs, device, steps=4):
    """A product that is trained, with all of it on the device, or the loss and its gradient on the CPU."""
    path = os.path.join(TMP, device + ".pftrace")
    command = [g.TRAIN, os.path.realpath(libs), device, str(steps)]
    expect(device + ": weights", start(command, record=path), start(command))
    on_cpu = {"Loss", "Gradient"} if device == "split" else set()
    rows = [row for row in rows_of(path)[1] if row["category"] != "Engine" and row["brick"] != row["kernel"]]
    time = {phase: time_of(row for row in rows if row["brick"] in bricks) for phase, bricks in PHASES.items()}
    report = brick_json("report", "--json", path)
    training = report["steps"]["training"]
    expect(device + ": steps", (training["count"], training["tokens"]), (steps, 8 * steps))
    names = {"Forward": "forward_ns", "Backward": "backward_ns", "OptimizerStep": "optimizer_ns"}
    expect(device + ": phases on it", training["device"], {names[phase]: ns for phase, ns in time.items()})
    expect_true(f"{device}: {training}", min([*time.values(), *(training[name] for name in names.values())]) > 0)
    tree = brick_json("tree", "--step", "prefill", "--json", path)["trees"][0]["tree"]
    expect(device + ": tree", homes_of(tree), {phase: bricks - on_cpu for phase, bricks in PHASES.items()})


found = engines()
gguf = model()
for version in sorted(found):
    whole(version, found[version], gguf)
newest = found[max(found)]
split(newest, gguf)
trained(newest, "vulkan")
trained(newest, "split")
by_callback(newest, gguf)
without_device(newest, gguf, os.path.join(TMP, max(found) + ".pftrace"))
