"""Where the time of a step goes: a bar per scenario, shared out by kind of operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from prumo.analyse.profile import OperationKind
from prumo.report.figures.figure import FAINT, PALETTE, draw, plain
from prumo.report.label import row_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.analyse.profile import ScenarioProfile
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language

ROW_PIXELS = 22
PLOT_PIXELS = 600
LABEL_PIXELS = 330
_COLORS = {
    OperationKind.CONVOLUTION: PALETTE[0],
    OperationKind.MATRIX_PRODUCT: PALETTE[1],
    OperationKind.OTHER: FAINT,
}


def profiles_figure(
    profiles: Sequence[ScenarioProfile],
    runs: pl.DataFrame,
    factors: Sequence[str],
    language: Language,
) -> Figure:
    """Convolutions and matrix products at a glance."""
    rows = runs.select("scenario", *factors).unique("scenario").rows(named=True)
    labels = {row["scenario"]: row_label(row, factors) for row in rows}
    table = pl.DataFrame(
        [
            {
                "label": labels[profile.scenario],
                "kind": language.say(kind.value),
                "place": place,
                "percent": 100 * share,
            }
            for profile in profiles
            for place, (kind, share) in enumerate(profile.shares.items())
        ]
    )
    kinds = [language.say(kind.value) for kind in OperationKind]
    chart = (
        alt.Chart(table)
        .mark_bar()
        .encode(
            x=alt.X(
                "percent:Q",
                title=language.say("Share of all operations' own time [%]"),
                scale=plain(domain=[0, 100]),
            ),
            y=alt.Y(
                "label:N",
                sort=[labels[profile.scenario] for profile in profiles],
                title=None,
                axis=plain(labelLimit=LABEL_PIXELS, ticks=False, domain=False, labelPadding=8),
            ),
            color=alt.Color(
                "kind:N",
                sort=kinds,
                scale=plain(domain=kinds, range=list(_COLORS.values())),
                legend=plain(title=None, orient="top"),
            ),
            order="place:Q",
        )
        .properties(width=PLOT_PIXELS, height=alt.Step(ROW_PIXELS))
    )
    return draw(
        chart,
        "profiles",
        language.say("Where the time of a step goes"),
        language.say(
            "By the framework's own profiler, in steps after the timed ones: own time of each "
            "operation, summed over threads. Profiling slows a step down; compare shares, not "
            "times."
        ),
        language,
    )
