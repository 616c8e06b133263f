# SPDX-License-Identifier: Apache-2.0
"""Spans, steps and the session. A span in Python costs about a microsecond, most of it the calls
from Python into C; time what takes longer than that."""
import ctypes
import functools

from brick._library import (Request, SessionOptions, Stats, StepSequence, check, libbrick, sized)

_on = ctypes.c_uint32.in_dll(libbrick, "brick__on")
_begin, _begin_layer, _end = libbrick.brick__begin, libbrick.brick__begin_layer, libbrick.brick__end
_ids = {}
_MODES = {"deferred": 0, "per-layer": 1, "immediate": 2, "none": 3}
_PHASES = {"prefill": 0, "decode": 1, "warm-up": 3, "other": 4}


def enabled():
    """Whether something records."""
    return _on.value != 0


def _id(name, category=None):
    """The brick of a name, made at its first use. Only what nobody registered needs a category."""
    brick = _ids.get(name)
    if brick is None:
        text = name.encode()
        brick = libbrick.brick_lookup(text)
        if brick < 0:
            kind = check(libbrick.brick_category_register((category or "Other").encode()), category)
            brick = check(libbrick.brick_register(text, kind), name)
        _ids[name] = brick
    return brick


class span:  # pylint: disable=invalid-name
    """A brick that is open within a `with` block. A span object may be used again, not nested in
    itself: `norm = brick.span("RmsNorm")`, then `with norm:` in the loop."""

    __slots__ = ("brick", "layer", "_span", "_work")

    def __init__(self, name, layer=None, category=None):
        self.brick = _id(name, category)
        self.layer = layer
        self._span = 0
        self._work = None

    def work(self, elements=0, nbytes=0, flops=0):
        """Say what the execution that is open does: elements that it produces, bytes that it moves,
        floating-point operations."""
        self._work = (elements, nbytes, flops)

    def __enter__(self):
        if _on.value:
            self._span = _begin(self.brick) if self.layer is None else _begin_layer(self.brick, self.layer)
        return self

    def __exit__(self, *_):
        opened, self._span = self._span, 0
        if not opened:
            return
        if self._work is None:
            _end(opened)
        else:
            libbrick.brick__end_work(opened, *self._work)
            self._work = None


def timed(name=None, layer=None, category=None):
    """A decorator: each call of the function is a brick, named after it unless a name is given."""

    def decorate(function):
        brick = _id(name or function.__qualname__, category)

        @functools.wraps(function)
        def call(*args, **kwargs):
            if not _on.value:
                return function(*args, **kwargs)
            opened = _begin(brick) if layer is None else _begin_layer(brick, layer)
            try:
                return function(*args, **kwargs)
            finally:
                _end(opened)

        return call

    if callable(name):
        function, name = name, None
        return decorate(function)
    return decorate


class step:  # pylint: disable=invalid-name
    """One evaluation by the engine: "prefill", "decode", "warm-up" or "other" of so many tokens, or "mixed"
    of tokens of prompts and tokens from which new ones are made."""

    __slots__ = ("_phase", "_tokens", "_outputs", "_span")

    def __init__(self, phase, tokens=1, outputs=0):
        if phase != "mixed" and phase not in _PHASES:
            raise ValueError(f"{phase!r} is no phase: {', '.join(_PHASES)} and mixed are")
        self._phase, self._tokens, self._outputs, self._span = phase, tokens, outputs, 0

    def __enter__(self):
        if self._phase == "mixed":
            self._span = libbrick.brick_step_begin_mixed(self._tokens, self._outputs)
        else:
            self._span = libbrick.brick_step_begin(_PHASES[self._phase], self._tokens)
        return self

    def __exit__(self, *_):
        if self._span:
            _end(self._span)


def sequence(sequence, prompt=0, outputs=0, position=-1, model=0, results=None):
    """Say of the step that is open which of its tokens are a sequence's: tokens of its prompt, tokens
    from which new ones are made, and where in the sequence the first of them stands. A new token comes
    of each of `outputs`, and one where a prompt ends; `results=0` says that more of the prompt follows."""
    told = sized(StepSequence)
    told.model, told.sequence, told.position = model, sequence, position
    told.prompt_tokens, told.output_tokens = prompt, outputs
    told.results = outputs or int(prompt > 0) if results is None else results
    if _on.value:
        check(libbrick.brick_step_sequence(ctypes.byref(told)), "sequence")


class request:  # pylint: disable=invalid-name
    """A request: what its sequence evaluates within the `with` block. `number` is the program's own."""

    __slots__ = ("_request",)

    def __init__(self, sequence, number=0, model=0):
        self._request = sized(Request)
        self._request.model, self._request.sequence = model, sequence
        self._request.number = number

    def __enter__(self):
        if _on.value:
            check(libbrick.brick_request_begin(ctypes.byref(self._request)), "request")
        return self

    def __exit__(self, *_):
        if _on.value:
            libbrick.brick_request_end(self._request.model, self._request.sequence)


class session:  # pylint: disable=invalid-name
    """A recording of this process while the `with` block runs; without an output statistics only.
    slow, as "p99" or "decode=50ms": the seconds around each slow step have a file of their own, too,
    with slow_only nothing else. These files take at most slow_bytes together (0: 200 MB), and there are
    at most slow_per_hour in an hour (0: 6). Under `brick record` the recorder's session is used,
    whatever is asked for."""

    def __init__(self, output=None, mode="deferred", slow=None, slow_only=False, slow_bytes=0, slow_per_hour=0):
        self._options = sized(SessionOptions)
        self._options.slow = None if slow is None else slow.encode()
        self._options.slow_only = slow_only
        self._options.slow_bytes, self._options.slow_per_hour = slow_bytes, slow_per_hour
        self._options.output = None if output is None else str(output).encode()
        self._options.mode = _MODES[mode]

    def __enter__(self):
        check(libbrick.brick_session_start(ctypes.byref(self._options)), "session")
        return self

    def __exit__(self, *_):
        check(libbrick.brick_session_stop(), "session")


class layer:  # pylint: disable=invalid-name
    """The layer of the spans that this thread opens within the `with` block without naming one. Blocks
    nest."""

    __slots__ = ("_layer", "_before")

    def __init__(self, layer):
        self._layer, self._before = layer, []

    def __enter__(self):
        self._before.append(libbrick.brick_layer_set(self._layer))
        return self

    def __exit__(self, *_):
        libbrick.brick_layer_set(self._before.pop())


def reset():
    """Set all statistics back to zero: reports of the session count from now on."""
    check(libbrick.brick_reset(), "reset")


def pause():
    """Stop recording for a while; resume() goes on."""
    libbrick.brick_pause()


def resume():
    """Go on after pause()."""
    libbrick.brick_resume()


def note(key, value):
    """Add a fact to what the recording says of itself."""
    check(libbrick.brick_note(key.encode(), b"%s", str(value).encode()), key)


def instant(name, category=None):
    """A point in time."""
    if _on.value:
        libbrick.brick_instant(_id(name, category))


def counter(name, value):
    """A value over time."""
    if _on.value:
        libbrick.brick_counter(_id(name), value)


def thread_name(name):
    """This thread's name in reports."""
    libbrick.brick_thread_name(name.encode())


def as_dictionary(structure):
    """The fields of a structure, but for its size."""
    return {field: getattr(structure, field) for field, _ in structure._fields_ if field != "size"}


def _stats(get, number, name):
    out = sized(Stats)
    check(get(number, ctypes.byref(out)), name)
    return as_dictionary(out)


def stats(name):
    """What this process recorded of a brick on threads so far, as a dictionary: counts, and times in ns."""
    return _stats(libbrick.brick_stats_get, _id(name), name)


def device_stats(name):
    """The same of a brick on queues of devices."""
    return _stats(libbrick.brick_device_stats_get, _id(name), name)


def category_stats(category):
    """The same of a category's bricks together; `total_ns` is the sum of their own times."""
    number = check(libbrick.brick_category_register(category.encode()), category)
    return _stats(libbrick.brick_category_stats_get, number, category)
