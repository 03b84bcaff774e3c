"""A local serverless endpoint: real cold starts, real limits, and nothing left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from prumo.errors import InputError, UnavailableError
from prumo.machine.cgroup import CappedCgroup
from prumo.progress import Silent
from prumo.supervise.guard import GuardedProcess, Order
from prumo_endpoint import resources
from prumo_endpoint.check import examine
from prumo_endpoint.resources import Resources, proportional_cpus
from prumo_endpoint.rule import KINDS, Verdict
from prumo_endpoint.serverless import STOP_IDLE
from prumo_endpoint.targets import TargetOptions, chosen_target
from prumo_endpoint.targets.process import ProcessTarget
from prumo_endpoint.targets.serverless import ServerlessTarget, _Instances
from support.model_packages import write_colour_package
from support.serverless_client import BODY, ask, endpoint, front, groups, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo_endpoint.targets import Server

pytestmark = pytest.mark.root

SUPPORT = Path(__file__).parent.parent / "support"
SMALL_SERVER = (sys.executable, "-SE", str(SUPPORT / "endpoint_server.py"))
# Answers with the number of its process; the body says what it does before, or instead.
OBEDIENT_SERVER = """
import http.server, os, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.answer(200, b"")
    def do_POST(self):
        order = self.rfile.read(int(self.headers["Content-Length"]))
        if order == b"eat":
            held = b"x" * (512 << 20)
        if order == b"die":
            os._exit(3)
        if order == b"close":
            self.close_connection = True
            return
        if order == b"wait":
            time.sleep(1000)
        if order == b"spin":
            self.answer(200, b"%f" % self.share())
            return
        self.answer(500 if order == b"fail" else 200, b"%d" % os.getpid())
    def share(self):
        begin, used = time.perf_counter(), time.process_time()
        while time.perf_counter() < begin + 1:
            pass
        return (time.process_time() - used) / (time.perf_counter() - begin)
    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
port = int(os.environ["SAGEMAKER_BIND_TO_PORT"])
http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""
OBEDIENT = (sys.executable, "-SE", "-c", OBEDIENT_SERVER)


@pytest.fixture(scope="module", autouse=True)
def _limits_can_be_set() -> None:
    try:
        with Resources(64, 1.0).cgroup("test"):
            pass
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """The command that serves a real, tiny model."""
    package = tmp_path_factory.mktemp("model") / "package"
    write_colour_package(package)
    return (sys.executable, "-m", "prumo", "serve", str(package))


@pytest.mark.parametrize("is_real", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_request_after_a_stop_is_proven_cold_and_the_next_one_warm(
    serve: tuple[str, ...], is_real: bool
) -> None:
    with endpoint(*(serve if is_real else OBEDIENT)).running() as server:
        assert server.instances is not None
        first, warm = ask(server), ask(server)
        server.instances.stop_idle()
        second = ask(server)
        boots = server.instances.boots()

    assert [reply.status for reply in (first, warm, second)] == [200, 200, 200]
    assert [reply.is_cold for reply in (first, warm, second)] == [True, False, True]
    assert first.boot_id == warm.boot_id != second.boot_id
    assert [boot.boot_id for boot in boots] == [first.boot_id, second.boot_id]
    assert "x-prumo-cold-start-seconds" not in warm.headers
    for boot, reply in zip(boots, (first, second), strict=True):
        reported = float(reply.headers["x-prumo-cold-start-seconds"])
        assert boot.cold_start_seconds == pytest.approx(reported, abs=1e-5)
        phases = [boot.start_seconds, boot.listen_seconds, boot.load_seconds]
        assert all(phase is not None and phase > 0 for phase in phases)
        # Prumo's server says how long its first computation took; others do not.
        assert (boot.warm_up_seconds is not None) == is_real
        phases.append(boot.warm_up_seconds)
        assert sum(phase or 0.0 for phase in phases) == pytest.approx(boot.cold_start_seconds)
        assert boot.first_answer_seconds is not None
        assert boot.instance == reply.headers["x-prumo-instance"] == "1"
        assert boot.failure == ""


@pytest.mark.slow
def test_an_idle_instance_is_stopped_and_the_next_request_is_cold(serve: tuple[str, ...]) -> None:
    with endpoint(*serve, idle_seconds=0.2).running() as server:
        first = ask(server)
        pid = front().pid
        wait_until(lambda: not groups(pid))
        second = ask(server)

    assert first.is_cold
    assert second.is_cold
    assert first.boot_id != second.boot_id


def test_a_model_without_room_in_memory_is_an_outcome(serve: tuple[str, ...]) -> None:
    with endpoint(*serve, memory_mb=24).running() as server:
        assert server.instances is not None
        reply, pid = ask(server), front().pid
        (boot,) = server.instances.boots()

    assert reply.status == 507
    assert reply.error["kind"] == "out_of_memory"
    assert reply.boot_id == boot.boot_id
    assert boot.failure == "out_of_memory"
    assert boot.cold_start_seconds is None
    assert groups(pid) == []


def test_running_out_of_memory_later_is_an_outcome_too() -> None:
    with endpoint(*OBEDIENT, memory_mb=64).running() as server:
        assert server.instances is not None
        before, full, after = ask(server, b""), ask(server, b"eat"), ask(server, b"")
        boots = server.instances.boots()

    assert (before.status, full.status, after.status) == (200, 507, 200)
    assert full.error["kind"] == "out_of_memory"
    assert full.boot_id == before.boot_id != after.boot_id
    assert [boot.failure for boot in boots] == ["out_of_memory", ""]
    assert boots[0].cold_start_seconds is not None


def test_an_instance_that_dies_on_a_request_is_replaced_by_the_next() -> None:
    with endpoint(*OBEDIENT).running() as server:
        assert server.instances is not None
        dead, after = ask(server, b"die"), ask(server, b"")
        failures = [boot.failure for boot in server.instances.boots()]

    assert (dead.status, after.status) == (502, 200)
    assert dead.error["kind"] == "died"
    assert dead.error["message"] == "ended with exit code 3"
    assert failures == ["died", ""]


def test_an_instance_that_died_while_idle_costs_no_request() -> None:
    with endpoint(*OBEDIENT).running() as server:
        assert server.instances is not None
        first = ask(server, b"")
        os.kill(int(first.body), signal.SIGKILL)
        wait_until(lambda: not psutil.pid_exists(int(first.body)))
        second = ask(server, b"")
        failures = [boot.failure for boot in server.instances.boots()]

    assert second.status == 200
    assert second.is_cold
    assert failures == ["died", ""]


def test_an_instance_that_gives_no_answer_and_lives_on_is_used_again() -> None:
    with endpoint(*OBEDIENT).running() as server:
        closed, error, after = ask(server, b"close"), ask(server, b"fail"), ask(server, b"")

    assert (closed.status, error.status, after.status) == (502, 500, 200)
    assert closed.error["kind"] == "no_answer"
    assert error.body == after.body
    assert closed.boot_id == error.boot_id == after.boot_id


def test_an_answer_that_takes_too_long_ends_its_instance() -> None:
    with endpoint(*OBEDIENT, invocation_seconds=0.3).running() as server:
        assert server.instances is not None
        late, after = ask(server, b"wait"), ask(server, b"")
        failures = [boot.failure for boot in server.instances.boots()]

    assert (late.status, late.error["kind"], after.status) == (504, "timeout", 200)
    assert failures == ["timeout", ""]


@pytest.mark.parametrize(
    ("command", "status", "kind", "message"),
    [
        (("/nowhere/server", "x"), 500, "start_failed", "command not found: /nowhere/server"),
        (
            (*SMALL_SERVER, "--fault", "crash on start"),
            500,
            "start_failed",
            "ended with exit code 1",
        ),
        (
            (*SMALL_SERVER, "--fault", "endless start"),
            503,
            "start_timeout",
            "not ready within 1 s",
        ),
        ((*SMALL_SERVER, "--fault", "silent start"), 503, "start_timeout", "not ready within 1 s"),
    ],
)
def test_a_start_that_fails_says_why(
    command: tuple[str, ...], status: int, kind: str, message: str
) -> None:
    with endpoint(*command, start_seconds=1.0, stop_seconds=1.0).running() as server:
        assert server.instances is not None
        reply = ask(server)
        (boot,) = server.instances.boots()

    assert (reply.status, reply.error["kind"], reply.error["message"]) == (status, kind, message)
    assert (boot.failure, boot.failure_message) == (kind, message)
    assert ("there is no model" in reply.error.get("last_output", "")) == ("crash" in command[-1])


def test_more_requests_than_instances_are_throttled() -> None:
    slow = (*SMALL_SERVER, "--fault", "slow invocations")
    with (
        endpoint(*slow, max_concurrency=2).running() as server,
        ThreadPoolExecutor(5) as pool,
    ):
        assert server.instances is not None
        replies = list(pool.map(lambda _: ask(server), range(5)))
        boots = server.instances.boots()

    assert sorted(reply.status for reply in replies) == [200, 200, 429, 429, 429]
    throttled = [reply for reply in replies if reply.status == 429]
    assert all(reply.error["kind"] == "throttled" for reply in throttled)
    assert sorted(boot.instance for boot in boots) == ["1", "2"]


def test_health_is_asked_beside_the_work_of_a_busy_instance() -> None:
    with (
        ThreadPoolExecutor(1) as pool,
        endpoint(*OBEDIENT, max_concurrency=1).running() as server,
    ):
        assert ask(server, b"").status == 200
        while True:
            # It may come while the one place is taken by a request that only looks.
            busy = pool.submit(ask, server, b"wait")
            wait_until(lambda: busy.done() or ask(server, b"").status == 429)  # noqa: B023
            if not busy.done():
                break
        assert ask(server, b"", "/ping", "GET").status == 200
        assert not busy.done()


@pytest.mark.parametrize("is_front_killed", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_nothing_outlives_a_client_that_is_killed(
    serve: tuple[str, ...], is_front_killed: bool
) -> None:
    client = subprocess.Popen(
        [sys.executable, str(SUPPORT / "serverless_client.py"), *serve],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SUPPORT.parent)},
    )
    assert client.stdout is not None
    leader = psutil.Process(int(client.stdout.readline()))
    started = [leader, *leader.children(recursive=True)]
    assert len(started) >= 3
    assert groups(leader.pid)

    if is_front_killed:
        client.send_signal(signal.SIGSTOP)
        leader.kill()
    client.kill()
    client.wait()
    client.stdout.close()

    wait_until(lambda: not [process for process in started if process.is_running()])
    wait_until(lambda: not groups(leader.pid))


def test_a_client_that_ends_does_not_wait_for_an_instance_that_does_not() -> None:
    stubborn = (*SMALL_SERVER, "--fault", "ignored SIGTERM")
    with endpoint(*stubborn, stop_seconds=1000.0).running() as server:
        assert isinstance(server.instances, _Instances)
        assert ask(server).status == 200
        # As a client that is killed before it has the reply.
        order = server.instances._control._process.stdin
        assert order is not None
        order.write(f"{STOP_IDLE}\n")
        order.flush()
        wait_until(lambda: ask(server).is_cold)
        pid = front().pid

    assert groups(pid) == []


@pytest.mark.parametrize("is_stopped", [False, True])
def test_nothing_outlives_a_run_that_its_guard_ends(tmp_path: Path, is_stopped: bool) -> None:
    log = tmp_path / "log"
    order = Order(
        command=[sys.executable, str(SUPPORT / "serverless_client.py"), *SMALL_SERVER],
        directory=str(tmp_path),
        environment={**os.environ, "PYTHONPATH": str(SUPPORT.parent)},
        log=str(log),
    )
    with GuardedProcess(order) as run:
        wait_until(lambda: log.exists() and log.read_text().endswith("\n"))
        leader = psutil.Process(int(log.read_text()))
        started = [leader, *leader.children(recursive=True)]
        assert groups(leader.pid)
        if is_stopped:
            run.stop()
            wait_until(lambda: run.wait(0.1))

    assert not [process for process in started if process.is_running()]
    assert groups(leader.pid) == []


@pytest.mark.slow
def test_an_instance_gets_its_share_of_the_processors() -> None:
    # So small that it gets them also beside other busy processes.
    shares = {}
    for cpus in (0.05, 0.2):
        with endpoint(*OBEDIENT, cpus=cpus).running() as server:
            shares[cpus] = float(ask(server, b"spin").body)

    assert all(0 < share < 1.5 * cpus for cpus, share in shares.items())
    assert shares[0.05] < 0.75 * shares[0.2]


@pytest.mark.slow
@pytest.mark.parametrize("cpus", [None, 0.2])
def test_a_command_can_be_limited_too(cpus: float | None) -> None:
    target = chosen_target(list(OBEDIENT), options=TargetOptions(memory_mb=64, cpus=cpus))
    with target.running() as server:
        assert server.process is not None
        wait_until(lambda: _is_reached(server))
        share = float(ask(server, b"spin").body)
        with pytest.raises(ConnectionError):
            ask(server, b"eat")
        wait_until(lambda: server.process is not None and server.process.ending())
        ending = server.process.ending()

    assert ending == "was killed because its memory was full"
    assert cpus is None or share < 0.3


def test_requests_of_every_form_reach_the_instance() -> None:
    chunked = (
        b"POST /invocations HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
        b"Expect: 100-continue\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    )
    plain = b"POST /invocations HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
    last = b"POST /invocations HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc"
    with endpoint(*OBEDIENT).running() as server:
        first = _raw(server, chunked + plain + last)
        head = _raw(server, b"HEAD /ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        garbage = _raw(server, b"\0\1\2\r\n\r\n")
        pid = ask(server, b"").body

    assert first.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert first.count(b"HTTP/1.1 200 OK\r\n") == first.count(b"\r\n\r\n" + pid) == 3
    assert b" 501 " in head
    assert garbage.startswith(b"HTTP/1.1 400 Bad Request\r\n")


@pytest.mark.slow
def test_the_rules_of_sagemaker_can_be_checked_at_it(serve: tuple[str, ...]) -> None:
    target = chosen_target(
        [f"serverless://{' '.join(serve)}"],
        options=TargetOptions(memory_mb=512, cpus=1.0, max_concurrency=9),
    )
    found = examine(target, BODY, KINDS["serverless"], Silent())

    unseen = {
        each.rule.name for each in found.findings if each.outcome.verdict is Verdict.NOT_CHECKED
    }
    assert unseen == {"serve", "entry point", "stop", "requests in flight"}
    assert found.is_kept


@pytest.mark.slow
def test_a_model_that_does_not_fit_breaks_the_rule_of_the_start(serve: tuple[str, ...]) -> None:
    found = examine(endpoint(*serve, memory_mb=24), BODY, KINDS["serverless"], Silent())

    broken = [each for each in found.findings if each.outcome.verdict is Verdict.BROKEN]
    assert [each.rule.name for each in broken] == ["start-up"]
    assert "memory was full" in broken[0].outcome.reason


def test_where_limits_cannot_be_set_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def none(*_: object) -> Iterator[CappedCgroup]:
        yield CappedCgroup(missing="the cpu controller is not delegated")

    monkeypatch.setattr(resources, "capped_cgroup", none)
    targets = [endpoint(*SMALL_SERVER), ProcessTarget(["true"], resources=Resources(64))]
    for target in targets:
        with (
            pytest.raises(UnavailableError, match=r"not delegated\. Run as root, or in a"),
            target.running(),
        ):
            pass


def test_more_than_the_machine_has_is_refused() -> None:
    for wanted in (Resources(cpus=10_000.0), Resources(memory_mb=1 << 30)):
        with pytest.raises(UnavailableError, match="were asked for, and there are"):
            wanted.require_machine()


def test_processors_come_with_memory() -> None:
    assert proportional_cpus(1769) == pytest.approx(1.0)
    assert proportional_cpus(2048, cpus_per_gb=0.5) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("word", "options", "message"),
    [
        ("serverless://", TargetOptions(), "needs a command or an image"),
        ("serverless://a 'b", TargetOptions(), "No closing quotation"),
        ("serverless://./a", TargetOptions(network="host"), "a network can be given with an image"),
        ("serverless://./a", TargetOptions(port=8080), "--port does not fit a serverless"),
        ("serverless://./a", TargetOptions(cpus=1.0, cpus_per_gb=1.0), "not both"),
        ("./a", TargetOptions(idle_seconds=1.0), "--idle-seconds does not fit a command"),
    ],
)
def test_words_that_name_no_serverless_endpoint_are_refused(
    word: str, options: TargetOptions, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        chosen_target([word], options=options)


def test_a_command_is_named_as_it_was_given() -> None:
    assert chosen_target(["serverless://prumo serve 'a b'"]).name == "prumo serve 'a b'"
    assert ServerlessTarget.from_words(["prumo", "serve", "a b"]).name == "prumo serve 'a b'"


def _is_reached(server: Server) -> bool:
    try:
        return ask(server, b"", "/ping", "GET").status == 200
    except ConnectionError:
        return False


def _raw(server: Server, sent: bytes) -> bytes:
    with socket.create_connection((server.address.host, server.address.port), 60.0) as connection:
        connection.sendall(sent)
        received = b""
        while part := connection.recv(65536):
            received += part
        return received
