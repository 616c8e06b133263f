# SPDX-License-Identifier: Apache-2.0
"""
Description: Perfetto's GPU views have rows of recordings (doubles of CUDA and HIP, PoCL, lavapipe), with the values that the
programs launched: which GPU, of which process and API, how large each launch was, who launched it, what it and the
threads waited for. What a driver does not tell is NULL, not 0. Asked of Perfetto's own trace_processor.
"""
import os
import sys

import libperfetto
from librecord import BUILD, Scratch, check, record, same

DOUBLES = {"LD_LIBRARY_PATH": os.path.join(BUILD, "lib", "doubles"), "BRICK_CUDA": "full"}
# Columns of its views of compute kernels, and of its lists of tracks by process.
KERNELS = """INCLUDE PERFETTO MODULE std.gpu.context;
SELECT s.name, extract_arg(t.dimension_arg_set_id, 'ugpu') AS gpu, c.api, p.pid, count(*) AS launches, min(s.dur) AS dur,
  extract_arg(s.arg_set_id, 'workgroup_size') AS block, extract_arg(s.arg_set_id, 'grid_size') AS grid,
  extract_arg(s.arg_set_id, 'thread_count') AS items, extract_arg(s.arg_set_id, 'registers_per_thread') AS registers,
  extract_arg(s.arg_set_id, 'shared_mem_static') AS static, extract_arg(s.arg_set_id, 'shared_mem_dynamic') AS dynamic,
  extract_arg(s.arg_set_id, 'shared_mem') AS shared, extract_arg(s.arg_set_id, 'arch') AS arch,
  extract_arg(s.arg_set_id, 'launch.grid_size.x') AS grid_x, extract_arg(s.arg_set_id, 'launch.workgroup_size.x') AS block_x,
  extract_arg(s.arg_set_id, 'kernel_name') AS kernel
FROM gpu_slice s JOIN gpu_track t ON t.id = s.track_id JOIN process p USING (upid)
LEFT JOIN gpu_context c ON c.context_id = s.context_id AND c.pid = p.pid
WHERE s.render_stage_category = 2 GROUP BY s.name, p.pid ORDER BY s.name, p.pid"""
TRACKS = """SELECT p.pid, s.hw_queue_id, min(t.name) AS queue, count(*) AS commands FROM gpu_slice s
JOIN gpu_track t ON t.id = s.track_id JOIN process p USING (upid) WHERE s.hw_queue_id IS NOT NULL GROUP BY 1, 2"""
BUSY = """INCLUDE PERFETTO MODULE intervals.overlap;
SELECT sum(dur) AS busy FROM interval_merge_overlapping!((SELECT ts, dur FROM gpu_slice WHERE dur > 0), 0)"""
LAUNCHED = """SELECT s.id, s.name, count(f.slice_out) AS calls, sum(l.ts > s.ts) AS late FROM gpu_slice s
LEFT JOIN flow f ON f.slice_in = s.id AND f.slice_out IN (SELECT h.id FROM slice h JOIN thread_track k ON k.id = h.track_id)
LEFT JOIN slice l ON l.id = f.slice_out GROUP BY s.id HAVING calls <> 1 OR late"""
WAITS = """SELECT a.name AS first, b.name AS waiter, count(*) AS arrows, sum(b.ts < a.ts + a.dur) AS early FROM flow f
JOIN gpu_slice a ON a.id = f.slice_out JOIN %s b ON b.id = f.slice_in GROUP BY 1, 2"""
GPUS = "SELECT * FROM gpu ORDER BY ugpu"
SOUND = "SELECT name FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0"


class Recording:
    def __init__(self, program, scratch, name, command, environment):
        self.program, self.path = program, scratch.file(name)
        run = record(self.path, *command, env=dict(os.environ, **environment))
        check(run.returncode == 0, name, "fails:", run.stderr.decode(errors="replace"))
        same(self.ask(SOUND), [], name + ": what Perfetto complains of")
        same(self.ask(LAUNCHED), [], name + ": commands without one call that launched them")
        check(int(self.ask(BUSY)[0]["busy"]) > 0, name, "has no busy GPU")

    def ask(self, sql):
        return libperfetto.query(self.program, self.path, sql)

    def kernel(self, name):
        rows = [row for row in self.ask(KERNELS) if row["name"] == name]
        same(len(rows), 1, "rows of " + name)
        return rows[0]


def holds(row, what, **expected):
    same({key: row[key] for key in expected}, expected, what)


def of_program(name, *arguments):
    return (os.path.join(BUILD, "bin", "program-" + name), *arguments)


def cuda(program, scratch):
    double = dict(DOUBLES, FAKE_CUDA="shuffle,late=20")
    r = Recording(program, scratch, "cuda", of_program("cuda_work", "plain", "3"), double)
    row = r.kernel("scale")
    # times go through ticks, whose rate a short run has within 1 in 5000 (src/lib/backends/device.c)
    check(abs(int(row["dur"]) - 35000) <= 2 + 35000 // 5000, "it takes", row["dur"])
    holds(row, "CUDA kernel", api="CUDA", gpu="0", launches="6", block="128", grid="32", items="4096",
          registers="24", static="256", dynamic="1024", shared=None, arch="sm_89", grid_x="32", block_x="128",
          kernel="scale")
    same([(row["name"], row["vendor"], row["architecture"], row["pci_bdf"], row["uuid"], row["model"]) for row in r.ask(GPUS)],
         [("Double of a device", "NVIDIA", "sm_89", "0000:3b:00.0", "d0d1d2d3d4d5d6d7d8d9dadbdcdddedf", None)], "CUDA's GPUs")
    waits = r.ask(WAITS % "slice")
    check(waits and all(row["waiter"] == "Waited" and row["early"] == "0" for row in waits), "threads waited for", waits)
    check(not r.ask("SELECT 1 FROM gpu_slice WHERE name LIKE 'copy%' AND (render_stage_category <> 0 OR "
                    "extract_arg(arg_set_id, 'grid_size') IS NOT NULL)"), "a copy is a compute kernel")
    graph = Recording(program, scratch, "graph", of_program("cuda_work", "graph", "5"), double)
    check(int(graph.kernel("scale")["launches"]) > 5, "graphs have", graph.ask(KERNELS))


def opencl(program, scratch):
    r = Recording(program, scratch, "opencl", of_program("opencl"), {})
    row = r.kernel("scale")
    holds(row, "OpenCL kernel", api="OPEN_CL", launches="4", block="64", grid="16", items="1024", shared="256", static=None,
          dynamic=None, registers=None, arch=None, grid_x="16", block_x="64")
    holds(r.kernel("spin"), "a kernel whose groups the driver chose", items="512", block=None, grid=None, grid_x=None,
          block_x=None, shared=None)
    gpus, tracks = r.ask(GPUS), r.ask(TRACKS)
    same([(g["ugpu"], g["pci_bdf"], g["architecture"]) for g in gpus], [("0", None, None)], "OpenCL's GPUs")
    check(gpus[0]["vendor"] and all(track["queue"] == "opencl: " + gpus[0]["name"][:63] for track in tracks), gpus, tracks)
    check(all(track["pid"] == row["pid"] for track in tracks), "tracks of", tracks)
    same(r.ask(WAITS % "gpu_slice"), [{"first": "spin", "waiter": "CopyBuffer", "arrows": "1", "early": "0"}], "commands wait")
    two = Recording(program, scratch, "two", ("sh", "-c", '"$0" & "$0" & wait', *of_program("opencl")), {})
    rows = [row for row in two.ask(KERNELS) if row["name"] == "scale"]
    same(([row["launches"] for row in rows], len({row["pid"] for row in rows})), (["4", "4"], 2), "kernels of two processes")
    same((len(two.ask(GPUS)), {row["api"] for row in rows}), (1, {"OPEN_CL"}), "their GPU and API")
    same(two.ask("SELECT 1 FROM flow f JOIN gpu_slice g ON g.id = f.slice_in JOIN slice h ON h.id = f.slice_out "
                 "JOIN thread_track k ON k.id = h.track_id JOIN thread USING (utid) WHERE g.upid <> thread.upid"), [], "arrows from one process to another")


def vulkan(program, scratch):
    r = Recording(program, scratch, "vulkan", of_program("vulkan_work"), {})
    rows = r.ask(KERNELS)
    check(rows, "no Vulkan kernel")
    for row in rows:
        holds(row, "Vulkan kernel", api="VULKAN", gpu="0", block="64", grid="16", items="1024", grid_x="16", block_x="64",
              registers=None, shared=None)
    gpu, = r.ask(GPUS)
    check("llvmpipe" in gpu["name"], "the GPU is", gpu)
    holds(gpu, "lavapipe", vendor="Mesa", model=None, architecture=None, pci_bdf=None)
    same(len(gpu["uuid"]), 32, "digits of its uuid")


def hip(program, scratch):
    r = Recording(program, scratch, "hip", of_program("hip_work"), dict(DOUBLES, FAKE_HIP="10300"))
    check(all(row["api"] == "HIP" and row["block"] and row["registers"] is None for row in r.ask(KERNELS)), r.ask(KERNELS))
    same({row["name"] for row in r.ask(GPUS)}, {None}, "names that nobody told")


def host(program, scratch):
    path = scratch.file("host.pftrace")
    run = record(path, *of_program("annotated_work", "work", "5", os.path.join(BUILD, "lib", "doubles", "itt-double-0.so")))
    check(run.returncode == 0, run.stderr)
    found = libperfetto.query(program, path, "SELECT (SELECT count(*) FROM slice WHERE name <> '') AS slices, "
                              "(SELECT count(*) FROM gpu_slice) AS stages, (SELECT count(*) FROM gpu) AS gpus, "
                              "(SELECT count(*) FROM track WHERE name = 'host: Asynchronous') AS lanes")
    check(int(found[0].pop("slices")) > 20 and int(found[0].pop("lanes")) > 0, "nothing is asynchronous:", found)
    same(found, [{"stages": "0", "gpus": "0"}], "GPUs of a program that has none")


def main():
    program = libperfetto.processor()
    with Scratch() as scratch:
        for part in (cuda, opencl, vulkan, hip, host):
            part(program, scratch)


if __name__ == "__main__":
    sys.exit(main())
