"""The forecast in a results folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prumo.errors import StorageError
from prumo.forecast.document import FORECAST_FILE, read_forecast, write_forecast
from support.forecast_maker import forecast_of

if TYPE_CHECKING:
    from pathlib import Path


def test_a_forecast_is_read_as_it_was_written(tmp_path: Path) -> None:
    forecast = forecast_of(3.5, 70.0)

    write_forecast(tmp_path / "results" / "demo", forecast)

    assert read_forecast(tmp_path / "results" / "demo") == forecast


def test_a_folder_without_a_forecast_has_none(tmp_path: Path) -> None:
    assert read_forecast(tmp_path) is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "Invalid JSON"),
        ("{}", "study: Field required"),
        ('{"format": 1, "study": 7}', "study: Input should be a valid string"),
        ("[1]", "should be an object"),
    ],
)
def test_a_broken_forecast_is_told_with_its_path_and_field(
    tmp_path: Path, content: str, reason: str
) -> None:
    (tmp_path / FORECAST_FILE).write_text(content)

    with pytest.raises(StorageError, match=rf"{FORECAST_FILE}: .*{reason}"):
        read_forecast(tmp_path)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StorageError, match="cannot write"):
        write_forecast(tmp_path / "file" / "demo", forecast_of(1.0))
