#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A public header as Doxygen wants it: its comments, which are plain text, marked as documentation.

The first comment is that of the file; one that stands before a declaration is its own, one behind a
member on the same line is the member's; functions that follow each other without an empty line share
the comment of the first. Lines keep their numbers. Doxygen calls this for each header (INPUT_FILTER).
"""

import re
import sys

COMMENT = re.compile(r"/\*(.*?)\*/", re.S)


def escape(text):
    """Nothing in our comments is a command, a tag or emphasis; `code` stays as it is."""
    parts = re.split(r"(`[^`\n]*`)", text)
    return "".join(part if i % 2 else re.sub(r"([\\@<>#%*&$])", r"\\\1", part)
                   for i, part in enumerate(parts))


def is_drawn(line, in_list):
    return bool(re.match(r" {3,}\S", line)) and not in_list


def marked(body):
    """The lines of a comment, without the asterisks, with what is drawn left alone."""
    lines, drawn, in_list = [], False, False
    for line in body.split("\n"):
        line = re.sub(r"^\s*\*(?=\s|$)", "", line) if lines else line
        in_list = in_list and bool(line.strip()) or bool(re.match(r" ?- ", line))
        here = is_drawn(line, in_list)
        # A drawing begins and ends in lines of its own: between them only empty ones belong to it.
        if here and not drawn:
            lines[-1] += " @verbatim"
        elif drawn and not here and line.strip():
            lines[-1] += " @endverbatim"
        drawn = here or (drawn and not line.strip())
        lines.append(line if drawn else escape(line))
    if drawn:
        lines[-1] += " @endverbatim"
    return "\n".join(lines)


def convert(text, name):
    out, at, first, last = [], 0, True, None
    for match in COMMENT.finditer(text):
        between, body = text[at:match.start()], match.group(1)
        out.append(share(between, last))
        at = match.end()
        trailing = text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip()
        if "SPDX-" in body or "----" in body or trailing.startswith("#define"):
            out.append(match.group(0))
        elif trailing:
            out.append("/**<" + marked(body) + "*/")
        elif first:
            first = False
            title = "@mainpage The C API\n" if name == "brick.h" else ""
            out.append("/** @file\n" + marked(body).strip() + " */")
            out.append("/** " + title + marked(body).strip() + " */" if title else "")
        else:
            last = " ".join(marked(body).split())
            out.append("/**" + marked(body) + "*/")
    out.append(share(text[at:], last))
    return "".join(out)


def share(text, comment):
    """Give each function that directly follows another the comment that stands before them."""
    if not comment or "@verbatim" in comment:
        return text
    return re.sub(r";\n(BRICK_API )", lambda m: f";\n/** {comment} */ {m.group(1)}", text)


def main():
    path = sys.argv[1]
    with open(path, encoding="utf-8") as file:
        sys.stdout.write(convert(file.read(), path.rsplit("/", 1)[-1]))


if __name__ == "__main__":
    main()
