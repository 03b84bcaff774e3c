"""Bodies that are malformed, damaged, mislabelled, endless or described wrongly.

Every attack goes to one server, which must answer each with a described refusal, in little memory,
and then answer good requests of every kind as ever. A server that refused everything would fail.
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
import socket
import struct
import subprocess
import sys
import zlib
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from PIL import Image

from prumo_serve.server.bodies import images_in
from prumo_serve.server.refusal import Refusal
from prumo_serve.server.settings import Limits
from support.damaged_bodies import arrays, damaged, encoded_images, json_values, npy_bodies
from support.described_answer import problems
from support.model_packages import ColourNetwork, write_colour_package
from support.raw_connection import connected, replies, request, said
from support.served_process import PATIENCE_SECONDS, served_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.served_process import ServedProcess

REFUSALS = {400, 413, 422}
JSON, FORM_TYPE = "application/json", "multipart/form-data; boundary=edge"
MEBIBYTE = 1024**2
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
GOOD: dict[str, tuple[bytes, ...]] = {
    "image/jpeg": JPEGS,
    "image/png": PNGS,
    "application/x-npy": arrays(),
    JSON: DOCUMENTS,
    FORM_TYPE: (FORM,),
}
"""Content type → bodies that are answered; each attack damages one of them."""
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

    def infer(self, body: bytes) -> int:
        status, answer = self._asked("/v2/models/colours/infer", body, "application/json")
        assert status in REFUSALS | {200}
        name = "Inference" if status == 200 else "OpenInferenceError"
        assert problems(self._document, name, answer) == []
        return status

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
    # So small that a fuzzer can write down a whole tensor.
    write_colour_package(folder / "package", network=ColourNetwork(size=4), heat_map=False)
    options = ("--max-pixels", "1000000", "--max-body-mb", "1")
    with served_process(folder / "package", folder / "log", *options) as running:
        running.await_ready()
        yield running


@pytest.fixture
def connection(server: ServedProcess) -> Iterator[KeptConnection]:
    """Open all the while, and good requests of every kind are answered before and after."""
    kept = KeptConnection(server)
    require_good_answers(kept)
    yield kept
    require_good_answers(kept)
    kept.close()
    assert "defect" not in server.log


@pytest.fixture
def attacked(server: ServedProcess) -> Iterator[ServedProcess]:
    """The same for attacks that need connections of their own."""
    yield server
    assert server.ask("GET", "/ping").status == 200
    kept = KeptConnection(server)
    require_good_answers(kept)
    kept.close()
    assert server.classify(jpeg()).document["label"] == "red"
    assert "defect" not in server.log


def require_good_answers(connection: KeptConnection) -> None:
    for content_type, bodies in GOOD.items():
        assert {connection.invoke(body, content_type) for body in bodies} == {200}, content_type
    assert connection.infer(QUESTION) == 200


PARSER_LIMITS = Limits(images=3, pixels=100)
PARSED = {kind: GOOD[kind] for kind in ("application/x-npy", JSON, FORM_TYPE)}
STARTS = {
    "application/x-npy": [b"\x93NUMPY\x01\x00"],
    JSON: [b'{"instances": [{"b64": "', b'{"image": "'],
    FORM_TYPE: [b'--edge\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\n'],
}
parsing = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module")
def _reads_good_bodies() -> None:
    """Without this, a reader that refused everything would pass the tests below."""
    for content_type, bodies in PARSED.items():
        assert [require_images_or_refusal(body, content_type) for body in bodies] == [True] * len(
            bodies
        )


@pytest.mark.usefixtures("_reads_good_bodies")
class TestTheReaderOfBodies:
    """In this process, where a failure shows its traceback."""

    @parsing
    @given(json_values())
    def test_any_json_is_images_or_a_refusal(self, value: Any) -> None:
        for each in (value, {"instances": value}):
            require_images_or_refusal(json.dumps(each).encode(), JSON)

    @parsing
    @given(st.sampled_from(list(PARSED)), st.data())
    def test_any_bytes_are_images_or_a_refusal(self, content_type: str, data: Any) -> None:
        start = data.draw(st.sampled_from([b"", *STARTS[content_type]]))
        require_images_or_refusal(start + data.draw(st.binary(max_size=200)), content_type)

    @parsing
    @given(st.sampled_from(list(PARSED)), st.data())
    def test_a_body_with_other_bytes_is_images_or_a_refusal(
        self, content_type: str, data: Any
    ) -> None:
        changed = bytearray(data.draw(st.sampled_from(PARSED[content_type])))
        for _ in range(data.draw(st.integers(1, 5))):
            changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
        cut = data.draw(st.integers(0, len(changed)))
        require_images_or_refusal(bytes(changed), content_type)
        require_images_or_refusal(bytes(changed[:cut]), content_type)

    @parsing
    @given(st.text(max_size=60) | st.text("multipar/fom-dn;=\"b'\\*", max_size=60))
    def test_any_content_type_is_images_or_a_refusal(self, content_type: str) -> None:
        for text in (content_type, f"multipart/form-data; {content_type}"):
            require_images_or_refusal(FORM, text)


def require_images_or_refusal(body: bytes, content_type: str) -> bool:
    """Whether it was read."""
    try:
        found = images_in(body, content_type, PARSER_LIMITS)
    except Refusal as refusal:
        if refusal.status >= 500:
            raise
        return False
    assert 1 <= len(found.images) <= PARSER_LIMITS.images
    for image in found.images:
        if isinstance(image.content, np.ndarray):
            assert image.content.shape[2:] == (3,)
            assert image.content.dtype in (np.uint8, np.float32)
    return True


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
    connection.invoke(body, JSON)
    connection.infer(body)


@properly
@given(body=damaged(DOCUMENTS))
def test_damaged_json(connection: KeptConnection, body: bytes) -> None:
    connection.invoke(body, JSON)


@properly
@given(body=damaged((QUESTION,)))
def test_damaged_inference_requests(connection: KeptConnection, body: bytes) -> None:
    connection.infer(body)


@properly
@given(image=damaged((base64.b64encode(JPEGS[0]),)) | st.text().map(str.encode))
def test_damaged_base64(connection: KeptConnection, image: bytes) -> None:
    text = image.decode("latin-1")
    connection.invoke(json.dumps({"image": text}).encode(), JSON)
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


class TestLengths:
    @pytest.mark.parametrize("length", [b"-1", b"1e3", b"0x10", b"1 2", b"9" * 30, b"\xb2"])
    def test_that_are_no_number_of_bytes_are_refused(
        self, attacked: ServedProcess, length: bytes
    ) -> None:
        (reply,) = said(attacked, request(b"Content-Length: " + length) + b"abc")

        assert reply.status in {400, 413}

    def test_that_contradict_each_other_are_refused(self, attacked: ServedProcess) -> None:
        two = request(b"Content-Length: 3", b"Content-Length: 4") + b"abcd"
        both = request(b"Content-Length: 4", b"Transfer-Encoding: chunked") + b"0\r\n\r\n"

        assert [reply.status for reply in said(attacked, two)] == [400]
        assert [reply.status for reply in said(attacked, both)] == [400]

    def test_that_are_too_short_make_the_rest_a_bad_request(self, attacked: ServedProcess) -> None:
        content = jpeg()
        sent = request(b"Content-Length: %d" % (len(content) - 2)) + content

        statuses = [reply.status for reply in said(attacked, sent)]
        assert statuses[-1] == 400
        assert len(statuses) in {1, 2}

    def test_that_are_too_long_end_with_the_sender(self, attacked: ServedProcess) -> None:
        with connected(attacked) as connection:
            connection.sendall(request(b"Content-Length: 900000") + jpeg())
            connection.shutdown(socket.SHUT_WR)
            assert replies(connection) == []


class TestChunks:
    def test_make_a_body_however_they_are_cut(self, attacked: ServedProcess) -> None:
        pieces = b"".join(b"1;x=y\r\n%c\r\n" % byte for byte in jpeg())
        head = request(b"Transfer-Encoding: chunked", b"Connection: close")

        (reply,) = said(attacked, head, pieces, b"0\r\nX-Trailer: a\r\n\r\n")
        assert reply.status == 200

    @pytest.mark.parametrize(
        "chunks",
        [b"zz\r\n", b"-5\r\nabcde\r\n", b"5\r\nabc\r\n0\r\n\r\n", b"f" * 30 + b"\r\n"],
        ids=["no number", "negative", "too short", "enormous"],
    )
    def test_of_a_wrong_length_are_refused(self, attacked: ServedProcess, chunks: bytes) -> None:
        (reply,) = said(attacked, request(b"Transfer-Encoding: chunked"), chunks)

        assert reply.status in {400, 408, 413}

    def test_without_end_are_413(self, attacked: ServedProcess) -> None:
        piece = b"10000\r\n" + bytes(0x10000) + b"\r\n"

        (reply,) = said(attacked, request(b"Transfer-Encoding: chunked"), *[piece] * 40)
        assert reply.status == 413


# Far below what any of the bombs would take; the largest allowed image takes as much.
MOST_GROWTH_BYTES = 150 * MEBIBYTE


def jpeg() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (64, 48), (220, 20, 20)).save(file, "JPEG")
    return file.getvalue()


def chunk(name: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content))
    )


def png(side: int, bits: int, *chunks: bytes) -> bytes:
    """A grey PNG of this side with whatever chunks."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, bits, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(chunks) + chunk(b"IEND", b"")


def zeros(count: int) -> bytes:
    """So many zeros, in a thousandth of the bytes."""
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    mebibyte = packer.compress(bytes(MEBIBYTE)) + packer.flush(zlib.Z_FULL_FLUSH)
    blocks, rest = divmod(count, MEBIBYTE)
    end = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    checksum = struct.pack(">HH", count % 65521, 1)
    return b"\x78\xda" + mebibyte * blocks + end.compress(bytes(rest)) + end.flush() + checksum


def huge_png() -> bytes:
    """30000 x 30000 pixels of one bit each, all of them there."""
    return png(30_000, 1, chunk(b"IDAT", zeros(30_000 * 3751)))


def endless_png() -> bytes:
    """A small image whose pixels go on for hundreds of megabytes."""
    return png(16, 8, chunk(b"IDAT", zeros(400 * MEBIBYTE)), chunk(b"IEND", b""))


def talkative_png() -> bytes:
    """A small image with a comment of hundreds of megabytes."""
    rows = zlib.compress(bytes(16 * 17))
    return png(16, 8, chunk(b"zTXt", b"Comment\0\0" + zeros(400 * MEBIBYTE)), chunk(b"IDAT", rows))


def huge_jpeg() -> bytes:
    """A small image whose header says 65535 x 65535."""
    content = bytearray(jpeg())
    size = content.index(b"\xff\xc0") + 5
    content[size : size + 4] = b"\xff" * 4
    return bytes(content)


def array(shape: tuple[int, ...]) -> bytes:
    """A header without its numbers."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "|u1", "fortran_order": False, "shape": shape}
    )
    return file.getvalue()


def instances(instance: str) -> bytes:
    return b'{"instances": [%s]}' % instance.encode()


def form_of(parts: int) -> bytes:
    part = b'--edge\r\nContent-Disposition: form-data; name="a"; filename="a"\r\n\r\nx\r\n'
    return part * parts + b"--edge--\r\n"


BOMBS: dict[str, tuple[str, Callable[[], bytes], set[int]]] = {
    "a PNG of 30000 x 30000": ("image/png", huge_png, {413}),
    "a small PNG with pixels without end": ("image/png", endless_png, {200, 400}),
    "a small PNG with a comment without end": ("image/png", talkative_png, {200, 400}),
    "a JPEG that says 65535 x 65535": ("image/jpeg", huge_jpeg, {413}),
    "an array that says petabytes": (
        "application/x-npy",
        lambda: array((60, 2**20, 2**20, 3)),
        {413},
    ),
    # numpy makes every string as long as the longest: here 47 GB.
    "strings for pixels": (
        JSON,
        lambda: instances(json.dumps(["a" * 250_000, *["b"] * 50_000])),
        {422},
    ),
    "lists in lists in lists": (JSON, lambda: instances("[" * 400_000), {400}),
    "rows without pixels": (JSON, lambda: instances(json.dumps([[]] * 200_000)), {422}),
    "digits without end": (JSON, lambda: instances("9" * 900_000), {400}),
    "files without end": (FORM_TYPE, lambda: form_of(9000), {413}),
}


@pytest.mark.parametrize("name", list(BOMBS))
def test_bombs_are_refused_or_answered_in_little_memory(attacked: ServedProcess, name: str) -> None:
    content_type, body, statuses = BOMBS[name]
    sent = body()
    assert len(sent) < MEBIBYTE
    attacked.classify(jpeg())
    before = peak_memory_bytes(attacked)
    answer = attacked.ask("POST", "/invocations", sent, {"Content-Type": content_type})

    assert answer.status in statuses
    assert peak_memory_bytes(attacked) - before < MOST_GROWTH_BYTES


def test_a_packed_body_is_not_unpacked(attacked: ServedProcess) -> None:
    headers = {"Content-Encoding": "deflate"}

    assert attacked.classify(zlib.compress(jpeg()), headers).status == 400


def test_strings_for_numbers_are_refused_in_tensors_too(attacked: ServedProcess) -> None:
    data = ["a" * 250_000, *["b"] * 50_000]
    tensor = {"name": "image", "datatype": "FP32", "shape": [1, 4, 4, 3], "data": data}
    before = peak_memory_bytes(attacked)
    answer = attacked.ask(
        "POST",
        "/v2/models/colours/infer",
        json.dumps({"inputs": [tensor]}).encode(),
        {"Content-Type": "application/json"},
    )

    assert answer.status == 422
    assert peak_memory_bytes(attacked) - before < MOST_GROWTH_BYTES


def peak_memory_bytes(server: ServedProcess) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text("utf-8")
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


SEED = "20240611"
# An image that decoders refuse is right by the document, so that acceptance cannot be asked for.
CONFIGURATION = """
[checks]
positive_data_acceptance.enabled = false
negative_data_rejection.expected-statuses = [400, 404, 405, 411, 413, 415, 422]

[generation]
database = "none"
"""
HUNDREDS = 300
THOUSANDS = 10_000


def test_hundreds_of_requests_are_answered_as_described(
    attacked: ServedProcess, tmp_path: Path
) -> None:
    assert fuzzed(attacked, tmp_path, examples=5) >= HUNDREDS


@pytest.mark.slow
def test_ten_thousand_requests_are_answered_as_described(
    attacked: ServedProcess, tmp_path: Path
) -> None:
    assert fuzzed(attacked, tmp_path, examples=2100) >= THOUSANDS


def fuzzed(server: ServedProcess, folder: Path, examples: int) -> int:
    """How many requests the server has answered, all of them well."""
    configuration = folder / "schemathesis.toml"
    configuration.write_text(CONFIGURATION, encoding="utf-8")
    before, good_before = answered_requests(server), answered_requests(server, "200")
    words = ["--config-file", str(configuration), "run", "--seed", SEED]
    words += ["--phases", "coverage,fuzzing", "--max-examples", str(examples)]
    words += ["--request-timeout", str(PATIENCE_SECONDS), "--suppress-health-check", "all"]
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "schemathesis.cli",
            *words,
            f"http://127.0.0.1:{server.port}/openapi.json",
        ],
        env=dict(os.environ)
        | {
            "PYTHONPATH": str(Path(__file__).parent.parent),
            "SCHEMATHESIS_HOOKS": "support.fuzzed_media",
        },
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    # The fuzzer's own good requests too, not only those of these tests: images and arrays, which
    # are some of the media types, and undamaged in half of the cases.
    assert answered_requests(server, "200") - good_before > examples // 4
    return answered_requests(server) - before


def answered_requests(server: ServedProcess, status: str = "") -> int:
    """All of them, or those to /invocations with this status."""
    text = server.ask("GET", "/metrics").body.decode()
    wanted = rf'.*route="/invocations",status="{status}"' if status else ".*"
    counts = re.findall(rf"^prumo_requests_total\{{{wanted}\}} (\S+)$", text, re.MULTILINE)
    return int(sum(map(float, counts)))
