"""Bodies of every accepted kind, damaged in all ways, over one connection that stays open."""

from __future__ import annotations

import base64
import json
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from support.damaged_bodies import arrays, damaged, encoded_images, json_values, npy_bodies
from support.described_answer import problems
from support.model_packages import ColourNetwork, write_colour_package
from support.served_process import PATIENCE_SECONDS, served_process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.served_process import ServedProcess

REFUSALS = {400, 413, 422}
JPEGS, PNGS = encoded_images("JPEG"), encoded_images("PNG")
FORM = (
    b'--edge\r\nContent-Disposition: form-data; name="a"; filename="a.jpg"\r\n'
    b"Content-Type: image/jpeg\r\n\r\n%s\r\n"
    b'--edge\r\nContent-Disposition: form-data; name="b"; filename="b.png"\r\n\r\n%s\r\n'
    b"--edge--\r\n"
) % (JPEGS[0], PNGS[0])
DOCUMENTS = (
    json.dumps({"image": base64.b64encode(JPEGS[0]).decode(), "name": "eye"}).encode(),
    json.dumps({"instances": [{"b64": base64.b64encode(PNGS[0]).decode()}]}).encode(),
    json.dumps({"instances": [[[[1, 2, 3], [4.5, 5, 6]]]], "signature_name": "x"}).encode(),
)
QUESTION = json.dumps(
    {
        "id": "7",
        "inputs": [
            {"name": "image", "datatype": "FP32", "shape": [1, 4, 4, 3], "data": [0.5] * 48}
        ],
        "outputs": [{"name": "label"}],
    }
).encode()
properly = settings(
    max_examples=60,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


class KeptConnection:
    """One connection for all requests of a test; that the server closes it is a failure."""

    def __init__(self, server: ServedProcess) -> None:
        self._http = HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
        self._http.connect()
        self._http.auto_open = 0
        self._document: dict[str, Any] = server.ask("GET", "/openapi.json").document

    def invoke(self, body: bytes, content_type: str) -> int:
        """Send a body, find the answer to be as the server's document says, and give its status."""
        status, answer = self._asked("/invocations", body, content_type)
        if status == 200:
            name = "Predictions" if "predictions" in answer else "Prediction"
            assert problems(self._document, name, answer) == []
        else:
            assert status in REFUSALS
            assert problems(self._document, "Error", answer) == []
        return status

    def infer(self, body: bytes) -> None:
        status, answer = self._asked("/v2/models/colours/infer", body, "application/json")
        assert status in REFUSALS | {200}
        name = "Inference" if status == 200 else "OpenInferenceError"
        assert problems(self._document, name, answer) == []

    def close(self) -> None:
        self._http.close()

    def _asked(self, path: str, body: bytes, content_type: str) -> tuple[int, Any]:
        self._http.request("POST", path, body, {"Content-Type": content_type})
        with self._http.getresponse() as answer:
            content = answer.read()
            assert not answer.will_close
        return answer.status, json.loads(content)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProcess]:
    folder = tmp_path_factory.mktemp("malformed")
    write_colour_package(folder / "package", network=ColourNetwork(size=4))
    options = ("--max-pixels", "1000000", "--max-body-mb", "1")
    with served_process(folder / "package", folder / "log", *options) as running:
        running.await_ready()
        yield running


@pytest.fixture
def connection(server: ServedProcess) -> Iterator[KeptConnection]:
    kept = KeptConnection(server)
    yield kept
    assert kept.invoke(JPEGS[0], "image/jpeg") == 200
    kept.close()
    assert "defect" not in server.log


@pytest.mark.parametrize(
    ("content_type", "contents"), [("image/jpeg", JPEGS), ("image/png", PNGS)], ids=["jpeg", "png"]
)
@properly
@given(data=st.data())
def test_damaged_images(
    connection: KeptConnection, content_type: str, contents: tuple[bytes, ...], data: st.DataObject
) -> None:
    connection.invoke(data.draw(damaged(contents)), content_type)


@properly
@given(body=damaged(arrays()) | npy_bodies())
def test_damaged_arrays_and_headers_that_lie(connection: KeptConnection, body: bytes) -> None:
    connection.invoke(body, "application/x-npy")


@properly
@given(value=json_values())
def test_json_of_any_shape(connection: KeptConnection, value: object) -> None:
    body = json.dumps(value).encode()
    connection.invoke(body, "application/json")
    connection.infer(body)


@properly
@given(body=damaged(DOCUMENTS))
def test_damaged_json(connection: KeptConnection, body: bytes) -> None:
    connection.invoke(body, "application/json")


@properly
@given(body=damaged((QUESTION,)))
def test_damaged_inference_requests(connection: KeptConnection, body: bytes) -> None:
    connection.infer(body)


@properly
@given(image=damaged((base64.b64encode(JPEGS[0]),)) | st.text().map(str.encode))
def test_damaged_base64(connection: KeptConnection, image: bytes) -> None:
    text = image.decode("latin-1")
    connection.invoke(json.dumps({"image": text}).encode(), "application/json")
    connection.infer(
        json.dumps(
            {"inputs": [{"name": "image", "datatype": "BYTES", "shape": [1], "data": [text]}]}
        ).encode()
    )


BOUNDARY_CHARACTERS = st.characters(
    min_codepoint=0x20, max_codepoint=0xFF, exclude_categories=["Cc"]
)


@properly
@given(
    body=st.just(FORM) | damaged((FORM,)),
    boundary=st.just("edge") | st.text(BOUNDARY_CHARACTERS, max_size=80),
)
def test_damaged_forms_and_boundaries(
    connection: KeptConnection, body: bytes, boundary: str
) -> None:
    connection.invoke(body, f"multipart/form-data; boundary={boundary}")
