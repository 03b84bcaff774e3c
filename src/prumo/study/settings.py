"""How runs are measured, what of them is paid for, and the machines they run on."""

from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ByteSize,
    Field,
    model_validator,
)

from prumo.study.section import (
    Device,
    Number,
    Section,
    Text,
    Truth,
    WholeNumber,
    refused,
    written_as,
)

_LEAST_MEMORY_BYTES = 2**20
_MOST_MEMORY_BYTES = 2**60


def _no_truth(value: object) -> object:
    if isinstance(value, bool):
        raise refused("should be a size such as 4GiB")
    return value


def _checked_size(size: int) -> int:
    if not _LEAST_MEMORY_BYTES <= size <= _MOST_MEMORY_BYTES:
        raise refused("should be a size of 1MiB or more, such as 4GiB")
    return int(size)


def _distinct(numbers: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(numbers)) < len(numbers):
        raise refused("names a CPU twice")
    return numbers


class MeasureSettings(Section):
    """Settings of the measurement; they do not change what a run does."""

    sample_seconds: Annotated[Number, Field(ge=0.1, le=3600)] = 10.0
    """The sampler's period."""
    warmup_steps: Annotated[WholeNumber, Field(ge=0)] = 3
    """Steps run and not counted before the first epoch."""
    timeout_seconds: Annotated[Number, Field(gt=0)] | None = None
    """A run that takes longer is stopped."""
    stop_seconds: Annotated[Number, Field(ge=0)] = 10.0
    """How long a worker may take to end after it was asked to."""
    threads: Annotated[WholeNumber, Field(ge=1)] | None = None
    """Compute threads of a run; the cores the process may use when absent."""
    affinity: (
        Annotated[
            tuple[Annotated[WholeNumber, Field(ge=0)], ...],
            Field(min_length=1),
            AfterValidator(_distinct),
        ]
        | None
    ) = None
    """CPU numbers that a run is bound to."""
    memory_bytes: (
        Annotated[ByteSize, BeforeValidator(_no_truth), AfterValidator(_checked_size)] | None
    ) = None
    """Memory cap of a run, in bytes or as `4GiB`."""
    profile: Truth = False
    """After the timed training, take a few steps more under the framework's profiler."""


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


PROVIDER = r"[a-z0-9-]+"
SKU = r"[A-Za-z0-9._+-]+"
REGION = r"[a-z0-9-]+"
_PRICE = f"{PROVIDER}/{SKU}@{REGION}"

Price = Annotated[
    Text,
    written_as(_PRICE, "provider/sku@region, as azure/Standard_F4s_v2@eastus"),
    Field(json_schema_extra={"pattern": f"^{_PRICE}$"}),
]


class Machine(Section):
    """One machine, under the label that a factor `machine` or `environment` uses."""

    device: Device | None = None
    """The device that its runs train on."""
    price: Price | None = None
    """Its price, as `provider/sku@region`."""
