"""The parts of uvicorn that the server overrides or relies on, and that no public API promises.

When a test fails here, uvicorn has changed. Read the new source of what it names, compare it with
what `prumo_serve.server.http_server` or `.gunicorn` makes of it, run tests/serve, and only then
write down the new digest and raise the bound in pyproject.toml.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import Server, ServerState
from uvicorn_worker import UvicornWorker

from prumo_serve.server.gunicorn import ServingWorker
from prumo_serve.server.http_server import BoundedProtocol, DrainingServer

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
DIGESTS: dict[type[Any], dict[str, str]] = {
    HttpToolsProtocol: {
        # `cycle`, `url`, `headers`, `loop` and `transport` are read by BoundedProtocol.
        "__init__": "286865eec0dc4bf5",
        "connection_made": "8c8b5886c7fdbd49",
        "connection_lost": "f91167015649a53e",
        "eof_received": "e485721ad431493a",
        "data_received": "ed9d39faf6dc09c9",
        "send_400_response": "c023ae47473e8253",
        "on_message_begin": "edd13696be8bbe67",
        "on_headers_complete": "eb2cc8abbbed1264",
        "on_body": "0cd3dd8e5f1af978",
        "on_message_complete": "27c5d66b9e92ea36",
        "on_response_complete": "88c014f1ee8814a3",
        "shutdown": "97d0c274fc6f3d72",
    },
    # `more_body`, `response_complete` and `keep_alive` are read and set by BoundedProtocol.
    RequestResponseCycle: {"__init__": "aaa2776d0e275790"},
    Server: {
        "__init__": "beff33b3a1a897ed",
        # Call what DrainingServer overrides, and make `lifespan` and `servers`.
        "_serve": "04575facb5e3bf3d",
        "startup": "fd82af003ce99932",
        "main_loop": "a77d67b6bff9ef24",
        "on_tick": "85f8922c96ebb8cc",
        "shutdown": "ea7bbdd441408fce",
        "capture_signals": "5a52c87f943b2f0e",
    },
    # `connections` decides whether DrainingServer waits.
    ServerState: {"__init__": "b702d6096ae5b312"},
    # Reads CONFIG_KWARGS in its constructor, and runs what `load_wsgi` has put into `wsgi`.
    UvicornWorker: {"__init__": "89e78f3236fa85ed", "_serve": "48fdb6ec67cb1a3d"},
}
SIGNATURES = {
    HttpToolsProtocol: "(config, server_state, app_state, _loop=None)",
    Server: "(config)",
}
OURS = {BoundedProtocol: HttpToolsProtocol, DrainingServer: Server, ServingWorker: UvicornWorker}
NOT_UVICORNS = {"__module__", "__doc__", "__annotations__", "load_wsgi", "CONFIG_KWARGS"}
"""Of every class, or Gunicorn's and uvicorn-worker's documented ways to be extended."""
PARTS = [(owner, name) for owner, digests in DIGESTS.items() for name in digests]


@pytest.mark.parametrize(
    ("owner", "name"), PARTS, ids=[f"{owner.__name__}.{name}" for owner, name in PARTS]
)
def test_a_part_is_the_one_that_was_read(owner: type[Any], name: str) -> None:
    place = f"{owner.__module__}.{owner.__name__}.{name}"

    assert digest(getattr(owner, name)) == DIGESTS[owner][name], (
        f"{place} of uvicorn {version('uvicorn')} has changed: read it again, and what "
        "prumo_serve.server.http_server or prumo_serve.server.gunicorn makes of it"
    )


@pytest.mark.parametrize("owner", SIGNATURES)
def test_what_we_construct_takes_the_same_arguments(owner: type[Any]) -> None:
    assert plain(inspect.signature(owner)) == SIGNATURES[owner]


@pytest.mark.parametrize("ours", OURS)
def test_every_part_that_is_overridden_is_watched(ours: type[Any]) -> None:
    overridden = {name for name in vars(ours) if hasattr(OURS[ours], name)} - NOT_UVICORNS

    assert overridden <= DIGESTS[OURS[ours]].keys()


@pytest.mark.parametrize("package", ["uvicorn", "uvicorn-worker"])
def test_the_project_keeps_to_the_minor_version_that_was_read(package: str) -> None:
    extras = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]["optional-dependencies"]
    major, minor, *_ = version(package).split(".")
    (wanted,) = [one for one in extras["serve"] if re.split(r"[<>=]", one)[0] == package]

    assert wanted == f"{package}>={major}.{minor},<{major}.{int(minor) + 1}"


def digest(part: object) -> str:
    """Of the source, without what a formatter may change."""
    source = re.sub(r"\s+", " ", inspect.getsource(part))  # type: ignore[arg-type] # a function
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def plain(signature: inspect.Signature) -> str:
    """Without types."""
    parameters = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=signature.empty))
