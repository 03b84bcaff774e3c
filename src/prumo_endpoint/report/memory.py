"""The figure of memory sizes: time and cost on one chart, with the sizes that are worth it."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from prumo.message import Message
from prumo.report.figures.figure import (
    INK,
    PALETTE,
    PLAIN_NUMBER,
    SHAPES,
    axis_title,
    draw,
    panel_title,
    plain,
)
from prumo.report.label import levels_label
from prumo_endpoint.report.figures import LATENCY, MOST_LINES, WIDTH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prumo.report.content import Report
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language

PANEL_HEIGHT = 230
# Above the lines: a row for each mark, so that no two ever meet.
MARK_PIXELS = 14
MARKS = {
    "fastest": Message("fastest"),
    "cheapest": Message("cheapest"),
    "balanced": Message("balanced"),
}
# An interval that is longer is cut, or nothing else would be seen.
LONGEST_INTERVAL = 1.5
# Sizes further apart than that are spread by their ratios.
LOGARITHMIC_RATIO = 8


def memory_figures(
    report: Report, memory_mb: Mapping[str, int], language: Language
) -> list[Figure]:
    """Mean latency and cost over the memory of an instance, a panel per other levels."""
    money = report.cost_metric
    known = set(report.summary["metric"])
    metrics = [metric for metric in (LATENCY, money) if metric is not None and metric in known]
    if LATENCY not in metrics:
        return []
    others = [
        factor for factor in report.varying if factor not in {"machine", "environment", "memory_mb"}
    ]
    tables = {metric: _table(report, metric, memory_mb, others) for metric in metrics}
    sizes = sorted(set(tables[LATENCY]["memory"].to_list()))
    if len(sizes) < 2:  # noqa: PLR2004 (one is no choice)
        return []
    labels = tables[LATENCY]["label"].unique(maintain_order=True).to_list()[:MOST_LINES]
    marks = {label: _marked(tables, label) for label in labels}
    plots = [
        _panel(tables, label, marks[label], sizes, language).properties(title=panel_title(label))
        for label in labels
    ]
    sentences = [
        Message("Mean of the runs, with its confidence interval; both axes start at zero."),
        Message("The balanced size has the least product of time and cost.") if money else None,
        *(_sentence(label, marks[label]) for label in labels),
    ]
    chart = alt.vconcat(*plots, spacing=18)
    return [draw(chart, "memory", Message("Time and cost against memory"), sentences, language)]


def _table(
    report: Report, metric: str, memory_mb: Mapping[str, int], others: Sequence[str]
) -> pl.DataFrame:
    """Label, memory, mean and interval of each scenario whose memory is known."""
    per = 1.0 if metric == LATENCY else 1000.0
    rows = [
        {
            "label": levels_label(row, others),
            "memory": memory_mb[row["scenario"]],
            "unit": row["unit"],
            **{
                name: None if row[column] is None else row[column] * per
                for name, column in (("value", "mean"), ("low", "ci_low"), ("high", "ci_high"))
            },
        }
        for row in report.metric_summary(metric).iter_rows(named=True)
        if row["scenario"] in memory_mb
    ]
    schema = {"label": pl.String, "memory": pl.Int64, "unit": pl.String}
    numbers = dict.fromkeys(("value", "low", "high"), pl.Float64)
    return pl.DataFrame(rows, schema={**schema, **numbers}).sort("memory")


def _marked(tables: Mapping[str, pl.DataFrame], label: str) -> dict[str, int]:
    """The fastest, the cheapest and the balanced size; without costs the fastest alone."""
    time, *money = (table.filter(pl.col("label") == label) for table in tables.values())
    found = {"fastest": _least(time)}
    if money and money[0].height:
        both = time.join(money[0], on="memory", suffix="_cost")
        product = both.with_columns(value=pl.col("value") * pl.col("value_cost"))
        found |= {"cheapest": _least(money[0]), "balanced": _least(product)}
    return found


def _least(table: pl.DataFrame) -> int:
    return int(table.sort("value")["memory"][0])


def _sentence(label: str, marks: Mapping[str, int]) -> Message | None:
    if len(marks) < len(MARKS):
        return None
    if not label:
        return Message(
            "Fastest with {fastest} MB, cheapest with {cheapest} MB, balanced with {balanced} MB.",
            marks,
        )
    return Message(
        "{label}: fastest with {fastest} MB, cheapest with {cheapest} MB, balanced with "
        "{balanced} MB.",
        {"label": label, **marks},
    )


def _panel(
    tables: Mapping[str, pl.DataFrame],
    label: str,
    marks: Mapping[str, int],
    sizes: Sequence[int],
    language: Language,
) -> Any:  # noqa: ANN401 (Altair)
    x = _memory_axis(sizes, language)
    names = (Message("Mean latency"), Message("Cost per 1,000 answers"))
    lines = [
        _line(table.filter(pl.col("label") == label), place, names[place], x, language)
        for place, table in enumerate(tables.values())
    ]
    rows = [
        {"memory": marks[name], "word": language.say(word), "row": place}
        for place, (name, word) in enumerate(MARKS.items())
        if name in marks
    ]
    table = pl.DataFrame(rows)
    rules = (
        alt.Chart(table.unique("memory"))
        .mark_rule(color=INK, strokeDash=[2, 3], opacity=0.7)
        .encode(x=x)
    )
    texts = [
        alt.Chart(table.filter(pl.col("row") == place))
        .mark_text(color=INK, fontSize=11, align="left", dx=4, fontWeight="bold")
        .encode(x=x, y=alt.value(8 + MARK_PIXELS * place), text="word:N")
        for place in table["row"]
    ]
    return (
        alt.layer(alt.layer(rules, *texts), *lines)
        .resolve_scale(y="independent")
        .properties(width=WIDTH, height=PANEL_HEIGHT)
    )


def _memory_axis(sizes: Sequence[int], language: Language) -> Any:  # noqa: ANN401 (Altair)
    first, last = sizes[0], sizes[-1]
    if last / first > LOGARITHMIC_RATIO:
        margin = (last / first) ** 0.08
        scale = plain(type="log", domain=[first / margin, last * margin], nice=False)
    else:
        # The words of a mark stand to the right of their size.
        apart = last - first
        scale = plain(domain=[first - 0.06 * apart, last + 0.2 * apart], nice=False, zero=False)
    return alt.X(
        "memory:Q",
        title=axis_title(Message("Memory of an instance"), "MB", language),
        scale=scale,
        axis=plain(values=list(sizes), format=",d", labelOverlap=True),
    )


def _line(
    table: pl.DataFrame,
    place: int,
    name: Message,
    x: Any,  # noqa: ANN401 (Altair)
    language: Language,
) -> Any:  # noqa: ANN401 (Altair)
    """Time on the left axis, cost on the right one, each in its colour from zero."""
    color = PALETTE[place]
    scale = language.scale(median(table["value"]), table["unit"][0])
    numbers = pl.col("value", "low", "high") / scale.factor
    table = table.with_columns(numbers)
    cut = LONGEST_INTERVAL * max(table["value"])
    table = table.with_columns(
        low=pl.col("low").clip(lower_bound=0), high=pl.col("high").clip(upper_bound=cut)
    )
    top = max([*table["value"], *table["high"].drop_nulls()])
    room = PANEL_HEIGHT / (PANEL_HEIGHT - MARK_PIXELS * len(MARKS) - 10)
    y = alt.Y(
        "value:Q",
        title=axis_title(name, scale.unit, language),
        scale=plain(domain=[0, top * room], nice=False),
        axis=plain(
            orient="left" if place == 0 else "right",
            titleColor=color,
            grid=place == 0,
            tickCount=6,
            format=PLAIN_NUMBER,
        ),
    )
    base = alt.Chart(table).encode(x=x, color=alt.value(color))
    return alt.layer(
        base.mark_line(strokeWidth=1.8).encode(y=y),
        base.mark_rule(strokeWidth=1.4).encode(
            y=alt.Y("low:Q", title=axis_title(name, scale.unit, language)), y2="high:Q"
        ),
        base.mark_point(filled=True, size=60, opacity=1, shape=SHAPES[place]).encode(y=y),
    )
