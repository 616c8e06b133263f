# SPDX-License-Identifier: Apache-2.0
"""What `brick report` says, of this process while it runs and of recordings, by libbrick-report."""
import ctypes
import json
import os

from brick._library import ReportOptions, Summary, check, libbrick_report, sized
from brick.probe import as_dictionary

_FORMATS = {"text": 0, "json": 1, "csv": 2}
_BYS = ("brick", "category", "layer", "phase", "step", "thread", "kernel", "queue")


def _libc():
    libc = ctypes.CDLL(None)
    libc.open_memstream.restype = ctypes.c_void_p
    libc.fclose.argtypes = libc.free.argtypes = [ctypes.c_void_p]
    return libc


def _text_from(write, about):
    """What a function writes to a stream (FILE *)."""
    libc = _libc()
    held, size = ctypes.c_void_p(), ctypes.c_size_t()
    stream = libc.open_memstream(ctypes.byref(held), ctypes.byref(size))
    if not stream:
        raise MemoryError
    code = write(stream)
    libc.fclose(stream)  # gives the memory and its length
    text = ctypes.string_at(held, size.value) if held else b""
    libc.free(held)
    check(code, about)
    return text.decode(errors="replace")


def report(by="brick", format="text", columns=None, rows=0, file=None):  # pylint: disable=redefined-builtin
    """The report of this process's session so far, or of a recording: as text, CSV or, for "json", as
    what `brick report --json` has. `by` says what its rows are, `columns` which columns they have."""
    if by not in _BYS or format not in _FORMATS:
        raise ValueError(f"a report is by {', '.join(_BYS)}, and in {', '.join(_FORMATS)}")
    options = sized(ReportOptions)
    options.by, options.rows = _BYS.index(by), rows
    options.columns = None if columns is None else columns.encode()
    options.file = None if file is None else os.fsencode(file)
    library = libbrick_report()
    text = _text_from(lambda stream: library.brick_report_write(stream, _FORMATS[format], ctypes.byref(options)),
                      file or "report")
    return json.loads(text) if format == "json" else text


def summary():
    """This process's session in numbers, as a dictionary. Negative rates and shares are not known."""
    out = sized(Summary)
    check(libbrick_report().brick_summary(ctypes.byref(out)), "summary")
    return as_dictionary(out)
