"""A lone request has all cores; many at once have one each, by a second network."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prumo_serve.package import open_package
from prumo_serve.runtimes import Resources, load_network
from prumo_serve.server import model_holder
from prumo_serve.server.engine import Engine
from prumo_serve.server.model_holder import CrowdNetwork, ModelHolder, loaded_model
from prumo_serve.server.queue import Job, Outcome, abandon
from prumo_serve.server.settings import Settings
from support.model_packages import ColourNetwork, write_colour_package, write_network

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prumo_serve.runtimes import LoadedNetwork

LONE, CROWD = 2, 1
"""Threads."""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[ModelHolder]:
    write_colour_package(tmp_path / "package")
    settings = Settings(tmp_path / "package", workers=2, threads=CROWD, lone_threads=LONE)
    model = ModelHolder(loaded_model(open_package(settings.model), settings), settings)
    yield model
    model.close()


def test_a_lone_request_is_computed_by_all_cores(holder: ModelHolder) -> None:
    assert threads_of(holder, images=1) == {LONE}


def test_nobody_waits_while_the_second_network_is_loaded(holder: ModelHolder) -> None:
    assert LONE in threads_of(holder, images=8)


def test_many_requests_are_computed_by_a_core_each(holder: ModelHolder) -> None:
    load_crowd(holder)

    assert CROWD in threads_of(holder, images=8)
    assert threads_of(holder, images=1) == {LONE}


def test_both_networks_give_the_same_answers(holder: ModelHolder) -> None:
    load_crowd(holder)
    alone, crowded = asked(holder, 1), asked(holder, 8)

    assert alone[0].scores is not None
    for outcome in crowded:
        assert outcome.scores is not None
        assert outcome.scores.tolist() == alone[0].scores.tolist()


def test_a_file_that_was_replaced_meanwhile_does_not_answer_beside_the_first(
    holder: ModelHolder, caplog: pytest.LogCaptureFixture
) -> None:
    write_network(holder.current.package.folder / "network.onnx", ColourNetwork(sharpness=2.0))
    crowd = holder.current.crowd
    assert crowd is not None
    crowd.loaded()
    until = time.monotonic() + 60
    while "second one cannot be loaded" not in caplog.text and time.monotonic() < until:
        time.sleep(0.01)

    assert crowd.loaded() is None
    assert threads_of(holder, images=8) == {LONE}


def test_a_network_that_is_loaded_after_the_end_does_not_stay(holder: ModelHolder) -> None:
    crowd = holder.current.crowd
    assert crowd is not None
    crowd.loaded()
    crowd.close()

    assert crowd.loaded() is None


def test_the_first_network_answers_all_when_the_second_one_has_failed(
    holder: ModelHolder, caplog: pytest.LogCaptureFixture
) -> None:
    load_crowd(holder)
    crowd = holder.current.crowd
    assert crowd is not None
    second = crowd.loaded()
    assert second is not None
    # From now on it fails.
    second.close()

    assert threads_of(holder, images=8) == {LONE}
    assert threads_of(holder, images=8) == {LONE}
    assert caplog.text.count("the second network failed") == 1
    assert holder.is_answering()


def test_a_second_network_that_failed_is_loaded_again(
    holder: ModelHolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_holder, "_FIRST_AGAIN_SECONDS", 0.0)
    package = holder.current.package
    crowd = CrowdNetwork(package, package.manifest.network.runtime, Resources(threads=CROWD))
    first = await_loaded(crowd)
    crowd.give_up(first, RuntimeError("out of memory"))
    again = await_loaded(crowd)

    assert again is not first
    assert again.is_ready
    assert not first.is_ready
    crowd.close()
    assert not again.is_ready


def test_a_network_that_comes_too_late_is_closed(
    holder: ModelHolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = holder.current.crowd
    assert crowd is not None
    loaded: list[LoadedNetwork] = []

    def load_late(path: Path, runtime: str, resources: Resources) -> LoadedNetwork:
        crowd.close()
        loaded.append(load_network(path, runtime, resources))
        return loaded[0]

    monkeypatch.setattr(model_holder, "load_network", load_late)
    crowd.loaded()
    until = time.monotonic() + 60
    while not loaded or (loaded[0].is_ready and time.monotonic() < until):
        time.sleep(0.01)

    assert not loaded[0].is_ready


def test_one_network_serves_all_where_nothing_is_gained(tmp_path: Path) -> None:
    write_colour_package(tmp_path / "package")
    settings = Settings(tmp_path / "package", workers=1, threads=1, lone_threads=1)
    model = loaded_model(open_package(settings.model), settings)

    assert model.crowd is None
    image = np.zeros((1, *model.manifest.input.shape), model.manifest.input.dtype)
    assert model.computed(image, [False], is_alone=False)[2] == 1
    model.close_networks()


def test_an_abandoned_batch_is_no_company(holder: ModelHolder) -> None:
    load_crowd(holder)
    settings = Settings(holder.current.package.folder, workers=1)

    async def ask() -> int:
        engine = Engine(holder, settings, lambda _outcome: None)
        job = Job(None, wants_heat_map=False)
        abandon(job)
        engine.queue.reserve(1)
        engine.queue.put_ready([job])
        try:
            (outcome,) = await engine.ask([np.full((8, 8, 3), 128, np.uint8)])
        finally:
            engine.close()
        assert isinstance(outcome, Outcome)
        return outcome.threads

    assert asyncio.run(ask()) == LONE


def load_crowd(holder: ModelHolder) -> None:
    crowd = holder.current.crowd
    assert crowd is not None
    await_loaded(crowd)


def await_loaded(crowd: CrowdNetwork) -> LoadedNetwork:
    until = time.monotonic() + 60
    while (network := crowd.loaded()) is None and time.monotonic() < until:
        time.sleep(0.01)
    assert network is not None
    return network


def threads_of(holder: ModelHolder, images: int) -> set[int]:
    return {outcome.threads for outcome in asked(holder, images)}


def asked(holder: ModelHolder, images: int) -> list[Outcome]:
    """The outcomes of so many images that come at once."""
    settings = Settings(holder.current.package.folder, workers=2)

    async def ask() -> list[Outcome]:
        engine = Engine(holder, settings, lambda _outcome: None)
        try:
            found = await engine.ask([np.full((8, 8, 3), 128, np.uint8)] * images)
        finally:
            engine.close()
        return [outcome for outcome in found if isinstance(outcome, Outcome)]

    return asyncio.run(ask())
