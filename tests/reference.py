#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The API reference as the build made it: Doxygen warned of nothing, everything public has a comment,
each released function has a man page with a description behind its name, and man and HTML are sound."""

import os
import re
import shutil
import subprocess
import sys

SOURCE, BUILD = os.environ["BRICK_SOURCE"], os.environ["BRICK_BUILD"]
REFERENCE = os.path.join(BUILD, "reference")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def released():
    lines = "".join(read(SOURCE, f"src/{name}.symbols") for name in ("lib/brick", "lib/graph/graph", "ui/results/results"))
    return [name for name in re.findall(r"(?m)^(\w+)@", lines) if not name.startswith("brick__")]


def main():
    wrong = read(REFERENCE, "warnings").splitlines()
    pages = os.listdir(os.path.join(REFERENCE, "man3"))
    wrong += [f"{name} has no man page" for name in released() if name + ".3" not in pages]
    for page in pages:
        content = read(REFERENCE, "man3", page)
        link = re.match(r"\.so man3/(\S+)\n$", content)
        if link and link.group(1) not in pages or not link and not content.startswith(".TH "):
            wrong.append(f"{page} is no man page")
        if re.search(r"\\- *$", content, re.M):
            wrong.append(f"{page} has no description behind its name")
    if shutil.which("mandoc"):
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "error", "brick_stats_get.3", "brick_site.3"],
                              capture_output=True, text=True, check=False,
                              cwd=os.path.join(REFERENCE, "man3"))
        wrong += done.stdout.splitlines()
    if "The C API" not in read(REFERENCE, "html/index.html"):
        wrong.append("html/index.html does not begin with the API")
    print("\n".join(wrong) or f"reference: {len(pages)} man pages")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
