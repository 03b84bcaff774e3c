"""Ctrl-C and SIGTERM, taken at moments when nothing can be lost."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Interruption:
    """Counts requests to stop while they are held back; elsewhere they raise as usual."""

    def __init__(self) -> None:
        self.requests = 0
        self.wake, self._wake_write = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(self._wake_write, False)

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Count requests instead of raising KeyboardInterrupt inside this block."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {
            number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def close(self) -> None:
        """Give the pipe back."""
        os.close(self.wake)
        os.close(self._wake_write)

    def take(self) -> int:
        """How often a stop was asked for; makes `wake` quiet again."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.wake, 512)
        return self.requests

    def _note(self, *_: Any) -> None:  # noqa: ANN401 (the signal module's own signature)
        self.requests += 1
        os.write(self._wake_write, b".")


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, so that `kill` ends a study as cleanly as a keyboard does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: Any) -> None:  # noqa: ANN401 (the signal module's own signature)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
