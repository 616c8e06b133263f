# SPDX-License-Identifier: Apache-2.0
"""Recordings whose numbers were changed, in one packet or in a stretch: every command reads what is left of them or
refuses it, and none dies. A program with sanitizers (BRICK_PROGRAM) also shows that none divides by nothing, converts
what does not fit, or looks beside an array. SEED=n repeats a run, ATTACK_ROUNDS=n makes it longer, ATTACK_FOUND=DIR keeps
what was found."""
import concurrent.futures
import os
import random
import shutil
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
from libcli import *
from libwire import fields, message, packets

PROGRAM = os.environ.get("BRICK_PROGRAM", BRICK)
FOUND = os.environ.get("ATTACK_FOUND")
SEED = int(os.environ.get("SEED", time.time_ns() & 0xFFFFFF))
ROUNDS = int(os.environ.get("ATTACK_ROUNDS", 25))
RECORDERS = ("cli", "compare", "device", "random", "serving")
COMMANDS = (("report",), ("report", "--by", "layer"), ("report", "--by", "step", "--json"), ("report", "--csv"),
            ("report", "--by", "queue"), ("report", "--html", "-"), ("explain",), ("explain", "--json"), ("tree",),
            ("tree", "--json"), ("path",), ("path", "--json"), ("roofline",), ("roofline", "--json"), ("scaling",),
            ("requests",), ("experts",), ("tiles",), ("flame", "-o", "-"), ("diff", "--disturbed", "RECORDING"),
            ("diff", "--disturbed", "--json", "RECORDING"), ("export", "--format", "chrome", "-o", "-"))
NUMBERS = [0, 1, 2, 3, 127, 128, 1023, 1024, 65535, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 52, 1 << 62, (1 << 63) - 1,
           1 << 63, (1 << 64) - 1, (1 << 64) - 1000]
DOUBLES = [struct.unpack("<Q", struct.pack("<d", d))[0] for d in (0.0, -1.0, 1e-300, 1e300, float("inf"), float("nan"))]
TIMESTAMP = 8


def encoded(number, wire, value):
    tag = bytearray(message(number, 0)[:-1])
    tag[0] |= wire
    if wire == 0:
        return message(number, value & (1 << 64) - 1)
    if wire == 2:
        return message(number, value)
    return bytes(tag) + (struct.pack("<Q", value & (1 << 64) - 1) if wire == 1 else struct.pack("<I", value & (1 << 32) - 1))


def parsed(data):
    """The fields of a message; None: these bytes are none."""
    try:
        return list(fields(data)) or None
    except (ValueError, IndexError, struct.error):
        return None


def changed_bytes(dice, data):
    data = bytearray(data)
    for _ in range(dice.randint(1, 3)):
        if data:
            data[dice.randrange(len(data))] = dice.randrange(256)
    return bytes(data) if dice.random() < 0.8 else bytes(data[:dice.randrange(len(data) + 1)])


def changed(dice, data):
    """A message with one number or text in it changed, at any depth."""
    parts = parsed(data)
    if not parts:
        return changed_bytes(dice, data)
    at = dice.randrange(len(parts))
    number, wire, value = parts[at]
    if wire == 2:
        value = changed(dice, value) if not value.isascii() or dice.random() < 0.5 else changed_bytes(dice, value)
    elif dice.random() < 0.4:
        value += dice.choice((1, -1, 2, -2, 1000, -1000, 1 << dice.randrange(64)))
    else:
        value = dice.choice(NUMBERS + DOUBLES)
    parts[at] = (number, wire, value)
    return b"".join(encoded(*p) for p in parts)


def with_time(data, ns):
    return b"".join(encoded(n, w, ns if n == TIMESTAMP else v) for n, w, v in parsed(data) or ())


def mutate(dice, whole):
    """Some packets of a recording changed, dropped, repeated, moved, or put at one time."""
    out = list(whole)
    for _ in range(dice.choice((1, 1, 1, 2, 4, 16))):
        at, kind = dice.randrange(len(out)), dice.randrange(9)
        stretch = range(at, min(len(out), at + dice.choice((1, 2, 8, 64, len(out)))))
        if kind < 4:
            out[at] = changed(dice, out[at])
        elif kind < 6:
            ns = dice.choice(NUMBERS)
            for i in stretch:
                out[i] = with_time(out[i], ns)
        elif kind == 6:
            del out[at:stretch.stop if len(stretch) < len(out) // 2 else at + 1]
        elif kind == 7:
            out[at:at] = [out[i] for i in stretch][:64]
        else:
            other = dice.randrange(len(out))
            out[at], out[other] = out[other], out[at]
        if not out:
            out = list(whole)
    return b"".join(message(1, p) for p in out)


def sane(done):
    """It answered, or said why not, and no sanitizer spoke."""
    return 0 <= done.returncode <= 4 and b"runtime error" not in done.stderr and b"Sanitizer" not in done.stderr


def ask(command, path, whole):
    arguments = [whole if a == "RECORDING" else a for a in command]
    return subprocess.run([PROGRAM, *arguments, path], capture_output=True, env=environment(BRICK_DB="none"), timeout=600)


def one_round(number, seeds):
    """Findings of one damaged recording."""
    dice = random.Random(SEED * 1000003 + number)
    whole, known = dice.choice(seeds)
    path = os.path.join(TMP, f"damaged-{number}.pftrace")
    with open(path, "wb") as file:
        file.write(mutate(dice, known))
    found = []
    for command in COMMANDS:
        try:
            done = ask(command, path, whole)
            if not sane(done):
                found.append(f"{' '.join(command)}: {done.returncode}\n{done.stderr[:1500].decode(errors='replace')}")
        except subprocess.TimeoutExpired:
            found.append(f"{' '.join(command)}: not done")
    if found and FOUND:
        shutil.copy(path, os.path.join(FOUND, f"damaged-{SEED}-{number}.pftrace"))
    os.unlink(path)
    return [f"SEED={SEED}, round {number}: {text}" for text in found]


def main():
    seeds = []
    for name in RECORDERS:
        path = os.path.join(TMP, f"{name}.pftrace")
        subprocess.run([os.path.join(BUILD, "bin", f"program-{name}_recording"), path, "7"], check=True,
                       capture_output=True, timeout=600)
        with open(path, "rb") as file:
            seeds.append((path, [packet for packet, _ in packets(file.read())]))
        expect_true(f"{name}: read as it is", all(sane(ask(c, path, path)) for c in COMMANDS))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = sum(pool.map(lambda number: one_round(number, seeds), range(ROUNDS)), [])
    if found:
        fail("\n".join(found[:20]) + f"\n{len(found)} findings in {ROUNDS} rounds")
    print(f"{ROUNDS} damaged recordings, {len(COMMANDS)} commands each: 0 findings (SEED={SEED})")


main()
