"""The lifeline: the sampler lives until its standard input ends or it is asked to stop."""

from __future__ import annotations

import os
import select
import signal
import time

_MOST_BYTES = 4096


class Lifeline:
    """Waits without burning the processor, and notices the end of its controller."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._wake, alarm = os.pipe()
        os.set_blocking(alarm, False)
        # A handler that raised could tear a row apart; a byte in a pipe ends the wait instead.
        signal.set_wakeup_fd(alarm)
        signal.signal(signal.SIGTERM, lambda *_: None)
        # Ctrl-C reaches the whole terminal, but it is for the controller to decide on.
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def ends_within(self, seconds: float) -> bool:
        """Wait; True as soon as the sampler shall end, False after the full time."""
        due = time.monotonic() + seconds
        while True:
            left = max(0.0, due - time.monotonic())
            ready, _, _ = select.select([self._descriptor, self._wake], [], [], left)
            if not ready:
                return False
            if self._wake in ready or not os.read(self._descriptor, _MOST_BYTES):
                return True
