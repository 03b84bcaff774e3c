"""The process in which one variant is measured: it loads a network and answers orders.

Run as `python -m prumo_serve.compare.subject_process DESCRIPTOR`. It imports no more than a
server would, so that its memory is that of the network and its runtime.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo.errors import PrumoError
from prumo_serve.runtimes import Resources, load_network

if TYPE_CHECKING:
    from prumo_serve.runtimes import LoadedNetwork

_SEED = 1


def main() -> None:
    """Do what is asked until nobody asks any more."""
    connection = Connection(int(sys.argv[1]))
    subject: _Subject | None = None
    try:
        while True:
            name, argument = connection.recv()
            try:
                if name == "load":
                    subject = _Subject(argument)
                    connection.send((True, None))
                else:
                    connection.send((True, getattr(subject, name)(argument)))
            except PrumoError as error:
                connection.send((False, str(error)))
    except (EOFError, BrokenPipeError):
        # Whoever asked has ended.
        pass
    finally:
        if subject is not None:
            subject.close()


class _Subject:
    """A network and the one image that it is timed with."""

    def __init__(self, order: Mapping[str, Any]) -> None:
        resources = Resources(threads=order["threads"], callers=order["callers"])
        self._network: LoadedNetwork = load_network(
            Path(order["path"]), order["runtime"], resources
        )
        self._callers = order["callers"]
        self._output = order["output"]
        drawn = np.random.default_rng(_SEED).uniform(order["low"], order["high"], order["shape"])
        self._image = drawn.astype(order["dtype"])
        self.answer(1)

    def answer(self, times: int) -> list[float]:
        """Seconds of so many answers to one image, one after the other."""
        seconds = []
        for _ in range(times):
            began = perf_counter()
            self._network.run(self._image, [self._output])
            seconds.append(perf_counter() - began)
        return seconds

    def answer_at_once(self, times: int) -> float:
        """Images per second when all callers ask so many times at the same time."""
        began = perf_counter()
        with ThreadPoolExecutor(self._callers) as pool:
            list(pool.map(self.answer, [times] * self._callers))
        return float(times * self._callers / (perf_counter() - began))

    def scores(self, batch: np.ndarray) -> np.ndarray:
        """What the network says of other images."""
        return np.asarray(self._network.run(batch, [self._output])[self._output])

    def close(self) -> None:
        """Let go of the network, which may have a process of its own."""
        self._network.close()


if __name__ == "__main__":
    main()
