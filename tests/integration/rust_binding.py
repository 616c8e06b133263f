# SPDX-License-Identifier: Apache-2.0
"""The Rust crates: their tests; an engine that records itself, as the report tells it, and by BRICK_TRACE_OUT; a program
that only knows `tracing`, where Debian's packages of that are. Skipped without cargo."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

BUILD = os.environ["BRICK_BUILD"]
SOURCE = os.environ["BRICK_SOURCE"]
BRICK = os.path.join(BUILD, "bin", "brick")
LIBRARIES = os.path.join(BUILD, "lib")
CRATES = "/usr/share/cargo/registry"  # of Debian's librust-*-dev


def cargo(crate, *arguments, config=(), **changes):
    environment = dict(os.environ, BRICK_LIB_DIR=LIBRARIES, LD_LIBRARY_PATH=LIBRARIES,
                       CARGO_TARGET_DIR=os.path.join(BUILD, "rust"), **changes)
    done = subprocess.run(["cargo", *config, arguments[0], "--offline", "-q", *arguments[1:]], cwd=crate,
                          env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rows_of(path):
    report = json.loads(subprocess.check_output([BRICK, "report", "--json", path]))
    assert report["losses"]["unmatched"] == 0 and report["losses"]["complete"], report["losses"]
    return {row["name"]: row for row in report["bricks"]}


def check_tracing(crate, scratch):
    config = os.path.join(scratch, "cargo.toml")
    with open(config, "w", encoding="utf-8") as file:
        file.write(f'[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "{CRATES}"\n')
    path = os.path.join(scratch, "traced.pftrace")
    cargo(crate, "test", "--tests", config=["--config", config])
    cargo(crate, "run", "--example", "traced", "--", path, config=["--config", config])
    rows = rows_of(path)
    assert rows["token"]["count"] == 10 and rows["attend"]["count"] == 20, rows
    assert rows["token"]["total_ns"] >= rows["attend"]["total_ns"]


def main():
    if not shutil.which("cargo"):
        return 77
    with tempfile.TemporaryDirectory() as scratch:
        crate = shutil.copytree(os.path.join(SOURCE, "bindings", "rust"), os.path.join(scratch, "rust"))
        cargo(crate, "test", "--tests")
        path = os.path.join(scratch, "engine.pftrace")
        cargo(crate, "run", "--example", "engine", "--", path)
        rows = rows_of(path)
        assert rows["QkvProjection"]["count"] == 200 and rows["QkvProjection"]["flops"] == 200 * 8000, rows
        assert rows["PickToken"]["count"] == 100 and rows["RmsNorm"]["count"] == 200, rows
        told = json.loads(subprocess.check_output([BRICK, "requests", "--json", path]))
        request, = told["requests"]  # the prompt's own step made the first of its tokens
        assert [request[key] for key in ("number", "prompt_tokens", "output_tokens")] == [7, 5, 100], request
        chrome = os.path.join(scratch, "engine.json")  # the program asks for no report: it is linked all the same
        cargo(crate, "run", "--example", "engine", "--", path, BRICK_TRACE_OUT=chrome)
        with open(chrome, encoding="utf-8") as file:
            events = [event for event in json.load(file)["traceEvents"] if event["name"] == "PickToken"]
        assert len(events) == 100, events
        assert float(cargo(crate, "run", "--example", "cost").split()[1]) >= 0
        if any(name.startswith("tracing-subscriber-") for name in (os.listdir(CRATES) if os.path.isdir(CRATES) else [])):
            check_tracing(os.path.join(crate, "tracing"), scratch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
