"""`python -m prumo.supervise`: the guard's own process."""

import json
import os
import signal
from contextlib import suppress
from dataclasses import asdict

from prumo.machine.processes import kill_own_descendants
from prumo.supervise.guard import Order
from prumo.supervise.watch import Watch, become_subreaper

LIFELINE = 0
REPORT = 1


def main() -> None:
    """Read the order, run it to its end, tell how it went; leave nothing running."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Unbuffered: what comes after the first line belongs to the watch.
    with os.fdopen(LIFELINE, "rb", buffering=0, closefd=False) as lifeline:
        line = lifeline.readline()
    if not line.endswith(b"\n"):
        return
    become_subreaper()
    try:
        ending = Watch(Order(**json.loads(line)), LIFELINE).run()
    finally:
        kill_own_descendants()
    # Prumo may be gone by now, and then nobody asks.
    with suppress(BrokenPipeError):
        os.write(REPORT, json.dumps(asdict(ending)).encode() + b"\n")


if __name__ == "__main__":
    main()
