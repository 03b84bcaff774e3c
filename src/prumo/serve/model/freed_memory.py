"""Memory that is free in this process and not yet in the system."""

from __future__ import annotations

import ctypes


def give_back_freed_memory() -> None:
    """Return what loading a model has left over: twice the model's size, which would stay ours.

    Only the GNU C library has to be asked; where another one is, there is nothing to do.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
