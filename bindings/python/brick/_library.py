# SPDX-License-Identifier: Apache-2.0
"""The libraries behind the package, and those of their functions that are used, as their headers
declare them. We take what the process has loaded already, what lies in BRICK_LIBRARY_PATH (a folder),
what the package carries, or what the linker finds, in this order."""
import ctypes
import errno
import os
from ctypes import (POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_size_t, c_uint8,
                    c_uint32, c_uint64, c_void_p)


class BrickError(Exception):
    """What the library refused. `code` is a negative errno, or one of Brick's own."""

    def __init__(self, code, what):
        super().__init__(what)
        self.code = code


_OWN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")  # of a wheel


def _load(name):
    folder = os.environ.get("BRICK_LIBRARY_PATH", "")
    own = os.path.join(_OWN, name)
    path = os.path.join(folder, name) if folder or not os.path.exists(own) else own
    for place, mode in ((name, os.RTLD_NOLOAD), (path, 0)):
        try:
            # the names must be global: libbrick-report asks for the functions of libbrick
            return ctypes.CDLL(place, mode=ctypes.RTLD_GLOBAL | mode)
        except OSError as error:
            why = error
    raise ImportError(f"brick needs {name}: {why}. Install libbrick, or set "
                      "BRICK_LIBRARY_PATH to its folder.") from None


def attacher(name):
    """The library that records what another one does, as `brick record` would preload it. Its functions are called with
    the GIL."""
    file = f"libbrick-{name}.so"
    folders = [os.environ.get("BRICK_LIBRARY_PATH", ""), _OWN]
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        folders += [os.path.dirname(line.split(maxsplit=5)[5].strip()) for line in maps if "/libbrick.so" in line]
    paths = [path for folder in folders if folder
             for path in (os.path.join(folder, file), os.path.join(folder, "brick", file)) if os.path.exists(path)]
    try:
        return ctypes.PyDLL(file, mode=os.RTLD_NOLOAD)
    except OSError:
        if not paths:
            raise BrickError(-errno.ENOENT, f"{file}: it is not beside libbrick; this build of Brick has none") from None
    return ctypes.PyDLL(paths[0])


def sized(structure):
    """A structure that begins with its size, empty but for that."""
    return structure(size=ctypes.sizeof(structure))


class SessionOptions(Structure):
    """struct brick_session_options"""
    _fields_ = [("size", c_size_t), ("output", c_char_p), ("directory", c_char_p), ("mode", c_uint32),
                ("ring_records", c_uint32), ("interval_ms", c_uint32), ("off_cpu", c_uint32), ("slow", c_char_p),
                ("slow_bytes", c_uint64), ("slow_per_hour", c_uint32), ("slow_only", c_uint32)]


class StepSequence(Structure):
    """struct brick_step_sequence"""
    _fields_ = [("size", c_size_t), *[(name, c_uint32) for name in (
        "model", "sequence", "prompt_tokens", "output_tokens", "results")], ("position", c_int32)]


class Request(Structure):
    """struct brick_request"""
    _fields_ = [("size", c_size_t), ("model", c_uint32), ("sequence", c_uint32), ("number", c_uint64),
                ("arrived", c_uint64)]


class Stats(Structure):
    """struct brick_stats"""
    _fields_ = [("size", c_size_t), *[(name, c_uint64) for name in (
        "count", "total_ns", "self_ns", "wait_ns", "min_ns", "max_ns", "p50_ns", "p95_ns", "p99_ns")],
        ("mean_ns", c_double), ("stddev_ns", c_double),
        *[(name, c_uint64) for name in ("elements", "bytes", "bytes_out", "flops")],
        ("share", c_double)]


class ReportOptions(Structure):
    """struct brick_report_options"""
    _fields_ = [("size", c_size_t), ("by", c_uint32), ("rows", c_uint32), ("file", c_char_p),
                ("columns", c_char_p)]


class Summary(Structure):
    """struct brick_summary"""
    _fields_ = [("size", c_size_t), *[(name, c_uint64) for name in (
        "wall_ns", "first_token_ns", "prefill_steps", "prefill_tokens", "decode_steps", "decode_tokens")],
        ("prefill_tokens_per_s", c_double), ("decode_tokens_per_s", c_double),
        *[(name, c_uint64) for name in ("executions", "elements", "bytes", "flops")],
        *[(name, c_double) for name in ("elements_per_s", "coverage", "cost_low", "cost_high")],
        *[(name, c_uint64) for name in ("device_ns", "lost", "open", "bricks_ns")],
        ("elements_per_brick_s", c_double)]


class RecordedBrick(Structure):
    """struct brick_recorded_brick"""
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("category", c_char_p)]


class RecordedSite(Structure):
    """struct brick_recorded_site"""
    _fields_ = [("size", c_size_t), ("brick", c_uint32), ("layer", c_int32), ("flags", c_uint32),
                ("reserved", c_uint32), ("elements", c_uint64), ("bytes", c_uint64),
                ("flops", c_uint64), ("operation", c_char_p), ("label", c_char_p)]


class RecordedSample(Structure):
    """struct brick_recorded_sample"""
    _fields_ = [("begin_ns", c_uint64), ("end_ns", c_uint64), ("site", c_uint32),
                ("wait_ns", c_uint32), ("inner_ns", c_uint32), ("depth", c_uint8),
                ("source", c_uint8), ("flags", c_uint8), ("reserved", c_uint8)]


class RecordedLane(Structure):
    """struct brick_recorded_lane"""
    _fields_ = [("size", c_size_t), ("pid", c_uint32), ("kind", c_uint32), ("tid", c_uint64),
                ("name", c_char_p), ("samples", c_void_p), ("sample_count", c_size_t)]


class RecordedStep(Structure):
    """struct brick_recorded_step"""
    _fields_ = [("size", c_size_t), ("lane", c_uint32), ("phase", c_uint32), ("begin_ns", c_uint64),
                ("end_ns", c_uint64), ("tokens", c_uint64)]


def _declare(library, functions):
    for name, (result, *arguments) in functions.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments


libbrick = _load("libbrick.so.0")
_declare(libbrick, {
    "brick__begin": (c_uint32, c_uint32),
    "brick__begin_layer": (c_uint32, c_uint32, c_int),
    "brick__end": (None, c_uint32),
    "brick__end_work": (None, c_uint32, c_uint64, c_uint64, c_uint64),
    "brick_category_register": (c_int, c_char_p),
    "brick_category_stats_get": (c_int, c_uint32, POINTER(Stats)),
    "brick_counter": (None, c_uint32, c_double),
    "brick_device_stats_get": (c_int, c_uint32, POINTER(Stats)),
    "brick_instant": (None, c_uint32),
    "brick_layer_set": (c_int, c_int),
    "brick_lookup": (c_int, c_char_p),
    "brick_note": (c_int, c_char_p, c_char_p, c_char_p),
    "brick_pause": (None,),
    "brick_register": (c_int, c_char_p, c_uint32),
    "brick_reset": (c_int,),
    "brick_request_begin": (c_int, POINTER(Request)),
    "brick_request_end": (c_int, c_uint32, c_uint32),
    "brick_resume": (None,),
    "brick_session_start": (c_int, POINTER(SessionOptions)),
    "brick_session_stop": (c_int,),
    "brick_stats_get": (c_int, c_uint32, POINTER(Stats)),
    "brick_step_begin": (c_uint32, c_int, c_uint64),
    "brick_step_begin_mixed": (c_uint32, c_uint32, c_uint32),
    "brick_step_sequence": (c_int, POINTER(StepSequence)),
    "brick_strerror": (c_char_p, c_int),
    "brick_thread_name": (None, c_char_p),
    "brick_version": (c_char_p,),
})
_report = None


def libbrick_report():
    """The library with the readers, which spans do not need."""
    global _report  # pylint: disable=global-statement
    if _report is None:
        for name in sorted(os.listdir(_OWN)) if os.path.isdir(_OWN) else []:
            if not name.startswith("libbrick"):
                ctypes.CDLL(os.path.join(_OWN, name))  # what libbrick-report stands on
        _load("libbrick-graph.so.0")
        report = _load("libbrick-report.so.0")
        _declare(report, {
            "brick_report_write": (c_int, c_void_p, c_int, POINTER(ReportOptions)),
            "brick_summary": (c_int, POINTER(Summary)),
            "brick_recording_open": (c_int, POINTER(c_void_p), c_char_p, c_char_p, c_size_t),
            "brick_recording_close": (None, c_void_p),
            "brick_recording_count": (c_size_t, c_void_p, c_int),
            "brick_recording_brick": (c_int, c_void_p, c_size_t, POINTER(RecordedBrick)),
            "brick_recording_site": (c_int, c_void_p, c_size_t, POINTER(RecordedSite)),
            "brick_recording_lane": (c_int, c_void_p, c_size_t, POINTER(RecordedLane)),
            "brick_recording_step": (c_int, c_void_p, c_size_t, POINTER(RecordedStep)),
        })
        _report = report
    return _report


def check(code, about=""):
    """The code, or its error as an exception."""
    if code < 0:
        text = libbrick.brick_strerror(code).decode()
        raise BrickError(code, f"{about}: {text}" if about else text)
    return code


def version():
    """The library's version."""
    return libbrick.brick_version().decode()
