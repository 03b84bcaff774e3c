"""A study file is read with its lines, and what is wrong with it is said in words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prumo.study import Study, StudyError, load

if TYPE_CHECKING:
    from support.study_factory import Refusal, StudyMaker

HEAD = "name: s\nworkload: {kind: training}\n"
GOOD = HEAD + "factors:\n  network: [rede1]\n  batch_size: [32, 64]\n"
STUDIES = Path(__file__).parents[2] / "studies"


def test_a_file_keeps_its_text_and_its_place(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("# mine\n" + GOOD, encoding="utf-8")

    study = load(path)

    assert study.text == "# mine\n" + GOOD
    assert (study.source, study.folder) == (path, tmp_path)


def test_a_study_from_a_notebook_writes_itself_as_a_file(
    tmp_path: Path, training: StudyMaker
) -> None:
    study = training(
        replications=2,
        design={"kind": "random", "size": 3},
        versions={"pytorch": "2.10"},
        measure={"memory_bytes": "4GiB"},
        exclude=["batch_size == 32 and network == rede1"],
    )
    path = tmp_path / "study.yaml"
    path.write_text(study.text, encoding="utf-8")

    again = load(path)

    assert again.model_dump() == study.model_dump()
    assert list(again.scenarios()) == list(study.scenarios())


def test_every_error_is_told_at_once_with_line_key_and_nearest_spelling(refusal: Refusal) -> None:
    error = refusal(
        "name: s\n"
        "replicatons: 3\n"
        "workload: {kind: training}\n"
        "factors:\n"
        "  network: [rede1, redde2]\n"
        "  batch_size:\n"
        "    - 32\n"
        "    - -1\n"
        "fixed:\n"
        "  optimiser: sgd\n"
        "  network: rede1\n"
        "measure: {sample_secods: 1}\n"
    )

    told = [line.partition("study.yaml:")[2] for line in str(error).splitlines()]
    assert told == [
        "2: replicatons: unknown key; did you mean 'replications'?",
        "5: factors.network[1]: unknown network 'redde2'; did you mean 'rede2'?",
        "8: factors.batch_size[1]: should be 1 or more, not -1",
        "10: fixed.optimiser: training has no such parameter; did you mean 'optimizer'?",
        "11: fixed.network: is also a factor; it can only be one of the two",
        "12: measure.sample_secods: unknown key; did you mean 'sample_seconds'?",
    ]
    assert (error.line, error.key) == (2, "replicatons")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", None, "empty"),
        ("# only a comment\n", None, "empty"),
        ("just words", None, "mapping"),
        ("- a\n- b\n", None, "mapping"),
        ("name: s\nname: t\n", 2, "given twice, first in line 1"),
        ("name: s\nfactors: [1, 2\n", 3, "is not YAML"),
        ("name: s\n\tfactors: 1\n", 2, "is not YAML"),
        ("a: 1\n---\nb: 2\n", 2, "is not YAML"),
        ("name: *nobody\n", 1, "is not YAML"),
        ("name: !python/object:os.system x\n", 1, "not understood"),
        ("name: s\nseed: !!int zz\n", 2, "cannot be read"),
        ("name: s\n? [a, b]\n: 1\n", 1, "one word"),
        ("- " * 5000, None, "nested too deeply"),
        ("[" * 20 + "]" * 20, None, "nested too deeply"),
        ("a: &a [*a]\n", None, "nested too deeply"),
        ("name: \x01", None, "is not YAML"),
    ],
)
def test_a_text_that_is_no_study_is_refused(
    refusal: Refusal, text: str, line: int | None, words: str
) -> None:
    error = refusal(text)

    assert words in error.message
    assert error.line == line


def test_an_alias_bomb_is_refused(refusal: Refusal) -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)
    )

    assert "too large" in str(refusal(bomb))


def test_an_alias_is_read_as_what_it_stands_for(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(
        HEAD + "factors: {network: [rede1], epochs: &n [1, 2], seed: *n}\ndesign: full\n",
        encoding="utf-8",
    )
    assert load(path).factors["seed"] == (1, 2)


def test_what_is_not_a_readable_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "demo.yaml").write_bytes(b"\x89PNG\r\n\xff\xfe\x00")
    (tmp_path / "large.yaml").write_bytes(b"# " + b"x" * 5_000_000)

    with pytest.raises(StudyError, match=r"no such file; did you mean 'demo\.yaml'"):
        load(tmp_path / "demmo.yaml")
    with pytest.raises(StudyError, match="is a folder"):
        load(tmp_path)
    with pytest.raises(StudyError, match="not a text file"):
        load(tmp_path / "demo.yaml")
    with pytest.raises(StudyError, match="too large"):
        load(tmp_path / "large.yaml")
    with pytest.raises(StudyError, match="cannot be read"):
        load(tmp_path / "demo.yaml" / "inside.yaml")
    with pytest.raises(StudyError, match="cannot be read"):
        load("nul\0byte.yaml")


def test_the_published_study_has_its_48_scenarios_in_the_papers_order() -> None:
    study = load(STUDIES / "ufrpe-2024.yaml")
    scenarios = list(study.scenarios())

    assert len(scenarios) == 48
    assert study.replications == 5
    assert list(scenarios[0].factors.values()) == ["cpu", "mxnet", "mnist", 32, "rede1"]
    assert list(scenarios[1].factors.values()) == ["cpu", "mxnet", "mnist", 32, "rede2"]
    assert list(scenarios[4].factors.values()) == ["cpu", "mxnet", "cifar10", 32, "rede1"]
    assert list(scenarios[8].factors.values()) == ["cpu", "pytorch", "mnist", 32, "rede1"]
    assert list(scenarios[24].factors.values()) == ["gpu", "mxnet", "mnist", 32, "rede1"]
    assert {s.parameters["device"] for s in scenarios[:24]} == {"cpu"}
    assert {s.parameters["device"] for s in scenarios[24:]} == {"cuda"}
    assert {s.parameters["epochs"] for s in scenarios} == {10}
    assert study.framework_version("mxnet") == "1.9.1"
    assert study.machines["gpu"].price == "azure/Standard_NC4as_T4_v3@eastus"


def test_the_demonstration_is_small() -> None:
    study = load(STUDIES / "demo.yaml")

    assert len(list(study.scenarios())) == 8
    assert study.replications == 3


def test_relative_data_paths_start_at_the_study_file(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(
        "name: s\n"
        "workload: {kind: training, data: {mnist: data/mnist, own: ~/own.npz, far: /far}}\n"
        "factors: {network: [rede1], dataset: [mnist, own, far]}\n",
        encoding="utf-8",
    )

    assert load(path).data_paths() == {
        "mnist": tmp_path / "data/mnist",
        "own": Path.home() / "own.npz",
        "far": Path("/far"),
    }


def test_a_study_never_changes(training: StudyMaker) -> None:
    study = training()

    with pytest.raises(ValueError, match="frozen"):
        study.name = "other"
    assert isinstance(study, Study)
