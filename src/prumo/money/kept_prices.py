"""The prices that a study's amounts are computed with: the content of its prices.json."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from prumo.errors import StorageError
from prumo.files import write_whole
from prumo.money.billing import Exchange, Rate
from prumo.results.record import unreadable_reason
from prumo.study import Study
from prumo.study.plan import MACHINE_NAMES

if TYPE_CHECKING:
    from prumo.results.tables import Results

PRICES_FILE = "prices.json"
FORMAT = 1
EVERY_MACHINE = ""
"""The label of the rate that holds where a machine has none of its own."""


class PricesKept(BaseModel):
    """Rates by machine as they stood on a day."""

    model_config = ConfigDict(frozen=True)

    made: date
    rates: dict[str, Rate]
    """Label of a machine → its rate; the empty label holds for all others."""
    exchange: Exchange | None = None


class Prices(PricesKept):
    """The rates that count, and those that counted before."""

    format: Annotated[int, Field(ge=FORMAT, le=FORMAT)] = FORMAT
    earlier: tuple[PricesKept, ...] = ()
    """The oldest first."""

    def repriced(
        self, rates: Mapping[str, Rate], exchange: Exchange | None, made: date
    ) -> "Prices":
        """Other rates in place of these, which are kept as earlier ones."""
        replaced = PricesKept(made=self.made, rates=self.rates, exchange=self.exchange)
        return Prices(
            made=made, rates=dict(rates), exchange=exchange, earlier=(*self.earlier, replaced)
        )


def named_prices(study: Study) -> dict[str, str]:
    """Label of a machine → the name of its price, where the study names one."""
    return {
        label: machine.price
        for label, machine in study.machines.items()
        if machine.price is not None
    }


def rates_of(results: "Results") -> dict[str, Rate]:
    """Scenario → the rate that its runs are priced with; none where there is no price."""
    prices = results.prices
    if prices is None:
        return {}
    found = {
        record.scenario: prices.rates.get(machine_label(record.parameters))
        or prices.rates.get(EVERY_MACHINE)
        for record in results.records
    }
    return {scenario: rate for scenario, rate in found.items() if rate is not None}


def machine_label(parameters: Mapping[str, Any]) -> str:
    """The label of the machine that a run's parameters name; empty where they name none."""
    return next((str(parameters[name]) for name in MACHINE_NAMES if name in parameters), "")


def read_prices(results: Path) -> Prices | None:
    """The prices in a results folder; None where nobody priced it.

    Raises:
        StorageError: They are there and cannot be read; amounts shall not change in silence.
    """
    path = results / PRICES_FILE
    try:
        return Prices.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        reason = unreadable_reason(error)
        raise StorageError(
            f"cannot read {path}: {reason}. Move the file away and run `prumo reprice {results}`."
        ) from error


def write_prices(results: Path, prices: Prices) -> None:
    """Keep prices in a results folder."""
    path = results / PRICES_FILE
    try:
        write_whole(path, prices.model_dump_json(indent=1) + "\n")
    except OSError as error:
        raise StorageError.on_writing(path, error) from error
