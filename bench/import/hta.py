#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hta.py BRICK FILE...: HolisticTraceAnalysis (0.5.0, of PyPI) beside Brick on Kineto's files: the time of the GPU,
idle, computing, communicating or copying alone, and the part of communication that computing hides. HTA cuts times to whole us."""
import json
import logging
import os
import subprocess
import sys
import tempfile
import warnings

sys.path.pop(0)  # this file is called like the package
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis  # noqa: E402


def of_hta(path):
    trace = TraceAnalysis(trace_files={0: path}, trace_dir="", include_last_profiler_step=True)
    row = trace.get_temporal_breakdown(visualize=False).iloc[0]
    times = [row["kernel_time(us)"], row["idle_time(us)"], row["compute_time(us)"], row["non_compute_time(us)"]]
    overlap = trace.get_comm_comp_overlap(visualize=False).iloc[0]["comp_comm_overlap_pctg"]
    try:
        causes = trace.get_idle_time_breakdown(visualize=False)[0].groupby("idle_category").idle_time.sum().to_dict()
    except Exception as error:  # it fails on some files
        causes = {type(error).__name__: 0}
    return [time / 1000 for time in times], overlap, {k: round(v / 1000, 1) for k, v in causes.items()}


def of_brick(brick, path):
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, "run.pftrace")
        subprocess.run([brick, "import", "-o", recording, path], check=True, stderr=subprocess.DEVNULL)
        said = json.loads(subprocess.run([brick, "report", "--json", recording], check=True, capture_output=True).stdout)
    gpu = max(said["device"]["gpus"], key=lambda g: g["commands"])
    alone = gpu["exposed_collective_ns"] + gpu["exposed_transfer_ns"]
    times = [gpu["wall_ns"], gpu["idle_ns"], gpu["busy_ns"] - alone, alone]
    return [time / 1e6 for time in times], {k: round(v["time_ns"] / 1e6, 1) for k, v in gpu["idle"].items() if v["time_ns"] > 50000}


def main():
    print("file\t\tGPU ms\tidle\tcomputing\tnot computing\tidle because")
    for path in sys.argv[2:]:
        name = os.path.basename(path)
        try:
            times, overlap, causes = of_hta(path)
        except Exception as error:
            print(name, "HTA", f"cannot read it: {type(error).__name__}", sep="\t")
        else:
            print(name, "HTA", *(f"{time:.1f}" for time in times), causes, f"overlap {overlap:.1f} %", sep="\t")
        times, causes = of_brick(sys.argv[1], path)
        print(name, "Brick", *(f"{time:.1f}" for time in times), causes, sep="\t")


main()
