# SPDX-License-Identifier: Apache-2.0
"""GPUs of a report, counted again from the recording's commands."""
import csv

from libcli import brick, brick_json, expect, expect_true


def busy(spans):
    total, until = 0, 0
    for begin, end in sorted(spans):
        total += max(end - max(begin, until), 0)
        until = max(until, end)
    return total


def check_gpus(path):
    """Busy and idle to the ns; every ns of idle time has one cause. Returns the GPUs of the report."""
    run, report = brick_json("export", "--format", "json", path), brick_json("report", "--json", path)
    gpus = report["device"]["gpus"]
    for gpu in gpus:
        expect(f"causes of {gpu}", sum(part["time_ns"] for part in gpu["idle"].values()), gpu["idle_ns"])
        expect("busy and idle", gpu["busy_ns"] + gpu["idle_ns"], gpu["wall_ns"])
        expect("what it was busy with", gpu["compute_ns"] + gpu["exposed_collective_ns"] + gpu["exposed_transfer_ns"], gpu["busy_ns"])
    table = list(csv.DictReader(brick("report", "--csv", "--by", "device", path)[0].decode().splitlines()))
    want = []
    for gpu in gpus:
        busy_ns = {"compute": gpu["compute_ns"], "transfer": gpu["exposed_transfer_ns"], "collective": gpu["exposed_collective_ns"]}
        at = (str(gpu["pid"]), "" if gpu["gpu"] is None else str(gpu["gpu"]), gpu["name"])
        want += [(*at, "0", state, str(ns), "") for state, ns in busy_ns.items() if ns]
        want += [(*at, "1", cause, str(part["time_ns"]), part["brick"] or "") for cause, part in gpu["idle"].items()]
    expect("--by device as CSV", [tuple(row[key] for key in ("pid", "gpu", "name", "is_idle", "state", "time_ns", "brick")) for row in table], want)
    expect("--by device as JSON", brick_json("report", "--json", "--by", "device", path), {"schema": "brick/gpus/1", "gpus": gpus})
    expect_true("--by device", not gpus or b"computed" in brick("report", "--by", "device", path)[0])
    for row in report["bricks"]:
        expect_true(f"exposed: {row}", row["exposed_ns"] is None or 0 <= row["exposed_ns"] <= row["device_ns"])
    if len(gpus) != 1:
        return gpus
    queues = {i for i, lane in enumerate(run["lanes"]) if lane["kind"] == "queue" and lane["backend"] != "host"}
    spans = [(s[0], s[1]) for i in queues for s in run["lanes"][i]["samples"] if not s[5]]
    launches = {(c["lane"], c["sample"]): c["launch_ns"] for c in (dict(zip(run["command_fields"], c)) for c in run["commands"])}
    at = [(s[0], s[1]) for i in queues for k, s in enumerate(run["lanes"][i]["samples"]) if not s[5] and
          any(step["begin_ns"] <= (launches.get((i, k)) or s[0]) < step["end_ns"] for step in run["steps"])] or spans
    first, last = min(s[0] for s in at), max(s[1] for s in at)
    want = busy([(max(s[0], first), min(s[1], last)) for s in spans])
    expect("time", gpus[0]["wall_ns"], last - first)
    expect("busy", gpus[0]["busy_ns"], want)
    return gpus
