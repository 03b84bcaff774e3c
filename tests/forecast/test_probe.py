"""The probe of a forecast: which scenarios it tries, and that it leaves nothing behind."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from prumo.environments.frameworks import find_framework
from prumo.errors import InputError
from prumo.forecast.document import FORECAST_FILE, Basis, expected_seconds
from prumo.forecast.observation import Kind, Subject, command_subject
from prumo.forecast.probe import chosen_for_probe, probe
from prumo.forecast.study_forecast import Sources, forecast_study, outlook
from prumo.machine.machine import machine_facts
from prumo.run.events import Activity, StudyStarted
from prumo.run.execution import run_study
from prumo.study import Study, load
from support.command_study import write_study
from support.result_factory import ResultFactory
from support.study_factory import training_study

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.run.events import Event


REDE = {"network": "rede1", "dataset": "mnist", "epochs": 2, "images": 1000, "framework": "pytorch"}


def _ignore(event: Event) -> None:
    """Nobody listens."""


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files, so that what is left there can be seen."""
    folder = tmp_path / "room"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def _subjects(**levels: list[Any]) -> list[Subject]:
    study = Study.from_dict(
        {
            "name": "quick",
            "workload": {"kind": "command", "command": ["true"]},
            "factors": levels,
        }
    )
    return [command_subject(study, scenario) for scenario in study.scenarios()]


def test_every_level_and_both_ends_of_every_number_are_probed() -> None:
    chosen = chosen_for_probe(_subjects(size=[1, 2, 4, 8, 16], mode=["x", "y", "z"]))

    assert {subject.levels["mode"] for subject in chosen} == {"x", "y", "z"}
    assert {1, 16} <= {subject.levels["size"] for subject in chosen}


def test_every_kind_is_probed_before_anything_else() -> None:
    kinds = [Kind(framework=name) for name in ("pytorch", "jax", "caffe")]
    subjects = [
        Subject(f"C{number}", kind, number, 1, {"size": size})
        for kind in kinds
        for number, size in enumerate((1, 2, 3))
    ]

    chosen = chosen_for_probe(subjects, most=3)

    assert {subject.kind for subject in chosen} == set(kinds)


def test_no_more_are_probed_than_asked_for() -> None:
    assert len(chosen_for_probe(_subjects(size=[1, 2, 3], mode=["x", "y"]), most=2)) == 2


def test_a_probe_runs_the_command_and_leaves_nothing_behind(tmp_path: Path, room: Path) -> None:
    study = load(write_study(tmp_path, "echo '{{\"answer\": {a}}}'"))
    subjects = [command_subject(study, scenario) for scenario in study.scenarios()]
    heard: list[Event] = []

    tried = probe(study, chosen_for_probe(subjects, 2), heard.append)

    # Two scenarios, and one of them again.
    assert len(tried.observations) == 3
    assert tried.left_out == {}
    assert all(observation.wall_seconds > 0 for observation in tried.observations)
    assert any(isinstance(event, Activity) and "probing C" in event.text for event in heard)
    assert list(room.iterdir()) == []
    assert not (tmp_path / "results").exists()


def test_a_probe_that_takes_too_long_is_stopped_and_told(
    tmp_path: Path, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prumo.forecast.probe.LEAST_SECONDS", 0.1)
    study = load(write_study(tmp_path, "sleep 60", factors={"a": [1]}))
    subjects = [command_subject(study, scenario) for scenario in study.scenarios()]

    tried = probe(study, subjects, _ignore, budget_seconds=0.8)

    assert not tried.observations
    assert "C1" in tried.left_out
    assert list(room.iterdir()) == []


def test_a_probe_that_fails_is_told_with_its_reason(tmp_path: Path) -> None:
    study = load(write_study(tmp_path, "exit 3", factors={"a": [1]}))

    forecast = forecast_study(study, tmp_path / "none", Sources(), _ignore)

    assert "3" in forecast.grounds.left_out["C1"]
    assert [row.basis for row in forecast.scenarios] == [Basis.NOTHING]


def test_a_device_that_is_not_here_is_not_forecast(tmp_path: Path) -> None:
    if machine_facts().gpus.devices:
        pytest.skip("this machine has a GPU")
    study = training_study(fixed={"device": "cuda", "images": 256})

    forecast = forecast_study(study, tmp_path / "none", Sources(probes=1), _ignore)

    assert forecast.seconds is None
    assert all("GPU" in row.reason for row in forecast.scenarios)


def test_runs_that_are_there_stand_for_a_probe(tmp_path: Path) -> None:
    study = load(write_study(tmp_path, "true", replications=2))
    results = tmp_path / "results" / "quick"
    run_study(study, results, _ignore)

    forecast = forecast_study(study, results, Sources(probes=0), _ignore)

    assert forecast.grounds.probe_runs == 0
    assert forecast.grounds.earlier_runs == 8
    assert forecast.grounds.earlier == (str(results),)
    assert {row.basis for row in forecast.scenarios} == {Basis.MEASURED}


def test_runs_of_another_study_or_machine_teach_nothing_of_a_command(tmp_path: Path) -> None:
    other = load(write_study(tmp_path, "true", name="other"))
    run_study(other, tmp_path / "other", _ignore)
    study = load(write_study(tmp_path, "true"))

    forecast = forecast_study(
        study, tmp_path / "none", Sources((tmp_path / "other",), probes=0), _ignore
    )

    assert forecast.seconds is None


@pytest.mark.parametrize(("cores_more", "runs"), [(0, 4), (2, 0)])
def test_trainings_on_this_computer_teach_under_any_label(
    tmp_path: Path, cores_more: int, runs: int
) -> None:
    machine = asdict(machine_facts())
    machine["cpu"]["usable_cores"] += cores_more
    factory = ResultFactory(
        tmp_path / "demo", factors={"batch_size": [32, 64]}, machine=machine, samples=2
    )
    factory.write_study(2)
    for number, levels in enumerate(factory.scenarios(), start=1):
        parameters = {**levels, "network": "rede1", "framework": "pytorch", "epochs": 4}
        for replication in (1, 2):
            factory.run(
                number,
                replication,
                levels,
                parameters={**parameters, "machine": "box", "device": "cpu"},
                versions={"pytorch": find_framework("pytorch").version},
            )
    unlabelled = training_study(factors={"batch_size": [32, 64]}, fixed=REDE)
    labelled = training_study(
        factors={"machine": ["a", "b"], "batch_size": [32]},
        fixed=REDE,
        machines={"a": {"device": "cpu"}, "b": {"device": "cpu"}},
    )

    for study in (unlabelled, labelled):
        forecast = forecast_study(
            study, tmp_path / "none", Sources((factory.path,), probes=0), _ignore
        )

        assert forecast.grounds.earlier_runs == runs
        assert all((row.run_seconds is not None) == bool(runs) for row in forecast.scenarios)


def test_a_forecast_is_kept_and_then_compared_with_the_runs(tmp_path: Path) -> None:
    study = load(write_study(tmp_path, "true"))
    results = tmp_path / "results" / "quick"

    made = outlook(study, results, Sources(), _ignore)
    kept = (results / FORECAST_FILE).read_text()
    run_study(study, results, _ignore)
    compared = outlook(study, results, Sources(), _ignore)

    assert (made.is_new, compared.is_new) == (True, False)
    assert made.check.is_empty()
    assert compared.check["scenario"].to_list() == ["C1", "C2", "C3", "C4", "total"]
    assert compared.forecast == made.forecast
    assert (results / FORECAST_FILE).read_text() == kept


def test_a_forecast_gives_a_run_its_first_guess_of_what_is_left(tmp_path: Path) -> None:
    study = load(write_study(tmp_path, "true"))
    results = tmp_path / "results" / "quick"
    forecast = outlook(study, results, Sources(), _ignore).forecast
    heard: list[Event] = []

    run_study(study, results, heard.append, expected_seconds=expected_seconds(results))

    (began,) = [event for event in heard if isinstance(event, StudyStarted)]
    assert began.seconds == {
        row.scenario: [row.run_seconds.value] for row in forecast.scenarios if row.run_seconds
    }


def test_a_broken_forecast_does_not_keep_a_study_from_running(tmp_path: Path) -> None:
    study = load(write_study(tmp_path, "true", factors={"a": [1]}))
    results = tmp_path / "results" / "quick"
    results.mkdir(parents=True)
    (results / FORECAST_FILE).write_text("{")

    ended = run_study(study, results, _ignore, expected_seconds=expected_seconds(results))

    assert ended.verdicts == {"finished": 1}


def test_another_study_gets_another_forecast(tmp_path: Path) -> None:
    results = tmp_path / "results" / "quick"
    study = load(write_study(tmp_path, "true"))
    outlook(study, results, Sources(), _ignore)
    changed = load(write_study(tmp_path, "true", factors={"a": [1, 2, 3]}))

    assert outlook(changed, results, Sources(), _ignore).is_new


def test_a_study_too_large_to_list_is_refused(tmp_path: Path) -> None:
    many = load(write_study(tmp_path, "true", factors={name: list(range(10)) for name in "abcdef"}))

    with pytest.raises(InputError, match="1000000 scenarios"):
        forecast_study(many, tmp_path / "none", Sources(), _ignore)
