from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prumo.results.equality import (
    Answer,
    Equality,
    FrameworkEquality,
    NetworkEquality,
    NoAnswer,
    ProofState,
    Tolerances,
    read_equality,
    read_proof,
    write_equality,
)

if TYPE_CHECKING:
    from pathlib import Path

TOLERANCES = Tolerances(score=1e-3, loss=1e-3, step=0.05)
PROOF = {
    "event": "proof",
    "parameters": 7,
    "scores": "scores.npy",
    "loss": 2.5,
    "steps": [{"learning_rate": 0.1, "loss_after": 2.45}],
    "inputs": "abc",
    "versions": {"jax": "0.10.2"},
}


def network(name: str, *states: ProofState) -> NetworkEquality:
    rows = [
        FrameworkEquality(framework=f"framework{place}", state=state)
        for place, state in enumerate(states)
    ]
    return NetworkEquality(
        network=name, image_size=32, channels=3, classes=10, parameters=7, frameworks=tuple(rows)
    )


def check(*networks: NetworkEquality) -> Equality:
    return Equality(tolerances=TOLERANCES, networks=networks)


def test_a_check_is_kept_and_read_again(tmp_path: Path) -> None:
    kept = check(network("rede1", ProofState.EQUAL, ProofState.REFUSED))
    write_equality(tmp_path, kept)
    assert read_equality(tmp_path) == kept


def test_a_folder_without_a_whole_check_has_none(tmp_path: Path) -> None:
    assert read_equality(tmp_path) is None
    (tmp_path / "equality.json").write_text('{"networks": ')
    assert read_equality(tmp_path) is None


def test_refusals_do_not_break_a_proof_but_differences_and_failures_do() -> None:
    assert check(network("rede1", ProofState.EQUAL, ProofState.REFUSED, ProofState.ALONE)).holds
    assert not check(network("rede1", ProofState.EQUAL, ProofState.DIFFERENT)).holds
    assert not check(network("rede1", ProofState.EQUAL, ProofState.FAILED)).holds


def test_a_later_check_replaces_its_networks_and_keeps_the_others() -> None:
    earlier = check(network("rede1", ProofState.DIFFERENT), network("rede2", ProofState.EQUAL))
    merged = check(network("rede1", ProofState.EQUAL)).merged(earlier)
    assert {item.network: item.holds for item in merged.networks} == {"rede1": True, "rede2": True}


def test_only_what_differs_or_failed_is_a_difference() -> None:
    states = (ProofState.EQUAL, ProofState.REFUSED, ProofState.DIFFERENT, ProofState.FAILED)
    differences = network("rede1", *states).differences
    assert [row.state for row in differences] == [ProofState.DIFFERENT, ProofState.FAILED]


def write_proof(folder: Path, *events: dict[str, object]) -> None:
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))


def test_the_answer_of_a_worker_that_finished_is_read(tmp_path: Path) -> None:
    np.save(tmp_path / "scores.npy", np.ones((2, 3), dtype=np.float32))
    write_proof(tmp_path, PROOF, {"event": "finished"})
    answer = read_proof(tmp_path, "jax@0.10.2")
    assert isinstance(answer, Answer)
    assert (answer.version, answer.parameters) == ("0.10.2", 7)
    assert answer.step(0.1) == pytest.approx(-0.05)


def test_an_answer_without_its_end_or_its_scores_is_none(tmp_path: Path) -> None:
    write_proof(tmp_path, PROOF)
    assert read_proof(tmp_path, "jax") is None
    write_proof(tmp_path, PROOF, {"event": "finished"})
    assert read_proof(tmp_path, "jax") is None


def test_a_refusal_and_a_crash_are_told_apart(tmp_path: Path) -> None:
    for kind, refused in (("unavailable", True), ("crashed", False)):
        write_proof(tmp_path, {"event": "failed", "kind": kind, "message": "why"})
        assert read_proof(tmp_path, "caffe") == NoAnswer("caffe", "why", refused)
