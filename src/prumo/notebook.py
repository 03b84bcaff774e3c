"""Running a study and reading its results from Python, as in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.forecast.document import expected_seconds
from prumo.results import tables
from prumo.run.events import Event, Listener, Remark, RunEnded
from prumo.run.execution import Selection, default_results, run_study
from prumo.run.preflight import Spending
from prumo.statistics.interval import DEFAULT_CONFIDENCE
from prumo.statistics.summary import summarise

if TYPE_CHECKING:
    import polars as pl

    from prumo.study import Study


class Results(tables.Results):
    """The results of a study, read in place, with their statistics.

    >>> results = Results("results/demo")  # doctest: +SKIP
    >>> results.summary()  # doctest: +SKIP
    """

    def summary(self, confidence: float = DEFAULT_CONFIDENCE) -> pl.DataFrame:
        """One row per scenario and metric: n, mean, standard deviation, interval, median."""
        return summarise(self.runs(), self.factors, self.metrics, confidence, self.spreads)


def run(  # noqa: PLR0913 (each is an option of its own)
    study: Study,
    results: Path | str | None = None,
    *,
    scenarios: Sequence[str] = (),
    only: str = "",
    replications: int | None = None,
    retry_failed: bool = False,
    check: bool = True,
    listener: Listener | None = None,
    yes: bool = False,
    max_cost_usd: float | None = None,
) -> Results:
    """Run what is missing of a study and read the results.

    Args:
        study: A study, from `Study.load` or `Study.from_dict`.
        results: Folder of the run folders; `results/NAME` by default.
        scenarios: Names such as `["C1", "C3"]`; all by default.
        only: A rule that a scenario must satisfy, such as `"batch_size <= 64"`.
        replications: Instead of the study's own number.
        retry_failed: Run again what failed.
        check: Prove first that compared frameworks train the same networks.
        listener: Called with every event; a line per run is printed by default.
        yes: Start runs that cost money; without it they are refused, after their preflight.
        max_cost_usd: The most that those may cost.

    Raises:
        KeyboardInterrupt: When the user stopped; what finished is kept.
    """
    folder = Path(results) if results is not None else default_results(study)
    selection = Selection(tuple(scenarios), only, replications, retry_failed)
    ended = run_study(
        study,
        folder,
        listener or _print_line,
        selection,
        check=check,
        expected_seconds=expected_seconds(folder),
        spending=Spending(lambda _: yes, max_cost_usd),
    )
    if ended.interrupted:
        raise KeyboardInterrupt
    return Results(folder)


def _print_line(event: Event) -> None:
    match event:
        case Remark(text):
            print(text)  # noqa: T201 (a notebook shows what is printed)
        case RunEnded(record):
            print(record.run, record.verdict, record.reason)  # noqa: T201 (as above)
