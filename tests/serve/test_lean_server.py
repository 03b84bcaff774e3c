"""The lean server: one real process that all of these tests ask over real sockets."""

from __future__ import annotations

import base64
import io
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from prumo_serve.server.app import all_routes
from support.described_answer import check_schemas, problems
from support.model_packages import write_colour_package
from support.served_process import PATIENCE_SECONDS, served_process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.served_process import Answer, ServedProcess

ATTRIBUTES = "X-Amzn-SageMaker-Custom-Attributes"
RED = (220, 20, 20)
BLUE = (20, 20, 220)
MOST_BYTES = 1024**2


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProcess]:
    folder = tmp_path_factory.mktemp("lean")
    write_colour_package(folder / "package.tar.gz")
    options = ("--max-body-mb", "1", "--max-pixels", "1000000", "--workers", "2", "--threads", "1")
    with served_process(folder / "package.tar.gz", folder / "log", *options) as running:
        running.await_ready()
        yield running


@pytest.fixture(scope="module")
def document(server: ServedProcess) -> dict[str, Any]:
    found: dict[str, Any] = server.ask("GET", "/openapi.json").document
    return found


def picture(colour: tuple[int, int, int], kind: str = "JPEG", side: int = 48) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (side, side), colour).save(file, kind)
    return file.getvalue()


def encoded(colour: tuple[int, int, int]) -> str:
    return base64.b64encode(picture(colour)).decode()


def array(colour: tuple[int, int, int], images: int = 0) -> bytes:
    file = io.BytesIO()
    shape = (images, 40, 30, 3) if images else (40, 30, 3)
    np.save(file, np.broadcast_to(np.array(colour, np.uint8), shape))
    return file.getvalue()


def form(*files: bytes) -> bytes:
    parts = (
        b'--edge\r\nContent-Disposition: form-data; name="file"; filename="%d.jpg"\r\n\r\n%s\r\n'
        % (number, content)
        for number, content in enumerate(files, start=1)
    )
    return b"".join(parts) + b"--edge--\r\n"


def invoke(server: ServedProcess, content_type: str, body: bytes, query: str = "") -> Answer:
    return server.ask("POST", f"/invocations{query}", body, {"Content-Type": content_type})


def as_json(value: object) -> bytes:
    return json.dumps(value).encode()


def error_kind(answer: Answer) -> str:
    kind: str = answer.document["error"]["kind"]
    return kind


class TestReadiness:
    def test_ping_names_the_model(self, server: ServedProcess) -> None:
        answer = server.ask("GET", "/ping")

        assert answer.status == 200
        assert answer.document["model"]["name"] == "colours"

    def test_the_log_says_where_it_listens_and_what_is_served(self, server: ServedProcess) -> None:
        assert f"listening at http://127.0.0.1:{server.port} (lean)" in server.log
        assert "at most 1 MB and 1 megapixels" in server.log
        assert "ready after" in server.log
        assert "colours" in server.log


class TestInvocations:
    @pytest.mark.parametrize(
        ("content_type", "body"),
        [
            ("image/jpeg", picture(RED)),
            ("image/jpg", picture(RED)),
            ("image/png", picture(RED, "PNG")),
            ("image/jpeg; charset=binary", picture(RED)),
            ("application/x-npy", array(RED)),
            ("application/json", as_json({"image": encoded(RED)})),
            ("application/json; charset=utf-8", as_json({"b64": encoded(RED)})),
            (
                "application/json",
                as_json({"image": f"data:image/jpeg;base64,{encoded(RED)}"}),
            ),
            ("multipart/form-data; boundary=edge", form(picture(RED))),
        ],
    )
    def test_one_image_of_any_kind_gets_a_prediction(
        self, server: ServedProcess, document: dict[str, Any], content_type: str, body: bytes
    ) -> None:
        answer = invoke(server, content_type, body)

        assert answer.status == 200
        assert answer.document["label"] == "red"
        assert answer.document["probability"] == answer.document["probabilities"]["red"]
        timings = answer.document["timings"]
        assert timings["total_seconds"] == answer.document["requestLatency"]
        assert timings["predict_seconds"] <= timings["total_seconds"]
        assert problems(document, "Prediction", answer.document) == []

    @pytest.mark.parametrize(
        ("content_type", "body"),
        [
            ("application/x-npy", array(RED, images=2)),
            (
                "application/json",
                as_json({"instances": [{"b64": encoded(RED)}, [[list(RED)] * 2] * 2]}),
            ),
            ("multipart/form-data; boundary=edge", form(picture(RED), picture(RED))),
        ],
    )
    def test_several_images_get_a_list(
        self, server: ServedProcess, document: dict[str, Any], content_type: str, body: bytes
    ) -> None:
        answer = invoke(server, content_type, body)

        assert [one["label"] for one in answer.document["predictions"]] == ["red", "red"]
        assert problems(document, "Predictions", answer.document) == []

    def test_a_bad_image_among_good_ones_does_not_spoil_them(
        self, server: ServedProcess, document: dict[str, Any]
    ) -> None:
        answer = invoke(
            server,
            "multipart/form-data; boundary=edge",
            form(picture(RED), b"no image", picture(BLUE)),
        )

        first, second, third = answer.document["predictions"]
        assert answer.status == 200
        assert (first["name"], first["label"]) == ("1.jpg", "red")
        assert (second["name"], second["error"]["kind"]) == ("2.jpg", "unreadable_image")
        assert third["label"] == "blue"
        assert problems(document, "Predictions", answer.document) == []

    def test_a_heat_map_that_cannot_be_made_is_null_with_a_reason(
        self, server: ServedProcess, document: dict[str, Any]
    ) -> None:
        answer = invoke(server, "image/jpeg", picture(RED), "?heat_map=true&lang=pt-BR")

        assert answer.status == 200
        assert answer.document["heat_map"] is None
        assert answer.document["heat_map_reason"] == "o modelo foi empacotado sem mapas de calor"
        assert problems(document, "Prediction", answer.document) == []

    def test_many_at_once_are_all_answered_and_computed_together(
        self, server: ServedProcess
    ) -> None:
        colours = [RED, BLUE] * 60
        with ThreadPoolExecutor(40) as pool:
            answers = list(pool.map(lambda colour: server.classify(picture(colour)), colours))

        assert {answer.status for answer in answers} == {200}
        found = [answer.document["label"] for answer in answers]
        assert found == ["red", "blue"] * 60

    @pytest.mark.parametrize(
        ("content_type", "body", "status", "kind"),
        [
            ("image/jpeg", b"no image at all", 400, "unreadable_image"),
            ("image/jpeg", picture(RED)[:200], 400, "unreadable_image"),
            ("image/jpeg", b"", 400, "malformed"),
            ("image/png", picture(RED, "PNG", side=1100), 413, "too_large"),
            ("image/jpeg", b"x" * (MOST_BYTES + 1), 413, "too_large"),
            ("text/plain", b"hello", 415, "unsupported_type"),
            ("", b"hello", 415, "unsupported_type"),
            ("application/json", b"{", 400, "malformed"),
            ("application/json", b"[" * 100_000, 400, "malformed"),
            ("application/json", b'{"image": 3}', 422, "wrong_values"),
            ("application/json", b'{"instances": []}', 422, "wrong_values"),
            ("application/x-npy", b"\x93NUMPY", 400, "malformed"),
            ("multipart/form-data; boundary=edge", b"--edge", 400, "malformed"),
        ],
    )
    def test_what_cannot_be_answered_is_told_in_one_form(
        self, server: ServedProcess, content_type: str, body: bytes, status: int, kind: str
    ) -> None:
        answer = invoke(server, content_type, body)

        assert (answer.status, error_kind(answer)) == (status, kind)
        assert answer.document["error"]["message"]

    @pytest.mark.parametrize("query", ["?heat_map=perhaps", "?lang=tlh"])
    def test_an_option_that_does_not_exist_is_refused(
        self, server: ServedProcess, query: str
    ) -> None:
        assert invoke(server, "image/jpeg", picture(RED), query).status == 422

    def test_a_body_in_chunks_is_taken_and_one_without_end_is_not(
        self, server: ServedProcess
    ) -> None:
        image = picture(RED)
        start = b"POST /invocations HTTP/1.1\r\nHost: a\r\nContent-Type: image/jpeg\r\n"
        chunked = start + b"Transfer-Encoding: chunked\r\n\r\n"
        whole = chunked + b"%x\r\n%s\r\n0\r\n\r\n" % (len(image), image)
        endless = chunked + b"100000\r\n%s\r\n" % bytes(2**20) * 2

        assert raw(server, whole).startswith(b"HTTP/1.1 200 ")
        assert raw(server, endless).startswith(b"HTTP/1.1 413 ")

    def test_a_request_without_a_body_is_asked_for_one(self, server: ServedProcess) -> None:
        head = b"POST /invocations HTTP/1.1\r\nHost: a\r\nContent-Type: image/jpeg\r\n\r\n"

        assert raw(server, head).startswith(b"HTTP/1.1 411 ")


class TestCustomAttributes:
    @pytest.mark.parametrize("value", ["case 7", "x" * 1024, 'trace="a,b;c"', ""])
    def test_they_are_given_back(self, server: ServedProcess, value: str) -> None:
        answer = server.classify(picture(RED), {ATTRIBUTES: value})

        assert answer.status == 200
        assert answer.headers[ATTRIBUTES.lower()] == value

    def test_they_are_given_back_with_errors_too(self, server: ServedProcess) -> None:
        assert server.classify(b"", {ATTRIBUTES: "case 7"}).headers[ATTRIBUTES.lower()] == "case 7"

    @pytest.mark.parametrize("value", ["x" * 1025, "caf\xe9", "a\tb"])
    def test_those_that_may_not_be_are_refused_and_not_repeated(
        self, server: ServedProcess, value: str
    ) -> None:
        answer = server.classify(picture(RED), {ATTRIBUTES: value})

        assert (answer.status, error_kind(answer)) == (400, "bad_attributes")
        assert ATTRIBUTES.lower() not in answer.headers
        assert value.encode("latin-1") not in answer.body

    def test_other_paths_do_not_repeat_them(self, server: ServedProcess) -> None:
        answer = server.ask("GET", "/ping", headers={ATTRIBUTES: "case 7"})

        assert ATTRIBUTES.lower() not in answer.headers


class TestPaths:
    def test_what_is_not_there_is_404_without_repeating_it(self, server: ServedProcess) -> None:
        answer = server.ask("GET", "/patients/maria")

        assert (answer.status, error_kind(answer)) == (404, "not_found")
        assert b"maria" not in answer.body

    @pytest.mark.parametrize(
        ("method", "path", "allowed"),
        [("GET", "/invocations", "POST"), ("PUT", "/ping", "GET, HEAD")],
    )
    def test_another_method_is_405_and_says_which_are_right(
        self, server: ServedProcess, method: str, path: str, allowed: str
    ) -> None:
        answer = server.ask(method, path)

        assert answer.status == 405
        assert answer.headers["allow"] == allowed


class TestOpenInference:
    def test_it_is_live_and_ready(self, server: ServedProcess) -> None:
        assert server.ask("GET", "/v2").document["name"] == "prumo"
        assert server.ask("GET", "/v2/health/live").document == {"live": True}
        assert server.ask("GET", "/v2/health/ready").document == {"ready": True}
        assert server.ask("GET", "/v2/models/colours/ready").document["ready"] is True

    def test_it_tells_what_the_model_takes_and_gives(
        self, server: ServedProcess, document: dict[str, Any]
    ) -> None:
        found = server.ask("GET", "/v2/models/colours").document

        assert found["inputs"] == [{"name": "image", "datatype": "FP32", "shape": [-1, 32, 32, 3]}]
        assert [output["name"] for output in found["outputs"]] == ["probabilities", "label"]
        assert "BYTES" in found["parameters"]["encoded_images"]
        assert "neither resized nor normalized" in found["parameters"]["preprocessing"]
        assert problems(document, "ModelMetadata", found) == []

    def test_the_version_may_stand_in_the_path(self, server: ServedProcess) -> None:
        metadata = server.ask("GET", "/v2/models/colours").document
        path = f"/v2/models/colours/versions/{metadata['versions'][0]}"
        image = {"name": "image", "shape": [1], "datatype": "BYTES", "data": [encoded(RED)]}
        body, kind = as_json({"inputs": [image]}), {"Content-Type": "application/json"}

        assert server.ask("GET", path).document == metadata
        assert server.ask("GET", f"{path}/ready").document["ready"] is True
        answer = server.ask("POST", f"{path}/infer", body, kind)
        assert answer.document["outputs"][1]["data"] == ["red"]
        assert server.ask("GET", "/v2/models/colours/versions/other").status == 404

    def test_of_several_images_the_bad_one_is_named(self, server: ServedProcess) -> None:
        for bad, status in (("?", 422), ("AAAA", 400)):
            images = {"shape": [2], "datatype": "BYTES", "data": [encoded(RED), bad]}

            answer = infer(server, {"inputs": [{"name": "image", **images}]})

            assert answer.status == status
            assert answer.document["error"].startswith("data[1]: ")

    def test_tensors_flat_or_nested_get_the_same_answer_as_images(
        self, server: ServedProcess, document: dict[str, Any]
    ) -> None:
        nested = [[[list(RED)] * 32] * 32, [[list(BLUE)] * 32] * 32]
        flat = [*RED] * 1024 + [*BLUE] * 1024
        inputs: list[dict[str, Any]] = [
            {"shape": [2, 32, 32, 3], "datatype": "FP32", "data": nested},
            {"shape": [2, 32, 32, 3], "datatype": "FP32", "data": flat},
            {"shape": [2], "datatype": "BYTES", "data": [encoded(RED), encoded(BLUE)]},
        ]

        answers = [infer(server, {"inputs": [{"name": "image", **one}]}) for one in inputs]

        for answer in answers:
            probabilities, labels = answer.document["outputs"]
            assert probabilities["shape"] == [2, 3]
            assert np.sum(probabilities["data"][:3]) == pytest.approx(1)
            assert labels["data"] == ["red", "blue"]
            assert problems(document, "Inference", answer.document) == []
        assert answers[0].document == answers[1].document

    def test_an_answer_has_the_id_and_only_the_outputs_that_are_wanted(
        self, server: ServedProcess
    ) -> None:
        image = {"name": "image", "shape": [1], "datatype": "BYTES", "data": [encoded(RED)]}

        found = infer(
            server, {"id": "seven", "inputs": [image], "outputs": [{"name": "label"}]}
        ).document

        assert found["id"] == "seven"
        assert [output["name"] for output in found["outputs"]] == ["label"]

    @pytest.mark.parametrize(
        ("change", "status"),
        [
            ({"name": "other"}, 422),
            ({"datatype": "FP64"}, 422),
            ({"shape": [1, 32, 32]}, 422),
            ({"shape": [0, 32, 32, 3]}, 422),
            ({"shape": [65, 32, 32, 3]}, 413),
            ({"shape": "all"}, 422),
            ({"data": [1, 2, 3]}, 422),
            ({"data": ["a"] * 3072}, 422),
            ({"data": [True] * 3072}, 422),
            ({"data": [1e300] * 3072}, 422),
            ({"data": None}, 422),
            ({"datatype": "BYTES", "shape": [1], "data": ["?"]}, 422),
            ({"datatype": "BYTES", "shape": [1], "data": ["AAAA"]}, 400),
            ({"datatype": "BYTES", "shape": [2], "data": ["AAAA"]}, 422),
        ],
    )
    def test_a_tensor_that_does_not_fit_is_refused_with_a_sentence(
        self, server: ServedProcess, change: dict[str, Any], status: int
    ) -> None:
        right = {"name": "image", "shape": [1, 32, 32, 3], "datatype": "FP32", "data": [0] * 3072}

        answer = infer(server, {"inputs": [right | change]})

        assert answer.status == status
        assert isinstance(answer.document["error"], str)

    @pytest.mark.parametrize(
        "question",
        [
            [],
            {"inputs": []},
            {"inputs": [{}]},
            {"inputs": [{}, {}]},
            {"inputs": [], "id": 3},
            {"outputs": [{"name": "logits"}]},
        ],
    )
    def test_what_is_no_inference_request_is_refused(
        self, server: ServedProcess, question: object
    ) -> None:
        assert infer(server, question).status == 422

    def test_only_json_and_only_this_model_are_known(self, server: ServedProcess) -> None:
        assert infer(server, {}, "other").status == 404
        assert server.ask("GET", "/v2/models/other").status == 404
        unknown = {"Content-Type": "text/plain"}
        assert server.ask("POST", "/v2/models/colours/infer", b"{}", unknown).status == 415


class TestMetrics:
    def test_requests_images_and_bytes_are_counted(self, server: ServedProcess) -> None:
        before = metrics(server)
        image = picture(RED)
        server.classify(image)
        server.classify(b"no image")
        after = metrics(server)

        answered = 'prumo_requests_total{method="POST",route="/invocations",status="200"}'
        refused = 'prumo_requests_total{method="POST",route="/invocations",status="400"}'
        received = 'prumo_body_bytes_total{direction="received"}'
        images = 'prumo_phase_seconds_count{phase="predict"}'
        assert after[answered] == before.get(answered, 0) + 1
        assert after[refused] == before.get(refused, 0) + 1
        assert after[received] == before[received] + len(image) + len(b"no image")
        assert after[images] == before.get(images, 0) + 1
        assert after["prumo_ready"] == 1
        assert after["prumo_waiting_images"] == 0
        assert after["process_resident_memory_bytes"] > 0

    def test_no_path_or_method_that_somebody_made_up_becomes_a_label(
        self, server: ServedProcess
    ) -> None:
        server.ask("GET", "/patients/maria")
        raw(server, b"REPORT /ping HTTP/1.1\r\nHost: a\r\n\r\n")

        text = server.ask("GET", "/metrics").body.decode()

        assert "maria" not in text
        assert "REPORT" not in text
        assert 'method="OTHER"' in text


class TestOpenApi:
    def test_every_route_is_described_and_nothing_else(self, document: dict[str, Any]) -> None:
        routes = {
            (route.path, method.lower())
            for route in all_routes()
            for method in (route.methods or set()) - {"HEAD"}
        }
        described = {
            (path, method)
            for path, operations in document["paths"].items()
            for method in operations
            if method != "parameters"
        }

        assert described == routes

    def test_its_schemas_are_schemas(self, document: dict[str, Any]) -> None:
        assert document["openapi"] == "3.1.0"
        check_schemas(document)

    def test_answers_of_all_kinds_are_as_described(
        self, server: ServedProcess, document: dict[str, Any]
    ) -> None:
        assert problems(document, "Ready", server.ask("GET", "/ping").document) == []
        assert problems(document, "Server", server.ask("GET", "/v2").document) == []
        assert problems(document, "Error", server.classify(b"").document) == []
        missing = server.ask("GET", "/v2/models/other").document
        assert problems(document, "OpenInferenceError", missing) == []

    def test_errors_of_the_connection_are_as_described_for_every_path(
        self, server: ServedProcess, document: dict[str, Any]
    ) -> None:
        described = document["paths"]["/v2/models/{name}/infer"]["post"]["responses"]
        head = b"POST /v2/models/colours/infer HTTP/1.1\r\nX: " + b"x" * 20_000 + b"\r\n\r\n"
        told = json.loads(raw(server, head).partition(b"\r\n\r\n")[2])

        choices = described["431"]["content"]["application/json"]["schema"]["anyOf"]
        names = [choice["$ref"].rpartition("/")[2] for choice in choices]
        assert [] in [problems(document, name, told) for name in names]
        assert names[0] == "OpenInferenceError"


class TestConnections:
    def test_huge_headers_are_431(self, server: ServedProcess) -> None:
        in_one = b"GET /ping HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 20_000 + b"\r\n\r\n"
        many = b"GET /ping HTTP/1.1\r\n" + b"X: y\r\n" * 20_000
        endless = b"GET /" + b"x" * 50_000

        for head in (in_one, many, endless):
            answer = raw(server, head)
            assert answer.startswith(b"HTTP/1.1 431 ")
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["kind"]

    def test_what_is_not_http_is_400(self, server: ServedProcess) -> None:
        answer = raw(server, b"\x16\x03\x01 hello\r\n\r\n")

        assert answer.startswith(b"HTTP/1.1 400 ")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["kind"] == "malformed"

    def test_a_connection_is_used_again_also_after_an_error(self, server: ServedProcess) -> None:
        image = picture(RED)
        start = b"POST /invocations HTTP/1.1\r\nHost: a\r\nContent-Type: image/jpeg\r\n"
        good = start + b"Content-Length: %d\r\n\r\n%s" % (len(image), image)
        bad = start + b"Content-Length: 3\r\n\r\nbad"
        last = b"GET /ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

        answers = raw(server, good + bad + good + last)

        statuses = [part[:3] for part in answers.split(b"HTTP/1.1 ")[1:]]
        assert statuses == [b"200", b"400", b"200", b"200"]

    def test_a_body_that_is_too_large_does_not_cost_the_sender_its_answer(
        self, server: ServedProcess
    ) -> None:
        with ThreadPoolExecutor(8) as pool:
            answers = list(
                pool.map(lambda _: invoke(server, "image/jpeg", bytes(8 * MOST_BYTES)), range(16))
            )

        assert {answer.status for answer in answers} == {413}

    def test_uploads_that_break_off_leave_nothing_behind(self, server: ServedProcess) -> None:
        head = b"POST /invocations HTTP/1.1\r\nHost: a\r\nContent-Type: image/jpeg\r\n"
        for _ in range(30):
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.sendall(head + b"Content-Length: 500000\r\n\r\n" + bytes(1000))

        assert server.classify(picture(RED)).status == 200
        given_up = 'prumo_requests_total{method="POST",route="/invocations",status="499"}'
        until = time.monotonic() + PATIENCE_SECONDS
        while metrics(server).get(given_up, 0) < 30:
            assert time.monotonic() < until
            time.sleep(0.05)


class TestTheLog:
    def test_it_has_a_line_for_each_request_and_nothing_that_was_sent(
        self, server: ServedProcess
    ) -> None:
        image = picture(RED)
        server.ask("GET", "/ping?patient=maria", headers={"X-Patient": "joaquina"})
        server.classify(image, {ATTRIBUTES: "record 4711"})
        body = form(image).replace(b"1.jpg", b"teresa.jpg")
        invoke(server, "multipart/form-data; boundary=edge", body)

        assert "GET /ping 200" in server.log
        assert "POST /invocations 200" in server.log
        for word in ("maria", "joaquina", "4711", "teresa", "error:"):
            assert word not in server.log


def infer(server: ServedProcess, question: object, model: str = "colours") -> Answer:
    headers = {"Content-Type": "application/json"}
    return server.ask("POST", f"/v2/models/{model}/infer", as_json(question), headers)


def metrics(server: ServedProcess) -> dict[str, float]:
    lines = server.ask("GET", "/metrics").body.decode().splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


def raw(server: ServedProcess, sent: bytes) -> bytes:
    """What comes back on one connection until it is closed, or nothing more comes."""
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_SECONDS) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_every_answer_says_which_start_of_the_server_it_comes_from(server: ServedProcess) -> None:
    one = invoke(server, "image/jpeg", picture(RED))
    several = invoke(server, "application/x-npy", array(RED, 2))
    refused = invoke(server, "image/jpeg", b"no image")
    asked = server.classify(picture(RED), {ATTRIBUTES: "prumo-boot-id"})

    (boot_id,) = {each.headers["x-prumo-boot-id"] for each in (one, several, refused, asked)}
    assert len(boot_id) == 16
    assert one.document["boot_id"] == several.document["boot_id"] == boot_id
    assert asked.headers[ATTRIBUTES.lower()] == f"prumo-boot-id={boot_id}"
