# SPDX-License-Identifier: Apache-2.0
"""What attacks by a program share: it runs with and without Brick, and must not see the difference."""
import json
import os

from librecord import *

GUEST = os.path.join(BUILD, "bin", "program-attack_guest")
BRICKS = 1000


def told(out):
    """Samples in a recording, and what it says was lost."""
    run = subprocess.run([BRICK, "report", "--json", out], capture_output=True, text=True, timeout=600)
    if run.returncode:
        return 0, None, run.stderr
    answer = json.loads(run.stdout)
    count = sum(b["count"] for b in answer["bricks"] if b["name"] in ("RmsNorm", "RopeEmbedding", "Sampling"))
    return count, answer["losses"], run.stderr


def own_lines(stderr):
    return b"".join(line for line in stderr.splitlines(True) if not line.startswith(b"brick: "))


def attack(what, *arguments, embed=False, before=(), program=GUEST, options=(), processes=None):
    """The program with and without Brick: same code, output and stderr; what told() says, and the summary."""
    with Scratch() as scratch:
        out = scratch.file("attack.pftrace")
        arguments = [a.replace("@", scratch.file("own")) for a in arguments]
        if embed:
            run = subprocess.run([*before, program, f"embed={out}", what, *arguments],
                                 capture_output=True, timeout=600)
        else:
            run = record(out, *before, program, what, *arguments, options=options)
        plain = subprocess.run([*before, program, what, *arguments], capture_output=True, timeout=600)
        name = f"{' '.join(before)} {what} {' '.join(arguments)}{' embedded' if embed else ''}"
        same((run.returncode, run.stdout), (plain.returncode, plain.stdout), f"{name}: what it did ({run.stderr.decode()})")
        same(own_lines(run.stderr), plain.stderr, f"{name}: stderr")
        if processes:
            same(len({e["pid"] for e in Trace(out).all("brick.process")}), processes, f"{name}: processes")
        if not os.path.exists(out):
            return 0, None, run.stderr.decode()
        count, losses, text = told(out)
        if losses and losses["refused"] and not embed:
            check(b" lost" in run.stderr, f"{name}: the summary is silent about {losses['refused']} records:", run.stderr)
        return count, losses, text


def counted(what, *arguments, bricks, **options):
    """Every brick is told or lost; what was dropped is in the statistics."""
    count, losses, text = attack(what, *arguments, **options)
    check(losses is not None, what, "no recording:", text)
    lost = losses["unmatched"] + losses["refused"]
    same(count + lost, bricks, f"{what} {arguments} {options}: bricks recorded ({count}) and lost ({lost})")
    return count
