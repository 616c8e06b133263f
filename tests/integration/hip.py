# SPDX-License-Identifier: Apache-2.0
"""HIP programs by rocprofiler-sdk's double, of both layouts that its records have had: each kernel and copy
is recorded once, when the device did it, under the brick and layer that launched it, though callbacks
come in another order; waits are waits, for what was over when they were, as far as that can be told; versions that are not known are left alone."""
import json
import os
import subprocess

from librecord import BRICK, BUILD, Scratch

PROGRAM = os.path.join(BUILD, "bin", "program-hip_work")
SLACK_NS = 300
OWNERS = {"product": "QkvProjection", "scale": "QkvProjection", "norm": "RmsNorm"}


def record(scratch, version):
    path, log = scratch.file("hip.pftrace"), scratch.file("truth")
    for name in (path, log):
        if os.path.exists(name):
            os.unlink(name)
    env = dict(os.environ, LD_LIBRARY_PATH=os.path.join(BUILD, "lib", "doubles"), FAKE_HIP=version,
               FAKE_HIP_LOG=log)
    done = subprocess.run([BRICK, "record", "-q", "-o", path, "--", PROGRAM], env=env,
                          capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (0, "done\n"), done
    with open(log, encoding="utf-8") as file:
        truth = [line.split() for line in file]
    return json.loads(subprocess.check_output([BRICK, "export", "--format", "json", path])), truth


def commands(run):
    names = [brick["name"] for brick in run["bricks"]]
    for values in run["commands"]:
        command = dict(zip(run["command_fields"], values))
        lane = run["lanes"][command["lane"]]
        sample = dict(zip(run["sample_fields"], lane["samples"][command["sample"]]))
        site = run["sites"][sample["site"]]
        kernel = run["kernels"][command["kernel"]]
        yield (sample["begin_ns"], sample["end_ns"], kernel["name"], names[site["brick"]],
               site["layer"], site.get("bytes") or 0, kernel["grid"], lane["name"])


def check(label, run, truth):
    found, truth = sorted(commands(run)), sorted(truth, key=lambda t: int(t[2]))
    assert len(found) == len(truth) == 23, (label, len(found), len(truth))
    for got, (name, queue, begin, end, size) in zip(found, truth):
        kernel = {"_Z7productPf.kd": "product", "copy": "copy to device"}.get(
            name, name.removesuffix(".kd"))
        assert kernel in got[2], (label, got, name)
        assert abs(got[0] - int(begin)) <= SLACK_NS + 100000, (label, got, begin)
        assert abs(got[1] - got[0] - (int(end) - int(begin))) <= SLACK_NS, (label, got, begin, end)
        assert got[5] == int(size), (label, got, size)
        if name != "copy":
            assert got[3] == OWNERS[kernel] and got[4] in (0, 1), (label, got)
            assert f"queue {queue}" in got[7], (label, got, queue)
    assert {got[6][0] for got in found if "product" in got[2]} == {8}, (label, found)
    names = [brick["name"] for brick in run["bricks"]]
    samples = [dict(zip(run["sample_fields"], values)) for lane in run["lanes"]
               if lane["kind"] != "queue" for values in lane["samples"]]
    count = {what: sum(names[run["sites"][s["site"]]["brick"]] == what for s in samples)
             for what in ("Launch", "Synchronize")}
    assert count == {"Launch": 23, "Synchronize": 5}, (label, count)
    check_waits(label, run)


def check_waits(label, run):
    """Nobody waited for what went on behind the wait; the last two are for a kernel of one stream, then of another."""
    def sample_of(lane, number):
        return dict(zip(run["sample_fields"], run["lanes"][lane]["samples"][number]))
    found = []
    for values in run["waits"]:
        wait = dict(zip(run["wait_fields"], values))
        command = dict(zip(run["command_fields"], run["commands"][wait["command"]]))
        over, done = sample_of(wait["lane"], wait["sample"]), sample_of(command["lane"], command["sample"])
        assert done["end_ns"] <= over["end_ns"] + SLACK_NS, (label, over, done)
        found.append((over["end_ns"], run["kernels"][command["kernel"]]["name"]))
    names = [name for _, name in sorted(found)]
    told = ["scale"] if label == "10100" else []  # where streams are not told, that cause is missing, and not wrong
    assert names == ["norm"] * 3 + told + ["norm"], (label, names)


def main():
    with Scratch() as scratch:
        for version in ("500", "10100"):
            run, truth = record(scratch, version)
            notes = {note["key"]: note["value"] for note in run["notes"]}
            assert "0 never came" in notes["hip.commands"], notes
            check(version, run, truth)
        run, truth = record(scratch, "20000")
        notes = {note["key"]: note["value"] for note in run["notes"]}
        assert not run["commands"] and "20000 is not known" in notes["hip"], notes


main()
