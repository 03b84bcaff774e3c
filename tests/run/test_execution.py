"""What is carried out of a study, in which order, and what is reported; nothing is started."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from prumo.errors import InputError, PluginError, StorageError
from prumo.plugins import EXECUTORS
from prumo.results.folder import ResultsFolder
from prumo.results.record import Verdict
from prumo.run.events import Event, Remark, RunEnded, RunStarted, StudyEnded, StudyStarted
from prumo.run.execution import Execution, Selection, missing_runs, run_study, select_scenarios
from prumo.run.executors import Executor
from prumo.run.executors.local import LocalExecutor
from support.fake_executor import FakeExecutor
from support.study_factory import command_study

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from prumo.study import Study

CRASHED = {"verdict": Verdict.CRASHED, "reason": "exit code 1"}
ADAPTIVE = {"metric": "seconds", "half_width_percent": 5.0, "minimum": 2, "maximum": 4}


def small_study(**sections: Any) -> Study:
    """Three scenarios, listed."""
    return command_study(**{"factors": {"a": [1, 2, 3]}, "order": "listed", **TASK, **sections})


TASK: dict[str, Any] = {"workload": {"kind": "command", "command": ["echo", "{a}"]}}


class Carried:
    """One study carried out in one folder by a fake executor."""

    def __init__(
        self,
        study: Study,
        path: Path,
        endings: Mapping[str, Mapping[str, Any] | type[BaseException]] | None = None,
        selection: Selection | None = None,
    ) -> None:
        self.folder = ResultsFolder(path)
        self.folder.create()
        self.events: list[Event] = []
        self.executor = FakeExecutor(study, self.folder, self.events.append, endings)
        execution = Execution(study, self.folder, selection or Selection())
        self.ended = execution.carry_out(self.executor, self.events.append)

    @property
    def remarks(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Remark)]

    def verdict(self, run: str) -> Verdict | None:
        record = self.folder.record(run)
        return record.verdict if record else None


def test_events_come_in_order(tmp_path: Path) -> None:
    carried = Carried(small_study(), tmp_path, {"C02-r1": CRASHED})

    assert [_name(event) for event in carried.events] == [
        "study C01-r1 C02-r1 C03-r1",
        *("start C01-r1", "end C01-r1 finished"),
        *("start C02-r1", "end C02-r1 crashed"),
        *("start C03-r1", "end C03-r1 finished"),
        "study ended",
    ]
    assert carried.ended == StudyEnded(tmp_path, {"finished": 2, "crashed": 1}, interrupted=False)


def test_runs_are_numbered_in_the_order_in_which_they_were_carried_out(tmp_path: Path) -> None:
    study = small_study(order={"kind": "randomized", "seed": 3})
    first = Carried(study, tmp_path, selection=Selection(scenarios=("C2",)))
    then = Carried(study, tmp_path)

    assert first.executor.calls == ["1 C02-r1"]
    assert sorted(call[:1] for call in then.executor.calls) == ["2", "3"]


def test_what_finished_is_kept_and_counted(tmp_path: Path) -> None:
    Carried(small_study(), tmp_path)
    again = Carried(small_study(), tmp_path)

    assert again.executor.calls == []
    started = again.events[0]
    assert isinstance(started, StudyStarted)
    assert (started.kept, started.pending) == (3, ())
    assert again.ended.verdicts == {"finished": 3}


def test_earlier_times_are_the_first_guess_at_the_time_left(tmp_path: Path) -> None:
    study = small_study(replications=2)
    took = {"verdict": Verdict.FINISHED, "wall_seconds": 7.0}
    endings = {"C01-r1": took, "C01-r2": {**CRASHED, "wall_seconds": 1.0}}
    Carried(study, tmp_path, endings)
    started = Carried(study, tmp_path).events[0]

    assert isinstance(started, StudyStarted)
    assert started.seconds == {"C1": [7.0]}


class TestInterruption:
    def test_an_interrupted_run_ends_the_study_and_is_run_again(self, tmp_path: Path) -> None:
        interrupted = {"C02-r1": {"verdict": Verdict.INTERRUPTED}}
        first = Carried(small_study(), tmp_path, interrupted)
        assert first.executor.calls == ["1 C01-r1", "2 C02-r1"]
        assert first.ended.interrupted

        again = Carried(small_study(), tmp_path)
        assert again.executor.calls == ["3 C02-r1", "4 C03-r1"]
        assert again.ended.verdicts == {"finished": 3}
        assert not again.folder.attempts_path.exists()

    def test_ctrl_c_between_runs_ends_the_study(self, tmp_path: Path) -> None:
        carried = Carried(small_study(), tmp_path, {"C02-r1": KeyboardInterrupt})

        assert carried.ended == StudyEnded(tmp_path, {"finished": 1}, interrupted=True)
        assert carried.events[-1] == carried.ended
        assert carried.verdict("C02-r1") is None

    def test_a_disk_that_fails_is_no_interruption(self, tmp_path: Path) -> None:
        with pytest.raises(StorageError):
            Carried(small_study(), tmp_path, {"C02-r1": StorageError})


class TestFailedRuns:
    def test_a_failed_run_is_not_repeated(self, tmp_path: Path) -> None:
        Carried(small_study(), tmp_path, {"C02-r1": CRASHED})
        again = Carried(small_study(), tmp_path)

        assert again.executor.calls == []
        assert again.verdict("C02-r1") is Verdict.CRASHED

    def test_it_is_repeated_when_asked_and_the_old_one_is_kept(self, tmp_path: Path) -> None:
        Carried(small_study(), tmp_path, {"C02-r1": CRASHED})
        again = Carried(small_study(), tmp_path, selection=Selection(retry_failed=True))

        assert again.executor.calls == ["4 C02-r1"]
        assert again.verdict("C02-r1") is Verdict.FINISHED
        assert [path.name for path in again.folder.attempts_path.iterdir()] == ["C02-r1.1"]

    def test_what_was_unavailable_is_always_tried_again(self, tmp_path: Path) -> None:
        absent = {"verdict": Verdict.UNAVAILABLE, "reason": "no such device"}
        Carried(small_study(), tmp_path, {"C02-r1": absent})

        assert Carried(small_study(), tmp_path).executor.calls == ["4 C02-r1"]

    def test_a_batch_that_did_not_fit_skips_larger_ones_with_the_reason(
        self, tmp_path: Path
    ) -> None:
        study = small_study(
            factors={"batch_size": [32, 64, 128]},
            workload={"kind": "command", "command": ["echo", "{batch_size}"]},
        )
        carried = Carried(study, tmp_path, {"C02-r1": {"verdict": Verdict.OUT_OF_MEMORY}})

        assert carried.executor.calls == ["1 C01-r1", "2 C02-r1", "skip C03-r1"]
        record = carried.folder.record("C03-r1")
        assert record is not None
        assert record.verdict is Verdict.NOT_TRIED
        assert record.reason == "batch size 64 did not fit in memory (C2)"
        assert not any(isinstance(e, RunStarted) and e.run.name == "C03-r1" for e in carried.events)


class TestAdaptiveReplication:
    def test_only_a_scenario_that_is_unsure_is_repeated(self, tmp_path: Path) -> None:
        study = small_study(factors={"a": [1, 2]}, replications=ADAPTIVE)
        endings = _seconds(C01=[10.0, 10.01], C02=[10.0, 10.4, 10.2, 10.2])
        carried = Carried(study, tmp_path, endings)

        assert [call.split()[1] for call in carried.executor.calls] == [
            *("C01-r1", "C01-r2", "C02-r1", "C02-r2", "C02-r3"),
        ]
        assert carried.remarks == []

    def test_a_goal_that_is_missed_at_the_limit_is_reported(self, tmp_path: Path) -> None:
        study = small_study(factors={"a": [1]}, replications=ADAPTIVE)
        carried = Carried(study, tmp_path, _seconds(C01=[10.0, 20.0, 5.0, 30.0]))

        assert len(carried.executor.calls) == 4
        assert carried.remarks == [
            "after 4 replications, seconds is still not known within 5 % in: C1"
        ]

    def test_a_metric_that_no_run_reports_is_named(self, tmp_path: Path) -> None:
        study = small_study(factors={"a": [1]}, replications={**ADAPTIVE, "metric": "secnds"})
        carried = Carried(study, tmp_path, _seconds(C01=[10.0, 10.0]))

        assert len(carried.executor.calls) == 2
        assert "did you mean 'seconds'?" in carried.remarks[0]

    def test_wall_time_is_a_metric_too(self, tmp_path: Path) -> None:
        study = small_study(factors={"a": [1]}, replications={**ADAPTIVE, "metric": "wall_seconds"})
        took = {"verdict": Verdict.FINISHED, "wall_seconds": 3.0}

        assert Carried(study, tmp_path, {"C01-r1": took, "C01-r2": took}).remarks == []


class TestFolder:
    def test_an_unreadable_record_is_set_aside_and_run_again(self, tmp_path: Path) -> None:
        Carried(small_study(), tmp_path)
        (tmp_path / "runs/C02-r1/run.json").write_text("{")
        again = Carried(small_study(), tmp_path)

        assert again.executor.calls == ["4 C02-r1"]
        assert (tmp_path / "attempts/C02-r1.1/run.json").read_text() == "{"
        assert len(again.remarks) == 1
        assert again.remarks[0].startswith("C02-r1 had an unreadable record")

    def test_runs_of_another_study_are_refused_with_the_difference(self, tmp_path: Path) -> None:
        Carried(small_study(), tmp_path)
        with pytest.raises(InputError, match="C2 was a=2 and is now a=5"):
            Carried(small_study(factors={"a": [1, 5]}), tmp_path)
        with pytest.raises(InputError, match="another workload or under other conditions"):
            Carried(
                small_study(workload={"kind": "command", "command": ["printf", "{a}"]}), tmp_path
            )

    def test_study_and_plan_are_written_before_the_first_run(self, tmp_path: Path) -> None:
        Carried(small_study(), tmp_path, {"C01-r1": KeyboardInterrupt})

        assert (tmp_path / "study.yaml").is_file()
        assert '"scenarios": 3' in (tmp_path / "plan.json").read_text()


class TestSelection:
    def test_scenarios_rules_and_replications_choose(self, tmp_path: Path) -> None:
        selection = Selection(only="a >= 2", replications=2)
        carried = Carried(small_study(), tmp_path, selection=selection)
        assert [call.split()[1] for call in carried.executor.calls] == [
            *("C02-r1", "C02-r2", "C03-r1", "C03-r2"),
        ]
        one = replace(selection, scenarios=("C3",))
        assert [scenario.name for scenario in select_scenarios(small_study(), one)] == ["C3"]

    @pytest.mark.parametrize(
        ("selection", "words"),
        [
            (Selection(scenarios=("C9",)), "no scenario C9 here"),
            (Selection(scenarios=("C1",), only="a > 1"), "no scenario C1 here"),
            (Selection(only="a > 9"), "satisfies 'a > 9'"),
        ],
    )
    def test_a_choice_of_nothing_is_refused(self, selection: Selection, words: str) -> None:
        with pytest.raises(InputError, match=words):
            select_scenarios(small_study(), selection)

    def test_only_the_verdicts_of_selected_scenarios_are_counted(self, tmp_path: Path) -> None:
        Carried(small_study(), tmp_path, {"C01-r1": CRASHED})
        carried = Carried(small_study(), tmp_path, selection=Selection(only="a == 3"))

        assert carried.ended.verdicts == {"finished": 1}


class TestExecutor:
    @pytest.fixture
    def made(self, monkeypatch: pytest.MonkeyPatch) -> list[FakeExecutor]:
        """The executors that a study asks for by the name of `fake`."""
        made: list[FakeExecutor] = []

        class Kept(FakeExecutor):
            def __init__(self, *arguments: Any) -> None:
                super().__init__(*arguments)
                made.append(self)

        _add_executor(monkeypatch, Kept)
        return made

    def test_the_local_one_is_installed_and_an_unknown_one_refused(self, tmp_path: Path) -> None:
        local = EXECUTORS.load_class("local", Executor)  # type: ignore[type-abstract]
        assert local is LocalExecutor
        assert "local" in EXECUTORS.names()
        with pytest.raises(InputError, match="no executor 'locl': did you mean 'local'"):
            run_study(small_study(), tmp_path / "r", lambda _: None, executor_name="locl")
        assert not (tmp_path / "r").exists()

    def test_a_study_is_carried_out_by_the_executor_it_is_given(
        self, tmp_path: Path, made: list[FakeExecutor]
    ) -> None:
        ended = run_study(small_study(), tmp_path, lambda _: None, executor_name="fake")

        assert ended.verdicts == {"finished": 3}
        assert made[0].calls == [
            *("prepare C01-r1 C02-r1 C03-r1", "1 C01-r1", "2 C02-r1", "3 C03-r1", "close"),
        ]
        assert missing_runs(small_study(), tmp_path) == []

    def test_it_prepares_nothing_where_nothing_is_missing(
        self, tmp_path: Path, made: list[FakeExecutor]
    ) -> None:
        for _ in range(2):
            run_study(small_study(), tmp_path, lambda _: None, executor_name="fake")

        assert made[1].calls == ["close"]

    def test_it_is_closed_after_an_error(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: list[FakeExecutor]
    ) -> None:
        monkeypatch.setattr(FakeExecutor, "prepare", _refuse)
        with pytest.raises(InputError, match="no data"):
            run_study(small_study(), tmp_path, lambda _: None, executor_name="fake")
        assert made[0].calls == ["close"]

    def test_what_is_no_executor_is_the_fault_of_its_package(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _add_executor(monkeypatch, object)
        with pytest.raises(PluginError, match=r"no subclass of prumo\.run\.executors\.Executor"):
            EXECUTORS.load_class("fake", Executor)  # type: ignore[type-abstract]

    def test_one_that_only_executes_is_enough(self, tmp_path: Path) -> None:
        class Smallest(Executor):
            execute = FakeExecutor.execute
            calls: list[str] = []  # noqa: RUF012 (as the fake has it)
            endings: dict[str, Any] = {}  # noqa: RUF012 (the same)

        study, folder = small_study(), ResultsFolder(tmp_path)
        folder.create()
        executor = Smallest(study, folder, lambda _: None)
        pending = Execution(study, folder, Selection()).schedule.pending()
        executor.prepare(pending)
        assert executor.architectures(pending) == {}
        assert executor.skip(pending[0], 1, "why not").verdict is Verdict.NOT_TRIED
        executor.close()


def _add_executor(monkeypatch: pytest.MonkeyPatch, kind: type) -> None:
    load = type(EXECUTORS).load
    monkeypatch.setattr(
        type(EXECUTORS),
        "load",
        lambda point, name: kind if name == "fake" else load(point, name),
    )


def _refuse(*_: object) -> None:
    raise InputError("no data")


def _seconds(**series: list[float]) -> dict[str, Mapping[str, Any] | type[BaseException]]:
    """Runs by name, each finished with this metric."""
    return {
        f"{scenario}-r{number}": {"verdict": Verdict.FINISHED, "metrics": {"seconds": value}}
        for scenario, values in series.items()
        for number, value in enumerate(values, start=1)
    }


def _name(event: Event) -> str:
    match event:
        case StudyStarted():
            return "study " + " ".join(run.name for run in event.pending)
        case RunStarted(run):
            return f"start {run.name}"
        case RunEnded(record):
            return f"end {record.run} {record.verdict.value}"
        case StudyEnded():
            return "study ended"
    raise AssertionError(event)
