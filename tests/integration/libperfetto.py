# SPDX-License-Identifier: Apache-2.0
"""
Perfetto's own trace_processor, where there is one: $TRACE_PROCESSOR, in the PATH, or packed in a folder shared/tools
beside the checkout. It is no part of the project; tests that need it are skipped without it.
"""
import csv
import io
import lzma
import os
import shutil
import subprocess
import sys

from librecord import BUILD, check

NAMES = ("trace_processor_shell", "trace_processor")


def beside_the_checkout():
    """Unpacked once, into the build tree."""
    folder = os.path.realpath(os.environ["BRICK_SOURCE"])
    while folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
        packed = os.path.join(folder, "shared", "tools", NAMES[0] + ".xz")
        if not os.access(packed, os.R_OK):
            continue
        program = os.path.join(BUILD, "tests", NAMES[0])
        if not os.access(program, os.X_OK):
            with lzma.open(packed) as source, open(program + ".%d" % os.getpid(), "wb") as to:
                shutil.copyfileobj(source, to)
            os.chmod(to.name, 0o755)
            os.rename(to.name, program)
        return program
    return None


def processor():
    """Its path; ends the test as skipped where there is none that runs."""
    found = os.environ.get("TRACE_PROCESSOR") or next(filter(None, map(shutil.which, NAMES)), None) or beside_the_checkout()
    if not found or subprocess.run([found, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        print("skipped: there is no trace_processor")
        sys.exit(77)
    return found


def query(program, path, sql):
    """The rows of the last statement's answer: dictionaries of texts, None for what is NULL."""
    run = subprocess.run([program, "query", path, sql], capture_output=True, text=True, timeout=600)
    check(run.returncode == 0, sql, "fails:", run.stderr)
    lines = run.stdout[run.stdout.index('"'):] if '"' in run.stdout else ""
    return [{key: None if value == "[NULL]" else value for key, value in row.items()}
            for row in csv.DictReader(io.StringIO(lines))]
