from __future__ import annotations

import json
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from prumo.errors import StudyError
from prumo.foreign.audit import TIMES, Audited, Judgement, audit
from prumo.foreign.claim_figures import Scenarios
from prumo.foreign.claims import load_claims
from prumo.quantity import MISSING
from prumo.report.audit import found_text, stated_text, verdict_text
from prumo.report.language import english
from prumo.results.record import Spread
from prumo.statistics.comparison import Verdict, compare

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from prumo.study import Level

MEANS = {
    ("cpu", 1): 100.0,
    ("cpu", 2): 80.0,
    ("cpu", 4): 40.0,
    ("gpu", 1): 10.0,
    ("gpu", 2): 5.0,
    ("gpu", 4): 2.5,
}
PLANNED: dict[str, tuple[Level, ...]] = {"device": ("cpu", "gpu", "tpu"), "batch": (1, 2, 4)}
OFFSETS = (-0.01, 0.0, 0.01)


def scenarios(
    offsets: tuple[float, ...] = OFFSETS,
    scale: Mapping[tuple[str, int], float] = MappingProxyType({}),
    **spreads: dict[str, Spread],
) -> Scenarios:
    return Scenarios(runs(offsets, scale), PLANNED, spreads)


def runs(offsets: tuple[float, ...], scale: Mapping[tuple[str, int], float]) -> pl.DataFrame:
    rows = [
        {
            "run": f"C{number:02d}-r{replication}",
            "scenario": f"C{number}",
            "replication": replication,
            "device": device,
            "batch": batch,
            "verdict": "finished",
            "reason": "",
            "wall_seconds": None,
            "order": 1,
            "train_seconds": MEANS[device, batch] * (1 + offset) * scale.get((device, batch), 1),
        }
        for number, (device, batch) in enumerate(product(("cpu", "gpu"), (1, 2, 4)), start=1)
        for replication, offset in enumerate(offsets, start=1)
    ]
    return pl.DataFrame(rows)


def audited(tmp_path: Path, known: Scenarios | None = None, **claim: Any) -> Audited:
    file = tmp_path / "claims.yaml"
    stated = {"says": "it is so", "metric": "train_seconds", **claim}
    file.write_text(json.dumps({"claims": [stated]}))
    (found,) = audit(load_claims(file), known or scenarios())
    return found


CPU1 = {"device": "cpu", "batch": 1}
GPU1 = {"device": "gpu", "batch": 1}


def test_a_mean_agrees_when_the_data_round_to_it(tmp_path: Path) -> None:
    assert audited(tmp_path, of=CPU1, mean="100").judgement is Judgement.AGREES
    assert audited(tmp_path, of=CPU1, mean="100.4").judgement is Judgement.DIFFERS
    assert audited(tmp_path, of=CPU1, mean="100.4", tolerance="1 %").judgement is Judgement.AGREES


def test_a_difference_is_told_with_its_sign_and_in_percent(tmp_path: Path) -> None:
    found = audited(tmp_path, of=CPU1, mean="80.5")
    assert found.difference == pytest.approx(19.5)
    assert found.difference_percent == pytest.approx(24.22, abs=0.01)
    assert verdict_text(found, english()) == "differs by +19.5 s (+24.2 %)"
    assert stated_text(found, english()) == "80.5 s ±0.05"
    assert found_text(found, english()) == "100 s"


def test_a_figure_that_the_data_cannot_rule_out_is_said_to_be_inside_the_interval(
    tmp_path: Path,
) -> None:
    found = audited(tmp_path, of=CPU1, mean="100.90")
    assert found.judgement is Judgement.DIFFERS
    assert verdict_text(found, english()).endswith("inside the interval")


@pytest.mark.parametrize(
    "statement",
    [
        {"times_less": "10.00", "of": GPU1, "than": {"device": "cpu"}},
        {"times_more": "10.00", "of": CPU1, "than": {"device": "gpu"}},
        {"percent_less": "90.0", "of": GPU1, "than": {"device": "cpu"}},
        {"percent_more": "900", "of": CPU1, "than": {"device": "gpu"}},
        {"spread_times_more": "10.0", "of": CPU1, "than": {"device": "gpu"}},
        {"standard_deviation": "1.000", "of": CPU1},
        {"population_standard_deviation": "0.816", "of": CPU1},
        {"median": "100.0", "of": CPU1},
        {"minimum": "99.0", "of": CPU1},
        {"maximum": "101.0", "of": CPU1},
        {"ordering": "less", "of": GPU1, "than": {"device": "cpu"}},
        {"ordering": "more", "of": CPU1, "than": {"device": "gpu"}},
        {"times_less": "10 to 16", "of": {"device": "gpu"}, "than": {"device": "cpu"}},
        {"times_less": "at least 10", "of": {"device": "gpu"}, "than": {"device": "cpu"}},
        {"mean": "73.3", "of": {"device": "cpu"}},
    ],
    ids=lambda statement: next(iter(statement)),
)
def test_each_kind_of_statement_can_agree(tmp_path: Path, statement: dict[str, Any]) -> None:
    assert audited(tmp_path, **statement).judgement is Judgement.AGREES


@pytest.mark.parametrize(
    "statement",
    [
        {"ordering": "less"},
        {"times_less": "4 to 6"},
        {"percent_less": "20"},
    ],
)
def test_the_opposite_of_what_the_data_say_is_contradicted(
    tmp_path: Path, statement: dict[str, Any]
) -> None:
    found = audited(tmp_path, of={"device": "cpu"}, than={"device": "gpu"}, **statement)
    assert found.judgement is Judgement.CONTRADICTED
    assert verdict_text(found, english()).startswith(
        "contradicted: the data clearly show the opposite"
    )


def test_an_ordering_that_the_data_cannot_tell_is_not_supported(tmp_path: Path) -> None:
    wide = scenarios((-0.9, 0.0, 0.9))
    one, other = {"device": "cpu", "batch": 1}, {"batch": 2}
    found = audited(tmp_path, wide, of=one, than=other, ordering="more")
    assert verdict_text(found, english()) == "not supported: the data show no clear difference"
    single = audited(tmp_path, scenarios((0.0,)), of=one, than=other, ordering="more")
    assert verdict_text(single, english()) == (
        "not supported: a single value on one side allows no test"
    )


def test_what_was_planned_and_not_measured_is_not_supported(tmp_path: Path) -> None:
    found = audited(tmp_path, of={"device": "tpu", "batch": 1}, mean="1")
    assert found.judgement is Judgement.NOT_SUPPORTED
    assert found_text(found, english()) == MISSING


def test_a_wrong_ratio_is_looked_for_in_other_pairs(tmp_path: Path) -> None:
    found = audited(tmp_path, of={"device": "gpu", "batch": 2}, than={"batch": 1}, times_less="4.0")
    assert found.judgement is Judgement.DIFFERS
    assert verdict_text(found, english()).splitlines() == [
        "differs by -2 (-50 %)",
        f"4.0 {TIMES} is batch 4 against batch 1",
    ]


def test_the_nearest_scenario_is_named_for_a_wrong_mean(tmp_path: Path) -> None:
    found = audited(tmp_path, of=CPU1, mean="80.0")
    assert verdict_text(found, english()).splitlines()[1] == "80.0 s is batch 2"


def test_a_claim_told_the_wrong_way_round_is_found_out(tmp_path: Path) -> None:
    found = audited(tmp_path, of={"device": "cpu"}, than={"device": "gpu"}, times_less="10 to 16")
    assert found.judgement is Judgement.CONTRADICTED
    assert f"10 to 16 {TIMES} is device gpu against device cpu" in verdict_text(found, english())


def test_a_range_must_hold_for_every_pair(tmp_path: Path) -> None:
    found = audited(
        tmp_path, of={"device": "gpu"}, than={"device": "cpu"}, times_less="at least 12"
    )
    assert found.judgement is Judgement.DIFFERS
    assert verdict_text(found, english()).startswith(
        "differs: 1 of 3 scenarios lie outside; they range from 10 to 16"
    )


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ({"median": "4 to 6"}, "differs by +94 s (+1,567 %)"),
        ({"standard_deviation": "at most 0.1"}, "differs by +0.900 s (+900 %)"),
    ],
)
def test_a_range_is_also_stated_of_other_figures_than_means(
    tmp_path: Path, statement: dict[str, Any], told: str
) -> None:
    assert verdict_text(audited(tmp_path, of=CPU1, **statement), english()).startswith(told)


def test_the_end_of_a_range_is_inside_it_whatever_the_last_bit_says(tmp_path: Path) -> None:
    less = {"of": {"device": "gpu", "batch": 1}, "than": {"device": "cpu"}}
    # 1.07 and 1.36 times means of 10 and 100: dividing them gives 10 but for the last bit.
    for offsets, stated in (((0.0, 0.07), "at least 10"), ((0.01, 0.36), "at most 10")):
        found = audited(tmp_path, scenarios(offsets), **less, times_less=stated)
        assert found.found is not None
        assert found.found.parts[0] != 10
        assert found.judgement is Judgement.AGREES


def test_an_ordering_on_average_tells_the_pairs_in_which_it_is_not_so(tmp_path: Path) -> None:
    # Of 40 s and 50 s at a batch of 4, the CPU's are the less.
    slow_gpu = scenarios(scale={("gpu", 4): 20.0})
    sides = {"of": {"device": "cpu"}, "than": {"device": "gpu"}}
    found = audited(tmp_path, slow_gpu, **sides, ordering="more")
    assert found.judgement is Judgement.AGREES_IN_PART
    assert verdict_text(found, english()) == (
        "agrees in part: on average it is so, in 1 of 3 pairs it is not"
    )


def test_an_ordering_is_judged_by_the_interval_that_compare_tells(tmp_path: Path) -> None:
    # By arithmetic means and the delta method, these runs would surely be told apart.
    wide = runs((-0.99, 0.0, 0.9), {("gpu", batch): 2.0 for batch in (1, 2, 4)})
    (pair,) = compare(wide, ["device", "batch"], "device", "train_seconds").pairs
    assert pair.ratio is not None
    sides = {"of": {"device": "cpu"}, "than": {"device": "gpu"}}
    found = audited(tmp_path, Scenarios(wide, PLANNED, {}), **sides, ordering="more")
    assert found.found is not None
    assert (found.found.value, found.found.low, found.found.high) == pytest.approx(
        (pair.ratio.value, pair.ratio.low, pair.ratio.high)
    )
    assert pair.verdict is Verdict.NOT_TOLD_APART
    assert found.judgement is Judgement.NOT_SUPPORTED


def test_values_of_zero_leave_no_ordering(tmp_path: Path) -> None:
    sides = {"of": CPU1, "than": {"device": "gpu"}}
    found = audited(tmp_path, scenarios((-1.0, 0.0)), **sides, ordering="more")
    assert verdict_text(found, english()) == (
        "not supported: not everything is above zero, so there is no ratio"
    )


def test_a_single_run_has_no_standard_deviation(tmp_path: Path) -> None:
    found = audited(tmp_path, scenarios((0.0,)), of=CPU1, standard_deviation="1")
    assert verdict_text(found, english()) == "not supported: a single run has no standard deviation"


@pytest.mark.parametrize(
    ("offsets", "spreads", "reason"),
    [
        ((0.0,), {}, "a single run has no standard deviation"),
        ((0.0, 0.0), {}, "not everything is above zero, so there is no ratio"),
        (
            (-1.0, 1.0),
            {"C1": {"train_seconds": Spread(n=5)}},
            "the published figures do not include",
        ),
    ],
)
def test_spreads_that_are_not_there_or_zero_have_no_ratio(
    tmp_path: Path, offsets: tuple[float, ...], spreads: dict[str, Any], reason: str
) -> None:
    sides = {"of": CPU1, "than": {"device": "gpu"}}
    found = audited(tmp_path, scenarios(offsets, **spreads), **sides, spread_times_more="1")
    assert verdict_text(found, english()).startswith(f"not supported: {reason}")


def test_what_follows_from_a_published_mean_is_no_measurement(tmp_path: Path) -> None:
    known = scenarios((0.0,), C1={"loss": Spread(n=5, standard_deviation=2.0)})
    assert audited(tmp_path, known, of=CPU1, median="100").judgement is Judgement.NOT_SUPPORTED
    assert audited(tmp_path, known, of=CPU1, mean="100").judgement is Judgement.AGREES


def test_numbers_as_levels_may_be_written_in_any_way(tmp_path: Path) -> None:
    assert audited(tmp_path, of={"device": "cpu", "batch": "1.0"}, mean="100").found is not None


def test_a_published_summary_is_judged_by_its_own_spread(tmp_path: Path) -> None:
    known = scenarios((0.0,), C1={"train_seconds": Spread(n=5, standard_deviation=2.0)})
    found = audited(tmp_path, known, of=CPU1, standard_deviation="2.0")
    assert found.judgement is Judgement.AGREES
    median = audited(tmp_path, known, of=CPU1, median="100")
    assert (
        verdict_text(median, english()) == "not supported: the published figures do not include it"
    )


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        ({"metric": "train_second"}, "claims[0].metric: no run has a metric 'train_second': did"),
        ({"metric": "cost_usd"}, "these results have no prices; `prumo reprice` gives them some"),
        ({"of": {"devic": "cpu"}}, "claims[0].of: no such factor; did you mean 'device'?"),
        ({"of": {"device": "cpus"}}, "'cpus' is not a level of device; did you mean 'cpu'?"),
        ({"of": {"device": "cpu"}, "mean": None, "median": "1"}, "`of` means 3; name more levels"),
        (
            {"of": CPU1, "than": {"batch": "1.0"}, "mean": None, "times_less": "1"},
            "claims[0].than: names the same levels as `of`",
        ),
    ],
)
def test_claims_about_what_there_is_not_are_refused(
    tmp_path: Path, claim: dict[str, Any], told: str
) -> None:
    stated = {key: value for key, value in {"mean": "1", **claim}.items() if value is not None}
    with pytest.raises(StudyError) as error:
        audited(tmp_path, **stated)
    assert told in str(error.value)
