# SPDX-License-Identifier: Apache-2.0
"""Kills at random times, also of an engine whose hooks come and go, small shared memory, a small
memory cgroup, storms of processes and threads: whatever happens, recordings can be read, what is not
in them is counted as lost, exit codes and outputs are the program's, and no file, session or process
stays behind. ATTACK_ROUNDS kills (20)."""
import json
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
from librecord import *

need(PRODUCER)
ROUNDS = int(os.environ.get("ATTACK_ROUNDS", "20"))
SEED = int(os.environ.get("ATTACK_SEED", str(random.randrange(1 << 30))))
PROGRAM = ["sh", "-c", f"{PRODUCER} samples=300 threads=4,3000 paced=2,2000,20 & {PRODUCER} "
           f"nested=50 fork samples=40 sleep=100; {PRODUCER} steps=20 sleep=200; wait; exit 7"]


def told(path):
    """Samples in a recording and what it says was lost; it must be readable."""
    run = subprocess.run([BRICK, "report", "--json", path], capture_output=True, timeout=600)
    same(run.returncode, 0, f"brick report {path}: {run.stderr} (seed {SEED})")
    answer = json.loads(run.stdout)
    losses = answer["losses"]
    return (sum(b["count"] for b in answer["bricks"] if b["name"] == "RmsNorm"),
            losses["unmatched"] + losses["refused"])  # what was dropped is in the statistics


def with_environment(text):
    """Processes that were started with that in their environment."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if name.isdigit() and text.encode() in file.read():
                    found.append(int(name))
        except OSError:
            pass
    return found


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def kill_one(scratch, chance, number):
    out = scratch.file(f"kill{number}.pftrace")
    victim = chance.choice(("program", "recorder", "both", "children"))
    mark = f"ATTACK_MARK={os.getpid()}-{number}-"  # of the recorder's and of all that it starts
    run = start(out, *PROGRAM, options=["--interval", "50"],
                env=dict(os.environ, ATTACK_MARK=mark.split("=")[1]))
    time.sleep(chance.random() * 0.5)
    family = with_environment(f"/brick-{run.pid}-")
    kill({"program": family[:1], "children": family[1:], "both": family, "recorder": []}[victim])
    if victim in ("recorder", "both"):
        run.kill()
    run.communicate(timeout=600)
    if victim in ("recorder", "both"):
        # it may have ended before, with the program's code
        check(run.returncode in (-9, 7) or victim == "both" and run.returncode == 137, victim, run.returncode)
    else:
        check(run.returncode in (7, 137), victim, run.returncode)
        check(os.path.exists(out), victim, "no recording", SEED)
    for path in (out, out + ".part"):
        if os.path.exists(path) and os.path.getsize(path):
            told(path)
            os.unlink(path)
        elif os.path.exists(path):
            os.unlink(path)  # killed before it had a packet
    end = time.monotonic() + 600
    while with_environment(mark):
        check(time.monotonic() < end, "processes left", with_environment(mark))
        time.sleep(0.02)


def kills(scratch):
    chance = random.Random(SEED)
    for number in range(ROUNDS):
        kill_one(scratch, chance, number)
    # what those leave behind whose processes were killed with them, the next one removes
    record(scratch.file("next.pftrace"), "true")
    os.unlink(scratch.file("next.pftrace"))
    same(sessions(), set(), "session directories")
    same(os.listdir(scratch.path), [], "files")


def whole(scratch, name, samples, *command, before=(), environment=None):
    """A recording of which each sample is told or counted as lost; the exit code is 7."""
    out = scratch.file(name + ".pftrace")
    run = subprocess.run([*before, BRICK, "record", "-o", out, "--", *command], capture_output=True,
                         timeout=600, env=environment)
    same(run.returncode, 7, f"{name}: exit code ({run.stderr})")
    count, lost = told(out)
    same(count + lost, samples, f"{name}: {count} recorded and {lost} lost, together")


def plain_steps(scratch):
    """An engine whose hooks are taken away and put back while it or its recorder is killed: it says what it
    says alone, and goes on without its recorder."""
    demo = os.path.join(BUILD, "demo")
    engine = [os.path.join(BUILD, "bin", "brick-llama"), "--libs", os.path.join(demo, "engine", "libs"),
              "--model", os.path.join(demo, "model-f16.gguf"), "--prompt-tokens", "16",
              "--predict", "300", "--threads", "1"]
    if not os.path.exists(engine[4]):
        print("no engine here (make models): no kills between hooked and plain steps")
        return
    alone = subprocess.run(engine, capture_output=True, timeout=600).stdout
    chance = random.Random(SEED)
    for number in range(max(3, ROUNDS // 10)):
        victim = ("program", "recorder", "nobody")[number % 3]
        out = scratch.file(f"plain{number}.pftrace")
        run = start(out, *engine, options=["--measure-distortion", "--interval", "50"])
        time.sleep(0.2 + chance.random() * 0.8)
        kill(with_environment(f"/brick-{run.pid}-") if victim == "program" else [])
        if victim == "recorder":
            run.kill()
        output, errors = run.communicate(timeout=600)
        if victim == "program" and run.returncode:
            same(run.returncode, 137, f"killed engine: {errors}")
        else:
            same((output, run.returncode), (alone, -9 if victim == "recorder" and run.returncode else 0),
                 f"{victim}: what the engine said (seed {SEED})")
        for path in (out, out + ".part"):
            if os.path.exists(path):
                if os.path.getsize(path):
                    told(path)
                os.unlink(path)


def storms(scratch):
    whole(scratch, "processes", 60 * 25,
          "sh", "-c", f"for i in $(seq 60); do {PRODUCER} samples=20 fork samples=5 & done; wait; exit 7")
    whole(scratch, "threads", 10 * 16 * 50, PRODUCER, "churn=10,16,50", "exit=7")


def small_memory(scratch):
    """Shared memory as containers have it, for sessions and for TMPDIR."""
    for size in ("64k", "512k", "1m", "12m"):
        before = ["unshare", "-m", "sh", "-c",
                  f'mount -t tmpfs -o size={size} tmpfs /dev/shm && exec "$@"', "sh"]
        if os.geteuid() or subprocess.run([*before, "true"], capture_output=True).returncode:
            print("no mount namespace here: small shared memory was not tried")
            return
        whole(scratch, "small" + size, 4 * 500, PRODUCER, "threads=4,500", "exit=7", before=before,
              environment=dict(os.environ, TMPDIR="/dev/shm"))


def small_cgroup(scratch):
    """A program that floods a recorder which gets no core: both live within 60 MB."""
    base = "/sys/fs/cgroup/memory" if os.path.isdir("/sys/fs/cgroup/memory") else "/sys/fs/cgroup"
    group = os.path.join(base, f"brick-attack-{os.getpid()}")
    limit = "memory.limit_in_bytes" if base.endswith("memory") else "memory.max"
    try:
        os.mkdir(group)
        with open(os.path.join(group, limit), "w") as file:
            file.write(str(60 << 20))
    except OSError as error:
        print("no memory cgroup can be made here:", error)
        if os.path.isdir(group):
            os.rmdir(group)
        return
    try:
        whole(scratch, "cgroup", 4000000, PRODUCER, "busy=4,4000", "threads=2,2000000", "exit=7",
              before=["sh", "-c", f'echo $$ >{group}/cgroup.procs; exec "$@"', "sh"])
    finally:
        os.rmdir(group)


def small_host(scratch):
    """A program near its limits, of its control group or of addresses, that is not brought over them by us."""
    guest = os.path.join(BUILD, "bin", "program-attack_guest")
    need(guest)
    out = scratch.file("host.pftrace")
    base = "/sys/fs/cgroup/memory" if os.path.isdir("/sys/fs/cgroup/memory") else "/sys/fs/cgroup"
    group = os.path.join(base, f"brick-attack-host-{os.getpid()}")
    # too few for a session, for its rings, and for both
    limits = [(f"{kb} KB of addresses", f'ulimit -v {kb}; exec "$@"') for kb in (120000, 160000, 200000)]
    try:
        os.mkdir(group)
        with open(os.path.join(group, "memory.limit_in_bytes" if base.endswith("memory") else "memory.max"), "w") as file:
            file.write(str(110 << 20))
        limits.append(("control group", f'echo $$ >{group}/cgroup.procs; exec "$@"'))
    except OSError as error:
        print("no memory cgroup can be made here:", error)
    for what, script in limits:
        for before in ([], [BRICK, "record", "-o", out, "--"]):
            run = subprocess.run([*before, "sh", "-c", script, "sh", guest, "host", "50"], capture_output=True, timeout=600)
            same(run.returncode, 0, f"{what}, {'recorded' if before else 'plain'}: exit code ({run.stderr})")
        count, lost = told(out)
        same(count + lost, 16 * 1000, f"{what}: {count} recorded and {lost} lost, together")
    if os.path.isdir(group):
        os.rmdir(group)


print("seed", SEED)
for test in (kills, plain_steps, storms, small_memory, small_cgroup, small_host):
    with Scratch() as scratch:
        test(scratch)
        print(test.__name__, flush=True)
same(sessions(), set(), "session directories left")
