# SPDX-License-Identifier: Apache-2.0
"""
Description: every trace that the unit tests of the writer leave behind is a sound Perfetto trace:
decoded here and by protoc, without Brick's reader.
"""
import os
import subprocess
import sys
import tempfile

import libprotoc
import libtrace

BUILD, SOURCE = os.environ["BRICK_BUILD"], os.environ["BRICK_SOURCE"]
PROTOC_LIMIT = 256 * 1024


def main():
    failed, checked, by_protoc, slices, arrows = 0, 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as work:
        for test in ("trace_roundtrip", "trace_run", "trace_file", "trace_command", "record_stacks"):
            keep = os.path.join(work, test)
            os.mkdir(keep)
            subprocess.run([os.path.join(BUILD, "bin", "test-" + test)], cwd=work, check=True,
                           env=dict(os.environ, BRICK_KEEP_TRACES=keep),
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for name in sorted(os.listdir(keep)):
                path = os.path.join(keep, name)
                found = libtrace.load(path)
                problems = found.problems
                if os.path.getsize(path) < PROTOC_LIMIT:
                    more = libprotoc.protoc_problems(path, SOURCE)
                    by_protoc += more is not None
                    problems = problems + (more or [])
                for problem in problems:
                    print("%s/%s: %s" % (test, name, problem))
                failed += bool(problems)
                slices += len(found.slices)
                arrows += sum(len(events) > 1 for events in found.flows.values())
                checked += 1
    print("%d traces with %d slices and %d flows, %d of them by protoc, %d bad" %
          (checked, slices, arrows, by_protoc, failed))
    if not checked or slices < 1000 or arrows < 50:
        print("the unit tests left too little behind")
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
