# SPDX-License-Identifier: Apache-2.0
"""Recordings as NumPy arrays and pandas frames. Arrays of samples are views of what the reader
holds: nothing is copied, and they keep the recording open."""
import ctypes
import html
import os
import shutil
import subprocess
import tempfile
from collections import namedtuple

from brick._library import (BrickError, RecordedBrick, RecordedLane, RecordedSample, RecordedSite,
                            RecordedStep, check, libbrick_report, sized)
from brick.results import report

Brick = namedtuple("Brick", "name category")
Site = namedtuple("Site", "brick layer elements bytes flops operation label")
Lane = namedtuple("Lane", "pid tid kind name samples")
Step = namedtuple("Step", "lane phase begin_ns end_ns tokens")
_BRICKS, _SITES, _LANES, _STEPS = range(4)
_KINDS = ("thread", "queue")
_PHASES = ("prefill", "decode", "mixed", "warm-up", "other")
_HAS = {"elements": 1, "bytes": 2, "flops": 4}  # enum brick_site_flags


def _text(value):
    return None if value is None else value.decode(errors="replace")


def _name(names, number):
    return names[number] if number < len(names) else str(number)


class _Open:
    """The reader's own memory. Arrays hold it, so that it lives as long as they do."""

    def __init__(self, path):
        self._library = libbrick_report()
        self.handle = ctypes.c_void_p()
        why = ctypes.create_string_buffer(512)
        code = self._library.brick_recording_open(ctypes.byref(self.handle), os.fsencode(path), why, len(why))
        if code < 0:
            raise BrickError(code, why.value.decode(errors="replace"))

    def __del__(self):
        if getattr(self, "handle", None):
            self._library.brick_recording_close(self.handle)

    def each(self, part, structure, get):
        """All of one kind."""
        for i in range(self._library.brick_recording_count(self.handle, part)):
            out = sized(structure)
            check(getattr(self._library, get)(self.handle, i, ctypes.byref(out)), get)
            yield out


class Recording:
    """A recording: `bricks`, `sites`, `lanes` (with their samples) and `steps`, in lists."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self._open = _Open(path)
        self.bricks = [Brick(_text(b.name), _text(b.category))
                       for b in self._open.each(_BRICKS, RecordedBrick, "brick_recording_brick")]
        self.sites = [self._site(s) for s in self._open.each(_SITES, RecordedSite, "brick_recording_site")]
        self.lanes = [Lane(l.pid, l.tid, _name(_KINDS, l.kind), _text(l.name), self._samples(l))
                      for l in self._open.each(_LANES, RecordedLane, "brick_recording_lane")]
        self.steps = [Step(s.lane, _name(_PHASES, s.phase), s.begin_ns, s.end_ns, s.tokens)
                      for s in self._open.each(_STEPS, RecordedStep, "brick_recording_step")]

    def _site(self, site):
        counts = [getattr(site, name) if site.flags & flag else None for name, flag in _HAS.items()]
        return Site(self.bricks[site.brick].name, site.layer, *counts, _text(site.operation),
                    _text(site.label))

    def _samples(self, lane):
        import numpy  # pylint: disable=import-outside-toplevel
        if not lane.sample_count:
            return numpy.empty(0, dtype=numpy.dtype(RecordedSample))
        held = (RecordedSample * lane.sample_count).from_address(lane.samples)
        held.recording = self._open
        samples = numpy.ctypeslib.as_array(held)
        samples.flags.writeable = False
        return samples

    def frame(self):
        """All samples as a pandas frame: a row each, with brick, layer, lane and times."""
        import numpy  # pylint: disable=import-outside-toplevel
        import pandas  # pylint: disable=import-outside-toplevel
        names = numpy.array([site.brick for site in self.sites], dtype=object)
        layers = numpy.array([site.layer for site in self.sites], dtype=numpy.int32)
        frames = []
        for i, lane in enumerate(self.lanes):
            samples = lane.samples
            frames.append(pandas.DataFrame({
                "lane": i, "brick": names[samples["site"]], "layer": layers[samples["site"]],
                "begin_ns": samples["begin_ns"], "ns": samples["end_ns"] - samples["begin_ns"],
                "wait_ns": samples["wait_ns"], "depth": samples["depth"]}))
        return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()

    def report(self):
        """What `brick report --json` says of it."""
        return report(format="json", file=self.path)

    def _repr_html_(self):
        """The page of `brick report --html`, for notebooks; the text of the report without the command."""
        if not shutil.which(os.environ.get("BRICK", "brick")):
            return f"<pre>{html.escape(report(file=self.path))}</pre>"
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "page.html")
            _brick("report", "--html", page, self.path)
            with open(page, encoding="utf-8") as file:
                text = file.read()
        quoted = text.replace("&", "&amp;").replace('"', "&quot;")
        return f'<iframe srcdoc="{quoted}" style="width:100%;height:800px;border:0"></iframe>'


def read(path):
    """A recording as arrays: Recording."""
    return Recording(path)


def _brick(*arguments):
    """What a command prints; its error is ours."""
    command = os.environ.get("BRICK", "brick")
    try:
        done = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise BrickError(-error.errno, f"{command}: {error.strerror}") from None
    if done.returncode:
        raise BrickError(-done.returncode, done.stderr.strip())
    return done.stdout
