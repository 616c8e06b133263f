# SPDX-License-Identifier: Apache-2.0
"""brick record --graph on the real engine: whose result each node works on, through views and the
KV cache, on one thread and on two; the same tokens as without; nothing of it without the option."""
import json
import os
import tempfile

from libggml import BUILD, LLAMA, demo, libraries, run

BRICK = os.path.join(BUILD, "bin", "brick")


def tensor(label):
    """"MUL_MAT Qcur-0" and "SET_ROWS cache_k_l0 (view)": the tensor's name alone."""
    return label.split()[1]


def edges(path):
    """(producer, consumer) as (brick, tensor) pairs of the median decode step, per lane."""
    done = run([BRICK, "graph", "--step", "decode", "--format", "json", path])
    assert done.returncode == 0, done.stderr
    graph = json.loads(done.stdout)
    nodes = {node["id"]: node for node in graph["nodes"]}
    lanes = {}
    for edge in graph["edges"]:
        one, two = nodes[edge["from"]], nodes[edge["to"]]
        if edge["kind"] == "depends-on" and one.get("label") and two.get("label"):
            lanes.setdefault(two["lane"], set()).add(
                ((one["name"], tensor(one["label"])), (two["name"], tensor(two["label"]))))
    return lanes


WANTED = {
    (("RmsNorm", "attn_norm-1"), ("QkvProjection", "Qcur-1")),
    (("QkvProjection", "Kcur-1"), ("RopeEmbedding", "Kcur-1")),
    (("RopeEmbedding", "Kcur-1"), ("KvCacheWrite", "cache_k_l1")),
    (("QkvProjection", "Vcur-1"), ("KvCacheWrite", "cache_v_l1")),
    (("GateProjection", "ffn_gate-1"), ("Activation", "ffn_swiglu-1")),
    (("UpProjection", "ffn_up-1"), ("Activation", "ffn_swiglu-1")),
    (("Activation", "ffn_swiglu-1"), ("DownProjection", "ffn_out-1")),
    (("DownProjection", "ffn_out-1"), ("ResidualAdd", "l_out-1")),
    (("ResidualAdd", "l_out-0"), ("RmsNorm", "attn_norm-1")),
    (("ResidualAdd", "l_out-0"), ("ResidualAdd", "ffn_inp-1")),
}


def main():
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "run.pftrace")
        for threads in 1, 2:
            command = [LLAMA, "--libs", libraries(), "--model", demo("model-f16.gguf"),
                       "--prompt-tokens", "32", "--predict", "5", "--threads", str(threads)]
            plain = run(command)
            recorded = run([BRICK, "record", "-q", "--graph", "-o", path, "--", *command])
            assert (plain.stdout, plain.stderr, plain.returncode) == (
                recorded.stdout, recorded.stderr, recorded.returncode), recorded.stderr
            lanes = edges(path)
            assert len(lanes) >= threads, f"data flows on {len(lanes)} lanes"
            for lane, found in lanes.items():
                assert not WANTED - found, f"lane {lane} lacks {WANTED - found}"
                read = {one for one, two in found
                        if two[0] in ("FlashAttention", "AttentionScore")}
                assert ("KvCacheWrite", "cache_k_l1") in read, read
                back = {(one, two) for one, two in found if one != two and (two, one) in found}
                assert not back, back
        run([BRICK, "record", "-q", "-o", path, "--", *command])
        assert not edges(path), "data flows without --graph"


main()
