"""Decoding and predicting without any server: what no server can be faster than."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import TYPE_CHECKING, Self

from prumo_serve.package import open_package
from prumo_serve.runtimes import Resources, load_network
from prumo_serve.task import preprocessing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class DirectCalls:
    """A packaged network in this process, with the cores that a server would give it."""

    def __init__(self, package: Path, photographs: Sequence[bytes], resources: Resources) -> None:
        self._package = open_package(package)
        manifest = self._package.manifest
        self._photographs = photographs
        self._preprocessing = preprocessing(manifest)
        self._output = manifest.output.tensor
        self._network = load_network(
            self._package.network_path, manifest.network.runtime, resources
        )
        self._callers = resources.callers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._network.close()
        self._package.close()

    def median_seconds(self, seconds: float) -> float:
        """Of one photograph, over a while."""
        taken: list[float] = []
        until = time.perf_counter() + seconds
        while not taken or time.perf_counter() < until:
            began = time.perf_counter()
            self._predict(self._photographs[len(taken) % len(self._photographs)])
            taken.append(time.perf_counter() - began)
        return median(taken)

    def predictions_per_second(self, seconds: float) -> float:
        """Of the network alone, asked by all callers at once about a decoded photograph."""
        pixels = self._preprocessing.prepared(self._photographs[0]).pixels
        assert pixels is not None
        began = time.perf_counter()
        until = began + seconds

        def count(_: int) -> int:
            done = 0
            while time.perf_counter() < until:
                self._network.run(pixels[None], [self._output])
                done += 1
            return done

        with ThreadPoolExecutor(self._callers) as pool:
            total = sum(pool.map(count, range(self._callers)))
        return total / (time.perf_counter() - began)

    def _predict(self, photograph: bytes) -> None:
        pixels = self._preprocessing.prepared(photograph).pixels
        assert pixels is not None
        self._network.run(pixels[None], [self._output])
