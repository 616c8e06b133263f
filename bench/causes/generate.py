# SPDX-License-Identifier: Apache-2.0
"""Draws faulty runs: a program, a model's shape, threads, a prompt, and one or two faults out of primitives. The same seed
and number give the same case. Nothing is run here. bench/causes/HELDOUT.md says which primitives are held out.

A fault's `part` is the share of a clean token that it should cost; `rows` are the rows of a report where its time goes
(bricks, or gap, wait, preempted, unattributed), `rules` the ids of `brick explain` that name it, `also` ids that say
something true beside it, and `never` ids that may save no more here than a clean token takes.
"""
import random

SEEN = ("sleep", "spin", "signal", "affinity", "priority", "option", "build", "drafts", "lora", "shift", "denormal", "lock",
        "fault", "quota")
HELD_OUT = ("growth", "imbalance", "reuse", "type", "copy", "disk", "calls", "seldom", "thrash", "spawn", "pipe")
CROWDS = ("affinity", "priority", "quota")
IN_BRICK = ("sleep", "spin", "lock", "growth", "fault", "copy", "disk", "imbalance", "calls", "seldom", "thrash", "spawn",
            "pipe")  # by bench/causes/shim.c

# Where the shim gets in, and how often a token passes: for each layer, and once more.
PLACES = {
    "llama": {"RmsNorm": (2, 1), "ResidualAdd": (2, 0), "RopeEmbedding": (2, 0), "Activation": (1, 0)},
    "decoder": {"RmsNorm": (2, 1), "QkvProjection": (3, 0), "AttentionSoftmax": (1, 0), "OutputProjection": (1, 0),
                "GateProjection": (1, 0), "UpProjection": (1, 0), "Activation": (1, 0), "DownProjection": (1, 0),
                "ResidualAdd": (2, 0), "LmHead": (0, 1)}}
PRODUCTS = ("QkvProjection", "OutputProjection", "GateProjection", "UpProjection", "DownProjection", "LmHead")
ATTENTION = ("FlashAttention", "AttentionScore", "AttentionSoftmax", "AttentionOutput")
TENSORS = {"ffn_down": ("DownProjection",), "ffn_up": ("UpProjection",), "output.": ("LmHead",)}
# What a unit of the shim takes, roughly: the truth is measured.
UNIT_NS = {"fault": 1500, "copy": 150, "disk": 1000, "thrash": 100, "spawn": 30000, "pipe": 10000}
SLOW = {"slow-steps", "slow-first-step"}


def shape(r, program):
    embd = r.choice((384, 512, 640))
    kinds = ("q8_0", "f16", "f32", "q4_0") if program == "llama" else ("q8_0", "f16", "f32")
    return {"type": r.choice(kinds), "layers": r.choice((4, 6)), "embd": embd, "ff": r.choice((3 * embd, 2 * embd + 128)),
            "vocab": r.choice((2048, 8192))}


def fault(primitive, rows, rules=(), also=(), phase="decode", **how):
    return {"primitive": primitive, "rows": sorted(rows), "rules": sorted(rules), "also": sorted(also), "phase": phase, **how}


def in_brick(r, case, primitive):
    place = r.choice(sorted(PLACES[case["program"]]))
    each, once = PLACES[case["program"]][place]
    layer, times = None, each * case["shape"]["layers"] + once
    if each and place != "RopeEmbedding" and r.random() < 0.25:
        layer, times = r.randrange(case["shape"]["layers"]), each
    if primitive in ("sleep", "spin") and r.random() < 0.3:
        if case["program"] == "llama":
            option = {"sleep": "pause-us", "spin": "text-us"}[primitive]
            rules = {"spin": {"host-works"}, "sleep": {"host-pauses"}}[primitive]
            return fault(primitive, {"gap"}, rules, SLOW, part=r.uniform(0.3, 2), option=option)
        place, layer, times = "step", None, 1
    rows = {"gap"} if place == "step" else {place}
    rules = {"sleep": {"blocked"}, "lock": {"blocked"}, "disk": {"blocked", "cold-pages"},
             "imbalance": {"slow-thread", "barrier-waits"}, "growth": {"context-growth"}, "fault": {"page-faults"},
             "spawn": {"threads-made-anew", "blocked"}, "pipe": {"blocked"}}.get(primitive, set())
    if place == "step":
        rules = {"spin": {"host-works"}, "sleep": {"host-pauses"}}[primitive]
    also = set(SLOW)
    if primitive == "imbalance":
        rows |= {"wait"}
    if case["threads"] > 1:
        also |= {"barrier-waits"}
        rules = rules | ({"blocked"} if primitive == "fault" else set())  # one lock serves a process's address space
    more = {"each": r.randrange(15, 40)} if primitive == "seldom" else {}
    return fault(primitive, rows, rules, also, part=r.uniform(0.3, 2), place=place, layer=layer, times=times, **more)


def make_fault(r, case, primitive):
    """May change the case, as both sides of it are run."""
    if primitive in IN_BRICK:
        return in_brick(r, case, primitive)
    if primitive == "signal":
        return fault(primitive, {"RmsNorm", "wait", "unattributed", "gap", *PRODUCTS, *ATTENTION}, {"signals"}, SLOW | {"slow-thread", "barrier-waits"},
                     period_us=r.randrange(100, 400), part=r.uniform(0.3, 0.6))
    if primitive == "affinity":
        case["threads"], case["predict"] = 2, r.randrange(12, 20)
        return fault(primitive, {"wait", "preempted"}, {"affinity", "oversubscribed"}, {"barrier-waits"} | SLOW)
    if primitive == "priority":
        case["cpus"] = [1]
        return fault(primitive, {"preempted"}, {"preempted-by-others"}, SLOW, nice=r.randrange(2, 6))
    if primitive == "option":
        return option(r, case)
    if primitive == "build":
        kinds = ("sse42", "debug") if case["program"] == "llama" else ("scalar",)
        return fault(primitive, PRODUCTS + ATTENTION, {"lesser-cpu-build", "slow-build"}, {"large-weights"}, engine=r.choice(kinds))
    if primitive == "drafts":
        return fault(primitive, PRODUCTS + ATTENTION, {"drafts-rejected"}, n=r.randrange(2, 7))
    if primitive == "lora":
        return fault(primitive, {"LoraProjection", "Lora", *PRODUCTS}, {"adapter-apart"}, {"large-weights"}, rank=r.choice((16, 32, 64)))
    if primitive == "shift":
        case["prompt"] = r.randrange(600, 1200)
        return fault(primitive, {"RopeEmbedding", "KvShift"}, {"cache-moved"}, {"long-context", "graph-rebuilt"})
    if primitive == "denormal":
        case["shape"]["type"], case["predict"], case["prompt"] = "f32", r.randrange(20, 30), r.randrange(8, 16)
        return fault(primitive, PRODUCTS + ATTENTION + ("RmsNorm", "Activation"), {"denormals"}, never=["large-weights"])
    if primitive == "quota":
        return fault(primitive, {"preempted", "blocked", "unattributed"}, {"cpu-quota", "preempted", "blocked"}, SLOW,
                     on_ms=r.randrange(4, 12), off_ms=r.randrange(4, 20))
    if primitive == "reuse":
        case["predict"], case["batch"] = r.randrange(40, 60), 512  # all tokens are evaluated in one batch
        return fault(primitive, PRODUCTS + ATTENTION, {"prompt-repeated"}, SLOW | {"long-context"}, phase="all", each=r.randrange(5, 12))
    if primitive == "type":
        case["shape"]["type"] = r.choice(("q8_0", "q4_0") if case["program"] == "llama" else ("q8_0",))
        tensor = r.choice(sorted(TENSORS))
        return fault(primitive, TENSORS[tensor], {"large-weights", "large-vocabulary"}, tensor=tensor)
    raise ValueError(primitive)


def option(r, case):
    kind = r.choice(("batch-threads", "ubatch", "flash", "plain-weights"))
    if kind == "batch-threads":
        case["threads"], case["prompt"] = 2, r.randrange(200, 400)
        return fault("option", PRODUCTS + ATTENTION, {"fewer-threads"}, {"slow-thread", "barrier-waits"}, "prefill",
                     options={"batch-threads": 1})
    if kind == "ubatch":
        case["prompt"] = r.randrange(200, 400)
        return fault("option", PRODUCTS, {"small-ubatch"}, {"graph-rebuilt"}, "prefill", options={"ubatch": r.choice((1, 2, 4))})
    if kind == "flash":
        case["prompt"], case["batch"] = r.randrange(1200, 1600), 2048
        return fault("option", ATTENTION, {"no-flash-attention"}, {"long-context", "context-growth"}, "prefill",
                     options={"flash": 1}, clean={"flash": 2})
    case["shape"]["type"] = "q8_0"
    return fault("option", PRODUCTS, {"not-repacked", "slow-weights"}, options={"plain-weights": 1})


PROGRAMS = {"signal": ("llama", "decoder"), "affinity": ("llama",), "priority": ("llama", "decoder"), "option": ("llama",),
            "build": ("llama", "decoder"), "drafts": ("llama",), "lora": ("llama",), "shift": ("llama",),
            "denormal": ("llama", "decoder"), "quota": ("llama", "decoder"), "reuse": ("llama",), "type": ("llama", "decoder"),
            "imbalance": ("decoder",)}


def draw(seed, index, held_out=False):
    """Case `index` of a seed; the primitives come in turns, in an order of the seed's."""
    half = list(HELD_OUT if held_out else SEEN)
    random.Random(f"order {seed}").shuffle(half)
    r = random.Random(f"{seed} {index} {held_out}")
    first = half[index % len(half)]
    program = r.choice(PROGRAMS.get(first, ("llama", "decoder")))
    case = {"name": f"{'held-out' if held_out else 'seen'}-{seed}-{index}", "program": program, "shape": shape(r, program),
            "threads": 2 if first == "imbalance" or r.random() < 0.25 else 1, "prompt": r.randrange(16, 64),
            "predict": r.randrange(50, 80), "batch": r.choice((64, 256, 512)), "cpus": []}
    case["faults"] = [make_fault(r, case, first)]
    # What else takes the CPU makes a second fault dearer, so that their costs do not add up.
    if r.random() < 0.25 and case["faults"][0]["phase"] == "decode" and first not in CROWDS + ("denormal",):
        second = r.choice([p for p in half if p in IN_BRICK and p not in (first, "imbalance")])
        case["faults"].append(in_brick(r, case, second))
        if {"gap"} == set(case["faults"][0]["rows"]) == set(case["faults"][1]["rows"]) or case["faults"][0].get(
                "place") == case["faults"][1].get("place"):
            case["faults"].pop()  # nobody could tell them apart
    if first in ("affinity", "priority"):
        case["threads"] = 2 if first == "affinity" else 1
    return case


def amount(fault_of, token_ns):
    """Of a fault for the shim, whose clean token takes this long."""
    ns = fault_of["part"] * token_ns / fault_of["times"]
    kind = fault_of["primitive"]
    if kind in UNIT_NS:
        return max(4 if UNIT_NS[kind] < 10000 else 1, round(ns / UNIT_NS[kind]))
    return max(1, round(fault_of.get("each", 1) * ns / 1000))


def shim(faults, token_ns, predict):
    """CAUSES_FAULTS for these faults; empty: none of them is the shim's."""
    words = []
    for one in faults:
        if "place" in one:
            where = one["place"] + ("" if one["layer"] is None else f"@{one['layer']}")
            kind, much, who = one["primitive"], amount(one, token_ns), "all"
            if kind == "growth":  # reaches twice its mean at the end
                much = max(1, round(2 * one["part"] * token_ns / one["times"] / (predict * one["times"])))
            if kind == "imbalance":
                kind, who = "spin", "workers"
            if kind == "seldom":
                kind = "spin"
            words.append(f"{kind}:{where}:{much}:{one.get('each', 1)}:{who}")
        elif one["primitive"] == "signal":
            words.append(f"signal:step:{max(5, round(one['part'] * one['period_us']))}:{one['period_us']}")
    return ",".join(words)


# What issue texts named before the day on which the list of held-out primitives was written.
def named():
    def case(name, one, **more):
        return {"name": name, "program": "llama", "shape": {"type": "q8_0", "layers": 6, "embd": 640, "ff": 1792, "vocab": 4096},
                "threads": 1, "prompt": 32, "predict": 60, "batch": 512, "cpus": [], "faults": [one], **more}
    f32 = {"type": "f32", "layers": 6, "embd": 512, "ff": 1408, "vocab": 4096}
    r = random.Random(1)
    blank = {"shape": f32, "program": "llama"}
    return [
        case("adapter", make_fault(r, dict(blank), "lora")),
        case("shift-of-a-full-context", make_fault(r, dict(blank), "shift"), prompt=1000),
        case("denormals", make_fault(r, {"shape": dict(f32)}, "denormal"), shape=f32, predict=25, prompt=10),
        case("storm-of-signals", fault("signal", ("RmsNorm", "wait", "unattributed", *PRODUCTS, *ATTENTION), {"signals"},
                                       SLOW | {"slow-thread", "barrier-waits"}, period_us=200, part=0.5), threads=2),
        case("batch-threads-fewer", fault("option", PRODUCTS + ATTENTION, {"fewer-threads"}, {"slow-thread", "barrier-waits"},
                                          "prefill", options={"batch-threads": 1}), threads=2, prompt=400),
        case("weights-not-repacked", fault("option", PRODUCTS, {"not-repacked", "slow-weights"}, options={"plain-weights": 1})),
        case("drafts-rejected", fault("drafts", PRODUCTS + ATTENTION, {"drafts-rejected"}, n=4)),
        case("two-threads-one-lock", fault("lock", {"gap"}, {"threads-in-turns", "host-pauses"}, SLOW, options={"twin": 1})),
        case("library-without-optimisation", fault("build", PRODUCTS + ATTENTION, {"lesser-cpu-build", "slow-build"},
                                                   engine="debug"), predict=30),
        case("library-for-an-old-cpu", fault("build", PRODUCTS + ATTENTION, {"lesser-cpu-build"}, engine="sse42")),
        case("decoder-without-vectors", fault("build", PRODUCTS + ATTENTION, {"lesser-cpu-build", "slow-build"}, engine="scalar"),
             program="decoder"),
        case("sampler-that-sorts", fault("option", {"Sampling"}, {"slow-sampling"}, options={"sampler": 1}),
             shape={"type": "q8_0", "layers": 4, "embd": 256, "ff": 512, "vocab": 32768}),
    ]
