from __future__ import annotations

from typing import Any

import pytest

from prumo.quantity import MISSING
from prumo.report.equality import equality_rows, verdict
from prumo.report.language import english
from prumo.results.equality import (
    Equality,
    FrameworkEquality,
    NetworkEquality,
    ProofState,
    Tolerances,
)


def network(reference: str, *rows: FrameworkEquality) -> NetworkEquality:
    return NetworkEquality(
        network="rede1",
        image_size=32,
        channels=3,
        classes=10,
        parameters=1_116_970,
        reference=reference,
        frameworks=rows,
    )


def row(framework: str, state: ProofState = ProofState.EQUAL, **fields: Any) -> FrameworkEquality:
    return FrameworkEquality(framework=framework, state=state, **fields)


def check(*networks: NetworkEquality) -> Equality:
    tolerances = Tolerances(score=1e-3, loss=1e-3, step=0.05)
    return Equality(tolerances=tolerances, networks=networks)


EQUAL = network("jax", row("jax"), row("pytorch"))
ALONE = network("", row("jax", ProofState.ALONE), row("caffe", ProofState.REFUSED))
UNEQUAL = network("jax", row("jax"), row("pytorch", ProofState.DIFFERENT))


@pytest.mark.parametrize(
    ("equality", "words"),
    [
        (check(EQUAL), "The same networks, proven equal (in fp32)."),
        (check(EQUAL, ALONE), "proven equal (in fp32) wherever two frameworks built one"),
        (check(ALONE), "nothing to compare"),
        (check(EQUAL, UNEQUAL), "do not train the same networks"),
    ],
)
def test_the_verdict_claims_no_more_than_was_proven(equality: Equality, words: str) -> None:
    assert words in str(verdict(equality))


def test_a_row_shows_version_difference_and_state() -> None:
    known = row("tensorflow@2.14.0", version="2.14.0", parameters=1_116_970, score_difference=3e-7)
    reference, other = equality_rows(network("jax", row("jax", version="0.10.2"), known), english())
    assert (reference.framework, reference.score_difference) == ("jax 0.10.2", "reference")
    assert other[:3] == ("tensorflow 2.14.0", "1,116,970", "3e-07")


def test_a_framework_that_answered_alone_is_shown_as_such() -> None:
    assert [shown.state for shown in equality_rows(ALONE, english())] == ["alone", "refused"]


def test_a_refusal_shows_its_reason_and_dashes() -> None:
    reason = "caffe cannot express padded averages"
    refused = row("caffe", ProofState.REFUSED, findings=(reason,))
    (shown,) = equality_rows(network("", refused), english())
    assert shown[:-1] == ("caffe", *[MISSING] * 4, "refused")
    assert shown.findings == (reason,)
