"""The comparison of servers: its load, its judgement, and one real trial of it."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, ClassVar

import pytest

from benchmarks.serving import comparison, contestants, endurance
from benchmarks.serving.contestants import Contestant
from benchmarks.serving.limits import has_int8_units, promises
from benchmarks.serving.load import Load, ask, pooled, post, put_load
from benchmarks.serving.networks import ServedNetwork
from benchmarks.serving.table import told
from benchmarks.serving.trial import Effort, Measured, Trial, tried
from prumo.errors import UnavailableError
from support.model_packages import ColourNetwork, write_colour_package

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

REQUEST = post("/invocations", b"body", "image/jpeg")


class TestLoad:
    def test_asks_on_as_many_connections_as_wanted_and_counts_what_is_answered(self) -> None:
        with answering() as server:
            load = put_load(server.server_port, [REQUEST], connections=3, seconds=0.2)

        assert len(load.latencies_seconds) > 3
        assert load.errors == 0
        assert len(Answering.connections) == 3

    def test_tells_errors_from_answers(self) -> None:
        with answering(status=503) as server:
            load = put_load(server.server_port, [REQUEST], connections=1, seconds=0.1)

        assert load.latencies_seconds == ()
        assert load.errors > 0

    def test_goes_on_where_a_server_hangs_up_after_each_answer(self) -> None:
        with answering(hangs_up=True) as server:
            load = put_load(server.server_port, [REQUEST], connections=1, seconds=0.1)

        assert load.errors == 0
        assert len(Answering.connections) > len(load.latencies_seconds) > 1

    def test_gives_the_answer_of_a_single_question(self) -> None:
        with answering() as server:
            assert ask(server.server_port, REQUEST) == (200, b"4 bytes")

    def test_of_several_rounds_is_one(self) -> None:
        whole = pooled([Load(1.0, (0.1, 0.3)), Load(3.0, (0.2, 0.4), errors=1)])

        assert whole.requests_per_second == 1.0
        assert whole.percentile_seconds(0.5) == pytest.approx(0.25)
        assert whole.errors == 1


class TestJudgement:
    @pytest.mark.parametrize(
        ("server", "change", "broken"),
        [
            ("lean-int8", {}, []),
            ("lean-int8", {"many": 149}, ["requests/s of keras"]),
            ("lean-int8", {"first_answer_seconds": 0.51}, ["times sooner than keras"]),
            ("lean-int8", {"memory_bytes": 210}, ["less memory than keras"]),
            ("lean-fp32", {"many": 125}, ["of the runtime alone", "requests/s of fastapi"]),
            ("fastapi", {"tail_seconds": 0.01}, ["p99 at 8 connections over that of fastapi"]),
            ("litserve", {"many": 151}, ["requests/s of litserve"]),
            ("bentoml", {"many": 151}, ["requests/s of bentoml"]),
            ("lean-fp32", {"few_seconds": 0.0126}, ["seconds over decode and runtime"]),
            ("lean-int8", {"errors": 1}, ["requests without an answer"]),
            ("lean-fp32", {"many": 147}, ["those of the runtime alone"]),
            ("nginx-fp32", {"many": 151}, ["requests/s of nginx"]),
            ("lean-fp32", {"first_answer_seconds": 0.81}, ["seconds to the first answer"]),
            ("fastapi", {"few_seconds": 0.01}, ["p50 at 1 connection over that of fastapi"]),
        ],
    )
    def test_a_promise_that_is_not_kept_fails_and_is_marked(
        self, server: str, change: dict[str, float], broken: list[str]
    ) -> None:
        trial = kept_trial()
        measured = _measured(server, **(KEPT[server] | change))
        trial = replace(trial, servers={**trial.servers, server: measured})

        missed = [promise.text for promise in promises(trial) if not promise.is_kept]

        assert len(missed) == len(broken)
        assert all(words in text for words, text in zip(broken, missed, strict=True))
        assert comparison.judged([trial], set(), int8_units=True) == int(bool(broken))
        assert told(trial, has_int8_units=True).count("✗ missed") == len(broken)

    def test_vgg19_has_a_limit_of_its_own(self) -> None:
        servers = {
            "keras": _measured("keras", many=10),
            "fastapi": _measured("fastapi", many=10),
            "lean-fp32": _measured("lean-fp32", many=10),
        }
        slow = servers | {"lean-int8": _measured("lean-int8", many=39)}
        fast = servers | {"lean-int8": _measured("lean-int8", many=41)}

        assert (
            comparison.judged(
                [Trial("vgg19", slow, (0.1,), {"fp32": (10.0,), "int8": (40.0,)})],
                set(),
                int8_units=True,
            )
            == 1
        )
        assert (
            comparison.judged(
                [Trial("vgg19", fast, (0.1,), {"fp32": (10.0,), "int8": (40.0,)})],
                set(),
                int8_units=True,
            )
            == 0
        )

    @pytest.mark.parametrize(
        ("extensions", "code"),
        [(("avx2", "avx512f"), 0), (("avx2", "avx_vnni"), 1), (("amx_int8",), 1)],
    )
    def test_what_only_int8_units_can_keep_is_told_but_fails_only_with_them(
        self, extensions: tuple[str, ...], code: int
    ) -> None:
        slow = KEPT["lean-int8"] | {"many": 149}
        servers = {**kept_trial().servers, "lean-int8": _measured("lean-int8", **slow)}
        trial = replace(kept_trial(), servers=servers)
        units = has_int8_units(extensions)

        assert comparison.judged([trial], set(), int8_units=units) == code
        assert "14.9 (limit: at least 15) ✗ missed" in told(trial, has_int8_units=units)
        assert ("not a failure" in told(trial, has_int8_units=units)) == (code == 0)

    def test_what_needs_no_int8_units_fails_without_them_too(self) -> None:
        large = KEPT["lean-int8"] | {"memory_bytes": 210}
        servers = {**kept_trial().servers, "lean-int8": _measured("lean-int8", **large)}

        assert comparison.judged([replace(kept_trial(), servers=servers)], set(), int8_units=False)

    def test_a_server_that_answers_nothing_right_is_judged_too(self) -> None:
        servers = {**kept_trial().servers, "keras": _measured("keras", many=0, errors=3)}

        (row,) = [
            line
            for line in told(
                replace(kept_trial(), servers=servers), has_int8_units=True
            ).splitlines()
            if line.startswith("| keras")
        ]
        assert row.endswith("| 0.0 |  |  |  | 3 |")

    def test_a_percentile_of_too_few_answers_is_left_out(self) -> None:
        servers = {"fastapi": _measured("fastapi", many=100, tail_seconds=0.1)}

        table = told(Trial("vgg19", servers, (0.01,), {}), has_int8_units=True)

        assert "| 100.0 | 100.0 | 100.0 |  | 0 |" in table

    def test_servers_that_were_not_measured_are_not_judged(self) -> None:
        assert list(promises(Trial("mobilenet", {"keras": _measured("keras")}, (0.1,), {}))) == []

    @pytest.mark.parametrize(("ci", "code"), [("true", 1), ("", 0)])
    def test_a_server_that_cannot_be_had_fails_only_where_all_must_be_there(
        self, ci: str, code: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CI", ci)

        assert comparison.judged([], {"bentoml: not measured"}, int8_units=True) == code

    def test_an_unknown_server_is_refused_with_the_known_ones(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit, match="2"):
            comparison.main(["--servers", "lean"])

        assert "lean: known are keras, fastapi" in capsys.readouterr().err


class TestTrial:
    def test_starts_asks_and_weighs_every_server(self, tmp_path: Path) -> None:
        network = _network(tmp_path)
        effort = Effort(starts=1, rounds=2, few_seconds=0.1, many_seconds=0.1)

        trial = tried(network, {"one": _maker(network.fp32)}, effort)

        measured = trial.servers["one"]
        assert len(measured.first_answers_seconds) == 1
        assert measured.memory_bytes > 10e6
        assert len(measured.few) == len(measured.many) == len(trial.direct_seconds) == 2
        assert measured.errors == 0
        assert "| Prumo |" in told(trial, has_int8_units=True)

    def test_refuses_servers_that_answer_differently(self, tmp_path: Path) -> None:
        network = _network(tmp_path)
        makers = {"one": _maker(network.fp32), "other": _maker(network.int8)}

        with pytest.raises(ValueError, match="differ by"):
            tried(network, makers, Effort(1, 1, 0.1, 0.1))

    def test_says_why_a_server_cannot_be_had(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def absent(_network: ServedNetwork, _port: int) -> Contestant:
            raise UnavailableError("pip has no such package")

        monkeypatch.setitem(contestants.MAKERS, "bentoml", absent)

        makers, reasons = comparison.available(_network(tmp_path), ["bentoml", "lean-fp32"])

        assert list(makers) == ["lean-fp32"]
        assert reasons == {"bentoml: not measured: pip has no such package"}


@pytest.mark.parametrize(("late_bytes", "code"), [(104e6, 0), (106e6, 1), (90e6, 0)])
def test_a_server_whose_memory_grows_fails(late_bytes: float, code: int) -> None:
    assert endurance.judged("lean", 100e6, late_bytes) == code


KEPT: dict[str, dict[str, float]] = {
    "keras": {"many": 10, "first_answer_seconds": 4, "memory_bytes": 1200},
    "fastapi": {"many": 100, "few_seconds": 0.0127, "tail_seconds": 0.1},
    "litserve": {"many": 100},
    "bentoml": {"many": 100},
    "nginx-fp32": {"many": 100},
    "lean-fp32": {
        "many": 150,
        "few_seconds": 0.0114,
        "tail_seconds": 0.05,
        "first_answer_seconds": 0.79,
    },
    "lean-int8": {"many": 151, "first_answer_seconds": 0.49, "memory_bytes": 190},
}


def kept_trial() -> Trial:
    """All promises are kept, hardly."""
    return Trial(
        "mobilenet",
        {name: _measured(name, **values) for name, values in KEPT.items()},
        (0.01,),
        {"fp32": (160.0,), "int8": (160.0,)},
    )


def _measured(
    name: str,
    many: float = 10,
    few_seconds: float = 0.01,
    tail_seconds: float = 0.05,
    first_answer_seconds: float = 1.0,
    memory_bytes: float = 100,
    errors: float = 0,
) -> Measured:
    return Measured(
        name=name,
        first_answers_seconds=(first_answer_seconds,),
        memory_bytes=int(memory_bytes),
        few=(Load(1.0, (few_seconds,)),),
        many=(Load(1.0, (tail_seconds,) * int(many), int(errors)),),
    )


def _network(folder: Path) -> ServedNetwork:
    """Two packages that answer differently, where the benchmark has two that should not."""
    write_colour_package(folder / "one")
    write_colour_package(folder / "other", network=ColourNetwork(grey=0.0, sharpness=80.0))
    path = folder / "one" / "network.onnx"
    return ServedNetwork("mobilenet", path, path, folder / "one", folder / "other")


def _maker(package: Path) -> Callable[[ServedNetwork, int], Contestant]:
    def made(_network: ServedNetwork, port: int) -> Contestant:
        words = ("-m", "prumo", "serve", str(package), "--port", str(port))
        return Contestant("Prumo", (sys.executable, *words))

    return made


class Answering(BaseHTTPRequestHandler):
    """Answers with the length of the body."""

    protocol_version = "HTTP/1.1"
    status = 200
    hangs_up = False
    connections: ClassVar[set[tuple[str, int]]] = set()

    def do_POST(self) -> None:
        self.connections.add(self.client_address)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = f"{len(body)} bytes".encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(answer)))
        if self.hangs_up:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


class QuietServer(ThreadingHTTPServer):
    """The load breaks connections off when its time is over."""

    def handle_error(self, *_: object) -> None:
        """Keep quiet."""


@contextmanager
def answering(status: int = 200, hangs_up: bool = False) -> Iterator[ThreadingHTTPServer]:
    Answering.status, Answering.hangs_up = status, hangs_up
    Answering.connections.clear()
    with QuietServer(("127.0.0.1", 0), Answering) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield server
        server.shutdown()
        thread.join()
