# SPDX-License-Identifier: Apache-2.0
"""
All views of one recording measure a brick's executions by the same basis: its time on the CPU, and
of a wait all its time. A brick sleeps, another one sleeps and says that this is what it is for;
report in all forms, the page with its histogram, top, the metrics of serve and the tree are read
and compared.
"""
import csv
import io
import json
import os
import re
import subprocess
import sys

from libcli import BUILD, TMP, brick, brick_json, expect, expect_true
from libhtml import need_page, page_of
from libserve import Server, need_server

PROGRAM = os.path.join(BUILD, "bin", "program-off_cpu")
LENGTHS = ["avg_ns", "min_ns", "p50_ns", "p95_ns", "p99_ns", "max_ns"]
SLEEPS, WAITS, SPINS = "sleep-5ms", "sleep-as-wait-5ms", "spin-200us"


def numbers(row):
    """Exact statistics and samples differ by the rounding of a ns."""
    times = {key: row[key] and Near(row[key]) for key in LENGTHS}
    return {**times, **{key: row[key] for key in ("basis", "bytes_per_s", "count")}}


class Near(int):
    def __eq__(self, other):
        return isinstance(other, int) and abs(self - other) <= 1

    __hash__ = None


def record(name, *options):
    path = os.path.join(TMP, name)
    subprocess.run([PROGRAM, "0", path, *options], check=True, capture_output=True, timeout=60)
    return path


def one_basis(row):
    """Each number of a row is within what the others allow."""
    known = [row[key] for key in ("min_ns", "p50_ns", "p95_ns", "p99_ns", "max_ns")
             if row[key] is not None]
    expect(f"{row['name']}: in order", known, sorted(known))
    expect_true(f"{row['name']}: mean", row["min_ns"] <= row["avg_ns"] <= row["max_ns"])
    if row["bytes_per_s"]:
        # each has a step of its own, so that none lies beside another; a microsecond of rounding
        ns = row["bytes"] * 1e9 / row["bytes_per_s"] / row["count"]
        expect_true(f"{row['name']}: {row['bytes_per_s']} B/s is of {ns} ns, AVG {row['avg_ns']}",
                    abs(ns - row["avg_ns"]) <= 1000 + 0.01 * row["avg_ns"])


def basis_of_rows(rows):
    for row in rows.values():
        one_basis(row)
    asleep, waiting = rows[SLEEPS], rows[WAITS]
    expect("a brick that sleeps", asleep["basis"], "cpu")
    expect_true(f"on the CPU: {asleep}", asleep["max_ns"] < asleep["length_min_ns"])
    expect_true(f"its length: {asleep}", asleep["length_min_ns"] >= 5_000_000)
    expect_true("both add up", abs(asleep["avg_ns"] * asleep["count"] - asleep["cpu_ns"]) <= 10)
    # what others moved while it was blocked is no rate of its own; a copy's is
    expect("it is no memory bandwidth", asleep["bytes_per_s"], None)
    expect_true("a rate is one on the CPU", rows[SPINS]["bytes_per_s"])
    expect("a brick that waits", waiting["basis"], "wall")
    expect_true(f"as long as it takes: {waiting}", waiting["min_ns"] >= 5_000_000)
    expect("waiting has no rate", waiting["bytes_per_s"], None)
    expect("the same", [waiting["length_" + key] for key in ("avg_ns", "min_ns", "max_ns")],
           [waiting[key] for key in ("avg_ns", "min_ns", "max_ns")])


def buckets_hold(name, flat, row):
    """A histogram, with edges, is of the same executions as its row."""
    buckets = list(zip(*[iter(flat)] * 3))
    expect(f"{name}: executions", sum(count for _, _, count in buckets), row["count"])
    slack = 1.01  # the report's own buckets
    expect_true(f"{name}: {buckets[0]} holds {row['min_ns']}",
                buckets[0][0] / slack <= row["min_ns"] <= buckets[0][1] * slack)
    expect_true(f"{name}: {buckets[-1]} holds {row['max_ns']}",
                buckets[-1][0] / slack <= row["max_ns"] <= buckets[-1][1] * slack)


def page(path, rows):
    need_page()
    out = path + ".html"
    brick("report", path, "--html", out)
    data, _, _ = page_of(out)
    for row in data["report"]["bricks"]:
        expect("page: " + row["name"], numbers(row), numbers(rows[row["name"]]))
    for lengths in data["lengths"]:
        row = rows[lengths["name"]]
        buckets_hold("page: " + row["name"], lengths["all"], row)
        buckets_hold("page, decode: " + row["name"], lengths["decode"], row)
    return data["basis"]


def metrics(path, rows):
    need_server(path)
    text = Server(path).get("/metrics")[2].decode()
    for row in rows.values():
        found = re.search(rf'brick_execution_seconds_sum{{brick="{row["name"]}".*}} (\S+)', text)
        expect_true(f"metrics: sum of {row['name']}",
                    abs(float(found[1]) * 1e9 / row["count"] - row["avg_ns"]) < 2)
        below = re.findall(
            rf'execution_seconds_bucket{{brick="{row["name"]}",.*le="(\S+)"}} (\S+)', text)
        for bound, count in below:
            expect_true(f"metrics: {row['name']}, none is below {bound}",
                        float(bound) * 1e9 * 1.02 > row["min_ns"] or not float(count))
            expect_true(f"metrics: {row['name']}, all are below {bound}",
                        float(bound) * 1e9 < row["max_ns"] * 1.02 or float(count) == row["count"])


def forms_of_report(path, rows, basis):
    table = {row["name"]: row for row in csv.DictReader(
        io.StringIO(brick("report", path, "--csv")[0].decode()))}
    for name, row in rows.items():
        for key in LENGTHS:
            expect(f"csv: {key} of {name}", table[name][key],
                   "" if row[key] is None else str(row[key]))
        expect(f"csv: basis of {name}", table[name]["basis"], row["basis"])
    phase = brick_json("report", "--json", "--phase", "decode", path)["bricks"]
    for row in phase:
        expect("decode: " + row["name"], numbers(row), numbers(rows[row["name"]]))
    screen = json.loads(brick("top", "--headless", "--json", path)[0].decode().splitlines()[-1])
    for row in screen["bricks"]:
        expect("top: " + row["name"], numbers(row), numbers(rows[row["name"]]))
    text = re.sub(r"\s+", " ", brick("report", "-v", path)[0].decode())
    expect_true(f"text names the basis: {basis}", basis in text)
    categories = {row["name"]: row for row in brick_json("report", "--json", path)["categories"]}
    expect("waits", numbers(categories["Wait"]), numbers(rows[WAITS]))
    expect("a category", categories["Other"]["min_ns"],
           min(row["min_ns"] for row in rows.values() if row["basis"] == "cpu"))


def unknown(path):
    """Without times off the CPU all is by the wall, and says so."""
    rows = {row["name"]: row for row in brick_json("report", "--json", path)["bricks"]}
    for row in rows.values():
        one_basis(row)
        expect("basis of " + row["name"], row["basis"], "wall")
        expect("its mean", row["avg_ns"], row["length_avg_ns"])
    expect_true("the shortest sleep", rows[SLEEPS]["min_ns"] >= 5_000_000)
    basis = page(path, rows)
    metrics(path, rows)
    expect_true(f"says so: {basis}", "not known" in basis)


def main():
    path = record("basis.pftrace")
    report = brick_json("report", "--json", path)
    if report["presence"]["off_cpu"] is None:
        print("skipped: the kernel does not say when threads are off their CPUs")
        sys.exit(77)
    rows = {row["name"]: row for row in report["bricks"]}
    basis_of_rows(rows)
    basis = page(path, rows)
    metrics(path, rows)
    forms_of_report(path, rows, basis)
    unknown(record("wall.pftrace", "off"))


main()
