"""The contracts of entry points in `prumo.commands`, `prumo.executors`, `prumo.workloads`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, ClassVar, get_args

import click

from prumo.errors import InputError
from prumo.exit_codes import ExitCode
from prumo.results.folder import ResultsFolder
from prumo.results.record import RunRecord, Verdict
from prumo.run.executors import Executor
from prumo.run.executors.local import LocalExecutor
from prumo.run.workloads import Launcher
from prumo.study import Run, Study, Workload, fingerprint
from prumo.study.starter import write_starter
from prumo.testing.require import modules_loaded_by, refusal, require

HEAVY = {"altair", "cv2", "numpy", "onnxruntime", "polars", "scipy", "tensorflow", "torch"}
SUMMARY_CHARACTERS = 80


class CommandContract:
    """A click command or group that `prumo NAME` runs.

    class TestMine(CommandContract):
        command = my_package.commands.command
        entry_module = "my_package.commands"
    """

    command: ClassVar[click.Command]
    """What the entry point names."""
    entry_module: ClassVar[str]
    """The module that the entry point names, which `prumo --help` imports."""

    def test_it_is_a_click_command(self) -> None:
        """Prumo runs it through click."""
        require(
            isinstance(self.command, click.Command),
            f"the entry point names a click.Command or click.Group, not {self.command!r}",
        )

    def test_its_summary_fits_the_list_of_commands(self) -> None:
        """`prumo --help` prints one line for it."""
        summary = (self.command.short_help or self.command.help or "").strip().partition("\n")[0]
        require(summary, "the command has a docstring or short_help, whose first line is listed")
        require(
            len(summary) <= SUMMARY_CHARACTERS,
            f"the first line of its help has at most {SUMMARY_CHARACTERS} characters: {summary}",
        )

    def test_it_is_imported_quickly(self) -> None:
        """`prumo --help` imports it, so heavy libraries must wait until it is called."""
        heavy = HEAVY & {name.partition(".")[0] for name in modules_loaded_by(self.entry_module)}
        require(
            not heavy,
            f"importing {self.entry_module} does not import {', '.join(sorted(heavy))}; import "
            "heavy libraries inside the functions that need them",
        )

    def test_every_command_of_it_explains_itself(self) -> None:
        """`--help` works everywhere and says something."""
        for words, command in _commands(self.command, ()):
            require(
                command.help, f"`{' '.join(('prumo …', *words))}` has a help text (its docstring)"
            )
            try:
                command.main(["--help"], standalone_mode=False)
            except click.exceptions.Exit as end:
                require(end.exit_code == ExitCode.DONE, f"`{' '.join(words)} --help` ends with 0")

    def test_an_unknown_option_is_a_usage_error(self) -> None:
        """Mistakes of the user end with exit code 2 and a sentence."""
        try:
            self.command.main(["--no-such-option-of-anybody"], standalone_mode=False)
        except click.ClickException as error:
            code = ExitCode.BAD_INPUT
            require(error.exit_code == code, f"an unknown option ends with exit code {code}")
        else:
            raise AssertionError("an unknown option is refused with a click.UsageError")


def _commands(
    command: click.Command, words: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """The command and all below it, each with its words."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            require(below is not None, f"every listed command can be had, also '{name}'")
            if below is not None:
                yield from _commands(below, (*words, name))


class ExecutorContract:
    """An executor: carries out the runs of a study somewhere, and records each.

    class TestMine(ExecutorContract):
        executor = MyExecutor
    """

    executor: ClassVar[type[Executor]]
    """What the entry point names."""
    command: ClassVar[list[str]] = ["sh", "-c", "echo '{{\"answer\": 42}}'; exit {code}"]
    """A program that ends with the level of the factor `code` and prints the metric `answer`."""

    def test_it_is_an_executor(self) -> None:
        """Prumo makes one for each study."""
        require(
            isinstance(self.executor, type) and issubclass(self.executor, Executor),
            f"the entry point names a subclass of prumo.run.executors.Executor: {self.executor!r}",
        )

    def test_a_run_is_carried_out_and_recorded(self) -> None:
        """What `execute` returns is in the run's folder."""
        with self._open() as (executor, runs):
            record = executor.execute(runs[0], 1)
            self._check_record(executor, runs[0], record, 1)
            require(
                record.verdict is Verdict.FINISHED,
                f"a program that ends with 0 has finished, not {record.verdict}: {record.reason}",
            )
            require(
                record.metrics.get("answer") == 42,  # noqa: PLR2004 (what the program prints)
                f"its metrics are those that it printed: {record.metrics}",
            )

    def test_a_failure_is_a_verdict_and_no_exception(self) -> None:
        """One bad run must not end a study."""
        with self._open() as (executor, runs):
            record = executor.execute(runs[1], 2)
            self._check_record(executor, runs[1], record, 2)
            require(
                record.verdict.is_failure,
                f"a program that ends with 3 has failed, not {record.verdict}",
            )
            require(record.reason, "a failure has a reason")

    def test_a_skipped_run_is_recorded_with_its_reason(self) -> None:
        """The reader of the results sees why a run was not tried."""
        with self._open() as (executor, runs):
            record = executor.skip(runs[0], 1, "it would not fit")
            self._check_record(executor, runs[0], record, 1)
            require(record.verdict is Verdict.NOT_TRIED, "a skipped run is `not_tried`")
            require(record.reason == "it would not fit", "a skipped run has the given reason")

    def _check_record(self, executor: Executor, run: Run, record: RunRecord, order: int) -> None:
        require(isinstance(record, RunRecord), "it returns a prumo.results.record.RunRecord")
        kept = executor.folder.record(run.name)
        require(
            kept is not None and kept.model_dump_json() == record.model_dump_json(),
            "the record that is returned is also in the run's folder: folder.finish(record)",
        )
        wanted = executor.identity(run, order)
        del wanted["started"]
        wrong = [name for name, value in wanted.items() if getattr(record, name) != value]
        require(not wrong, f"a record has the fields of `identity(run, order)`: {wrong} differ")

    @contextmanager
    def _open(self) -> Iterator[tuple[Executor, list[Run]]]:
        """An executor as `prumo run` uses one, from `prepare` to `close`."""
        workload = {"kind": "command", "command": self.command}
        study = Study.from_dict(
            {"name": "contract", "workload": workload, "factors": {"code": [0, 3]}}
        )
        runs = [Run(scenario, 1) for scenario in study.scenarios()]
        with _prepared(self.executor, study, runs) as executor:
            executor.architectures(runs)
            yield executor, runs


@contextmanager
def _prepared(kind: type[Executor], study: Study, runs: list[Run]) -> Iterator[Executor]:
    """An executor from `prepare` to `close`, in a folder that is then removed."""
    with tempfile.TemporaryDirectory(prefix="prumo-contract-") as path:
        folder = ResultsFolder(Path(path) / "results")
        folder.create()
        with folder.locked(), closing(kind(study, folder, lambda _event: None)) as executor:
            executor.prepare(runs)
            yield executor


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
            json.dumps(study.workload.identity(study, scenario))
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

    def test_its_starter_is_a_study_of_it(self) -> None:
        """`prumo new` writes it under the name of the user's file."""
        if not self.workload.starter:
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "named-by-the-user.yaml")
            write_starter(path, self.name)
            study = Study.load(path)
        require(study.name == path.stem, "the starter has a line `name: starter`")
        require(isinstance(study.workload, self.workload), "the starter is of this kind")

    def test_a_run_finishes_with_the_metrics_that_it_promises(self) -> None:
        """The first run of the study, measured for real."""
        if not (self.is_run and self.workload.launcher):
            return
        study = self._study()
        run = Run(next(study.scenarios()), 1)
        with _prepared(LocalExecutor, study, [run]) as executor:
            record = executor.execute(run, 1)
        require(
            record.verdict is Verdict.FINISHED,
            f"a run of the study finishes; this one: {record.verdict}, {record.reason}",
        )
        missing = set(self.workload.reported_metrics) - record.metrics.keys()
        require(not missing, f"a run reports all of `reported_metrics`; missing: {missing}")

    def _study(self) -> Study:
        return Study.from_dict(self.study)
