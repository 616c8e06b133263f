#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes behaviour away that docs/PARITY.md promises, one at a time, and shows that the test which its row names fails.
The rows were drawn at random. To be run by hand, in a clean tree with a build: it changes sources, builds, and puts
them back.

  tests/mutants.py [BUILD]     (default: build)
"""
import os
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# What the row promises; file, what stands there, what stands there instead; the row's test.
MUTANTS = (
    ("aliases of names", "src/lib/probe/registry.c", "if (is_alias(alias_lists[i], name))", "if (0)", "unit/registry"),
    ("roofline distance", "src/lib/graph/graph_plan.c", "return 1 - achieved /", "return 0 - achieved /", "unit/graph_path"),
    ("a category's share", "src/lib/probe/stats.c", "out->share = all->self ?", "out->share = 0 * all->self ?",
     "unit/protocol_bricks"),
    ("each launch keeps its own end", "src/lib/device/device.c", "pair->command.end_ns = completion->end_ns;",
     "pair->command.end_ns = completion->end_ns + 1000;", "unit/device"),
    ("pop of a scope", "src/lib/graph/graph.c", "items[--graph->scopes.count]", "items[graph->scopes.count - 1]", "unit/graph"),
    ("reset of everything", "src/lib/probe/stats.c", "			clear_lane(s->lanes[i].lane);", "			;",
     "unit/session"),
    ("time per token", "src/ui/text/report_fields.c", "= (row->wall_ns - row->unevaluated_ns) / tokens;",
     "= (row->wall_ns - row->unevaluated_ns) / (tokens + 1);", "integration/cli_report"),
    ("the longest execution of a brick", "src/lib/probe/stats.c", "	if (stat->max > sum->max)", "	if (0)", "unit/probe"),
    ("each session's own bricks", "src/lib/probe/registry.c", "(!owner_of(i) || owner_of(i) == owner) &&", "", "unit/sessions"),
    ("switching off", "src/lib/session/session.c", "		s->header->paused = 1;\n		brick__switch_set(s, false);",
     "		s->header->paused = 1;", "unit/session"),
    ("no allocation on the hot path", "src/lib/probe/probe.c", "brick_span brick__begin(uint32_t brick)\n{",
     "#include <stdlib.h>\nvoid *volatile brick__mutant;\nbrick_span brick__begin(uint32_t brick)\n{\n	free(brick__mutant);\n"
     "	brick__mutant = malloc(40);", "unit/protocol_bricks"),
)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=SOURCE)


def survives(build, path, old, new, test):
    """Does the test pass though the behaviour is gone? None: it could not be tried."""
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        text = file.read()
    if text.count(old) != 1:
        return None
    target = ["test-" + test.split("/")[1]] if test.startswith("unit/") else ["brick-cli"]
    try:
        with open(os.path.join(SOURCE, path), "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))
        if run("ninja", "-C", build, *target).returncode:
            return None
        return run("ctest", "--test-dir", build, "-R", f"^{test}$", "--timeout", "120").returncode == 0
    finally:
        with open(os.path.join(SOURCE, path), "w", encoding="utf-8") as file:
            file.write(text)


def main():
    build, left = sys.argv[1] if len(sys.argv) > 1 else "build", 0
    for promise, path, old, new, test in MUTANTS:
        result = survives(build, path, old, new, test)
        left += result is not False
        print(f"{promise}: {test} " + {None: "could not be tried", True: "PASSES", False: "fails"}[result], flush=True)
    print(f"{len(MUTANTS) - left} of {len(MUTANTS)} are seen")
    return left != 0


sys.exit(main())
