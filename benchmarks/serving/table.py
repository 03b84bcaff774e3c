"""What was measured, as Markdown."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from benchmarks.serving.limits import promises
from benchmarks.serving.load import pooled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.serving.limits import Promise
    from benchmarks.serving.load import Load
    from benchmarks.serving.trial import Measured, Trial

_COLUMNS = (
    *("server", "first answer (s)", "memory (MB)"),
    *("1 connection: requests/s", "p50", "p95", "p99 (ms)"),
    *("8 connections: requests/s", "p50", "p95", "p99 (ms)"),
    "errors",
)
_SHARES = (0.5, 0.95, 0.99)
# A percentile is told only where at least so many answers were slower.
_SLOWER_ANSWERS = 3


def told(trial: Trial, *, has_int8_units: bool) -> str:
    """The table of a network and what its figures keep of the promises."""
    return "\n".join(
        [
            f"### {trial.network}",
            "",
            _line(_COLUMNS),
            _line(["---", *["--:"] * (len(_COLUMNS) - 1)]),
            *map(_row, trial.servers.values()),
            *(_alone_row(precision, rates) for precision, rates in trial.alone.items()),
            "",
            *(_verdict(promise, has_int8_units) for promise in promises(trial)),
            "",
        ]
    )


def _verdict(promise: Promise, has_int8_units: bool) -> str:
    bound = "at most" if promise.at_most else "at least"
    verdict = "✓" if promise.is_kept else "✗ missed"
    if not promise.is_kept and not promise.fails(has_int8_units=has_int8_units):
        verdict += ", on a processor without int8 dot products: told, but not a failure"
    return f"- {promise.text}: {promise.value:.4g} (limit: {bound} {promise.limit:g}) {verdict}"


def _row(server: Measured) -> str:
    cells = [
        server.name,
        f"{server.first_answer_seconds:.2f}",
        f"{server.memory_bytes / 1e6:.0f}",
        *_load_cells(server.few),
        *_load_cells(server.many),
        str(server.errors),
    ]
    return _line(cells)


def _alone_row(precision: str, rates: Sequence[float]) -> str:
    name = f"the runtime alone, {precision}: no server, no decoding"
    return _line([name, *[""] * 6, f"{median(rates):.1f}", *[""] * 4])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _load_cells(loads: Sequence[Load]) -> list[str]:
    whole = pooled(loads)
    return [
        f"{whole.requests_per_second:.1f}",
        *(_percentile_cell(whole, share) for share in _SHARES),
    ]


def _percentile_cell(load: Load, share: float) -> str:
    slower = round(len(load.latencies_seconds) * (1 - share))
    return f"{load.percentile_seconds(share) * 1000:.1f}" if slower >= _SLOWER_ANSWERS else ""
