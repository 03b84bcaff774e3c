"""Whatever is sent stays out of the log, also where it is wrong and the log tells most."""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from support.model_packages import write_colour_package
from support.raw_connection import said
from support.served_process import served_process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.served_process import ServedProcess

MARK = "marta4711"
RAW = MARK.encode()
HEADERS = {
    "Authorization": f"Bearer {MARK}",
    "Cookie": f"session={MARK}",
    "User-Agent": MARK,
    "Referer": f"http://{MARK}.example/{MARK}",
    "X-Forwarded-For": MARK,
    "X-Amzn-SageMaker-Custom-Attributes": MARK,
}


def photograph() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (64, 48), (220, 20, 20)).save(file, "JPEG", comment=RAW * 3)
    return file.getvalue()


def form(content: bytes, boundary: bytes = b"edge") -> bytes:
    head = b'Content-Disposition: form-data; name="%s"; filename="%s.jpg"' % (RAW, RAW)
    return b"--%s\r\n%s\r\n\r\n%s\r\n--%s--\r\n" % (boundary, head, content, boundary)


def array(dtype: str) -> bytes:
    file = io.BytesIO()
    np.save(file, np.frombuffer(RAW * 3, np.uint8)[:27].reshape(3, 3, 3).astype(dtype))
    return file.getvalue()


def inputs(**tensor: Any) -> dict[str, Any]:
    return {"id": MARK, "inputs": [{"name": "image", **tensor}], "parameters": {MARK: MARK}}


BODIES: list[tuple[str, bytes]] = [
    ("image/jpeg", photograph()),
    ("image/jpeg", photograph()[:300]),
    ("image/jpeg", RAW * 100),
    ("image/png", b"\x89PNG\r\n\x1a\n" + RAW * 9),
    ("application/x-npy", array("uint8")),
    ("application/x-npy", array("float64")),
    ("application/x-npy", b"\x93NUMPY\x01\x00\x20\x00{'descr': '" + RAW),
    ("application/json", json.dumps({"image": MARK, "name": MARK}).encode()),
    ("application/json", json.dumps({"instances": [[[[MARK] * 3]]], MARK: MARK}).encode()),
    ("application/json", b'{"image": "' + base64.b64encode(photograph()) + b'"}'),
    ("application/json", b'{"' + RAW),
    ("multipart/form-data; boundary=edge", form(photograph())),
    ("multipart/form-data; boundary=edge", form(RAW)),
    (f"multipart/form-data; boundary={MARK}", form(photograph(), RAW)[:-9]),
    (f"application/{MARK}", RAW),
    ("image/jpeg", RAW * 200_000),
]
QUESTIONS = [
    inputs(datatype="BYTES", shape=[1], data=[base64.b64encode(photograph()).decode()]),
    inputs(datatype="BYTES", shape=[1], data=[MARK]),
    inputs(datatype="FP32", shape=[1, 32, 32, 3], data=[1e300] * 3072),
    inputs(datatype=MARK, shape=[1], data=[MARK]),
]
NOT_HTTP = [
    RAW + b"\r\n\r\n",
    b"GET /%s HTTP/1.1\r\n%s\r\n\r\n" % (RAW, RAW),
    b"GET /%s HTTP/1.1\r\nHost: a\r\nX: %s\r\n\r\n" % (RAW, RAW * 5000),
    b"%s /ping HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (RAW.upper(), RAW),
    b"POST /invocations HTTP/1.1\r\nHost: %s\r\nContent-Length: %s\r\n\r\n" % (RAW, RAW),
    b"POST /invocations HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + RAW,
]
needs_nginx = pytest.mark.skipif(
    shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin") is None,
    reason="NGINX is not installed",
)


@pytest.fixture(params=["lean", pytest.param("nginx", marks=needs_nginx)])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServedProcess]:
    write_colour_package(tmp_path / "package", "grade", heat_map=True, preprocessing="image")
    options = ("--stack", request.param, "--log-level", "debug", "--max-body-mb", "1")
    with served_process(tmp_path / "package", tmp_path / "log", *options) as running:
        running.await_ready()
        yield running


def test_nothing_that_was_sent_is_in_the_log_at_its_most_talkative(server: ServedProcess) -> None:
    statuses = {
        server.ask("POST", f"/invocations?{query}", body, HEADERS | {"Content-Type": kind}).status
        for query in ("heat_map=true&lang=pt-BR", f"lang={MARK}", f"{MARK}={MARK}")
        for kind, body in BODIES
    }
    for question in QUESTIONS:
        content = json.dumps(question).encode()
        headers = HEADERS | {"Content-Type": "application/json"}
        for model in ("colours", MARK):
            server.ask("POST", f"/v2/models/{model}/infer", content, headers)
    for path in ("/", f"/?lang={MARK}", f"/{MARK}", f"/v2/models/{MARK}/ready", f"/ping?{MARK}"):
        server.ask("GET", path, headers=HEADERS)
        server.ask("DELETE", path, headers=HEADERS)
    for sent in NOT_HTTP:
        said(server, sent)
    server.process.terminate()
    server.process.wait()

    assert statuses >= {200, 400, 413, 415, 422}
    assert "POST /invocations 200" in server.log
    assert "POST /invocations 400" in server.log
    encoded = base64.b64encode(RAW * 3).decode()[4:-4]
    for told in (MARK, MARK.upper(), encoded, "Traceback", "Warning", "defect"):
        assert told not in server.log
