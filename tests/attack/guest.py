# SPDX-License-Identifier: Apache-2.0
"""What Brick does inside of a program harms nothing of the program's: its descriptors, files, limits,
signals, threads, environment and children; and what could not be recorded is counted. ATTACK_ROUNDS: how
often what happens at a random time is tried (20)."""
import os
import random
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
from libattack import *

ROUNDS = int(os.environ.get("ATTACK_ROUNDS", "20"))
UNUSUAL = os.path.join(BUILD, "bin", "program-attack_unusual")
need(GUEST)


def stripped(scratch):
    """A tree as packages install it, without tables of symbols; None where nothing can be stripped."""
    if not shutil.which("strip"):
        return None
    for place, names in (("bin", ("brick", "program-attack_guest")),
                         ("lib", [n for n in os.listdir(os.path.join(BUILD, "lib")) if ".so" in n])):
        os.mkdir(scratch.file(place))
        for name in names:
            shutil.copy(os.path.join(BUILD, place, name), scratch.file(place))
            subprocess.run(["strip", "--strip-unneeded", os.path.join(scratch.file(place), name)], check=True)
    return scratch.path


def loader():
    """A constructor holds the dynamic linker's lock, while we load what patches."""
    with Scratch() as scratch:
        tree = stripped(scratch)
        if not tree:
            print("no strip(1): the lock of the dynamic linker was not tried")
            return
        for i in range(1, 4):
            shutil.copy(os.path.join(tree, "lib", "attack-plugin.so"), scratch.file(f"plugin.{i}"))
        run = subprocess.run([os.path.join(tree, "bin", "brick"), "record", "-o", scratch.file("x.pftrace"), "--",
                              os.path.join(tree, "bin", "program-attack_guest"), "loader", scratch.file("plugin")],
                             env=dict(os.environ, LD_LIBRARY_PATH=os.path.join(tree, "lib")), timeout=600,
                             capture_output=True)
        same(run.returncode, 0, f"loader: exit code ({run.stderr.decode()})")


def locks():
    """No lock of ours is held around the dynamic linker, when a library is patched, forks, or is loaded."""
    watch, plugin = (os.path.join(BUILD, "lib", name) for name in ("attack-loader.so", "attack-plugin.so"))
    with Scratch() as scratch:
        for i in range(1, 4):
            shutil.copy(plugin, scratch.file(f"plugin.{i}"))
        seen = scratch.file("seen")
        env = dict(os.environ, LD_PRELOAD=watch, LOADER_WATCH=seen)
        for command in ["loader", scratch.file("plugin")], ["fork", "fork"], ["cancel"]:
            run = record(scratch.file("locks.pftrace"), GUEST, *command, env=env)
            same(run.returncode, 0, f"{command}: exit code ({run.stderr})")
            subprocess.run([GUEST, "embed=" + scratch.file("own.pftrace"), *command], env=env, capture_output=True,
                           timeout=600)
        demo = os.path.join(BUILD, "demo")
        engine = ["brick-llama", "--libs", os.path.join(demo, "engine", "libs"), "--model",
                  os.path.join(demo, "model-f16.gguf"), "--prompt-tokens", "4", "--predict", "2", "--threads", "1"]
        for name, *arguments in engine, ["program-opencl"], ["program-vulkan_work"], ["program-hip_work"]:
            program = os.path.join(BUILD, "bin", name)
            if all(os.path.exists(path) for path in (program, *(a for a in arguments if a[0] == "/"))):
                record(scratch.file("locks.pftrace"), program, *arguments, env=env)
        with open(seen) as file:
            same(set(file), {"watching\n"}, "calls of the dynamic linker under our locks")


def privilege():
    """What a user may not do, a set-user-ID program does not do for that user; and a directory that another user has
    made anew is not the recorder's."""
    nobody = 65534
    if os.geteuid():
        print("not root: no other user to be")
        return
    for what, starter, owner, mode in (("user, set-user-ID", nobody, nobody, 0o700), ("user", 0, nobody, 0o700),
                                       ("root, named by a user", nobody, 0, 0o700), ("root, for all", 0, 0, 0o777)):
        with Scratch() as scratch:
            os.chmod(scratch.path, 0o755)
            place, program = scratch.file("place"), scratch.file("program")
            os.mkdir(place)
            os.chown(place, owner, owner)
            os.chmod(place, mode)
            shutil.copy(GUEST, program)
            os.chmod(program, 0o4755)
            run = subprocess.run([program, "bricks"], capture_output=True, timeout=600,
                                 env=dict(os.environ, BRICK_SESSION_DIR=place), user=starter)
            same(run.returncode, 0, f"privilege: {run.stderr}")
            same(os.listdir(place), [], f"root's files in a directory of {what}")


DROP = """
#define _GNU_SOURCE
#include <unistd.h>
int main(int argc, char **argv)
{
	if (!setresgid(65534, 65534, 65534) && !setresuid(65534, 65534, 65534))
		execv(argv[1], argv + 1);
	return 8;
}
"""


def dropper(scratch):
    """A program of which nothing of ours is a part, and which starts another as another user."""
    with open(scratch.file("drop.c"), "w") as file:
        file.write(DROP)
    program = scratch.file("drop")
    if shutil.which("cc") and not subprocess.run(["cc", "-static", scratch.file("drop.c"), "-o", program],
                                                 capture_output=True).returncode:
        return program
    print("not tried, as nothing can be linked statically: another user by a static program")
    return None


def elsewhere():
    """Children that cannot reach their recorder: what they did is missing, and that is said."""
    if os.geteuid():
        print("not root: no other user or mounts to have")
        return
    with Scratch() as scratch:
        os.chmod(scratch.path, 0o755)
        become = "setpriv --reuid 65534 --clear-groups"
        mounts = f"unshare -m sh -c 'mount -t tmpfs none /dev/shm; {GUEST} bricks'"
        scripts = [("another user", f"{become} {GUEST} bricks"), ("other mounts", mounts),
                   *[("another user", f"sudo -n -E -u nobody {GUEST} bricks")] * bool(shutil.which("sudo")),
                   # by nobody in whom we are: the program says so itself
                   *[("another user", f"{drop} {GUEST} bricks") for drop in [dropper(scratch)] if drop]]
        for why, script in scripts:
            out = scratch.file("elsewhere.pftrace")
            run = record(out, "sh", "-c", f"{GUEST} bricks; {script}; exit $?")
            same(run.returncode, 0, f"{script}: exit code ({run.stderr})")
            count, losses, _ = told(out)
            same((count, losses["lost_processes"]), (BRICKS, 1), f"{script}: bricks, lost processes ({run.stderr})")
            check(why.encode() in run.stderr, script, "why is not said:", run.stderr)


def allocators():
    """Those that are installed."""
    known = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout \
        if shutil.which("ldconfig") else ""
    return [line.split(" => ")[1] for line in known.splitlines()
            if any(f"lib{name}.so" in line for name in ("jemalloc", "tcmalloc_minimal", "mimalloc"))]


def copies():
    """Two copies of libbrick in one process are two sessions that go on."""
    with Scratch() as scratch:
        out = scratch.file("copies.pftrace")
        run = record(out, os.path.join(BUILD, "bin", "program-attack_copies"),
                     os.path.join(BUILD, "lib", "attack-plugin.so"))
        same(run.returncode, 0, f"copies: exit code ({run.stderr})")
        same(told(out)[0], 6 * BRICKS, "bricks of two copies")


for embed in False, True:
    attack("descriptors", "@", embed=embed)
    attack("table", embed=embed)
for embed in False, True:
    attack("cancel", embed=embed)
    attack("asynchronous", embed=embed)
counted("cancel", bricks=51 * BRICKS)
counted("files", "1", bricks=BRICKS)
counted("files", "4", bricks=4 * BRICKS)
counted("fsize", bricks=BRICKS)
counted("memory", str(24 << 20), bricks=16 * BRICKS)
if os.geteuid() == 0:
    with Scratch() as scratch:
        counted("chroot", scratch.path, bricks=BRICKS)
if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0:
    counted("mounts", bricks=17 * BRICKS)
counted("uring", bricks=16 * BRICKS)
for embed in False, True:
    for how, bricks in ("fork", 3), ("_Fork", 3), ("clone", 3), ("vfork", 2):
        count, _, text = attack("fork", how, embed=embed, processes=1 if embed or how == "vfork" else 2)
        # a child has a recorder's session of its own, and none where the program is its own recorder
        same(count, BRICKS * (2 if embed else bricks), f"bricks of parent and child of {how}, embedded {embed}: {text}")
privilege()
elsewhere()
copies()
chance = random.Random(int(os.environ.get("ATTACK_SEED", "1")))
for _ in range(ROUNDS):
    # within 10 ms the session begins
    attack("exit", str(chance.randrange(100, 12000)))
counted("seccomp", bricks=BRICKS)
for how, started in ("prctl", 1), ("seccomp", 1), ("late", 0):
    count = counted("sandbox", how, bricks=(started + 1 + 2 * 16 + 2) * BRICKS)
    check(count >= started * (2 + 8) * BRICKS, f"sandbox {how}: 8 threads have lanes, {count} bricks are recorded")
attack("alone", "/bin/true")
counted("behind", GUEST, "bricks", bricks=BRICKS)
with Scratch() as scratch:
    subprocess.run([GUEST, "within", BRICK, "record", "-q", "-o", scratch.file("within.pftrace"), "--", GUEST, "bricks"],
                   check=True, capture_output=True, timeout=600)
    same(told(scratch.file("within.pftrace"))[0], BRICKS, "bricks where the recorder has a filter, too")
counted("live", os.path.join(BUILD, "lib", "attack-live.so"), bricks=BRICKS)
counted("codec", os.path.join(BUILD, "lib", "attack-codec.so"), bricks=BRICKS)
same(attack("span")[0], 2 * BRICKS + 34, "bricks between garbage")
same(attack("span", embed=True)[0], 2 * BRICKS + 34, "bricks between garbage, embedded")
os.environ["ATTACK_FROZEN"] = "1"
same(attack("bricks")[0], BRICKS, "bricks while the clock stands still")
same(attack("bricks", embed=True)[0], BRICKS, "bricks while the clock stands still, embedded")
del os.environ["ATTACK_FROZEN"]
if shutil.which("faketime"):
    for embed in False, True:
        same(attack("bricks", before=["faketime", "-f", "2020-01-01 00:00:00"], embed=embed)[0], BRICKS,
             f"bricks at one moment of a false clock, embedded {embed}")
else:
    print("no faketime(1): no false clock was tried")
for name in allocators():
    os.environ["LD_PRELOAD"] = name
    counted("files", "4", bricks=4 * BRICKS)
    same(attack("fork", "fork")[0], 3 * BRICKS, f"bricks beside {name}")
os.environ.pop("LD_PRELOAD", None)
same(attack("environment")[0], 1600 * BRICKS, "bricks while the environment changes")
loader()
locks()
root = not os.geteuid()
for what, bricks in (("ranges", 16), ("execs", 4.2), ("smallest", 64), ("undumpable", 4), ("forks", 4.5),
                     *root * [("user", 5), ("mounts", 5)]):
    counted(what, bricks=int(bricks * BRICKS), program=UNUSUAL)
    attack(what, program=UNUSUAL, embed=True)
same(attack("altstacks", program=UNUSUAL)[1]["refused"], 16, "bricks on stacks that are too small")
for what in "altstacks", "switches", "jumps", *3 * ["hurry"]:
    for embed in False, True:
        attack(what, program=UNUSUAL, embed=embed)
same(sessions(), set(), "session directories left")
