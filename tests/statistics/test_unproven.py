from __future__ import annotations

from typing import Any

import pytest

from prumo.results.equality import Equality, FrameworkEquality, NetworkEquality, ProofState
from prumo.results.record import RunRecord, Verdict
from prumo.statistics.equality import TOLERANCES, unproven
from prumo.study.network import Architecture
from support.record_factory import run_record

DATA = {"source": "generated", "shape": [1, 28, 28], "classes": 10}
BOTH = (Architecture("rede1", 28, 1, 10), ("pytorch", "jax"))


def training(number: int, framework: str, **fields: Any) -> RunRecord:
    parameters = {"framework": framework, "network": "rede1", "image_size": 28}
    return run_record(f"C{number:02d}-r1", **({"parameters": parameters, "data": DATA} | fields))


def check(*rows: tuple[str, ProofState], channels: int = 1) -> Equality:
    network = NetworkEquality(
        network="rede1",
        image_size=28,
        channels=channels,
        classes=10,
        parameters=7,
        frameworks=tuple(FrameworkEquality(framework=name, state=state) for name, state in rows),
    )
    return Equality(tolerances=TOLERANCES, networks=(network,))


RUNS = [training(1, "pytorch"), training(2, "jax")]
EQUAL = [("pytorch", ProofState.EQUAL), ("jax", ProofState.EQUAL)]


def test_frameworks_that_were_found_equal_are_proven() -> None:
    assert unproven(RUNS, check(*EQUAL)) == []


@pytest.mark.parametrize(
    "equality",
    [
        None,
        check(("pytorch", ProofState.ALONE)),
        check(("pytorch", ProofState.EQUAL), ("caffe", ProofState.EQUAL)),
        check(("pytorch", ProofState.EQUAL), ("jax", ProofState.DIFFERENT)),
        check(*EQUAL, channels=3),
    ],
)
def test_a_check_of_less_than_was_compared_proves_nothing(equality: Equality | None) -> None:
    assert unproven(RUNS, equality) == [BOTH]


@pytest.mark.parametrize(
    "other",
    [
        training(2, "pytorch"),
        training(2, "jax", verdict=Verdict.CRASHED),
        training(2, "jax", imported="caffe-log train_rede1_CPU_1.log"),
        training(2, "jax", data=DATA | {"shape": [3, 28, 28]}),
        training(2, "jax", data={}),
    ],
)
def test_what_compares_no_frameworks_needs_no_proof(other: RunRecord) -> None:
    assert unproven([training(1, "pytorch"), other], None) == []
