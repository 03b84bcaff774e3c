"""The contract of the entry points in `prumo.workloads`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from prumo.errors import InputError
from prumo.results.folder import ResultsFolder
from prumo.results.record import Verdict
from prumo.run.executors.local import LocalExecutor
from prumo.run.workloads import Launcher
from prumo.study import Run, Study, Workload, fingerprint
from prumo.testing.require import modules_loaded_by, refusal, require

if TYPE_CHECKING:
    from collections.abc import Mapping


class WorkloadContract:
    """A kind of work: its section of a study file, its parameters, how a run is started.

    class TestMine(WorkloadContract):
        name = "sorting"
        workload = Sorting
        study = {"name": "s", "workload": {"kind": "sorting"}, "factors": {"rows": [10, 100]}}

    The entry point must be installed (`pip install -e .`): studies find the kind by its name.
    """

    name: ClassVar[str]
    """Of the entry point, which is the `kind` in study files."""
    workload: ClassVar[type[Workload]]
    """What the entry point names."""
    study: ClassVar[Mapping[str, Any]]
    """A study of this kind with short runs."""
    is_run: ClassVar[bool] = True
    """Whether the contract starts the study's first run; False where it takes long."""

    def test_it_is_a_workload(self) -> None:
        """Study files give its name as their `kind`."""
        require(
            isinstance(self.workload, type) and issubclass(self.workload, Workload),
            f"the entry point names a subclass of prumo.study.Workload, not {self.workload!r}",
        )
        kinds = get_args(self.workload.model_fields["kind"].annotation)
        require(
            kinds == (self.name,),
            f'`kind: Literal["{self.name}"]` repeats the name of the entry point, not {kinds}',
        )

    def test_its_keys_are_documented(self) -> None:
        """Docstrings go into `prumo schema` and from there into editors."""
        sections = [self.workload, *filter(None, [self.workload.parameters])]
        silent = [
            f"{section.__name__}.{name}"
            for section in sections
            for name, field in section.model_fields.items()
            if not field.description
        ]
        require(not silent, f"every field has a docstring below it: {', '.join(silent)}")
        require(self.workload.__doc__, "the class has a docstring")

    def test_a_study_of_it_is_read_and_written(self) -> None:
        """What was read is written as it was, without a loss."""
        study = self._study()
        require(isinstance(study.workload, self.workload), "the study's section is of this class")
        again = Study.from_dict(study.model_dump(mode="json", exclude_unset=True))
        require(again.workload == study.workload, "a section that is written and read is equal")

    def test_unknown_keys_are_refused(self) -> None:
        """A misspelt key must not be ignored."""
        section = {**self.study["workload"], "no_such_key_of_anybody": 1}
        with refusal(InputError, contract="an unknown key of the section is refused"):
            Study.from_dict({**self.study, "workload": section})

    def test_the_identity_is_plain_data(self) -> None:
        """Runs with the same identity are compared, on whatever machine they ran."""
        study, again = self._study(), self._study()
        scenario = next(study.scenarios())
        try:
            json.dumps(self._identity(study))
        except (TypeError, ValueError) as error:
            raise AssertionError(f"`identity` returns plain data for JSON: {error}") from error
        require(
            fingerprint(study, scenario) == fingerprint(again, next(again.scenarios())),
            "the same study gives the same identity each time",
        )

    def test_planning_does_not_import_what_runs_need(self) -> None:
        """`prumo plan` and `prumo report` load the class, so its module stays cheap."""
        module = self.workload.__module__
        if module != "__main__":
            loaded = modules_loaded_by(module)
            require(
                not any(name.startswith("prumo.run") for name in loaded),
                f"importing {module} does not import prumo.run; put the launcher into another "
                "module and name it as `module:class`",
            )

    def test_its_launcher_can_be_loaded(self) -> None:
        """The launcher is named and not imported, until runs are started."""
        if self.workload.launcher:
            launcher = resolve_name(self.workload.launcher)
            require(
                isinstance(launcher, type) and issubclass(launcher, Launcher),
                "`launcher` names a subclass of prumo.run.workloads.Launcher as `module:class`",
            )

    def test_a_run_finishes_with_the_metrics_that_it_promises(self) -> None:
        """The first run of the study, measured for real."""
        if not (self.is_run and self.workload.launcher):
            return
        study = self._study()
        with tempfile.TemporaryDirectory(prefix="prumo-contract-") as path:
            folder = ResultsFolder(Path(path) / "results")
            folder.create()
            run = Run(next(study.scenarios()), 1)
            executor = LocalExecutor(study, folder, lambda _event: None)
            try:
                executor.prepare([run])
                record = executor.execute(run, 1)
            finally:
                executor.close()
        require(
            record.verdict is Verdict.FINISHED,
            f"a run of the study finishes; this one: {record.verdict}, {record.reason}",
        )
        missing = set(self.workload.reported_metrics) - record.metrics.keys()
        require(not missing, f"a run reports all of `reported_metrics`; missing: {missing}")

    def _study(self) -> Study:
        return Study.from_dict(self.study)

    def _identity(self, study: Study) -> dict[str, object]:
        return study.workload.identity(study, next(study.scenarios()))
