"""Every rule finds the server that breaks it, and no rule accuses a server that keeps it."""

from __future__ import annotations

import sys
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prumo.errors import InputError
from prumo.progress import Silent
from prumo_endpoint.bodies import Body, drawn_body
from prumo_endpoint.check import Examination, examine
from prumo_endpoint.exchange import LOCAL_HOST, Address, Exchange
from prumo_endpoint.lifetime import Start, Stop, entry_point, start_up
from prumo_endpoint.rule import KINDS, MB, Case, Verdict
from prumo_endpoint.targets import PORT, Server
from prumo_endpoint.targets.process import ProcessTarget
from prumo_endpoint.targets.url import UrlTarget
from support.endpoint_server import (
    EMPTY_BODIES,
    FAULTS,
    NO_FAULT,
    ONE_AT_A_TIME,
    OTHER_TYPES,
    served,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

Examinations = dict[str, Future[Examination]]

EXAMINERS = 6
SERVERS = (*FAULTS, NO_FAULT, OTHER_TYPES, EMPTY_BODIES, ONE_AT_A_TIME)
# Seen only at a process; all others are checked at servers within this one, which is quicker.
OF_A_PROCESS = {
    NO_FAULT,
    "wrong port",
    "crash on start",
    "silent start",
    "endless start",
    "early ping",
    "death by large body",
    "death by bad body",
    "ignored SIGTERM",
    "lost requests",
}
NOT_JSON = Body(b"not JSON", "application/json")
WRONG_BODY = "a body that the server refuses"
SERVER = Path(__file__).parent.parent / "support" / "endpoint_server.py"
# Wide where nothing is to be found, so that a busy machine accuses nobody.
WIDE = replace(
    KINDS["real-time"],
    accept_seconds=0.9,
    ping_seconds=20.0,
    open_connections=40,
    payload_bytes=2 * MB,
    settle_seconds=0.15,
)
# A rule → the faults that it finds.
FOUND = {
    "port": ("wrong port",),
    "start-up": ("crash on start", "silent start", "endless start"),
    "ping": ("slow ping", "long ping"),
    "truthful ping": ("early ping", "dead model"),
    "accept": ("few connections",),
    "invocations": ("no invocations", "slow invocations", "trickling answer"),
    "ping under load": ("busy ping",),
    "custom attributes": ("no echo", "changed echo"),
    "payload": ("small bodies", "closed large bodies", "death by large body"),
    "bad body": ("error on bad body", "closed bad body", "death by bad body"),
    "stop": ("ignored SIGTERM",),
    "requests in flight": ("lost requests",),
}
# Limits that a fault exceeds without a long wait.
NARROW = {
    "wrong port": replace(WIDE, elsewhere_seconds=0.1),
    "silent start": replace(WIDE, start_seconds=0.5),
    "endless start": replace(WIDE, start_seconds=0.5),
    "slow ping": replace(WIDE, ping_seconds=0.6),
    "busy ping": replace(WIDE, ping_seconds=0.6),
    "slow invocations": replace(WIDE, invocation_seconds=0.6),
    "trickling answer": replace(WIDE, invocation_seconds=0.8),
    "ignored SIGTERM": replace(WIDE, stop_seconds=0.6),
}


@pytest.fixture(scope="module")
def examinations() -> Iterator[Examinations]:
    """Of all faults, several at a time: most of each is waiting."""
    with ThreadPoolExecutor(EXAMINERS) as pool:
        begun = {fault: pool.submit(_examined, fault) for fault in SERVERS}
        yield begun | {WRONG_BODY: pool.submit(_examined_here, NO_FAULT, NOT_JSON)}


@pytest.mark.parametrize(
    ("rule", "fault"), [(rule, fault) for rule, faults in FOUND.items() for fault in faults]
)
def test_a_fault_is_found_by_its_rule_and_by_no_other(
    rule: str, fault: str, examinations: Examinations
) -> None:
    found = examinations[fault].result()

    assert _names(found, Verdict.BROKEN) == [rule]
    assert not found.is_kept


def test_every_fault_has_its_rule() -> None:
    assert sorted(fault for faults in FOUND.values() for fault in faults) == sorted(FAULTS)


def test_a_server_that_keeps_the_rules_passes_all_that_concern_it(
    examinations: Examinations,
) -> None:
    found = examinations[NO_FAULT].result()

    assert found.is_kept
    assert _names(found, Verdict.NOT_CHECKED) == ["serve", "entry point"]


def test_a_server_that_takes_no_images_is_not_accused_for_a_drawn_one(
    examinations: Examinations,
) -> None:
    found = examinations[OTHER_TYPES].result()

    assert found.is_kept
    assert "--body" in _reason(found, "invocations")
    assert "bad body" in _names(found, Verdict.KEPT)
    assert _reason(found, "payload") == "the rule 'invocations' could not be checked"


def test_a_server_that_takes_an_empty_body_still_has_to_refuse_others(
    examinations: Examinations,
) -> None:
    found = examinations[EMPTY_BODIES].result()

    assert "bad body" in _names(found, Verdict.KEPT)
    assert _reason(found, "bad body").endswith("; takes no byte at all")


def test_invocations_that_fail_under_load_are_reported(examinations: Examinations) -> None:
    found = examinations[ONE_AT_A_TIME].result()

    assert found.is_kept
    assert _reason(found, "ping under load").endswith("failed: it answers 503")


def test_a_path_that_is_not_there_is_not_blamed_on_the_body(examinations: Examinations) -> None:
    found = examinations["no invocations"].result()

    assert _reason(found, "invocations") == "answers 404 to image/jpeg"
    assert "bad body" in _names(found, Verdict.NOT_CHECKED)


def test_a_start_that_ends_after_its_time_is_too_late() -> None:
    outcome = start_up.check(_case(start=Start(ready_seconds=WIDE.start_seconds + 1)))

    assert outcome.verdict is Verdict.BROKEN


def test_a_container_that_is_not_reached_is_told_where_to_listen() -> None:
    outcome = start_up.check(_case(start=Start(Exchange(1.0, failure="refuses"))))

    assert "has to listen at 0.0.0.0" in outcome.reason


def test_nothing_is_said_of_a_program_that_cannot_be_seen() -> None:
    outcome = entry_point.check(_case(stop=Stop()))

    assert outcome.verdict is Verdict.NOT_CHECKED


def test_a_body_of_the_users_own_must_be_taken(examinations: Examinations) -> None:
    found = examinations[WRONG_BODY].result()

    assert _names(found, Verdict.BROKEN) == ["invocations"]


def test_what_a_server_printed_last_tells_why_it_did_not_start(
    examinations: Examinations,
) -> None:
    found = examinations["crash on start"].result()

    assert _reason(found, "start-up").endswith(
        "exit code 1 before it was ready; it printed: there is no model"
    )


@pytest.mark.parametrize("size_bytes", [0, 2 * MB + 1])
def test_a_body_that_sagemaker_would_not_pass_on_is_refused(size_bytes: int) -> None:
    with pytest.raises(InputError, match="at most 2 MB"):
        _examined_here(NO_FAULT, Body(bytes(size_bytes), "image/jpeg"))


def _case(start: Start | None = None, stop: Stop | None = None) -> Case:
    """A container of which this has been seen."""
    server = Server(Address(LOCAL_HOST, PORT), PORT, is_container=True)
    return Case(server, WIDE, drawn_body(), start, stop)


def _examined(fault: str) -> Examination:
    if fault not in OF_A_PROCESS:
        return _examined_here(fault, drawn_body())
    target = ProcessTarget([sys.executable, "-SE", str(SERVER), "--fault", fault])
    return examine(target, drawn_body(), NARROW.get(fault, WIDE), Silent())


def _examined_here(fault: str, body: Body) -> Examination:
    with served(fault) as url:
        return examine(UrlTarget(url), body, NARROW.get(fault, WIDE), Silent())


def _names(found: Examination, verdict: Verdict) -> list[str]:
    return [each.rule.name for each in found.findings if each.outcome.verdict is verdict]


def _reason(found: Examination, rule: str) -> str:
    return next(each.outcome.reason for each in found.findings if each.rule.name == rule)
