#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""same.py OLD NEW FILE...: imports each file by two programs, and compares all that these say of the recordings: their exports, report,
explain, and diff against the first file that can be imported. Refusals are printed, for a person to compare. 1: something differs."""
import os
import subprocess
import sys
import tempfile


def run(brick, *args):
    done = subprocess.run([brick, *args], capture_output=True)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def answers(brick, path, recording, other):
    """By command: all that it printed."""
    said = run(brick, "import", "-o", recording, path)
    all_said = {"import": (said[0], said[2])}
    if said[0]:
        return all_said
    for command in (("export", "--format", "json"), ("report", "--json"), ("explain", "--json"), ("path", "--json"), ("tree",),
                    ("diff", "--json", other)):
        all_said[command[0]] = run(brick, *command, recording)
    return all_said


def main():
    old, new = sys.argv[1:3]
    same = differ = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        place = [os.path.join(folder, name) for name in ("one", "other")]
        for path in sys.argv[3:]:
            if not os.path.exists(place[1]):
                run(old, "import", "-o", place[1], path)
            one, other = (answers(brick, path, *place) for brick in (old, new))
            if one["import"][0] and other["import"][0]:
                refused += 1
                print(f"{os.path.basename(path)}: refused", one["import"][1].strip(), other["import"][1].strip(), sep="\n  ")
            elif one == other:
                same += 1
            else:
                differ += 1
                print(f"{path}: differs:", [command for command in one if one[command] != other.get(command)])
    print(f"{same} files are answered alike, {differ} differ, {refused} are refused by both")
    sys.exit(differ != 0)


main()
