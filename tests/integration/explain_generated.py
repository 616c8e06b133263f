# SPDX-License-Identifier: Apache-2.0
"""The generator of faulty runs and their judge (bench/causes): the same seed gives the same cases, only of its half; the
truth comes out of rounds, and answers made up here are judged as they should be. Model files are changed where they were
asked to be, the shim gets into the bricks that it names, and what `brick explain` finds in recordings of faulty runs
never costs more than their phase."""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

BUILD, SOURCE = os.environ["BRICK_BUILD"], os.environ["BRICK_SOURCE"]
sys.path.insert(0, os.path.join(SOURCE, "bench", "causes"))
import generate  # noqa: E402
import gguf  # noqa: E402
import verdict  # noqa: E402

BRICK, DECODER, MODEL = (os.path.join(BUILD, "bin", name) for name in ("brick", "example-decoder", "brick-model"))
SHIM = os.path.join(BUILD, "lib", "causes-shim.so")


def expect(there, wanted, what):
    if there != wanted:
        sys.exit(f"FAILED: {what}: {there!r} instead of {wanted!r}")


def cases_of_a_seed():
    for held_out, half in ((False, generate.SEEN), (True, generate.HELD_OUT)):
        drawn = [generate.draw(5, i, held_out) for i in range(4 * len(half))]
        expect([generate.draw(5, i, held_out) for i in range(len(drawn))], drawn, "the same seed")
        primitives = {fault["primitive"] for case in drawn for fault in case["faults"]}
        expect(primitives, set(half), "the primitives of a half")
        expect(generate.draw(6, 0, held_out) == drawn[0], False, "another seed gives another case")
        for case in drawn:
            words = generate.shim(case["faults"], 3e6, case["predict"])
            for word in filter(None, words.split(",")):
                kind, place, much, *_ = word.split(":")
                expect(int(much) > 0, True, f"an amount of {word}")
                expect(place == "step" or place.split("@")[0] in generate.PLACES[case["program"]], True, f"a place of {word}")
    with open(os.path.join(SOURCE, "bench", "causes", "HELDOUT.md"), encoding="utf-8") as file:
        rows = [line.split("|")[1:3] for line in file if line.startswith("| `")]
    for half, column in ((generate.SEEN, 0), (generate.HELD_OUT, 1)):
        expect({row[column].split("`")[1] for row in rows if "`" in row[column]}, set(half), "what the list says")


def finding(rule, cost, row=None, phase="decode", overlaps=None, what="", evidence="", share=None):
    return {"rule": rule, "row": row, "phase": phase, "cost_ns": cost * 10, "cost_per_token_ns": cost, "overlaps": overlaps,
            "what": what, "evidence": evidence, "share": cost / 1000 if share is None else share}


def answer(*findings):
    return {"phases": [{"phase": "decode", "elapsed_ns": 10000, "explained_ns": 0}], "findings": list(findings)}


def truth_of_rounds():
    expect(verdict.truths([(100, 150), (100, 160), (100, 155)]), [(55, 5 / 55)], "the cost of one fault")
    # a round that somebody disturbed leaves neither the cost nor its doubt
    expect(verdict.truths([(100, 150), (100, 150), (100, 150), (100, 900)]), [(50, 0)], "four rounds, one of them disturbed")
    two = verdict.truths([(100, 150, 450), (100, 150, 450)])
    expect(two, [(50, 0), (300, 0)], "each of two faults")
    expect(verdict.truths([(100, 100)])[0][1], float("inf"), "no cost is no truth")


def verdicts():
    spin = generate.fault("spin", {"UpProjection"}, (), {"slow-steps"}, part=1, place="UpProjection", layer=None, times=6)
    quota = generate.fault("priority", {"preempted"}, {"preempted-by-others"})
    right = finding("excess", 290, "UpProjection")

    def of(faults, costs, *findings, also=(), clean_ns=0):
        return verdict.judge(faults, costs, answer(*findings), also, clean_ns)

    line = of([spin], [(300, 0)], right)["faults"][0]
    expect([line[key] for key in ("place", "first", "near", "named", "unsure", "claimed_ns")], [1, True, True, False, False, 290], "right")
    line = of([spin], [(300, 0)], finding("excess", 290, "RmsNorm"))
    expect([line["faults"][0]["place"], line["false"]], [None, ["excess:RmsNorm"]], "another row is wrong, and a false finding")
    line = of([spin], [(300, 0)], finding("excess", 200, "UpProjection"))["faults"][0]
    expect([line["first"], line["near"]], [True, False], "two thirds of the cost are too little")
    line = of([spin], [(300, 0.5)], right)["faults"][0]
    expect(line["unsure"], True, "rounds that differ say nothing")
    line = of([spin], [(300, 0)], finding("host-works", 400), right)
    expect([line["faults"][0]["first"], line["faults"][0]["place"], line["false"]], [False, 2, ["host-works"]], "a false one before it")
    expect(of([spin], [(300, 0)], right, finding("slow-steps", 100))["false"], [], "what is true beside it")
    expect(of([spin], [(300, 0)], right, finding("kv-type", 100), also={"kv-type"})["false"], [], "what is true of the run")
    expect(of([spin], [(300, 0)], right, finding("kv-type", 10, share=0.01))["false"], [], "less than a fiftieth is no finding")
    never = {**spin, "never": ["large-weights"]}
    expect(of([never], [(300, 0)], right, finding("large-weights", 100), also={"large-weights"})["false"], ["large-weights"],
           "more than a clean token takes")
    expect(of([never], [(300, 0)], right, finding("large-weights", 100), also={"large-weights"}, clean_ns=150)["false"], [],
           "less than a clean token takes")
    # a rule that names the cause of a brick has to say the brick
    sleep = generate.fault("sleep", {"RmsNorm"}, {"blocked"}, part=1, place="RmsNorm", layer=None, times=6)
    there = finding("blocked", 300, what="bricks slept, most in RmsNorm")
    expect(of([sleep], [(300, 0)], there)["faults"][0]["named"], True, "a name with the brick")
    expect(of([sleep], [(300, 0)], finding("blocked", 300, what="most in LmHead"))["faults"][0]["place"], None, "a name without")
    answered = of([sleep], [(300, 0)], finding("blocked", 300, what="no brick is named"))
    expect([answered["faults"][0]["place"], answered["false"]], [None, []], "a right name without its brick is no false finding")
    # several rows of one cause add up, those that overlap do not
    build = generate.fault("build", generate.PRODUCTS, {"lesser-cpu-build"}, engine="scalar")
    rows = [finding("excess", 150, "UpProjection"), finding("excess", 140, "DownProjection"), finding("excess", 99, "LmHead", overlaps=1)]
    expect(of([build], [(300, 0)], *rows)["faults"][0]["claimed_ns"], 290, "rows of one cause")
    # of two faults the dearer one has to be first, and the other among the first three
    lines = of([spin, quota], [(100, 0), (500, 0)], finding("preempted-by-others", 480), finding("excess", 95, "UpProjection"))["faults"]
    expect([(one["primitive"], one["first"]) for one in lines], [("priority", True), ("spin", True)], "two faults")
    expect(of([spin], [(300, 0)], right)["overdrawn"], [], "less than the phase")
    expect(of([spin], [(300, 0)], right, finding("a", 800))["overdrawn"], ["decode"], "more than the phase")
    expect(of([spin], [(300, 0)], right, finding("a", 800, overlaps=1))["overdrawn"], [], "overlapping ones do not count")
    result = {**of([spin], [(300, 0)], right), "false_clean": [[], ["blocked"]], "disturbed": False}
    total = verdict.totals([result, {**result, "disturbed": True}])
    expect([total[key] for key in ("first", "both", "named", "false_clean", "disturbed")], [[1, 1], [1, 1], [0, 1], [1, 2], 1], "totals")


def model_files(place):
    paths = {}
    for kind in ("q8_0", "f32"):
        paths[kind] = os.path.join(place, kind + ".gguf")
        subprocess.run([MODEL, "--type", kind, "--layers", "2", "--embd", "128", "--heads", "2", "--kv-heads", "1", "--ff", "256",
                        "--vocab", "384", paths[kind]], check=True, stdout=subprocess.DEVNULL)
    made = os.path.join(place, "made.gguf")
    before, wide = gguf.File(paths["q8_0"]), {tensor[0]: tensor for tensor in gguf.File(paths["f32"]).tensors}
    gguf.merge(made, paths["q8_0"], paths["f32"], "ffn_down")
    for old, new in zip(before.tensors, gguf.File(made).tensors):
        expect(new, wide[old[0]] if "ffn_down" in old[0] else old, f"{old[0]} of a merged file")
    expect(gguf.File(made).metadata, before.metadata, "metadata")
    gguf.scale(made, paths["q8_0"], "_norm.weight", 0.5)
    for old, new in zip(before.tensors, gguf.File(made).tensors):
        half = struct.pack("<f", struct.unpack("<f", old[3][:4])[0] * 0.5) if "_norm.weight" in old[0] else old[3][:4]
        expect(new[3][:4], half, f"{old[0]} of a scaled file")
    gguf.adapter(made, paths["q8_0"], 8)
    shapes = {name: dims for name, dims, _, _ in gguf.File(made).tensors}
    expect(len(shapes), 2 * 2 * 7, "two factors for each of seven matrices in two blocks")
    expect([shapes[f"blk.0.ffn_up.weight.lora_{part}"] for part in "ab"], [[128, 8], [8, 256]], "shapes of factors")
    return paths["q8_0"]


def faulty_recordings(place, model):
    """Costs add up to no more than the phase, whatever is wrong and however busy the machine is."""
    if not os.path.exists(SHIM):
        print("no shim: this build has no benches")
        return
    r = random.Random(11)
    path, big = os.path.join(place, "run.pftrace"), os.path.join(place, "big")
    with open(big, "wb") as file:
        file.write(bytes(1 << 20))
    amounts = {"sleep": 200, "spin": 100, "lock": 200, "growth": 2000, "fault": 64, "copy": 256, "disk": 64}
    for kind, much in amounts.items():
        brick = r.choice(sorted(generate.PLACES["decoder"]))
        where = r.choice((brick, brick + "@1" if generate.PLACES["decoder"][brick][0] else brick, "step"))
        faults = f"{kind}:{where}:{much}:{r.randrange(1, 3)}"
        subprocess.run([BRICK, "record", "-q", "-o", path, "--", DECODER, "--model", model, "--prompt-tokens", "16", "--predict", "40",
                        "--threads", str(r.randrange(1, 3))], check=True, capture_output=True,
                       env={**os.environ, "CAUSES_FAULTS": faults, "CAUSES_FILE": big, "LD_PRELOAD": SHIM})
        done = subprocess.run([BRICK, "explain", "--json", path], capture_output=True, text=True, check=True)
        explained = json.loads(done.stdout)
        expect(verdict.overdrawn(explained["phases"], explained["findings"]), [], f"phases that are overdrawn with {faults}: {done.stdout}")
        for one in explained["findings"]:
            expect(0 <= one["share"] <= 1, True, f"a share with {faults}: {one}")
    # The shim gets where it is asked to, and nowhere else: an unknown place ends the program.
    done = subprocess.run([DECODER, "--model", model], capture_output=True, text=True,
                          env={**os.environ, "CAUSES_FAULTS": "spin:Nowhere:1", "LD_PRELOAD": SHIM})
    expect([done.returncode, "no such place" in done.stderr], [1, True], "an unknown place")


def main():
    cases_of_a_seed()
    truth_of_rounds()
    verdicts()
    with tempfile.TemporaryDirectory() as place:
        faulty_recordings(place, model_files(place))


main()
