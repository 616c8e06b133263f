# SPDX-License-Identifier: Apache-2.0
"""brick export: files that are whole or not there, links, devices, and what the plain dump holds."""
import json
import os
import stat
import subprocess

from libcli import BRICK, TMP, brick, brick_json, environment, expect, expect_true, recording


def files(path):
    out = os.path.join(TMP, "out.json")
    brick("export", "--format", "json", "-o", out, path)
    with open(out, "rb") as file:
        data = file.read()
    expect("the same as on stdout", data, brick("export", "--format", "json", path)[0])
    expect("-o -", brick("export", "--format", "json", "-o", "-", path)[0], data)
    mask = os.umask(0)
    os.umask(mask)
    expect("mode", stat.S_IMODE(os.stat(out).st_mode), 0o666 & ~mask)

    link = os.path.join(TMP, "link.json")
    os.symlink("out.json", link)
    brick("export", "--format", "csv", "--output", link, path)
    expect_true("a link stays one", os.path.islink(link))
    with open(out, "rb") as file:
        expect("and leads to the new file", file.read(), brick("export", "--format", "csv", path)[0])

    before = sorted(os.listdir(TMP))
    _, err = brick("export", "--format", "json", "-o", os.path.join(TMP, "no", "such"), path, code=4)
    expect_true("no such directory", b"No such file" in err)
    brick("export", "--format", "json", "-o", "/dev/full", path, code=4)
    expect("nothing is left behind", sorted(os.listdir(TMP)), before)
    with open(out, "wb") as file:
        file.write(b"precious")

    def limit():
        import resource
        import signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    done = subprocess.run([BRICK, "export", "--format", "json", "-o", out, path],
                          capture_output=True, env=environment(), preexec_fn=limit)
    expect("too large", done.returncode, 4)
    with open(out, "rb") as file:
        expect("the old file is untouched", file.read(), b"precious")
    expect("and nothing beside it", sorted(os.listdir(TMP)), before)
    brick("export", "--format", "json", "-o", "/dev/null", path)


def dump(path):
    run = brick_json("export", "--format", "json", path)
    expect("schema", run["schema"], "brick/export/1")
    expect("steps", [(s["phase"], s["tokens"]) for s in run["steps"]],
           [("prefill", 16)] + [("decode", 1)] * 30)
    counts = {}
    fields = run["sample_fields"]
    for lane in run["lanes"]:
        for sample in lane["samples"]:
            s = dict(zip(fields, sample))
            expect_true("times", s["begin_ns"] <= s["end_ns"])
            name = run["bricks"][run["sites"][s["site"]]["brick"]]["name"]
            counts[name] = counts.get(name, 0) + 1
    for row in brick_json("report", "--json", path)["bricks"]:
        if row["name"] != "BarrierWait":
            expect(row["name"], counts[row["name"]], row["count"])
    site = next(s for s in run["sites"] if s["label"] == "norm-1")
    expect("site", (site["layer"], site["operation"], site["elements"], site["bytes"],
                    site["flops"]), (1, "RMS_NORM", 512, 4096, 8192))


def main():
    path = recording()
    files(path)
    dump(path)
    events = brick_json("export", "--format", "chrome", path)
    events = events["traceEvents"] if isinstance(events, dict) else events
    names = {event.get("name") for event in events}
    expect_true("Chrome events", {"Prefill", "Decode", "RmsNorm", "Sampling"} <= names)
    lines = brick("export", "--format", "csv", path)[0].splitlines()
    expect_true("one line per sample", len(lines) > 31 * 11)


main()
