# SPDX-License-Identifier: Apache-2.0
"""What `brick doctor -- CMD` foresaw and what `brick record` attached to, in the same few words, and whether both agree:
for tests, and for bench/engines.py."""
import re

EACH_NODE = "each node is timed on each thread"
WAYS = {EACH_NODE: "nodes", "each node is timed by the scheduler's": "callback",
        "steps and whole graphs": "graphs"}
HAPPENED = {"node hooks": "nodes", "eval callback": "callback", "graphs only": "graphs", "OpenCL": "OpenCL", "Vulkan": "Vulkan",
            "PyTorch": "PyTorch", "ONNX": "ONNX Runtime", "ITT": "ITT", "NVTX": "NVTX", "NCCL": "NCCL", "rocprofiler": "HIP"}


def foreseen(answer):
    """(certain, possible), of what `doctor --json` says."""
    found = [], []
    for check in answer["checks"]:
        if "attaches" in check:
            way = next((word for text, word in WAYS.items() if check["finding"].startswith(text)), check["attaches"])
            found[not check["certain"]].append(way)
    return found


def happened(said):
    """By what the recorder said."""
    attached = re.search(r"^brick: attached.*", said, re.M)
    return [word for text, word in HAPPENED.items() if attached and text in attached.group()]


def agrees(certain, possible, recorded):
    """All that was certain was attached to, and nothing else that was not at least possible. A module of ggml's, whose
    files are not looked for, is "ggml"."""
    nodes = WAYS.values() if "ggml" in possible else ()
    return set(certain) <= set(recorded) <= {*certain, *possible, *nodes}
