# SPDX-License-Identifier: Apache-2.0
"""What the first screen of a report must hold, whatever was recorded."""
import re

from libcli import brick, brick_json, columns_of, expect_true

REST = ("preempted", "blocked", "left out", "unattributed")


def shares(lines, at):
    """Of a table's rows, and their names."""
    edge = lines[at].index("SHARE") + len("SHARE")
    for line in lines[at + 1:]:
        value = line[:edge].split()[-1:]
        if not value or not re.fullmatch(r"[<>]?[\d.]+%|-", value[0]):
            return
        yield re.split("  +", line)[0], float(value[0].strip("<>%")) if value[0] not in ("<0.1%", "-") else 0


def beside_threads(part):
    """Rows, of a report of one phase, of what ran on a device only: their SHARE is no part of the threads' time."""
    return {row["name"] for row in part["bricks"] if not row["wall_ns"]}


def check_screen(path, phases=("Decode", "Prefill")):
    parts = {phase: brick_json("report", "--json", "--phase", phase.lower(), path) for phase in phases}
    alone = {phase: beside_threads(part) for phase, part in parts.items()}
    for columns in (80, 100):
        text = brick("report", path, COLUMNS=str(columns))[0].decode()
        lines = text.splitlines()
        where = f"{path} at {columns} columns:\n{text}"
        expect_true(f"{len(lines)} lines, at most 40 of {where}", len(lines) <= 40)
        for line in lines:
            expect_true(f"{line!r} fits {where}", columns_of(line) <= columns)
        trust = re.search(r"Trust ((good|limited by [\w ]+): .*?); more: brick report --trust", " ".join(text.split()))
        expect_true("one line of trust, " + where, trust)
        expect_true("what limits it stands above all figures, and no more than that, " + where,
                    (text.index("\nTrust") < text.index(" tokens/s")) == (trust[2] != "good"))
        for part in ("covered", "distortion", "preempt"):
            expect_true(f"trust says {part}, {where}", part in trust[1])
        expect_true("what to ask next, " + where, lines[-1].startswith("Next "))
        for phase in phases:
            at = next(i for i, line in enumerate(lines) if line.startswith(phase + " ") and "SHARE" in line)
            rows = [row for row in shares(lines, at) if row[0] not in alone[phase]]
            total = sum(share for _, share in rows)
            expect_true(f"{phase} adds up to {total} of {rows}, {where}", abs(total - 100) <= 0.06 * len(rows))
            kept = [share for name, share in rows if name not in REST and " others (each <" not in name]
            on_device = "DEVICE/TOKEN" in lines[at]
            expect_true(f"what takes most comes first: {kept}", on_device or kept == sorted(kept, reverse=True))
            # of a thread that had no CPU, or nothing to do, for half of the time: of the rest
            ran = sum(share for name, share in rows if name not in REST)
            least = 0.5 if ran >= 50 else 0.005 * ran - 0.05
            expect_true(f"0.5 % and more, {where}", on_device or all(share >= least for share in kept[:-1]))
    same_as_json(path, parts)
    narrow(path)


def narrow(path):
    """Where the screen overflows, as all but rows of bricks leaves no more lines than there are tables, each has one such
    row, and that of all others, or the second of two."""
    for columns in range(40, 100, 3):
        lines = brick("report", path, COLUMNS=str(columns))[0].decode().splitlines()
        tables = [at for at, line in enumerate(lines) if "SHARE" in line]
        rests = sum(re.split("  +", line)[0] in REST for line in lines)
        is_tight = tables and len(lines) > 40 and tables[0] + 3 + 3 * len(tables) + rests >= 39 - len(tables)
        for at in tables if is_tight else ():
            rows = [name for name, _ in shares(lines, at) if name not in REST]
            expect_true(f"{len(lines)} lines at {columns} columns, and rows {rows}", len(rows) <= 2)


def same_as_json(path, parts):
    """SHARE is the same in text and JSON; parts: reports by phase."""
    text = brick("report", path, COLUMNS="100")[0].decode().splitlines()
    for phase, part in parts.items():
        at = next(i for i, line in enumerate(text) if line.startswith(phase + " ") and "SHARE" in line)
        rows = {row["name"]: row for row in part["bricks"] + part["rests"]}
        alone = beside_threads(part)
        for name, share in shares(text, at):
            if name not in rows or name in alone:
                continue
            ran = rows[name]["wall_ns"]
            expect_true(f"{phase} {name}: {share} of {ran} ns",
                        abs(100 * ran / part["coverage"]["wall_ns"] - share) <= 0.1)
