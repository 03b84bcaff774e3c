"""The load generator: when it sends, what it counts, and what a bad server does to it."""

from __future__ import annotations

import itertools
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from prumo.errors import InputError
from prumo_endpoint.bodies import drawn_body
from prumo_endpoint.exchange import LOCAL_HOST, Address, free_port
from prumo_endpoint.load.calibration import calibrate, expected_waits, mean_wait_seconds
from prumo_endpoint.load.generator import Generator
from prumo_endpoint.load.reference_server import reference_server
from prumo_endpoint.load.request_table import (
    REQUESTS_FILE,
    UNCOUNTED,
    RequestTable,
    figures,
    percentile,
    read_requests,
    requests_needed,
)
from prumo_endpoint.load.schedule import (
    ClosedLoop,
    OpenLoop,
    Schedule,
    burst_times,
    constant_times,
    poisson_times,
)
from prumo_endpoint.load.sent import Outcome, Sent, prepared_request
from support.model_packages import write_colour_package
from support.raw_server import OK, answering, raw_server
from support.served_process import running_process

REQUEST = prepared_request(Address("localhost", 80), b"x" * 100, "image/jpeg")


def sent_by(
    address: Address,
    schedule: Schedule,
    *,
    connections: int = 1000,
    answer_seconds: float = 10.0,
    stop: Callable[[], bool] = lambda: False,
) -> list[Sent]:
    rows: list[Sent] = []
    with Generator(
        address, [REQUEST], connections=connections, answer_seconds=answer_seconds
    ) as generator:
        generator.send(schedule, rows.append, stop=stop)
    return rows


def outcomes(rows: list[Sent]) -> list[Outcome]:
    return [row.outcome for row in rows]


def test_latency_counts_from_when_a_request_was_due() -> None:
    # A service of 100 ms, 50 requests a second, one in flight: request i takes 0.1 + 0.08 i s.
    with reference_server(len(REQUEST), 0.1) as address:
        rows = sent_by(address, OpenLoop(constant_times(50, 0.15)), connections=1)

    latencies = [row.latency_seconds for row in rows]
    assert len(rows) == 8
    assert np.mean(latencies) == pytest.approx(0.38, abs=0.05)
    assert max(latencies) == pytest.approx(0.66, abs=0.08)
    # That they waited is not the generator's fault.
    assert all(row.lateness_seconds < 0.1 for row in rows)


@pytest.mark.slow
def test_a_slow_service_that_is_asked_ten_times_a_second_makes_requests_wait() -> None:
    with reference_server(len(REQUEST), 0.5) as address:
        rows = sent_by(address, OpenLoop(constant_times(10, 0.75)), connections=1)

    latencies = [row.latency_seconds for row in rows]
    assert len(rows) == 8
    assert np.mean(latencies) == pytest.approx(1.9, abs=0.1)
    assert max(latencies) == pytest.approx(3.3, abs=0.2)


def test_an_open_loop_does_not_wait_for_answers() -> None:
    with reference_server(len(REQUEST), 0.2) as address:
        rows = sent_by(address, OpenLoop(constant_times(50, 0.1)))

    # The second answer comes after 0.4 s.
    assert max(row.start for row in rows) < min(row.end for row in rows) + 0.2
    assert [row.number for row in rows] == list(range(5))


def test_a_closed_loop_waits_for_answers_and_pauses() -> None:
    with reference_server(len(REQUEST), 0.02) as address:
        rows = sent_by(address, ClosedLoop(2, 0.05, requests=8))

    assert len(rows) == 8
    for user in (rows[0::2], rows[1::2]):
        for before, after in itertools.pairwise(user):
            assert after.start >= before.end + 0.045


def test_a_connection_is_used_again() -> None:
    connections = []

    def talk(connection: socket.socket) -> None:
        connections.append(connection)
        answering(OK)(connection)

    with raw_server(talk) as address:
        rows = sent_by(address, ClosedLoop(1, requests=20))

    assert outcomes(rows) == [Outcome.ANSWERED] * 20
    assert len(connections) == 1


def test_a_connection_that_the_server_closed_meanwhile_is_no_failure() -> None:
    connections = []

    def talk(connection: socket.socket) -> None:
        connections.append(connection)
        connection.recv(1 << 16)
        # Says that it stays open, and closes it a moment later.
        connection.sendall(OK)
        time.sleep(0.05)

    with raw_server(talk) as address, Generator(address, [REQUEST]) as generator:
        rows: list[Sent] = []
        for _ in range(3):
            generator.send(OpenLoop([0.0]), rows.append)
            time.sleep(0.2)
        generator.send(ClosedLoop(1, 0.1, requests=3), rows.append)

    assert outcomes(rows) == [Outcome.ANSWERED] * 6
    assert len(connections) == 6


def test_a_connection_that_closes_while_a_request_is_sent_on_it_is_replaced_once() -> None:
    asked = []

    def talk(connection: socket.socket) -> None:
        while connection.recv(1 << 16):
            asked.append(connection)
            if asked.count(connection) > 1:
                return
            connection.sendall(OK)

    with raw_server(talk) as address:
        rows = sent_by(address, ClosedLoop(1, requests=4))

    assert outcomes(rows) == [Outcome.ANSWERED] * 4
    assert [row.is_retried for row in rows] == [False, True, True, True]


def test_a_closed_loop_goes_on_at_once_after_a_failure() -> None:
    rows = sent_by(Address(LOCAL_HOST, free_port()), ClosedLoop(1, requests=20))

    assert outcomes(rows) == [Outcome.UNREACHABLE] * 20
    assert all(row.error for row in rows)
    assert sum(row.lateness_seconds for row in rows) < 1


def test_an_unknown_host_is_refused() -> None:
    with pytest.raises(InputError, match="the host is not known"):
        Generator(Address("no-such-host.invalid", 80), [REQUEST])


def test_a_server_that_closes_after_each_answer_is_asked_on_new_connections() -> None:
    answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
    with raw_server(answering(answer, keep=False)) as address:
        rows = sent_by(address, ClosedLoop(1, requests=5))

    assert outcomes(rows) == [Outcome.ANSWERED] * 5


@pytest.mark.parametrize(
    ("answer", "outcome", "status"),
    [
        (OK, Outcome.ANSWERED, 200),
        (b"HTTP/1.1 200 OK\r\n\r\nno length", Outcome.ANSWERED, 200),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            Outcome.ANSWERED,
            200,
        ),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", Outcome.REFUSED, 503),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", Outcome.CLOSED, 0),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf", Outcome.CLOSED, 0),
        (b"", Outcome.CLOSED, 0),
        (b"garbage\r\n\r\n", Outcome.GARBLED, 0),
    ],
)
def test_every_answer_has_its_outcome(answer: bytes, outcome: Outcome, status: int) -> None:
    with raw_server(answering(answer, keep=False)) as address:
        rows = sent_by(address, OpenLoop(constant_times(50, 0.1)))

    assert outcomes(rows) == [outcome] * 5
    assert {row.status for row in rows} == {status}


def test_silence_is_late_and_holds_nothing_up() -> None:
    with raw_server(lambda _: time.sleep(5)) as address:
        rows = sent_by(address, OpenLoop([0.0, 0.05]), answer_seconds=0.3)

    assert outcomes(rows) == [Outcome.LATE] * 2


def test_nobody_there_is_unreachable_also_for_a_thousand_that_wait() -> None:
    rows = sent_by(
        Address(LOCAL_HOST, free_port()), OpenLoop(burst_times(2000, 1, 0)), connections=1
    )

    assert outcomes(rows) == [Outcome.UNREACHABLE] * 2000


def test_a_body_larger_than_the_buffers_arrives_whole() -> None:
    body = bytes(8 << 20)
    received = []

    def talk(connection: socket.socket) -> None:
        size = 0
        while size < len(body):
            size += len(connection.recv(1 << 16))
        received.append(size)
        connection.sendall(OK)

    with raw_server(talk) as address, Generator(address, [REQUEST + body]) as generator:
        rows: list[Sent] = []
        generator.send(OpenLoop([0.0]), rows.append)

    assert outcomes(rows) == [Outcome.ANSWERED]
    assert received[0] >= len(body)


def test_a_stop_ends_the_sending_and_waits_for_what_is_in_flight() -> None:
    with reference_server(len(REQUEST), 0.05) as address:
        answers = iter([False, False])
        rows = sent_by(address, OpenLoop(constant_times(50, 60)), stop=lambda: next(answers, True))

    assert outcomes(rows) == [Outcome.ANSWERED] * 2


def test_random_arrivals_are_repeatable_and_have_their_rate() -> None:
    times = list(poisson_times(100, 50, seed=3))

    assert times == list(poisson_times(100, 50, seed=3))
    assert len(times) == pytest.approx(5000, rel=0.06)
    gaps = np.diff(times)
    assert np.std(gaps) == pytest.approx(np.mean(gaps), rel=0.08)


def test_the_wait_of_random_arrivals_is_that_of_queueing_theory() -> None:
    waits = expected_waits(poisson_times(50, 4000, seed=5), service_seconds=0.01)

    assert np.mean(waits) == pytest.approx(mean_wait_seconds(0.5, 0.01), rel=0.05)


def test_a_calibration_measures_the_generator() -> None:
    calibration = calibrate(REQUEST)

    assert 0 < calibration.lateness_p50_seconds <= calibration.lateness_p99_seconds
    assert calibration.cpu_seconds_per_request > 0
    assert calibration.theory_wait_seconds == pytest.approx(0.005)
    # What it measures beyond the known wait is the machine's, and never less than nothing.
    assert calibration.wait_error_seconds > -0.001


def test_a_percentile_is_claimed_only_with_enough_requests() -> None:
    assert requests_needed(0.9) == 64
    assert requests_needed(0.99) == 662
    assert percentile([1.0] * 63, 0.9) is None
    assert percentile([*[1.0] * 57, *[2.0] * 7], 0.9) == 2.0


def test_rows_are_written_read_and_counted(tmp_path: Path) -> None:
    body = (
        b'{"timings": {"queue_seconds": 0.1, "decode_seconds": 0.2, "preprocess_seconds": 0.3, '
        b'"predict_seconds": 0.4}, "boot_id": "b1"}'
    )
    with RequestTable(tmp_path / REQUESTS_FILE, [("a.jpg", 100)], starts_on_demand=True) as table:
        table.phase = UNCOUNTED
        table.record(Sent(0, 0, 0.0, 0.0, 0.0, 9.0, 9.0, status=200, body=body))
        table.phase = "counted"
        table.record(Sent(1, 0, 10.0, 10.0, 10.1, 10.9, 11.0, status=200, body=body))
        table.record(Sent(2, 0, 11.0, 11.0, 11.1, 11.9, 14.0, status=200, body=body))
        table.record(Sent(3, 0, 12.0, 12.0, 12.0, end=12.5, outcome=Outcome.CLOSED))

    rows = read_requests(tmp_path / REQUESTS_FILE)
    assert rows == table.rows
    assert [row.is_cold for row in rows] == [True, False, False, None]
    found = figures(rows)
    assert found["requests"] == 3
    assert found["failed_requests"] == 1
    assert found["inferences"] == 2
    assert found["latency_seconds"] == pytest.approx(2.0)
    assert found["billed_seconds"] == pytest.approx(0.9 + 2.9)
    assert found["predict_seconds"] == pytest.approx(0.4)
    assert "latency_p50_seconds" not in found


@pytest.mark.parametrize(
    ("content_type", "body", "outcome"),
    [
        (b"application/json", b'{"label": 1}', "answered"),
        (b"application/json; charset=utf-8", b"[1]", "answered"),
        (b"application/json", b"<html>", "garbled"),
        (b"Application/Problem+JSON", b'{"label": ', "garbled"),
        (b"application/json", b"", "garbled"),
        (b"text/csv", b"{0.5", "answered"),
    ],
)
def test_an_answer_that_is_not_the_json_that_it_says_to_be_has_failed(
    tmp_path: Path, content_type: bytes, body: bytes, outcome: str
) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n"
    with (
        raw_server(answering(head % (content_type, len(body)) + body)) as address,
        RequestTable(tmp_path / REQUESTS_FILE, [("a", 1)]) as table,
        Generator(address, [REQUEST]) as generator,
    ):
        generator.send(ClosedLoop(requests=1), table.record)
        table.write_all()

    (row,) = table.rows
    assert (row.outcome, row.status) == (outcome, 200)
    assert bool(row.reason) == (outcome == "garbled")
    assert figures(table.rows)["failed_requests"] == (outcome == "garbled")


def test_a_cut_last_line_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / REQUESTS_FILE
    with RequestTable(file, [("a.jpg", 100)]) as table:
        for number in range(3):
            table.record(Sent(number, 0, 0.0, 0.0, 0.0, 1.0, 1.0, status=200))
    file.write_bytes(file.read_bytes()[:-40])

    assert len(read_requests(file)) == 2


def test_only_a_changed_boot_id_proves_a_cold_start_of_a_server_that_ran_before(
    tmp_path: Path,
) -> None:
    boots = ["b1", "b1", "", "b2", "b1", "b2"]
    with RequestTable(tmp_path / REQUESTS_FILE, [("a.jpg", 100)]) as table:
        for number, boot in enumerate(boots):
            notes = {"boot-id": boot} if boot else {}
            table.record(Sent(number, 0, 0.0, 0.0, 0.0, 0.5, 1.0, status=200, notes=notes))

    assert [row.is_cold for row in table.rows] == [None, False, None, True, False, False]
    assert figures(table.rows)["cold_answers"] == 1
    assert "warm_answers" not in figures(table.rows[:2])


@pytest.mark.slow
def test_a_server_that_is_started_again_between_requests_is_proven_cold(tmp_path: Path) -> None:
    write_colour_package(tmp_path / "package")
    address = Address(LOCAL_HOST, free_port())
    words = ["prumo", "serve", str(tmp_path / "package"), "--port", str(address.port)]
    body = drawn_body()
    request = prepared_request(address, body.content, body.content_type)
    with (
        RequestTable(tmp_path / REQUESTS_FILE, [("a.jpg", 100)]) as table,
        Generator(address, [request]) as generator,
    ):
        for start in ("first", "second"):
            with running_process([sys.executable, "-m", *words], tmp_path / start) as server:
                server.await_ready()
                generator.send(ClosedLoop(requests=2), table.record)

    assert [row.is_cold for row in table.rows] == [None, False, True, False]
    assert len({row.boot_id for row in table.rows}) == 2
