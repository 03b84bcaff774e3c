from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prumo.errors import UnavailableError
from prumo.progress import Silent
from prumo.report.mlflow import DIGEST, Exported, export_to_mlflow
from prumo.results.tables import Results
from support.result_factory import ResultFactory

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def factory(tmp_path: Path) -> ResultFactory:
    factory = ResultFactory(tmp_path / "demo", factors={"framework": ["pytorch"]}, epochs=3)
    factory.study_of(2)
    levels = {"framework": "caffe"}
    factory.run(2, 1, levels, verdict="out_of_memory", reason="4 GiB asked")
    return factory


def test_a_run_goes_along_with_parameters_figures_curves_and_verdict(
    factory: ResultFactory,
) -> None:
    _export(factory)
    run = _runs(factory)["C01-r1"]
    record = json.loads((factory.path / "runs" / "C01-r1" / "run.json").read_text())

    assert run.info.status == "FINISHED"
    assert run.data.params["framework"] == "pytorch"
    assert run.data.params["learning_rate"] == "0.01"
    assert run.data.metrics["train_seconds"] == record["metrics"]["train_seconds"]
    assert run.data.tags["prumo.verdict"] == "finished"
    assert run.data.tags["prumo.version.pytorch"] == "2.4.0"
    assert run.info.end_time - run.info.start_time == int(1000 * record["wall_seconds"])


def test_losses_become_a_history_by_step_and_epoch(factory: ResultFactory) -> None:
    _export(factory)
    number = _runs(factory)["C01-r1"].info.run_id
    results = Results(factory.path)
    steps = results.steps("C01-r1").collect().filter(epoch=1).height

    by_epoch = _client(factory).get_metric_history(number, "epoch_loss")
    by_step = _client(factory).get_metric_history(number, "step_loss")

    losses = results.epochs("C01-r1").collect()["loss"].to_list()
    assert [point.value for point in by_epoch] == losses
    assert [point.step for point in by_epoch] == [1, 2, 3]
    assert [point.step for point in by_step] == list(range(1, 3 * steps + 1))


def test_a_failed_run_goes_along_with_its_reason(factory: ResultFactory) -> None:
    _export(factory)
    run = _runs(factory)["C02-r1"]

    assert run.info.status == "FAILED"
    assert run.data.tags["prumo.verdict"] == "out_of_memory"
    assert run.data.tags["prumo.reason"] == "4 GiB asked"


def test_exporting_twice_makes_no_second_runs(factory: ResultFactory) -> None:
    first, second = _export(factory), _export(factory)

    assert first.added == ["C01-r1", "C01-r2", "C02-r1"]
    assert (second.added, second.replaced) == ([], [])
    assert second.kept == first.added
    assert len(_search(factory)) == 3


def test_a_run_measured_anew_replaces_what_was_exported_of_it(factory: ResultFactory) -> None:
    _export(factory)
    record = factory.path / "runs" / "C01-r1" / "run.json"
    content = json.loads(record.read_text())
    content["metrics"]["train_seconds"] = 1.25
    record.write_text(json.dumps(content))

    again = _export(factory)

    assert (again.replaced, again.kept) == (["C01-r1"], ["C01-r2", "C02-r1"])
    assert _runs(factory)["C01-r1"].data.metrics["train_seconds"] == 1.25
    assert len(_search(factory)) == 3


def test_an_export_that_was_cut_off_is_made_whole(factory: ResultFactory) -> None:
    _export(factory)
    number = _runs(factory)["C01-r2"].info.run_id
    _client(factory).delete_tag(number, DIGEST)

    assert _export(factory).replaced == ["C01-r2"]
    assert len(_search(factory)) == 3


def test_studies_may_share_an_experiment(factory: ResultFactory, tmp_path: Path) -> None:
    _export(factory)
    other = ResultFactory(tmp_path / "other", study="other")
    other.run(1, 1, {"framework": "pytorch"})
    results = Results(other.path)

    exported = export_to_mlflow(results, _uri(factory), "shared", Silent())

    assert exported.added == ["C01-r1"]
    assert len(_search(factory)) == 4


def test_names_that_mlflow_refuses_are_made_to_fit(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo")
    factory.run(1, 1, {"größe ⏱": "a/b"}, metrics={"score[0]": 1.5, "": 2.0})
    _export(factory)
    run = _runs(factory)["C01-r1"]

    assert run.data.metrics["score_0_"] == 1.5
    assert run.data.params["gr__e _"] == "a/b"


def test_a_database_that_this_mlflow_cannot_open_is_explained(
    factory: ResultFactory, tmp_path: Path
) -> None:
    with pytest.raises(UnavailableError, match="needs the whole of MLflow"):
        export_to_mlflow(Results(factory.path), f"mysql://{tmp_path}", "x", Silent())


def _export(factory: ResultFactory) -> Exported:
    return export_to_mlflow(Results(factory.path), _uri(factory), "shared", Silent())


def _uri(factory: ResultFactory) -> str:
    return str(factory.path.parent / "store")


def _client(factory: ResultFactory) -> Any:
    from mlflow import MlflowClient  # noqa: PLC0415 (reads its settings when it is imported)

    return MlflowClient(tracking_uri=_uri(factory))


def _search(factory: ResultFactory) -> list[Any]:
    client = _client(factory)
    experiment = client.get_experiment_by_name("shared")
    return list(client.search_runs([experiment.experiment_id]))


def _runs(factory: ResultFactory) -> dict[str, Any]:
    return {run.data.tags["prumo.run"]: run for run in _search(factory)}
