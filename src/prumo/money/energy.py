"""Energy and CO2 of every run: counted where the machine counts, an estimate otherwise. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from prumo.study import CostSettings

if TYPE_CHECKING:
    from prumo.money.billing import Rate


@dataclass(frozen=True)
class Grid:
    """The mean of a year, over all that feeds the grid, whatever a provider buys besides."""

    grams_per_kwh: float
    source: str


GOOGLE_2024 = "Google Cloud, region-carbon-info, year 2024"
GOOGLE_GRAMS_PER_KWH = {
    "europe-north1": 39.32,
    "europe-west1": 103.37,
    "europe-west4": 208.81,
    "northamerica-northeast1": 5.48,
    "southamerica-east1": 67.32,
    "us-central1": 412.72,
    "us-east1": 575.77,
    "us-east4": 323.05,
    "us-west1": 79.23,
}


def grid_of(price: str) -> Grid | None:
    """The grid at the region of a price such as `gcp/n2-standard-4@us-central1`; None if unknown.

    Only Google publishes its regions' figures, so other providers' are for the user to say.
    """
    provider, _, rest = price.partition("/")
    region = rest.rpartition("@")[2]
    if provider != "gcp" or region not in GOOGLE_GRAMS_PER_KWH:
        return None
    return Grid(GOOGLE_GRAMS_PER_KWH[region], GOOGLE_2024)


JOULES_PER_KWH = 3.6e6
GPU_POWER = re.compile(r"gpu\d+_power_watts_mean")
COUNTED, ESTIMATED = "energy_kwh", "energy_estimate_kwh"
CO2_OF = {COUNTED: "co2_grams", ESTIMATED: "co2_estimate_grams"}
DEFAULT_SETTINGS = CostSettings()


def with_energy(
    runs: pl.DataFrame,
    rates: Mapping[str, Rate],
    settings: CostSettings = DEFAULT_SETTINGS,
) -> pl.DataFrame:
    """The runs with the energy of their whole process, and its CO2 where the grid is known.

    Counters give `energy_kwh` and `co2_grams`: processors, and GPUs by their mean power; memory,
    disks and cooling are counted by nobody. Without counters, and only where the settings say the
    power of a core, `energy_estimate_kwh` and `co2_estimate_grams` come from processor time. What a
    run states of itself under one of these names stays as it is.
    """
    energies = [_counted(runs), _estimated(runs, settings)]
    grams = pl.Series([_grams_per_kwh(scenario, rates, settings) for scenario in runs["scenario"]])
    for name, energy in zip(CO2_OF, energies, strict=True):
        if energy is not None and name not in runs.columns:
            runs = runs.with_columns(energy.alias(name))
        if name not in runs.columns or CO2_OF[name] in runs.columns:
            continue
        if grams.null_count() < len(grams):
            runs = runs.with_columns((pl.col(name) * grams).alias(CO2_OF[name]))
    return runs


def grids(rates: Mapping[str, Rate], settings: CostSettings = DEFAULT_SETTINGS) -> list[Grid]:
    """The grids whose CO2 is reckoned with."""
    if settings.grid_grams_per_kwh is not None:
        return [Grid(settings.grid_grams_per_kwh, "as given")]
    found = (grid_of(rate.price) for rate in rates.values())
    return list(dict.fromkeys(grid for grid in found if grid is not None))


def _counted(runs: pl.DataFrame) -> pl.Expr | None:
    """Joules of processors and of GPUs, the sum of those that are counted at all."""
    parts = [pl.col("energy_joules")] if "energy_joules" in runs.columns else []
    parts += [
        pl.col(name) * pl.col("wall_seconds") for name in runs.columns if GPU_POWER.fullmatch(name)
    ]
    if not parts:
        return None
    some = pl.any_horizontal(part.is_not_null() for part in parts)
    return pl.when(some).then(pl.sum_horizontal(parts)) / JOULES_PER_KWH


def _estimated(runs: pl.DataFrame, settings: CostSettings) -> pl.Expr | None:
    if settings.watts_per_core is None or "tree_cpu_percent_mean" not in runs.columns:
        return None
    core_seconds = pl.col("tree_cpu_percent_mean") / 100 * pl.col("wall_seconds")
    energy = core_seconds * settings.watts_per_core / JOULES_PER_KWH
    counted = _counted(runs)
    return energy if counted is None else pl.when(counted.is_null()).then(energy)


def _grams_per_kwh(
    scenario: str, rates: Mapping[str, Rate], settings: CostSettings
) -> float | None:
    own = {scenario: rates[scenario]} if scenario in rates else {}
    return next((grid.grams_per_kwh for grid in grids(own, settings)), None)
