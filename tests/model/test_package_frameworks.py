"""Models as real frameworks write them: packaged alike each time, and disarmed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import h5py
import pytest

from prumo.errors import PrumoError
from prumo.progress import Silent
from prumo_serve.package import open_or_package, open_package
from prumo_serve.package.check import examined
from prumo_serve.package.making import PackageRequest, make_package
from prumo_serve.source import recognized
from prumo_serve.source.pytorch_export import write_harmless
from support.heard_progress import Heard
from support.hostile_export import opened_exports, write_hostile_export
from support.retina_networks import SIZE, TEMPERATURE, write_models

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.frameworks
def test_a_retina_model_is_packaged_on_the_fly_once_and_always_alike(
    framework_python: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prumo_serve.package.making.made_folder", lambda part: tmp_path / part)
    write_models(framework_python("tensorflow"), tmp_path / "models")
    model = tmp_path / "models" / "grade"
    heard = Heard()

    first = open_or_package(model, heard)
    told = len(heard.said)
    again = open_or_package(model, heard)
    make_package(model, PackageRequest(), tmp_path / "packed", Silent())

    assert told > 0
    assert len(heard.said) == told, "the second time it is only opened"
    assert again == first
    assert open_package(tmp_path / "packed").manifest == first.manifest
    assert first.manifest.output.temperature == TEMPERATURE
    assert first.manifest.input.height == SIZE
    assert [finding.subject for finding in examined(first) if not finding.passed] == []
    assert first.manifest.heat_map is not None


@pytest.mark.frameworks
def test_an_older_keras_file_with_code_in_it_is_refused_by_keras(
    framework_python: Callable[[str], Path], tmp_path: Path
) -> None:
    framework_python("tensorflow")
    mark = tmp_path / "mark"
    _write_lambda_file(tmp_path / "model.h5", mark)
    settings = PackageRequest(labels=("a", "b"), normalization="0..1")

    with pytest.raises(PrumoError, match="Lambda"):
        make_package(tmp_path / "model.h5", settings, tmp_path / "out", Silent())

    assert not mark.exists()
    assert not (tmp_path / "out").exists()


@pytest.mark.torch
def test_an_export_that_would_run_code_is_disarmed(pytorch_python: Path, tmp_path: Path) -> None:
    hostile, harmless = tmp_path / "hostile.pt2", tmp_path / "harmless.pt2"
    mark = tmp_path / "mark"
    expected = write_hostile_export(pytorch_python, hostile, mark)

    recognized(hostile)
    write_harmless(hostile, harmless)
    told = opened_exports(pytorch_python, harmless, hostile, mark)

    assert told["answer"] == pytest.approx(expected, rel=1e-5)
    assert not told["after_harmless"]
    assert told["after_hostile"], "the trap is real"


def _write_lambda_file(path: Path, mark: Path) -> None:
    """As older versions of Keras wrote a model whose second layer is a function of Python's."""
    layers = [
        {"class_name": "InputLayer", "config": {"batch_shape": [None, 8, 8, 3], "name": "input"}},
        {
            "class_name": "Lambda",
            "config": {"name": "lambda", "function": [f"open({str(mark)!r}, 'w')", None, None]},
        },
    ]
    configuration = {"class_name": "Sequential", "config": {"name": "model", "layers": layers}}
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = json.dumps(configuration)
        file.attrs["keras_version"] = "2.15.0"
        file.attrs["backend"] = "tensorflow"
        file.create_group("model_weights").attrs["layer_names"] = []
