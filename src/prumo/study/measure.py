"""How runs are measured: sampling, warm-up, limits."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, ByteSize, Field

from prumo.study.section import Number, Section, Truth, WholeNumber, refused

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
