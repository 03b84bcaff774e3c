"""How figures place their parts, without drawing them."""

from __future__ import annotations

import re

import polars as pl
import pytest

from prumo.report.figures.curves import curves_of, in_two_lines, loss_figures
from prumo.report.figures.figure import axis_title, layout
from prumo.report.figures.pareto import PixelAxis, free_places
from prumo.report.language import english
from prumo.statistics.training import losses_of

EVENTS = {"run": pl.String, "epoch": pl.Int64, "step": pl.Int64, "seconds": pl.Float64} | {
    "loss": pl.Float64
}


def test_a_name_stands_beside_its_point_and_covers_nothing() -> None:
    points = [(50.0, 50.0), (56.0, 50.0), (50.0, 60.0)]
    places = free_places(["C1", "C2"], points, (200, 100))

    assert [place.name for place in places] == ["C1", "C2"]
    boxes = [place.box for place in places]
    assert boxes[0][2] <= boxes[1][0] or boxes[1][2] <= boxes[0][0]
    assert not any(
        left < x < right and low < y < high for left, low, right, high in boxes for x, y in points
    )


def test_a_name_keeps_off_a_line_as_long_as_there_is_other_room() -> None:
    level, upright = (0.0, 50.0, 200.0, 50.0), (100.0, 0.0, 100.0, 100.0)
    (place,) = free_places(["C1"], [(100.0, 50.0)], (200, 100), [level, upright])
    left, low, right, high = place.box

    assert high < 50 or low > 50
    assert right < 100 or left > 100
    assert free_places(["C1"], [(100.0, 50.0)], (200, 100), [(0.0, 0.0, 200.0, 100.0)])


def test_an_axis_calls_a_users_own_metric_by_words_and_its_unit_once() -> None:
    assert axis_title("full_latency_seconds", "ms", english()) == "full latency [ms]"
    assert axis_title("images_seen", "", english()) == "images seen"


def test_a_run_of_few_steps_has_a_line_and_the_caption_tells_of_the_smoothing() -> None:
    lengths = {"C1": 32, "C2": 8, "C3": 1}
    steps = [
        {"run": name, "epoch": 1, "step": step, "seconds": 1.0, "loss": 2.0 / step}
        for name, count in lengths.items()
        for step in range(1, count + 1)
    ]
    losses = losses_of(pl.LazyFrame(schema=EVENTS), pl.LazyFrame(steps, schema=EVENTS))
    runs = pl.DataFrame({"run": [*lengths], "scenario": [*lengths], "batch_size": [16, 64, 512]})
    (figure,) = loss_figures(losses, runs, ["batch_size"], english())

    lines = re.findall(r'd="M[^"]*L[^"]*" stroke="[^"]*" stroke-width="1.6"', figure.svg)
    points = re.findall(r"mark-symbol role-mark[^>]*>(<path[^>]*>)+</g>", figure.svg)
    assert (len(lines), len(points)) == (2, 1)
    assert "5 % of the run" in figure.caption


def test_a_name_without_room_is_left_out() -> None:
    assert free_places(["C1"], [(10.0, 10.0)], (20, 20)) == []


@pytest.mark.parametrize("logarithmic", [False, True])
def test_values_lie_inside_of_an_axis(logarithmic: bool) -> None:
    axis = PixelAxis.of([2.0, 30.0], 100, logarithmic=logarithmic)

    assert 0 < axis.pixel(2.0) < axis.pixel(30.0) < 100


@pytest.mark.parametrize(
    ("label", "lines"),
    [
        ("C1: cpu · mxnet", ["C1: cpu · mxnet"]),
        (
            "C21: cpu · tensorflow · cifar10 · 32 · rede1",
            ["C21: cpu · tensorflow", "cifar10 · 32 · rede1"],
        ),
        ("a-name-of-one-word-that-is-long", ["a-name-of-one-word-that-is-long"]),
    ],
)
def test_a_long_label_is_broken_between_levels(label: str, lines: list[str]) -> None:
    assert in_two_lines(label).split("\n") == lines


def test_many_rows_are_parted_by_the_first_factor_and_coloured_by_the_second() -> None:
    rows = layout(
        _scenarios({"machine": ["cpu", "gpu"], "framework": ["a", "b", "c"]}, times=2), FACTORS
    )

    assert [panel.title for panel in rows.panels] == ["machine: cpu", "machine: gpu"]
    assert rows.color_factor == "framework"
    assert rows.panels[0].labels["C1"] == "C1: a"


def test_few_rows_stay_in_one_panel() -> None:
    rows = layout(_scenarios({"machine": ["cpu", "gpu"], "framework": ["a", "b", "c"]}), FACTORS)

    assert [panel.title for panel in rows.panels] == [""]
    assert rows.color_factor == "machine"


def test_batch_sizes_are_curves_in_the_order_of_their_sizes() -> None:
    table = _scenarios({"batch_size": [8, 2, 4], "framework": ["a", "b"]})
    curves = curves_of(table, ["batch_size", "framework"], preferred="batch_size")

    assert curves.factor == "batch_size"
    assert curves.levels == ["2", "4", "8"]
    assert curves.panel_order == ["a", "b"]


FACTORS = ["machine", "framework"]


def _scenarios(factors: dict[str, list[object]], times: int = 1) -> pl.DataFrame:
    """Every combination, so many times, as scenarios C1, C2, …"""
    first, second = factors
    rows = [
        {first: one, second: other}
        for one in factors[first]
        for _ in range(times)
        for other in factors[second]
    ]
    return pl.DataFrame(rows).with_columns(
        scenario=pl.Series([f"C{number}" for number in range(1, len(rows) + 1)])
    )
