# SPDX-License-Identifier: Apache-2.0
"""Runs the cases of bench/causes/generate.py, clean and faulty in turns, and has bench/causes/verdict.py judge what
`brick explain` says of the faulty ones. Every run is recorded, so that recording costs both sides the same. What was
judged is kept in build/causes/generated.jsonl: a case that is there is not run again."""
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time

import generate
import gguf
import verdict

QUIET = 0.03  # of a clean run, by which others may preempt it
TRIES = 5
EARLIER = 3  # runs without a fault, before all others
PREEMPTING = {"affinity", "priority", "quota"}
HOG = [sys.executable, "-c", "while True: pass"]
DENORMAL = 1e-39  # what weights of norms are multiplied by


class Bench:
    """Where things are: the folder of results, and programs."""

    def __init__(self, build, place, engine):
        self.place, self.engine = os.path.join(place, "generated"), engine
        self.brick, self.planted, self.decoder, self.make_model = (
            os.path.join(build, "bin", name) for name in ("brick", "causes-planted", "example-decoder", "brick-model"))
        self.shim = os.path.join(build, "lib", "causes-shim.so")
        self.results = os.path.join(place, "generated.jsonl")
        self.big = os.path.join(self.place, "big")  # what a fault reads from
        os.makedirs(self.place, exist_ok=True)
        os.environ["XDG_CACHE_HOME"] = os.path.join(place, "cache")
        os.environ["BRICK_DB"] = os.path.join(place, "history.db")
        if not os.path.exists(self.big):
            with open(self.big, "wb") as file:
                file.write(os.urandom(64 << 20))
                os.fsync(file.fileno())

    def ceilings(self):
        if not os.path.isdir(os.environ["XDG_CACHE_HOME"]):
            subprocess.run([self.brick, "ceilings"], check=True, stdout=subprocess.DEVNULL)

    def model(self, shape, name=""):
        """Of this shape; with a name, one that is made of it."""
        path = os.path.join(self.place, "-".join(map(str, shape.values())) + ".gguf")
        if not os.path.exists(path):
            embd = shape["embd"]
            subprocess.run([self.make_model, "--type", shape["type"], "--layers", str(shape["layers"]), "--embd", str(embd),
                            "--heads", str(embd // 64), "--kv-heads", str(max(1, embd // 128)), "--ff", str(shape["ff"]),
                            "--vocab", str(shape["vocab"]), "--ctx", "8192", path + ".new"], check=True, capture_output=True)
            os.rename(path + ".new", path)
        if not name:
            return path
        made, (kind, _, of) = path[:-5] + f"-{name}.gguf", name.partition("-")
        if not os.path.exists(made):
            if kind == "lora":
                gguf.adapter(made, path, int(of))
            elif kind == "denormal":
                gguf.scale(made, path, "_norm.weight", DENORMAL)
            else:
                gguf.merge(made, path, self.model(shape | {"type": "f32"}), of)
        return made


class Side:
    """A case with the first `n` of its faults."""

    def __init__(self, bench, case, n):
        self.bench, self.case, self.faults = bench, case, case["faults"][:n]
        self.prefix, self.env, self.hogs, self.stop = [], {}, [], None
        self.cpus = list(case["cpus"])
        if case.get("beside"):
            self.hogs.append((HOG, 0))
        name, libs, isa, options = "", "cpu", "auto", {}
        for fault in case["faults"]:
            options |= fault.get("clean", {})
        for fault in self.faults:
            primitive = fault["primitive"]
            options |= fault.get("options", {})
            if primitive == "lora":
                options["lora"] = bench.model(case["shape"], f"lora-{fault['rank']}")
            elif primitive == "denormal":
                name = "denormal"
            elif primitive == "type":
                name = f"type-{fault['tensor']}"
            elif primitive == "build":
                libs, isa = (libs, "scalar") if fault["engine"] == "scalar" else (fault["engine"], isa)
            elif primitive == "drafts":
                options["drafts"] = fault["n"]
            elif primitive == "shift":
                options["shift"] = 1
            elif primitive == "reuse":
                options["anew"] = fault["each"]
            elif primitive == "affinity":
                self.cpus = [1]
            elif primitive == "priority":
                self.prefix += ["nice", "-n", str(fault["nice"])]
                self.hogs.append((HOG, 1))
            elif primitive == "quota":
                self.stop = fault["on_ms"] / 1000, fault["off_ms"] / 1000
        self.model = model = bench.model(case["shape"], name)
        if case["program"] == "decoder":
            self.command = [bench.decoder, "--model", model, "--prompt-tokens", str(case["prompt"]), "--predict", str(case["predict"]),
                            "--threads", str(case["threads"]), "--isa", isa, "--timing"]
        else:
            self.command = [bench.planted, "--libs", bench.engine(libs), "--model", model]
            options = {key: case[key] for key in ("prompt", "predict", "threads", "batch")} | options
            for key, value in options.items():
                self.command += ["--" + key, str(value)]

    def inject(self, token_ns):
        """What happens inside of the program, in proportion to a clean token."""
        for fault in self.faults:
            if "option" in fault:
                self.command += ["--" + fault["option"], str(max(1, round(fault["part"] * token_ns / 1000)))]
        faults = generate.shim(self.faults, token_ns, self.case["predict"])
        if faults:
            self.env = {"CAUSES_FAULTS": faults, "CAUSES_FILE": self.bench.big, "LD_PRELOAD": self.bench.shim}

    def run(self, path):
        """What the program says of itself."""
        with open(self.model, "rb") as file:  # a kernel that reclaims pages may have taken it
            while file.read(1 << 20):
                pass
        prefix = (["taskset", "-c", ",".join(map(str, self.cpus))] if self.cpus else []) + self.prefix
        hogs = [subprocess.Popen(command, preexec_fn=lambda cpu=cpu: os.sched_setaffinity(0, {cpu})) for command, cpu in self.hogs]
        stopper = self.stop and Stopper(self.command[0], *self.stop)
        try:
            # what a user has: a history of runs in which nothing was wrong
            history = ["--no-history"] if self.faults else []
            done = subprocess.run([self.bench.brick, "record", "-q", *history, "-o", path, "--", *prefix, *self.command],
                                  capture_output=True, text=True, check=False, env=os.environ | self.env, timeout=120)
        finally:
            if stopper:
                stopper.end()
            for hog in hogs:
                hog.kill()
                hog.wait()
        if done.returncode:
            raise RuntimeError(f"{' '.join(self.command)}: {done.stderr.strip()[-300:]}")
        line = (done.stderr if self.case["program"] == "decoder" else done.stdout).strip().splitlines()
        return json.loads([one for one in line if one.startswith("{")][-1])

    def time_of(self, answer, phase):
        """Of a token, in ns; of everything if the phase is "all"."""
        if phase == "all":
            return answer["prefill_ns"] + answer["decode_ns"]
        return answer[phase + "_ns"] / (answer.get(phase + "_tokens") or answer[phase + "_steps"])


class Stopper:
    """Stops a program for a while, again and again: as a limit of CPU time does."""

    def __init__(self, program, on, off):
        self.program, self.on, self.off, self.ends = program, on, off, threading.Event()
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def find(self):
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{entry}/exe") == self.program:
                    return int(entry)
            except OSError:
                pass
        return None

    def work(self):
        pid = None
        while not self.ends.is_set() and not pid:
            pid = self.find()
            self.ends.wait(0.02)
        try:
            while not self.ends.wait(self.on):
                os.kill(pid, signal.SIGSTOP)
                self.ends.wait(self.off)
                os.kill(pid, signal.SIGCONT)
        except OSError:
            pass

    def end(self):
        self.ends.set()
        self.thread.join()


def ask(bench, command, path):
    done = subprocess.run([bench.brick, command, "--json", path], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def preempted(report):
    """The share of all steps that others took."""
    return report["presence"]["preempted"] or 0


def recorded(bench, side, path, may_preempt):
    """Runs it until it was left alone, TRIES times at most. Its answer, the share that others took, the file."""
    best = None
    for i in range(TRIES):
        answer = side.run(f"{path}.{i}")
        share = 0 if may_preempt else preempted(ask(bench, "report", f"{path}.{i}"))
        if best is None or share < best[1]:
            best = answer, share, f"{path}.{i}"
        if share <= QUIET:
            break
    os.replace(best[2], path)
    for i in range(TRIES):
        if os.path.exists(f"{path}.{i}"):
            os.remove(f"{path}.{i}")
    return best[0], best[1]


def of_model(bench, case, recording):
    """What is true of the model, whatever was planted."""
    also = {"large-weights"} if case["shape"]["type"] in ("f16", "f32") else set()
    also |= {"large-vocabulary"} if case["shape"]["vocab"] > 4096 else set()
    also |= {"long-context"} if case["prompt"] > 600 else set()
    also |= {"small-batches", "small-ubatch"} if case["batch"] < case["prompt"] else set()
    shares = ask(bench, "report", recording)["presence"]
    if (shares["others"] or 0) > 0.02:  # what is said of others is no false finding where others are
        also |= {"preempted-by-others", "preempted", "slow-steps"}
    return also | ({"steal"} if (shares["steal"] or 0) > 0.049 else set())


def run(bench, case, rounds):
    sides = [Side(bench, case, n) for n in range(len(case["faults"]) + 1)]
    path = os.path.join(bench.place, case["name"])
    phase = case["faults"][0]["phase"]
    for _ in range(EARLIER):
        answer = sides[0].run(path + "-probe")
    token_ns = sides[0].time_of(answer, "decode")
    os.remove(path + "-probe")
    for side in sides:
        side.inject(token_ns)
    times, shares, recordings = [], [], []
    for i in range(rounds):
        row = [0.0] * len(sides)
        for k in range(len(sides)) if i % 2 else reversed(range(len(sides))):
            may = case.get("beside") or any(f["primitive"] in PREEMPTING for f in sides[k].faults)
            answer, share = recorded(bench, sides[k], f"{path}-{k}-{i}.pftrace", may)
            row[k] = sides[k].time_of(answer, phase)
            shares.append(share)
        times.append(row)
    last = len(sides) - 1  # of the faulty recordings, the one in the middle is judged, and every clean one
    middle = statistics.median_low(row[last] for row in times)
    result = {"case": case, "times_ns": times, "disturbed": max(shares) > 2 * QUIET, "preempted": max(shares),
              "recordings": [f"{path}-{last}-{[row[last] for row in times].index(middle)}.pftrace"] + [
                  f"{path}-0-{i}.pftrace" for i in range(rounds)], "at": time.strftime("%Y-%m-%d %H:%M:%S")}
    return judge(bench, result)


def judge(bench, result):
    """What is said of the recordings, now."""
    case, (faulty, *clean) = result["case"], result["recordings"]
    explained = ask(bench, "explain", faulty)
    clean_ns = statistics.median(row[0] for row in result["times_ns"])
    result |= verdict.judge(case["faults"], verdict.truths(result["times_ns"]), explained, of_model(bench, case, faulty), clean_ns)
    result["found"] = [[f["rule"], f.get("row"), f["phase"], f["cost_per_token_ns"], f["share"]]
                       for f in verdict.costing(explained["findings"])]
    result["false_clean"] = []
    for recording in clean:
        explained = ask(bench, "explain", recording)
        result["false_clean"].append(verdict.false_findings(explained["findings"], (), of_model(bench, case, recording)))
        result["overdrawn"] += verdict.overdrawn(explained["phases"], explained["findings"])
    return result


def done_before(bench):
    if not os.path.exists(bench.results):
        return {}
    with open(bench.results, encoding="utf-8") as file:
        return {result["case"]["name"]: result for result in map(json.loads, file)}


def ms(ns):
    return "-" if ns is None else f"{ns / 1e6:.3f}"


def lines_of(result):
    case = result["case"]
    shape = case["shape"]
    what = f"{case['program']} {shape['type']} {shape['layers']}x{shape['embd']}, {case['threads']}t"
    for line in result["faults"]:
        fault = next(f for f in case["faults"] if f["primitive"] == line["primitive"])
        where = "gap" if fault["rows"] == ["gap"] else fault.get("place", "")
        doubt = "disturbed" if result["disturbed"] else "unsure" if line["unsure"] else ""
        cells = [case["name"], what, f"{line['primitive']} {where}".strip(), ms(line["cost_ns"]), str(line["place"] or "absent"),
                 ms(line["claimed_ns"]), "yes" if line["near"] else "no", "yes" if line["named"] else "no",
                 ", ".join(result["false"]) or "-", doubt]
        yield "| " + " | ".join(cells) + " |"


HEAD = """| case | run | fault | cost | place | said | within 30 % | named | false | |
|---|---|---|---|---|---|---|---|---|---|"""


def table(results):
    print(HEAD)
    for result in results:
        print("\n".join(lines_of(result)))
    total = verdict.totals(results)

    def of(key):
        return f"{total[key][0]} of {total[key][1]}"
    print(f"\nThe true cause came first in {of('first')}; its cost was within 30 % in {of('near')}, both in {of('both')}; it was named "
          f"in {of('named')}.\nFalse findings: {of('false_clean')} clean runs, {of('false_planted')} faulty ones. Costs above their "
          f"phase: {of('overdrawn')}.\nNot judged: {total['disturbed']} cases that others disturbed, {total['unsure']} faults whose "
          "rounds differed too much.")


def run_all(bench, cases, rounds, again, anew, until=float("inf")):
    """again: what was disturbed or unsure is made again. anew: nothing is run; recordings that are there are judged anew.
    until: when no case begins any more, by time.monotonic()."""
    bench.ceilings()
    before, results = done_before(bench), []
    print(HEAD, flush=True)
    for case in cases:
        if time.monotonic() > until:
            print(f"{len(cases) - cases.index(case)} cases were not reached: the same command goes on.", flush=True)
            break
        result = before.get(case["name"])
        if result and result["case"] != case:  # another generator drew it
            result = None
        doubtful = result and (result["disturbed"] or any(line["unsure"] for line in result["faults"]))
        if anew:
            if not result or not all(map(os.path.exists, result["recordings"])):
                continue
            result = judge(bench, result)
        elif not result or (again and doubtful):
            try:
                result = run(bench, case, rounds)
            except (RuntimeError, subprocess.SubprocessError) as why:
                print(f"{case['name']}: skipped: {why}", flush=True)
                continue
            with open(bench.results, "a", encoding="utf-8") as file:
                file.write(json.dumps(result) + "\n")
        print("\n".join(lines_of(result)), flush=True)
        results.append(result)
    print()
    table(results)
