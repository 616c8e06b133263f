# SPDX-License-Identifier: Apache-2.0
"""
`brick ceilings` and `brick roofline`: ceilings are measured, kept and shown again, measured anew when
what is kept is damaged or stale; bricks are placed under ceilings that the test made up, so that
every number can be checked; text fits its terminal;
what is missing or wrong is told. Devices that are here (PoCL, lavapipe) have ceilings of their own.
"""
import glob
import json
import os
import re
import resource
import subprocess

from libcli import BRICK, TMP, brick, brick_json, expect, expect_true, on_terminal, plain, recording

ODD = b'q"u;o\'t<e>&\n\x1b[31mred\x07\t\\{|}\xc2\x9b\xff\xc3\xa9\x7f]]>'
CACHE = os.path.join(TMP, "cache")
NO_DEVICES = {"OCL_ICD_VENDORS": "/nowhere", "VK_ICD_FILENAMES": "/nowhere"}


def figure(best):
    return {"best": best, "second": best * 0.98, "median": best * 0.95, "worst": best * 0.5,
            "repetitions": 7}


def made_up(host, cpu, **changes):
    """A machine of 8 GFLOP/s, 6 GB/s from memory and 40 GB/s from L1, for every thread."""
    rows = {"compute_gops": [], "bandwidth_gb_per_s": [], "latency_ns": []}
    for n in (1, 2):
        rows["compute_gops"].append({"isa": "X", "type": "f32", "threads": n, **figure(8 * n)})
        for level, rate, size in (("L1", 40, 32768), ("memory", 6, 1 << 28)):
            rows["bandwidth_gb_per_s"].append({"level": level, "kernel": "read", "isa": "X",
                                               "threads": n, "working_set_bytes": size * n,
                                               **figure(rate * n)})
    return {"schema": "brick/ceilings/1", "measured_unix_ns": 10**18, "took_ns": 1, "host": host,
            "cpu": cpu, "microcode": "", "cpus": 2, "most_threads": 2, "quick": False,
            "levels": [{"name": "L1", "bytes": 32768, "cpus": 1},
                       {"name": "memory", "bytes": None, "cpus": 2}],
            "missing": [], **rows, **changes}


def write(name, value):
    path = os.path.join(TMP, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(value if isinstance(value, str) else json.dumps(value))
    return path


def near(what, got, want):
    expect_true(f"{what}: {got}, expected {want}", abs(got - want) <= 1e-6 * abs(want) + 1e-12)


def kept_ceilings():
    """Through the cache: measured once, then shown, then measured again for good reasons."""
    env = {"XDG_CACHE_HOME": CACHE, "HOME": TMP, **NO_DEVICES}
    args = ("ceilings", "--quick", "--threads", "1", "--json")
    out, err = brick(*args, **env)
    first = json.loads(out)
    expect("no complaint", err, b"")
    expect("the schema", first["schema"], "brick/ceilings/1")
    expect_true("arithmetic was measured", first["compute_gops"])
    expect("devices", first["devices"], [])
    expect_true("memory was measured", any(r["level"] == "memory" and r["best"] > 0
                                           for r in first["bandwidth_gb_per_s"]))
    for row in first["compute_gops"] + first["bandwidth_gb_per_s"]:
        expect_true(f"{row} is ordered", row["best"] >= row["median"] >= row["worst"] > 0)
        expect_true("repetitions, and five for what others contradict", 1 <= row["repetitions"] <= 3 + 5)
    kept = [os.path.join(CACHE, "brick", name) for name in os.listdir(os.path.join(CACHE, "brick"))]
    expect("files kept", len(kept), 1)
    expect_true("the same again", json.loads(brick(*args, **env)[0]) == first)
    text = brick("ceilings", "--quick", COLUMNS="80", **env)[0].decode()
    expect_true("lines fit 80 columns", all(len(line) <= 80 or "/" in line
                                            for line in text.splitlines()))
    with open(kept[0], "w", encoding="utf-8") as file:
        file.write('{"schema": "brick/ceilings/1", "host": 7}')
    out, err = brick(*args, **env)
    expect_true("damage is named", b'"host" must be a string' in err)
    expect_true("measured again", json.loads(out)["measured_unix_ns"] > first["measured_unix_ns"])
    expect_true("and kept again", json.load(open(kept[0], encoding="utf-8"))["host"])
    stale = {**first, "cpus": first["cpus"] + 1}
    write(kept[0], stale)
    expect_true("staleness is named", b"number of CPUs has changed" in brick(*args, **env)[1])
    write(kept[0], {key: value for key, value in first.items() if key != "devices"})
    expect_true("one from before devices is not enough",
                json.loads(brick(*args, **env)[0])["measured_unix_ns"] > first["measured_unix_ns"])
    brick("ceilings", "--threads", "0", code=2)
    more = len(os.sched_getaffinity(0)) + 1
    expect_true("more threads than CPUs", b"take turns" in brick("ceilings", "--force", "--threads", str(more), code=2, **env)[1])
    brick("ceilings", "operand", code=2)


def little_memory():
    """A tenth of what a limit leaves, whatever the machine has; nothing fails for want of it."""
    env = {**os.environ, "XDG_CACHE_HOME": os.path.join(TMP, "little"), **NO_DEVICES}
    limit = 600 << 20
    done = subprocess.run([BRICK, "ceilings", "--quick", "--threads", "1", "--json"], env=env, check=True,
                          capture_output=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    sizes = [row["working_set_bytes"] for row in json.loads(done.stdout)["bandwidth_gb_per_s"]]
    expect_true(f"{max(sizes)} bytes of {limit}", max(sizes) <= limit / 10)


def never_worse():
    """--force on a busy machine lowers nothing. What was kept may have been measured on one, too."""
    env = {"XDG_CACHE_HOME": CACHE, "HOME": TMP, **NO_DEVICES}
    path = glob.glob(os.path.join(CACHE, "brick", "*"))[0]
    kept = json.load(open(path, encoding="utf-8"))
    for row in kept["compute_gops"] + kept["bandwidth_gb_per_s"]:
        row.update({key: row[key] * 1000 for key in ("best", "second", "median", "worst") if key in row})
    write(path, kept)
    again = json.loads(brick("ceilings", "--quick", "--threads", "1", "--force", "--json", **env)[0])

    def rates(ceilings):
        return {(row["isa"], row["threads"], row.get("type"), row.get("kernel"), row.get("working_set_bytes")):
                row["best"] for table in ("compute_gops", "bandwidth_gb_per_s") for row in ceilings[table]}

    for key, best in rates(kept).items():
        near(str(key), rates(again)[key] / best, 1)
    expect_true("it was measured", again["measured_unix_ns"] > kept["measured_unix_ns"])


def devices():
    """All that can be found here is measured, by kernels; what is kept of it is what was measured."""
    env = {"XDG_CACHE_HOME": os.path.join(TMP, "devices"), "HOME": TMP}
    want = {name for name, pattern in (("opencl", "/etc/OpenCL/vendors/*.icd"),
                                       ("vulkan", "/usr/share/vulkan/icd.d/lvp_icd.*.json"))
            if glob.glob(pattern)}
    measured = json.loads(brick("ceilings", "--quick", "--threads", "1", "--json", **env)[0])
    found = measured["devices"]
    expect_true(f"devices of {want} in {found}, {measured['missing']}",
                want <= {device["backend"] for device in found})
    for device in found:
        rows = device["compute_gops"] + device["bandwidth_gb_per_s"] + device["latency_ns"]
        expect_true(f"{device['name']}: figures", all(row["best"] > 0 for row in rows))
        expect("levels", [row["name"] for row in device["levels"]], ["cache", "memory"])
        expect_true("read", "memory" in {row["level"] for row in device["bandwidth_gb_per_s"]})
        expect("computed", {row["type"] for row in device["compute_gops"]}, {"f32"})
    text = brick("ceilings", "--quick", COLUMNS="200", **env)[0].decode()
    expect_true("told", all(device["name"] in text for device in found))


def check_rows(rows):
    expect_true("there are rows", rows)
    placed = 0
    for row in rows:
        near(f"{row['name']} GFLOP/s", row["flops_per_s"], row["flops"] / row["team_ns"] * 1e9)
        near(f"{row['name']} GB/s", row["bytes_per_s"], row["bytes"] / row["team_ns"] * 1e9)
        near(f"{row['name']} FLOP/byte", row["intensity"], 2)  # 8192 FLOPs on 4096 bytes
        n = min(row["threads"], 2)
        expect("threads of the roof", row["roof"]["threads"], n)
        if row["distance"] is None:
            continue
        placed += 1
        level, reuse = row["roof"]["bandwidth_level"], row["roof"]["reuse_bytes"]
        roof = 8e9 * n
        if level:  # else even memory is faster than arithmetic; the cache holds 32 KiB for each thread
            expect("the level", level, "L1" if reuse <= 32768 * n else "memory")
            roof = min(roof, 2 * {"L1": 40e9, "memory": 6e9}[level] * n / row["roof"]["level_share"])
        near(f"{row['name']} roof", row["roof"]["flops_per_s"], roof)
        near(f"{row['name']} distance", row["distance"], 1 - row["flops_per_s"] / roof)
        expect("how work is known", row["work_source"], "computed from shapes")
    expect_true("some have roofs", placed)


def placed(path):
    run = brick_json("report", "--json", path)["run"]
    good = write("good.json", made_up(run["host"], run["cpu"]))
    out = brick_json("roofline", "--json", "--ceilings", good, path)
    expect("the schema", out["schema"], "brick/roofline/2")
    expect("no doubt", out["ceilings"]["doubt"], None)
    check_rows([row for row in out["bricks"] if row["flops"]])
    phases = [row["phase"] for row in out["bricks"]]
    expect_true("both phases", "prefill" in phases and "decode" in phases)
    decode = brick_json("roofline", "--phase", "decode", "--json", "--ceilings", good, path)
    expect("decode only", decode["bricks"], [r for r in out["bricks"] if r["phase"] == "decode"])

    slow = made_up(run["host"], run["cpu"])
    for row in slow["compute_gops"] + slow["bandwidth_gb_per_s"]:
        row.update(figure(row["best"] / 1e6))
    above = brick_json("roofline", "--json", "--ceilings", write("slow.json", slow), path)["bricks"]
    for row, same in zip(above, out["bricks"]):
        expect(f"{row['name']}: so far above is nothing's roof", row["distance"], None)
        expect_true(f"{row['name']} is flagged", row["flags"] or not row["flops"])
        expect("and kept", row["flops_per_s"], same["flops_per_s"])
    text = brick("roofline", "--ceilings", os.path.join(TMP, "slow.json"), path)[0].decode()
    expect_true("and told", "Above" in text and " !" in text)

    other = write("other.json", made_up("elsewhere", "another CPU"))
    expect_true("doubt", b"another CPU" in brick("roofline", "--ceilings", other, path)[0])
    for columns in (80, 200):
        text = plain(on_terminal("roofline", "--ceilings", good, path, columns=columns))
        longest = max(text.splitlines(), key=len)
        expect_true(f"{longest!r} fits {columns}", len(longest) <= columns)
    ascii_text = brick("roofline", "--ceilings", good, path, LC_ALL="C")[0]
    expect_true("plain where the locale is", all(c < 128 for c in ascii_text))
    return good


def raised(path):
    """What a recording once reached is told as long as nothing faster has been measured."""
    run = brick_json("report", "--json", path)["run"]

    def reached(level, size, rate):
        return {"level": level, "brick": f"Brick{rate}", "recording": "r.pftrace", "threads": 1, "working_set_bytes": size,
                "unix_ns": 1, "best": rate, "median": rate, "worst": rate, "spread": None, "repetitions": 1}

    for memory, f32 in ((7, 9), (5, 7)):
        ceilings = made_up(run["host"], run["cpu"], reached=[reached("memory", 1 << 28, memory), reached("f32", None, f32)])
        text = " ".join(brick("roofline", "--ceilings", write("raised.json", ceilings), path)[0].decode().split())
        expect(f"6 GB/s and 8 GFLOP/s are raised to {memory} and {f32}: {text}",
               (f"Brick{memory} reached it" in text, f"Brick{f32} reached it" in text), (memory > 6, f32 > 8))


def report_says_why(path):
    """The report's own words for what has no roof: one reason, several, or nothing to say."""
    run = brick_json("report", "--json", path)["run"]
    env = {"XDG_CACHE_HOME": os.path.join(TMP, "told"), "HOME": TMP}
    name = "-".join(re.sub("[^A-Za-z0-9.]+", "-", run[part]).strip("-") for part in ("host", "cpu"))
    os.makedirs(os.path.join(env["XDG_CACHE_HOME"], "brick"), exist_ok=True)
    kept = os.path.join("told", "brick", f"ceilings-{name}.json")

    with open("/proc/cpuinfo", encoding="utf-8") as file:
        microcode = re.search(r"^microcode\s*: *(\S+)", file.read(), re.M)

    def said(**changes):
        online = os.sysconf("SC_NPROCESSORS_ONLN")
        ceilings = made_up(run["host"], run["cpu"], **{"microcode": microcode[1] if microcode else "", "cpus": online, **changes})
        write(kept, ceilings)
        out, err = brick("report", path, **env)
        expect("the ceilings are used", err, b"")
        return " ".join(out.decode().split())

    once = made_up("", "")
    for row in once["compute_gops"] + once["bandwidth_gb_per_s"]:
        row.update(repetitions=1)
    known = said()
    expect_true(f"roofs, and nothing to say: {known}", "OF ROOF" in known and "left out: " not in known)
    for changes, why in (({key: once[key] for key in ("compute_gops", "bandwidth_gb_per_s")}, "in doubt"),
                         ({"compute_gops": []}, "no ceiling")):
        text = said(**changes)
        expect_true(f"{why}: {text}", "OF ROOF is left out: " in text and why in text)


def odd_names(good):
    path = recording("odd.pftrace", ODD)
    for form in ((), ("--json",)):
        shown = brick("roofline", "--ceilings", good, *form, path)[0]
        expect_true("nothing that moves a terminal", b"\x1b" not in shown and b"\x07" not in shown)


def complaints(path, good):
    env = {"XDG_CACHE_HOME": os.path.join(TMP, "empty"), "HOME": TMP}
    expect_true("no ceilings", b"run 'brick ceilings'" in brick("roofline", path, code=4, **env)[1])
    expect_true("what to pass", b"--phase" in brick("roofline", "--phase", "x", path, code=2)[1])
    for name, text, why in (("cut.json", '{"schema": "brick/ceilings/1"', b"no JSON"),
                            ("new.json", {"schema": "brick/ceilings/2"}, b"another version"),
                            ("list.json", "[1]", b"no JSON object"),
                            ("row.json", made_up("h", "c", compute_gops=[{}]), b"compute_gops[0]")):
        error = brick("roofline", "--ceilings", write(name, text), path, code=3)[1]
        expect_true(f"{error!r} names {name} and {why!r}", name.encode() in error and why in error)
    brick("roofline", "--ceilings", "/nowhere", path, code=3)
    brick("roofline", "--ceilings", good, "/nowhere", code=3)
    brick("roofline", code=2)
    nothing = write("nothing.json", made_up("h", "c", compute_gops=[], bandwidth_gb_per_s=[],
                                            levels=[]))
    rows = brick_json("roofline", "--json", "--ceilings", nothing, path)["bricks"]
    expect_true("nothing measured, nothing placed",
                rows and all(r["distance"] is None and r["bound"] is None for r in rows))


def main():
    path = recording(NO_OFF_CPU="")  # else a busy machine would be a reason for no roof
    good = placed(path)
    raised(path)
    report_says_why(path)
    odd_names(good)
    complaints(path, good)
    kept_ceilings()
    never_worse()
    little_memory()
    devices()


main()
