"""Ctrl-C and SIGTERM, taken at moments when nothing can be lost."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress


@contextmanager
def handled_by(handler: Callable[..., object], *numbers: signal.Signals) -> Iterator[None]:
    """Have signals call the handler inside this block; only the main thread can, and others go on.

    It is called with what the signal module hands over.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


class Interruption:
    """Counts requests to stop while they are held back; elsewhere they raise as usual."""

    def __init__(self) -> None:
        self.requests = 0
        self.wake, self._wake_write = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(self._wake_write, False)

    def held_back(self) -> AbstractContextManager[None]:
        """Count requests instead of raising KeyboardInterrupt inside this block."""
        return handled_by(self._note, signal.SIGINT, signal.SIGTERM)

    def close(self) -> None:
        """Give the pipe back."""
        os.close(self.wake)
        os.close(self._wake_write)

    def take(self) -> int:
        """How often a stop was asked for; makes `wake` quiet again."""
        with suppress(BlockingIOError):
            os.read(self.wake, 512)
        return self.requests

    def _note(self, *_: object) -> None:
        self.requests += 1
        os.write(self._wake_write, b".")


def sigterm_as_interrupt() -> AbstractContextManager[None]:
    """Treat SIGTERM like Ctrl-C, so that `kill` ends a study as cleanly as a keyboard does."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    return handled_by(interrupt, signal.SIGTERM)
