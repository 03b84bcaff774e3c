"""`prumo serve` over real connections: what it answers, and with which words it refuses."""

from __future__ import annotations

import base64
import io
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from support.golden_file import INPUTS, keys, same_json
from support.served_process import served_process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Prumo
    from support.served_process import Answer, ServedProcess

ATTRIBUTES = "X-Amzn-SageMaker-Custom-Attributes"
COLOURS = {"red": (220, 20, 20), "blue": (20, 20, 220)}
# What a server tells about itself with every answer, and what its libraries add.
HEADERS = ("content-type", "allow", "retry-after", "cache-control", ATTRIBUTES.lower())
TIMED = ("_seconds", "Latency", "batch_size", "boot_id")
JSON = "application/json"
FORM = "multipart/form-data; boundary=edge"
OPTIONS = ("--max-body-mb", "1", "--max-pixels", "1000000", "--workers", "1", "--threads", "1")


def picture(colour: str, kind: str = "PNG", side: int = 48) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (side, side), COLOURS[colour]).save(file, kind)
    return file.getvalue()


def encoded(colour: str) -> str:
    return base64.b64encode(picture(colour)).decode()


def array(images: int) -> bytes:
    file = io.BytesIO()
    np.save(file, np.broadcast_to(np.array(COLOURS["red"], np.uint8), (images, 40, 30, 3)))
    return file.getvalue()


def form(*files: bytes) -> bytes:
    head = '--edge\r\nContent-Disposition: form-data; name="file"; filename="{}.png"\r\n\r\n'
    parts = (head.format(number).encode() + file + b"\r\n" for number, file in enumerate(files, 1))
    return b"".join(parts) + b"--edge--\r\n"


def as_json(value: object) -> bytes:
    return json.dumps(value).encode()


def tensor(**changes: Any) -> bytes:
    right = {"name": "image", "shape": [1], "datatype": "BYTES", "data": [encoded("red")]}
    return as_json({"id": "seven", "inputs": [right | changes]})


RED = picture("red")
INFER = "/v2/models/network/infer"
GETS = (
    *("/ping", "/v2", "/v2/health/live", "/v2/health/ready", "/v2/models/network"),
    *("/v2/models/network/ready", "/v2/models/other", "/v2/models/network/versions/other"),
    *("/nowhere", "/invocations"),
)
POSTS: dict[str, tuple[str, str, bytes]] = {
    "a PNG": ("/invocations", "image/png", RED),
    "a JPEG": ("/invocations", "image/jpeg", picture("blue", "JPEG")),
    "an array of two": ("/invocations", "application/x-npy", array(2)),
    "JSON with an image": ("/invocations", JSON, as_json({"image": encoded("red")})),
    "JSON with instances": (
        *("/invocations", JSON),
        as_json({"instances": [{"b64": encoded("red")}, [[[20, 20, 220]] * 2] * 2]}),
    ),
    "a form with a bad file": ("/invocations", FORM, form(RED, b"no image", picture("blue"))),
    "a heat map": ("/invocations?heat_map=true", "image/png", RED),
    "in Portuguese": ("/invocations?heat_map=true&lang=pt-BR", "image/png", RED),
    "an unknown language": ("/invocations?lang=tlh", "image/png", RED),
    "a doubtful wish": ("/invocations?heat_map=perhaps", "image/png", RED),
    "no image at all": ("/invocations", "image/jpeg", b"no image at all"),
    "nothing": ("/invocations", "image/jpeg", b""),
    "too many pixels": ("/invocations", "image/png", picture("red", side=1100)),
    "too many bytes": ("/invocations", "image/png", bytes(1024**2 + 1)),
    "plain text": ("/invocations", "text/plain", b"hello"),
    "half a document": ("/invocations", JSON, b"{"),
    "wrong values": ("/invocations", JSON, b'{"image": 3}'),
    "no instances": ("/invocations", JSON, b'{"instances": []}'),
    "half an array": ("/invocations", "application/x-npy", b"\x93NUMPY"),
    "half a form": ("/invocations", FORM, b"--edge"),
    "a method that is not there": ("/ping", JSON, b"{}"),
    "an inference of an image": (INFER, JSON, tensor()),
    "an inference of a tensor": (
        *(INFER, JSON),
        tensor(shape=[1, 32, 32, 3], datatype="FP32", data=[220, 20, 20] * 1024),
    ),
    "a tensor of another name": (INFER, JSON, tensor(name="other")),
    "a tensor of another shape": (INFER, JSON, tensor(datatype="FP32", shape=[1, 2])),
    "an unreadable tensor": (INFER, JSON, tensor(data=["?"])),
    "an inference without inputs": (INFER, JSON, as_json({"inputs": []})),
    "an inference of another type": (INFER, "text/plain", b"{}"),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProcess]:
    """A package made by the command line, and served by it."""
    folder = tmp_path_factory.mktemp("served")
    package = folder / "package.tar.gz"
    words = ["--labels", "red,green,blue", "--normalization", "inside", "--out", str(package)]
    subprocess.run(
        [sys.executable, "-m", "prumo", "model", "package", str(INPUTS / "network.onnx"), *words],
        check=True,
        cwd=folder,
        capture_output=True,
    )
    with served_process(package, folder / "log", *OPTIONS) as running:
        running.await_ready()
        yield running


@pytest.fixture(scope="module")
def referral_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProcess]:
    """A package of a fixed time, that of a referral with heat maps."""
    log = tmp_path_factory.mktemp("referral") / "log"
    with served_process(INPUTS / "referral_package", log, *OPTIONS) as running:
        running.await_ready()
        yield running


def told(answer: Answer) -> dict[str, Any]:
    """Status, headers and body, without what a clock has measured."""
    headers = {name: answer.headers[name] for name in HEADERS if name in answer.headers}
    if "allow" in headers:
        headers["allow"] = ", ".join(sorted(headers["allow"].split(", ")))
    return {"status": answer.status, "headers": headers, "body": _untimed(_body(answer))}


def test_what_is_asked_with_get_is_answered_as_before(server: ServedProcess) -> None:
    same_json("server/get", {path: told(server.ask("GET", path)) for path in GETS})


def test_what_is_sent_with_post_is_answered_as_before(server: ServedProcess) -> None:
    answers = {
        name: told(server.ask("POST", path, body, {"Content-Type": content_type}))
        for name, (path, content_type, body) in POSTS.items()
    }
    same_json("server/post", answers)


def test_custom_attributes_come_back_or_are_refused_as_before(server: ServedProcess) -> None:
    values = ("case 7", 'trace="a,b;c"', "a\tb")
    answers = {
        value: told(server.classify(picture("red", "JPEG"), {ATTRIBUTES: value}))
        for value in values
    }
    same_json("server/attributes", answers)


def test_the_openapi_document_is_that_of_before(server: ServedProcess) -> None:
    same_json("server/openapi", server.ask("GET", "/openapi.json").document)


def test_metrics_have_the_names_of_before(server: ServedProcess) -> None:
    server.classify(picture("red", "JPEG"))
    text = server.ask("GET", "/metrics").body.decode()
    same_json(
        "server/metrics", sorted(re.findall(r"^# (?:HELP|TYPE) prumo_.*$", text, re.MULTILINE))
    )


def test_the_page_for_people_has_the_words_of_before(server: ServedProcess) -> None:
    answers = {
        language: told(server.ask("GET", "/", headers={"Accept-Language": language}))
        for language in ("en", "pt-BR")
    }
    same_json("server/page", answers)


def test_a_referral_is_answered_as_before(referral_server: ServedProcess) -> None:
    photograph = (INPUTS / "photographs" / "eye-2-1.jpg").read_bytes()
    asked = {
        "a photograph": referral_server.classify(photograph),
        "no fundus": referral_server.classify(picture("blue", "JPEG")),
        "metadata": referral_server.ask("GET", "/v2/models/colours"),
    }
    path = "/invocations?heat_map=true"
    kind = {"Content-Type": "image/jpeg"}
    mapped = referral_server.ask("POST", path, photograph, kind)
    answers = {name: told(answer) for name, answer in asked.items()}
    same_json("server/referral", answers | {"with a heat map": keys(mapped.document)})


def test_an_endpoint_is_checked_as_before(server: ServedProcess, prumo_here: Prumo) -> None:
    body = INPUTS / "images" / "a" / "000.png"
    words = ("endpoint", "check", f"http://127.0.0.1:{server.port}", "--body", body, "--json")
    found = json.loads(prumo_here(*words, "--payload-mb", 1).stdout)
    for rule in found["rules"]:
        rule["measured"] = keys(rule["measured"])
    same_json("server/endpoint-check", found)


def _body(answer: Answer) -> Any:
    text = answer.body.decode()
    if answer.headers.get("content-type", "").startswith(JSON):
        return json.loads(text)
    if "<html" not in text:
        return text
    text = re.sub(r"(?s)<(style|script|svg)\b.*?</\1>", "", text)
    return [line.strip() for line in re.sub(r"<[^>]*>", "", text).splitlines() if line.strip()]


def _untimed(value: Any) -> Any:
    if isinstance(value, list):
        return [_untimed(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: "…" if key.endswith(TIMED) else _untimed(item) for key, item in value.items()}
