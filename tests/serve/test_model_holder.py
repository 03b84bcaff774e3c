"""A network that dies while it is served is loaded again, unless it is no longer the same."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from prumo_serve.package import open_package
from prumo_serve.server.model_holder import ModelHolder, loaded_model
from prumo_serve.server.settings import Settings
from support.model_packages import ColourNetwork, write_colour_package, write_network

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[ModelHolder]:
    write_colour_package(tmp_path / "package")
    settings = Settings(tmp_path / "package")
    model = ModelHolder(loaded_model(open_package(settings.model), settings), settings)
    yield model
    model.close()


def test_one_that_answers_is_left_alone(holder: ModelHolder) -> None:
    before = holder.current
    holder.examine()

    assert holder.is_answering()
    assert holder.current is before


@pytest.mark.parametrize("who", ["a request", "a question for readiness"])
def test_one_that_died_is_loaded_again(holder: ModelHolder, who: str) -> None:
    holder.current.network.close()
    if who == "a request":
        holder.examine()

    assert not holder.is_answering()
    until = time.monotonic() + 60
    while not holder.is_answering() and time.monotonic() < until:
        time.sleep(0.05)
    assert holder.is_answering()
    holder.current.warm()


def test_another_network_does_not_take_its_place(holder: ModelHolder) -> None:
    folder = holder.current.package.folder
    write_network(folder / "network.onnx", ColourNetwork(sharpness=2.0))
    holder.current.network.close()

    assert not holder.is_answering()
    time.sleep(1)
    assert not holder.is_answering()
