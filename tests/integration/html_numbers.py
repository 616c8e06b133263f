# SPDX-License-Identifier: Apache-2.0
"""
The numbers of the page are those of `brick report --json` and `brick path --json`; pictures add up
to them; names cannot break out of the page; the file is whole or not there; a long run is small.
"""
import os
import re
import subprocess

from libcli import BUILD, TMP, brick, brick_json, expect, expect_true, recording
from libhtml import DEMO, need_page, page_of

HOSTILE = "</script><script>hacked=1</script>\u2028<!--&\"'"


def make(path, name):
    out = os.path.join(TMP, name)
    text, errors = brick("report", path, "--html", out)
    expect("nothing is printed", (text, errors), (b"", b""))
    return out


def same_numbers(path, page):
    expect("report", page["report"], brick_json("report", "--json", path))
    for phase in ("prefill", "decode"):
        alone = brick_json("report", "--json", "--phase", phase, path)
        expect(phase, page["report"]["by_phase"][phase], {key: alone[key] for key in ("coverage", "bricks", "rests")})
    expect("threads", page["threads"],
           brick_json("report", "--json", "--by", "thread", path)["threads"])
    expect("path", page["path"]["all"], brick_json("path", "--json", path))


def sums(page):
    rows = page["report"]["bricks"]
    cells = {}
    for phase in ("prefill", "decode", "outside"):
        for _, brick_number, ns, _ in page["layers"][phase]:
            cells[brick_number] = cells.get(brick_number, 0) + ns
    for i, row in enumerate(rows):
        expect(f"layers of {row['name']}", cells.get(i, 0), row["wall_ns"])
    for phase in ("prefill", "decode"):
        steps = page["steps"][phase]
        report = page["report"]["steps"][phase]
        expect(f"{phase} steps", sum(steps["count"]), report["count"])
        expect(f"{phase} tokens", sum(steps["tokens"]), report["tokens"])
        expect(f"{phase} time", sum(steps["total_ns"]), report["total_ns"])
        expect(f"slowest {phase}", max(steps["max_ns"], default=None), report["max_ns"])
        for i, total in enumerate(steps["total_ns"]):
            parts = sum(c["ns"][i] for c in steps["categories"]) + steps["unattributed_ns"][i]
            expect(f"parts of {phase} {i}", parts, total)
    for length, row in zip(page["lengths"], rows):
        expect("length", length["name"], row["name"])
        expect(f"executions of {row['name']}", sum(length["all"][2::3]), row["count"])
        for low, high, count in zip(*[iter(length["all"])] * 3):
            expect_true("bucket", low < high and count > 0)


def too_many_rows():
    """What tables leave out is said."""
    path = os.path.join(TMP, "threads.pftrace")
    producer = os.path.join(BUILD, "bin", "program-record_producer")
    brick("record", "-q", "-o", path, "--", "sh", "-c",
          f"for i in $(seq 130); do '{producer}' samples=1; done")
    page, _, _ = page_of(make(path, "threads.html"))
    every = brick_json("report", "--json", "--by", "thread", path)["threads"]
    expect("threads", len(every), 130)
    expect("the first", page["threads"], every[:120])
    expect("left out", page["left_out"], {"threads": len(every) - 120})
    expect("run", page["report"]["run"]["threads"], len(every))
    expect("queues", page["report"]["run"]["queues"], 0)


def trees(path, page):
    names, kinds = page["trees"]["names"], page["trees"]["kinds"]
    expect_true("a few steps have trees", 1 < len(page["trees"]["steps"]) <= 12)
    for step in page["trees"]["steps"]:
        nodes = step["nodes"]
        tree = brick_json("tree", "--json", "--nodes", "--step", str(step["number"]),
                          path)["trees"][0]["tree"]
        flat = []

        def walk(node):
            flat.append((node["name"], node["kind"], node["count"], node["time_ns"],
                         node["self_ns"]))
            for inner in node["children"]:
                walk(inner)
        walk(tree)
        got = [(names[n], kinds[k], c, t, s) for n, k, c, t, s in
               zip(nodes["name"], nodes["kind"], nodes["count"], nodes["time_ns"],
                   nodes["self_ns"])]
        expect(f"nodes of step {step['number']}", sorted(got), sorted(flat))
        for i, parent in enumerate(nodes["parent"]):
            expect_true("a parent before what it holds", -1 <= parent < max(i, 1))


def safety(path):
    page, parser, data = page_of(path)
    expect_true("hostile name is there", HOSTILE in [r["name"] for r in page["report"]["bricks"]])
    expect_true("in a tree, too", HOSTILE in page["trees"]["names"])
    expect("scripts", len(parser.scripts), 2)
    numbers = re.search(rb'<script type="application/json" id="data">(.*?)</script>', data, re.S)[1]
    for bad in (b"<", b">", b"&"):
        expect_true(f"{bad} in the numbers", bad not in numbers)
    expect_true("only ASCII in the numbers", all(byte < 128 for byte in numbers))
    expect_true("nothing from elsewhere", not re.search(
        rb'(src|href)\s*=\s*["\']?(https?:)?//', data))
    policy = [attrs["content"] for tag, attrs in parser.tags
              if attrs.get("http-equiv") == "Content-Security-Policy"]
    expect_true("policy", len(policy) == 1 and "default-src 'none'" in policy[0] and
                "'unsafe-inline'" not in policy[0].split("script-src")[1].split(";")[0])


def files(path):
    out = os.path.join(TMP, "there.html")
    with open(out, "w") as file:
        file.write("before")
    brick("report", os.path.join(TMP, "none.pftrace"), "--html", out, code=3)
    expect("a bad recording leaves what is there", open(out).read(), "before")
    _, errors = brick("report", path, "--html", os.path.join(TMP, "no", "such.html"), code=4)
    expect_true("the path is named", b"such.html" in errors)
    brick("report", path, "--html", path, code=2)
    expect_true("the recording is as it was", open(path, "rb").read(1) == b"\x0a")
    for options in (["--json"], ["--csv"], ["--by", "layer"], ["--phase", "decode"],
                    ["--top", "3"], ["--sort", "count"]):
        brick("report", path, "--html", out, *options, code=2)
    text, _ = brick("report", path, "--html", "-")
    expect_true("stdout", text.startswith(b"<!DOCTYPE html>") and
                text.rstrip().endswith(b"</html>"))
    left = [name for name in os.listdir(TMP) if name.startswith("there.html.")]
    expect("no temporary files", left, [])
    if os.path.exists("/dev/full"):
        _, err = brick("report", path, "--html", "/dev/full", code=4)
        expect_true(f"why: {err}", b"No space left" in err)


def long_run():
    path = os.path.join(TMP, "long.pftrace")
    subprocess.run([DEMO, path, "1000000", "32"], check=True, timeout=600)
    out = make(path, "long.html")
    size = os.path.getsize(out)
    expect_true(f"{size} bytes for a million samples", size < 5_000_000)
    page, _, _ = page_of(out)
    expect_true("a million", page["report"]["coverage"]["samples"] > 990_000)
    expect_true("steps are summed up", page["steps"]["decode"]["steps_per_span"] > 1)
    sums(page)


def main():
    need_page()
    path = recording()
    out = make(path, "run.html")
    page, _, _ = page_of(out)
    expect("schema", page["schema"], "brick/page/3")
    same_numbers(path, page)
    sums(page)
    trees(path, page)
    safety(make(recording("hostile.pftrace", HOSTILE), "hostile.html"))
    files(path)
    too_many_rows()
    long_run()


main()
