"""A kind of workload is a plug-in: loaded when a study names it, and checked like our own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import Field

from prumo.errors import InputError, PluginError
from prumo.plugins import WORKLOADS
from prumo.progress import Silent
from prumo.run.worker import Launch
from prumo.run.workloads import Launcher, open_workload
from prumo.study import Run, Study, StudyError, Workload, fingerprint
from prumo.study.section import Section, WholeNumber

if TYPE_CHECKING:
    from support.study_factory import Refusal

STUDIES = Path(__file__).parents[2] / "studies"


class SortingParameters(Section):
    rows: Annotated[WholeNumber, Field(ge=1)] = 1000
    """How many rows are sorted."""
    stable: Literal["yes", "no"] = "yes"
    """Whether equal rows keep their order."""


class Sorting(Workload):
    """Sort rows of random numbers."""

    kind: Literal["sorting"]
    """Says that this workload sorts."""
    columns: WholeNumber = 1
    """Numbers in a row."""

    parameters = SortingParameters
    reported_metrics = ("sort_seconds",)
    launcher = f"{__name__}:SortingLauncher"


class SortingLauncher(Launcher):
    def launch(self, run: Run, folder: Path) -> Launch:
        command = ["sort", str(run.scenario.parameters["rows"])]
        return Launch(command=command, directory=folder, environment={}, threads=1)


class Entry:
    """What the metadata of an installed package says."""

    dist = None

    def __init__(self, loaded: object) -> None:
        self.value = repr(loaded)
        self._loaded = loaded

    def load(self) -> object:
        return self._loaded


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    entries: dict[str, Any] = {**WORKLOADS._entries}
    entries |= {"sorting": Entry(Sorting), "broken": Entry("no class")}
    monkeypatch.setitem(WORKLOADS.__dict__, "_entries", entries)


def sorting_study(**sections: Any) -> Study:
    plain: dict[str, Any] = {
        "name": "sorted",
        "workload": {"kind": "sorting", "columns": 3},
        "factors": {"rows": [10, 100]},
    }
    return Study.from_dict(plain | sections)


@pytest.mark.usefixtures("installed")
class TestAKindOfAnotherPackage:
    def test_has_its_own_section_parameters_and_launcher(self, tmp_path: Path) -> None:
        study = sorting_study()
        scenario = next(study.scenarios())

        assert isinstance(study.workload, Sorting)
        assert dict(scenario.parameters) == {"rows": 10, "stable": "yes"}
        launch = open_workload(study, Silent()).launch(Run(scenario, 1), tmp_path)
        assert launch.command == ["sort", "10"]

    def test_writes_itself_as_a_file(self) -> None:
        study = sorting_study()

        assert study.model_dump(mode="json")["workload"] == {"kind": "sorting", "columns": 3}
        assert "columns: 3" in study.text

    def test_counts_in_the_identity_of_its_runs(self) -> None:
        narrow, wide = sorting_study(), sorting_study(workload={"kind": "sorting", "columns": 9})

        runs = [fingerprint(study, next(study.scenarios())) for study in (narrow, wide)]
        assert runs[0] != runs[1]

    @pytest.mark.parametrize(
        ("sections", "reason"),
        [
            ({"factors": {"rows": [0]}}, r"factors\.rows\[0\]: should be 1 or more, not 0"),
            (
                {"factors": {"row": [10]}},
                r"factors\.row: run has no such parameter; did you mean 'rows'",
            ),
            (
                {"workload": {"kind": "sorting", "colums": 1}},
                r"workload\.colums: unknown key; did you mean 'columns'",
            ),
            (
                {"workload": {"kind": "sorting", "columns": "three"}},
                r"workload\.columns: should be a whole number, not 'three'",
            ),
            (
                {"replications": {"metric": "seconds", "half_width_percent": 5, "maximum": 9}},
                r"replications\.metric: no run reports 'seconds'",
            ),
        ],
    )
    def test_is_checked_like_our_own(self, sections: dict[str, Any], reason: str) -> None:
        with pytest.raises(StudyError, match=reason):
            sorting_study(**sections)

    def test_that_is_no_workload_is_named(self) -> None:
        with pytest.raises(PluginError, match="'broken' is no subclass of"):
            sorting_study(workload={"kind": "broken"})


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        ("{kind: sortng}", "workload.kind: 'sortng' is not known; known: command, imported, "),
        ("{kind: trainng}", "workload.kind: 'trainng' is not known; did you mean 'training'?"),
        ("{kind: 3}", "workload.kind: '3' is not known; known: command"),
        ("{kind: [training]}", "is not known; did you mean 'training'?"),
        ("{data: {}}", "workload: needs a `kind`"),
        ("training", "workload: should be a mapping of names to values, not 'training'"),
    ],
)
def test_a_kind_that_nobody_installed_is_an_error_with_its_line(
    refusal: Refusal, workload: str, message: str
) -> None:
    error = refusal(f"name: s\nworkload: {workload}\nfactors: {{network: [rede1]}}\n")

    assert message in str(error)
    assert error.line == 2


def test_runs_that_came_from_elsewhere_cannot_be_started() -> None:
    study = Study.from_dict(
        {"name": "read", "workload": {"kind": "imported"}, "factors": {"gpu": ["a", "b"]}}
    )

    with pytest.raises(InputError, match="no run of the kind `imported` can be started"):
        open_workload(study, Silent())


def test_a_study_of_one_kind_loads_no_other() -> None:
    program = (
        "import sys; from prumo.study import Study; "
        f"Study.load({str(STUDIES / 'demo.yaml')!r}); "
        "print([name for name in sys.modules if name.startswith(('prumo_retina', 'prumo.run'))])"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
