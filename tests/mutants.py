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
    ("aliases of names", "src/lib/session/registry.c", "if (is_alias(alias_lists[i], name))", "if (0)", "unit/registry"),
    ("roofline distance", "src/lib/graph/graph_roofline.c", "return 1 - achieved /", "return 0 - achieved /", "unit/graph_path"),
    ("a category's share", "src/lib/probe/stats.c", "out->share = all->self ?", "out->share = 0 * all->self ?",
     "unit/session"),
    ("each launch keeps its own end", "src/lib/backends/device.c", "pair->command.end_ns = completion->end_ns;",
     "pair->command.end_ns = completion->end_ns + 1000;", "unit/device"),
    ("pop of a scope", "src/lib/graph/graph.c", "items[--graph->scopes.count]", "items[graph->scopes.count - 1]", "unit/graph"),
    ("reset of everything", "src/lib/probe/stats.c", "			clear_lane(s->lanes[i].lane);", "			;",
     "unit/session"),
    ("time per token", "src/ui/text/report_fields.c", "= (row->wall_ns - row->unevaluated_ns) / tokens;",
     "= (row->wall_ns - row->unevaluated_ns) / (tokens + 1);", "integration/cli_report"),
    ("the longest execution of a brick", "src/lib/probe/stats.c", "	if (stat->max > sum->max)", "	if (0)", "unit/probe"),
    ("each session's own bricks", "src/lib/session/registry.c", "find_brick(name, brick__session_here()->owner) :", "find_brick(name, 0) :",
     "unit/sessions"),
    ("switching off", "src/lib/embed/session.c", "		s->header->paused = 1;\n		brick__switch_set(s, false);",
     "		s->header->paused = 1;", "unit/session"),
    ("no allocation on the hot path", "src/lib/probe/probe.c", "brick_span brick__begin(uint32_t brick)\n{",
     "#include <stdlib.h>\nvoid *volatile brick__mutant;\nbrick_span brick__begin(uint32_t brick)\n{\n	free(brick__mutant);\n"
     "	brick__mutant = malloc(40);", "unit/hot_path"),
    ("categories of the 23", "include/brick/registry.h", 'X(13, LM_HEAD, "LmHead", OTHER,', 'X(13, LM_HEAD, "LmHead", FFN,',
     "unit/registry"),
    ("rows of names beyond the first", "src/lib/probe/stats.c", "k < b + n && brick_lane_has_rows", "k < b + n && !b && brick_lane_has_rows",
     "unit/names"),
    ("memory or compute", "src/analysis/roofline/roofline.c", "by_memory = of_memory >= of_peak", "by_memory = of_memory < of_peak",
     "unit/roofline"),
    ("a category's average", "src/lib/probe/stats.c", "sum->surplus) / (double)sum->count;", "sum->surplus);", "unit/session"),
    ("the first place that diverges", "src/analysis/diverge/diverge.c", "		if (d->first == RUN_NONE)", "		if (1)",
     "unit/digest_run"),
    ("rows of CSR", "src/lib/graph/graph_json.c", "graph->out.first[v] : 0);", "graph->out.first[v] + (v != 0) : 0);",
     "unit/graph_format"),
    ("the backend in the first line", "src/ui/text/report_head.c", '		text_append(text, " and ", "%s", backends[i]);',
     "		;", "integration/cli_report"),
    ("the CPU's timer", "src/lib/backends/cpu/cpu_backend.c", "end_ns = now;", "end_ns = d->pairs[i - 1].begin_ns + 1;",
     "unit/device_modes"),
    ("a phase alone", "src/analysis/accounts/selection.c", "(s->phase < 0 || (int)step->phase == s->phase)", "(1)",
     "integration/filters"),
    ("instants", "src/lib/writer/writer_lane.c", "pb_put_field(fields, EVENT_TYPE, EVENT_INSTANT);",
     "pb_put_field(fields, EVENT_TYPE, EVENT_COUNTER);", "unit/trace_roundtrip"),
    ("how many executions", "src/ui/results/results.c", "known(summary->executions);", "known(summary->executions) + 1;",
     "integration/own_results"),
    ("times of steps", "src/analysis/steps/step_times.c", "frame->scope == WALK_AFTER || frame->is_step) {",
     "frame->scope == WALK_AFTER) {", "unit/analysis_steps"),
    ("counters that were shared", "src/lib/probe/counters.c", "if (reading->running_ns == reading->enabled_ns)", "if (1)",
     "unit/counters"),
    ("percentiles", "src/lib/probe/stats.c", "(entries * percent + 99) / 100", "(entries * percent + 99) / 200", "unit/session"),
    ("reset of what a consumer counted", "src/lib/probe/stats.c", "			clear_drained(s);", "			;",
     "unit/session"),
    ("no lock on the hot path", "src/lib/probe/probe.c", "brick_span brick__begin(uint32_t brick)\n{",
     "#include <pthread.h>\nstatic pthread_mutex_t brick__mutant;\nbrick_span brick__begin(uint32_t brick)\n{\n"
     "	pthread_mutex_lock(&brick__mutant);\n	pthread_mutex_unlock(&brick__mutant);", "unit/objects"),
)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=SOURCE)


def survives(build, path, old, new, test):
    """Does the test pass though the behaviour is gone? None: it could not be tried."""
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        text = file.read()
    if text.count(old) != 1:
        return None
    target = {"unit/objects": ["brick-core"], "integration/own_results": ["brick-report"]}.get(
        test, ["test-" + test.split("/")[1]] if test.startswith("unit/") else ["brick-cli"])
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


if __name__ == "__main__":
    sys.exit(main())
