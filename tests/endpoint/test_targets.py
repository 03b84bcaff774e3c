"""A URL, a command and an image are distinguished, reached, and left as they should be."""

from __future__ import annotations

import io
import sys
import tarfile
import time
from dataclasses import replace
from pathlib import Path
from shutil import which

import pytest

from prumo.errors import InputError, UnavailableError
from prumo.progress import Silent
from prumo_endpoint.bodies import drawn_body
from prumo_endpoint.check import examine
from prumo_endpoint.exchange import LOCAL_HOST, PING, Address, address_of, exchange, free_port
from prumo_endpoint.resources import Resources
from prumo_endpoint.rule import KINDS, MB, Verdict
from prumo_endpoint.targets import TargetOptions, chosen_target, make_target
from prumo_endpoint.targets.container import model_folder, require_limits
from prumo_endpoint.targets.process import ProcessTarget
from prumo_endpoint.targets.url import UrlTarget
from support.endpoint_server import served

SERVER = Path(__file__).parent.parent / "support" / "endpoint_server.py"
LIMITS = replace(KINDS["real-time"], accept_seconds=0.9, ping_seconds=20.0, payload_bytes=MB)


def test_a_server_that_runs_already_is_not_asked_to_start_or_to_stop() -> None:
    with served() as url:
        found = examine(UrlTarget(url), drawn_body(), LIMITS, Silent())
        assert exchange(address_of(url), PING, 20.0).status == 200

    verdicts = {each.rule.name: each.outcome for each in found.findings}
    unseen = {name for name, each in verdicts.items() if each.verdict is Verdict.NOT_CHECKED}
    assert unseen == {"serve", "port", "start-up", "entry point", "stop", "requests in flight"}
    assert verdicts["stop"].reason == "it ran already, and Prumo ends only what it started"
    assert "first 200" not in verdicts["truthful ping"].reason
    assert found.is_kept


def test_an_address_where_nobody_listens_is_reported() -> None:
    target = UrlTarget(f"http://{LOCAL_HOST}:{free_port()}")

    with pytest.raises(UnavailableError, match="no server can be reached at http"):
        examine(target, drawn_body(), LIMITS, Silent())


@pytest.mark.parametrize(
    ("url", "wrong"),
    [
        ("ftp://localhost", "neither http nor https"),
        ("http://", "no host"),
        ("http://localhost:port", "Port could not"),
        ("http://me:secret@localhost", "a user's name"),
        ("http://localhost?lang=pt-BR", "nothing may follow"),
        ("http://..:8080", "empty"),
    ],
)
def test_a_url_that_names_no_server_is_reported(url: str, wrong: str) -> None:
    with pytest.raises(InputError, match=wrong):
        address_of(url)


def test_a_url_may_have_a_path_before_those_of_the_contract() -> None:
    assert address_of("https://[::1]/models/a/") == Address("::1", 443, "https", "/models/a")
    assert str(address_of("https://[::1]/models/a/")) == "https://[::1]:443/models/a"
    assert str(address_of("http://łódź.example/zdjęcie 1")) == (
        "http://xn--d-uga0v4h.example:80/zdj%C4%99cie%201"
    )


def test_a_command_is_told_its_port_and_leaves_no_process(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f'echo $$ > {pids}; sleep 1000 & echo $! >> {pids}; exec "$0" -SE "$1"'
    target = ProcessTarget(["sh", "-c", script, sys.executable, str(SERVER)])

    with target.running() as server:
        while exchange(server.address, PING, 20.0).status != 200:
            time.sleep(0.02)

    assert not [pid for pid in pids.read_text().split() if Path(f"/proc/{pid}").exists()]


def test_a_command_may_be_expected_at_the_usual_port() -> None:
    script = 'test -z "$SAGEMAKER_BIND_TO_PORT" || echo told'

    with ProcessTarget(["sh", "-c", script], port=8080).running() as server:
        assert server.process is not None
        while server.process.ending() is None:
            time.sleep(0.02)
        assert server.process.last_output() == ""
        assert server.address.port == 8080


def test_a_port_where_another_server_listens_is_refused() -> None:
    with served() as url:
        target = ProcessTarget(["true"], port=address_of(url).port)
        with pytest.raises(InputError, match="another server listens at port"):
            examine(target, drawn_body(), LIMITS, Silent())


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["http://localhost:8080"], "http://localhost:8080"),
        (["python", "server.py", "--port", "1"], "python server.py --port 1"),
        (["python server.py"], "python server.py"),
        (["./server"], "./server"),
        (["process://python server.py"], "python server.py"),
        (["url://http://localhost:8080"], "http://localhost:8080"),
    ],
)
def test_a_url_and_a_command_are_known_by_their_looks_or_named(words: list[str], name: str) -> None:
    assert chosen_target(words).name == name


def test_any_other_word_is_an_image_and_needs_an_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError, match="no program `docker` here"):
        chosen_target(["registry.example/model:1.0"])

    docker = tmp_path / "docker"
    docker.write_text("#!/bin/sh\necho 'Cannot connect to the Docker daemon.' >&2; exit 1\n")
    docker.chmod(0o755)
    with pytest.raises(UnavailableError, match="Cannot connect to the Docker daemon; DOCKER_HOST"):
        chosen_target([], image="model")


def test_only_limits_that_were_asked_for_are_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_docker(tmp_path, "echo true false")
    monkeypatch.setenv("PATH", str(tmp_path))

    require_limits(Resources(memory_mb=1))
    for wanted in (Resources(cpus=0.1), Resources(1, 0.1)):
        with pytest.raises(UnavailableError, match="does not limit the CPU of containers"):
            require_limits(wanted)


def test_a_missing_image_is_told_with_advice_that_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_docker(tmp_path, "test $1 != image")
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(InputError, match=r"pull it first\. To start a program, give it with"):
        chosen_target(["model"])
    with pytest.raises(InputError, match=r"pull it first$"):
        chosen_target(["serverless://model"])
    with pytest.raises(InputError, match=r"pull it first$"):
        make_target("container", ["model"], TargetOptions())


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("ssh://me@server.example", "runs on another machine .ssh://me@server.example."),
        ("tcp://10.0.0.7:2375", "check the image there, or start it and give its URL"),
        ("tcp://localhost:1", "needs a Docker engine that runs"),
    ],
)
@pytest.mark.skipif(which("docker") is None, reason="docker is not installed")
def test_an_engine_on_another_machine_is_refused(
    host: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)

    with pytest.raises(UnavailableError, match=message):
        chosen_target([], image="model")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"words": []}, "give one thing to check"),
        ({"words": ["a"], "command": "b"}, "give one thing to check"),
        ({"words": ["localhost:8080"]}, "right is http://localhost:8080"),
        ({"words": ["10.0.0.7:9000"]}, "right is http://10.0.0.7:9000"),
        ({"words": [], "command": "python 'server"}, "No closing quotation"),
        ({"words": [], "command": " "}, "the command is empty"),
        (
            {"words": ["http://a"], "options": TargetOptions(port=1)},
            "--port does not fit a server that runs already",
        ),
        (
            {"words": ["./a"], "options": TargetOptions(model=Path("m"))},
            "--model does not fit a command",
        ),
    ],
)
def test_words_that_do_not_fit_are_reported(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        chosen_target(**arguments)  # type: ignore[arg-type]  # a table of keyword arguments


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_a_model_with_links_is_refused_as_sagemaker_does(tmp_path: Path, kind: bytes) -> None:
    archive = _archive(tmp_path, "network.onnx", kind)

    with pytest.raises(InputError, match="takes no links"), model_folder(archive):
        pass


def test_a_model_that_climbs_out_of_its_folder_is_refused(tmp_path: Path) -> None:
    archive = _archive(tmp_path, "../outside", tarfile.REGTYPE)

    with pytest.raises(InputError, match="outside"), model_folder(archive):
        pass


def test_what_is_no_archive_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "model.tar.gz").write_text("words")

    with (
        pytest.raises(InputError, match="neither a folder nor"),
        model_folder(tmp_path / "model.tar.gz"),
    ):
        pass
    with pytest.raises(InputError, match="no such model"), model_folder(tmp_path / "nowhere"):
        pass


def _write_docker(folder: Path, script: str) -> None:
    docker = folder / "docker"
    docker.write_text(f"#!/bin/sh\n{script}\n")
    docker.chmod(0o755)


def _archive(folder: Path, name: str, kind: bytes) -> Path:
    path = folder / "model.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, "/etc/passwd"
        archive.addfile(member, io.BytesIO())
    return path
