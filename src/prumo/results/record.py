"""What is known of one run: the content of its run.json, and what it trained."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from prumo.errors import StorageError
from prumo.study.network import Architecture, frameworks_of

FORMAT = 1
ModelT = TypeVar("ModelT", bound=BaseModel)


class Verdict(StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    OUT_OF_MEMORY = "out_of_memory"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    INVALID = "invalid"
    NOT_TRIED = "not_tried"
    UNAVAILABLE = "unavailable"
    INTERRUPTED = "interrupted"

    @property
    def is_failure(self) -> bool:
        """Whether the run was tried (or found not worth trying) and gave no figures."""
        return self not in {Verdict.FINISHED, Verdict.UNAVAILABLE, Verdict.INTERRUPTED}


class SamplerCost(BaseModel, frozen=True):
    """What watching the run cost."""

    samples: int = 0
    period_seconds: float = 0.0
    cpu_seconds: float = 0.0
    """While it sampled."""
    total_cpu_seconds: float = 0.0
    """With its start."""
    memory_bytes: int = 0
    late: int = 0
    lost: int = 0


class Spread(BaseModel, frozen=True):
    """What a published summary says of the measurements behind a mean, as far as it does."""

    n: int | None = None
    standard_deviation: float | None = None

    @property
    def gives_interval(self) -> bool:
        """Whether how sure the mean is follows from it."""
        return self.n is not None and self.n > 1 and self.standard_deviation is not None


class RunRecord(BaseModel, frozen=True):
    """One run, whole: what ran, where, with which versions, and the verdict."""

    format: int = FORMAT
    run: str
    scenario: str
    replication: int
    study: str
    factors: dict[str, Any]
    parameters: dict[str, Any]
    fingerprint: str
    verdict: Verdict
    reason: str = ""
    notes: list[str] = []
    anomalies: list[str] = []
    """What is odd about the run, by name: `flat_loss`, `swap_used` and others."""
    imported: str = ""
    """The kind and name of the file that the run was made from; empty where Prumo measured."""
    log_sha256: str = ""
    """Of the file that the run was made from."""
    started: str = ""
    order: int = 0
    wall_seconds: float | None = None
    """Of the process; None where none was started."""
    exit_code: int | None = None
    signal: int | None = None
    device: str = ""
    threads: int | None = None
    settings: dict[str, Any] = {}
    """How the run was measured and held, as the study's `measure` said."""
    metrics: dict[str, float] = {}
    spreads: dict[str, Spread] = {}
    """Of the metrics that are means of several measurements: a published summary was imported."""
    machine: dict[str, Any] = {}
    versions: dict[str, str] = {}
    build: dict[str, Any] = {}
    data: dict[str, Any] = {}
    network: dict[str, Any] = {}
    environment: dict[str, Any] = {}
    sampler: SamplerCost | None = None


def read_kept(path: Path, model: type[ModelT], advice: str) -> ModelT | None:
    """What is kept in a file of a results folder; None where there is no such file.

    Raises:
        StorageError: It is there and cannot be read; `advice` says what to do then.
    """
    try:
        return model.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}. {advice}") from error
    except ValidationError as error:
        first = error.errors()[0]
        reason = ": ".join(filter(None, [".".join(map(str, first["loc"])), first["msg"]]))
        raise StorageError(f"cannot read {path}: {reason}. {advice}") from error


def trained_architectures(records: Iterable[RunRecord]) -> dict[Architecture, tuple[str, ...]]:
    """Every architecture of finished trainings, with the frameworks that trained it.

    Imported runs are left out: their logs do not say what was trained on which images.
    """
    return frameworks_of(
        (architecture, str(framework))
        for record in records
        if record.verdict is Verdict.FINISHED and not record.imported
        if (framework := record.parameters.get("framework")) is not None
        if (architecture := _architecture(record))
    )


def _architecture(record: RunRecord) -> Architecture | None:
    """What a training says of itself; a command's program says less."""
    try:
        return Architecture(
            network=str(record.parameters["network"]),
            image_size=int(record.parameters["image_size"]),
            channels=int(record.data["shape"][0]),
            classes=int(record.data["classes"]),
        )
    except (KeyError, IndexError, TypeError, ValueError):
        return None
