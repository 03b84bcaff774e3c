"""What the sections of the page hold beside the summary box."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prumo.report.content import assemble
from prumo.report.language import english
from prumo.report.sections.money import MoneySection
from prumo.report.sentence import sentences
from prumo.results.tables import Results
from support.result_factory import ResultFactory

if TYPE_CHECKING:
    from pathlib import Path


def test_what_the_summary_says_of_machines_is_not_said_again_under_money(tmp_path: Path) -> None:
    factors: dict[str, list[Any]] = {"machine": ["small", "large"], "batch_size": [32, 64]}
    factory = ResultFactory(tmp_path / "demo", factors=factors).study_of(3)
    folder = factory.price({"small": 0.1, "large": 0.4}).path
    results = Results(folder)
    report = assemble(results, [], 0.95)
    assert report.cost is not None
    money = MoneySection.of(results, report).page([], english())
    assert money is not None

    assert report.cost.machine_sentences()
    assert not [said for said in money.values["sentences"] if said in sentences(report)]
    assert money.values["sentences"]
