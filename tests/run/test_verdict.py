"""From what was seen of a run to a verdict."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from prumo.results.record import Verdict
from prumo.run.verdict import Evidence, find_anomalies, judge
from prumo.supervise.guard import Ending

GOOD = Ending(exit_code=0)


def seen(ending: Ending = GOOD, **facts: Any) -> Evidence:
    defaults: dict[str, Any] = {"events": [], "metrics": {}, "speaks_protocol": False}
    facts = defaults | facts
    anomalies = find_anomalies(facts["events"], facts["metrics"], ())
    return Evidence(ending=ending, anomalies=anomalies, **facts)


def step(**fields: Any) -> dict[str, Any]:
    return {"event": "step", "epoch": 1, "step": 4, **fields}


def test_a_command_that_exits_with_zero_finished() -> None:
    assert judge(seen()).verdict is Verdict.FINISHED


@pytest.mark.parametrize(
    ("evidence", "verdict", "reason"),
    [
        (seen(Ending(cause="stopped", signal=15)), Verdict.INTERRUPTED, "by the user"),
        (seen(Ending(cause="timeout"), timeout_seconds=60.0), Verdict.TIMEOUT, "60 s"),
        (seen(Ending(cause="memory"), memory_bytes=100 << 20), Verdict.OUT_OF_MEMORY, "100 MiB"),
        (
            seen(Ending(signal=9, control_group_kills=1), memory_bytes=100),
            Verdict.OUT_OF_MEMORY,
            "cap",
        ),
        (seen(Ending(signal=9), kernel_kills=1), Verdict.OUT_OF_MEMORY, "kernel"),
        (seen(Ending(signal=9)), Verdict.CRASHED, "SIGKILL"),
        (seen(Ending(signal=signal.SIGSEGV)), Verdict.CRASHED, "SIGSEGV"),
        (seen(Ending(signal=40)), Verdict.CRASHED, "signal 40"),
        (seen(Ending(failure="command not found: x")), Verdict.CRASHED, "not found"),
        (
            seen(Ending(exit_code=1), last_lines="a\nValueError: no\n"),
            Verdict.CRASHED,
            "exit code 1: ValueError: no",
        ),
        (
            seen(Ending(exit_code=1), last_lines="torch.OutOfMemoryError: CUDA out of memory."),
            Verdict.OUT_OF_MEMORY,
            "CUDA out of memory",
        ),
        (
            seen(
                Ending(signal=signal.SIGABRT),
                last_lines="Check failed: host allocation of size 9 failed\n*** stack trace ***\n",
            ),
            Verdict.OUT_OF_MEMORY,
            "SIGABRT: Check failed: host allocation of size 9 failed",
        ),
        (seen(speaks_protocol=True), Verdict.CRASHED, "without saying"),
    ],
)
def test_an_end_that_is_not_good_has_its_verdict_and_reason(
    evidence: Evidence, verdict: Verdict, reason: str
) -> None:
    judgement = judge(evidence)
    assert judgement.verdict is verdict
    assert reason in judgement.reason


@pytest.mark.parametrize("kind", ["out_of_memory", "unavailable", "invalid", "crashed"])
def test_a_worker_states_its_own_failure(kind: str) -> None:
    failed = {"event": "failed", "kind": kind, "message": "why"}
    judgement = judge(seen(Ending(exit_code=1), events=[failed], speaks_protocol=True))
    assert (judgement.verdict, judgement.reason) == (Verdict(kind), "why")


@pytest.mark.parametrize("kind", ["finished", "nonsense", [], None])
def test_an_unknown_kind_of_failure_counts_as_a_crash(kind: object) -> None:
    failed = {"event": "failed", "kind": kind, "message": "no"}
    assert judge(seen(Ending(exit_code=1), events=[failed])).verdict is Verdict.CRASHED


@pytest.mark.parametrize(
    "evidence",
    [
        seen(events=[step(loss=None, not_finite=["loss"])]),
        seen(metrics={"loss": float("nan")}),
        seen(metrics={"loss": float("inf")}),
        seen(events=[step(loss=-0.5)]),
        seen(metrics={"loss": -1.0}),
        seen(metrics={"images": 900.0}, expected_images=1000),
        seen(metrics={}, expected_images=1000),
    ],
)
def test_figures_that_cannot_hold_make_a_run_invalid(evidence: Evidence) -> None:
    assert judge(evidence).verdict is Verdict.INVALID


def test_losses_of_the_warm_up_do_not_count() -> None:
    warm_up = [step(loss=None, not_finite=["loss"]), step(loss=-1.0)]
    events = [event | {"epoch": 0} for event in warm_up]
    assert judge(seen(events=events)).verdict is Verdict.FINISHED


def test_what_else_is_worth_knowing_is_noted() -> None:
    ending = Ending(exit_code=0, left_behind=2, log_omitted_bytes=5)
    assert len(judge(seen(ending)).notes) == 2


def test_a_reason_stays_short() -> None:
    assert len(judge(seen(Ending(exit_code=1), last_lines="x" * 5000)).reason) <= 500
