# SPDX-License-Identifier: Apache-2.0
"""`brick serve --otlp URL` against a collector of our own: each request's spans come once, as `brick export` has them,
while a recording grows and when it is read again; metrics are decoded by the published schema; a collector that is busy
is asked again; one that refuses, rejects a part, or is not there costs a count, and the server serves on; endpoints and
headers come from OpenTelemetry's environment variables, as its specification says."""
import base64
import collections
import http.server
import json
import os
import re
import subprocess
import threading
import time

from libcli import BRICK, BUILD, TMP, brick, brick_json, environment, expect, expect_true
from libhtml import skip
from libotlp import attributes, decoded, spans_of
from libports import free_port
from libserve import Server, need_server


class Collector(http.server.ThreadingHTTPServer):
    """Keeps what is posted; answers(path, number of the post) says how it answers: status, headers, body."""

    def __init__(self, answers=lambda path, number: (200, {}, "{}")):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.taken, self.posts, self.lock = answers, collections.defaultdict(list), 0, threading.Lock()
        self.headers = {}  # of the last post, by path
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def spans(self):
        with self.lock:
            return [json.loads(body)["resourceSpans"][0]["scopeSpans"][0]["spans"] for body in self.taken["/v1/traces"]]

    def ids(self):
        return [(span["traceId"], span["spanId"]) for part in self.spans() for span in part]


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        with self.server.lock:
            self.server.posts += 1
            self.server.headers[self.path] = self.headers
            status, headers, text = self.server.answers(self.path, self.server.posts)
            if status == 200 and self.headers["Content-Type"] == "application/json":
                self.server.taken[self.path].append(body)
        self.send_response(status)
        for name, value in {"Content-Length": str(len(text)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())


def until(what, is_so):
    deadline = time.monotonic() + 600
    while not is_so():
        expect_true(f"{what}, after a minute", time.monotonic() < deadline)
        time.sleep(0.05)


def counted(server, name):
    text = server.get("/metrics")[2].decode()
    return int(re.search(rf"^brick_serve_otlp_{name}_total (\d+)$", text, re.M)[1])


def stopped(server):
    """What it said on standard error, which Server.stop() would not allow."""
    server.process.terminate()
    return server.process.communicate(timeout=600)[1].decode()


def exported(path):
    lines = brick("export", "--format", "otlp", path)[0].decode().splitlines()
    return [(span["traceId"], span["spanId"]) for line in lines
            for span in json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]]


def arrives(path):
    collector = Collector()
    server = Server(path, "--otlp", collector.url + "/")
    wanted = exported(path)
    until("all spans came", lambda: len(collector.ids()) >= len(wanted))
    until("metrics came", lambda: collector.taken["/v1/metrics"])
    os.utime(path)  # it is read again
    until("they came again", lambda: len(collector.taken["/v1/metrics"]) > 1)
    expect("each span once", sorted(collector.ids()), sorted(wanted))
    until("all counted", lambda: counted(server, "sent_spans") == len(wanted))
    expect("nothing lost", (counted(server, "dropped_spans"), counted(server, "failures")), (0, 0))
    server.stop()
    spans_of(decoded("traces", [body + "\n" for body in collector.taken["/v1/traces"]]))
    same_metrics(decoded("metrics", [collector.taken["/v1/metrics"][-1] + "\n"])[0], path)


def same_metrics(message, path):
    metrics = {m["name"]: m for m in message["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]}
    expect("names", set(metrics), {
        "gen_ai.server.time_to_first_token", "gen_ai.server.time_per_output_token", "gen_ai.server.request.duration",
        "brick.request.queue.duration", "brick.step.duration", "brick.tokens"})
    traces = {trace for trace, _ in exported(path)}
    for name, metric in metrics.items():
        if name == "brick.tokens":
            continue
        expect("unit", metric["unit"], "s")
        expect("sums grow", metric["histogram"]["aggregationTemporality"], "AGGREGATION_TEMPORALITY_CUMULATIVE")
        for point in metric["histogram"]["dataPoints"]:
            counts = [int(count) for count in point["bucketCounts"]]
            expect("buckets", (len(counts), sum(counts)), (len(point["explicitBounds"]) + 1, int(point["count"])))
            expect("exemplars", len(point["exemplars"]), sum(count > 0 for count in counts))
            expect_true("times", int(point["startTimeUnixNano"]) < int(point["timeUnixNano"]))
            expect_true("model", attributes(point)["gen_ai.request.model"] in ("small", 'od"d\\one # {x}'))
            for exemplar in point["exemplars"] if name.startswith("gen_ai") else []:
                expect_true("leads to a trace", base64.b64decode(exemplar["traceId"]).hex() in traces)
    report, requests = brick_json("report", "--json", path), brick_json("requests", "--json", path)["requests"]
    tokens = {attributes(p)["brick.phase"]: int(p["asInt"]) for p in metrics["brick.tokens"]["sum"]["dataPoints"]}
    expect("tokens", tokens["decode"], report["steps"]["decode"]["tokens"])

    def total(name, key):
        return sum(key(point) for point in metrics[name]["histogram"]["dataPoints"])
    expect("first tokens", total("gen_ai.server.time_to_first_token", lambda p: int(p["count"])), len(requests))
    expect("steps", total("brick.step.duration", lambda p: int(p["count"])),
           sum(report["steps"][phase]["count"] for phase in ("prefill", "decode")))
    wanted = sum(r["ttft_ns"] for r in requests) / 1e9
    expect_true("their time", abs(total("gen_ai.server.time_to_first_token", lambda p: p["sum"]) - wanted) < 1e-9 * 50)


def grows():
    """What has ended is sent at once, the rest when it has; nothing twice."""
    path = serving("200")
    with open(path, "rb") as file:
        data = file.read()
    growing = os.path.join(TMP, "growing.pftrace")
    with open(growing + ".part", "wb") as file:
        file.write(data[:len(data) * 2 // 3])
    collector = Collector()
    server = Server(growing, "--otlp", collector.url)
    until("spans came", collector.ids)
    first, wanted = collector.ids(), exported(path)
    with open(growing + ".part", "ab") as file:
        file.write(data[len(data) * 2 // 3:])
    os.rename(growing + ".part", growing)
    until("all spans came", lambda: len(collector.ids()) >= len(wanted))
    expect("each once", sorted(collector.ids()), sorted(wanted))
    expect_true("a part first", 0 < len(first) < len(wanted))
    server.stop()


def busy(path):
    """503 with Retry-After, then 429, then it takes all."""
    answers = [(429, {}, "slower"), (503, {"Retry-After": "1"}, "busy")]
    collector = Collector(lambda path, number: answers.pop() if path == "/v1/traces" and answers else (200, {}, "{}"))
    server = Server(path, "--otlp", collector.url)
    wanted = exported(path)
    until("all spans came", lambda: len(collector.ids()) >= len(wanted))
    expect("each once", sorted(collector.ids()), sorted(wanted))
    until("counted", lambda: counted(server, "sent_spans") == len(wanted))
    expect("failures", (counted(server, "failures"), counted(server, "dropped_spans")), (2, 0))
    said = stopped(server)
    expect("said once", said, f"brick: {collector.url}: HTTP 503: busy; brick_serve_otlp_* in the metrics count it\n")


def refuses(path):
    """400 is no reason to try again: dropped, counted, and the next one goes on."""
    collector = Collector(lambda path, number: (400, {}, "no\nmore") if path == "/v1/traces" else (200, {}, "{}"))
    server = Server(path, "--otlp", collector.url)
    wanted = exported(path)
    until("all counted", lambda: counted(server, "dropped_spans") == len(wanted))
    until("metrics came", lambda: collector.taken["/v1/metrics"])
    expect("none sent", counted(server, "sent_spans"), 0)
    expect("the page is served", server.get("/")[0], 200)
    expect_true("said", "HTTP 400: no;" in stopped(server))


def rejects(path):
    partly = ['{"partialSuccess": {"rejectedSpans": "3"}}']  # of the first spans
    collector = Collector(lambda path, number: (200, {}, partly.pop() if path == "/v1/traces" and partly else "{}"))
    server = Server(path, "--otlp", collector.url)
    wanted = exported(path)
    until("all counted", lambda: counted(server, "sent_spans") == len(wanted) - 3)
    expect("rejected", counted(server, "dropped_spans"), 3)
    expect_true("said", "not all requests were sent" in stopped(server))


def not_there(path):
    server = Server(path, "--otlp", f"http://127.0.0.1:{free_port()}")
    until("it fails", lambda: counted(server, "failures") > 0)
    expect("the page is served", server.get("/")[0], 200)
    expect_true("said", "; brick_serve_otlp_*" in stopped(server))


def environment_says(path):
    """A signal's own variables stand before those of all signals, empty ones count as none, values are decoded."""
    collector = Collector()

    def heard(*names, **changes):
        collector.headers.clear()
        server = Server(path, "--otlp", "env", **{f"OTEL_EXPORTER_OTLP_{k}": v for k, v in changes.items()})
        until("both signals came", lambda: len(collector.headers) == 2)
        server.stop()
        return {where: [headers.get_all(name) for name in names] for where, headers in collector.headers.items()}

    base = collector.url
    expect("below a path", [
        heard("content-type", ENDPOINT=base + end) for end in ("/", "/gate/")], [
        {f"{at}/v1/{signal}": [["application/json"]] for signal in ("traces", "metrics")} for at in ("", "/gate")])
    expect("as it is", heard("x", ENDPOINT=base, TRACES_ENDPOINT=base + "/here", METRICS_ENDPOINT=""),
           {"/here": [None], "/v1/metrics": [None]})
    expect("headers", heard("api-key", "authorization", "x-empty", "x-tab", ENDPOINT=base,
                            HEADERS=" api-key = a%20b%3D=c , authorization=Basic%20dXNlcg==,,x-empty=,x-tab=%C3%A9"),
           {f"/v1/{signal}": [["a b==c"], ["Basic dXNlcg=="], [""], ["\xc3\xa9"]] for signal in ("traces", "metrics")})
    expect("of a signal instead", heard("a", "b", ENDPOINT=base, HEADERS="a=1", METRICS_HEADERS="b=2"),
           {"/v1/traces": [["1"], None], "/v1/metrics": [None, ["2"]]})
    collector.headers.clear()
    server = Server(path, "--otlp", base, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1", OTEL_EXPORTER_OTLP_HEADERS="a=1")
    until("the option's collector, the environment's headers", lambda: len(collector.headers) == 2)
    expect("headers", {headers["a"] for headers in collector.headers.values()}, {"1"})
    server.stop()
    for variable, value in (("HEADERS", "secret"), ("HEADERS", "a=1, =secret"), ("HEADERS", "a b=secret"),
                            ("HEADERS", "a=secret%0D%0Ab: c"), ("HEADERS", "a=secret%2"), ("TRACES_HEADERS", "a=%zzsecret"),
                            ("METRICS_ENDPOINT", "localhost"), ("ENDPOINT", "grpc://localhost")):
        name = f"OTEL_EXPORTER_OTLP_{variable}"
        done = subprocess.run([BRICK, "serve", "--port", "0", "--otlp", "env", path], capture_output=True, timeout=600,
                              env=environment(**{name: value}))
        expect((name, value), (done.returncode, name.encode() in done.stderr, b"secret" in done.stderr), (2, True, False))


def serving(*args):
    path = os.path.join(TMP, f"serving{''.join(args)}.pftrace")
    subprocess.run([os.path.join(BUILD, "bin", "program-serving_recording"), path, *args], check=True, timeout=600)
    return path


def refused(path):
    for args, code, words in (([path, "--otlp", "localhost:4318"], 2, b"must be a URL"),
                              ([path, "--otlp", "http://x", "--steps", "1-3"], 2, b"whole requests")):
        done = subprocess.run([BRICK, "serve", "--port", "0", *args], capture_output=True, env=environment(), timeout=600)
        expect(args[1:], (done.returncode, words in done.stderr), (code, True))


def main():
    path = serving()
    need_server(path)
    probe = subprocess.run([BRICK, "serve", "--port", "0", "/nowhere", "--otlp", "http://x"], capture_output=True,
                           env=environment(), timeout=600)
    if b"libcurl is missing" in probe.stderr:
        skip(probe.stderr.decode().strip())
    refused(path)
    arrives(path)
    grows()
    for each in (busy, refuses, rejects, not_there, environment_says):
        each(path)


main()
