# SPDX-License-Identifier: Apache-2.0
"""What Brick does inside of a program harms nothing of the program's: its descriptors, files, limits,
signals and threads; and what could not be recorded is counted."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
from librecord import *

GUEST = os.path.join(BUILD, "bin", "program-attack_guest")
need(GUEST)
BRICKS = 1000


def told(out):
    """Samples in a recording, and what it says was lost."""
    run = subprocess.run([BRICK, "report", "--json", out], capture_output=True, text=True, timeout=60)
    if run.returncode:
        return 0, None, run.stderr
    answer = json.loads(run.stdout)
    count = sum(b["count"] for b in answer["bricks"] if b["name"] == "RmsNorm")
    return count, answer["losses"], run.stderr


def attack(what, *arguments, embed=False, before=()):
    """The program with and without Brick: same code and output, and every brick is told or lost."""
    with Scratch() as scratch:
        out = scratch.file("attack.pftrace")
        arguments = [a.replace("@", scratch.file("own")) for a in arguments]
        if embed:
            run = subprocess.run([*before, GUEST, f"embed={out}", what, *arguments],
                                 capture_output=True, timeout=120)
        else:
            run = record(out, *before, GUEST, what, *arguments)
        plain = subprocess.run([*before, GUEST, what, *arguments], capture_output=True, timeout=120)
        name = f"{what} {' '.join(arguments)}{' embedded' if embed else ''}"
        same(run.returncode, plain.returncode, f"{name}: exit code ({run.stderr.decode()})")
        same(run.stdout, plain.stdout, f"{name}: output")
        return told(out) if os.path.exists(out) else (0, None, run.stderr.decode())


def counted(what, *arguments, bricks, **options):
    count, losses, text = attack(what, *arguments, **options)
    check(losses is not None, what, "no recording:", text)
    lost = losses["dropped"] + losses["unmatched"] + losses["refused"]
    same(count + lost, bricks, f"{what} {arguments}: bricks recorded ({count}) and lost ({lost})")


for embed in False, True:
    attack("descriptors", "@", embed=embed)
    attack("table", embed=embed)
for embed in False, True:
    attack("cancel", embed=embed)
counted("cancel", bricks=51 * BRICKS)
counted("files", "1", bricks=BRICKS)
counted("files", "4", bricks=4 * BRICKS)
counted("fsize", bricks=BRICKS)
counted("memory", str(24 << 20), bricks=16 * BRICKS)
if os.geteuid() == 0:
    with Scratch() as scratch:
        counted("chroot", scratch.path, bricks=BRICKS)
same(sessions(), set(), "session directories left")
