"""A model is looked through before anything opens it, and says what it can about its use."""

from __future__ import annotations

import json
import os
import zipfile
from typing import TYPE_CHECKING, Any

import onnx
import pytest
from onnx import TensorProto, helper

from prumo.errors import InputError
from prumo_retina.evaluation.files import FOLDER as EVALUATIONS
from prumo_retina.grade import Grade
from prumo_retina.model import Seen, write_seen
from prumo_retina.task import FundusPreprocessing
from prumo_serve.package.making import given_labels
from prumo_serve.source import recognized
from prumo_serve.source.onnx_file import checked_model, format_versions, interface, write_one_file
from prumo_serve.source.pytorch_export import require_harmless, write_harmless
from support.model_packages import ColourNetwork, write_network
from support.retina_networks import description

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NODE = {"target": "torch.ops.aten.relu.default", "inputs": [{"name": "self"}], "outputs": []}
SIZE = "Symbol('s77', positive=True, integer=True)"
ENUM = '{"__enum__": true, "fqn": "antigravity:x", "name": "y"}'
ENUM_CONTEXT = [1, {"type": "builtins.dict", "context": ENUM, "children_spec": []}]
PLAIN_CONTEXT = [1, {"type": "builtins.dict", "context": '["image"]', "children_spec": []}]


def test_a_retina_model_tells_everything(tmp_path: Path) -> None:
    folder = _retina_folder(tmp_path, temperature=1.5)
    _write_card(folder / EVALUATIONS / "older" / "card.md", "# older", seconds=100)
    _write_card(folder / EVALUATIONS / "newer" / "card.md", "# newer", seconds=200)

    source = recognized(folder)

    assert (source.format, source.path.name) == ("retina", "model.keras")
    assert source.metadata.task == "grade"
    assert source.metadata.labels == tuple(grade.title for grade in Grade)
    assert source.metadata.normalization == "inside"
    assert isinstance(source.metadata.preprocessing, FundusPreprocessing)
    assert source.metadata.preprocessing.preparation["size"] == 64
    assert source.metadata.temperature == 1.5
    assert [point.name for point in source.metadata.points] == ["high_sensitivity", "balanced"]
    assert source.metadata.point == "high_sensitivity"
    assert source.metadata.created == "2026-11-16T12:00:00+00:00"
    assert source.metadata.card == "# newer"


def test_a_retina_model_tells_the_hashes_of_its_photographs_and_nothing_else(
    tmp_path: Path,
) -> None:
    folder = _retina_folder(tmp_path)
    assert recognized(folder).metadata.seen == ()
    hashes = ["b" * 64, "a" * 64, "b" * 64, ""]
    write_seen(folder, [Seen(f"P{place}", "train", one) for place, one in enumerate(hashes)])

    assert recognized(folder).metadata.seen == ("a" * 64, "b" * 64)


def test_a_retina_model_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    folder = _retina_folder(tmp_path)
    (folder / "model.keras").write_bytes(b"another network")

    with pytest.raises(InputError, match=r"not the network that model\.json describes"):
        recognized(folder)


def test_a_keras_model_tells_how_many_numbers_it_gives_where_its_last_layer_does(
    tmp_path: Path,
) -> None:
    dense = {"class_name": "Dense", "config": {"name": "scores", "units": 5}}
    tensor = {"class_name": "__keras_tensor__", "config": {"shape": [None, 5]}}
    softmax = {
        "class_name": "Activation",
        "config": {"name": "softmax"},
        "inbound_nodes": [{"args": [tensor], "kwargs": {}}],
    }
    pooling = {"class_name": "GlobalAveragePooling2D", "config": {"name": "pooling"}}
    told = {
        "graph": ("Functional", [dense, softmax, pooling], ["softmax", 0, 0]),
        "nested": ("Functional", [softmax, dense], [["scores", 0, 0]]),
        "row": ("Sequential", [pooling, dense, softmax], None),
        "open": ("Sequential", [dense, pooling], None),
        "broken": ("Functional", [dense], [[]]),
    }

    found = {}
    for name, (kind, layers, outputs) in told.items():
        described = {"layers": layers} | ({"output_layers": outputs} if outputs else {})
        path = _keras_file(tmp_path / f"{name}.keras", {"class_name": kind, "config": described})
        found[name] = recognized(path).metadata.outputs

    assert found == {"graph": 5, "nested": 5, "row": 5, "open": None, "broken": None}


def test_a_keras_model_tells_whether_it_normalizes_itself(tmp_path: Path) -> None:
    plain = _keras_file(tmp_path / "plain.keras", {"class_name": "Dense", "module": "keras.layers"})
    rescaling = _keras_file(
        tmp_path / "own.keras", {"class_name": "Rescaling", "module": "keras.layers"}
    )

    assert recognized(plain).metadata.normalization is None
    assert recognized(rescaling).metadata.normalization == "inside"
    assert recognized(plain).versions == {"keras": "3.15.1"}


@pytest.mark.parametrize(
    "part",
    [
        {"class_name": "Lambda", "module": "keras.layers"},
        {"class_name": "__lambda__", "config": {"value": "4wEA"}},
        {"class_name": "TFSMLayer", "module": "keras.layers"},
        {"class_name": "TorchModuleWrapper", "module": "keras.layers"},
        {"class_name": "function", "module": "os", "config": "system"},
        {"class_name": "function", "module": "keras.utils", "config": "get_file"},
        {"class_name": "function", "module": "keras.src.utils.file_utils", "config": "get_file"},
        {"class_name": "MyLayer", "module": "my_package.layers"},
        {"class_name": "Dense", "module": "keras.layers.evil/../x"},
        {"class_name": "Dense", "module": ["keras"]},
    ],
)
def test_a_keras_model_with_code_of_its_own_is_refused(
    tmp_path: Path, part: dict[str, Any]
) -> None:
    hidden = {"class_name": "Functional", "module": "keras", "config": {"layers": [[{"x": part}]]}}
    path = _keras_file(tmp_path / "model.keras", hidden)

    with pytest.raises(InputError, match="cannot be packaged"):
        recognized(path)


def test_a_file_that_only_is_called_keras_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.keras"
    for content in (b"", b"\x89HDF\r\n\x1a\n", b"PK\x03\x04 broken"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"no whole \.keras archive"):
            recognized(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "hello")
    with pytest.raises(InputError, match=r"has no config\.json"):
        recognized(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", "[" * 100_000)
    with pytest.raises(InputError, match="is not JSON"):
        recognized(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", "{" * 1000)
    damaged = bytearray(path.read_bytes())
    damaged[len("config.json") + 30] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(InputError, match=r"no whole \.keras archive"):
        recognized(path)


def test_an_older_keras_file_is_left_to_keras(tmp_path: Path) -> None:
    path = tmp_path / "model.h5"
    path.write_bytes(b"\x89HDF\r\n\x1a\n and more")

    assert recognized(path).format == "keras"

    path.write_bytes(b"something else")
    with pytest.raises(InputError, match="no HDF5 file"):
        recognized(path)


def test_a_saved_model_may_not_reach_beyond_its_graph(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    (folder / "variables").mkdir(parents=True)
    (folder / "variables" / "variables.index").write_bytes(b"weights")
    (folder / "saved_model.pb").write_bytes(_saved_graph(b"\x12\x06Conv2D", b"\x12\x09RestoreV2"))
    source = recognized(folder)

    assert (source.format, source.metadata.name) == ("saved_model", "saved")

    (folder / "variables" / "variables.index").write_bytes(b"other weights")
    assert recognized(folder).sha256 != source.sha256
    # The second one writes its field and its length in more bytes than it must.
    for operation in (b"\x12\x09WriteFile", b"\x92\x00\x89\x80\x00WriteFile"):
        (folder / "saved_model.pb").write_bytes(_saved_graph(b"\x12\x06Conv2D", operation))
        with pytest.raises(InputError, match="operation WriteFile"):
            recognized(folder)
    (folder / "saved_model.pb").write_bytes(b"\x12\x7fcut off")
    with pytest.raises(InputError, match="no whole SavedModel"):
        recognized(folder)


@pytest.mark.parametrize(
    "operation",
    ["EagerPyFunc", "TextLineDatasetV2", "CreateSummaryFileWriter", "InitializeTableFromTextFile"],
)
def test_a_function_of_a_saved_model_may_not_either(tmp_path: Path, operation: str) -> None:
    node = _part(2, operation.encode())
    function = _part(1, _part(3, node))
    graph = _part(2, _part(2, _part(2, function)))
    (tmp_path / "saved_model.pb").write_bytes(graph)

    with pytest.raises(InputError, match=f"operation {operation}"):
        recognized(tmp_path)


def test_a_harmless_export_has_no_pickle_and_no_python_left(tmp_path: Path) -> None:
    path = _export(tmp_path / "net.pt2")
    assert recognized(path).versions == {"torch": "2.13.0"}
    with pytest.raises(InputError, match=r"has Python source in it|has a pickle in it"):
        require_harmless(path)

    write_harmless(path, tmp_path / "first.pt2")
    write_harmless(path, tmp_path / "second.pt2")

    require_harmless(tmp_path / "first.pt2")
    assert (tmp_path / "first.pt2").read_bytes() == (tmp_path / "second.pt2").read_bytes()
    with zipfile.ZipFile(tmp_path / "first.pt2") as archive:
        assert archive.read("net/data/weights/weight_0") == b"weights"
        assert archive.read("net/data/sample_inputs/model.pt") == b""
        assert json.loads(archive.read("net/models/model.json"))["guards_code"] == []


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        ({"nodes": [{**NODE, "target": "torch.os.system"}]}, "no operator of PyTorch's"),
        ({"nodes": [{**NODE, "target": "torch.hub.load"}]}, "no operator of PyTorch's"),
        ({"nodes": [{**NODE, "target": "torch.ops.load_library"}]}, "no operator of PyTorch's"),
        ({"nodes": [{**NODE, "target": "_operator.attrgetter"}]}, "no operator of PyTorch's"),
        ({"sizes": [{"as_expr": {"expr_str": "exec(chr(49))"}}]}, "no formula"),
        ({"sizes": [{"as_expr": {"expr_str": "Symbol('s0').x"}}]}, "no formula"),
        ({"sizes": [{"as_expr": {"expr_str": "'__import__'"}}]}, "no formula"),
        ({"sizes": [{"as_expr": {"expr_str": 1}}]}, "no formula"),
        ({"in_spec": '[1, {"type": "collections.defaultdict"}]'}, "something else than tensors"),
        ({"in_spec": '[1, {"type": [], "context": null}]'}, "something else than tensors"),
        ({"out_spec": json.dumps(ENUM_CONTEXT)}, "something else than tensors"),
        ({"out_spec": "[" * 100_000}, "something else than tensors"),
    ],
)
def test_an_export_that_calls_other_code_is_refused(
    tmp_path: Path, graph: dict[str, Any], words: str
) -> None:
    path = _export(tmp_path / "net.pt2", graph=graph)

    with pytest.raises(InputError, match=words):
        recognized(path)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (
            {"data/weights/model_weights_config.json": '{"config": {"w": {"use_pickle": true}}}'},
            "weights as pickles",
        ),
        ({"data/constants/opaque_obj_0": "pickle"}, "does not have"),
        ({"data/aotinductor/model/code.so": "ELF"}, "does not have"),
        ({"models/second.json": "{}"}, "2 networks"),
        ({"models/model.json": "[1]"}, "describes nothing"),
        ({"models/model.json": "{"}, "no PyTorch export"),
    ],
)
def test_an_export_with_parts_that_run_is_refused(
    tmp_path: Path, parts: dict[str, str], words: str
) -> None:
    path = _export(tmp_path / "net.pt2", parts=parts)

    with pytest.raises(InputError, match=words):
        recognized(path)


@pytest.mark.parametrize("name", ["weights.pt", "model.pth", "model.pkl", "model.ckpt"])
def test_a_pickle_is_refused_with_advice(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x80\x04.")

    with pytest.raises(InputError, match=r"torch\.export\.save"):
        recognized(tmp_path / name)


@pytest.mark.parametrize("name", ["absent.onnx", "notes.txt", "folder"])
def test_what_is_no_model_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "folder").mkdir()

    with pytest.raises(InputError, match="no model"):
        recognized(tmp_path / name)


@pytest.mark.parametrize(
    ("network", "layout", "kind", "activation"),
    [
        (ColourNetwork(), "NHWC", "scores", "softmax"),
        (ColourNetwork(layout="NCHW", probabilities=True), "NCHW", "probabilities", "softmax"),
        (ColourNetwork(outputs=1), "NHWC", "scores", "sigmoid"),
    ],
)
def test_an_onnx_file_tells_what_it_takes_and_gives(
    tmp_path: Path, network: ColourNetwork, layout: str, kind: str, activation: str
) -> None:
    path = write_network(tmp_path / "network.onnx", network)

    model = checked_model(path)

    told = interface(model, path)

    assert (told.layout, told.kind, told.activation) == (layout, kind, activation)
    assert (told.height, told.width, told.dtype) == (32, 32, "float32")
    assert format_versions(model) == {"onnx_ir": "8", "onnx_opset": "17"}


def test_an_onnx_file_with_other_operators_is_refused(tmp_path: Path) -> None:
    for domain, operator in (("my.own", "Relu"), ("ai.onnx.contrib", "PyOp")):
        path = _changed(tmp_path, lambda model: _rename(model, domain, operator))  # noqa: B023
        with pytest.raises(InputError, match=f"{operator} of the domain {domain}"):
            recognized(path)
    path = _changed(tmp_path, lambda model: _rename(model, "com.microsoft", "EPContext"))
    with pytest.raises(InputError, match="runs other code"):
        recognized(path)


def test_weights_beside_an_onnx_file_are_taken_into_it(tmp_path: Path) -> None:
    whole = write_network(tmp_path / "whole.onnx")
    split = tmp_path / "split" / "network.onnx"
    split.parent.mkdir()
    onnx.save(
        onnx.load(whole), split, save_as_external_data=True, location="data.bin", size_threshold=0
    )

    recognized(split)
    write_one_file(split, tmp_path / "merged.onnx")
    write_one_file(whole, tmp_path / "copied.onnx")

    merged = onnx.load(tmp_path / "merged.onnx", load_external_data=False)
    expected = onnx.load(whole).graph.initializer
    assert [onnx.numpy_helper.to_array(one).tolist() for one in merged.graph.initializer] == [
        onnx.numpy_helper.to_array(one).tolist() for one in expected
    ]
    assert (tmp_path / "copied.onnx").read_bytes() == whole.read_bytes()
    (split.parent / "data.bin").unlink()
    with pytest.raises(InputError, match="which is not there"):
        recognized(split)


@pytest.mark.parametrize("location", ["/etc/hostname", "../data.bin", "a/../../data.bin", ""])
def test_weights_elsewhere_are_refused(tmp_path: Path, location: str) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "data.bin").write_bytes(bytes(1000))
    path = _changed(tmp_path / "inner", lambda model: _move_weights(model, location))

    with pytest.raises(InputError, match="outside of its own folder"):
        recognized(path)


def test_weights_behind_a_link_are_refused(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "data.bin").write_bytes(bytes(1000))
    (tmp_path / "inner" / "data.bin").symlink_to(tmp_path / "data.bin")
    path = _changed(tmp_path / "inner", lambda model: _move_weights(model, "data.bin"))

    with pytest.raises(InputError, match="behind the link"):
        recognized(path)


def test_a_damaged_onnx_file_is_refused(tmp_path: Path) -> None:
    content = write_network(tmp_path / "good.onnx").read_bytes()
    path = tmp_path / "bad.onnx"
    for bad in (b"", b"hello", content[:-20], content[20:], content.replace(b"Gemm", b"Gxmm")):
        path.write_bytes(bad)
        with pytest.raises(InputError, match="ONNX"):
            recognized(path)


@pytest.mark.parametrize(
    ("shape", "kind", "words"),
    [
        (["n", 32, 32, 1], TensorProto.FLOAT, "--layout"),
        (["n", 3, 8, 3], TensorProto.FLOAT, "--layout"),
        (["n", "h", "w", "c"], TensorProto.FLOAT, "--layout"),
        (["n", 32, 3], TensorProto.FLOAT, "one batch of them"),
        (["n", 32, 32, 3], TensorProto.FLOAT16, "FLOAT16"),
    ],
)
def test_an_onnx_file_that_takes_something_else_is_refused(
    tmp_path: Path, shape: list[int | str], kind: int, words: str
) -> None:
    taken = helper.make_tensor_value_info("image", kind, shape)
    model = onnx.load(write_network(tmp_path / "network.onnx"))
    model.graph.input[0].CopyFrom(taken)

    with pytest.raises(InputError, match=words):
        interface(model, tmp_path / "network.onnx")


def test_an_onnx_file_that_gives_several_answers_is_refused(tmp_path: Path) -> None:
    model = onnx.load(write_network(tmp_path / "network.onnx"))
    model.graph.output.append(
        helper.make_tensor_value_info("mean", TensorProto.FLOAT, ["batch", 3])
    )

    with pytest.raises(InputError, match="one row of scores"):
        interface(model, tmp_path / "network.onnx")


def test_labels_come_from_a_line_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("cat, small\ndog\n\n", encoding="utf-8")

    assert given_labels("cat, dog") == ("cat", "dog")
    assert given_labels(str(tmp_path / "labels.txt")) == ("cat, small", "dog")
    assert given_labels("") == ()
    with pytest.raises(InputError, match="the same label: cat"):
        given_labels("cat,dog,cat")


def _retina_folder(tmp_path: Path, **changes: object) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.keras").write_bytes(b"a network")
    document = description("grade", b"a network", **changes)
    (folder / "model.json").write_text(json.dumps(document))
    return folder


def _write_card(path: Path, text: str, seconds: int) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text)
    os.utime(path, (seconds, seconds))


def _keras_file(path: Path, configuration: dict[str, Any]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", json.dumps({"keras_version": "3.15.1"}))
        archive.writestr("config.json", json.dumps(configuration))
        archive.writestr("model.weights.h5", b"weights")
    return path


def _saved_graph(*operations: bytes) -> bytes:
    nodes = b"".join(_part(1, operation) for operation in operations)
    return _part(2, _part(2, nodes))


def _part(number: int, content: bytes) -> bytes:
    """A field of a protocol buffer."""
    return bytes([number << 3 | 2, len(content)]) + content


def _export(
    path: Path, graph: Mapping[str, Any] | None = None, parts: Mapping[str, str] | None = None
) -> Path:
    """Parts as PyTorch 2.13 writes them."""
    sizes = [{"as_expr": {"expr_str": SIZE}}]
    whole = {"nodes": [NODE], "sizes": sizes, "in_spec": json.dumps(PLAIN_CONTEXT), **(graph or {})}
    document = {
        "graph_module": {"graph": whole},
        "guards_code": ["print('hello')"],
        "torch_version": "2.13.0",
    }
    written = {
        "data/weights/weight_0": "weights",
        "data/weights/model_weights_config.json": '{"config": {"w": {"use_pickle": false}}}',
        "data/constants/model_constants_config.json": '{"config": {}}',
        "models/model.json": json.dumps(document),
        "data/sample_inputs/model.pt": "a pickle",
        "archive_format": "pt2",
        ".data/version": "6",
        **(parts or {}),
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in written.items():
            archive.writestr(f"{path.stem}/{name}", content)
    return path


def _changed(folder: Path, change: Any) -> Path:
    path = write_network(folder / "network.onnx")
    model = onnx.load(path)
    change(model)
    path.write_bytes(model.SerializeToString())
    return path


def _rename(model: onnx.ModelProto, domain: str, operator: str) -> None:
    model.graph.node[-1].domain = domain
    model.graph.node[-1].op_type = operator
    model.opset_import.append(helper.make_opsetid(domain, 1))


def _move_weights(model: onnx.ModelProto, location: str) -> None:
    tensor = model.graph.initializer[0]
    onnx.external_data_helper.set_external_data(tensor, location=location)
    tensor.ClearField("raw_data")
