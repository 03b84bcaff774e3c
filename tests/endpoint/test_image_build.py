"""Images built in a real engine from a real Debian: run within limits, checked, put on a diet."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from benchmarks import images as images_benchmark
from prumo.errors import InputError
from prumo.progress import SILENT
from prumo_endpoint.bodies import drawn_body
from prumo_endpoint.check import examine
from prumo_endpoint.commands.image import command
from prumo_endpoint.image.diet import kept_names
from prumo_endpoint.image.engine import Engine
from prumo_endpoint.image.layers import saved_image
from prumo_endpoint.rule import KINDS
from prumo_endpoint.targets import TargetOptions
from prumo_endpoint.targets.container import ContainerTarget
from prumo_serve.commands.model.untrained import untrained_command
from support.docker_engine import (
    docker_engine,
    import_debian,
    missing_program,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.root, pytest.mark.slow]

BASE = "debian-python"
IMAGE = "mobilenet"
SMALL = "mobilenet-small"
BASE_COPY = "mobilenet-again"
ARM = "arm64"
AARCH64 = (183).to_bytes(2, "little")
"""The machine in an ELF header, at byte 18."""


@pytest.fixture(scope="module", autouse=True)
def images(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if missing := missing_program():
        pytest.skip(f"{missing} is not installed")
    for program in ("debootstrap", "strace"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    folder = tmp_path_factory.mktemp("images")
    words = ["dr_mobilenet", "--out", str(folder / "model.tar.gz")]
    CliRunner().invoke(untrained_command, words, catch_exceptions=False)
    with docker_engine() as host, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", host)
        import_debian(BASE, folder / "debian")
        bill = ["--sbom", str(folder / "bill.json")]
        _image("build", "--base", BASE, "--tag", IMAGE, *bill, str(folder / "model.tar.gz"))
        subprocess.run(["docker", "tag", IMAGE, BASE_COPY], check=True)
        yield folder


def _image(*arguments: str, exit_code: int = 0) -> str:
    outcome = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert outcome.exit_code == exit_code, outcome.output
    return outcome.stdout


def _inspected(image: str) -> dict[str, Any]:
    answer = subprocess.run(
        ["docker", "image", "inspect", image], check=True, capture_output=True, text=True
    )
    facts: dict[str, Any] = json.loads(answer.stdout)[0]
    return facts


def test_a_lean_image_keeps_the_contract_within_limits() -> None:
    options = TargetOptions(network="host", memory_mb=512, cpus=1.0)

    found = examine(ContainerTarget(IMAGE, options), drawn_body(), KINDS["serverless"], SILENT)

    assert [finding for finding in found.findings if finding.outcome.verdict != "pass"] == []


def test_an_image_says_what_it_is_and_what_is_in_it(images: Path) -> None:
    config = _inspected(IMAGE)["Config"]
    bill = json.loads((images / "bill.json").read_text())
    names = {component["name"] for component in bill["components"]}

    assert config["Labels"]["prumo.runtime"] == "onnxruntime"
    assert config["User"] == "65532:65532"
    assert config["Healthcheck"]["Test"][0] == "CMD"
    assert {"libc6", "onnxruntime", "numpy", "prumo"} <= names
    assert not names & {"scipy", "polars", "tensorflow"}


def test_an_image_is_weighed_layer_by_layer() -> None:
    size = json.loads(_image("size", IMAGE, "--json"))

    assert [layer["created_by"].split()[0] for layer in size["layers"][1:]] == ["COPY", "COPY"]
    assert size["compressed_bytes"] == sum(each["compressed_bytes"] for each in size["layers"])
    assert size["disk_bytes"] == pytest.approx(_inspected(IMAGE)["Size"], rel=0.05)
    assert "MB compressed" in _image("size", IMAGE)


def test_a_diet_leaves_every_answer_as_it_was() -> None:
    words = ("--network", "host", "--starts", "2", "--json")

    found = json.loads(_image("diet", IMAGE, "--out", SMALL, *words))

    assert found["proven"]
    assert found["different_answers"] == []
    assert found["after"]["compressed_bytes"] <= images_benchmark.MOST_BYTES
    assert found["after"]["disk_bytes"] < found["before"]["disk_bytes"] * 0.6
    assert len(found["cold_start_seconds"]["after"]) == 2
    before, after = _inspected(IMAGE)["Config"], _inspected(SMALL)["Config"]
    for key in ("Entrypoint", "Cmd", "User", "Healthcheck", "Labels", "StopSignal"):
        assert after[key] == before[key]
    assert set(after["Env"]) == set(before["Env"])
    assert (
        _listed("image", "ls", "--format", "{{.Repository}}", "--filter", "reference=prumo-*") == []
    )
    assert _listed("ps", "--all", "--quiet") == []


def test_a_diet_that_changes_an_answer_makes_no_image(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_pillow(*arguments: Any) -> set[str]:
        return {name for name in kept_names(*arguments) if "/PIL/" not in name}

    monkeypatch.setattr("prumo_endpoint.image.diet.kept_names", without_pillow)

    found = _image("diet", IMAGE, "--out", "broken", "--network", "host", exit_code=1)

    assert "broken was not made: without the files answers differ:" in found
    assert "RGB PNG" in found
    assert _listed("image", "ls", "--quiet", "broken") == []


def test_a_base_for_another_architecture_is_refused() -> None:
    with pytest.raises(InputError, match="is for linux/amd64"):
        _image("build", "--platform", "linux/arm64", "--base", BASE)


def test_starts_of_images_are_measured_by_turns(capsys: pytest.CaptureFixture[str]) -> None:
    starts = images_benchmark.cold_starts([IMAGE, BASE_COPY], 2, "host", [1024])
    sizes = {IMAGE: 119_000_000, BASE_COPY: 480_000_000}

    assert [len(seconds) for seconds in starts.values()] == [2, 2]
    images_benchmark.judged(sizes, starts)
    assert f"times {IMAGE}" in capsys.readouterr().out


def test_a_lean_image_for_arm64_is_made_of_a_base_and_wheels_for_it(images: Path) -> None:
    _import_arm_python(ARM, images / ARM)

    _image(
        *("build", "--platform", "linux/arm64", "--base", ARM, "--tag", f"{IMAGE}-{ARM}"),
        str(images / "model.tar.gz"),
    )

    assert _inspected(f"{IMAGE}-{ARM}")["Architecture"] == "arm64"
    libraries = _libraries(f"{IMAGE}-{ARM}")
    assert any("onnxruntime" in name for name in libraries)
    assert {head[18:20] for head in libraries.values()} == {AARCH64}


def test_an_image_that_is_not_there_is_reported() -> None:
    for words in (["size", "nowhere"], ["sbom", "nowhere"], ["diet", "nowhere", "--out", "x"]):
        with pytest.raises(InputError, match="no image 'nowhere' here"):
            _image(*words)


def _listed(*arguments: str) -> list[str]:
    answer = subprocess.run(["docker", *arguments], check=True, capture_output=True, text=True)
    return answer.stdout.split()


def _import_arm_python(name: str, folder: Path) -> None:
    """A base of one program: nothing is run while a lean image is built."""
    (folder / "usr/bin").mkdir(parents=True)
    (folder / "usr/bin/python3.11").write_bytes(b"")
    (folder / "Dockerfile").write_text("FROM scratch\nCOPY usr /usr/\n")
    command = ["docker", "build", "--platform", "linux/arm64", "--tag", name, str(folder)]
    subprocess.run(command, check=True, capture_output=True)


def _libraries(image: str) -> dict[str, bytes]:
    """Shared libraries of an image → how they begin."""
    with saved_image(Engine("docker"), image, SILENT) as saved:
        contents = saved.contents(re.compile(r".*\.so(\.[\d.]+)?"))
    return {name: content[:64] for name, content in contents.items() if content[:4] == b"\x7fELF"}
