# SPDX-License-Identifier: Apache-2.0
"""
Description: an engine whose evaluation call returns while PoCL or lavapipe still works, and whose caller waits for it
later. Held against the program's own events and clock: steps, the first token, tree and path include that work,
every queue's busy and idle time are its wall time, busy is what the device was, and waits name what they were for.
"""
import collections
import json
import os
import subprocess
import sys

from librecord import BRICK, BUILD, Scratch, check

Step = collections.namedtuple("Step", "begin returned waited commands")
ROUNDING_NS = 3


class Case:
    """Whether the device's own events are those that Brick reads, or lie around them."""
    def __init__(self, name, same_events):
        self.name, self.same_events = name, same_events
        self.program = os.path.join(BUILD, "bin", f"program-{name}_async")

    def same(self, what, got, own, count=1):
        """A length in the recording, and what the program says of it."""
        slack = ROUNDING_NS * count + own // 5000  # of a clock that a busy machine lets be read poorly (correlation.c)
        least = own - slack if self.same_events else own // 2
        check(least <= got <= own + slack, self.name, what, got, "the program says", own)


def record(case, path):
    done = subprocess.run([BRICK, "record", "-q", "-o", path, "--", case.program], capture_output=True, text=True,
                          timeout=600, check=False)
    if done.returncode in (77, 127):
        return None
    check(done.returncode == 0, case.name, done.stderr)
    steps = []
    for what, *numbers in map(str.split, done.stdout.splitlines()):
        if what == "step":
            steps.append(Step(*map(int, numbers), []))
        else:
            steps[-1].commands.append(tuple(map(int, numbers)))
    return steps


def answer(*arguments):
    return json.loads(subprocess.check_output([BRICK, *arguments]))


def lengths(step):
    return [end - begin for begin, end in step.commands]


def span(step):
    return step.commands[-1][1] - step.commands[0][0]


def check_length(case, what, got, step):
    """From its begin until the device had done it, at least, and until the program knew, at most."""
    least = span(step) if case.same_events else sum(lengths(step)) // 2
    check(least <= got <= step.waited - step.begin, case.name, what, got, "the device says", least, "the program",
          step.waited - step.begin)
    if least > 2 * (step.returned - step.begin):  # else the thread was kept from its CPU meanwhile
        check(got > step.returned - step.begin, case.name, what, got, "ends where the evaluation returned")


def check_report(case, path, steps):
    report = answer("report", "--json", path)
    check_length(case, "first token", report["steps"]["ttft_ns"], steps[0])
    (queue,) = report["device"]["queues"]
    check(queue["busy_ns"] + queue["idle_ns"] == queue["queue_wall_ns"], case.name, queue)
    check(queue["commands"] == 1 + 2 * len(steps), case.name, queue)
    rows = {row["name"]: row for row in report["bricks"]}
    for i, name in enumerate(("RmsNorm", "QkvProjection")):
        own = sum(lengths(step)[i] for step in steps)
        case.same(f"{name} on the device", rows[name]["device_ns"], own, len(steps))
    phases = report["steps"]["prefill"]["total_ns"] + report["steps"]["decode"]["total_ns"]
    covered = report["device"]["covered_ns"]
    # all that bricks launched was done one after another within the steps, and nothing else
    check(abs(queue["idle_ns"] - (phases - covered)) <= ROUNDING_NS * len(steps), case.name, queue, phases, covered)
    case.same("covered", covered, sum(sum(lengths(step)) for step in steps), 2 * len(steps))
    check(0 <= queue["busy_ns"] - covered == report["device"]["total_ns"] - covered, case.name, report["device"])
    waits = report["device"]["waits"]
    check(any(wait["kernel"] for wait in waits) and sum(wait["count"] for wait in waits) == len(steps), case.name, waits)
    return report


def kernels(node):
    own = [node["time_ns"]] if node["kind"] == "kernel" else []
    return own + [ns for child in node["children"] for ns in kernels(child)]


def check_tree_and_path(case, path, steps, phases):
    total, on_path = 0, []
    for i, step in enumerate(steps, 1):
        tree = answer("tree", "--json", "--step", str(i), path)["trees"][0]["tree"]
        found = kernels(tree)
        check(len(found) == 2, case.name, tree)
        case.same(f"kernels in the tree of step {i}", sum(found), sum(lengths(step)), 2)
        check_length(case, f"tree of step {i}", tree["time_ns"], step)
        total += tree["time_ns"]
        section = answer("path", "--json", "--step", str(i), path)["sections"][0]
        check_length(case, f"path of step {i}", section["path_ns"], step)
        rows = {row["name"]: row["on_path_ns"] for row in section["bricks"]}
        on_path.append(rows.get("QkvProjection", 0) / lengths(step)[1])
    # the program waited for it, in one step or the other before it was done
    check(max(on_path) > (0.99 if case.same_events else 0.5), case.name, "the second kernel on paths", on_path)
    check(total == phases["prefill"]["total_ns"] + phases["decode"]["total_ns"], case.name, total, phases)


def main():
    tried = 0
    with Scratch() as scratch:
        for case in (Case("opencl", True), Case("vulkan", False)):
            path = scratch.file(case.name + ".pftrace")
            steps = record(case, path) if os.path.exists(case.program) else None
            if not steps:
                print(case.name + ": not tried: no such device")
                continue
            tried += 1
            report = check_report(case, path, steps)
            check_tree_and_path(case, path, steps, report["steps"])
            print(case.name, len(steps), "steps,", sum(map(sum, map(lengths, steps))) / 1e6, "ms on the device")
    return 0 if tried else 77


if __name__ == "__main__":
    sys.exit(main())
