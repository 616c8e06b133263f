# SPDX-License-Identifier: Apache-2.0
"""
Checks a recording as a Perfetto trace, independently of Brick's own reader: a wire-format decoder
of its own (libwire.py), the rules that Perfetto's importer relies on, and what it makes of a trace: arrows that
lead forward, tracks that stay apart. check(path) returns a list of sentences, empty when all is
well; load(path) the slices found.
"""
import struct
import zlib

from libsites import KERNEL_FACTS, SITE, Sites, facts_of
from libwire import every, fields, one, packets

MOST_COMPRESSED = 512 * 1024
LANE_CLOCK = 64
STACK_SEQUENCE = 1 << 21
CLEARED, NEEDS_STATE = 1, 2
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
NO_MERGE = 2
OF_STEPS = {"cycles": 2, "instructions": 2, "cache-misses": 2, "task-clock": 1, "page-faults": 2,
            "context-switches": 2, "counter-reading": 1}  # count, ns
UNITS = OF_STEPS | dict.fromkeys(("PromptTokensRepeated", "TokensRefused", "TokensAborted", "DraftTokensChecked", "DraftTokensRefuted"), 2) | {
    "BytesFromDisk": 3, "PageFaults": 2, "KernelTime": 1, "OtherThreadsTime": 1}


class Sequence:
    def __init__(self):
        self.cleared = False
        self.clock = None
        self.track = 0
        self.now = None
        self.names, self.categories, self.annotations, self.values, self.gpu_names = \
            {}, {}, {}, {}, {}
        self.kernels = {}  # by the value that stands for one
        self.contexts, self.compute_kernels, self.compute_args = {}, {}, {}  # of views of GPUs
        self.stack_tables = {6: {}, 7: {}, 16: {}, 17: {}, 19: {}}


class Slice:
    __slots__ = ("track", "name", "category", "begin", "end", "depth", "arguments", "holds")

    def __init__(self, track, name, category, begin, depth, arguments):
        self.track, self.name, self.category = track, name, category
        self.begin, self.end, self.depth, self.arguments = begin, None, depth, arguments
        self.holds = "kernel" not in arguments  # another slice, or no command from its begin on


class Event:
    def __init__(self, track):
        self.track, self.kind, self.name, self.category, self.counter = track, 0, None, None, None
        self.arguments, self.flows = {}, []


class Checker:
    def __init__(self):
        self.problems = []
        self.sequences = {}
        self.sites = Sites(self.bad)
        self.tracks = {}      # uuid: descriptor
        self.used_tracks = set()
        self.parents = set()
        self.stacks = {}
        self.slices = []
        self.instants, self.counters = [], []
        self.stages = []      # (begin, length, name, queue)
        self.stage_numbers, self.launched, self.waited = set(), [], []  # events of views of GPUs
        self.taken = []       # stacks: (ns, process, thread, frames, each a path and an address, outermost first)
        self.functions = {}   # names by path and address
        self.flows = {}       # id: [(ns, whether it ends there, slice, where arrows see it)]
        self.seen = set()     # what a recording must have: numbers of packets' fields
        self.run_ns, self.events = None, 0  # of the run's last event; how many there are
        self.step_begins = set()
        self.boot_offsets = set()  # BOOTTIME less MONOTONIC, as snapshots have it

    def bad(self, text, *args):
        if len(self.problems) < 50:
            self.problems.append(text % args)

    def text(self, data):
        try:
            return bytes(data).decode("utf-8")
        except UnicodeDecodeError:
            self.bad("text is not UTF-8: %r", data)
            return ""

    def intern(self, table, entry, what):
        iid, text = one(entry, 1, 0), self.text(one(entry, 2, b""))
        if not iid:
            self.bad("%s %r interned as 0", what, text)
        if table.get(iid, text) != text:
            self.bad("%s %d means %r and %r", what, iid, table[iid], text)
        table[iid] = text

    def look_up(self, table, iid, what):
        if iid not in table:
            self.bad("%s %d was never interned", what, iid)
        return table.get(iid, "?")

    def stack_tables(self, s, data):
        """Mappings, frames and stacks name only what stands before them."""
        for number, _, entry in fields(data):
            iid, new = one(entry, 1, 0), None
            if number in (16, 17):
                new = bytes(one(entry, 2, b""))
            elif number == 19:
                new = self.look_up(s.stack_tables[17], one(entry, 7), "path")
                if one(entry, 2) is not None:
                    self.look_up(s.stack_tables[16], one(entry, 2), "build id")
            elif number == 6:
                new = (self.look_up(s.stack_tables[19], one(entry, 3), "mapping"), one(entry, 4, 0))
            elif number == 7:
                new = [self.look_up(s.stack_tables[6], frame, "frame") for frame in every(entry, 2)]
            else:
                self.bad("field %d among what is interned of stacks", number)
                continue
            if not iid or iid in s.stack_tables[number]:
                self.bad("id %d of table %d is told twice, or is none", iid, number)
            s.stack_tables[number][iid] = new

    def stack_packet(self, s, found):
        if 12 in found:
            self.stack_tables(s, found[12])
        if 66 in found:
            sample, ns = found[66], found.get(8, 0)
            if s.now is not None and ns < s.now:
                self.bad("a stack is of before the one before it")
            s.now = ns
            stack = one(sample, 4)
            frames = [] if stack is None else self.look_up(s.stack_tables[7], stack, "stack")
            self.taken.append((ns, one(sample, 2), one(sample, 3), frames))
        if 61 in found:
            path = bytes(one(found[61], 1, b""))
            for symbol in every(found[61], 3):
                name = bytes(one(one(symbol, 2), 1, b"")).decode(errors="replace")
                self.functions[path, one(symbol, 1, 0)] = name

    def interned(self, s, data):
        for number, _, entry in fields(data):
            if number == 23:
                s.contexts[one(entry, 1)] = one(entry, 2)
                continue
            tables = {1000: (s.compute_kernels, "compute kernel"), 1001: (s.compute_args, "argument of one"),
                      1: (s.categories, "category"), 2: (s.names, "event name"),
                      3: (s.annotations, "annotation name"), 29: (s.values, "string value"),
                      24: (s.gpu_names, "name of a queue or stage")}
            self.intern(tables[number][0], entry, tables[number][1])
            if number == 29 and (kernel := facts_of(entry, KERNEL_FACTS)):
                s.kernels[one(entry, 1)] = kernel

    def snapshot(self, s, data):
        clocks = {}
        for clock in every(data, 1):
            clocks[one(clock, 1)] = clock
        if 6 not in clocks or 3 not in clocks:
            self.bad("a snapshot without BOOTTIME and MONOTONIC")
        else:
            self.boot_offsets.add(one(clocks[6], 2) - one(clocks[3], 2))
        if LANE_CLOCK not in clocks:
            return
        clock = clocks[LANE_CLOCK]
        if one(clock, 3) != 1 or one(clock, 4, 1) != 1:
            self.bad("the lane's clock is not incremental, or not in ns")
        if one(clock, 2) != one(clocks[3], 2):
            self.bad("the lane's clock does not start at MONOTONIC")
        if s.now is not None and one(clock, 2) < s.now:
            self.bad("a snapshot sets a sequence's clock back")
        s.now = one(clock, 2)

    def descriptor(self, data):
        if not (uuid := one(data, 1, 0)):
            self.bad("a track with uuid 0")
        thread, before = one(data, 4), self.tracks.get(uuid)
        if before not in (None, data) and (thread is None or one(before, 4) is None or
                                   one(thread, 2) != one(one(before, 4), 2)):
            self.bad("track %d is described twice", uuid)
        self.tracks[uuid] = data
        name = bytes(one(data, 2, b"")).decode(errors="replace")
        process, counter = one(data, 3), one(data, 8)
        if process is not None and not one(process, 7):
            self.bad("a process without its start")
        if counter is not None and one(counter, 3) != UNITS.get(name):
            self.bad("counter %r is of unit %r", name, one(counter, 3))
        if name and counter is None and one(data, 5) is not None and one(data, 15) != NO_MERGE:
            self.bad("queues named %r would be one", name)
        parent = one(data, 5)
        if parent is not None:
            self.parents.add(parent)
        if one(data, 2) is not None:
            self.text(one(data, 2))
        if one(data, 3) is not None and not one(one(data, 3), 1, 0):
            self.bad("a process track without pid")
        if one(data, 4) is not None and not one(one(data, 4), 2, 0):
            self.bad("a thread track without tid")

    def annotation(self, s, data, named=True):
        name, value, kernel = None, None, None
        for number, wire, v in fields(data):
            if number == 1:
                name = self.look_up(s.annotations, v, "annotation name")
            elif number == 10:
                name = self.text(v)
            elif number == 17:
                value, kernel = self.look_up(s.values, v, "string value"), v
            elif number == 6:
                value = self.text(v)
            elif number == 4:
                value = v - (1 << 64) if v >> 63 else v
            elif number == 11:
                value = value or {}
                key, inner = self.annotation(s, v)
                value[key] = inner
            elif number == 12:
                value = value or []
                value.append(self.annotation(s, v, False)[1])
            else:
                value = v
        if named and not name:
            self.bad("an annotation without a name")
        if name == "kernel":
            value = s.kernels.get(kernel) or self.bad("kernel %r has no facts", value)
        return name, value

    def event(self, s, data, ns):
        e = self.event_fields(s, data)
        self.events += 1
        if not e.track:
            self.bad("an event on track 0")
        self.used_tracks.add(e.track)
        stack = self.stacks.setdefault(e.track, [])
        done = None
        if e.kind == BEGIN:
            self.slice_begins(e, ns, stack)
        elif e.kind == END:
            done = self.slice_ends(e, ns, stack)
        elif e.kind == INSTANT:
            self.instant(e, ns)
        elif e.kind == COUNTER:
            self.counter(e, ns)
        else:
            self.bad("an event of type %d", e.kind)
        for flow, ends in e.flows:
            where = done if e.kind == END else stack[-1] if stack else None
            self.flow(flow, ns, ends, where, done.begin if done else ns)

    def event_fields(self, s, data):
        e = Event(s.track)
        for number, wire, v in fields(data):
            if number == 9:
                e.kind = v
            elif number == 10:
                e.name = self.look_up(s.names, v, "event name")
            elif number == 23:
                e.name = self.text(v)
            elif number == 3:
                e.category = self.look_up(s.categories, v, "category")
            elif number == 22:
                e.category = self.text(v)
            elif number == 11:
                e.track = v
            elif number == 44:
                e.counter = struct.unpack("<d", struct.pack("<Q", v))[0]
            elif number == 4:
                key, value = self.annotation(s, v)
                e.arguments[key] = value
            elif number == SITE:
                e.arguments.update(self.sites.arguments(v))
            elif number == 3000:
                self.launched += every(v, 1)
                self.waited += every(v, 2)
            elif number in (47, 48):
                if wire != 1 or not v:
                    self.bad("flow %r of wire type %d", v, wire)
                e.flows.append((v, number == 48))
            else:
                self.bad("field %d in a track event", number)
        return e

    def slice_begins(self, e, ns, stack):
        if not e.name or not e.category:
            self.bad("a slice without name or category")
        if stack:
            stack[-1].holds = True
            if e.category == "Wait" and e.name == stack[-1].name:
                self.bad("a wait %r is there twice", e.name)
        stack.append(Slice(e.track, e.name, e.category, ns, len(stack), e.arguments))
        self.slices.append(stack[-1])
        if e.name in ("Prefill", "Decode"):
            self.step_begins.add(ns)
        site = e.arguments.get("site", {})
        if any(e.arguments.get(key) != site[key] for key in ("op", "tensor") if key in site) or \
                e.arguments.get("layer", -1) != site.get("layer", e.arguments.get("layer", -1)):
            self.bad("%r has no arguments of its site's %r", e.name, site)

    def slice_ends(self, e, ns, stack):
        if not stack:
            self.bad("an end without a begin on track %d", e.track)
            return None
        done = stack.pop()
        done.end = ns
        done.arguments.update(e.arguments)
        return done

    def instant(self, e, ns):
        self.instants.append((e.track, e.name, ns, e.arguments))
        if e.name == "Thread" and one(one(self.tracks[e.track], 4, b""), 2) != e.arguments["tid"]:
            self.bad("thread %r is on the track of another", e.arguments["tid"])
        if e.name.startswith("brick.") and self.run_ns is not None and ns <= self.run_ns:
            self.bad("two events of the run at one time")
        if e.name.startswith("brick."):
            self.run_ns = ns

    def counter(self, e, ns):
        if e.counter is None:
            self.bad("a counter event without value")
        self.counters.append((e.track, ns, e.counter))
        if bytes(one(self.tracks[e.track], 2, b"")).decode() in OF_STEPS and ns not in self.step_begins:
            self.bad("a step's counter is not at the begin of one")

    def flow(self, flow, ns, ends, where, begin):
        self.flows.setdefault(flow, []).append((ns, ends, where, begin))

    def check_flows(self):
        """A flow leads forward, and is ended once, last. (Its source may have been dropped.)"""
        for flow, events in self.flows.items():
            ending = [ns for ns, ends, _, _ in events if ends]
            if len(ending) > 1:
                self.bad("flow %d ends %d times", flow, len(ending))
            if ending and any(ns > ending[0] for ns, ends, _, _ in events if not ends):
                self.bad("flow %d goes on after its end", flow)
            sources = sorted(((ns, where) for ns, ends, where, _ in events if not ends and where),
                             key=lambda source: source[0])
            if len(sources) > 1 and "kernel" in sources[0][1].arguments:
                self.bad("flow %d: a command begins before its launch", flow)
            if ending and any("kernel" in s.arguments and (s.end or 0) > ending[0] for _, s in sources):
                self.bad("flow %d: a command ends behind its wait", flow)
            begins = [begin for _, _, _, begin in sorted(events, key=lambda event: event[0])]
            if begins != sorted(begins):
                self.bad("flow %d leads back", flow)

    def packet(self, data):
        found = {}
        for number, _, value in fields(data):
            if number in found:
                self.bad("field %d twice in a packet", number)
            found[number] = value
        sid = found.get(10, 0)
        if not sid:
            self.bad("a packet without a sequence")
        s = self.sequences.setdefault(sid, Sequence())
        self.seen.update(found)
        flags = found.get(13, 0)
        if flags & CLEARED:
            s.__init__()
            s.cleared = True
        if not s.cleared:
            self.bad("sequence %d does not begin with its state cleared", sid)
        if 59 in found:
            s.clock = one(found[59], 58)
            s.track = one(one(found[59], 11, b""), 11, 0)
        elif not flags & NEEDS_STATE and 11 not in found:  # events need it without saying so
            self.bad("a packet of sequence %d does not say that it needs state", sid)
        if sid == STACK_SEQUENCE:
            self.stack_packet(s, found)
            return
        if 12 in found:
            self.interned(s, found[12])
        if 72 in found:
            self.sites.describe(found[72])
        if 6 in found:
            self.snapshot(s, found[6])
        if 60 in found:
            self.descriptor(found[60])
        if 11 in found:
            self.timed(s, sid, found)
        elif 53 in found:
            self.stage(s, found)
        elif 8 in found and 2 not in found:
            self.bad("a timestamp without an event")
        if 2 in found and not all(every(p, 3) for p in every(found[2], 1)):
            self.bad("a process without its command")

    def timed(self, s, sid, found):
        if 8 not in found:
            self.bad("an event without a timestamp")
            return
        ns = found[8]
        if found.get(58) == 3 and s.clock == LANE_CLOCK:
            self.event(s, found[11], ns)
            return
        if s.clock == LANE_CLOCK:
            if s.now is None:
                self.bad("sequence %d has events before its clock is set", sid)
                return
            s.now += ns
            ns = s.now
        elif s.clock != 3:
            self.bad("sequence %d is on clock %r", sid, s.clock)
        elif s.now is not None and ns < s.now:
            self.bad("sequence %d runs back", sid)
        s.now = ns
        self.event(s, found[11], ns)

    def stage(self, s, found):
        stack, stage = self.stacks.get(s.track), found[53]  # the command once more, for views of GPUs
        if found.get(8) != 0 or not stack or stack[-1].begin != s.now:
            self.bad("a render stage stands behind no begin")
        name = self.look_up(s.gpu_names, one(stage, 14), "stage")
        queue = self.look_up(s.gpu_names, one(stage, 13), "queue")
        if stack and name != stack[-1].name:
            self.bad("stage %r of slice %r", name, stack[-1].name)
        kernel = one(stage, 19)
        if kernel is not None and self.look_up(s.compute_kernels, kernel, "compute kernel") != name:
            self.bad("stage %r has another's kernel", name)
        if not s.contexts.get(one(stage, 5)):
            self.bad("stage %r has no context with a pid", name)
        if not one(stage, 1) or one(stage, 1) in self.stage_numbers:
            self.bad("stage %r has the number of another", name)
        self.stage_numbers.add(one(stage, 1))
        self.stages.append((s.now, one(stage, 2), name, queue))

    def check_off_cpu(self):
        since = {track: ns for track, name, ns, _ in self.instants if name == "Thread"}
        for s in self.slices:
            parent = one(self.tracks.get(s.track, b""), 5)
            if s.name in ("Blocked", "Preempted") and s.end and s.end <= since.get(parent, 0):
                self.bad("%r of a thread before it had its lane", s.name)

    def finish(self, allow_open):
        self.check_flows()
        self.check_off_cpu()
        if len(self.launched) != len(set(self.launched)):
            self.bad("two calls launched one render stage")
        for number, what in ((89, "uuid"), (45, "machine"), (2, "processes")):
            if number not in self.seen:
                self.bad("the trace does not say its %s", what)
        for uuid in self.used_tracks | self.parents:
            if uuid not in self.tracks:
                self.bad("track %d is used and never described", uuid)
        staged = {(begin, name) for begin, _, name, _ in self.stages}
        for s in self.slices:
            on_host = bytes(one(self.tracks.get(s.track, b""), 2, b"")).startswith(b"host: ")
            if on_host == ((s.begin, s.name) in staged) and s.end and not s.holds:
                self.bad("command %r has no render stage, or one of the host's has", s.name)
        for track, stack in self.stacks.items():
            if stack and not allow_open:
                self.bad("%d slices of track %d never end", len(stack), track)


def load(path, allow_open=True):
    checker = Checker()
    with open(path, "rb") as f:
        data = f.read()
    try:
        for packet, compressed in packets(data):
            if compressed >= MOST_COMPRESSED:
                checker.bad("a compressed packet of %d bytes", compressed)
            checker.packet(packet)
    except (ValueError, IndexError, zlib.error, struct.error) as error:
        checker.bad("malformed: %s", error)
    checker.finish(allow_open)
    return checker


def check(path, allow_open=True):
    return load(path, allow_open).problems
