"""What was expected of a study before it ran: the content of its forecast.json."""

from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from prumo.errors import StorageError
from prumo.files import write_json
from prumo.money.billing import Rate
from prumo.results.record import unreadable_reason

FORECAST_FILE = "forecast.json"
FORMAT = 1
CONFIDENCE = 0.95


class Basis(StrEnum):
    """What the forecast of a scenario rests on."""

    MEASURED = "measured"
    """Runs of this very scenario, perhaps shorter ones."""
    SCALED = "scaled"
    """Runs of other scenarios of its kind, scaled by its sizes."""
    NOTHING = "nothing"


class Span(BaseModel):
    """A forecast value and the ends of its prediction interval."""

    model_config = ConfigDict(frozen=True)

    value: float
    low: float
    high: float

    def holds(self, fact: float) -> bool:
        """Whether what came true lies in the interval."""
        return self.low <= fact <= self.high


class ScenarioForecast(BaseModel):
    """What is expected of one scenario."""

    model_config = ConfigDict(frozen=True)

    scenario: str
    factors: dict[str, Any]
    basis: Basis
    reason: str = ""
    """Why there is no forecast."""
    replications: float = 0.0
    run_seconds: Span | None = None
    """Of the process of one run, on the mean of all its runs."""
    seconds: Span | None = None
    """Of all its runs together."""
    cost: Span | None = None
    """Of all its runs together."""


class Grounds(BaseModel):
    """What a forecast was made from."""

    model_config = ConfigDict(frozen=True)

    probe_runs: int = 0
    """Short runs that were made for the forecast."""
    probe_seconds: float = 0.0
    probed: tuple[str, ...] = ()
    """The scenarios that were probed."""
    left_out: dict[str, str] = {}
    """Scenario → why its probe was left out or gave nothing."""
    earlier_runs: int = 0
    earlier: tuple[str, ...] = ()
    """The results folders that these are from."""
    pressure_percent: float = 0.0
    """Of the time before the measured runs, in which processes waited for a core."""


class Forecast(BaseModel):
    """What is expected of a study, when that was said, and what it was said from."""

    model_config = ConfigDict(frozen=True)

    format: int = FORMAT
    study: str
    made: datetime
    prumo: str
    confidence: float = CONFIDENCE
    seconds: Span | None = None
    """Of all runs of the scenarios that could be forecast."""
    cost: Span | None = None
    currency: str = ""
    billed: str = ""
    """Which seconds of a run are paid for."""
    rates: dict[str, Rate] = {}
    """Label of a machine → the rate that its time was turned into money with."""
    grounds: Grounds = Grounds()
    scenarios: tuple[ScenarioForecast, ...] = ()

    @property
    def unknown(self) -> tuple[ScenarioForecast, ...]:
        """The scenarios that could not be forecast."""
        return tuple(row for row in self.scenarios if row.basis is Basis.NOTHING)


def read_forecast(results: Path) -> Forecast | None:
    """The forecast in a results folder; None where nobody made one.

    Raises:
        StorageError: It is there and cannot be read.
    """
    path = results / FORECAST_FILE
    try:
        return Forecast.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        reason = unreadable_reason(error)
        raise StorageError(
            f"cannot read {path}: {reason}. Move the file away to go on without the forecast."
        ) from error


def expected_seconds(results: Path) -> dict[str, float]:
    """How long a run of each scenario should take; nothing where no forecast can be read."""
    try:
        forecast = read_forecast(results)
    except StorageError:
        return {}
    rows = forecast.scenarios if forecast else ()
    return {row.scenario: row.run_seconds.value for row in rows if row.run_seconds}


def write_forecast(results: Path, forecast: Forecast) -> None:
    """Keep a forecast in a results folder, which is made if need be."""
    path = results / FORECAST_FILE
    try:
        results.mkdir(parents=True, exist_ok=True)
        write_json(path, forecast)
    except OSError as error:
        raise StorageError.on_writing(path, error) from error
