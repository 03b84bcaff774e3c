"""The study in a results folder that somebody else may have made."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from prumo.errors import InputError, StudyError
from prumo.results.folder import ResultsFolder
from prumo.results.merge import merge
from prumo.results.tables import Results, read_study
from prumo.study import fingerprint
from support.record_factory import run_record

if TYPE_CHECKING:
    from pathlib import Path

STUDY = """
name: quick
workload: {kind: training}
factors: {network: [net.py]}
"""
PROGRAM = """
from pathlib import Path
from prumo_worker.networks.layer import Dense, Flatten
from prumo_worker.networks.network import Layer

Path(__file__).with_name("it-ran").touch()

def layers(classes):
    yield Layer("flat", Flatten())
    yield Layer("scores", Dense(classes))
"""
LAYERS = [
    {"name": "flat", "operation": "flatten"},
    {"name": "scores", "operation": "dense", "outputs": "classes"},
]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A results folder with a program that its study names as a network."""
    folder = ResultsFolder(tmp_path / "quick")
    folder.create()
    folder.write_study(STUDY, {})
    (folder.path / "net.py").write_text(PROGRAM)
    return folder.path


def test_a_program_in_a_results_folder_does_not_run(results: Path, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"net\.py is not among those kept with the study"):
        read_study(results)
    assert Results(results).study is None
    other = ResultsFolder(tmp_path / "other")
    other.create()
    other.finish(run_record())
    merge(other, ResultsFolder(results))
    assert not (results / "it-ran").exists()


def test_the_network_comes_from_the_plan_and_its_program_does_not_run(results: Path) -> None:
    (results / "plan.json").write_text(json.dumps({"networks": {"net.py": LAYERS}}))
    study = Results(results).study
    assert study is not None
    assert study.own_networks()["net.py"].layers == tuple(LAYERS)
    assert not (results / "it-ran").exists()


@pytest.mark.parametrize("networks", [["net.py"], {"net.py": 7}, {"net.py": [7]}, None])
def test_a_plan_that_holds_no_layers_leaves_the_study_unread(
    results: Path, networks: object
) -> None:
    (results / "plan.json").write_text(json.dumps({"networks": networks}))
    assert Results(results).study is None


def test_another_network_of_the_same_name_is_another_version_of_the_study(
    results: Path, tmp_path: Path
) -> None:
    (results / "plan.json").write_text(json.dumps({"networks": {"net.py": LAYERS}}))
    study = read_study(results)
    (scenario,) = study.scenarios()
    same, other = (ResultsFolder(tmp_path / name) for name in ("same", "other"))
    for folder, mark in ((same, fingerprint(study, scenario)), (other, "of another network")):
        folder.create()
        folder.finish(run_record(fingerprint=mark))
    assert merge(same, ResultsFolder(results)).taken == ["C01-r1"]
    with pytest.raises(InputError, match="C1 is something else there"):
        merge(other, ResultsFolder(results))
