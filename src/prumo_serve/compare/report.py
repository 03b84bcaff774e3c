"""A comparison for people, as tables and sentences, and for programs, as one document."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from prumo.message import counted
from prumo.quantity import MISSING, Quantity, scale_of
from prumo.statistics.comparison import holm
from prumo.statistics.interval import DEFAULT_CONFIDENCE
from prumo_serve.compare.quality import seen_sentences

if TYPE_CHECKING:
    from rich.console import Console

    from prumo.statistics.interval import Interval, Ratio
    from prumo_serve.compare.comparison import Comparison, Material, Pairing, Row
    from prumo_serve.estimates import Estimate

_SMALLEST_P = 0.001
_DIGITS = 3
_FIGURES = ("accuracy", "sensitivity", "specificity", "auc", "kappa")


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Tables of what was measured and judged, and what they show."""
    console.print(_speed_table(comparison))
    console.print(_measured_note(comparison))
    if comparison.material is not None:
        console.print()
        console.print(_quality_table(comparison))
        console.print(_judged_note(comparison.material))
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
            str(Quantity(timing.resident_bytes, "B", _DIGITS)),
            str(Quantity(timing.peak_bytes, "B", _DIGITS)),
            _interval(timing.latency, "s"),
            str(Quantity(timing.p95, "s", _DIGITS)),
            _interval(timing.images_per_second, ""),
        )
    return table


def _measured_note(comparison: Comparison) -> Text:
    pace = comparison.pace
    return Text(
        f"Start: process to first answer, mean of {pace.starts}. Memory: RSS after the rounds, and "
        f"at most. Latency: one image, {counted(pace.threads, 'thread')}, mean of the medians of "
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
    pairings = [row.pairing for row in comparison.rows if row.pairing is not None]
    paired = {"same_label": "same label"} if pairings else {}
    if any(pairing.same_decision for pairing in pairings):
        paired["same_decision"] = f"same {pairings[0].decision}"
    for title in (*shown, *paired.values()):
        table.add_column(title, justify="right")
    for row in comparison.rows:
        table.add_row(
            Text(row.variant),
            *(_estimate(getattr(row.quality, name)) for name in shown),
            *(_estimate(getattr(row.pairing, name, None)) for name in paired),
        )
    return table


def _judged_note(material: Material) -> Text:
    parts = [f"{material.images} images of {material.folder}"]
    if material.ungradable:
        parts.append(f"{material.ungradable} more cannot be judged by any network")
    parts += [f"{count} left out: {reason}" for reason, count in material.left_out.items()]
    return Text("; ".join(parts) + ".")


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
            "resident_bytes": timing.resident_bytes,
            "peak_bytes": timing.peak_bytes,
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
            "with_first": _pairing_document(row.pairing) if row.pairing else None,
        }
    )
    return document


def _pairing_document(pairing: Pairing) -> dict[str, Any]:
    """The agreement on a decision under the name that its task has for it."""
    document = asdict(pairing)
    name, same = document.pop("decision"), document.pop("same_decision")
    return {**document, f"same_{name}": same} if name else document


def _interval_document(interval: Interval) -> dict[str, float | int | None]:
    return {"n": interval.n, "mean": interval.mean, "low": interval.low, "high": interval.high}


def _plain(value: Any) -> Any:  # noqa: ANN401 (any part of a document)
    """What is no finite number as null, which is all that JSON has for it."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def sentences(comparison: Comparison) -> list[str]:
    """Every other variant beside the first one: its speed, its answers, and how often it is right.

    The p values of all variants are corrected together: of speed as its intervals are, of
    rightness after Holm.
    """
    first, others = comparison.first, comparison.rows[1:]
    found = list(seen_sentences(comparison))
    found += [_speed(row, first, comparison.speed_up(row)) for row in others]
    judged = [(row, row.pairing) for row in others if row.pairing is not None]
    right_ps = holm([pairing.p_value for _, pairing in judged])
    for (row, pairing), p_value in zip(judged, right_ps, strict=True):
        found.append(_agreement(row, first, pairing))
        if pairing.same_label.value < 1:
            found.append(_rightness(row, first, pairing, p_value))
    return found


def _speed(row: Row, first: Row, ratio: Ratio) -> str:
    p_value = ratio.p_value
    if ratio.low is None or ratio.high is None or p_value is None:
        return f"One round does not tell whether {row.variant} is faster than {first.variant}."
    if p_value >= 1 - DEFAULT_CONFIDENCE:
        return (
            f"No difference in speed between {row.variant} and {first.variant} is shown "
            f"({ratio.value:.2f} times as fast, {ratio.low:.2f} to {ratio.high:.2f}; "
            f"{_p_value_text(p_value)})."
        )
    word, shown = ("faster", ratio) if ratio.value >= 1 else ("slower", ratio.inverse)
    return (
        f"{row.variant} is {shown.value:.2f} times {word} than {first.variant} (95 % interval "
        f"{shown.low:.2f} to {shown.high:.2f}; {_p_value_text(p_value)})."
    )


def _agreement(row: Row, first: Row, pairing: Pairing) -> str:
    text = f"{row.variant} gives {_same(pairing.same_label, 'label', first)}"
    if pairing.same_decision is not None:
        text += f", and {_same(pairing.same_decision, pairing.decision, first)}"
    return f"{text}; probabilities differ by at most {pairing.largest_difference:.2g}."


def _same(same: Estimate, what: str, first: Row) -> str:
    changed = round((1 - same.value) * same.n)
    counted = (
        f"another {what} than {first.variant} to {changed} of {same.n} images"
        if changed
        else f"the same {what} as {first.variant} to all {same.n} images"
    )
    if same.low is None or same.high is None:
        return counted
    return f"{counted} (agreement {same.value:.1%}, {same.low:.1%} to {same.high:.1%})"


def _rightness(row: Row, first: Row, pairing: Pairing, p_value: float) -> str:
    counts = (
        f"{pairing.only_other_right} images only {row.variant} gets right, "
        f"{pairing.only_first_right} only {first.variant} ({_p_value_text(p_value)})"
    )
    if p_value >= 1 - DEFAULT_CONFIDENCE:
        return f"That {row.variant} or {first.variant} is right more often is not shown: {counts}."
    better = row if pairing.only_other_right > pairing.only_first_right else first
    return f"{better.variant} is right more often: {counts}."


def _p_value_text(p_value: float) -> str:
    return f"p = {p_value:.3f}" if p_value >= _SMALLEST_P else f"p < {_SMALLEST_P}"
