"""A package is whole, says what it is, and is written whole or not at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import onnx
import pytest

from prumo.errors import InputError, StorageError
from prumo.progress import Silent
from prumo_serve.manifest import HeatMap, Manifest, NetworkFile
from prumo_serve.package import is_package, open_or_package, open_package, write_package
from prumo_serve.package.check import examined
from support.model_packages import ColourNetwork, write_colour_package, write_network

if TYPE_CHECKING:
    from pathlib import Path


def test_a_folder_is_a_package_as_an_archive_is(tmp_path: Path) -> None:
    archived = write_colour_package(tmp_path / "model.tgz")
    filed = write_colour_package(tmp_path / "folder")

    assert archived == filed
    assert is_package(tmp_path / "model.tgz")
    assert is_package(tmp_path / "folder")
    assert not is_package(tmp_path)
    assert open_or_package(tmp_path / "folder", Silent()).manifest == filed


def test_a_folder_stays_when_its_package_is_closed(tmp_path: Path) -> None:
    write_colour_package(tmp_path / "folder")

    with open_package(tmp_path / "folder") as package:
        pass

    assert package.network_path.is_file()


def test_whatever_decides_on_an_answer_makes_another_version(tmp_path: Path) -> None:
    out = tmp_path / "folder"
    versions = [
        write_colour_package(out, "referral").version,
        write_colour_package(out, "grade").version,
        write_colour_package(out).version,
        write_colour_package(out, labels=("blue", "green", "red")).version,
        write_colour_package(out, network=ColourNetwork(sharpness=9)).version,
        write_colour_package(out, heat_map=True).version,
    ]

    assert len(set(versions)) == len(versions)
    assert all(len(version) == 12 for version in versions)


def test_a_name_or_a_card_makes_no_other_version(tmp_path: Path) -> None:
    first = write_colour_package(tmp_path / "first", name="first")
    second = write_colour_package(tmp_path / "second", name="second")

    assert first.files["card.md"] != second.files["card.md"]
    assert first.version == second.version


def test_a_new_package_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    out = tmp_path / "folder"
    write_colour_package(out, "grade", heat_map=True)
    newer = write_colour_package(out)

    assert open_package(out).manifest == newer
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_what_is_no_package_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("precious")
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "manifest.json").write_text('{"name": "a page"}')
    write_colour_package(tmp_path / "notes")
    (tmp_path / "notes" / "notes.txt").write_text("precious")
    (tmp_path / "model.tar.gz").mkdir()
    (tmp_path / "file").write_text("precious")

    for name in ("thesis", "web", "notes", "model.tar.gz", "file"):
        with pytest.raises(InputError, match=r"is there already|is a folder"):
            write_colour_package(tmp_path / name)

    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "precious"
    assert (tmp_path / "notes" / "notes.txt").read_text() == "precious"
    assert (tmp_path / "file").read_text() == "precious"


def test_a_package_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StorageError, match="cannot write"):
        write_colour_package(tmp_path / "file" / "model.tar.gz")

    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_only_known_files_are_packed(tmp_path: Path) -> None:
    content = tmp_path / "content"
    write_colour_package(content)
    manifest = open_package(content).manifest
    (content / "notes.txt").write_text("mine")

    with pytest.raises(InputError, match=r"notes\.txt"):
        write_package(content, manifest, tmp_path / "out.tar.gz")


def test_a_package_is_not_changed_by_one_that_is_made_of_it(tmp_path: Path) -> None:
    first = write_colour_package(tmp_path / "first")
    other = first.model_copy(update={"labels": ("blue", "green", "red")})

    second = write_package(tmp_path / "first", other, tmp_path / "second")

    assert open_package(tmp_path / "first").manifest == first
    assert open_package(tmp_path / "second").manifest == second
    assert second.version != first.version


def test_a_manifest_must_name_what_is_packed(tmp_path: Path) -> None:
    content = tmp_path / "content"
    write_colour_package(content)
    manifest = open_package(content).manifest
    other = NetworkFile(file="network.tflite", runtime="litert")

    with pytest.raises(InputError, match=r"network\.tflite, which is not in the package"):
        write_package(content, manifest.model_copy(update={"network": other}), tmp_path / "out")


@pytest.mark.parametrize("file", ["network.onnx", "card.md"])
def test_a_file_that_was_changed_is_refused(tmp_path: Path, file: str) -> None:
    write_colour_package(tmp_path / "folder")
    changed = tmp_path / "folder" / file
    changed.write_bytes(changed.read_bytes() + b" ")

    with pytest.raises(InputError, match=f"{file} is not the file that manifest.json was"):
        open_package(tmp_path / "folder")


def test_a_file_that_was_added_is_refused(tmp_path: Path) -> None:
    write_colour_package(tmp_path / "folder")
    write_network(tmp_path / "folder" / "heat_map.onnx")

    with pytest.raises(InputError, match=r"does not know: heat_map\.onnx"):
        open_package(tmp_path / "folder")


@pytest.mark.parametrize(
    ("keys", "value", "words"),
    [
        (("labels",), ["green", "red", "blue"], "was changed after packing"),
        (("output", "temperature"), 2.0, "was changed after packing"),
        (("format",), 2, "newer than this Prumo"),
        (("format",), "one", "format"),
        (("labels",), [], "labels"),
        (("labels",), ["red", "red"], "two labels are the same"),
        (("labels",), ["red\x1b[2J"], "labels"),
        (("name",), "../other", "name"),
        (("task",), "grade", "has 5 labels"),
        (("point",), "balanced", "is none of"),
        (("surprise",), 1, "surprise"),
        (("input", "height"), 0, "input.height"),
        (("input", "height"), 100_000, "input.height"),
        (("input", "normalization"), {"scale": [0, 1, 1]}, "scale"),
        (("input", "preprocessing"), {"kind": "image", "fit": "bend"}, r"preprocessing\.fit"),
        (("input", "preprocessing"), {"kind": "fundus"}, "classification has no preprocessing"),
        (("task",), "fortune", "no task 'fortune'"),
        (("input", "preprocessing"), {"kind": "python", "code": "1"}, "preprocessing"),
        (("output", "temperature"), 0, "temperature"),
        (("output",), {"tensor": "y", "kind": "probabilities", "temperature": 2}, "for scores"),
        (("network", "runtime"), "tensorflow", "takes the folder of a SavedModel"),
        (("network", "runtime"), "litert", r"litert, which takes \.tflite"),
        (("card",), "network.onnx", "card"),
        (("network", "runtime"), "pickle", "network.runtime"),
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused(
    tmp_path: Path, keys: tuple[str, ...], value: object, words: str
) -> None:
    write_colour_package(tmp_path / "folder")
    path = tmp_path / "folder" / "manifest.json"
    document = json.loads(path.read_text())
    _set(document, keys, value)
    path.write_text(json.dumps(document))

    with pytest.raises(InputError, match=words):
        open_package(tmp_path / "folder")


def test_a_task_checks_the_settings_of_its_own_preprocessing(tmp_path: Path) -> None:
    write_colour_package(tmp_path / "folder", "grade")
    path = tmp_path / "folder" / "manifest.json"
    document = json.loads(path.read_text())
    _set(document, ("input", "preprocessing", "preparation", "size"), 1)
    path.write_text(json.dumps(document))

    with pytest.raises(InputError, match=r"input: preprocessing\.preparation.*size"):
        open_package(tmp_path / "folder")


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", "null", "[" * 100_000, '{"a": 1' + " " * 5_000_000]
)
def test_what_is_no_manifest_is_refused(tmp_path: Path, text: str) -> None:
    write_colour_package(tmp_path / "folder")
    (tmp_path / "folder" / "manifest.json").write_text(text)

    with pytest.raises(InputError, match=r"manifest\.json"):
        open_package(tmp_path / "folder")


def test_a_network_with_weights_elsewhere_is_refused(tmp_path: Path) -> None:
    content = tmp_path / "content"
    write_colour_package(content)
    manifest = open_package(content).manifest
    _put_weights_elsewhere(content / "network.onnx")
    write_package(content, manifest, tmp_path / "model.tar.gz")

    with pytest.raises(InputError, match="keeps weights in another file"):
        open_package(tmp_path / "model.tar.gz")


@pytest.mark.parametrize(
    ("field", "words"),
    [
        (b"\x70\x01", "keeps weights in another file"),
        (b"\xf0\x80\x00\x81\x00", "keeps weights in another file"),
        (b"\x70", "no whole ONNX file"),
        (b"\x6a\x7f", "no whole ONNX file"),
    ],
)
def test_no_way_of_writing_hides_where_weights_are(
    tmp_path: Path, field: bytes, words: str
) -> None:
    content = tmp_path / "content"
    write_colour_package(content)
    manifest = open_package(content).manifest
    # Another piece of the graph with a tensor in it, which readers join with the first.
    tensor = b"\x2a" + bytes([len(field)]) + field
    with (content / "network.onnx").open("ab") as file:
        file.write(b"\x3a" + bytes([len(tensor)]) + tensor)
    write_package(content, manifest, tmp_path / "model.tar.gz")

    with pytest.raises(InputError, match=words):
        open_package(tmp_path / "model.tar.gz")


def test_a_tensor_may_be_called_as_it_likes(tmp_path: Path) -> None:
    content = tmp_path / "content"
    write_colour_package(content)
    manifest = open_package(content).manifest
    model = onnx.load(content / "network.onnx")
    model.graph.node[0].output[0] = "location"
    model.graph.node[1].input[0] = "location"
    onnx.save(model, content / "network.onnx")

    write_package(content, manifest, tmp_path / "model.tar.gz")

    with open_package(tmp_path / "model.tar.gz") as package:
        assert examined(package)[-1].passed


def test_the_network_of_heat_maps_is_looked_through_too(tmp_path: Path) -> None:
    content = tmp_path / "content"
    write_colour_package(content)
    heat_map = HeatMap(
        features="scores", network=NetworkFile(file="heat_map.pt2", runtime="pytorch")
    )
    manifest = open_package(content).manifest.model_copy(update={"heat_map": heat_map})
    (content / "heat_map.pt2").write_bytes(b"\x80\x04.")
    write_package(content, manifest, tmp_path / "model.tar.gz")

    with pytest.raises(InputError, match="no whole PyTorch export"):
        open_package(tmp_path / "model.tar.gz")


def test_what_is_not_there_is_no_package(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no model"):
        open_package(tmp_path / "absent.tar.gz")
    with pytest.raises(InputError, match=r"has no manifest\.json"):
        open_package(tmp_path)


def test_a_manifest_survives_its_own_file(tmp_path: Path) -> None:
    written = write_colour_package(tmp_path / "folder", "grade", heat_map=True)

    text = (tmp_path / "folder" / "manifest.json").read_text()

    assert Manifest.model_validate_json(text) == written


def _set(document: Any, keys: tuple[str, ...], value: object) -> None:
    for key in keys[:-1]:
        document = document[key]
    document[keys[-1]] = value


def _put_weights_elsewhere(path: Path) -> None:
    model = onnx.load(path)
    tensor = model.graph.initializer[0]
    onnx.external_data_helper.set_external_data(tensor, location="../../../etc/hostname")
    tensor.ClearField("raw_data")
    path.write_bytes(model.SerializeToString())
