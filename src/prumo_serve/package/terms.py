"""How a model must be used: what it says itself, and what whoever packages it adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from prumo.errors import InputError, did_you_mean
from prumo_serve.manifest import NORMALIZATIONS, ImagePreprocessing, OperatingPoint
from prumo_serve.task import task_named

if TYPE_CHECKING:
    from prumo_serve.manifest import Layout, RuntimeName
    from prumo_serve.source import ModelMetadata, Source

Fit = Literal["stretch", "crop", "pad"]


class MissingSettingsError(InputError):
    """Neither the model nor its user says how it is used."""

    def __init__(self, path: Path, missing: Mapping[str, str]) -> None:
        flags = "".join(f"\n  {flag} ({meaning})" for flag, meaning in missing.items())
        super().__init__(f"{path} does not tell how it is used; give also{flags}")
        self.missing = missing
        """Flags with an example, and what each of them means."""


@dataclass(frozen=True)
class PackageRequest:
    """What a user says about a model; empty or None where the model itself is to say it."""

    name: str = ""
    task: str | None = None
    labels: tuple[str, ...] = ()
    size_pixels: int | None = None
    """Side of the square that the network takes, where it would take any."""
    normalization: str | None = None
    layout: Layout | None = None
    fit: Fit | None = None
    points: tuple[str, ...] = ()
    """`NAME=THRESHOLD`, or the name of a point that the model has; the first decides."""
    card: str = ""
    language_tag: str = "en"
    """Of the short card that a model gets which brings none."""
    runtime: RuntimeName = "onnxruntime"


def agreed_terms(source: Source, request: PackageRequest) -> ModelMetadata:
    """What model and user say together; an error names all that neither of them says."""
    metadata = source.metadata
    _require_silence(source, request)
    task = metadata.task or request.task or "classification"
    meaning = task_named(task)
    labels = metadata.labels or request.labels or meaning.labels
    normalization = metadata.normalization or request.normalization or ""
    points, point = _points(metadata, request)
    missing = {}
    if not labels:
        missing["--labels red,green,blue"] = "the classes in the order of its outputs"
    if not normalization:
        missing["--normalization NAME"] = f"its pixels: {', '.join(NORMALIZATIONS)}"
    if meaning.point_meaning and not point:
        missing["--point NAME=THRESHOLD"] = meaning.point_meaning
    if missing:
        raise MissingSettingsError(source.path, missing)
    _require_as_many(labels, source)
    if normalization not in NORMALIZATIONS:
        known = did_you_mean(normalization, NORMALIZATIONS)
        raise InputError(f"no normalization '{normalization}': {known}")
    return replace(
        metadata,
        name=request.name or metadata.name,
        task=task,
        labels=labels,
        normalization=normalization,
        preprocessing=metadata.preprocessing or ImagePreprocessing(fit=request.fit or "stretch"),
        points=points,
        point=point,
        card=request.card or metadata.card,
    )


def _require_silence(source: Source, request: PackageRequest) -> None:
    """Refuse a request about what the model itself says."""
    metadata = source.metadata
    spoken = {
        "--task": metadata.task and request.task and metadata.task != request.task,
        "--labels": metadata.labels and request.labels,
        "--fit": metadata.preprocessing and request.fit,
        "--normalization": metadata.normalization
        and request.normalization
        and NORMALIZATIONS.get(request.normalization, ...)
        != NORMALIZATIONS[metadata.normalization],
    }
    for flag, contradicts in spoken.items():
        if contradicts:
            raise InputError(f"{source.path} says itself how it is used: leave {flag} out")


def _require_as_many(labels: tuple[str, ...], source: Source) -> None:
    """Refuse another number of labels than the network has outputs, before it is converted."""
    outputs = source.metadata.outputs
    # One number can stand for two labels: the probability of the second.
    if outputs is None or len(labels) == outputs or (outputs, len(labels)) == (1, 2):
        return
    raise InputError(
        f"{source.path} gives {outputs} numbers for each image, but there are {len(labels)} "
        "labels: give --labels one for each, in the order of its outputs"
    )


def _points(
    metadata: ModelMetadata, request: PackageRequest
) -> tuple[tuple[OperatingPoint, ...], str]:
    """All points, and the name of the one that decides."""
    points = {point.name: point for point in metadata.points}
    names = []
    for text in request.points:
        name, equals, threshold = text.partition("=")
        if equals:
            try:
                points[name] = OperatingPoint(name=name, threshold=float(threshold))
            except ValueError:
                raise InputError(
                    f"--point {text}: give a name without slashes, and as the threshold a "
                    "probability from 0 to 1"
                ) from None
        elif name not in points:
            known = did_you_mean(name, points) if points else "give a threshold too: NAME=0.5"
            raise InputError(f"the model has no operating point '{name}': {known}")
        names.append(name)
    return tuple(points.values()), names[0] if names else metadata.point


def given_labels(text: str) -> tuple[str, ...]:
    """Names with commas between, or those in the lines of a file.

    >>> given_labels("cat, dog")
    ('cat', 'dog')
    """
    path = Path(text)
    try:
        is_file = bool(text) and path.is_file()
        parts = path.read_text("utf-8").splitlines() if is_file else text.split(",")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{text[:80]}: labels cannot be read: {error}") from error
    labels = tuple(part.strip() for part in parts if part.strip())
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise InputError(f"two classes have the same label: {', '.join(twice)}")
    return labels
