# SPDX-License-Identifier: Apache-2.0
"""brick import: what other tools' files become, by their numbers; and that faulty ones are refused with the place."""
import gzip
import json
import os
import pty
import random
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import time

from libcli import BRICK, BUILD, TMP, brick, brick_json, environment, expect, expect_true, fail, recording

KINETO = os.path.join(os.path.dirname(__file__), "..", "fuzz", "import.json")


def place(name):
    return os.path.join(TMP, name)


def written(name, text):
    with open(place(name), "w") as file:
        file.write(text if isinstance(text, str) else json.dumps(text))
    return place(name)


def imported(source, name="out.pftrace"):
    _, err = brick("import", "-o", place(name), source)
    return brick_json("export", "--format", "json", place(name)), err.decode()


def is_one_step(run):
    return any(note["key"] == "steps.none" for note in run["notes"])


def slices(run):
    """But for the step that all of a file without steps is, of all lanes: (lane's kind, name of its thread, brick, layer, operation, begin, end, depth), from the first begin on."""
    first = min(s[0] for lane in run["lanes"] for s in lane["samples"])
    holder = run["steps"][0]["lane"] if is_one_step(run) else -1
    rows = []
    for i, lane in enumerate(run["lanes"]):
        for begin, end, site, _, _, depth, *_ in lane["samples"][i == holder:]:
            site = run["sites"][site]
            depth -= i == holder
            rows.append((lane["kind"], lane["name"], run["bricks"][site["brick"]]["name"], site["layer"],
                         begin - first, end - first, depth))
    return rows


def totals(run):
    """Count and time per brick and kind of lane."""
    sums = {}
    for kind, _, name, layer, begin, end, _ in slices(run):
        count, ns = sums.get((kind, name, layer), (0, 0))
        sums[kind, name, layer] = count + 1, ns + end - begin
    return sums


def there_and_back(path):
    exported = place("exported.json")
    brick("export", "--format", "chrome", "-o", exported, path)
    run = brick_json("export", "--format", "json", path)
    back, _ = imported(exported, "back.pftrace")
    want = totals(run)
    waits = [s[3] for lane in run["lanes"] for s in lane["samples"] if s[3]]
    got = totals(back)
    if waits:  # they are slices of their own in Chrome's format
        count, ns = got.pop(("thread", "BarrierWait", -1))
        expect("waits", (count, ns), (len(waits), sum(waits)))
    expect("counts and times per brick", got, want)
    expect("steps", [(s["phase"], s["tokens"]) for s in back["steps"]],
           [(s["phase"], s["tokens"]) for s in run["steps"]])

    def kernels(of):
        lanes = of["lanes"]
        first = min(s[0] for lane in lanes for s in lane["samples"])
        return sorted((of["kernels"][c[2]]["name"], lanes[c[0]]["samples"][c[1]][0] - first,
                       lanes[c[3]]["samples"][c[4]][0] - first if c[3] >= 0 else None) for c in of["commands"])
    expect("commands and their launches", kernels(back), kernels(run))
    for command in ("report", "tree", "flame"):
        expect_true(command, brick(command, place("back.pftrace"))[0])
    # 125: others took the CPUs of this machine while it recorded
    done = subprocess.run([BRICK, "diff", path, place("back.pftrace")], capture_output=True, env=environment())
    expect_true(f"diff: {done}", done.returncode in (0, 125))


def start_up():
    """Our own export says when the program started, and what it was."""
    path = place("started.pftrace")
    brick("record", "-o", path, "--", os.path.join(BUILD, "bin", "program-record_producer"), "sleep=20", "steps=3", 'say="')
    brick("export", "--format", "chrome", "-o", place("started.json"), path)
    imported(place("started.json"), "started-back.pftrace")
    one, other = (brick_json("report", "--json", p) for p in (path, place("started-back.pftrace")))
    expect("command", other["run"]["command"], one["run"]["command"])
    expect("start-up", other["run"]["start_up_ns"], one["run"]["start_up_ns"])
    expect_true("it took a while", one["run"]["start_up_ns"] > 20e6)


def kineto():
    run, err = imported(KINETO)
    expect_true("what was left out is said", "2 events have no place" in err)
    expect("slices", slices(run), [
        ("thread", "main", "OtherStep", -1, 0, 500250, 0),
        ("thread", "main", "nn.Module: Linear_#", -1, 10001, 210001, 1),
        ("thread", "main", "MatrixProduct", -1, 20001, 120003, 2),
        ("thread", "main", "MatrixProduct", -1, 30500, 80623, 3),
        ("thread", "main", "cudaLaunchKernel", -1, 40000, 45000, 4),
        ("thread", "main", "cudaMemcpyAsync", -1, 130000, 135000, 2),
        # of what was open at its launch; of its own name; of its own name, too, as the copy is no operator's
        ("queue", "device 0 stream 7", "MatrixProduct", -1, 60125, 93126, 0),
        ("queue", "device 0 stream 7", "FlashAttention", -1, 100000, 110000, 0),
        ("queue", "device 0 stream 7", "DeviceCopy", -1, 150000, 153000, 0)])
    kernels = [run["kernels"][c[2]] for c in run["commands"]]
    expect("kernels", [(k["name"], k["kind"], k["grid"], k["block"], k["registers"], k["shared_bytes"]) for k in kernels], [
        ("ampere_sgemm_128x64_tn", "compute", [8, 1, 1], [128, 1, 1], 122, 12544),
        ("flash_fwd_kernel", "compute", [4, 2, 1], [64, 1, 1], 0, 0),
        ("Memcpy HtoD (Pageable -> Device)", "h2d", kernels[2]["grid"], kernels[2]["block"], 0, 0)])
    base = run["start_ns"]
    expect("launches", [(c[3], c[5] and c[5] - base, c[6] and c[6] - base) for c in run["commands"]],
           [(0, 40000, 45000), (-1, 0, 0), (0, 130000, 135000)])
    expect("start", run["start"], "2023-11-14T22:13:20.001000000Z")

    # microseconds since 1970 have more digits than a double
    first = 1763900000123456
    run, _ = imported(written("since1970.json", '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":%d.001,"dur":2.002},'
                              '{"ph":"X","name":"b","pid":1,"tid":1,"ts":%d.004,"dur":0.001}]' % (first, first + 2)))
    expect("to the ns", [s[2:6] for s in slices(run)], [("a", -1, 0, 2002), ("b", -1, 2003, 2004)])


def onnx():
    def event(cat, name, ts, dur, **args):
        return {"cat": cat, "pid": 5, "tid": 6, "dur": dur, "ts": ts, "ph": "X", "name": name, "args": args}
    where = "/model/layers.4/"
    cpu = {"provider": "CPUExecutionProvider"}
    run, _ = imported(written("ort.json", [
        event("Session", "session_initialization", 10, 300), event("Session", "model_run", 400, 100),
        event("Node", where + "attn/q_proj/MatMul_fence_before", 401, 0, op_name="MatMul"),
        event("Node", where + "attn/q_proj/MatMul_kernel_time", 402, 40, op_name="MatMul", **cpu),
        event("Node", where + "input_layernorm/LayerNorm_kernel_time", 450, 20, op_name="SimplifiedLayerNormalization", **cpu),
        event("Session", "SequentialExecutor::Execute", 401, 98),
        event("Node", where + "attn/Softmax_kernel_time", 475, 4, op_name="Softmax", **cpu),
        event("Node", where + "attn/MatMul_1_kernel_time", 471, 3, op_name="MatMul", **cpu),
        event("Node", "Frob_7_kernel_time", 480, 10, op_name="Frob", **cpu)]))
    expect("nodes", [s[2:6] for s in slices(run)], [
        ("session_initialization", -1, 0, 300000), ("OtherStep", -1, 390000, 490000),
        ("GraphCompute", -1, 391000, 489000), ("QkvProjection", 4, 392000, 432000),
        ("RmsNorm", 4, 440000, 460000), ("AttentionProduct", 4, 461000, 464000),
        ("AttentionSoftmax", 4, 465000, 469000), ("Frob", -1, 470000, 480000)])
    expect("a run is a step", [(s["phase"], s["tokens"], s["end_ns"] - s["begin_ns"]) for s in run["steps"]],
           [("other", 0, 100000)])
    for command, title in ("report", "Steps  "), ("path", "Steps  "), ("tree", "Step: "), ("explain", "steps  "):
        said = brick(command, place("out.pftrace"))[0].decode()
        expect_true(f"{command}: {title}", title in said)
        expect_true(f"{command} says nothing of tokens or prompts", "token" not in said and "refill" not in said)
    same = brick("diff", place("out.pftrace"), place("out.pftrace"))[0].decode()
    expect_true("diff counts steps", "\na step\n" in same and "steps/s" in same and "a token" not in same)
    expect("what its clock is worth", brick_json("report", "--json", place("out.pftrace"))["run"]["clock"]["residual_ns"], None)
    trust = brick("report", "--trust", place("out.pftrace"))[0]
    expect_true("and that is not known", b"clock may be off is not known" in trust and b"right within" not in trust)
    slow = [event("Session", "model_run", 1000 * i, 100 + (i == 0) * 800) for i in range(12)]
    slow += [event("Node", f"/m/MatMul_{i}_kernel_time", 1000 * i + 1, 90 + (i == 0) * 800, op_name="MatMul", **cpu) for i in range(12)]
    imported(written("slow.json", slow), "slow.pftrace")
    said = brick("explain", place("slow.pftrace"))[0]
    expect_true("the first step, without another engine's options", b"warm up" in said and b"--no-mmap" not in said)


def nsight():
    path = place("nsight.sqlite")
    db = sqlite3.connect(path)
    thread = 1 << 56 | 321 << 24 | 322
    db.executescript("""
        CREATE TABLE StringIds (id INTEGER, value TEXT);
        INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'void gemv<float>(float*)'), (3, 'worker'),
            (4, 'model.layers.2.self_attn.q_proj');
        CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
        CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, text TEXT,
            globalTid INTEGER, textId INTEGER, domainId INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,
            nameId INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
            correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER,
            blockX INTEGER, blockY INTEGER, blockZ INTEGER, registersPerThread INTEGER, staticSharedMemory INTEGER,
            dynamicSharedMemory INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
            correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER);
    """)
    db.execute("INSERT INTO ThreadNames VALUES (3, 0, ?)", (thread,))
    db.execute("INSERT INTO NVTX_EVENTS VALUES (1000, 9000, 59, 0, NULL, ?, 4, 0)", (thread,))
    db.execute("INSERT INTO NVTX_EVENTS VALUES (500, NULL, 34, 0, 'a mark', ?, NULL, 0)", (thread,))
    db.execute("INSERT INTO NVTX_EVENTS VALUES (100, NULL, 75, 0, 'NCCL', ?, NULL, 5)", (thread,))
    db.execute("INSERT INTO NVTX_EVENTS VALUES (7000, 8000, 60, 0, 'ncclAllReduce', ?, NULL, 5)", (thread,))
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (2000, 2500, ?, 9, 1)", (thread,))
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (4000, 5003, 0, 13, 9, ?, 2, 16, 2, 1, 64, 1, 1, 40, 128, 256)",
               (thread & ~0xffffff,))
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (6000, 6100, 0, 13, 10, ?, 4096, 2)", (thread & ~0xffffff,))
    db.commit()
    run, _ = imported(path)
    expect("slices", slices(run), [
        ("thread", "worker", "QkvProjection", 2, 0, 8000, 0), ("thread", "worker", "cudaLaunchKernel", 2, 1000, 1500, 1),
        ("thread", "worker", "AllReduce", 2, 6000, 7000, 1),
        ("queue", "device 0 stream 13", "QkvProjection", 2, 3000, 4003, 0),
        ("queue", "device 0 stream 13", "DeviceCopy", -1, 5000, 5100, 0)])
    kernel = run["kernels"][run["commands"][0][2]]
    expect("kernel", (kernel["name"], kernel["grid"], kernel["block"], kernel["registers"], kernel["shared_bytes"]),
           ("void gemv<float>(float*)", [16, 2, 1], [64, 1, 1], 40, 384))
    expect("process", [p["pid"] for p in run["processes"]], [321])
    expect("launches", [c[3] for c in run["commands"]], [0, -1])

    brick("import", "-o", path, path, code=2)
    db.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY RENAME COLUMN bytes TO size")
    db.commit()
    _, err = brick("import", "-o", place("no.pftrace"), path, code=3)
    expect_true("a column that is not there", b"table CUPTI_ACTIVITY_KIND_MEMCPY: no such column: bytes" in err)
    empty = place("empty.sqlite")
    other = sqlite3.connect(empty)
    other.execute("CREATE TABLE t (a)")
    other.commit()
    _, err = brick("import", "-o", place("no.pftrace"), empty, code=3)
    expect_true("another database", b"no export of Nsight Systems" in err)


def shapes():
    def x(name, ts, dur):
        return {"ph": "X", "name": name, "pid": 1, "tid": 2, "ts": ts, "dur": dur}
    run, _ = imported(written("cross.json", [x("a", 0, 10), x("b", 5, 10), x("c", 6, 2), x("d", 20, 1), x("d", 20, 1)]))
    lanes = [[(run["bricks"][run["sites"][s[2]]["brick"]]["name"], s[5]) for s in lane["samples"]] for lane in run["lanes"]]
    expect("what crosses is cut", lanes, [[("OtherStep", 0), ("a", 1), ("b", 1), ("c", 2), ("d", 1), ("d", 2)]])

    run, err = imported(written("pairs.json", [
        {"ph": "E", "pid": 1, "tid": 2, "ts": 0}, {"ph": "B", "name": "a", "pid": 1, "tid": 2, "ts": 1},
        {"ph": "B", "name": "b", "pid": 1, "tid": 2, "ts": 2}, {"ph": "E", "pid": 1, "tid": 2, "ts": 3},
        {"ph": "B", "name": "open", "pid": 1, "tid": 2, "ts": 4}]))
    expect("begins and ends", [s[2:5] for s in slices(run)][:2], [("a", -1, 0), ("b", -1, 1000)])
    expect_true("an end without a begin is said", "1 ends have no begin" in err)
    report = brick("report", place("out.pftrace"))[0]
    expect_true("what has no end is said", b"open" in report or b"end" in report)

    # a killed program's array lacks its end; nothing else may
    for end in ("", ",", ",\n", "]", ",]"):
        run, _ = imported(written("cut.json", '[{"ph":"X","name":"a","pid":1,"tid":2,"ts":0,"dur":1}' + end))
        expect("cut behind an event", len(slices(run)), 1)


def rocprof():
    """Records may stand before the tables that name them, or behind."""
    with open(os.path.join(os.path.dirname(KINETO), "import_rocprof.json"), encoding="ascii") as file:
        trace = json.load(file)
    tool = trace["rocprofiler-sdk-tool"][0]
    trace["rocprofiler-sdk-tool"] = [dict(reversed(tool.items()))]
    one, other = (imported(path)[0] for path in (os.path.join(os.path.dirname(KINETO), "import_rocprof.json"), written("tables.json", trace)))
    for run in (one, other):
        expect("slices", sorted(s[:6] for s in slices(run)), [("queue", "device 0 stream 0", "DeviceCopy", -1, 0, 400),
               ("queue", "device 0 stream 1", "MatrixProduct", -1, 2500, 8500), ("thread", "", "hipLaunchKernel", -1, 500, 1500)])
        expect("kernels", sorted(k["name"] for k in run["kernels"]), ["Memcpy HtoD", "gemm(int)"])


def refused():
    one = '{"ph":"X","name":"a","pid":1,"tid":2,"ts":0,"dur":1}'
    for text, why in (
            ("", "byte 0: the file is empty"), ("hello", "line 1, byte 0: it begins with neither"),
            ("\x1f\x8b\x08", "the file ends here"), ("BZh9", "bunzip2"), ("PK\x03\x04", "zip"), ("NSYS", "nsys export"),
            ('{"$schema":"https://www.speedscope.app/file-format-schema.json"}', "speedscope"), ("Start_Timestamp,End_Timestamp\n1,x\n", "line 2, byte 30"), ("[" + one + ",\n{\"ph\":\"X\"", "line 2, byte 64: the file ends here"),
            ('{"traceEvents":[' + one + "]", f"byte {17 + len(one)}: the file ends here"), ("{}", "no array \"traceEvents\""),
            ("[\n\n{\"ph\":\"X\",\"name\":\"a\",\"ts\":true}]", "line 3, byte 3: \"ts\" must be a number"),
            ("[\n{\"ph\":\"M\",\"name\":\"\\n\"},\n{\"ph\":\"X\",\"name\":\"a\\n\",\"ts\":true}]", "line 3, byte 26: \"ts\""),
            ("[{\"ph\":\"X\",\"name\":tru,\"ts\":1}]", "line 1, byte"), ("[" + one + "] x", f"byte {len(one) + 3}: something follows"),
            ("[1]", "an event must be an object"), ("[]", "no event with a length"), ("[" * 9000, "too deep")):
        with open(place("bad"), "w", encoding="latin-1") as file:
            file.write(text)
        _, err = brick("import", "-o", place("no.pftrace"), place("bad"), code=3)
        expect_true(f"{text[:40]!r}: {err!r} names the place", why in err.decode() and place("bad") in err.decode())
    brick("import", "-o", place("no.pftrace"), place("nothing.json"), code=3)
    brick("import", code=2)
    expect("nothing is left", [n for n in os.listdir(TMP) if n.startswith("no.pftrace")], [])


def bombs():
    """Files that cost far more than they hold: views and columns that are programs are refused; what each process, queue and name
    takes does not grow with the others."""
    table = "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER, correlationId INTEGER)"
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS id, 'n' AS value FROM c"
    large = "TEXT GENERATED ALWAYS AS (hex(zeroblob(400000000)))"
    for name, sql, why in (
            ("view", f"CREATE VIEW StringIds AS {endless}", "table StringIds: it is a view"),
            ("computed", f"CREATE TABLE StringIds (id INTEGER, value {large})", "table StringIds: it has a computed column"),
            ("stored", f"CREATE TABLE StringIds (id INTEGER, value {large} STORED)", "table StringIds: it has a computed column"),
            ("events", "CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS start, "
             "x AS end, 59 AS eventType, 1 AS globalTid, 'n' AS text, 1 AS textId, 0 AS domainId FROM c",
             "table NVTX_EVENTS: it is a view"),
            ("long", "CREATE TABLE StringIds (id INTEGER, value TEXT); INSERT INTO StringIds VALUES (1, hex(zeroblob(700000)))",
             "table StringIds: string or blob too big")):
        path = place(f"bomb-{name}.sqlite")
        db = sqlite3.connect(path)
        db.executescript(f"{table}; {sql}; INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1500, 16777221, 1, 1);")
        db.close()
        _, err = brick("import", "-o", place("no.pftrace"), path, code=3)
        expect_true(f"{name}: {err!r}", why.encode() in err)

    def event(i, **members):
        return {"ph": "X", "cat": "cpu_op", "name": "n", "ts": i * 10, "dur": 9, "pid": 1, "tid": 1} | members
    for name, events in (
            ("processes", [event(i, pid=i) for i in range(5000)]),
            ("queues", [event(i, cat="kernel", name=f"k{i}", args={"device": 0, "stream": i}) for i in range(5000)])):
        path = written(f"bomb-{name}.json", {"traceEvents": events})
        done = subprocess.run([BRICK, "import", "-o", place("bomb.pftrace"), path], capture_output=True, env=environment(), timeout=600,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (500 << 20, 500 << 20)))
        expect_true(f"{name} in 500 MB: {done.returncode} {done.stderr[-300:]!r}", done.returncode == 0)

    # what is faulty at its end is refused in little memory, whatever stands before
    record = json.dumps({"thread_id": 1, "start_timestamp": 10**15, "end_timestamp": 10**15 + 5, "dispatch_info": {
        "agent_id": {"handle": 1}, "kernel_id": 1, "grid_size": {"x": 64, "y": 1, "z": 1}, "workgroup_size": {"x": 64, "y": 1, "z": 1}}})
    records = ",".join([record] * 45000)
    for name, text in (
            ("rocprof", '{"rocprofiler-sdk-tool": [{"metadata": {"pid": 1}, "agents": [], "strings": {}, "kernel_symbols": [], '
             '"buffer_records": {"kernel_dispatch": [' + records + " x]}]}"),
            ("unknown", '{"unknown": [' + records + " x]}"), ("events", '{"traceEvents": [' + ",".join(['{"ph": "N", "args": %s}' % record] * 45000) + "x")):
        path = written(f"late-{name}.json", text)
        done = subprocess.run([BRICK, "import", "-o", place("bomb.pftrace"), path], capture_output=True, env=environment(), timeout=600,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (100 << 20, 100 << 20)))
        expect_true(f"{name} in 100 MB: {done.returncode} {done.stderr[-300:]!r}",
                    done.returncode == 3 and f"byte {text.rindex('x')}: there must be a comma".encode() in done.stderr)


def memory():
    """An event takes 100 bytes of memory at most, whatever it says in the file, which may be packed."""
    count = 400000
    with gzip.open(place("many.json.gz"), "wt", 1) as file:
        file.write('{"traceEvents": [')
        for i in range(count // 4):
            file.write(f"""{{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":{i * 10},"dur":9,"args":{{"External id":{i}}}}},
                {{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":{i * 10 + 1},"dur":5,"args":{{"Ev Idx":{i}}}}},
                {{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{i * 10 + 2},"dur":3,"args":{{"correlation":{i}}}}},
                {{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":{i * 10 + 4},"dur":3,"args":{{"stream":7,"correlation":{i}}}}}""" + ",\n")
        file.write('{"ph":"M"}]}')
    # a child begins with the size of its parent, so that is a small one
    peak = int(subprocess.run(
        [sys.executable, "-c", "import resource, subprocess, sys\nsubprocess.run(sys.argv[1:], check=True)\n"
         "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)", BRICK, "import", "-o", place("many.pftrace"), place("many.json.gz")],
        check=True, capture_output=True, env=environment()).stdout)
    expect_true(f"{peak} KB for {count} events", peak * 1024 < (20 << 20) + 100 * count)


def progress():
    """What takes longer than two seconds shows its progress on a terminal, and erases it. It is made to last by being stopped."""
    def shown(*options):
        ours, theirs = pty.openpty()
        process = subprocess.Popen([BRICK, "import", *options, "-o", place("many.pftrace"), place("many.json.gz")],
                                   env=environment(), stderr=theirs)
        os.close(theirs)
        with open(f"/proc/{process.pid}/io", encoding="ascii") as file:  # it was not waited for, so its number is its own
            while process.poll() is None:
                file.seek(0)
                if int(file.readline().split()[1]) > 1 << 20:
                    break
        if process.poll() is None:
            process.send_signal(signal.SIGSTOP)
            time.sleep(2.1)
            process.send_signal(signal.SIGCONT)
        text = b""
        try:
            while part := os.read(ours, 4096):
                text += part
        except OSError:  # the end of a terminal
            pass
        os.close(ours)
        expect("it is imported", process.wait(), 0)
        return text.decode()

    text = ""
    for _ in range(10):  # it may be done before it is stopped
        text = shown()
        if "%" in text:
            break
    expect_true(f"{text!r}: a share, erased by the end", re.search(r"\rimport: \d+%, \d+ s left\x1b\[K.*\r\x1b\[Kbrick: ", text, re.S))
    expect_true("quietly", "%" not in shown("--quiet"))


def mutated():
    """Files that are a little wrong: a recording that loads, or an error."""
    random.seed(34)
    files = []
    for path in (KINETO, place("ort.json"), place("exported.json"), place("nsight.sqlite")):
        with open(path, "rb") as file:
            files.append(file.read())
    for i in range(120):
        data = bytearray(files[i % len(files)])
        for _ in range(random.randint(1, 6)):
            at = random.randrange(len(data))
            what = random.random()
            if data[:6] == b"SQLite" or what < .4:
                data[at] = random.choice(b'"{}[]:,0123456789.-eE\\ \0\xff' + bytes([random.randrange(256)]))
            elif what < .7:
                del data[at:at + random.randint(1, 40)]
            else:
                begin = random.randrange(len(data))
                data[at:at] = data[begin:begin + random.randint(1, 40)]
        with open(place("mutated.json"), "wb") as file:
            file.write(data)
        done = subprocess.run([BRICK, "import", "-o", place("mutated.pftrace"), place("mutated.json")],
                              capture_output=True, env=environment(), timeout=600)
        if done.returncode not in (0, 3) or (done.returncode == 3 and place("mutated.json").encode() not in done.stderr):
            fail(f"mutation {i}: {done.returncode} {done.stderr!r}")
        if not done.returncode:
            brick("report", place("mutated.pftrace"))


def main():
    there_and_back(recording())
    device = place("device.pftrace")
    subprocess.run([os.path.join(BUILD, "bin", "program-device_recording"), device, "5"], check=True, stdout=subprocess.DEVNULL)
    there_and_back(device)
    start_up()
    kineto()
    onnx()
    nsight()
    shapes()
    rocprof()
    refused()
    bombs()
    memory()
    progress()
    mutated()


main()
