#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that we did not write, each run plainly and under `brick record`: which version, whether it prints the same with
and without, how much of its steps' wall time lies in bricks, what recording cost by the report's own estimate, which
operations no rule knew.

  engines.py [--markdown] [--others] [NAME...]     all of them, or those whose names contain one of the words

With --others the programs of other_engines.py, and beside that what `brick doctor` said of each beforehand (it ends with 1
if that was wrong), and what recording cost of the program's own CPU time, measured in turns: with {n} in a command, of the
work that two lengths of it differ by. Those run from build/demo/engine-others (examples/demo/engine-others.sh) and
Debian's packages (examples/demo/deps.sh engines).

They run from build/demo/engine (examples/demo/models.sh), build/demo/engine-addons (examples/demo/engine-addons.sh),
build/demo/engine-vulkan (examples/demo/engine-device.sh vulkan 3.14.0 3.17.1 3.20.0) and build/demo/engine-programs
(examples/demo/engine-programs.sh: llama.cpp's and whisper.cpp's own programs, half an hour on two CPUs). The bench names what
is missing. With --markdown it prints a table; docs/ENGINES.md sums it up. Costs are estimates of each run and need no quiet
machine; times are not shown.
"""
import argparse
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("BRICK_BUILD", os.path.join(SOURCE, "build"))
DEMO, BRICK = os.path.join(BUILD, "demo"), os.path.join(BUILD, "bin", "brick")
sys.path.append(os.path.join(SOURCE, "tests", "integration"))
from libdoctor import agrees, foreseen, happened  # pylint: disable=wrong-import-position

PROGRAMS = os.path.join(DEMO, "engine-programs")
SHARED = os.path.join(PROGRAMS, "llama", "bin")
WHISPER = os.path.join(PROGRAMS, "whisper", "bin")
ADDONS = os.path.join(DEMO, "engine-addons")
NODE = os.path.join(DEMO, "engine", "node")
MODEL = os.path.join(DEMO, "model-f16.gguf")
SMALL = os.path.join(DEMO, "model-q8_0.gguf")
SOUND = os.path.join(ADDONS, "sound.wav")
PROMPT = "The people who build an engine want to know where the time of every token went."
# llama.cpp's programs print from a thread of their own, and may end before it has printed all: some
# runs are cut short, with Brick or without. Such a pair is run again.
ATTEMPTS = 5
GREEDY = ["--temp", "0"]
VERSIONS = ("3.14.0", "3.17.1", "3.20.0")

# Lines that hold times, addresses or names of temporary files; they differ from run to run.
TIMES = re.compile(r"\d+[.,:]\d+ ?(ms|s|us|minutes|seconds|t/s|tokens)|tokens per second|0x[0-9a-f]+|minutes|^\d+\.\d+\.\d+|ETA")


class Program:
    """output: "text", or "times" where what it prints is little else. talk: asks a server, by its port. lengths: of
    {n} in the command, the longer one first."""

    def __init__(self, name, command, output="text", env=None, talk=None, needs=(), lengths=None):
        self.name, self.output = name, output
        self.commands = [[part.replace("{n}", str(n)) for part in command] for n in lengths or [""]]
        self.command = self.commands[0]
        self.env, self.talk, self.needs = env or {}, talk, needs


def made(place, kind, *more):
    path = os.path.join(place, kind + ".gguf")
    make = os.path.join(SOURCE, "examples", "demo", "gguf_make.py")
    subprocess.run([sys.executable, make, MODEL, kind, path, *more], check=True)
    return path


def completion(what, model, *options, libraries=None):
    command = [f"{SHARED}/llama-completion", "-m", model, "-p", PROMPT, "-n", "24", *GREEDY, "-no-cnv",
               "--no-perf", "-t", "1"]
    env = {"LD_LIBRARY_PATH": libraries} if libraries else {}
    return Program("llama-completion" + what, [*command, *options], env=env, needs=[libraries] if libraries else ())


def llama(name, *options, note="", **more):
    return Program(name + note, [f"{SHARED}/{name}", "-m", MODEL, "-t", "1", *options], **more)


def ask_server(port):
    """Two requests at a time, then one; the answers."""
    body = {"prompt": PROMPT, "n_predict": 16, "temperature": 0, "seed": 1, "cache_prompt": False}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/completion", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    answers = []
    for _ in range(3):
        with urllib.request.urlopen(request, timeout=120) as answer:
            answers.append(json.load(answer)["content"])
    return "\n".join(answers)


def wait_for(port, process):
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            if process.poll() is not None:
                raise RuntimeError("the server ended") from None
        time.sleep(0.2)
    raise RuntimeError("the server is not ready")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def llama_programs(place):
    text = os.path.join(place, "text.txt")
    with open(text, "w") as file:
        file.write(" ".join(str(i) for i in range(300)))
    yield Program("llama-simple", [f"{SHARED}/llama-simple", "-m", MODEL, "-n", "24", PROMPT])
    for what, options in {
            "": [], ", 2 threads": ["-t", "2"], ", flash attention off": ["-fa", "off"],
            ", flash attention on, KV cache q8_0": ["-fa", "on", "-ctk", "q8_0", "-ctv", "q8_0"],
            ", LoRA": ["--lora", made(place, "lora")]}.items():
        yield completion(what, MODEL, *options)
    for kind, what in {"moe": "experts", "mamba": "state space", "deepseek2": "latent attention, experts",
                       "qwen35": "delta net"}.items():
        yield completion(f", {what} ({kind})", made(place, kind))
    yield completion(", without OpenMP", MODEL, "-t", "2", libraries=f"{PROGRAMS}/noomp/bin")
    for model, what in (MODEL, "f16"), (SMALL, "q8_0"):  # it takes what has 32 rows and more
        yield completion(f", BLAS backend, {what}", model, "-p", 4 * PROMPT, libraries=f"{PROGRAMS}/blas/bin")
    yield llama("llama-cli", "-p", PROMPT, "-n", "16", *GREEDY, "-st", "--no-perf", "--no-display-prompt", "--simple-io")
    yield llama("llama-server", "-c", "512", "--no-webui", "--port", "{port}", talk=ask_server, note=", 3 requests")
    yield llama("llama-bench", "-p", "32", "-n", "16", "-r", "2", output="times")
    yield llama("llama-batched-bench", "-c", "512", "-npp", "16", "-ntg", "8", "-npl", "1,2,4", output="times")
    yield llama("llama-embedding", "-p", PROMPT, "--pooling", "mean")
    yield llama("llama-perplexity", "-f", text, "-c", "64", "-b", "64")
    yield llama("llama-lookup", "-p", PROMPT, "-n", "16", *GREEDY)
    draft = ["-md", SMALL, "-p", PROMPT, "-n", "16", *GREEDY]
    yield llama("llama-speculative", *draft)
    yield llama("llama-speculative-simple", "--spec-type", "draft-simple", *draft)
    yield llama("llama-batched", "-p", PROMPT, "-np", "3", "-n", "40", "-kvu", note=", 3 sequences")
    yield llama("llama-parallel", "-np", "2", "-ns", "4", "-n", "8", *GREEDY, output="times", note=", 4 clients")
    yield llama("test-thread-safety", "-p", PROMPT, "-n", "16", "-np", "2", "-ngl", "0", output="times",
                note=", several models and contexts")
    yield Program("llama-finetune", [f"{SHARED}/llama-finetune", "-m", os.path.join(DEMO, "model-f32.gguf"), "-f", text,
                                     "-c", "64", "-b", "64", "-ub", "64", "-t", "1", "-epochs", "1", "-o",
                                     "trained.gguf"], output="times")
    picture = os.path.join(place, "picture.png")
    for kind, medium, option in ("image", picture, "--image"), ("sound", SOUND, "--audio"):
        yield Program(f"llama-mtmd-cli, {'an' if kind == 'image' else 'a'} {kind}", [
            f"{SHARED}/llama-mtmd-cli", "-m", MODEL, "--mmproj", made(place, kind, picture), option, medium, "-p", PROMPT, "-n",
            "24", *GREEDY, "-t", "1", "-c", "2048", "--chat-template", "vicuna"])
    for sign in "positive", "negative":
        with open(os.path.join(place, sign), "w") as file:
            file.write(f"one {sign} word\nanother {sign} word\n")
    yield Program("llama-cvector-generator", [f"{SHARED}/llama-cvector-generator", "-m", MODEL, "-t", "1", "--pca-iter", "5",
                                              "--pca-batch", "5", "--positive-file", os.path.join(place, "positive"),
                                              "--negative-file", os.path.join(place, "negative"), "-o",
                                              "vector.gguf"], output="times")
    yield Program("test-llama-archs, all architectures", [f"{SHARED}/test-llama-archs", "-s", "1"], output="times")


def other_programs():
    model = os.path.join(ADDONS, "whisper.bin")
    whisper = ["-m", model, "-f", SOUND, "-t", "1"]
    yield Program("whisper-cli, greedy", [f"{WHISPER}/whisper-cli", *whisper, "-bs", "1", "-bo", "1", "-nf"])
    yield Program("whisper-cli, 5 beams, flash attention off, fall-backs", [f"{WHISPER}/whisper-cli", *whisper, "-nfa"])
    yield Program("whisper-cli, static", [f"{PROGRAMS}/whisper-static/bin/whisper-cli", *whisper])
    yield Program("whisper-bench", [f"{WHISPER}/whisper-bench", "-m", model, "-t", "1"], output="times")
    yield Program("whisper.cpp in @fugood's addon", [NODE, f"{SOURCE}/tests/programs/addon_whisper.cjs",
                                                    f"{ADDONS}/whisper.node", model, SOUND, "flash"])
    yield Program("llama.cpp in @fugood's addon", [NODE, f"{SOURCE}/tests/programs/addon_llama.cjs",
                                                  f"{ADDONS}/llama.node", MODEL])
    yield Program("gpt4all 4.0.0's addon", [NODE, f"{SOURCE}/tests/programs/addon_gpt4all.cjs", f"{ADDONS}/gpt4all.node",
                                            f"{ADDONS}/gpt4all", MODEL, "1"])
    engine, length = os.path.join(DEMO, "engine"), ["--model", MODEL, "--prompt-tokens", "40", "--predict", "24"]
    yield Program("node-llama-cpp 3.22.1", [NODE, f"{SOURCE}/examples/demo/generate.mjs", "--engine", engine, *length])
    for version in VERSIONS:
        libraries = os.path.join(DEMO, "engine-vulkan", version)
        yield Program(f"libraries of node-llama-cpp {version}",
                      [os.path.join(BUILD, "bin", "brick-llama"), "--libs", libraries, "--gpu-layers", "0", *length])


def start(program, prefix, place, command=None):
    port = free_port()
    command = [part.replace("{port}", str(port)) for part in command or program.command]
    env = {**os.environ, **program.env, "BRICK_DB": "none"}
    process = subprocess.Popen(prefix + command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, errors="replace", env=env, cwd=place, start_new_session=True)
    return process, port


def run(program, prefix, place, command=None):
    """What it said, and its exit status; a server is asked and then told to end."""
    process, port = start(program, prefix, place, command)
    said = ""
    try:
        if program.talk:
            wait_for(port, process)
            said = program.talk(port)
            process.send_signal(signal.SIGINT)  # a recorder passes it on
        out, error = process.communicate(timeout=400)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return process.returncode, said if program.talk else out, error


def show_difference(a, b):
    for x, y in zip(without_times(a), without_times(b)):
        if x != y:
            print(f"  without: {x[-300:]}\n  with:    {y[-300:]}", file=sys.stderr)


def without_times(text):
    return [line for line in text.splitlines() if not TIMES.search(line)]


def compare(program, plain, recorded):
    if plain[0] % 256 != recorded[0] and (plain[0] >= 0 or 128 - plain[0] != recorded[0]):
        return f"ends with {recorded[0]}, without with {plain[0]}"
    if program.output == "times":
        same = without_times(plain[1]) == without_times(recorded[1])
        return "only times" if not same else "same but for times"
    if plain[1] == recorded[1]:
        return "identical" if plain[0] == 0 else f"identical, both end with {plain[0]}"
    if plain[1].startswith(recorded[1]) or recorded[1].startswith(plain[1]):
        return "CUT SHORT"
    return "same but for times" if without_times(plain[1]) == without_times(recorded[1]) else "DIFFERENT"


def version_of(path):
    text = subprocess.run([BRICK, "report", "-v", path], capture_output=True, text=True).stdout
    found = re.search(r"^ggml +(\S+)", text, re.M)
    return found.group(1) if found else "-"


def percent(share, digits=1):
    return "-" if share is None else f"{share * 100:.{digits}f} %"


def coverage(answer, phase):
    step = answer["steps"].get(phase) or {}
    return percent(step.get("coverage")) if step.get("count") else "-"


def unknown(answer):
    """By name: bricks that no rule knew are called as their operations."""
    names = [b["name"] for b in answer["bricks"] if re.fullmatch(r"[A-Z][A-Z0-9_]+", b["name"])]
    return ", ".join(names) or "none"


def missing_of(program):
    needed = [p for p in [*program.command, *program.needs] if p.startswith("/")]
    return next((p for p in needed if not os.path.exists(p)), None)


def compared(program, place, path):
    """Both runs, and how what they said compares; the recording lies at `path`."""
    for _ in range(ATTEMPTS):
        plain = run(program, [], place)
        recorded = run(program, [BRICK, "record", "-o", path, "--"], place)
        same = compare(program, plain, recorded)
        if same != "CUT SHORT":
            break
    if same == "DIFFERENT":
        show_difference(plain[1], recorded[1])
        if compare(program, plain, run(program, [], place)) == "DIFFERENT":
            same = "differs from run to run, without Brick too"
    if plain[0]:
        print(plain[2][-300:], file=sys.stderr)
    return plain, recorded, same


def report_of(path):
    return json.loads(subprocess.run([BRICK, "report", "--json", path], capture_output=True, text=True, check=True).stdout)


def steps_of(answer):
    """Of the prompt and of tokens; or of neither, as in training."""
    count = {phase: answer["steps"][phase]["count"] for phase in ("prefill", "decode", "other")}
    return f"{count['prefill']} + {count['decode']}" if count["prefill"] or count["decode"] else str(count["other"])


def row_of(program, place):
    missing = missing_of(program)
    if missing:
        return [program.name, "-", "not there: " + os.path.relpath(missing, DEMO)]
    path = os.path.join(place, "run.pftrace")
    _, _, same = compared(program, place, path)
    answer = report_of(path)
    return [program.name, version_of(path), same, steps_of(answer), coverage(answer, "prefill"), coverage(answer, "decode"),
            percent(answer["distortion"].get("share"), 2), unknown(answer)]


def what_doctor_says(program, place):
    process, _ = start(program, [BRICK, "doctor", "--json", "--"], place)
    return json.loads(process.communicate()[0])


def words_of(answer):
    """What is certain, and what is possible: "nodes; perhaps Vulkan"."""
    certain, possible = (list(dict.fromkeys(words)) for words in foreseen(answer))
    if any(c["name"] == "devices" for c in answer["checks"]):
        certain, possible = ([word + " (a device's not)" if word == "nodes" else word for word in words]
                             for words in (certain, possible))
    return "; ".join([*[", ".join(certain)] * bool(certain), *["perhaps " + ", ".join(possible)] * bool(possible)]) or "nothing"


ROUNDS = 9  # of three seconds or so each; a program without {n} needs a third, as its own starting varies less
TIMED = ["/bin/bash", "-c", 'TIMEFORMAT="%3U %3S"; file=$1; shift; { time "$@" 2>&3; } 3>&2 2>"$file"', "timed"]


def cpu_seconds(program, command, prefix, place):
    """Of the program and what it starts, without the recorder."""
    path = os.path.join(place, "seconds")
    run(program, [*prefix, *TIMED, path], place, command)
    with open(path, encoding="ascii") as file:
        return sum(float(word) for word in file.read().split())


def measured(program, place, rounds):
    """What recording adds to the program's CPU time: (plain, recorded) of each round, in seconds; of the work that two
    lengths differ by, or of the whole program, starting included."""
    record = [BRICK, "record", "-q", "-o", os.path.join(place, "timed.pftrace"), "--"]
    found = []
    for turn in range(rounds):
        seconds = {}
        for number, command in enumerate(program.commands):
            for prefix in ([], record) if turn % 2 else (record, []):
                seconds[number, bool(prefix)] = cpu_seconds(program, command, prefix, place)
        found.append([seconds[0, who] - seconds.get((1, who), 0) for who in (False, True)])
    return found


def middle(values):
    """The median and its interval of 95 % by order statistics, which needs six values; the ends of fewer."""
    values = sorted(values)
    count = len(values)
    if not values:
        return None, None, None
    cut = 0  # values that lie outside of the interval, at each end
    while 2 * sum(math.comb(count, k) for k in range(cut + 2)) <= 0.05 * 2 ** count:
        cut += 1
    return values[count // 2], values[cut], values[-1 - cut]


def interval(share, low, high):
    return "-" if share is None else f"{share * 100:.1f} % ({low * 100:.1f} to {high * 100:.1f})"


def seconds_more(rounds):
    more, low, high = middle(recorded - plain for plain, recorded in rounds)
    return f"{more:+.2f} s ({low:.2f} to {high:.2f}) of {middle(plain for plain, _ in rounds)[0]:.2f} s"


def other_row(program, place, rounds):
    missing = missing_of(program)
    if missing:
        return [program.name, "-", "-", "not there: " + os.path.relpath(missing, DEMO)]
    path = os.path.join(place, "run.pftrace")
    said = what_doctor_says(program, place)
    _, recorded, same = compared(program, place, path)
    answer = report_of(path)
    timed, stated = measured(program, place, rounds if len(program.commands) > 1 else (rounds + 2) // 3), answer["distortion"]
    phase = next((each for each in ("decode", "prefill") if answer["steps"][each]["count"]), "other")
    of_phase = stated.get(phase) or {}  # the work that two lengths differ by is of this phase
    stated = of_phase if of_phase.get("measurable") else stated
    # The steps' wall time has that off the CPU in it.
    on_cpu = 1 - (answer["presence"].get("steps_off") or 0)
    told = tuple(None if not stated.get("measurable") else stated[end] / on_cpu for end in ("share", "low", "high"))
    found = happened(recorded[2])
    found_text = (", ".join(found) or "nothing") + ("" if agrees(*foreseen(said), found) else ": NOT FORESEEN")
    row = [program.name, words_of(said), found_text, same, steps_of(answer) if answer["steps"][phase]["count"] else "-",
           coverage(answer, phase)]
    if len(program.commands) == 1:  # starting is in its time, and in no step's
        return [*row, seconds_more(timed), interval(*told), "-"]
    cost = middle(recorded / plain - 1 for plain, recorded in timed if plain > 0)
    known = cost[0] is not None and told[0] is not None
    return [*row, interval(*cost), interval(*told), "-" if not known else "yes" if cost[1] <= told[2] and told[1] <= cost[2] else "NO"]


OTHER_TITLES = ["program", "doctor said", "recorded", "output", "steps", "covered", "cost in CPU time", "stated", "holds"]
TITLES = ["program", "ggml", "output", "steps: prompt + tokens", "covered: prompt", "tokens", "cost", "unknown operations"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--others", action="store_true")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    titles, output = (OTHER_TITLES, 3) if arguments.others else (TITLES, 2)
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="brick-engines-") as place:
        print("| " + " | ".join(titles) + " |\n|" + "---|" * len(titles) if arguments.markdown else "\t".join(titles))
        if arguments.others:
            from other_engines import other_kinds  # pylint: disable=import-outside-toplevel
            programs = other_kinds(place)
        else:
            programs = [*llama_programs(place), *other_programs()]
        for program in programs:
            if arguments.names and not any(name in program.name for name in arguments.names):
                continue
            try:
                row = other_row(program, place, arguments.rounds) if arguments.others else row_of(program, place)
            except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as error:
                row = [program.name, *["-"] * (output - 1), f"failed: {error}"]
            row += [""] * (len(titles) - len(row))
            wrong += row[output] in ("DIFFERENT", "CUT SHORT") or row[output].startswith(("ends", "failed")) or \
                any("NOT FORESEEN" in word for word in row)
            print("| " + " | ".join(row) + " |" if arguments.markdown else "\t".join(row), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
