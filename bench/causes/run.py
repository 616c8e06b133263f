#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does `brick explain` name the true cause first?

For each planted cause (bench/causes/cases.py) it runs the real engine without it and with it, ROUNDS times in turns, and
takes the true cost of a token from these plain runs. Then it records a planted run, asks `brick explain`, and notes at
which place the true cause stands and what it is said to cost. Clean runs are recorded alone: whatever costs something
there is a false finding. Sizes are drawn with SEED.

`bench/causes/run.py [--seed N] [--rounds N] [--clean] [CASE...]` runs cases (all: none is named) and keeps what it saw in
build/causes/results.jsonl; `--table` prints the newest answer of each case as a table (Markdown), `--list` the names.

`bench/causes/run.py --all --minutes 30` runs all of them, planted and clean in turns, and prints the table. Where the time
was not enough, or it was interrupted, the same command goes on with what is missing; `--anew` begins again.

`bench/causes/run.py --generate N --seed S [--held-out]` draws N cases out of the primitives that bench/causes/HELDOUT.md
lists, runs them and judges the answers; `--named` does the same with the causes that issue texts named, and `--beside`
runs both sides beside a competitor. What is known stays known: the same command goes on where it was stopped, with
`--again` it makes again what was disturbed, and with `--judge` it runs nothing and judges what is said of the recordings
now.

`bench/causes/run.py --judgement 40 --seed S --minutes 20` is all of that: N seen causes, N held out, the named ones, and
findings of all clean runs, each set with its tables.

Needs brick-model, causes-planted and the engine of examples/demo/engine.sh; a control group, where a case wants one.
"""
import argparse
import glob
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import generate  # noqa: E402
import generated  # noqa: E402
from cases import CASES, CLEAN  # noqa: E402

BUILD = os.path.abspath(os.environ.get("BRICK_BUILD", "build"))
PLACE = os.path.join(BUILD, "causes")
BRICK, PLANTED, MODEL = (os.path.join(BUILD, "bin", name) for name in ("brick", "causes-planted", "brick-model"))
# Rules of other things than time: they stand behind all costs, and are found or not.
WITHOUT_TIME = {"memory-growth", "load-by-reads", "load-by-faults", "far-memory", "threads-over-nodes", "slow-cores"}
RESULTS = os.path.join(PLACE, "results.jsonl")
PASS = os.path.join(PLACE, "pass")
ICD = f"/usr/share/vulkan/icd.d/lvp_icd.{platform.machine()}.json"
SHAPES = {  # of models, and their type
    "f16": ("f16", 6, 640, 1792, 4096), "q8_0": ("q8_0", 6, 640, 1792, 4096), "q4_0": ("q4_0", 6, 640, 1792, 4096),
    "f32": ("f32", 6, 640, 1792, 4096), "tiny": ("q8_0", 4, 256, 512, 512), "shallow": ("q8_0", 2, 512, 1024, 2048),
    "vocab": ("q8_0", 6, 640, 1792, 65536), "vocab-tiny": ("q8_0", 4, 256, 512, 32768)}


TRIES = 4  # of a run beside which others took CPU time


class Skipped(RuntimeError):
    pass


def model(name):
    kind, layers, embd, ff, vocab = SHAPES[name]
    path = os.path.join(PLACE, f"{name}.gguf")
    if not os.path.exists(path):
        subprocess.run([MODEL, "--type", kind, "--layers", str(layers), "--embd", str(embd), "--heads", str(embd // 64),
                        "--kv-heads", str(max(1, embd // 128)), "--ff", str(ff), "--vocab", str(vocab), "--ctx", "8192",
                        path + ".new"], check=True, capture_output=True)
        os.rename(path + ".new", path)
    return path


def engine(name):
    """A folder with the engine's libraries: all of them, those with a device's backend, or one CPU's only."""
    libs = os.path.realpath(os.path.join(BUILD, "demo", "engine", "libs"))
    if name == "vulkan":
        found = sorted(glob.glob(os.path.join(BUILD, "demo", "engine-vulkan", "*", "libggml-vulkan.so")))
        if not found or not os.path.exists(ICD):
            raise Skipped("no Vulkan backend, or no lavapipe")
        return os.path.dirname(found[-1])
    if name == "cpu":
        return libs
    place = os.path.join(PLACE, name)
    os.makedirs(place, exist_ok=True)
    if name == "debug":
        debug_engine(os.path.join(place, "libggml-cpu-haswell.so"))
    for path in glob.glob(os.path.join(libs, "*")):
        base = os.path.basename(path)
        if (not base.startswith("libggml-cpu-") or base == f"libggml-cpu-{name}.so") and not os.path.lexists(
                os.path.join(place, base)):
            os.symlink(path, os.path.join(place, base))
    return place


def debug_engine(path):
    """The library of operations, built without optimisation from the source that comes with the engine."""
    source = os.path.join(BUILD, "demo", "engine-static", "source")
    if os.path.exists(path):
        return
    if not os.path.isdir(source):
        raise Skipped("no source of the engine (examples/demo/engine-static.sh)")
    build = os.path.join(PLACE, "debug-build")
    no = [f"-D{name}=OFF" for name in ("GGML_NATIVE", "GGML_OPENMP", "GGML_LLAMAFILE", "LLAMA_CURL", "LLAMA_BUILD_TESTS",
                                       "LLAMA_BUILD_TOOLS", "LLAMA_BUILD_EXAMPLES", "LLAMA_BUILD_SERVER", "LLAMA_BUILD_COMMON")]
    yes = [f"-D{name}=ON" for name in ("BUILD_SHARED_LIBS", "GGML_BACKEND_DL", "GGML_AVX2", "GGML_FMA", "GGML_F16C")]
    for command in (["cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", *no, *yes],
                    ["ninja", "-C", build, "ggml-cpu"]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    shutil.copy(os.path.join(build, "bin", "libggml-cpu.so"), path)


class Group:
    """A control group (version 1 or 2) with a limit; what a planted run is put into."""

    def __init__(self, plan, size):
        self.paths = []
        self.plan, self.later = plan, None
        if plan.quota:
            limit = ({"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": str(int(plan.quota * 100000))},
                     {"cpu.max": f"{int(plan.quota * 100000)} 100000"})
            self.make("cpu", *(({}, {}) if plan.quota_after else limit))
            if plan.quota_after:
                self.later = threading.Timer(plan.quota_after, self.make, ("cpu", *limit))
                self.later.start()
        if plan.memory:
            # what the program needs beside the model: its context and its code
            limit = str(int(size * plan.memory) + (24 << 20))
            self.make("memory", {"memory.limit_in_bytes": limit}, {"memory.max": limit})

    def make(self, controller, first, second):
        old = os.path.isdir(f"/sys/fs/cgroup/{controller}")
        path = f"/sys/fs/cgroup/{controller}/brick-causes" if old else "/sys/fs/cgroup/brick-causes"
        try:
            os.makedirs(path, exist_ok=True)
            for name, value in (first if old else second).items():
                with open(os.path.join(path, name), "w", encoding="ascii") as file:
                    file.write(value)
        except OSError as why:
            raise Skipped(f"no control group: {why}") from why
        if path not in self.paths:
            self.paths.append(path)

    def enter(self):
        for path in self.paths:
            with open(os.path.join(path, "cgroup.procs"), "w", encoding="ascii") as file:
                file.write(str(os.getpid()))

    def remove(self):
        if self.later:
            self.later.cancel()
            self.later.join()
        for path in self.paths:
            for _ in range(50):
                try:
                    os.rmdir(path)
                    break
                except OSError:
                    time.sleep(0.02)


def machine(kind, size):
    """A folder that stands for / where the recorder reads /sys and lists of pages."""
    root = os.path.join(PLACE, "machine-" + kind)
    pages = size // 4096
    files = {"sys/devices/system/cpu/online": "0-1", "maps": f"7f0000000000 default file=/model mapped={pages} N0={pages} kernelpagesize_kB=4"}
    files |= {f"sys/devices/system/node/node{i}/cpulist": str(i) for i in (0, 1)} if kind == "nodes" else {
        f"sys/devices/system/cpu/cpu{i}/cpu_capacity": ("1024", "446")[i] for i in (0, 1)}
    for name, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
        with open(os.path.join(root, name), "w", encoding="ascii") as file:
            file.write(text + "\n")
    return root


def drop_from_cache(path):
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def touch(path):
    with open(path, "rb") as file:
        while file.read(1 << 20):
            pass


def busy_seconds():
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    return sum(os.times()[:4])


class Side:
    """How a plan is run, with what is planted or without."""

    def __init__(self, plan, planted, is_clean=False):
        self.plan, self.planted, self.is_clean = plan, planted, is_clean
        self.model = model(planted and plan.planted_model or plan.model)
        libs = planted and plan.planted_engine or plan.engine
        options = {**plan.options, **(plan.planted if planted else {})}
        self.command = [PLANTED, "--libs", engine(libs), "--model", self.model]
        self.cpus = plan.planted_cpus if planted and plan.planted_cpus else plan.cpus
        self.env = dict(plan.env) if planted else {}
        if libs == "vulkan":
            self.env |= {"VK_ICD_FILENAMES": ICD, "GGML_VK_VISIBLE_DEVICES": "0",
                         "MESA_SHADER_CACHE_DIR": os.path.join(PLACE, "shaders")}
        self.enter = []
        if plan.machine:
            self.env["BRICK_SYSTEM_ROOT"] = root = machine(plan.machine, os.path.getsize(self.model))
            self.enter = ["sh", "-c", 'mkdir -p "$0/proc/$$"; cp "$0/maps" "$0/proc/$$/numa_maps"; exec "$@"', root]
        for name, value in options.items():
            self.command += ["--" + name, str(value)]

    def neighbour(self):
        if self.plan.neighbour == "memory":
            return [sys.executable, "-c", "a = bytearray(256 << 20)\nwhile True: a[:128 << 20] = a[128 << 20:]"]
        return [PLANTED, "--libs", engine("cpu"), "--model", self.model, "--threads", "1", "--repeat", "1000", "--predict", "99"]

    def prefix(self):
        """In front of the program, so that the recorder is neither pinned nor nice."""
        words = []
        if self.cpus:
            words += ["taskset", "-c", ",".join(map(str, self.cpus))]
        if self.planted and self.plan.nice:
            words += ["nice", "-n", str(self.plan.nice)]
        return words

    def run(self, before=()):
        """Again, if somebody else took more than an eighth of a CPU; the least disturbed one counts."""
        tries = []
        for _ in range(TRIES):
            began, others = time.monotonic(), busy_seconds() - own_seconds()
            answer = self.run_once(before)
            share = (busy_seconds() - own_seconds() - others) / (time.monotonic() - began)
            tries.append((share, answer))
            if share < 0.125:
                break
        return min(tries, key=lambda one: one[0])[1]

    def run_once(self, before):
        group = Group(self.plan, os.path.getsize(self.model)) if self.planted else None
        hogs = []
        if self.planted:
            for cpu in range(self.plan.competitors):
                hogs.append(subprocess.Popen([sys.executable, "-c", "while True: pass"],
                                             preexec_fn=lambda cpu=cpu: os.sched_setaffinity(0, {cpu})))
        if self.plan.neighbour and (self.planted or self.is_clean):
            hogs.append(subprocess.Popen(self.neighbour(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                         preexec_fn=lambda: os.sched_setaffinity(0, {0})))
        touch(self.model)
        if self.planted and self.plan.memory:
            drop_from_cache(self.model)
        enter = []
        if group and group.paths:
            # the program alone is in the group, not its recorder
            enter = ["sh", "-c", "".join(f"echo $$ >{path}/cgroup.procs; " for path in group.paths) + 'exec "$@"', "sh"]
        try:
            done = subprocess.run([*before, *enter, *self.enter, *self.prefix(), *self.command], capture_output=True, text=True,
                                  check=False, env={**os.environ, **self.env, "BRICK_DB": "none"}, timeout=120)
        except subprocess.TimeoutExpired as why:
            raise Skipped(why) from why
        finally:
            for hog in hogs:
                hog.kill()
                hog.wait()
            if group:
                group.remove()
        if done.returncode:
            raise Skipped(f"{' '.join(self.command)}: {done.stderr}")
        return json.loads(done.stdout.strip().splitlines()[-1])


def per_token(answer, phase):
    """Or all of a phase, where what is planted makes more tokens than are wanted."""
    phase, _, total = phase.partition(" ")
    return answer[phase + "_ns"] / (1 if total else answer[phase + "_tokens"])


def explain(side, name):
    path = os.path.join(PLACE, name + ".pftrace")
    side.run([BRICK, "record", "-q", "--no-history", "-o", path, "--"])
    done = subprocess.run([BRICK, "explain", "--json", path], capture_output=True, text=True, check=True)
    text = subprocess.run([BRICK, "explain", path], capture_output=True, text=True, check=True).stdout
    with open(os.path.join(PLACE, name + ".txt"), "w", encoding="utf-8") as file:
        file.write(text)
    there = json.loads(subprocess.run([BRICK, "report", "--json", path], capture_output=True, text=True, check=True).stdout)
    return json.loads(done.stdout)["findings"], disturbed(there["presence"])


def disturbed(presence):
    """What is said of others is no false finding where others were there."""
    rules = set()
    if (presence["others"] or 0) > 0.02 or (presence["interrupts"] or 0) > 0.02:
        rules |= {"preempted-by-others", "preempted", "slow-steps"}
    return rules | ({"steal"} if (presence["steal"] or 0) > 0.05 else set())


def of_model(name, long):
    """What is true of a model, whatever was planted."""
    rules = {"large-weights"} if name.startswith("f") else set()
    return rules | ({"large-vocabulary"} if name.startswith("vocab") else set()) | ({"long-context"} if long else set())


def costs_something(finding):
    return finding["cost_ns"] > 0 or finding["rule"] in WITHOUT_TIME


def judge(name, seed, rounds):
    make, truth, phases, also = CASES[name]
    plan = make(random.Random(f"{name} {seed}"))
    phase = phases if isinstance(phases, str) else phases[0]
    sides = Side(plan, False), Side(plan, True)
    times = ([], [])
    for i in range(rounds):
        for k in (0, 1) if i % 2 else (1, 0):
            times[k].append(per_token(sides[k].run(), phase))
    cost = statistics.median(times[1]) - statistics.median(times[0])
    found, there = explain(sides[1], name)
    also = also | there | of_model(plan.planted_model or plan.model, plan.options.get("prompt", 0) > 1000)
    said = [f for f in found if costs_something(f)]
    places = [i for i, f in enumerate(said) if f["rule"] in truth]
    place = places[0] + 1 if places else 0
    if truth <= WITHOUT_TIME:
        place, cost = bool(places) + 0, 0
    # the same cause may stand in two phases: what it is said to cost in the one that is looked at
    of_phase = [f for f in said if f["rule"] in truth and f["phase"] in phases]
    claimed = (of_phase or [said[place - 1]])[0]["cost_ns" if "total" in phase else "cost_per_token_ns"] if place else None
    claimed = 0 if truth <= WITHOUT_TIME else claimed
    return {"case": name, "truth": sorted(truth), "phase": phase, "clean_ns": statistics.median(times[0]),
            "planted_ns": statistics.median(times[1]), "cost_ns": cost, "place": place, "claimed_ns": claimed,
            "found": [[f["rule"], f["phase"], f["cost_per_token_ns"]] for f in said],
            "false": sorted({f["rule"] for f in said} - truth - also)}


def judge_clean(name, seed):
    make, also = CLEAN[name]
    said = []
    for i in range(5):
        plan = make(random.Random(f"{name} {seed} {i}"))
        found, there = explain(Side(plan, False, True), f"clean-{name}-{i}")
        said.append([[f["rule"], f["phase"], f["share"]] for f in found
                     if costs_something(f) and f["rule"] not in also | there])
    return {"clean": name, "found": said}


def now():
    return time.strftime("%Y-%m-%d %H:%M:%S")


def keep(result, seed):
    result |= {"seed": seed, "at": now()}
    with open(RESULTS, "a", encoding="utf-8") as file:
        file.write(json.dumps(result) + "\n")
    return result


def newest(since=""):
    cases, cleans = {}, {}
    if not os.path.exists(RESULTS):
        return cases, cleans
    with open(RESULTS, encoding="utf-8") as file:
        for line in file:
            result = json.loads(line)
            if result["at"] < since:
                continue
            if "case" in result:
                cases[result["case"]] = result
            else:
                cleans[result["clean"]] = result
    return cases, cleans


def ms(ns):
    return "-" if ns is None else f"{ns / 1e6:.3f}"


def within(result):
    return result["place"] and abs(result["claimed_ns"] - result["cost_ns"]) <= 0.3 * abs(result["cost_ns"])


def line_of(result):
    cells = [result["case"].replace("_", " "), ", ".join(result["truth"]), str(result["place"] or "absent"),
             ms(result["clean_ns"]), ms(result["planted_ns"]), ms(result["cost_ns"]), ms(result["claimed_ns"]),
             "yes" if within(result) else "no", ", ".join(result["false"]) or "-"]
    return "| " + " | ".join(cells) + " |"


def table(since=""):
    cases, cleans = newest(since)
    order = [cases[name] for name in CASES if name in cases]
    print("| planted | true cause | place | clean | planted | cost | said | within 30 % | false |")
    print("|---|---|---|---|---|---|---|---|---|")
    for result in order:
        print(line_of(result))
    n = len(order)
    print(f"\nThe true cause came first in {sum(r['place'] == 1 for r in order)} of {n} cases, among the first three in "
          f"{sum(1 <= r['place'] <= 3 for r in order)}, and was absent in {sum(not r['place'] for r in order)}. "
          f"Its cost was within 30 % in\n{sum(bool(within(r)) for r in order)}. "
          f"False findings came in {sum(bool(r['false']) for r in order)}.\n")
    print("| clean | runs with a finding | findings |")
    print("|---|---|---|")
    for name in CLEAN:
        if name not in cleans:
            continue
        found = cleans[name]["found"]
        rules = sorted({f[0] for run in found for f in run})
        print(f"| {name.replace('_', ' ')} | {sum(bool(run) for run in found)} of {len(found)} | {', '.join(rules) or '-'} |")


def run_one(name, is_clean, options):
    try:
        result = judge_clean(name, options.seed) if is_clean else judge(name, options.seed, options.rounds)
    except Skipped as why:
        print(f"{name}: skipped: {why}", flush=True)
        return
    keep(result, options.seed)
    print(f"{name}: {result['found']}" if is_clean else f"{line_of(result)} {result['found'][:4]}", flush=True)


def pass_begin(anew):
    """When the pass began that is not finished yet, or now."""
    if anew or not os.path.exists(PASS):
        with open(PASS, "w", encoding="ascii") as file:
            file.write(now())
    with open(PASS, encoding="ascii") as file:
        return file.read()


def run_all(options):
    """Planted and clean ones in turns, so that a busy minute does not fall on one kind alone."""
    began, since = time.monotonic(), pass_begin(options.anew)
    order = sorted([((i + 0.5) / len(kinds), name, kinds is CLEAN) for kinds in (CASES, CLEAN) for i, name in enumerate(kinds)])
    left = [one for one in order if one[1] not in newest(since)[one[2]]]
    longest = 0
    while left and time.monotonic() - began + longest < 60 * options.minutes:
        at = time.monotonic()
        run_one(*left.pop(0)[1:], options)
        longest = max(longest, time.monotonic() - at)
    table(since)
    if left:
        print(f"\n{len(left)} of {len(order)} did not fit into {options.minutes} minutes: the same command goes on.")
        return
    os.remove(PASS)
    print(f"\nAll of {len(order)}, since {since}.")


def judgement(options):
    """Seen causes, those held out, and those that issue texts named; each set has its share of the time."""
    n, began = options.judgement, time.monotonic()
    sets = [("Seen", [generate.draw(options.seed, i) for i in range(n)], 0.45),
            ("Held out", [generate.draw(options.seed, i, True) for i in range(n)], 0.9),
            ("Named by issue texts", generate.named(), 1)]
    for title, cases, share in sets:
        print(f"\n{title} (seed {options.seed}):\n")
        generated.run_all(generated.Bench(BUILD, PLACE, engine), cases, max(4, options.rounds), options.again, options.judge,
                          began + 60 * share * options.minutes)


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("--seed", type=int, default=1)
    parse.add_argument("--rounds", type=int, default=2)
    parse.add_argument("--tries", type=int, default=4)
    parse.add_argument("--clean", action="store_true")
    parse.add_argument("--all", action="store_true")
    parse.add_argument("--minutes", type=float, default=30)
    parse.add_argument("--anew", action="store_true")
    parse.add_argument("--table", action="store_true")
    parse.add_argument("--list", action="store_true")
    parse.add_argument("--generate", type=int, metavar="N")
    parse.add_argument("--held-out", action="store_true")
    parse.add_argument("--named", action="store_true")
    parse.add_argument("--judgement", type=int, metavar="N")
    parse.add_argument("--beside", action="store_true")
    parse.add_argument("--again", action="store_true")
    parse.add_argument("--judge", action="store_true")
    parse.add_argument("cases", nargs="*")
    options = parse.parse_args()
    known = CLEAN if options.clean else CASES
    globals()["TRIES"] = options.tries
    os.makedirs(PLACE, exist_ok=True)
    if options.list:
        print("\n".join(known))
    elif options.table:
        table()
    elif options.all:
        run_all(options)
    elif options.judgement:
        judgement(options)
    elif options.generate or options.named:
        drawn = generate.named() if options.named else [
            generate.draw(options.seed, i, options.held_out) for i in range(options.generate)]
        if options.beside:
            drawn = [case | {"name": case["name"] + "-beside", "beside": True} for case in drawn]
        wanted = [case for case in drawn if not options.cases or case["name"] in options.cases]
        generated.run_all(generated.Bench(BUILD, PLACE, engine), wanted, max(4, options.rounds), options.again,
                          options.judge)
    else:
        for name in options.cases or known:
            run_one(name, options.clean, options)


if __name__ == "__main__":
    main()
