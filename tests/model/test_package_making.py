"""A model is packaged with what it says about itself and what its owner adds, or not at all."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from prumo.errors import InputError, UnavailableError
from prumo.progress import Silent
from prumo_retina.task import FundusPreprocessing
from prumo_serve.manifest import OperatingPoint
from prumo_serve.package import open_or_package, open_package, write_package
from prumo_serve.package.check import examined
from prumo_serve.package.making import PackageRequest, agreed_terms, given_card, make_package
from prumo_serve.source import ModelMetadata, Source
from support.heard_progress import Heard
from support.model_packages import ColourNetwork, write_colour_package, write_network

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from prumo_serve.manifest import Manifest

ENOUGH = PackageRequest(labels=("red", "green", "blue"), normalization="0..255")


def test_an_onnx_file_is_packaged_as_it_is(tmp_path: Path) -> None:
    path = write_network(tmp_path / "colours.onnx", ColourNetwork(layout="NCHW"))

    manifest = make_package(path, ENOUGH, tmp_path / "model.tar.gz", Silent())

    with open_package(tmp_path / "model.tar.gz") as package:
        assert package.manifest == manifest
        assert package.network_path.read_bytes() == path.read_bytes()
        assert "came without a card" in package.card
    assert (manifest.name, manifest.task, manifest.labels) == (
        "colours",
        "classification",
        ("red", "green", "blue"),
    )
    assert (manifest.input.height, manifest.input.layout) == (32, "NCHW")
    assert manifest.input.normalization is None
    assert (manifest.output.kind, manifest.output.tensor) == ("scores", "scores")
    assert manifest.origin.format == "onnx"
    assert manifest.versions["onnx_opset"] == "17"


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    path = write_network(tmp_path / "colours.onnx")
    outs = [tmp_path / name for name in ("first.tar.gz", "second.tar.gz")]

    for out in outs:
        make_package(path, ENOUGH, out, Silent())

    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_all_that_nobody_says_is_asked_for_at_once(tmp_path: Path) -> None:
    path = write_network(tmp_path / "colours.onnx")

    with pytest.raises(InputError) as failure:
        make_package(path, PackageRequest(task="referral"), tmp_path / "out", Silent())

    assert "--normalization" in str(failure.value)
    assert "--point NAME=THRESHOLD" in str(failure.value)
    assert "--labels" not in str(failure.value)


def test_what_cannot_be_packaged_on_the_fly_says_how_to_package_it_and_announces_nothing(
    tmp_path: Path,
) -> None:
    path = write_network(tmp_path / "my colours.onnx")
    heard = Heard()

    with pytest.raises(InputError) as failure:
        open_or_package(path, heard)

    command = f"prumo model package '{path}' --labels red,green,blue --normalization NAME --out"
    assert command in str(failure.value)
    assert "prumo serve model.tar.gz" in str(failure.value)
    assert heard.said == []


def test_a_referral_needs_one_output_and_its_point(tmp_path: Path) -> None:
    path = write_network(tmp_path / "colours.onnx", ColourNetwork(outputs=1))
    settings = PackageRequest(
        task="referral", normalization="0..255", points=("own=0.4", "other=0.7")
    )

    manifest = make_package(path, settings, tmp_path / "out", Silent())

    assert manifest.labels == ("no referral", "refer")
    assert manifest.output.activation == "sigmoid"
    assert manifest.points == (
        OperatingPoint(name="own", threshold=0.4),
        OperatingPoint(name="other", threshold=0.7),
    )
    assert manifest.point == "own"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"labels": ("red", "green")}, "3 numbers for 2 labels"),
        ({"labels": tuple("abcde")}, "3 numbers for 5 labels"),
        ({"task": "grade", "points": ("own=0.5",)}, "has 5 labels"),
        ({"normalization": "0..2"}, "no normalization '0..2'"),
        ({"points": ("own=2",)}, "from 0 to 1"),
        ({"points": ("own=much",)}, "from 0 to 1"),
        ({"points": ("own=nan",)}, "from 0 to 1"),
        ({"points": ("=0.5",)}, "a name without slashes"),
        ({"points": ("a/b=0.5",)}, "a name without slashes"),
        ({"points": ("own",)}, "no operating point 'own'"),
        ({"size_pixels": 64}, "sides of 32 pixels, not 64"),
        ({"name": "a/b"}, "cannot be packaged: name: it is empty or too long, or has"),
    ],
)
def test_what_does_not_fit_the_network_is_refused(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    path = write_network(tmp_path / "colours.onnx")

    with pytest.raises(InputError, match=words):
        make_package(path, replace(ENOUGH, **change), tmp_path / "out", Silent())

    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("count", [2, 6])
def test_a_wrong_number_of_labels_is_found_before_anything_is_converted(
    tmp_path: Path, count: int
) -> None:
    source = Source(
        tmp_path / "model.keras", "keras", "0" * 64, ModelMetadata(name="five", outputs=5)
    )
    settings = replace(ENOUGH, labels=tuple("abcdef"[:count]))

    with pytest.raises(InputError, match=f"5 numbers for each image, but there are {count} labels"):
        agreed_terms(source, settings)


def test_one_number_stands_for_two_labels(tmp_path: Path) -> None:
    source = Source(
        tmp_path / "model.keras", "keras", "0" * 64, ModelMetadata(name="one", outputs=1)
    )

    assert agreed_terms(source, replace(ENOUGH, labels=("no", "yes"))).labels == ("no", "yes")


def test_a_package_is_not_packaged_again(tmp_path: Path) -> None:
    for name in ("model.tar.gz", "model"):
        write_colour_package(tmp_path / name)

        with pytest.raises(InputError, match="is a package already"):
            make_package(tmp_path / name, ENOUGH, tmp_path / "again", Silent())


@pytest.mark.parametrize("ending", [".zip", ".tar", ".tar.bz2", ".TAR.GZ", ".gz"])
def test_an_out_named_as_another_archive_is_refused_with_the_right_name(
    tmp_path: Path, ending: str
) -> None:
    path = write_network(tmp_path / "colours.onnx")

    with pytest.raises(InputError, match=r"would become a folder .* give .*model\.tar\.gz for"):
        make_package(path, ENOUGH, tmp_path / f"model{ending}", Silent())

    assert not (tmp_path / f"model{ending}").exists()


def test_a_network_for_huge_images_is_refused(tmp_path: Path) -> None:
    path = write_network(tmp_path / "huge.onnx", ColourNetwork(size=5000))

    with pytest.raises(InputError, match=r"cannot be packaged: input\.height"):
        make_package(path, ENOUGH, tmp_path / "out", Silent())


def test_a_network_for_any_size_needs_one(tmp_path: Path) -> None:
    path = _any_size_network(tmp_path / "any.onnx")

    with pytest.raises(InputError, match="give --size"):
        make_package(path, ENOUGH, tmp_path / "out", Silent())

    manifest = make_package(path, replace(ENOUGH, size_pixels=48), tmp_path / "out", Silent())
    assert (manifest.input.height, manifest.input.width) == (48, 48)


def test_a_card_comes_from_the_owner_or_is_made_in_their_language(tmp_path: Path) -> None:
    path = write_network(tmp_path / "colours.onnx")

    make_package(path, replace(ENOUGH, card="# mine\n"), tmp_path / "own", Silent())
    make_package(path, replace(ENOUGH, language_tag="pt-BR"), tmp_path / "made", Silent())

    assert open_package(tmp_path / "own").card == "# mine\n"
    assert "O modelo veio sem ficha" in open_package(tmp_path / "made").card


def test_a_card_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "card.md").write_bytes(b"\xff\xfe")

    with pytest.raises(InputError, match="cannot be read as text"):
        given_card(tmp_path / "card.md")


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("--labels", PackageRequest(labels=("a", "b"))),
        ("--task", PackageRequest(task="grade")),
        ("--fit", PackageRequest(fit="pad")),
        ("--normalization", PackageRequest(normalization="0..1")),
    ],
)
def test_nobody_may_contradict_a_model_that_tells(
    tmp_path: Path, name: str, settings: PackageRequest
) -> None:
    with pytest.raises(InputError, match=f"leave {name} out"):
        agreed_terms(_telling_source(tmp_path), settings)


def test_a_point_of_the_model_or_ones_own_may_decide(tmp_path: Path) -> None:
    source = _telling_source(tmp_path)

    assert agreed_terms(source, PackageRequest()).point == "first"
    assert agreed_terms(source, PackageRequest(points=("second",))).point == "second"
    own = agreed_terms(source, PackageRequest(points=("own=0.2",), name="mine"))
    assert (own.point, own.name, len(own.points)) == ("own", "mine", 3)
    with pytest.raises(InputError, match="did you mean 'second'"):
        agreed_terms(source, PackageRequest(points=("secnd",)))


def test_a_network_that_answers_nonsense_is_never_written(tmp_path: Path) -> None:
    path = write_network(tmp_path / "colours.onnx", ColourNetwork(sharpness=float("nan")))

    with pytest.raises(InputError, match="answers: the network's answer is not a number"):
        make_package(path, ENOUGH, tmp_path / "out", Silent())

    assert not (tmp_path / "out").exists()


def test_a_network_whose_answer_depends_on_its_neighbours_is_found_out(tmp_path: Path) -> None:
    model = ColourNetwork(probabilities=True).model()
    model.graph.node[-1].attribute[0].i = 0
    onnx.save(model, tmp_path / "colours.onnx")

    with pytest.raises(InputError, match="beside another one than alone"):
        make_package(tmp_path / "colours.onnx", ENOUGH, tmp_path / "out", Silent())


def test_an_examination_passes_what_works(tmp_path: Path) -> None:
    write_colour_package(tmp_path / "folder", "grade", heat_map=True)

    findings = {finding.subject: finding for finding in examined(open_package(tmp_path / "folder"))}

    assert all(finding.passed for finding in findings.values())
    assert list(findings) == [
        "files",
        "operators",
        "preprocessing",
        "network",
        "answers",
        "batches",
        "heat map",
        "card",
    ]
    assert findings["operators"].told == "ONNX's own, opset 17, IR version 8"
    assert findings["heat map"].told == "4 x 4 places, from 0 to 1"


@pytest.mark.parametrize(
    ("break_it", "subject", "words"),
    [
        (lambda manifest: _with_part(manifest, "input", tensor="pixels"), "answers", "takes image"),
        (lambda manifest: _with_part(manifest, "output", tensor="p"), "answers", "gives scores"),
        (lambda manifest: _with_part(manifest, "input", layout="NCHW"), "answers", "not compute"),
        (
            lambda manifest: _with_part(manifest, "output", kind="probabilities"),
            "answers",
            "but they are scores",
        ),
        (
            lambda manifest: manifest.model_copy(update={"labels": ("a", "b")}),
            "answers",
            "3 numbers for 2 labels",
        ),
        (lambda manifest: _with_part(manifest, "heat_map", features="x"), "heat map", "give x"),
    ],
)
def test_an_examination_finds_a_manifest_that_does_not_fit(
    tmp_path: Path, break_it: Callable[[Manifest], Manifest], subject: str, words: str
) -> None:
    content = tmp_path / "content"
    manifest = write_colour_package(content, heat_map=True)
    write_package(content, break_it(manifest), tmp_path / "broken")

    last = examined(open_package(tmp_path / "broken"))[-1]

    assert (last.subject, last.passed) == (subject, False)
    assert words in last.told


def test_what_is_not_installed_is_no_fault_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = tmp_path / "content"
    write_package(content, write_colour_package(content), tmp_path / "model")
    monkeypatch.setitem(sys.modules, "onnx", None)

    with pytest.raises(UnavailableError, match=r"pip install 'prumo\[model\]'"):
        examined(open_package(tmp_path / "model"))


def test_an_examination_finds_heat_maps_that_are_none(tmp_path: Path) -> None:
    content = tmp_path / "content"
    manifest = write_colour_package(content, heat_map=True)
    model = onnx.load(content / "heat_map.onnx")
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.full(3, np.inf, "f"), "red"))
    onnx.save(model, content / "heat_map.onnx")
    write_package(content, manifest, tmp_path / "broken")

    last = examined(open_package(tmp_path / "broken"))[-1]

    assert (last.subject, last.told) == ("heat map", "its values are not from 0 to 1")


def test_the_commands_package_show_and_check(
    prumo_here: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    write_network(tmp_path / "colours.onnx")
    (tmp_path / "labels.txt").write_text("red\ngreen\nblue\n")
    words = ("--labels", "labels.txt", "--normalization", "-1..1", "--out", "model.tar.gz")

    packed = prumo_here("model", "package", "colours.onnx", *words)
    shown = prumo_here("model", "show", "model.tar.gz")
    checked = prumo_here("model", "check", "model.tar.gz")

    assert packed.returncode == 0, packed.stderr
    assert "model.tar.gz: colours, version " in packed.stdout
    assert "red, green, blue" in shown.stdout
    assert "(pixel - [127.5, 127.5, 127.5]) / [127.5, 127.5, 127.5], RGB" in shown.stdout
    assert checked.returncode == 0
    assert "one probability for each of 3 labels" in checked.stdout


def test_the_commands_tell_programs_too(
    prumo_here: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    manifest = write_colour_package(tmp_path / "model.tar.gz")

    shown = prumo_here("model", "show", "model.tar.gz", "--json")
    card = prumo_here("model", "show", "model.tar.gz", "--card")
    checked = prumo_here("model", "check", "model.tar.gz", "--json")

    assert f'"version": "{manifest.version}"' in shown.stdout
    assert '"network.onnx": ' in shown.stdout
    assert card.stdout == "# colours\n\nLooks at colours.\n"
    assert '"passed": true' in checked.stdout


def test_a_check_ends_with_another_code_for_a_network_and_for_a_package_that_is_wrong(
    prumo_here: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    manifest = write_colour_package(tmp_path / "folder")
    fewer = manifest.model_copy(update={"labels": ("red", "green")})
    write_package(tmp_path / "folder", fewer, tmp_path / "wrong.tar.gz")
    (tmp_path / "damaged.tar.gz").write_bytes((tmp_path / "wrong.tar.gz").read_bytes()[:500])

    wrong = prumo_here("model", "check", "wrong.tar.gz")
    damaged = prumo_here("model", "check", "damaged.tar.gz")

    assert (wrong.returncode, damaged.returncode) == (1, 2)
    assert "WRONG" in wrong.stdout
    assert "no whole tar.gz archive" in damaged.stderr


def _telling_source(folder: Path) -> Source:
    metadata = ModelMetadata(
        name="telling",
        task="referral",
        labels=("no referral", "refer"),
        normalization="inside",
        preprocessing=FundusPreprocessing(preparation={"size": 64}),
        points=(
            OperatingPoint(name="first", threshold=0.3),
            OperatingPoint(name="second", threshold=0.6),
        ),
        point="first",
    )
    return Source(folder / "model.keras", "retina", "0" * 64, metadata)


def _with_part(manifest: Manifest, part: str, **changes: object) -> Manifest:
    changed = getattr(manifest, part).model_copy(update=changes)
    return manifest.model_copy(update={part: changed})


def _any_size_network(path: Path) -> Path:
    """The mean colour of an image, whatever its size."""
    model = ColourNetwork().model()
    graph = model.graph
    for axis in (1, 2):
        graph.input[0].type.tensor_type.shape.dim[axis].dim_param = f"side_{axis}"
    mean = helper.make_node("ReduceMean", ["image"], ["mean"], axes=[1, 2], keepdims=0)
    del graph.node[:4]
    graph.node.insert(0, mean)
    onnx.save(model, path)
    return path
