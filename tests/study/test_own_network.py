"""Networks of the user's own, named in a study by the path of their file."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from prumo.study import Study, StudyError, fingerprint, load
from prumo.study.network import read_own_network

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "networks.md"
NET = """\
layers:
  - {name: conv, operation: convolution, outputs: 4, kernel: 3}
  - {name: pool, operation: max_pooling, kernel: 2, stride: 2}
  - {name: flat, operation: flatten}
  - {name: scores, operation: dense, outputs: classes}
"""
PROGRAM = """\
from prumo_worker.networks.layer import Convolution, Dense, Flatten, MaxPooling
from prumo_worker.networks.network import Layer

def layers(classes):
    yield Layer("conv", Convolution(4, kernel=3))
    yield Layer("pool", MaxPooling(2, 2))
    yield Layer("flat", Flatten())
    yield Layer("scores", Dense(classes))
"""
STUDY = """\
name: own
workload: {kind: training}
factors:
  network: [NETWORK]
fixed:
  dataset: cifar10
"""

Refuse = Callable[[str, str], str]


@pytest.fixture
def refuse(tmp_path: Path) -> Refuse:
    """Write a network's file and give the error that a study which names it must cause."""

    def message(name: str, text: str) -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(StudyError) as caught:
            study(tmp_path, name)
        return str(caught.value)

    return message


def study(folder: Path, network: str) -> Study:
    path = folder / "study.yaml"
    path.write_text(STUDY.replace("NETWORK", network), encoding="utf-8")
    return load(path)


def examples(language: str) -> str:
    """The complete file that the documentation shows."""
    blocks: list[str] = re.findall(
        rf"```{language}\n(.*?)```", DOCUMENTATION.read_text(), re.DOTALL
    )
    return next(block for block in blocks if block.startswith("# "))


@pytest.mark.parametrize(("name", "language"), [("my_net.yaml", "yaml"), ("wide_net.py", "python")])
def test_the_documented_example_is_a_network(tmp_path: Path, name: str, language: str) -> None:
    (tmp_path / name).write_text(examples(language), encoding="utf-8")
    for classes in (10, 1000):
        built = read_own_network(name, tmp_path).build(32, 3, classes)
        assert (built.name, built.classes) == (name, classes)


def test_a_program_and_a_file_that_say_the_same_are_the_same_network(tmp_path: Path) -> None:
    (tmp_path / "net.yaml").write_text(NET)
    (tmp_path / "net.py").write_text(PROGRAM)
    assert (
        read_own_network("net.py", tmp_path).layers == read_own_network("net.yaml", tmp_path).layers
    )


def test_a_study_takes_a_file_beside_it_as_a_level(tmp_path: Path) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "net.yaml").write_text(NET)
    (scenario,) = study(tmp_path, "nets/net.yaml").scenarios()
    assert scenario.parameters["network"] == "nets/net.yaml"


def test_a_program_may_have_dataclasses_with_postponed_annotations(tmp_path: Path) -> None:
    head = "from __future__ import annotations\nfrom dataclasses import dataclass\n"
    box = "@dataclass\nclass Box:\n    size: int\n\n"
    (tmp_path / "net.py").write_text(head + PROGRAM.replace("def layers", box + "def layers", 1))
    assert read_own_network("net.py", tmp_path).layers
    assert "prumo network" not in sys.modules


def test_networks_of_scales_are_kept_with_the_study(tmp_path: Path) -> None:
    for name in ("net.yaml", "small.yaml"):
        (tmp_path / name).write_text(NET)
    file = tmp_path / "scaled.yaml"
    file.write_text(
        "name: s\nworkload: {kind: training}\nfactors: {seed: [1, 2]}\n"
        "fixed: {network: net.yaml}\nscales: {small: {network: small.yaml}}\n"
    )
    kept = {name: own.layers for name, own in load(file).own_networks().items()}
    assert kept.keys() == {"net.yaml", "small.yaml"}
    assert load(file, kept).scales


def test_a_network_is_part_of_what_makes_runs_comparable(tmp_path: Path) -> None:
    def mark(text: str) -> str:
        (tmp_path / "net.yaml").write_text(text)
        read = study(tmp_path, "net.yaml")
        (scenario,) = read.scenarios()
        return fingerprint(read, scenario)

    first = mark(NET)
    assert mark("# a remark\n" + NET) == first
    assert mark(NET.replace("outputs: 4", "outputs: 5")) != first


def test_layers_that_are_given_need_no_file(tmp_path: Path) -> None:
    (tmp_path / "net.yaml").write_text(NET)
    layers = study(tmp_path, "net.yaml").own_networks()["net.yaml"].layers
    (tmp_path / "net.yaml").unlink()
    kept = json.loads(json.dumps({"net.yaml": layers}))
    again = load(tmp_path / "study.yaml", kept)
    assert again.own_networks()["net.yaml"].layers == layers


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("max_pooling", "max_poling", "net.yaml:3: layer pool: no operation .* 'max_pooling'"),
        ("stride: 2", "strid: 2", "net.yaml:3: .* has no 'strid'; did you mean 'stride'"),
        ("kernel: 2", "kernel: 0", "net.yaml:3: layer pool: kernel must be"),
        ("name: flat", "name: conv", "net.yaml:4: .*: the name is taken by an earlier layer"),
        ("stride: 2", "stride: 2, inputs: cnv", "net.yaml:3: .*named cnv; did you mean 'conv'"),
        ("stride: 2", "stride: 2, inputs: flat", "net.yaml:3: .* without cycles"),
        ("stride: 2", "stride: 2, inputs: pool", "net.yaml:3: .* without cycles"),
        ("outputs: classes", "outputs: 3", "net.yaml:5: .* for each of the 10 classes"),
        ("operation: flatten", "operation: tanh", "net.yaml:5: .* gets 4x15x15: .*flatten first"),
        ("kernel: 3", "kernel: 33", "net.yaml:2: .* a 33x33 window does not fit"),
        ("layers:", "layer:", "net.yaml:1: layer: unknown key; did you mean 'layers'"),
        ("  - {name: conv,", "  - [conv,", "net.yaml:2: is not YAML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(
    refuse: Refuse, old: str, new: str, reason: str
) -> None:
    message = refuse("net.yaml", NET.replace(old, new, 1))
    assert re.search(r"study.yaml:4: factors.network\[0\]: .*" + reason, message), message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the file is empty"),
        ("- conv\n", "should be a mapping with `layers`"),
        ("description: nothing\n", "layers: should be a list of layers"),
        ("layers: []\n", "net.yaml:1: layers: should be a list of layers"),
    ],
)
def test_a_file_without_layers_is_refused(refuse: Refuse, text: str, reason: str) -> None:
    assert reason in refuse("net.yaml", text)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("def layers", "def layer", "needs a function `layers(classes)`"),
        ("(classes):", "(classes)", "net.py:4: its program failed with SyntaxError"),
        ("Flatten()", "Flaten()", "net.py:7: its program failed with NameError: name 'Flaten'"),
        ("MaxPooling(2, 2)", "MaxPooling(0, 2)", "net.py:6: kernel must be a whole number"),
        ('yield Layer("flat", Flatten())', "yield 3", "`layers` gave 3, which is not a Layer"),
        ("Dense(classes)", "Dense(classes + 1)", "`classes` can only be given to a layer as it is"),
        ("Dense(classes)", "Dense(exit())", "net.py:8: its program failed with SystemExit"),
    ],
)
def test_a_wrong_program_is_refused_with_its_line(
    refuse: Refuse, old: str, new: str, reason: str
) -> None:
    assert reason in refuse("net.py", PROGRAM.replace(old, new, 1))


def test_a_missing_file_is_refused_with_the_nearest_one(tmp_path: Path) -> None:
    (tmp_path / "my_net.yaml").write_text(NET)
    with pytest.raises(StudyError, match=r"net\[?.*: no such file; did you mean 'my_net.yaml'"):
        study(tmp_path, "mynet.yaml")


def test_one_error_in_a_network_is_told_once_for_all_image_sizes(
    tmp_path: Path, refuse: Refuse
) -> None:
    message = refuse("net.yaml", NET.replace("operation: flatten", "operation: tanh"))
    assert message.count("flatten first") == 1
    path = tmp_path / "study.yaml"
    path.write_text(path.read_text().replace("fixed:", "  image_size: [32, 64]\nfixed:"))
    with pytest.raises(StudyError) as caught:
        load(path)
    assert str(caught.value).count("flatten first") == 1
