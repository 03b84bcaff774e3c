"""What of a run is paid for."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from prumo.study.section import Number, Section, Text, Truth, refused


class CostSettings(Section):
    """How time becomes money; it does not change what a run does."""

    of: Literal["training", "inference"] = "training"
    """What a run is: a training, or answers to requests."""
    metric: Annotated[Text, Field(min_length=1)] | None = None
    """The seconds that are billed; `train_seconds` when absent, or else `wall_seconds`."""
    setup: Truth = False
    """Bill the whole process with its set-up: `wall_seconds`."""
    idle_seconds: Annotated[Number, Field(ge=0)] = 0.0
    """Time that the machine is rented and does nothing, added to every run."""
    rental: Literal["own", "shared"] = "shared"
    """`shared`: a run is a part of a longer rental and pays for its time exactly.
    `own`: a machine is rented for every run, so minimum and rounding count each time."""
    purchase: Literal["on_demand", "spot"] = "on_demand"
    """How the machines are bought."""
    grid_grams_per_kwh: Annotated[Number, Field(ge=0)] | None = None
    """CO2 of the electricity there, in grams per kWh."""
    watts_per_core: Annotated[Number, Field(gt=0)] | None = None
    """Power of one busy core, for an estimate where the machine does not count its energy."""

    @model_validator(mode="after")
    def _one_time(self) -> Self:
        if self.setup and self.metric is not None:
            raise refused("give either `metric` or `setup`: set-up is billed by wall_seconds")
        return self
