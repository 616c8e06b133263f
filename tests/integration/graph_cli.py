# SPDX-License-Identifier: Apache-2.0
"""
`brick graph`: each format is read back and agrees with the others and with `brick tree`; the same
recording gives the same bytes; names from outside break nothing; wrong usage and bad files are told.
"""
import json
import os
import subprocess

from libcli import BRICK, BUILD, TMP, brick, brick_json, environment, expect, expect_true, recording

ODD = b'q"u;o\'t<e>&\n\x1b[31mred\x1b]0;t\x07\t\\{|}\xc2\x9b\xe2\x80\xae\xff\xc3\xa9\x7f'


def folded(data):
    stacks = {}
    for line in data.decode().splitlines():
        stack, _, ns = line.rpartition(" ")
        expect_true(f"{line!r} is new", stack not in stacks)
        stacks[stack] = int(ns)
    return stacks


def check_json(graph):
    nodes, edges = graph["nodes"], graph["edges"]
    expect("the schema", graph["schema"], "brick/graph/1")
    expect("ids", [n["id"] for n in nodes], list(range(len(nodes))))
    for e in edges:
        expect_true(f"{e} has ends", 0 <= e["from"] < len(nodes) and 0 <= e["to"] < len(nodes))
    # time goes along the edges: nobody begins before what he needs has ended, or what holds him begun
    for e in edges:
        a, b = nodes[e["from"]], nodes[e["to"]]
        if "begin_ns" not in a or "begin_ns" not in b:
            continue
        if e["kind"] in ("contains", "calls", "launches"):
            expect_true(f"{b} begins after {a}", b["begin_ns"] >= a["begin_ns"])
        elif not (b["name"] == "BarrierWait" or a["name"] == "Barrier"):
            expect_true(f"{b} begins after {a}", b["begin_ns"] >= a["begin_ns"] + a.get("time_ns", 0))


def check_csr(csr, graph):
    expect("the schema", csr["schema"], "brick/graph-csr/1")
    expect("nodes", csr["nodes"], len(graph["nodes"]))
    rows, columns = csr["row"], csr["column"]
    expect("rows", len(rows), csr["nodes"] + 1)
    edges = [(v, columns[i], csr["edge_kinds"][csr["edge_kind"][i]])
             for v in range(csr["nodes"]) for i in range(rows[v], rows[v + 1])]
    expect("edges", sorted(edges),
           sorted((e["from"], e["to"], e["kind"]) for e in graph["edges"]))
    expect("names", [csr["names"][i] for i in csr["name"]], [n["name"] for n in graph["nodes"]])


def check_step(path):
    """Own times of the step's stacks on its thread are the step, as `brick tree` has it."""
    tree = brick_json("tree", "--step", "decode", "--json", path)["trees"][0]
    stacks = folded(brick("graph", "--format", "folded", "--step", "decode", path)[0])
    own = sum(ns for stack, ns in stacks.items()
              if f"({tree['tid']})" in stack.split(";")[0] and ";thread " not in stack)
    expect("the step", own, tree["step"]["total_ns"])
    numbered = brick("graph", "--format", "folded", "--step", str(tree["step"]["number"]), path)[0]
    expect("the step by its number", folded(numbered), stacks)


def check_ping_pongs():
    """What transfers bring back is counted in the graph of a recording: here, if all were of one size."""
    path, saved = os.path.join(TMP, "device.pftrace"), os.path.join(TMP, "device.json")
    subprocess.run([os.path.join(BUILD, "bin", "program-device_recording"), path, "4"], stdout=subprocess.DEVNULL, check=True)
    graph = brick_json("graph", "--format", "json", path)
    transfers = [n for n in graph["nodes"] if n["kind"] == "transfer"]
    back = sum(n["direction"] == "D2H" for n in transfers)
    expect_true("transfers", 0 < back < len(transfers) and all(n["source"] and n["target"] for n in transfers))
    for size, pairs in (None, 0), (4096, back):
        for node in transfers:
            node["bytes"] = size or node["bytes"]
        with open(saved, "w", encoding="ascii") as file:
            json.dump(graph, file)
        text = brick("path", saved)[0].decode()
        line = f"Ping-pong      {pairs} pairs of transfers bring back what they took: {2 * 4096 * pairs} bytes"
        expect_true(f"{pairs} pairs: {text}", line in text if pairs else "Ping-pong" not in text)


def main():
    path = recording()
    check_ping_pongs()
    graph = brick_json("graph", "--format", "json", path)
    check_json(graph)
    check_csr(brick_json("graph", "--format", "csr", path), graph)
    check_step(path)
    for form in ("dot", "json", "csr", "folded"):
        for step in ([], ["--step", "prefill"]):
            args = ["graph", "--format", form, *step, path]
            expect(f"{args} again", brick(*args)[0], brick(*args, LC_ALL="C")[0])
    expect("the default", brick("graph", path)[0], brick("graph", "--format", "dot", path)[0])

    out = os.path.join(TMP, "graph.json")
    expect("nothing on standard output", brick("graph", "--format", "json", "-o", out, path)[0], b"")
    with open(out, encoding="ascii") as file:
        expect("the file", json.load(file), graph)

    odd = recording("odd.pftrace", ODD)
    for form in ("dot", "json", "csr", "folded"):
        data = brick("graph", "--format", form, odd)[0]
        for c in list(range(10)) + list(range(11, 32)) + [127]:
            expect_true(f"{form} holds no character {c}", bytes([c]) not in data)
        for harmful in (b"\xc2\x9b", b"\xe2\x80\xae", b"\xff"):
            expect_true(f"{form} holds no {harmful}", harmful not in data)
        expect_true(f"{form} still has the name", b"31mred" in data)
        data.decode()
    check_json(brick_json("graph", "--format", "json", odd))
    folded(brick("graph", "--format", "folded", odd)[0])

    for args in (["--format", "xml"], ["--step", "0"], ["--step", "x"], ["--nope"]):
        error = brick("graph", *args, path, code=2)[1]
        expect_true(f"{args} is explained", error.startswith(b"brick: "))
    expect_true("no such step", b"has no step 9999" in
                brick("graph", "--step", "9999", path, code=3)[1])
    expect_true("a hint", b"did you mean 'folded'" in
                brick("graph", "--format", "foldd", path, code=2)[1])
    brick("graph", code=2)
    expect_true("a missing file", b"no such file" in brick("graph", "/nowhere", code=3)[1])
    expect_true("no recording", b"at byte" in brick("graph", __file__, code=3)[1])
    brick("graph", "-o", os.path.join(TMP, "no", "folder"), path, code=4)
    full = subprocess.run([BRICK, "graph", path], stdout=open("/dev/full", "wb"),
                          stderr=subprocess.PIPE, env=environment())
    expect("a full disk", full.returncode, 4)



def own_graphs():
    """A graph that a program saved stands in the place of a recording."""
    path = recording()
    saved = os.path.join(TMP, "graph.json")
    brick("graph", "--format", "json", "-o", saved, path)
    with open(saved, "rb") as file:
        whole = file.read()
    for form in "json", "dot", "csr", "folded":
        expect(f"{form} of the saved graph", brick("graph", "--format", form, saved)[0],
               brick("graph", "--format", form, path)[0])
    tree = brick("tree", saved)[0].decode()
    expect("its tree has all that is held", tree.count("RmsNorm"), sum(
        node["name"] == "RmsNorm" for node in json.loads(whole)["nodes"]))
    text = brick("path", saved)[0].decode()
    expect_true("its path", text.startswith("Critical path  ") and "IF IT WERE FASTER" in text)
    for what, damaged in (
            ("node 0", whole.replace(b'"id":0,', b'"id":7,', 1)), ("kind", whole.replace(b'"kind":"', b'"kind":"x', 1)),
            ("no such node", whole.replace(b'{"from":', b'{"from":9999999', 1)), ("offset", whole[:len(whole) // 2]),
            ("must be a list", b'{"schema":"brick/graph/1","nodes":3}')):
        with open(saved, "wb") as file:
            file.write(damaged)
        for command in "graph", "tree", "path":
            error = brick(command, saved, code=3)[1].decode()
            expect_true(f"{what}: {error}", what in error and saved in error)
    expect_true("not with --step", b"is a graph" in brick("path", "--step", "1", saved, code=2)[1])


main()
own_graphs()
