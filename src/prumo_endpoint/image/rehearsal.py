"""The requests by which a server shows all that it does, and the lasting part of its answers."""

from __future__ import annotations

import base64
import http.client
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from prumo.errors import InputError
from prumo_endpoint.bodies import Body, bad_bodies, drawn_body
from prumo_endpoint.exchange import PING, Address, Request

VOLATILE = frozenset({"timings", "requestLatency", "predictionLatency", "batch_size", "boot_id"})
"""Keys of an answer that differ from one time, or one start of the server, to the next."""
METRICS = "/metrics"
_PATHS = ("/", METRICS, "/openapi.json", "/v2", "/v2/health/live", "/v2/health/ready", "/nowhere")
_QUERIES = ("?heat_map=true", "?lang=pt-BR")
_SECONDS = 60.0
_ORIENTATION, _UPSIDE_DOWN = 0x0112, 3


@dataclass(frozen=True)
class Answer:
    """What must stay the same: status, type, and content without what is volatile."""

    status: int
    content_type: str
    content: str


def rehearsal(payloads: Sequence[Body]) -> list[tuple[str, Request]]:
    """Name and request of everything that is asked: all paths, kinds of bodies and errors."""
    body = drawn_body()
    asked = [(f"GET {path}", Request("GET", path)) for path in (PING.path, *_PATHS)]
    for name, each in {**dict(_pictures(body)), **bad_bodies(body)}.items():
        asked.append((name, each.request()))
    for query in _QUERIES:
        plain = body.request()
        path = plain.path + query
        asked.append((f"JPEG {query}", Request("POST", path, plain.headers, plain.body)))
    asked += [(f"payload {number}", each.request()) for number, each in enumerate(payloads, 1)]
    return asked


def answers(address: Address, requests: Sequence[tuple[str, Request]]) -> dict[str, Answer]:
    """What a server answers to each request, over a connection of its own."""
    return {name: _asked(address, name, request) for name, request in requests}


def differences(one: Mapping[str, Answer], other: Mapping[str, Answer]) -> list[str]:
    """The names of the requests that are not answered the same, bit for bit."""
    return [name for name, answer in one.items() if other.get(name) != answer]


def _asked(address: Address, name: str, request: Request) -> Answer:
    connection = http.client.HTTPConnection(address.host, address.port, timeout=_SECONDS)
    try:
        connection.request(request.method, request.path, request.body, dict(request.headers))
        reply = connection.getresponse()
        content = reply.read()
    except (OSError, http.client.HTTPException) as error:
        raise InputError(f"the server gives no answer to '{name}': {error}") from error
    finally:
        connection.close()
    kind = reply.headers.get_content_type()
    # Counts and times; that it answers is enough.
    text = "" if request.path == METRICS else _stable(content, kind)
    return Answer(reply.status, kind, text)


def _stable(content: bytes, kind: str) -> str:
    if kind == "application/json":
        try:
            # Numbers are written so that the same text means the same bits.
            return json.dumps(_lasting(json.loads(content)))
        except ValueError:
            pass
    return content.hex()


def _lasting(value: Any) -> Any:  # noqa: ANN401 (JSON)
    if isinstance(value, dict):
        return {name: _lasting(each) for name, each in value.items() if name not in VOLATILE}
    return [_lasting(each) for each in value] if isinstance(value, list) else value


def _pictures(body: Body) -> Iterator[tuple[str, Body]]:
    """A picture in each form in which clients send one."""
    picture = Image.open(io.BytesIO(body.content))
    picture.load()
    exif = Image.Exif()
    exif[_ORIENTATION] = _UPSIDE_DOWN
    yield "JPEG", body
    yield "JPEG of the network's size", _encoded(picture.resize((224, 224)), "JPEG")
    yield "grey JPEG", _encoded(picture.convert("L"), "JPEG")
    yield "CMYK JPEG", _encoded(picture.convert("CMYK"), "JPEG")
    yield "progressive JPEG", _encoded(picture, "JPEG", progressive=True)
    yield "turned JPEG", _encoded(picture, "JPEG", exif=exif)
    for mode in ("RGB", "L", "RGBA", "P", "I;16"):
        drawn = picture.convert("L").convert(mode) if mode == "I;16" else picture.convert(mode)
        yield f"{mode} PNG", _encoded(drawn, "PNG")
    array = io.BytesIO()
    np.save(array, np.asarray(picture))
    yield "NumPy array", Body(array.getvalue(), "application/x-npy")
    text = base64.b64encode(body.content).decode()
    instances = {"instances": [{"b64": text}, np.asarray(picture.resize((8, 8))).tolist()]}
    yield "JSON", Body(json.dumps({"image": text}).encode(), "application/json")
    yield "JSON of several", Body(json.dumps(instances).encode(), "application/json")
    yield "form", Body(_form(body), "multipart/form-data; boundary=prumo")
    yield "another type", Body(body.content, "text/plain")


def _encoded(picture: Image.Image, form: str, **options: Any) -> Body:  # noqa: ANN401 (Pillow's)
    file = io.BytesIO()
    picture.save(file, form, **options)
    return Body(file.getvalue(), f"image/{form.lower()}")


def _form(body: Body) -> bytes:
    head = 'Content-Disposition: form-data; name="image"; filename="a.jpg"'
    lines = ["--prumo", head, f"Content-Type: {body.content_type}", "", ""]
    return "\r\n".join(lines).encode() + body.content + b"\r\n--prumo--\r\n"
