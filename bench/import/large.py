#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""large.py EVENTS FILE: writes a trace of about so many events as Kineto does, steps of a simulated training (simulator.py) one after
another, with frames of Python, shapes and arrows. FILE.gz is packed. All steps have the same lengths; times and correlations go on."""
import gzip
import sys

import simulator

HEAD = """{
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85899345920,
      "computeMajor": 8, "computeMinor": 0, "numSms": 108
    }
  ],
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1712195495000000000,
  "traceEvents": [
"""
TAIL = """  {
    "name": "Record Window End", "ph": "i", "s": "g",
    "pid": "", "tid": "", "ts": 0
  }
  ]
}
"""
SLICE = """  {{
    "ph": "X", "cat": "{cat}", "name": "{name}", "pid": {pid}, "tid": {tid},
    "ts": {ts}, "dur": {dur:.3f},
    "args": {{
      {args}
    }}
  }},
"""
ARROW = """  {{
    "ph": "{ph}", "id": %d, "pid": {pid}, "tid": {tid}, "ts": {ts},
    "cat": "ac2g", "name": "ac2g"{bp}
  }},
"""
KERNEL = ('"queued": 0, "device": 0, "context": 1,\n      "stream": {stream}, "correlation": %d,\n      "registers per thread": 32,\n'
          '      "shared memory": 0,\n      "blocks per SM": 0.59,\n      "warps per SM": 2.37,\n      "grid": [64, 1, 1],\n'
          '      "block": [128, 1, 1],\n      "est. achieved occupancy %%": 4')


def template():
    """One step: its text as a format, the kind and number of each value in it, its events, its length in ns, and its correlations."""
    program = simulator.Program(7, training=True, comm="hidden", layers=24, optimizer="loop", steps=2)
    program.run()
    begin, end = sorted(e["ts"] for e in program.sim.events if e["name"].startswith("ProfilerStep"))
    events = [e for e in program.sim.events if begin <= e["ts"] < end]
    place = {link: i for i, link in enumerate(sorted({e["args"]["correlation"] for e in events if "correlation" in e["args"]}))}
    launched = {e["args"]["correlation"] for e in events if "stream" in e["args"]}
    text, values, count = [], [], 0

    def add(form, at, *behind, before=(), **words):
        """An event at that time, with the values that stand before the time and behind it."""
        nonlocal count
        text.append(form.format(ts="%d.%03d", **words))
        values.extend([*before, ("us", at), ("ns", at), *behind])
        count += 1

    for e in events:
        args, at, where = e["args"], round((e["ts"] - begin) * 1000), {"pid": e["pid"], "tid": e["tid"]}
        where_and_dur = {"dur": e["dur"], **where}
        link = place.get(args.get("correlation"))
        if e["cat"] == "cpu_op":
            for i, name in enumerate((f"torch/nn/modules/module.py({len(text) % 97 + 1500}): _call_impl", f"nn.Module: Linear_{len(text) % 61}")):
                add(SLICE, at, *[("number", count)] * 3, cat="python_function", name=name, **where_and_dur,
                    args='"Python id": %d,"Python parent id": %d, "Ev Idx": %d')
        if "stream" in args:
            add(SLICE, at, ("link", link), cat=e["cat"], name=e["name"], args=KERNEL.format(stream=args["stream"]), **where_and_dur)
        elif link is not None:
            add(SLICE, at, ("number", count), ("link", link), cat=e["cat"], name=e["name"],
                args='"External id": %d,"cbid": 211, "correlation": %d', **where_and_dur)
        else:
            shapes = f', "Input Dims": {args["Input Dims"]}, "Input type": {args["Input type"]}'.replace("'", '"') if "Input Dims" in args else ""
            is_step = e["name"].startswith("ProfilerStep")
            add(SLICE, at, *[("number", count)] * 3, before=[("step", 0)] * is_step, cat=e["cat"],
                name="ProfilerStep#%d" if is_step else e["name"], args='"External id": %d,"Record function id": 0, "Sequence number": %d, "Ev Idx": %d' + shapes, **where_and_dur)
        if link is not None and args["correlation"] in launched:
            is_end = "stream" in args
            add(ARROW, at, before=[("link", link)], ph="f" if is_end else "s", bp=', "bp": "e"' if is_end else "", **where)
    return "".join(text), values, count, round((end - begin) * 1000), len(place)


def write(events, path):
    text, values, count, length, links = template()
    with gzip.open(path, "wt", 6) if path.endswith(".gz") else open(path, "w", encoding="utf-8") as file:
        file.write(HEAD)
        for step in range(max(1, round(events / count))):
            first = 1712195495519689047 + step * length
            file.write(text % tuple((first + v) // 1000 if kind == "us" else (first + v) % 1000 if kind == "ns" else
                                    step * links + v + 1 if kind == "link" else step * count + v if kind == "number" else step
                                    for kind, v in values))
        file.write(TAIL)


if __name__ == "__main__":
    write(int(float(sys.argv[1])), sys.argv[2])
