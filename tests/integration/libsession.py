# SPDX-License-Identifier: Apache-2.0
"""Reads what program-session_dump prints of a session, and rebuilds the nesting of its records."""
import collections
import glob
import os
import subprocess

SAMPLE, OPEN, CLOSE, WORK, WAIT, THREAD = 1, 2, 3, 4, 5, 6
LAUNCH, TIMES, AFTER, FLOW = 11, 12, 13, 14
SITE_UNKNOWN, SITE_PART = 8, 16

Site = collections.namedtuple("Site", "brick layer flags elements bytes flops operation label")
Lane = collections.namedtuple(
    "Lane", "tid owners state head dropped unmatched clamped too_deep hook_calls hook_timed "
    "hook_ticks depth name")
Record = collections.namedtuple(
    "Record", "kind begin ticks wait source brick layer flags payload site inner")


class Node:
    """One execution: a brick with what is nested in it. Times in ticks."""

    def __init__(self, brick, layer, begin, tokens=0):
        self.brick, self.layer, self.begin, self.tokens = brick, layer, begin, tokens
        self.end = self.wait = self.inner = self.site = self.source = 0
        self.children = []

    @property
    def length(self):
        return self.end - self.begin

    def own(self):
        return self.length - sum(c.length + c.wait for c in self.children)

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()


class Session:
    def __init__(self, text):
        self.notes, self.bricks, self.categories = [], {}, {}
        self.sites, self.lanes, self.records = {}, {}, collections.defaultdict(list)
        self.stats = collections.defaultdict(dict)
        self.queues, self.kernels = {}, {}
        for line in text.splitlines():
            kind, *rest = line.split("\t")
            getattr(self, "read_" + kind)(rest)

    def read_H(self, w):
        self.pid, self.state, self.frequency, self.table_full = (int(x) for x in w[:4])

    def read_N(self, w):
        key, _, value = "\t".join(w).partition("=")
        self.notes.append((key, value))

    def read_B(self, w):
        self.bricks[int(w[0])] = w[1]
        self.categories[w[1]] = w[2]

    def read_S(self, w):
        self.sites[int(w[0])] = Site(*(int(x) for x in w[1:7]), w[7], w[8])

    def read_K(self, w):
        self.kernels[int(w[0])] = w[5]

    def read_Q(self, w):
        self.queues[int(w[0])] = w[1]

    def read_L(self, w):
        self.lanes[int(w[0])] = Lane(*(int(x) for x in w[1:13]), w[13])

    def read_T(self, w):
        self.stats[int(w[0])][self.bricks[int(w[1])]] = [int(x) for x in w[2:]]

    def read_R(self, w):
        self.records[int(w[0])].append(Record(*(int(x) for x in w[1:])))

    def note(self, key):
        return [value for k, value in self.notes if k == key]

    def tree(self, lane):
        """Top-level executions of a lane in order. Raises when records do not nest."""
        root = Node("", -1, 0)
        stack = [root]
        last = 0
        for r in self.records[lane]:
            if r.kind not in (SAMPLE, OPEN, CLOSE):
                continue
            name = self.bricks[r.brick]
            if r.kind == CLOSE:
                node = stack.pop()
                assert node.brick == name, f"{node.brick} closed as {name}"
                node.end = r.begin
                continue
            assert r.begin >= last, f"{name} begins before the record before it"
            last = r.begin
            node = Node(name, r.layer, r.begin, r.payload if r.kind == OPEN else 0)
            node.source = r.source
            stack[-1].children.append(node)
            if r.kind == OPEN:
                stack.append(node)
            else:
                node.end, node.wait, node.inner = r.begin + r.ticks, r.wait, r.inner
                node.site = r.site
        return root.children


def load(build, directory):
    """All sessions in a directory."""
    dump = os.path.join(build, "bin", "program-session_dump")
    return [Session(subprocess.run([dump, path], capture_output=True, text=True, check=True).stdout)
            for path in sorted(glob.glob(os.path.join(directory, "*.session")))]
