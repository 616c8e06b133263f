# SPDX-License-Identifier: Apache-2.0
"""The extension of track events that tells what was executed, read as the trace itself describes it."""
from libwire import every, fields, one

SITE = FACTS = 1990
SITE_FACTS = {1: "layer", 2: "op", 3: "tensor", 4: "elements", 5: "bytes", 6: "flops", 7: "unknown", 8: "at_most"}
KERNEL_FACTS = {1: "kind", 2: "name", 3: "backend", 4: "grid", 5: "block", 6: "shared", 7: "registers", 8: "code"}


def text(data):
    return bytes(data).decode("utf-8", "replace")


def facts_of(entry, names):
    """What an entry says in a field of Brick's own; None: nothing."""
    data, found = one(entry, FACTS), {}
    for number, _, value in fields(data or b""):
        value = value if isinstance(value, int) else text(value)
        name = names.get(number, "?")
        if name in ("grid", "block"):
            found.setdefault(name, []).append(value)
        else:
            found[name] = value
    if names is SITE_FACTS:
        found["layer"] = found.get("layer", 0) - 1
    return None if data is None else found


class Sites:
    def __init__(self, bad):
        self.bad = bad
        self.members, self.texts, self.files = {}, {}, set()
        self.facts = {}

    def describe(self, data):
        """Members of the extension by number, and the texts of enums, which grow."""
        for file in every(one(data, 1), 1):
            if text(one(file, 1)) in self.files or text(one(file, 2)) != "brick":
                self.bad("description %r comes again, or is another's", text(one(file, 1)))
            self.files.add(text(one(file, 1)))
            for extension in every(file, 7):
                if (text(one(extension, 1)), text(one(extension, 2)), one(extension, 3)) != (
                        "debug", ".perfetto.protos.TrackEvent", SITE):
                    self.bad("an extension that has no debug arguments")
            for member in [field for whole in every(file, 4) for field in every(whole, 2)]:
                texts = text(one(member, 6, b"")).replace(".brick.", "")
                self.members[one(member, 3)] = text(one(member, 1)), texts
            for enum in every(file, 5):
                for value in every(enum, 2):
                    self.add(text(one(enum, 1)), one(value, 2, 0), text(one(value, 1)))
                    if text(one(enum, 1)) == "SiteText":
                        self.facts[one(value, 2, 0)] = facts_of(value, SITE_FACTS)
                        if self.facts[one(value, 2, 0)] is None:
                            self.bad("site %d has no facts", one(value, 2, 0))

    def add(self, enum, number, name):
        texts = self.texts.setdefault(enum, {})
        if not number or texts.get(number, name) != name:
            self.bad("%s %d means %r and %r", enum, number, texts.get(number), name)
        texts[number] = name

    def arguments(self, data):
        """Of one event."""
        found = {}
        for number, _, value in fields(data):
            name, enum = self.members.get(number, ("?", ""))
            if enum and value not in self.texts.get(enum, {}):
                self.bad("%s %d was never described", enum, value)
                continue
            if name == "site":
                value = self.facts[value] or {}
            elif enum:
                value = self.texts[enum][value]
            elif value >> 63:
                value -= 1 << 64
            found[name] = value
        return found
