# SPDX-License-Identifier: Apache-2.0
"""The recorder reads counters of energy while a program runs, on a doubled /sys: a recording has all that was counted from
its begin to its end, over wraps but not resets, and the report shares it out to the phases. Without counters, one line of --trust says so."""
import os
import re
import shutil
import subprocess

from libcli import BRICK, BUILD, TMP, brick, brick_json, environment, expect, expect_true

ROOT = os.path.join(TMP, "energy")
RANGE = 1000000  # uJ: the last value before a counter begins anew
TURNS = [RANGE - 100000, 50000, 300000, 600000]  # what the counter shows: it wraps once
PRODUCER = os.path.join(BUILD, "bin", "program-record_producer")


def put(name, text):
    path = os.path.join(ROOT, "sys/class/powercap", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write(text)
    return path


def record(path, root, *command, **more):
    subprocess.run([BRICK, "record", "--no-history", "-o", path, "--", *command], check=True, capture_output=True, timeout=600,
                   env=environment(BRICK_SYSTEM_ROOT=root, **more))


def counted():
    """The counter goes on while the program runs. Whenever it is read, the sum of all differences is the same."""
    path = os.path.join(TMP, "energy.pftrace")
    put("intel-rapl:0/name", "package-0\n")
    put("intel-rapl:0/max_energy_range_uj", f"{RANGE}\n")
    counter = put("intel-rapl:0/energy_uj", f"{TURNS[0]}\n")
    # as in /sys, the file is never empty: what a longer number leaves stands behind the end of the line
    turns = "".join(f"printf '%d\\n' {uj} 1<>{counter}; {PRODUCER} steps=20 sleep=100; " for uj in TURNS[1:])
    record(path, ROOT, "sh", "-c", turns)
    report = brick_json("report", "--json", path)
    (source,) = report["energy"]
    expect("its name", source["source"], "rapl package-0")
    expect("joules", round(source["joules"], 6), (RANGE - TURNS[0] + TURNS[-1]) / 1e6)
    expect_true(f"readings: {source}", source["readings"] >= 2 and source["period_ns"] > 0)
    decode = source["phases"]["decode"]
    expect_true(f"energy of decoding: {decode}", 0 <= decode["low"] <= decode["joules"] <= decode["high"] <= source["joules"])
    expect("of a step", round(decode["per_step"] * report["steps"]["decode"]["count"], 9), round(decode["joules"], 9))
    expect("of no step", source["phases"]["prefill"], None)
    (part,) = brick_json("report", "--json", "--steps", "1-20", path)["energy"]
    expect("no total for a part", (part["joules"], part["phases"]["decode"] is not None), (None, True))
    expect_true("nor in text", ": decode" in brick("report", "--steps", "1-20", path)[0].decode().split("rapl package-0", 1)[1][:12])
    text, trust = (brick("report", *options, path)[0].decode() for options in ((), ("--trust",)))
    expect_true(f"in the head: {text}", "\nEnergy" in text and "rapl package-0 700mJ" in text)
    expect_true(f"no word on its absence: {trust}", "not known: the system has no counter" not in trust)


def reset():
    """A counter that begins anew long before its highest value is given up, and the report says so."""
    path = os.path.join(TMP, "reset.pftrace")
    put("intel-rapl:0/max_energy_range_uj", "262143328850\n")
    counter = put("intel-rapl:0/energy_uj", "50000000000\n")
    turns = f"{PRODUCER} steps=20 sleep=300; printf '0\\n' 1<>{counter}; {PRODUCER} steps=20 sleep=3000"
    record(path, ROOT, "sh", "-c", turns)
    (source,) = brick_json("report", "--json", path)["energy"]
    expect("joules until then", source["joules"], 0)
    text = " ".join(brick("report", path)[0].decode().split())
    expect_true(f"said: {text}", re.search(r"rapl package-0 [^;]*;[^;]*read until [0-9.]+[mµ]?s only", text))


def absent():
    path = os.path.join(TMP, "no_energy.pftrace")
    record(path, os.path.join(TMP, "nothing"), PRODUCER, "steps=20")
    expect("no energy", brick_json("report", "--json", path)["energy"], None)
    text, trust = (brick("report", *options, path)[0].decode() for options in ((), ("--trust",)))
    expect("lines", (text.count("Energy"), trust.count("Energy")), (0, 1))


def refused():
    """Counters that the user may not read, as the kernel has it, are named, and how to allow it, also beside one that may be read."""
    root, folder = os.path.join(TMP, "refused"), os.path.join(TMP, "guest")
    user = []
    os.makedirs(folder)
    if os.geteuid() == 0:
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if not shutil.which("setpriv"):
            print("refused counters were not tried: it needs setpriv")
            return
        os.chown(folder, 65534, 65534)
        os.chmod(TMP, 0o755)
    zones = [f"sys/class/powercap/intel-rapl:{i}" for i in (0, 1)]
    for i, zone in enumerate(zones):
        os.makedirs(os.path.join(root, zone))
        for name, text in (("name", f"package-{i}"), ("max_energy_range_uj", str(RANGE)), ("energy_uj", "1")):
            with open(os.path.join(root, zone, name), "w") as out:
                out.write(text + "\n")
        os.chmod(os.path.join(root, zone, "energy_uj"), 0)
    for allowed, said in ((None, "not known: this user may not read rapl package-0, rapl package-1;"),
                          (1, "not all known: this user may not read rapl package-0;")):
        if allowed is not None:
            os.chmod(os.path.join(root, zones[allowed], "energy_uj"), 0o444)
        path = os.path.join(folder, f"refused{allowed}.pftrace")
        subprocess.run([*user, BRICK, "record", "--no-history", "-o", path, "--", PRODUCER, "steps=20", "sleep=100"], check=True,
                       capture_output=True, timeout=600, env=environment(BRICK_SYSTEM_ROOT=root, HOME=folder, XDG_RUNTIME_DIR=folder))
        text = " ".join(brick("report", "--trust", path)[0].decode().split())
        expect_true(f"said: {text}", said in text and "'chmod a+r /sys/class/powercap/*/energy_uj' as root" in text)
        expect("what may be read", [row["source"] for row in brick_json("report", "--json", path)["energy"] or []],
               [] if allowed is None else ["rapl package-1"])


def gpus():
    """NVML is asked, by the recorder, once a process has CUDA's library: here a file of that name that is preloaded."""
    path, root = os.path.join(TMP, "gpu_energy.pftrace"), os.path.join(TMP, "gpus")
    os.makedirs(os.path.join(root, "proc/driver/nvidia"))
    doubles = os.path.join(BUILD, "doubles", "nvml")
    cuda = os.path.join(TMP, "libcuda.so.1")
    shutil.copy(os.path.join(doubles, "libnvidia-ml.so.1"), cuda)
    work = [PRODUCER, "steps=20", "sleep=1500", "steps=20", "sleep=1500", "steps=20"]
    record(path, root, *work, LD_LIBRARY_PATH=doubles)
    expect("no CUDA, no energy", brick_json("report", "--json", path)["energy"], None)
    record(path, root, "env", f"LD_PRELOAD={cuda}", *work, LD_LIBRARY_PATH=doubles)
    (source,) = brick_json("report", "--json", path)["energy"]
    expect("its name", source["source"], "nvml GPU 0 Double")
    expect_true(f"readings: {source}", source["readings"] >= 2)
    expect("250 mJ a reading", round(source["joules"] * 4), source["readings"] - 1)
    decode = source["phases"]["decode"]  # without the first steps, if the counter was found after them
    expect_true(f"of a step: {source}", decode["joules"] / 60 <= 1.001 * decode["per_step"] <= 1.002 * decode["joules"] <= 1.003 * source["joules"])

    # a driver that never answers holds up neither the other counters nor the end
    shutil.copytree(os.path.join(ROOT, "sys"), os.path.join(root, "sys"))
    record(path, root, "env", f"LD_PRELOAD={cuda}", *work, LD_LIBRARY_PATH=doubles, DOUBLE_NVML_HANGS="1")
    (source,) = brick_json("report", "--json", path)["energy"]
    expect_true(f"RAPL's alone: {source}", source["source"] == "rapl package-0" and source["readings"] >= 2)


counted()
reset()
absent()
refused()
gpus()
