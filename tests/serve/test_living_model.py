"""A network that dies while it is served is loaded again, unless it is no longer the same."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from prumo_serve.package import open_package
from prumo_serve.server.model_holder import LivingModel, loaded_model
from prumo_serve.server.settings import Settings
from support.model_packages import ColourNetwork, write_colour_package, write_network

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def living(tmp_path: Path) -> Iterator[LivingModel]:
    write_colour_package(tmp_path / "package")
    settings = Settings(tmp_path / "package")
    model = LivingModel(loaded_model(open_package(settings.model), settings), settings)
    yield model
    model.close()


def test_one_that_answers_is_left_alone(living: LivingModel) -> None:
    before = living.current
    living.examine()

    assert living.is_answering()
    assert living.current is before


@pytest.mark.parametrize("who", ["a request", "a question for readiness"])
def test_one_that_died_is_loaded_again(living: LivingModel, who: str) -> None:
    living.current.network.close()
    if who == "a request":
        living.examine()

    assert not living.is_answering()
    until = time.monotonic() + 60
    while not living.is_answering() and time.monotonic() < until:
        time.sleep(0.05)
    assert living.is_answering()
    living.current.warm()


def test_another_network_does_not_take_its_place(living: LivingModel) -> None:
    folder = living.current.package.folder
    write_network(folder / "network.onnx", ColourNetwork(sharpness=2.0))
    living.current.network.close()

    assert not living.is_answering()
    time.sleep(1)
    assert not living.is_answering()
