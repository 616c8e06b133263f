#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the reference of the public API: html/ by Doxygen, and man3/ from its XML, a page for each
comment. What Doxygen warns of, and what has no comment, is written to `warnings`; a test wants that
empty.

  docs/api/build.py DOXYGEN DOXYFILE OUTPUT
"""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml


def text(element):
    """An element of Doxygen's XML as lines of man's language."""
    if element is None:
        return ""
    out = [escape(element.text or "")]
    for child in element:
        out.append(text_of_child(child))
        out.append(escape(child.tail or ""))
    return "".join(out)


def text_of_child(child):
    inner = text(child)
    if child.tag in ("para", "simplesect"):
        return inner.strip() + "\n.PP\n"
    if child.tag == "listitem":
        return ".IP \\(bu 2\n" + re.sub(r"\n\.PP\n$", "\n", inner.strip() + "\n")
    if child.tag in ("itemizedlist", "orderedlist"):
        return "\n" + inner.strip() + "\n.PP\n"
    if child.tag in ("verbatim", "programlisting", "preformatted"):
        return "\n.PP\n.EX\n" + inner.strip("\n") + "\n.EE\n.PP\n"
    return {"sp": " ", "ndash": "-", "mdash": "-", "linebreak": "\n.br\n"}.get(child.tag, inner)


def escape(plain):
    return re.sub(r"(?m)^([.'])", r"\\&\1", plain.replace("\\", "\\e").replace("-", "\\-"))


def described(entity):
    found = [text(entity.find(kind)).strip() for kind in ("briefdescription", "detaileddescription")]
    return re.sub(r"\n(\.PP\n)+", r"\n.PP\n", "\n.PP\n".join(part for part in found if part)).strip()


def brief(entity):
    words = " ".join("".join(entity.find("briefdescription").itertext()).split())
    return escape(words.split(". ")[0].rstrip("."))


def prototype(member):
    arguments = member.findtext("argsstring") or ""
    kind = "".join(member.find("type").itertext())
    return f"{kind} {member.findtext('name')}{arguments};".replace("* ", "*").replace("static inline ", "")


def fields(compound):
    """The members of a struct, each with what is said of it."""
    lines = []
    for member in compound.iter("memberdef"):
        name = member.findtext("definition") or member.findtext("name")
        name = re.sub(r"\b\w+::", "", name) + (member.findtext("argsstring") or "")
        lines.append(f".TP\n.B {escape(name)}\n{described(member) or '.'}\n")
    return "".join(lines)


def enumerators(enum):
    return "".join(f".TP\n.B {escape(v.findtext('name'))} {escape(v.findtext('initializer') or '')}\n"
                   f"{described(v) or '.'}\n" for v in enum.iter("enumvalue"))


def page(names, header, synopsis, description, entity, more=""):
    listed = escape(", ".join(names))
    return (f'.TH {names[0]} 3 "" Brick "Brick\'s C API"\n.SH NAME\n{listed} \\- {brief(entity)}\n'
            f".SH SYNOPSIS\n.nf\n#include <{header}>\n\n{escape(synopsis)}\n.fi\n"
            f".SH DESCRIPTION\n{description}\n{more}"
            f".SH \"SEE ALSO\"\nThe whole of <{header}> in HTML; brick(1)\n")


def write(where, names, content):
    for name in names:
        with open(os.path.join(where, name + ".3"), "w", encoding="utf-8") as file:
            file.write(content if name == names[0] else f".so man3/{names[0]}.3\n")


def is_public(name):
    return name.startswith("brick_") and not name.startswith("brick__")


def function_pages(tree, header, out, wrong):
    """A page for the functions that share a comment, in the order of the header."""
    groups = {}
    for member in tree.iter("memberdef"):
        name, kind = member.findtext("name"), member.get("kind")
        if not is_public(name) or kind not in ("function", "variable", "typedef", "enum"):
            continue
        if not described(member):
            wrong.append(f"{header}: {name} has no comment")
            continue
        groups.setdefault((kind, described(member)), []).append(member)
    for (kind, description), members in groups.items():
        names = [member.findtext("name") for member in members]
        lines = [f"enum {names[0]};"] if kind == "enum" else [prototype(m) for m in members]
        more = enumerators(members[0]) if kind == "enum" else ""
        write(out, names, page(names, header, "\n".join(lines), description, members[0], more))


def struct_page(tree, out, wrong):
    compound = tree.find("compounddef")
    name = compound.findtext("compoundname")
    if not is_public(name) or "::" in name:
        return
    header = compound.find("includes")
    header = header.text if header is not None else compound.find("location").get("file")
    header = header[header.rfind("brick/"):] if "brick/" in header else "brick/" + header
    description = described(compound)
    if not description:
        wrong.append(f"{header}: struct {name} has no comment")
        return
    write(out, [name], page([name], header, f"struct {name};", description, compound, fields(compound)))


def man_pages(tree, out):
    wrong = []
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    for name in sorted(os.listdir(tree)):
        if name in ("index.xml",) or not name.endswith(".xml"):
            continue
        parsed = xml.parse(os.path.join(tree, name))
        compound = parsed.find("compounddef")
        kind = compound.get("kind") if compound is not None else ""
        if kind == "struct":
            struct_page(parsed, out, wrong)
        elif kind == "file":
            file = compound.find("location").get("file")
            function_pages(parsed, file[file.rfind("brick/"):], out, wrong)
    return wrong


def main():
    doxygen, doxyfile, out = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    done = subprocess.run([doxygen, doxyfile], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    wrong = done.stdout.splitlines() or ([f"doxygen: exit {done.returncode}"] if done.returncode else [])
    wrong += man_pages(os.path.join(out, "xml"), os.path.join(out, "man3"))
    with open(os.path.join(out, "warnings"), "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in wrong)
    for line in wrong:
        print(line, file=sys.stderr)


if __name__ == "__main__":
    main()
