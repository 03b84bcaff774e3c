from __future__ import annotations

import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from prumo.environments.framework import Framework, Request
from prumo.environments.frameworks import find_framework
from prumo.environments.pip import VirtualEnvironment
from prumo.environments.setup import ensure
from prumo.environments.store import environments
from prumo.errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ONE = VirtualEnvironment("one")
FOUR = VirtualEnvironment(
    "four", cpu_package="four-cpu", cuda_package="four[cuda]", tpu_package="four[tpu]"
)


@pytest.mark.parametrize(
    ("source", "variant", "packages"),
    [
        (ONE, "cpu", ("one",)),
        (ONE, "cuda", ("one",)),
        (FOUR, "cpu", ("four-cpu", "four")),
        (FOUR, "cuda", ("four[cuda]",)),
        (FOUR, "tpu", ("four[tpu]",)),
        (FOUR, "rocm7.0", ("four",)),
    ],
)
def test_the_package_for_the_kind_of_machine_comes_first(
    source: VirtualEnvironment, variant: str, packages: tuple[str, ...]
) -> None:
    framework = Framework("own", module="own", default_version="1.0.0", installer=source)

    assert source.packages(Request(framework, "1.0.0", variant)) == packages


class Index(ThreadingHTTPServer):
    """An index without packages, or one that does not answer for `tensorflow-cpu`."""

    status_of_cpu_package = HTTPStatus.NOT_FOUND


class _Answer(BaseHTTPRequestHandler):
    server: Index

    def do_GET(self) -> None:
        asked_for_cpu = self.path == "/tensorflow-cpu/"
        status = self.server.status_of_cpu_package if asked_for_cpu else HTTPStatus.NOT_FOUND
        self.send_error(status)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def remote_index(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """What pip asks beside the folder of wheels, in which there is no `tensorflow-cpu`."""
    del cache
    with Index(("127.0.0.1", 0), _Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("PIP_NO_INDEX", "0")
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("PIP_RETRIES", "1")
        yield server
        server.shutdown()


@pytest.mark.usefixtures("remote_index")
def test_where_there_is_no_package_for_processors_the_plain_one_is_taken() -> None:
    made = ensure(find_framework("tensorflow@9.0.0", machine="cpu"))

    assert made.packages["tensorflow"] == "9.0.0"


def test_an_index_out_of_order_is_not_taken_for_one_without_the_package(
    remote_index: Index,
) -> None:
    remote_index.status_of_cpu_package = HTTPStatus.SERVICE_UNAVAILABLE

    with pytest.raises(SetupError, match="pip finds no tensorflow-cpu: is the network"):
        ensure(find_framework("tensorflow@9.0.0", machine="cpu"))

    assert environments() == []
