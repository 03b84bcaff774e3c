from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prumo.report.content import assemble
from prumo.report.sentence import sentences as messages
from prumo.results.tables import Results
from support.result_factory import ResultFactory

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.report.content import Report


def test_the_best_scenario_is_named_with_its_levels_and_interval(tmp_path: Path) -> None:
    said = _said(tmp_path, {"a": [10.0, 10.1, 9.9], "b": [20.0, 20.2, 19.8]})

    assert said[1] == "Training time, best: C1 (a) at 10 s [9.752, 10.25]."
    assert said[2] == "The 95 % interval of C1 lies apart from that of every other scenario."
    assert said[3].endswith("[19.50, 20.50], 2 times the best.")


def test_overlapping_intervals_are_not_ranked(tmp_path: Path) -> None:
    said = _said(tmp_path, {"a": [10.0, 11.0, 9.0], "b": [10.1, 11.2, 9.3]})

    assert "overlaps with that of C2: the intervals alone cannot show which " in said[2]


def test_equal_means_have_no_best(tmp_path: Path) -> None:
    said = _said(tmp_path, {"a": [10.0, 11.0], "b": [10.5, 10.5]})

    assert said[1] == "Training time is the same in every scenario: 10.50 s."
    assert len(said) == 2


def test_single_runs_are_not_said_to_be_sure(tmp_path: Path) -> None:
    said = _said(tmp_path, {"a": [10.0], "b": [20.0]})

    assert "(a single run, no interval)" in said[1]
    assert said[2].startswith("Some scenarios have a single run")


def test_more_is_better_for_throughput(tmp_path: Path) -> None:
    said = _said(tmp_path, {"a": [5.0, 5.1], "b": [9.0, 9.1]}, metric="images_per_second")

    assert said[1].startswith("Throughput, best: C2 (b)")
    assert said[-1].endswith("; the best is 1.79 times as much.")


def test_no_direction_is_assumed_for_a_users_metric(tmp_path: Path) -> None:
    said = _said(tmp_path, {"a": [5.0, 5.1], "b": [9.0, 9.1]}, metric="bleu")

    assert said[1].startswith("bleu goes from C1 (a) at 5.050")


def test_the_best_is_told_for_each_work(tmp_path: Path) -> None:
    factors = {"network": ["rede1", "rede2"], "framework": ["pytorch", "tensorflow"]}
    factory = ResultFactory(tmp_path / "demo", factors=factors).study_of(3).price({"": 3.6})
    said = sentences(assemble(Results(factory.path), [], 0.95))
    first, second = (one for one in said if one.startswith("Among the scenarios with"))

    assert first.startswith("Among the scenarios with rede1: Training time, best: C1 (pytorch) at")
    assert "Worst: C2 (tensorflow)" in first
    assert "Cost of a run: C1 (pytorch) at $0.02" in first
    assert second.startswith("Among the scenarios with rede2: Training time, best: C3 (pytorch) at")
    assert not any(one.startswith(("Training time", "Cost", "Worst")) for one in said)


def test_what_is_cheapest_is_told_where_machines_have_prices_of_their_own(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo", factors={"machine": ["small", "large"]})
    factory.study_of(3).price({"small": 3.6, "large": 36.0})
    said = sentences(assemble(Results(factory.path), [], 0.95))

    assert any(one.startswith("Cost of a run, best: C1 (small) at $0.02") for one in said)


def test_a_work_of_one_scenario_has_no_best(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo", factors={"dataset": ["mnist", "cifar10"]})
    said = sentences(assemble(Results(factory.study_of(2).path), [], 0.95))

    assert said[1].startswith("Among the scenarios with mnist: Training time: C1 at ")
    assert not any("best" in one for one in said)


def test_many_works_have_no_best_of_all(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo", factors={"image_size": list(range(28, 36))})
    said = sentences(assemble(Results(factory.study_of(2).path), [], 0.95))

    assert said[1].startswith("Training time goes from C1 (28) at ")
    assert said[1].endswith(
        "that differ in image_size do different work, so none is the best of all."
    )
    assert len(said) == 2


def test_the_strongest_factor_is_named_only_when_the_study_is_whole(tmp_path: Path) -> None:
    whole = ResultFactory(tmp_path / "whole").study_of(3)
    results = Results(whole.path)

    assert (
        "Of the factors, framework changes the mean most"
        in sentences(assemble(results, ["train_seconds"], 0.95))[-1]
    )

    for replication in (1, 2, 3):
        (whole.path / "runs" / f"C04-r{replication}" / "run.json").unlink()
    partial = sentences(assemble(Results(whole.path), ["train_seconds"], 0.95))

    assert not any("Of the factors" in sentence for sentence in partial)


def _said(path: Path, values: dict[str, list[float]], metric: str = "train_seconds") -> list[str]:
    factory = ResultFactory(path / "demo", factors={"framework": list(values)})
    for number, (level, figures) in enumerate(values.items(), start=1):
        for replication, value in enumerate(figures, start=1):
            factory.run(number, replication, {"framework": level}, metrics={metric: value})
    return sentences(assemble(Results(factory.path), [metric], 0.95))


def test_a_factor_whose_other_level_is_unavailable_is_not_compared(tmp_path: Path) -> None:
    factors: dict[str, list[Any]] = {"machine": ["cpu", "gpu"], "batch_size": [32, 64]}
    factory = ResultFactory(tmp_path / "demo", factors=factors)
    factory.write_study(1)
    for number, levels in enumerate(factory.scenarios(), start=1):
        verdict = "finished" if levels["machine"] == "cpu" else "unavailable"
        factory.run(number, 1, levels, verdict=verdict)
    results = Results(factory.path)

    said = sentences(assemble(results, [], 0.95))

    assert said[0].startswith("2 of 4 runs finished")
    assert not any("Of the factors" in sentence for sentence in said)


def sentences(report: Report) -> list[str]:
    return [str(message) for message in messages(report)]
