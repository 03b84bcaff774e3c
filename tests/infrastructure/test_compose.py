"""The compose file started for real: a model behind NGINX, watched by Prometheus."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner

from prumo_endpoint.bodies import drawn_body
from prumo_endpoint.commands.image import command
from prumo_endpoint.exchange import free_port
from support.docker_engine import (
    docker_engine,
    import_image,
    import_python,
    libraries,
    missing_program,
)
from support.model_packages import write_colour_package
from support.serverless_client import wait_until
from support.terraform import INFRASTRUCTURE, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo_endpoint.bodies import Body

pytestmark = [pytest.mark.root, pytest.mark.slow]

IMAGES = {"MODEL_IMAGE": "model:1", "NGINX_IMAGE": "nginx:1", "PROMETHEUS_IMAGE": "prometheus:1"}
ANSWERED = 'prumo_requests_total{route="/invocations",status="200"}'
OWN_PROMETHEUS = ROOT / ".venv/prometheus/usr/bin"


@pytest.fixture
def images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An engine that has the three images, of this machine's programs."""
    if missing := missing_program():
        pytest.skip(f"{missing} is not installed")
    nginx = _program("nginx", "/usr/sbin")
    prometheus = _program("prometheus", str(OWN_PROMETHEUS))
    write_colour_package(tmp_path / "model.tar.gz")
    empty = tmp_path / "empty"
    empty.mkdir()
    with docker_engine() as host:
        monkeypatch.setenv("DOCKER_HOST", host)
        users = {path: Path(path) for path in ("/etc/passwd", "/etc/group")}
        import_image(
            IMAGES["NGINX_IMAGE"],
            {
                "/nginx": nginx,
                **libraries([nginx]),
                **users,
                "/tmp": empty,
                "/var/lib/nginx": empty,
            },
            json.dumps(["/nginx", "-c", "/etc/nginx/nginx.conf", "-g", "daemon off;"]),
        )
        files = ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]
        import_image(
            IMAGES["PROMETHEUS_IMAGE"],
            {"/prometheus-server": prometheus, **libraries([prometheus])},
            json.dumps(["/prometheus-server", *files]),
        )
        import_python("python-base")
        words = ["build", "--base", "python-base", "--tag", IMAGES["MODEL_IMAGE"]]
        built = CliRunner().invoke(
            command, [*words, str(tmp_path / "model.tar.gz")], catch_exceptions=False
        )
        assert built.exit_code == 0, built.output
        yield


@pytest.mark.usefixtures("images")
def test_a_model_answers_behind_nginx_is_watched_and_goes_without_a_trace() -> None:
    front, watch = free_port(), free_port()
    listen = {"LISTEN": f"127.0.0.1:{front}", "PROMETHEUS_LISTEN": f"127.0.0.1:{watch}"}
    before = _everything()
    try:
        _compose(listen, "up", "--detach")
        wait_until(lambda: _asked(front, "/ping")[0] == 200)
        status, content = _asked(front, "/invocations", drawn_body())
        wait_until(lambda: _measured(watch, ANSWERED) == ["1"])

        assert status == 200
        assert json.loads(content)
        assert _asked(front, "/metrics")[0] == 404
        assert len(_everything()) == len(before) + 5
    finally:
        _compose(listen, "down", "--volumes")
    assert _everything() == before


def _compose(variables: dict[str, str], *words: str) -> None:
    """Compose as a plug-in of Docker, or as a program of its own."""
    plugin = ["docker", "compose"]
    has_plugin = not subprocess.run(
        [*plugin, "version"], capture_output=True, check=False
    ).returncode
    program = plugin if has_plugin else [str(_program("docker-compose"))]
    done = subprocess.run(
        [*program, *words],
        cwd=INFRASTRUCTURE / "compose",
        env={**os.environ, **IMAGES, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def _program(name: str, folder: str | None = None) -> Path:
    found = shutil.which(name) or shutil.which(name, path=folder)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return Path(found)


def _asked(port: int, path: str, body: Body | None = None) -> tuple[int, bytes]:
    """Status and content of an answer; 0 while nobody listens."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        if body is None:
            connection.request("GET", path)
        else:
            connection.request("POST", path, body.content, {"Content-Type": body.content_type})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except OSError:
        return 0, b""
    finally:
        connection.close()


def _measured(port: int, expression: str) -> list[str]:
    """What Prometheus has heard from the server."""
    status, content = _asked(port, "/api/v1/query?" + urlencode({"query": expression}))
    found = json.loads(content)["data"]["result"] if status == 200 else []
    return [series["value"][1] for series in found]


def _everything() -> list[str]:
    """Containers, networks and volumes of the engine."""
    listed = [("ps", "--all"), ("network", "ls"), ("volume", "ls")]
    return [
        line
        for words in listed
        for line in subprocess.run(
            ["docker", *words, "--quiet"], check=True, capture_output=True, text=True
        ).stdout.split()
    ]
