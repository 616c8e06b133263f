# SPDX-License-Identifier: Apache-2.0
"""Where a program's memory and threads are on a machine with two NUMA nodes or two kinds of cores, which a doubled /sys and a list of
pages say; threads are seen on the CPUs that they may use. Report, its JSON, page and explain tell the same. Machines of one kind have no such line."""
import os
import re
import subprocess

from libcli import BRICK, BUILD, TMP, brick, brick_json, environment, expect, expect_true
from libhtml import need_page, page_of

PRODUCER = os.path.join(BUILD, "bin", "program-record_producer")
ONLINE = sorted(os.sched_getaffinity(0))
FAR_PAGES, NEAR_PAGES = 262144, 2560  # of 4 KiB
MAPS = f"""7f0000000000 default file=/models/a.gguf mapped={FAR_PAGES} N7={FAR_PAGES} kernelpagesize_kB=4
7f1000000000 default anon={NEAR_PAGES} dirty={NEAR_PAGES} N0={NEAR_PAGES} kernelpagesize_kB=4
7f2000000000 default anon=1 dirty=1 N7=1 kernelpagesize_kB=2048
"""


def put(root, name, text):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write(text)


def record(path, root, cpu, pages='cp "$ROOT/maps" "$ROOT/proc/$$/numa_maps"', steps=50):
    """The program's own list of pages is put where its number will be."""
    command = f'mkdir -p "$ROOT/proc/$$"; {pages}; exec {PRODUCER} steps={steps} paced=1,100,20000'
    subprocess.run([BRICK, "record", "--no-history", "-o", path, "--", "taskset", "-c", str(cpu), "sh", "-c", command], check=True,
                   capture_output=True, timeout=600, env=environment(BRICK_SYSTEM_ROOT=root, ROOT=root))
    return brick_json("report", "--json", path)["run"]["placement"]


def rules(path):
    return {found["rule"] for found in brick_json("explain", "--json", path)["findings"]}


def nodes():
    path, root, cpu = os.path.join(TMP, "nodes.pftrace"), os.path.join(TMP, "nodes"), ONLINE[0]
    put(root, "maps", MAPS)
    put(root, "sys/devices/system/cpu/online", f"0-{max(ONLINE)}\n")
    put(root, "sys/devices/system/node/node0/cpulist", f"0-{max(ONLINE)}\n")
    put(root, "sys/devices/system/node/node7/cpulist", "\n")  # memory alone
    placement = record(path, root, cpu)
    far = FAR_PAGES * 4096 + (2 << 20)
    expect("nodes", [(node["node"], node["file_bytes"], node["anonymous_bytes"], node["time_share"]) for node in placement["nodes"]],
           [(0, 0, NEAR_PAGES * 4096, 1), (7, FAR_PAGES * 4096, 2 << 20, 0)])
    expect("far", round(placement["far_share"], 9), round(far / (far + NEAR_PAGES * 4096), 9))
    expect("cores", placement["cores"], [])
    text = " ".join(brick("report", path)[0].decode().split())
    said = re.search(r"Placement (memory [^;]*; 100\.0% of the threads' time on node 0)", text)
    expect_true(f"said: {text}", said and "on node 7" in said[1])
    html = os.path.join(TMP, "nodes.html")
    brick("report", "--html", html, path)
    page = page_of(html)[0]
    expect("on the page", [line["text"] for line in page["head"] if line["label"] == "Placement"], [said[1]])
    expect("its report", page["report"]["run"]["placement"], placement)
    expect_true(f"found: {rules(path)}", "far-memory" in rules(path) and not {"threads-over-nodes", "slow-cores"} & rules(path))


def cores():
    path, root, cpu = os.path.join(TMP, "cores.pftrace"), os.path.join(TMP, "cores"), ONLINE[-1]
    put(root, "maps", MAPS)
    put(root, "sys/devices/system/cpu/online", f"0-{max(ONLINE) + 1}\n")
    fast = [other for other in range(max(ONLINE) + 2) if other != cpu]
    for other in fast:
        put(root, f"sys/devices/system/cpu/cpu{other}/cpu_capacity", "1024\n")
    put(root, f"sys/devices/system/cpu/cpu{cpu}/cpu_capacity", "446\n")
    placement = record(path, root, cpu)
    expect("nodes", (placement["nodes"], placement["far_share"]), ([], None))
    expect("cores", placement["cores"], [{"capacity": 1024, "cpus": len(fast), "time_share": 0},
                                         {"capacity": 446, "cpus": 1, "time_share": 1}])
    expect_true(f"found: {rules(path)}", "slow-cores" in rules(path) and "far-memory" not in rules(path))


def alike():
    path, root = os.path.join(TMP, "alike.pftrace"), os.path.join(TMP, "alike")
    put(root, "maps", MAPS)
    put(root, "sys/devices/system/cpu/online", f"0-{max(ONLINE)}\n")
    put(root, "sys/devices/system/node/node0/cpulist", f"0-{max(ONLINE)}\n")
    expect("one kind", record(path, root, ONLINE[0]), None)
    expect_true("no line", "Placement" not in brick("report", path)[0].decode())
    expect_true(f"found: {rules(path)}", not {"far-memory", "threads-over-nodes", "slow-cores"} & rules(path))


def silent():
    """A list of pages that the kernel is still making when the program ends keeps nobody waiting, and is left out."""
    path, root = os.path.join(TMP, "silent.pftrace"), os.path.join(TMP, "silent")
    put(root, "sys/devices/system/cpu/online", f"0-{max(ONLINE)}\n")
    for node in (0, 7):
        put(root, f"sys/devices/system/node/node{node}/cpulist", f"0-{max(ONLINE)}\n" if node == 0 else "\n")
    placement = record(path, root, ONLINE[0], 'mkfifo "$ROOT/proc/$$/numa_maps"')
    expect("nodes", [(node["node"], node["file_bytes"], node["anonymous_bytes"], node["time_share"]) for node in placement["nodes"]],
           [(0, 0, 0, 1), (7, 0, 0, 0)])
    expect("far", placement["far_share"], None)
    report = brick_json("report", "--json", path)
    expect("records lost", report["losses"]["dropped"], 0)


def emptied():
    """The list of a process that has just ended is empty, and stands for nothing: the one before counts."""
    path, root = os.path.join(TMP, "emptied.pftrace"), os.path.join(TMP, "emptied")
    put(root, "maps", MAPS)
    put(root, "sys/devices/system/cpu/online", f"0-{max(ONLINE)}\n")
    for node in (0, 7):
        put(root, f"sys/devices/system/node/node{node}/cpulist", f"0-{max(ONLINE)}\n" if node == 0 else "\n")
    lists = 'mkfifo "$ROOT/proc/$$/numa_maps"; p="$ROOT/proc/$$/numa_maps" timeout 20 sh -c ' + \
        """'cat "$ROOT/maps" > "$p"; sleep 0.2; : > "$p"' > "$ROOT/said" 2>&1 & :"""
    placement = record(path, root, ONLINE[0], lists, 100)
    expect("nodes", [(node["node"], node["file_bytes"], node["anonymous_bytes"]) for node in placement["nodes"]],
           [(0, 0, NEAR_PAGES * 4096), (7, FAR_PAGES * 4096, 2 << 20)])


def late():
    """A CPU that came online after recording began is on no node, and leaves the rest readable."""
    path, root, cpu = os.path.join(TMP, "late.pftrace"), os.path.join(TMP, "late"), ONLINE[-1]
    put(root, "maps", MAPS)
    put(root, "sys/devices/system/cpu/online", f"{cpu + 1}\n")
    for node in (0, 7):
        put(root, f"sys/devices/system/node/node{node}/cpulist", f"{cpu + 1}\n")
    record(path, root, cpu)
    expect("bad packets", brick_json("report", "--json", path)["losses"]["bad_packets"], 0)


need_page()
nodes()
cores()
alike()
silent()
emptied()
late()
