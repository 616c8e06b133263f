# SPDX-License-Identifier: Apache-2.0
"""PyTorch's operators, modules, steps and memory in a session of the program's own, by the library that `brick record`
preloads."""
import ctypes
import sys

from brick._library import BrickError, attacher
from brick.probe import session


def attach_torch():
    """Record PyTorch in each session from now on. `import torch` comes first, and no other thread runs operators meanwhile.
    Under `brick record` it is attached already. It stays: without a session an operator costs some 80 ns more."""
    library = attacher("torch")
    why = ctypes.create_string_buffer(512)
    # with the GIL, so that no thread of Python begins an operator
    code = library.brick_torch_attach(why, ctypes.c_size_t(len(why)))
    if code < 0:
        raise BrickError(code, why.value.decode(errors="replace"))


class record(session):  # pylint: disable=invalid-name
    """A session that also records PyTorch, if it was imported before the `with` block."""

    def __enter__(self):
        super().__enter__()
        try:
            if "torch" in sys.modules:
                attach_torch()
        except BaseException:
            super().__exit__()
            raise
        return self
