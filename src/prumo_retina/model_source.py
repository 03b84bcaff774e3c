"""A folder that `prumo retina train` wrote: it tells everything about its own use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_retina.model import MODEL_FILE, NETWORK_FILE, SEEN_FILE, open_model, read_seen
from prumo_retina.task import FundusPreprocessing, labels_of
from prumo_serve.manifest import INSIDE, OperatingPoint
from prumo_serve.source import ModelMetadata, Source

if TYPE_CHECKING:
    from pathlib import Path

# As `prumo_retina.evaluation.files` names them, whose imports take a second.
_CARDS = "evaluation/*/card.md"


def is_model(folder: Path) -> bool:
    """Whether a folder looks like a trained model, even one that is not whole."""
    return any((folder / name).is_file() for name in (MODEL_FILE, NETWORK_FILE))


def source(folder: Path) -> Source:
    """The model of a folder with its points, its temperature and its card."""
    opened = open_model(folder)
    description = opened.description
    metadata = ModelMetadata(
        name=description.name,
        created=description.created,
        task=description.task,
        labels=labels_of(description.task),
        normalization=INSIDE,
        preprocessing=FundusPreprocessing(
            preparation=description.preparation.model_dump(mode="json")
        ),
        temperature=description.temperature,
        points=tuple(
            OperatingPoint(name=point.name, threshold=point.threshold, rule=point.rule)
            for point in description.points
        ),
        point=description.point,
        card=newest_card(folder),
        seen=_seen(folder),
    )
    return Source(
        path=opened.network,
        format="retina",
        sha256=description.network_sha256,
        metadata=metadata,
    )


def _seen(folder: Path) -> tuple[str, ...]:
    """Only hashes: nothing else about a photograph leaves the folder."""
    if not (folder / SEEN_FILE).is_file():
        return ()
    return tuple(sorted({photograph.sha256 for photograph in read_seen(folder)} - {""}))


def newest_card(folder: Path) -> str:
    """The model card of the last evaluation; empty where the model was never evaluated."""
    cards = [path for path in folder.glob(_CARDS) if path.is_file()]
    if not cards:
        return ""
    newest = max(cards, key=lambda path: (path.stat().st_mtime_ns, path))
    return newest.read_text("utf-8")
