# SPDX-License-Identifier: Apache-2.0
"""OTLP's JSON, read by its published schema: the .proto files that npm has, pinned by their hash, made
into Python by protoc. What the schema does not know is refused."""
import base64
import json
import os
import shutil
import subprocess
import sys

if __name__ == "__main__":  # by the system's Python, which has protobuf: lines in, lines out
    from google.protobuf import json_format
    sys.path.insert(0, sys.argv[1])
    if sys.argv[2] == "traces":
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest as Request
    else:
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest as Request

    def bytes_for(value):
        """The mapping of protobuf has bytes in base64, that of OTLP identifiers in hexadecimal digits."""
        if isinstance(value, list):
            return [bytes_for(item) for item in value]
        if isinstance(value, dict):
            return {k: base64.b64encode(bytes.fromhex(v)).decode() if k in IDS else bytes_for(v)
                    for k, v in value.items()}
        return value

    IDS = {"traceId": 16, "spanId": 8, "parentSpanId": 8}
    for line in sys.stdin:
        message = json_format.ParseDict(bytes_for(json.loads(line)), Request())
        print(json.dumps(json_format.MessageToDict(message)))
    sys.exit()

from libcli import BUILD
from libhtml import skip

SOURCE = os.environ["BRICK_SOURCE"]
PYTHON = "/usr/bin/python3"


def schema():
    """Folder of what protoc made."""
    place = os.path.join(BUILD, "otlp")
    made = os.path.join(place, "made")
    if os.path.isdir(made):
        return made
    if not shutil.which("protoc") or not shutil.which("npm"):
        skip("no protoc, or no npm")
    os.makedirs(place, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(os.path.join(SOURCE, "examples", "demo", "npm", "otlp", name), place)
    done = subprocess.run(["npm", "ci", "--prefix", place, "--ignore-scripts", "--no-audit", "--no-fund"],
                          capture_output=True, text=True, timeout=600)
    if done.returncode:
        skip(f"npm could not fetch OTLP's schema: {done.stderr[-300:]}")
    protos = os.path.join(place, "node_modules", "@opentelemetry", "otlp-grpc-exporter-base", "build", "protos")
    files = [os.path.relpath(os.path.join(folder, name), protos) for folder, _, names in os.walk(protos)
             for name in names if name.endswith(".proto")]
    os.makedirs(made + ".new", exist_ok=True)
    subprocess.run(["protoc", "--python_out", made + ".new", *files], cwd=protos, check=True, timeout=600)
    os.rename(made + ".new", made)
    return made


def decoded(kind, lines):
    """Each line as the schema reads it; kind: traces or metrics. Fails on what it does not know."""
    if subprocess.run([PYTHON, "-c", "import google.protobuf"], capture_output=True).returncode:
        skip("no google.protobuf (python3-protobuf)")
    done = subprocess.run([PYTHON, os.path.abspath(__file__), schema(), kind], input="".join(lines),
                          capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"OTLP's schema refuses it: {done.stderr[-2000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def plain(value):
    """Of an attribute's value."""
    (kind, inner), = value.items()
    return int(inner) if kind == "intValue" else inner


def attributes(item):
    found = [(a["key"], plain(a["value"])) for a in item.get("attributes", [])]
    if len(dict(found)) != len(found):
        sys.exit(f"an attribute twice: {found}")
    return dict(found)


def spans_of(messages):
    """All spans, each with its resource's attributes, and its times and attributes as numbers."""
    spans = []
    for message in messages:
        for of_resource in message["resourceSpans"]:
            resource = attributes(of_resource["resource"])
            for scoped in of_resource["scopeSpans"]:
                for span in scoped["spans"]:
                    spans.append({"resource": resource, "scope": scoped["scope"]["name"], "name": span["name"],
                                  "id": span["spanId"], "trace": span["traceId"], "parent": span.get("parentSpanId"),
                                  "kind": span["kind"], "begin": int(span["startTimeUnixNano"]),
                                  "end": int(span["endTimeUnixNano"]), "attributes": attributes(span),
                                  "events": [(e["name"], int(e["timeUnixNano"])) for e in span.get("events", [])]})
    return spans
