"""Dockerfiles keep the rules of platforms, and images are planned, weighed and listed rightly."""

from __future__ import annotations

import io
import json
import math
import re
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from benchmarks import images as images_benchmark
from prumo.errors import InputError, UnavailableError
from prumo.progress import SILENT
from prumo_endpoint.commands.image import command
from prumo_endpoint.image.build import VARIANTS, Plan, base_python, build_image
from prumo_endpoint.image.engine import Engine, chosen_engine
from prumo_endpoint.image.layers import SavedImage
from prumo_endpoint.image.sbom import bill_of_materials
from prumo_endpoint.infrastructure import IMAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

STATUS = """Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.36-9+deb12u10

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1
"""


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_dockerfile_keeps_the_rules_of_platforms(variant: str) -> None:
    text = (IMAGES / variant / "Dockerfile").read_text()

    (entry,) = re.findall(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)
    assert json.loads(entry)[0] == "python3"
    assert json.loads(re.findall(r"^CMD (.*)$", text, re.MULTILINE)[-1]) == ["serve"]
    assert re.search(r"^HEALTHCHECK .*\\\n +CMD \[", text, re.MULTILINE)
    (user,) = re.findall(r"^USER (.*)$", text, re.MULTILINE)
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    assert all(base == "${BASE}" for base in re.findall(r"^FROM (\S+)", text, re.MULTILINE))
    assert f'prumo.variant="{variant}"' in text
    assert text.count("org.opencontainers.image.") == 5
    assert "chown" not in text
    assert (IMAGES / variant / "requirements.txt").is_file()


def test_the_lean_image_runs_nothing_while_it_is_built() -> None:
    assert "\nRUN " not in (IMAGES / "lean" / "Dockerfile").read_text()


def _plan(**changes: Any) -> Plan:
    usual = {"variant": "lean", "runtime": None, "platform": "linux/amd64", "base": "b", "tag": "t"}
    return Plan(**{**usual, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"variant": "leen"}, "no variant 'leen'; did you mean 'lean'"),
        ({"runtime": "onnx"}, "no runtime 'onnx'"),
        ({"variant": "naive", "runtime": "onnxruntime"}, "known: tensorflow"),
        ({"platform": "linux/arm"}, "did you mean 'linux/arm64'"),
        ({"wheelhouse": Path("/nowhere")}, "no folder of wheels /nowhere"),
        ({"model": Path("/nowhere.tar.gz")}, "no such model"),
    ],
)
def test_a_bad_plan_is_refused_before_anything_is_done(
    changes: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        build_image(_plan(**changes), Engine("no-such-engine"), SILENT)


def test_a_model_without_a_manifest_is_refused(tmp_path: Path) -> None:
    (tmp_path / "network.onnx").write_bytes(b"")

    with pytest.raises(InputError, match=r"no manifest\.json.*prumo model package"):
        build_image(_plan(model=tmp_path), Engine("no-such-engine"), SILENT)


@pytest.mark.parametrize("text", ["{", "[]", '{"network": 1}'])
def test_a_damaged_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)

    with pytest.raises(InputError, match=r"manifest\.json of .* cannot be used"):
        build_image(_plan(model=tmp_path), Engine("no-such-engine"), SILENT)


def test_a_model_of_another_runtime_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"network": {"runtime": "tensorflow"}}')

    with pytest.raises(InputError, match=r"model for tensorflow.*prumo model convert"):
        build_image(_plan(model=tmp_path), Engine("no-such-engine"), SILENT)


def test_a_base_needs_a_python_that_is_new_enough() -> None:
    assert base_python({"usr/bin/python3.9", "usr/local/bin/python3.12"}, "b") == "3.12"
    with pytest.raises(InputError, match=r"'b' has no Python"):
        base_python({"bin/sh"}, "b")
    with pytest.raises(InputError, match=r"has Python 3\.9"):
        base_python({"usr/bin/python3.9"}, "b")


def test_without_any_engine_the_error_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(UnavailableError, match=r"no program `docker`.*`podman`.*`buildah`"):
        chosen_engine()
    outcome = CliRunner().invoke(command, ["size", "x"])
    assert isinstance(outcome.exception, UnavailableError)


def _program(folder: Path, text: str) -> Engine:
    program = folder / "docker"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return Engine(str(program))


def test_a_full_disk_is_reported_with_what_makes_room(tmp_path: Path) -> None:
    engine = _program(tmp_path, "echo 'write /x: no space left on device' >&2; exit 1")

    with pytest.raises(Exception, match=r"disk is full.*docker image prune"):
        engine.build(tmp_path, "t", "linux/amd64", {}, SILENT)


def test_a_machine_that_cannot_run_the_platform_is_told_how(tmp_path: Path) -> None:
    engine = _program(tmp_path, "echo 'exec /bin/sh: exec format error'; exit 1")

    with pytest.raises(UnavailableError, match=r"linux/arm64.*binfmt.*lean"):
        engine.build(tmp_path, "t", "linux/arm64", {}, SILENT)


def test_a_base_of_another_platform_is_refused(tmp_path: Path) -> None:
    engine = _program(tmp_path, """echo '[{"Architecture": "amd64"}]'""")

    with pytest.raises(InputError, match=r"is for linux/amd64, and the image is to be for linux/a"):
        engine.require_base("b", "linux/arm64")


def test_a_base_that_is_nowhere_is_reported(tmp_path: Path) -> None:
    engine = _program(tmp_path, "echo 'Error: no route' >&2; exit 1")

    with pytest.raises(InputError, match=r"no base image 'b' here.*no route.*--base"):
        engine.require_base("b", "linux/arm64")


def _saved(*layers: Mapping[str, bytes]) -> SavedImage:
    outer = io.BytesIO()
    with tarfile.open(fileobj=outer, mode="w") as archive:
        names = [f"{number}/layer.tar" for number in range(len(layers))]
        history: list[dict[str, Any]] = [
            {"created_by": f"/bin/sh -c #(nop)  COPY {name}"} for name in names
        ]
        history.insert(1, {"created_by": "ENV", "empty_layer": True})
        manifest = [{"Config": "config.json", "Layers": names}]
        _add(archive, "manifest.json", json.dumps(manifest).encode())
        _add(archive, "config.json", json.dumps({"history": history}).encode())
        for name, files in zip(names, layers, strict=True):
            inner = io.BytesIO()
            with tarfile.open(fileobj=inner, mode="w") as layer:
                for path, content in files.items():
                    _add(layer, path, content)
            _add(archive, name, inner.getvalue())
    outer.seek(0)
    return SavedImage(tarfile.open(fileobj=outer), "x")


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def test_layers_are_weighed_and_named() -> None:
    size = _saved({"a": bytes(100_000)}, {"b": b"12", "c": b"3"}).size(SILENT)

    assert [layer.disk_bytes for layer in size.layers] == [100_000, 3]
    assert [layer.created_by for layer in size.layers] == [
        "COPY 0/layer.tar",
        "COPY 1/layer.tar",
    ]
    assert 0 < size.compressed_bytes < 2000
    assert size.document()["disk_bytes"] == 100_003


def test_files_that_a_higher_layer_hides_are_gone() -> None:
    saved = _saved(
        {"a/x": b"1", "a/y": b"1", "b/z": b"1", "c": b"1"},
        {"a/.wh.x": b"", "b/.wh..wh..opq": b"", "./d": b"2"},
    )

    assert saved.names() == {"a/y", "c", "d"}
    assert saved.contents(re.compile("[cd]")) == {"c": b"1", "d": b"2"}


def test_what_is_no_saved_image_is_refused() -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        _add(archive, "a", b"1")
    file.seek(0)

    with tarfile.open(fileobj=file) as archive, pytest.raises(InputError, match="not one saved"):
        SavedImage(archive, "x")


def test_a_bill_of_materials_lists_debian_and_python_packages() -> None:
    metadata = b"Metadata-Version: 2.4\nName: Py_Thing\nVersion: 1.0\nLicense-Expression: MIT\n"
    saved = _saved({"var/lib/dpkg/status": STATUS.encode(), "o/t-1.dist-info/METADATA": metadata})

    bill = bill_of_materials(saved, "x")

    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert [component["purl"] for component in bill["components"]] == [
        "pkg:deb/debian/libc6@2.36-9%2Bdeb12u10?arch=amd64",
        "pkg:pypi/py-thing@1.0",
    ]
    assert bill["components"][1]["licenses"] == [{"expression": "MIT"}]


@pytest.mark.parametrize(
    ("size_bytes", "slowest", "code"), [(119_000_000, 1.9, 0), (121_000_000, 1.9, 1), (1, 2.2, 1)]
)
def test_an_image_of_ours_that_is_too_large_or_not_the_fastest_fails(
    size_bytes: int, slowest: float, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    starts = {("ours", 1024): [slowest, slowest], ("theirs", 1024): [2.0, 2.1]}

    assert images_benchmark.judged({"ours": size_bytes, "theirs": 500_000_000}, starts) == code
    assert "theirs at 1024 MB: 2.05 [" in capsys.readouterr().out


@pytest.mark.parametrize(("failing", "code"), [("theirs", 0), ("ours", 1)])
def test_an_image_that_does_not_start_is_reported(
    failing: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    starts = {("ours", 1024): [1.0, 1.1], ("theirs", 1024): [2.0, 2.1]}
    starts[failing, 1024][1] = math.inf

    assert images_benchmark.judged({"ours": 1, "theirs": 2}, starts) == code
    assert f"{failing} at 1024 MB: 1 of 2 starts did not answer" in capsys.readouterr().out
