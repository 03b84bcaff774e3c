"""How a lean server begins, tells the truth about itself, and ends."""

from __future__ import annotations

import base64
import io
import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from typing import TYPE_CHECKING

import psutil
import pytest
from click.testing import CliRunner
from PIL import Image

from prumo.errors import InputError
from prumo_serve.commands import serve
from prumo_serve.server.refusal import Refusal
from prumo_serve.server.service import Service
from prumo_serve.server.settings import Settings
from prumo_serve.server.stacks import run_stack
from support.described_answer import problems
from support.fundus_factory import fundus, no_fundus
from support.model_packages import ColourNetwork, write_colour_package
from support.served_process import PATIENCE_SECONDS, served_process
from support.slow_network import SlowColourNetwork

if TYPE_CHECKING:
    from collections.abc import Callable
    from http.client import HTTPResponse
    from pathlib import Path

    import numpy as np

    from support.served_process import ServedProcess


def jpeg(pixels: np.ndarray | None = None) -> bytes:
    file = io.BytesIO()
    picture = (
        Image.new("RGB", (64, 48), (220, 20, 20)) if pixels is None else Image.fromarray(pixels)
    )
    picture.save(file, "JPEG")
    return file.getvalue()


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


class TestTheBeginning:
    def test_nothing_is_imported_that_only_reports_and_trainings_need(self, tmp_path: Path) -> None:
        write_colour_package(tmp_path / "package", "grade", heat_map=True)
        script = """
import sys
from pathlib import Path
from prumo_serve.commands import serve
from prumo_serve.package import open_package
from prumo_serve.server import app, engine, http_server, service
from prumo_serve.server.model_holder import loaded_model
from prumo_serve.server.settings import Settings
loaded_model(open_package(Path(sys.argv[1])), Settings(Path(sys.argv[1])))
print(*{name.partition(".")[0] for name in sys.modules})
"""
        command = [sys.executable, "-c", script, str(tmp_path / "package")]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

        heavy = {"altair", "babel", "h5py", "jinja2", "onnx", "polars", "pydicom", "rich", "scipy"}
        assert heavy & set(found) == set()
        assert "onnxruntime" in found

    def test_a_model_that_is_damaged_ends_the_server_with_the_reason(self, tmp_path: Path) -> None:
        write_colour_package(tmp_path / "package")
        (tmp_path / "package" / "network.onnx").write_bytes(b"damaged")

        with served_process(tmp_path / "package", tmp_path / "log") as server:
            assert server.process.wait(PATIENCE_SECONDS) == 2
            assert "prumo: " in server.log
            assert "network.onnx" in server.log
            assert "Traceback" not in server.log

    def test_an_address_that_is_taken_is_an_error_that_says_so(self, tmp_path: Path) -> None:
        write_colour_package(tmp_path / "package")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(InputError, match=f"127.0.0.1, port {port}: .*--port 0"):
                run_stack(Settings(tmp_path / "package", port=port))

    @pytest.mark.parametrize(
        ("name", "content", "reason"),
        [
            ("missing.tar.gz", None, "there is no model"),
            ("missing.keras", None, "there is no model"),
            ("text.tar.gz", b"no archive", "is not a gzip archive"),
            ("notes.txt", b"no model", "is no model that can be packaged"),
            ("weights.pt", b"no export", "which runs code when it is opened"),
            ("colours.onnx", ColourNetwork().model().SerializeToString(), "prumo model package"),
        ],
    )
    def test_what_is_no_model_at_first_sight_is_told_before_anybody_is_told_an_address(
        self, tmp_path: Path, name: str, content: bytes | None, reason: str
    ) -> None:
        if content is not None:
            (tmp_path / name).write_bytes(content)

        found = CliRunner().invoke(serve.command, [str(tmp_path / name), "--port", "0"])

        assert isinstance(found.exception, InputError)
        assert reason in str(found.exception)
        assert "listening" not in found.output

    @pytest.mark.parametrize("option", ["--timeout", "--max-body-mb", "--max-wait-ms"])
    def test_what_is_not_a_number_is_refused(self, option: str) -> None:
        found = CliRunner().invoke(serve.command, ["model", option, "nan"])

        assert found.exit_code == 2
        assert "nan is not a finite number" in found.output


class TestReadiness:
    def test_it_is_not_ready_while_the_model_is_being_loaded(self, tmp_path: Path) -> None:
        service = Service(Settings(tmp_path))

        assert service.why_not_ready() == "the model is being loaded"
        with pytest.raises(Refusal, match="the model is being loaded") as refused:
            _ = service.engine
        assert refused.value.status == 503

    def test_it_rests_and_yet_notices_that_the_model_was_replaced_on_disk(
        self, tmp_path: Path
    ) -> None:
        package = tmp_path / "package"
        write_colour_package(package)
        write_colour_package(tmp_path / "other", network=ColourNetwork(sharpness=2.0))
        with served_process(package, tmp_path / "log") as server:
            server.await_ready()
            switches = idle_switches(server)
            before = server.classify(jpeg()).document
            shutil.copyfile(tmp_path / "other" / "network.onnx", package / "network.onnx")
            wait_until(lambda: server.ask("GET", "/ping").status == 503)
            after = server.classify(jpeg()).document

            assert switches < 20
            reason = server.ask("GET", "/ping").document["error"]["message"]
            assert reason.startswith("network.onnx of the model was changed on disk")
            assert server.ask("GET", "/v2/health/ready").status == 503
            assert server.ask("GET", "/v2/health/live").status == 200
            assert (after["probability"], after["model"]) == (
                before["probability"],
                before["model"],
            )


class TestTheEnd:
    def test_every_request_that_was_accepted_is_answered(self, tmp_path: Path) -> None:
        write_colour_package(tmp_path / "package", network=SlowColourNetwork(convolutions=2))
        with served_process(tmp_path / "package", tmp_path / "log") as server:
            server.await_ready()
            open_already = HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
            before = pinged(open_already)
            with ThreadPoolExecutor(6) as pool:
                answers = [pool.submit(server.classify, jpeg()) for _ in range(6)]
                wait_until(lambda: connections(server) > len(answers))
                server.process.send_signal(signal.SIGTERM)
                wait_until(lambda: "shutting down" in server.log)
                after = pinged(open_already)
                found = [answer.result() for answer in answers]
            code = server.process.wait(PATIENCE_SECONDS)

            assert {answer.status for answer in found} == {200}
            assert (before.status, after.status) == (200, 503)
            assert after.headers["connection"] == "close"
            assert code == 0
            assert "ended" in server.log

    def test_a_second_ctrl_c_does_not_wait_for_a_sender_who_does_not_end(
        self, tmp_path: Path
    ) -> None:
        write_colour_package(tmp_path / "package")
        with served_process(tmp_path / "package", tmp_path / "log") as server:
            server.await_ready()
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.sendall(
                    b"POST /invocations HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"
                )
                wait_until(lambda: connections(server) > 0)
                server.process.send_signal(signal.SIGINT)
                wait_until(lambda: "shutting down" in server.log)
                server.process.send_signal(signal.SIGINT)

                assert server.process.wait(PATIENCE_SECONDS) == 0
                assert "Traceback" not in server.log

    def test_it_ends_also_while_it_loads(self, tmp_path: Path) -> None:
        write_colour_package(tmp_path / "package", network=SlowColourNetwork())
        with served_process(tmp_path / "package", tmp_path / "log") as server:
            wait_until(lambda: server.ask("GET", "/ping").status in {200, 503})
            server.process.send_signal(signal.SIGTERM)

            assert server.process.wait(PATIENCE_SECONDS) == 0


class TestARetinaModel:
    def test_is_asked_for_a_grade_a_heat_map_and_portuguese(self, tmp_path: Path) -> None:
        write_colour_package(tmp_path / "package", "grade", heat_map=True)
        options = ("--log-format", "json")
        with served_process(tmp_path / "package", tmp_path / "log", *options) as server:
            server.await_ready()
            headers = {"Content-Type": "image/jpeg"}
            asked = "/invocations?heat_map=true&lang=pt-BR"
            answer = server.ask("POST", asked, jpeg(fundus(400, 300).pixels), headers)
            ungradable = server.ask("POST", asked, jpeg(no_fundus(400, 300)), headers)
            document = server.ask("GET", "/openapi.json").document
            inference = {"name": "image", "shape": [1], "datatype": "BYTES", "data": ["AAAA"]}
            bad = server.ask(
                "POST",
                "/v2/models/colours/infer",
                json.dumps({"inputs": [inference]}).encode(),
                {"Content-Type": "application/json"},
            )
            metadata = server.ask("GET", "/v2/models/colours").document
            image = base64.b64encode(jpeg(fundus(400, 300).pixels)).decode()
            inferred = server.ask(
                "POST",
                "/v2/models/colours/infer",
                json.dumps({"inputs": [inference | {"data": [image]}]}).encode(),
                {"Content-Type": "application/json"},
            ).document
            lines = [json.loads(line) for line in server.log.splitlines()]

        assert answer.status == ungradable.status == 200
        assert answer.document["grade"] in range(5)
        assert answer.document["heat_map"].startswith("data:image/png;base64,")
        assert answer.document["quality"]["verdict"]
        assert ungradable.document["refer"] is True
        assert ungradable.document["label"] is None
        assert ungradable.document["heat_map"] is None
        assert problems(document, "Prediction", answer.document) == []
        assert problems(document, "Prediction", ungradable.document) == []
        assert ungradable.document["heat_map_reason"].startswith("a fotografia não pode ser")
        assert "heat_map_reason" not in answer.document
        assert bad.status == 400
        assert "no quality is judged" in metadata["parameters"]["preprocessing"]
        assert problems(document, "ModelMetadata", metadata) == []
        outputs = {output["name"]: output for output in inferred["outputs"]}
        assert [(one["name"], one["datatype"]) for one in metadata["outputs"]] == [
            (one["name"], one["datatype"]) for one in inferred["outputs"]
        ]
        assert outputs["refer"]["datatype"] == "BOOL"
        assert outputs["refer"]["data"] == [answer.document["refer"]]
        probabilities = outputs["referral_probability"]["data"]
        assert probabilities == [answer.document["referral_probability"]]
        assert [line["event"] for line in lines if "event" in line] == ["listening", "ready"]
        refused = [line["route"] for line in lines if line.get("status") == 400]
        assert refused == ["/v2/models/{name}/infer"]


def idle_switches(server: ServedProcess) -> int:
    """How often the process wakes in a second in which nobody asks it anything."""
    process = psutil.Process(server.process.pid)
    before: int = process.num_ctx_switches().voluntary
    time.sleep(1)
    after: int = process.num_ctx_switches().voluntary
    return after - before


def pinged(connection: HTTPConnection) -> HTTPResponse:
    connection.request("GET", "/ping")
    answer = connection.getresponse()
    answer.read()
    return answer


def connections(server: ServedProcess) -> int:
    found = psutil.Process(server.process.pid).net_connections("tcp")
    return sum(one.status == psutil.CONN_ESTABLISHED for one in found)
