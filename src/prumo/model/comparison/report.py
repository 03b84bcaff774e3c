"""A comparison for people, as tables and sentences, and for programs, as one document."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from prumo.model.comparison.sentences import sentences
from prumo.quantity import MISSING, Quantity, scale_of

if TYPE_CHECKING:
    from rich.console import Console

    from prumo.model.comparison.comparison import Comparison, Row
    from prumo.retina.judge.estimate import Estimate
    from prumo.statistics.interval import Interval

_DIGITS = 3
_FIGURES = ("accuracy", "sensitivity", "specificity", "auc", "kappa")


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Tables of what was measured and judged, and what they show."""
    console.print(_speed_table(comparison))
    console.print(_measured_note(comparison))
    if comparison.material is not None:
        console.print()
        console.print(_quality_table(comparison))
        console.print(_judged_note(comparison))
    for sentence in sentences(comparison):
        console.print(Text(sentence))


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """Everything that was found, with null where there is no number."""
    material = comparison.material
    return {
        "pace": asdict(comparison.pace),
        "images": None
        if material is None
        else {**asdict(material), "folder": str(material.folder)},
        "variants": [_row_document(row, comparison) for row in comparison.rows],
        "sentences": sentences(comparison),
    }


def _speed_table(comparison: Comparison) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("variant", "runtime", "precision"):
        table.add_column(title)
    for title in ("size", "start", "memory", "peak", "latency", "p95", "images/s"):
        table.add_column(title, justify="right")
    for row in comparison.rows:
        timing = row.timing
        table.add_row(
            Text(row.variant),
            row.manifest.network.runtime,
            row.manifest.network.precision,
            str(Quantity(row.network_bytes, "B", _DIGITS)),
            _interval(timing.start, "s"),
            str(Quantity(timing.memory.resident, "B", _DIGITS)),
            str(Quantity(timing.memory.peak, "B", _DIGITS)),
            _interval(timing.latency, "s"),
            str(Quantity(timing.p95, "s", _DIGITS)),
            _interval(timing.images_per_second, ""),
        )
    return table


def _measured_note(comparison: Comparison) -> Text:
    pace = comparison.pace
    return Text(
        f"Start: process to first answer, mean of {pace.starts}. Memory: RSS after the rounds, and "
        f"at most. Latency: one image, {_threads(pace.threads)}, mean of the medians of "
        f"{pace.rounds} interleaved rounds. Images/s: {pace.callers} callers at once. "
        "Brackets: 95 % intervals."
    )


def _quality_table(comparison: Comparison) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("variant")
    shown = [
        name
        for name in _FIGURES
        if any(getattr(row.quality, name, None) for row in comparison.rows)
    ]
    paired = [
        name
        for name in ("same_label", "same_referral")
        if any(getattr(row.pairing, name, None) for row in comparison.rows)
    ]
    for title in (*shown, *paired):
        table.add_column(title.replace("_", " "), justify="right")
    for row in comparison.rows:
        table.add_row(
            Text(row.variant),
            *(_estimate(getattr(row.quality, name)) for name in shown),
            *(_estimate(getattr(row.pairing, name, None)) for name in paired),
        )
    return table


def _judged_note(comparison: Comparison) -> Text:
    material = comparison.material
    if material is None:
        return Text()
    parts = [f"{material.images} images of {material.folder}"]
    if material.ungradable:
        parts.append(f"{material.ungradable} more cannot be judged by any network")
    parts += [f"{count} left out: {reason}" for reason, count in material.left_out.items()]
    return Text("; ".join(parts) + ".")


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def _interval(interval: Interval, unit: str) -> str:
    scale = scale_of(interval.mean, unit, digits=_DIGITS)
    if interval.low is None:
        return scale.text(interval.mean)
    return f"{scale.text(interval.mean)} {scale.interval(interval.low, interval.high)}"


def _estimate(estimate: Estimate | None) -> str:
    if estimate is None or not isfinite(estimate.value):
        return MISSING
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def _row_document(row: Row, comparison: Comparison) -> dict[str, Any]:
    timing = row.timing
    is_first = row is comparison.first
    document: dict[str, Any] = _plain(
        {
            "name": row.variant,
            "model": {"name": row.manifest.name, "version": row.manifest.version},
            "runtime": row.manifest.network.runtime,
            "precision": row.manifest.network.precision,
            "network_bytes": row.network_bytes,
            "start_seconds": _interval_document(timing.start),
            "resident_bytes": timing.memory.resident,
            "peak_bytes": timing.memory.peak,
            "latency_seconds": {
                **_interval_document(timing.latency),
                "median": timing.median,
                "p95": timing.p95,
                "round_medians": list(timing.round_medians),
            },
            "images_per_second": _interval_document(timing.images_per_second),
            "speed_up": None if is_first else asdict(comparison.speed_up(row)),
            "quality": asdict(row.quality) if row.quality else None,
            "seen_images": row.seen,
            "with_first": asdict(row.pairing) if row.pairing else None,
        }
    )
    return document


def _interval_document(interval: Interval) -> dict[str, float | int | None]:
    return {"n": interval.n, "mean": interval.mean, "low": interval.low, "high": interval.high}


def _plain(value: Any) -> Any:  # noqa: ANN401 (any part of a document)
    """What is no finite number as null, which is all that JSON has for it."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value
