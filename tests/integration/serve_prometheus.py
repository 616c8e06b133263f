# SPDX-License-Identifier: Apache-2.0
"""
The metrics of `brick serve`: lint of the OpenMetrics text, numbers as in `brick report --json` and
`brick requests --json`, exemplars that lead there, names escaped; and scraped, with the token, by
the real Prometheus of Debian, whose package is unpacked into the build directory and never
installed, so that no service is left running.
"""
import csv
import glob
import io
import json
import os
import random
import re
import shutil
import subprocess
import time
import urllib.parse
import urllib.request

from libcli import BUILD, TMP, brick, brick_json, expect, expect_true, fail, recording
from libgrafana import check_schema
from libhtml import skip
from libports import free_port
from libserve import Server, need_server

SOURCE = os.environ["BRICK_SOURCE"]
TOKEN = "correct-horse-battery-staple"
ODD = 'a"b\\c d\u00e9'
LABELS = r'\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\}'
SAMPLE = re.compile(rf'([a-z_]+)(?:{LABELS})? (\S+)(?: # {LABELS} (\S+) (\d+\.\d+))?')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\[\\"n])*)"')
# What the OpenTelemetry conventions for generative AI advise.
ADVISED = {
    "time_to_first_token": (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10),
    "time_per_output_token": (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5),
    "request_duration": (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)}


def unescape(text):
    return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], text)


def label_map(text):
    return tuple(sorted((k, unescape(v)) for k, v in LABEL.findall(text or "")))


def parse(text, exemplars=None):
    """{(name, labels): value} and {family: type}, failing on what OpenMetrics does not allow."""
    lines = text.split("\n")
    expect("last line", lines[-2:], ["# EOF", ""])
    values, families, units, now = {}, {}, {}, None
    for line in lines[:-2]:
        if line.startswith("# "):
            _, word, name, rest = line.split(" ", 3)
            if word == "TYPE":
                expect_true(f"{name} once", name not in families)
                families[name], now = rest, name
            expect_true(f"{line}: of the family before", name == now)
            if word == "UNIT":
                expect_true(f"{name} ends in its unit", name.endswith("_" + rest))
                units[name] = rest
            continue
        match = SAMPLE.fullmatch(line)
        expect_true(f"a sample: {line}", match)
        name, labels, value = match[1], match[2] or "", float(match[3])
        suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_count", "_sum"],
                    "gauge": [""], "info": ["_info"]}[families[now]]
        expect_true(f"{name} is of {now}", name in [now + suffix for suffix in suffixes])
        key = (name, label_map(labels))
        expect_true(f"{key} once", key not in values)
        values[key] = value
        if match[5]:
            expect_true(f"an exemplar of a bucket: {line}", name == now + "_bucket")
            found = label_map(match[4])
            expect_true(f"short labels: {line}", sum(len(k) + len(v) for k, v in found) <= 128)
            if exemplars is not None:
                exemplars[key] = (dict(found), float(match[5]), float(match[6]))
    for name in families:
        if name.endswith("_seconds"):
            expect(f"unit of {name}", units.get(name), "seconds")
    return values, families


def histograms(values, families):
    """Buckets only grow, and the last holds all."""
    for family in [name for name, kind in families.items() if kind == "histogram"]:
        series = {}
        for (name, labels), value in values.items():
            if name == family + "_bucket":
                rest = tuple(label for label in labels if label[0] != "le")
                series.setdefault(rest, []).append((float(dict(labels)["le"]), value))
        expect_true(f"{family} has series", series)
        for labels, buckets in series.items():
            counts = [count for _, count in sorted(buckets)]
            expect(f"{family} {labels} grows", counts, sorted(counts))
            expect("the last bucket is +Inf", max(buckets)[0], float("inf"))
            expect("and holds all", counts[-1], values[(family + "_count", labels)])
            edges = sorted(edge for edge, _ in buckets[:-1])
            if family == "brick_step_seconds":
                expect_true("in steps of 5 %", all(b <= 1.05 * a for a, b in zip(edges, edges[1:])))
        if family == "brick_step_seconds":  # all series have the same buckets, as they may be added up
            edges = {tuple(sorted(edge for edge, _ in buckets)) for buckets in series.values()}
            expect("buckets", len(edges), 1)
            sums = [sum(dict(buckets)[edge] for buckets in series.values()) for edge in sorted(edges.pop())]
            expect_true(f"no more empty buckets than are needed: {sums}", sums[1] > 0 and sums[-3] < sums[-1])


def same_numbers(values, path):
    report = brick_json("report", "--json", path)

    def near(what, got, want):
        expect_true(f"{what}: {got} is {want}", abs(got - want) <= 1e-8 * max(1, abs(want)))
    for phase in ("prefill", "decode"):
        steps, label = report["steps"][phase], (("phase", phase),)
        near("tokens", values[("brick_tokens_total", label)], steps["tokens"])
        near("steps", values[("brick_step_seconds_count", label)], steps["count"])
        near("time", values[("brick_step_seconds_sum", label)], steps["total_ns"] / 1e9)
    near("first token", values[("brick_first_token_seconds", ())], report["steps"]["ttft_ns"] / 1e9)
    near("coverage", values[("brick_coverage_ratio", ())], report["coverage"]["share"])
    for bound, key in (("estimate", "share"), ("low", "low"), ("high", "high")):
        value = values.get(("brick_distortion_ratio", (("bound", bound),)))
        expect(f"distortion: {bound}", value is None, bound == "estimate" and not report["distortion"]["measurable"])
        if value is not None:
            near("distortion", value, report["distortion"][key])
    for row in report["bricks"]:
        label = (("brick", row["name"]), ("category", row["category"]))
        near("self", values[("brick_self_seconds_total", label)], row["self_ns"] / 1e9)
        near("wall", values[("brick_wall_seconds_total", label)], row["wall_ns"] / 1e9)
        count = values[("brick_execution_seconds_count", label)]
        near("count", count, row["count"])
        mean = values[("brick_execution_seconds_sum", label)] / count
        expect_true("mean", abs(mean - row["avg_ns"] / 1e9) < 1.1e-9)
        below = values.get(("brick_execution_seconds_bucket", label + (("le", "1.024e-06"),)), 0)
        expect("none below 1 us", below > 0, row["min_ns"] < 1024)
    for phase in ("prefill", "decode"):
        part = brick_json("report", "--json", "--phase", phase, path)
        for row in part["bricks"]:
            label = (("brick", row["name"]), ("category", row["category"]), ("phase", phase))
            near("share", values[("brick_phase_share_ratio", label)], row["share"])
            near("executions", values[("brick_phase_executions_total", label)], row["count"])
            near("self", values[("brick_phase_self_seconds_total", label)], row["self_ns"] / 1e9)
            near("a token", values[("brick_token_seconds", label)],
                 row["wall_ns"] / 1e9 / report["steps"][phase]["tokens"])
    for name in ("cpu_seconds_total", "resident_memory_bytes", "virtual_memory_bytes", "open_fds",
                 "max_fds", "start_time_seconds"):
        expect_true(f"process_{name}", values[(f"process_{name}", ())] > 0)
    bricks, phases = len(report["bricks"]), 2
    most = 409 * phases + 19 * bricks + 4 * bricks * phases + 40
    expect_true(f"{len(values)} series, at most {most} by docs/SERVE.md", len(values) <= most)
    for kind in ("dropped", "open", "unmatched", "clamped", "unsupported", "bad_records"):
        near("losses", values[("brick_lost", (("kind", kind),))], report["losses"][kind])


def one_by_one(path):
    """Of each family of requests, what each request took, in seconds, by model; by `brick requests`."""
    found = {}
    for r in brick_json("requests", "--json", path)["requests"]:
        model, made = r["model_name"], r["ttft_ns"] is not None
        for name, ns in (("gen_ai_server_time_to_first_token_seconds", r["ttft_ns"]),
                         ("gen_ai_server_time_per_output_token_seconds", r["token_ns"]),
                         ("gen_ai_server_request_duration_seconds", r["end_ns"] - r["begin_ns"] if made else None),
                         ("brick_request_queue_seconds", r["queue_ns"])):
            if ns is not None:
                found.setdefault((name, model), {})[r["request"]] = ns / 1e9
    return found


def same_requests(values, exemplars, path):
    run, wanted = brick_json("export", "--format", "json", path), one_by_one(path)
    expect("families and models", len(wanted), 8)
    traces = {int(found[1]): span[:32]
              for span in brick("export", "--format", "otlp", path)[0].decode().split('"traceId":"')[1:]
              if (found := re.search(r'"brick.request","value":\{"intValue":"(\d+)"', span))}
    for (name, model), each in wanted.items():
        label = (("gen_ai_operation_name", "text_completion"), ("gen_ai_provider_name", "miniature"),
                 ("gen_ai_request_model", model))
        expect(f"{name} of {model}", values[(name + "_count", label)], len(each))
        expect_true("the sum", abs(values[(name + "_sum", label)] - sum(each.values())) < 1e-8 * (1 + len(each)))
        buckets = sorted((float(dict(labels)["le"]), labels) for sample, labels in values
                         if sample == name + "_bucket" and ("gen_ai_request_model", model) in labels)
        edges, below = [edge for edge, _ in buckets], 0.0
        for kind, advised in ADVISED.items():
            expect_true(f"{name} has the advised bounds", kind not in name or set(advised) <= set(edges))
        for edge, labels in buckets:
            expect(f"{name} below {edge}", values[(name + "_bucket", labels)],
                   sum(value <= edge for value in each.values()))
            inside = {number: value for number, value in each.items() if below < value <= edge}
            below = edge
            expect(f"{name} to {edge} has an exemplar", (name + "_bucket", labels) in exemplars, bool(inside))
            if not inside:
                continue
            found, value, when = exemplars[(name + "_bucket", labels)]
            expect("its recording", found["recording"], os.path.basename(path))
            expect("its trace", found["trace_id"], traces[int(found["request"])])
            expect_true("its request", abs(inside[int(found["request"])] - value) < 2e-9)
            step = run["steps"][int(found["step"]) - 1]
            end = step["end_ns"] if "queue" not in name else step["begin_ns"]
            offset = (end - run["start_ns"]) / 1e9 - when
            begin = values[("brick_run_start_seconds", ())]
            expect_true(f"its step's time: {offset + begin}", abs(offset + begin) < 0.1)
    models = {dict(labels).get("model") for name, labels in values if name == "brick_step_seconds_count"}
    expect("steps by model", models, {"small", 'od"d\\one # {x}'})


def prometheus():
    """The program, from the system or unpacked from its package."""
    if shutil.which("prometheus"):
        return shutil.which("prometheus")
    room = os.path.join(BUILD, "prometheus")
    program = os.path.join(room, "usr", "bin", "prometheus")
    if os.path.exists(program):
        return program
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        skip("no prometheus, and no apt-get to fetch its package with")
    os.makedirs(room, exist_ok=True)
    subprocess.run(["apt-get", "download", "-q", "prometheus"], cwd=room, timeout=600,
                   capture_output=True)
    packages = glob.glob(os.path.join(room, "prometheus_*.deb"))
    if not packages:
        skip("apt-get could not download the package prometheus")
    subprocess.run(["dpkg", "-x", packages[0], room], check=True, timeout=600)
    os.unlink(packages[0])
    return program


def ask(port, query):
    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": query})
    try:
        with urllib.request.urlopen(url, timeout=600) as answer:
            return [(row["metric"], float(row["value"][1]))
                    for row in json.load(answer)["data"]["result"]]
    except OSError:  # not there yet, or too slow an answer
        return []


def lengths(path):
    """Of the steps of each phase, ascending: the step, and the sampling behind it up to the next."""
    rows = list(csv.DictReader(io.StringIO(brick("export", "--format", "csv", path)[0].decode())))
    spans = sorted((int(row["begin_ns"]), int(row["duration_ns"]), row["brick"], row["thread"])
                   for row in rows if row["brick"] in ("Prefill", "Decode", "Sampling"))
    found, now = {"prefill": [], "decode": []}, None
    for begin, ns, name, thread in spans:
        if name != "Sampling":
            now = [begin + ns, thread, found[name.lower()]]
            now[2].append(ns)
        elif now and begin >= now[0] and thread == now[1]:
            now[2][-1] += ns
    return {phase: sorted(list) for phase, list in found.items() if list}


def percentiles(port, servers):
    """Prometheus's quantiles of the buckets lie within 5 % of the steps' own (nearest rank)."""
    for path, server in servers.items():
        for phase, steps in lengths(path).items():
            for percent in (50, 95, 99):
                exact = steps[-(-percent * len(steps) // 100) - 1] / 1e9
                found = ask(port, f"histogram_quantile({percent / 100}, sum by (le) (brick_step_seconds_bucket{{"
                                  f'phase="{phase}",instance="127.0.0.1:{server.port}"}}))')
                what = f"p{percent} of {len(steps)} {phase} steps, {os.path.basename(path)}"
                expect_true(f"{what}: {found} for {exact}",
                            found and (abs(found[0][1] / exact - 1) <= 0.05 or
                                       max(exact, found[0][1]) < 8.2e-6))  # below the first edge


def found_exemplars(port, serving):
    """What Prometheus kept of them: recording, step and value of what was served."""
    url = (f"http://127.0.0.1:{port}/api/v1/query_exemplars?start=0&end={2 ** 33}&"
           + urllib.parse.urlencode({"query": "gen_ai_server_time_to_first_token_seconds_bucket"}))
    with urllib.request.urlopen(url, timeout=600) as answer:
        series = json.load(answer)["data"]
    each = {number: value for (name, _), part in one_by_one(serving).items() if "first_token" in name
            for number, value in part.items()}
    kept = [exemplar for one in series for exemplar in one["exemplars"]]
    expect_true("Prometheus keeps exemplars", kept)
    for exemplar in kept:
        labels = exemplar["labels"]
        expect("recording", labels["recording"], os.path.basename(serving))
        expect_true("value", abs(float(exemplar["value"]) - each[int(labels["request"])]) < 2e-9)
        expect_true("step", int(labels["step"]) > 0)


def is_served(query, values):
    """The metrics of a query; all of them, and its labels, are served."""
    known = {name for name, _ in values} | {
        "brick_serve_otlp_sent_spans_total", "brick_serve_otlp_dropped_spans_total"}  # with --otlp
    labels = {label for _, found in values for label, _ in found} | {"instance"}
    bare = re.sub(r'"[^"]*"', '""', query)
    found = set(re.findall(r"\b(?:brick|gen_ai)_[a-z_]+\b",
                           re.sub(r"\{[^}]*\}|\([^()]*\) \(|, [a-z_]+\)$", "", bare)))
    expect_true(f"{query}: metrics that are served: {found - known}", found and found <= known)
    expect_true(f"{query}: labels that are served", set(re.findall(r'([a-z_]+)=~?""', bare)) <= labels)
    by = {label for list in re.findall(r"\bby \(([^()]*)\)", bare) for label in list.split(", ")}
    expect_true(f"{query}: labels to group by: {by - labels}", by <= labels)
    return found


def dashboard(port, values, families):
    """Each query of the Grafana dashboard is one that Prometheus takes, of metrics and labels that are served."""
    with open(os.path.join(SOURCE, "packaging", "grafana", "brick.json"), encoding="utf-8") as file:
        board = json.load(file)
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    queries += [v["query"]["query"] for v in board["templating"]["list"] if v["type"] == "query"]
    check_schema(board)
    names = set()
    for query in queries:
        names |= is_served(query, values)
        if query.startswith("label_values"):
            continue
        plain = query.replace("$__rate_interval", "1m").replace("$instance", ".*").replace("$model", ".*")
        url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": plain})
        with urllib.request.urlopen(url, timeout=600) as answer:
            expect(plain, json.load(answer)["status"], "success")
    expect_true("all histograms are shown", {name + "_bucket" for name, kind in families.items()
                                             if kind == "histogram"} <= names)


def rising(first, then):
    """Two days, a value in five minutes: a counter that rises by so much a minute on the first day, and then."""
    return f"0+{5 * first}x288 {5 * first * 288}+{5 * then}x20"


def steps_of(host, before, after):
    """Decode steps of a host, one a second, that each take so long: on the first day, and then."""
    series = [(f'brick_step_seconds_bucket{{instance="{host}",phase="decode",le="{edge}"}}',
               rising(*[60 * (float(edge) >= s) for s in (before, after)])) for edge in ("0.01", "0.02", "0.04", "+Inf")]
    return series + [(f'brick_step_seconds_sum{{instance="{host}",phase="decode"}}', rising(60 * before, 60 * after)),
                     (f'brick_step_seconds_count{{instance="{host}",phase="decode"}}', rising(60, 60))]


def latency(name, seconds):
    """Requests, one a second, that each take so long."""
    labels = 'instance="a",gen_ai_request_model="m"'
    return [(f'{name}_bucket{{{labels},le="{edge}"}}', f"0+{300 * (float(edge) >= seconds)}x12") for edge in ("1", "8", "16", "+Inf")]


def one_series(name, calm, fires):
    return [(name, fires)], [(name, calm)]


# For each alert series, a value in five minutes, with which it fires, and with which it does not.
ALERTS = {
    "BrickFirstTokenSlow": [latency("gen_ai_server_time_to_first_token_seconds", seconds) for seconds in (7, 0.9)],
    "BrickQueueLong": [latency("brick_request_queue_seconds", seconds) for seconds in (15, 0.9)],
    "BrickDecodeSlower": [steps_of("a", before, 0.03) for before in (0.009, 0.03)],
    "BrickHostSlow": [steps_of("a", slow, slow) + steps_of("b", 0.02, 0.02) + steps_of("c", 0.02, 0.02) for slow in (0.03, 0.021)],
    "BrickRecordsLost": one_series('brick_lost{instance="a",kind="dropped"}', "7+0x12", "0+1x12"),
    "BrickDistorts": one_series('brick_distortion_ratio{instance="a",bound="low"}', "0.01+0x12", "0.07+0x12"),
    "BrickReadsFail": one_series('brick_serve_read_failures_total{instance="a"}', "3+0x12", "0+1x12"),
    "BrickSpansDropped": one_series('brick_serve_otlp_dropped_spans_total{instance="a"}', "3+0x12", "0+1x12"),
}


def alerts(program, values):
    """promtool takes the rules; each asks for what is served, fires when it should, and only then."""
    rules, promtool = os.path.join(SOURCE, "packaging", "prometheus", "brick.rules.yml"), program[:-len("prometheus")] + "promtool"
    if not os.path.exists(promtool):
        skip("no promtool beside prometheus")
    done = subprocess.run([promtool, "check", "rules", rules], capture_output=True, text=True, timeout=600, check=False)
    expect(f"promtool check rules: {done.stdout}{done.stderr}", done.returncode, 0)
    with open(rules, encoding="utf-8") as file:
        text = file.read()
    found = dict(re.findall(r"- alert: (\w+)\n +expr: (?:>-\n)?(.*?)\n +(?:for|labels):", text, re.S))
    expect("each alert is tried", set(found), set(ALERTS))
    expect("all of them", len(found), text.count("- alert:"))
    for query in found.values():
        is_served(" ".join(query.split()), values)
    tests = []
    for name, sides in ALERTS.items():
        for fires, series in zip((True, False), sides):
            one = [{"series": series_name, "values": rise} for series_name, rise in series]
            tests.append({"interval": "5m", "input_series": one, "promql_expr_test": [
                {"expr": f'count(ALERTS{{alertname="{name}",alertstate="firing"}}) or vector(0)', "eval_time": "1500m" if "phase" in str(one)
                 else "60m", "exp_samples": [{"labels": "{}", "value": int(fires)}]}]})
    path = os.path.join(TMP, "alerts.json")  # which is YAML, too
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"rule_files": [os.path.realpath(rules)], "evaluation_interval": "5m", "tests": tests}, file)
    done = subprocess.run([promtool, "test", "rules", path], capture_output=True, text=True, timeout=600, check=False)
    expect(f"promtool test rules: {done.stdout}{done.stderr}", done.returncode, 0)


def health(port):
    """What Prometheus says of its targets: how they are, and why."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/targets", timeout=600) as answer:
        return {target["labels"]["job"]: (target["health"], target["lastError"]) for target in json.load(answer)["data"]["activeTargets"]}


def until(what, port, is_so):
    deadline = time.monotonic() + 600
    while not is_so(health(port)):
        expect_true(f"{what}: {health(port)}", time.monotonic() < deadline)
        time.sleep(0.2)


def failures(port, server, path):
    """A wrong token is refused; a server that is gone and comes back is down meanwhile, and its counters go on."""
    query = f'brick_tokens_total{{job="alone",instance="127.0.0.1:{server.port}"}}'
    until("a wrong token", port, lambda jobs: jobs["wrong"][0] == "down" and "401" in jobs["wrong"][1])
    expect("nothing of it", ask(port, 'brick_tokens_total{job="wrong"}'), [])
    until("the right one", port, lambda jobs: jobs["alone"][0] == "up" and ask(port, query))
    before = sorted(value for _, value in ask(port, query))
    server.process.kill()
    server.process.wait()
    until("it is gone, and its values stale", port,
          lambda jobs: jobs["alone"][0] == "down" and "refused" in jobs["alone"][1] and not ask(port, query))
    again = Server(path, "--token", TOKEN, "--port", server.port)
    until("it is back", port, lambda jobs: jobs["alone"][0] == "up" and ask(port, query))
    expect("the same again", sorted(value for _, value in ask(port, query)), before)
    expect("no counter began anew", {value for _, value in ask(port, query.replace("brick", "resets(brick", 1) + "[1h])")}, {0})
    again.stop()


def scrape(program, path, serving, served, others):
    report = brick_json("report", "--json", path)
    servers = {one: Server(one, "--token", TOKEN, "--port", free_port()) for one in (path, serving, *others)}
    server, port, alone = servers[path], free_port(), Server(path, "--token", TOKEN)
    config = os.path.join(TMP, "prometheus.yml")
    with open(config, "w") as file:
        file.write(f"""global: {{scrape_interval: 1s}}
scrape_configs:
  - job_name: brick
    authorization: {{credentials: {TOKEN}}}
    static_configs: [{{targets: {json.dumps([f"127.0.0.1:{s.port}" for s in servers.values()])}}}]
  - job_name: alone
    authorization: {{credentials: {TOKEN}}}
    static_configs: [{{targets: ["127.0.0.1:{alone.port}"]}}]
  - job_name: wrong
    authorization: {{credentials: {TOKEN}x}}
    static_configs: [{{targets: ["127.0.0.1:{server.port}"]}}]
""")
    log = open(os.path.join(TMP, "prometheus.log"), "w+")
    process = subprocess.Popen([program, f"--config.file={config}", "--log.level=warn",
                                "--enable-feature=exemplar-storage",
                                f"--storage.tsdb.path={TMP}/tsdb",
                                f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 600
        while len(ask(port, 'brick_run_complete{job="brick"}')) < len(servers) and time.monotonic() < deadline:
            if process.poll() is not None:
                break
            time.sleep(0.2)
        up = ask(port, 'up{job="brick"}')
        log.seek(0)
        expect_true(f"Prometheus scraped it: {up} {log.read()[-2000:]}",
                    up and up[0][1] == 1 and ask(port, "brick_tokens_total"))
        this = f'{{job="brick",instance="127.0.0.1:{server.port}"}}'
        decode = dict((m["phase"], v) for m, v in ask(port, "brick_tokens_total" + this))["decode"]
        expect("tokens", decode, report["steps"]["decode"]["tokens"])
        bricks = {m["brick"]: v for m, v in ask(port, "brick_execution_seconds_count" + this)}
        expect("bricks and their counts", bricks,
               {row["name"]: row["count"] for row in report["bricks"]})
        percentiles(port, servers)
        found_exemplars(port, serving)
        dashboard(port, *served)
        failures(port, alone, path)
        expect("labels came through", ask(port, "brick_run_info" + this)[0][0]["backend"], "CPU")
    finally:
        process.terminate()
        process.wait(timeout=600)
        log.close()
    for one in servers.values():
        one.stop()


def served_requests():
    """A recording of requests, once what is served of it was looked at."""
    path, exemplars = os.path.join(TMP, "serving.pftrace"), {}
    subprocess.run([os.path.join(BUILD, "bin", "program-serving_recording"), path], check=True, timeout=600)
    server = Server(path)
    body = server.get("/metrics")[2]
    server.stop()
    values, families = parse(body.decode(), exemplars)
    histograms(values, families)
    same_requests(values, exemplars, path)
    part = Server(path, "--steps", "2-9")
    expect_true("a part has no whole requests", b"gen_ai_" not in part.get("/metrics")[2])
    part.stop()
    return path, (values, families)


def main():
    path = recording("odd.pftrace", ODD)
    need_server(path)
    server = Server(path)
    status, headers, body = server.get("/metrics")
    expect("status", status, 200)
    expect("format", headers["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8")
    server.stop()
    values, families = parse(body.decode())
    histograms(values, families)
    same_numbers(values, path)
    serving, served = served_requests()
    if not any(ODD in dict(labels).values() for _, labels in values):
        fail("the odd name is not there, or not escaped as it should be")
    program = prometheus()
    alerts(program, served[0])
    others = {os.path.join(TMP, f"random-{seed}.pftrace"): str(seed)
              for seed in random.sample(range(1 << 31), 3)}
    for other, seed in others.items():
        subprocess.run([os.path.join(BUILD, "bin", "program-random_recording"), other, seed],
                       check=True, timeout=600)
    scrape(program, path, serving, served, others)


main()
