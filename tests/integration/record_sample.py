# SPDX-License-Identifier: Apache-2.0
"""
`record --sample`: functions that spin for known parts of the CPU time have that share of the stacks,
as far as so many stacks can tell; each in the brick that it ran in. Of a thousand threads, of a
child's program, of a plain user. What is lost is counted, and where the kernel refuses, it is said
why and the recording goes on. The stacks are Perfetto's own packets.
"""
import contextlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import libtrace

BUILD = os.environ["BRICK_BUILD"]
BRICK = os.path.join(BUILD, "bin", "brick")
SPINS = os.path.join(BUILD, "bin", "program-spins")
NO_PERF = os.path.join(BUILD, "bin", "program-no_perf")
NAMES = "spin_half", "spin_third", "spin_fifth"
IN_BRICKS = {"spin_half": "RmsNorm", "spin_third": "RopeEmbedding", "spin_fifth": None}
HZ = 997


def check(truth, what):
    if not truth:
        raise AssertionError(what)


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    check(not done.returncode, f"{command} returned {done.returncode}: {done.stderr}")
    return done


def record(path, *program, before=(), hz=HZ):
    return run(*before, BRICK, "record", "--no-history", f"--sample={hz}", "-o", path, "--", *program)


def functions(path, *options):
    return json.loads(run(BRICK, "report", "--by", "function", "--json", *options, path).stdout)


def stacks_of(part):
    """In a file that grows; 0: none that can be read yet."""
    done = subprocess.run([BRICK, "report", "--by", "function", "--json", part], capture_output=True, check=False)
    return 0 if done.returncode else json.loads(done.stdout)["stacks"]


def self_stacks(answer):
    return {row["name"]: row["stacks"] for row in answer["functions"] if row["stacks"]}


def agree(answer, truth):
    """4.5 standard deviations: one run in 100 000 would fail. What the program does besides is half a per cent."""
    n, stacks = answer["stacks"], self_stacks(answer)
    check(n > 200, f"{n} stacks")
    for name, part in zip(NAMES, truth):
        p, found = part / sum(truth), stacks.get(name, 0) / n
        check(abs(found - p) < 4.5 * math.sqrt(p * (1 - p) / n) + 0.01, f"{name}: {found} of {n} stacks, truly {p}")


def shares_and_bricks(path):
    truth = [int(part) for part in record(path, SPINS, "18000", "1", "bricks").stdout.split()]
    answer = functions(path)
    agree(answer, truth)
    check(answer["hz"] == HZ and not answer["lost"] and not answer["throttled"], answer)
    for row in answer["functions"]:
        check(row["share_low"] <= row["share"] <= row["share_high"], row)
        if row["name"] in NAMES:
            there = sum(place["stacks"] for place in row["bricks"] if place["brick"] == IN_BRICKS[row["name"]])
            check(row["stacks"] - there <= 2, f"{row['name']} was in {row['bricks']}")
            check(row["total"] == row["stacks"], row)
        if row["name"] == "main":
            check(row["total"] > 0.9 * answer["stacks"], f"main called all that spins: {row}")
    inside = self_stacks(functions(path, "--brick", "RmsNorm"))
    check(inside["spin_half"] > 0.95 * sum(inside.values()) and "spin_fifth" not in inside, inside)
    flame = run(BRICK, "flame", "--functions", "--format", "folded", path).stdout
    check(any("main;" in line and ";spin_half " in line for line in flame.splitlines()), flame)
    check("spin_half" not in run(BRICK, "flame", "--format", "folded", path).stdout, "functions inside of bricks")
    check("spin_half" not in run(BRICK, "report", path).stdout, "functions among bricks")
    text = run(BRICK, "report", "--by", "function", "--top", "1", path).stdout
    check("spin_half" in text and "RmsNorm" in text and "more functions" in text, text)
    rows = run(BRICK, "report", "--by", "function", "--csv", path).stdout.splitlines()
    check(rows[0].startswith("function,file,stacks,total,cpu_ns,share,"), rows[0])
    check(len(rows) == 1 + len(answer["functions"]), f"{len(rows)} lines")


def as_perfetto_has_it(path):
    checker = libtrace.load(path)
    check(not checker.problems, checker.problems)
    leaves = [checker.functions.get(frames[-1]) for _, _, _, frames in checker.taken if frames]
    expected = self_stacks(functions(path))
    for name in NAMES:
        check(leaves.count(name) == expected[name], f"{name}: {leaves.count(name)} and {expected[name]}")
    shell = os.environ.get("TRACE_PROCESSOR") or shutil.which("trace_processor_shell") or shutil.which("trace_processor")
    if not shell:
        return
    query = ("select s.name, count(*) from perf_sample p join stack_profile_callsite c on p.callsite_id = c.id "
             "join stack_profile_frame f on c.frame_id = f.id join stack_profile_symbol s using (symbol_set_id) group by 1")
    found = run(shell, "query", path, query).stdout
    check(f'"spin_half",{expected["spin_half"]}' in found, found)


def many_threads(path):
    truth = [int(part) for part in record(path, SPINS, "20", "1000").stdout.split()]
    answer = functions(path)
    agree(answer, truth)
    threads = len({tid for _, _, tid, _ in libtrace.load(path).taken})
    check(threads > 300, f"stacks are of {threads} threads")
    # no bricks: what is known is shown
    check("spin_half" in run(BRICK, "report", path).stdout, "a report without bricks has no functions")
    check("spin_half" in run(BRICK, "flame", "--format", "folded", path).stdout, "nor has a flame graph")


def of_a_child(path):
    record(path, SPINS, "0")
    stacks = self_stacks(functions(path))
    check(stacks.get("spin_half", 0) > 0.2 * sum(stacks.values()), f"the child's program: {stacks}")


def of_a_plain_user(path):
    if os.geteuid() or not shutil.which("setpriv"):
        return
    os.chmod(os.path.dirname(path), 0o777)
    user = "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "HOME=" + os.path.dirname(path)
    record(path, SPINS, "2000", before=user)
    check("spin_half" in self_stacks(functions(path)), "nobody's stacks")


def state_of(pid, name):
    """The letter of a process that has become that program; None: it has not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            before, _, after = stat.read().rpartition(")")
    except OSError:
        return "X"
    return after.split()[0] if before.endswith("(" + name) else None


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as children:
        return children.read().split()


def until(condition):
    deadline = time.monotonic() + 600
    while not (found := condition()):
        check(time.monotonic() < deadline, "it takes too long")
        time.sleep(0.02)
    return found


def counted_losses(path):
    """The recorder is stopped for longer than its rings last: by the program, before that begins to spin."""
    program = f"kill -STOP $PPID; exec {SPINS} 18000 1 deep"
    command = [BRICK, "record", "--no-history", f"--sample={HZ}", "-o", path, "--", "sh", "-c", program]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as recorder:
        try:
            program = until(lambda: next((c for c in children_of(recorder.pid) if state_of(c, "main-spinner")), None))
            until(lambda: state_of(program, "main-spinner") in ("Z", "X"))
        finally:
            os.kill(recorder.pid, signal.SIGCONT)
        said = recorder.communicate()[1]
    answer = functions(path)
    check(not recorder.returncode, said)
    check(answer["lost"] > 0, f"nothing is lost of {answer['stacks']} stacks")
    check("of the kernel lost" in said, said)
    check("are lost" in run(BRICK, "report", "--by", "function", path).stdout, "the report does not say what is lost")


def killed(path):
    """What was taken until a moment before is there. Names are those of the files, while they are what was mapped."""
    if os.path.exists(path):
        os.unlink(path)
    spins = shutil.copy2(SPINS, os.path.dirname(path))
    command = [BRICK, "record", "-q", "--no-history", "--interval=100", f"--sample={HZ}", "-o", path, "--", spins, "40000"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as recorder:
        try:
            program = until(lambda: next((c for c in children_of(recorder.pid) if state_of(c, "main-spinner")), None))
            part = path + ".part"
            until(lambda: stacks_of(part) >= 20 or state_of(program, "main-spinner") in ("Z", "X"))
        finally:
            recorder.kill()
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(program), signal.SIGKILL)
    answer = functions(path)
    stacks = self_stacks(answer)
    check(answer["hz"] == HZ and sum(stacks.get(name, 0) for name in NAMES) > 0.8 * answer["stacks"] > 5, answer)
    # another build of it, or nothing at all, in its place
    for another in lambda: shutil.copy2("/bin/true", spins), lambda: os.unlink(spins):
        another()
        answer = functions(path)
        rows = {row["file"]: row for row in answer["functions"] if row["name"] is None}
        check(rows[spins]["stacks"] > 0.8 * answer["stacks"] > 5, answer)
    os.unlink(part)


def in_an_engine(path):
    """What runs inside of an unmodified llama.cpp's multiplications of matrices, where it is installed."""
    libs, model = (os.path.join(BUILD, "demo", name) for name in ("engine/libs", "model-f16.gguf"))
    if not os.path.exists(libs) or not os.path.exists(model):
        return
    record(path, os.path.join(BUILD, "bin", "brick-llama"), "--libs", libs, "--model", model, "--prompt-tokens", "32",
           "--predict", "100", "--threads", "1", "--repeat", "2")
    answer = functions(path, "--brick", "QkvProjection")
    rows = [row for row in answer["functions"] if row["stacks"]]
    here = sum(row["stacks"] for row in rows if os.path.basename(row["file"] or "").startswith("libggml-cpu"))
    check(here > 0.6 * answer["stacks"] > 6, f"inside of QkvProjection: {rows}")
    # Which kernel does the products is the engine's choice for this CPU: only its name is known to be one.
    check(all(row["name"] for row in rows[:1]), f"the function of most stacks has no name: {rows[:1]}")


def refused(path):
    if subprocess.run([NO_PERF, "true"], check=False).returncode:
        return
    done = record(path, SPINS, "200", "1", "bricks", before=(NO_PERF,))
    check("no stacks are taken: " in done.stderr and "perf_event_paranoid" in done.stderr, done.stderr)
    answer = subprocess.run([BRICK, "report", "--by", "function", path], capture_output=True, text=True, check=False)
    check(answer.returncode and "could not be taken" in answer.stderr, answer.stderr)
    check("RmsNorm" in run(BRICK, "report", path).stdout, "the bricks are there")


def not_asked_for(path):
    done = run(BRICK, "record", "--no-history", "-o", path, "--", "true")
    check("record --sample" in done.stderr and "NVTX" in done.stderr and "asked to" not in done.stderr, done.stderr)
    done = run(BRICK, "record", "--no-history", "-o", path, "--", "true", "-m", "vllm.entrypoints.api_server")
    check("--enable-layerwise-nvtx-tracing" in done.stderr, done.stderr)
    answer = subprocess.run([BRICK, "flame", "--functions", path], capture_output=True, text=True, check=False)
    check(answer.returncode and "record --sample" in answer.stderr, answer.stderr)
    for wrong in "0", "98", "998", "x":
        done = subprocess.run([BRICK, "record", "--sample=" + wrong, "true"], capture_output=True, text=True, check=False)
        check(done.returncode == 2 and "--sample" in done.stderr, done.stderr)


def main():
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "run.pftrace")
        done = record(path, "true", hz=99)
        if "no stacks are taken" in done.stderr:
            print("skipped: " + done.stderr)
            sys.exit(77)
        shares_and_bricks(path)
        as_perfetto_has_it(path)
        many_threads(path)
        of_a_child(path)
        of_a_plain_user(os.path.join(work, "plain.pftrace"))
        counted_losses(path)
        killed(path)
        in_an_engine(path)
        refused(path)
        not_asked_for(path)


if __name__ == "__main__":
    main()
