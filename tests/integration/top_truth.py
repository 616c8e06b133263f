# SPDX-License-Identifier: Apache-2.0
"""
brick top against the program's own clock, for each kind of session: with records, with statistics
only, attached by `brick record`, and each with work of a device. The program stops and says what it
measured; header, rows and JSON of a picture of that moment must say the same, within 2 %.
"""
import json
import os
import re
import subprocess

from libcli import BRICK, BUILD, TMP, brick, environment, expect, expect_true, fail
from libtop import rows

PROGRAM = os.path.join(BUILD, "bin", "program-top_embedded")
WITHIN = 0.02
UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}


def close(what, said, own, rounding=0.0):
    """rounding: of what is printed, absolute."""
    if said is None or abs(said - own) > WITHIN * own + rounding:
        fail(f"{what}: {said}, by the program's own clock {own}")


def read_own(lines):
    own = {}
    for line in lines:
        name, *numbers = line.split()
        if name == "end":
            return own
        own[name] = tuple(map(int, numbers))
    return fail("the program ended early")


def median_step(own, samples_of):
    """With what came after it. A histogram of steps knows no more than what came after them on average."""
    mean = own["p50"][1] + own["Sampling"][1] / own["step"][0]
    return mean if samples_of == "statistics" else own["whole"][1]


def check_json(what, top, own, with_device):
    """All of `steps`, `exact` and the rows."""
    count, span_ns = own["step"]
    decode_ns = span_ns + own["Sampling"][1]
    decode, exact = top["steps"]["decode"], top["exact"]["decode"]
    expect(f"{what}: steps", (decode["count"], exact["count"], exact["tokens"]), (count,) * 3)
    close(f"{what}: steps in all", decode["total_ns"], decode_ns)
    close(f"{what}: exact", exact["spans_ns"], span_ns)
    close(f"{what}: median step", decode["p50_ns"], median_step(own, top["samples_of"]))
    for rate in decode["tokens_per_s"], exact["tokens_per_s"]:
        close(f"{what}: tokens/s", rate, count * 1e9 / decode_ns)
    found = {row["name"]: row for row in top["bricks"]}
    for name in "DownProjection", "Sampling":
        row, (n, ns) = found[name], own[name]
        expect(f"{what}: {name}, count", row["count"], n)
        if with_device and name == "DownProjection":
            continue  # a launch lies in it
        close(f"{what}: {name}, time", row["self_ns"], ns)
        close(f"{what}: {name}, share", row["share"], (ns - (row["off_ns"] or 0)) / decode_ns)
    shares = sum(row["share"] for row in top["bricks"] + top["rests"] if row["share"] is not None)
    close(f"{what}: rows and rests", shares, 1)
    if with_device:
        expect(f"{what}: commands", sum(row["device_count"] or 0 for row in top["bricks"]), own["queue"][0])
        close(f"{what}: device", sum(row["device_ns"] or 0 for row in top["bricks"]), own["queue"][1])


def duration(text):
    number, unit = re.fullmatch(r"([\d.]+)(\D+)", text).groups()
    return float(number) * UNITS[unit], 0.5 * UNITS[unit] / (10 ** (len(number.partition(".")[2])))


def check_screen(what, text, own, samples_of, with_device):
    count, span_ns = own["step"]
    decode_ns = span_ns + own["Sampling"][1]
    header = text.splitlines()
    expect_true(f"{what}: {header[1]}", f"{count} decode" in header[1])
    over = re.search(r"([\d.]+) over the run", header[2])
    expect_true(f"{what}: {header[2]}", over)
    close(f"{what}: header's tokens/s", float(over.group(1)), count * 1e9 / decode_ns, 0.5)
    p50 = duration(re.search(r"step p50 (\S+?)(?= p99|;|$)", header[2]).group(1))
    close(f"{what}: header's median", p50[0], median_step(own, samples_of), p50[1])
    if with_device:
        return
    _, lines = rows(text, "BRICK")
    shown = next(line for line in lines if line.startswith("DownProjection")).split()
    share = next(word for word in shown if word.endswith("%"))
    close(f"{what}: row's share", float(share.strip("%<>")), 100 * own["DownProjection"][1] / decode_ns, 0.05)


def picture(pid):
    out, _ = brick("top", "--headless", "--json", "-i", "0.2", "--duration", "0.5", "--phase", "all", str(pid))
    text, _ = brick("top", "--dump", "200x40", "-i", "0.2", "--phase", "all", str(pid))
    return json.loads(out.decode().splitlines()[-1]), text.decode()


def session(what, start, with_device, attached=False):
    """Start of its session, then work, then a picture of what is held."""
    words = [PROGRAM, *start, *(["queue"] if with_device else []), "sample=400",
             "ms=700", "own", "hold"]
    path = os.path.join(TMP, f"{what}.pftrace".replace(" ", "-"))
    command = [BRICK, "record", "-q", "-o", path, "--", *words] if attached else words
    what += " and a device" if with_device else ""
    program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment())
    own = read_own(program.stdout)
    top, text = picture(program.pid)
    expect(f"{what}: samples of", top["samples_of"], "statistics" if start == ["memory"] else "window")
    check_json(what, top, own, with_device)
    check_screen(what, text, own, top["samples_of"], with_device)
    if start == ["memory"]:
        for view in "tree", "path", "layers", "queues", "categories", "threads":
            brick("top", "--dump", "100x30", "--view", view, str(program.pid))
    program.stdin.close()
    expect(f"{what}: it ends", program.wait(100), 0)


def main():
    for with_device in False, True:
        session("embedded", [f"output={os.path.join(TMP, 'own.pftrace')}"], with_device)
        session("statistics only", ["memory"], with_device)
        session("attached", [], with_device, attached=True)


main()
