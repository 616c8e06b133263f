# SPDX-License-Identifier: Apache-2.0
"""The extension of track events that tells what was executed, read as the trace itself describes it."""
import json

from libwire import every, fields, one

SITE = 1990


def text(data):
    return bytes(data).decode("utf-8", "replace")


class Sites:
    def __init__(self, bad):
        self.bad = bad
        self.members, self.texts, self.files = {}, {}, set()

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
            if enum:
                value = self.texts[enum][value]
            elif value >> 63:
                value -= 1 << 64
            found[name] = json.loads(value) if name == "site" else value
        return found
