"""Records of runs in which only what a test is about need be said."""

from __future__ import annotations

from typing import Any

from prumo.results.record import RunRecord, Verdict


def run_record(
    run: str = "C01-r1", verdict: Verdict = Verdict.FINISHED, **fields: Any
) -> RunRecord:
    scenario, _, replication = run.partition("-r")
    values: dict[str, Any] = {
        "run": run,
        "scenario": f"C{int(scenario[1:])}",
        "replication": int(replication),
        "study": "quick",
        "factors": {"a": 1},
        "parameters": {"a": 1},
        "fingerprint": f"fingerprint of {scenario}",
        "verdict": verdict,
    }
    return RunRecord(**(values | fields))
