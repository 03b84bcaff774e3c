"""Whether a converted network answers what the original answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prumo.model.conversion.converted_network import Agreement
from prumo.model.conversion.draft import HEAT_MAP_FILE, HEAT_MAP_TENSOR, answers_of
from prumo.model.conversion.failure import DisagreementError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prumo.model.conversion.draft import Draft
    from prumo.model.manifest import NetworkFile, Precision

_ALLOWED: Mapping[Precision, float] = {"fp32": 1e-3, "fp16": 3e-2, "bf16": 2e-1}
"""Ours, of the largest number of an output, or of 1 where all are less. In 24 bits, sums of
thousands of products differ by 1e-5 or so in another order, and in the 11 bits of fp16 and the 8
of bf16 by as many times more as their last bit weighs more. Eight bits change every number: here
they only have to be numbers, and `prumo.model.quantization.difference` looks at the labels."""
_ALLOWED_HEAT = 2e-2
"""Ours: of a map from 0 to 1, less than a step between two colours. A map is divided by its
maximum, so that fewer bits change a weak one at will: those are not compared."""
_ANY_NUMBER = float(np.finfo(np.float64).max)
_MIDDLE = {"scores": 0.0, "probabilities": 0.5}


def require_agreement(draft: Draft, network: NetworkFile) -> Agreement:
    """Ask the converted network what the original was asked.

    Raises:
        DisagreementError: They differ by more than another order of sums explains.
    """
    facts = draft.facts
    path = draft.folder / network.file
    answers = answers_of(path, network.runtime, draft.images, facts.outputs)
    agreement = _compared(draft, answers[facts.output_tensor], network.precision)
    allowed = agreement.allowed_difference
    if not agreement.largest_difference <= (_ANY_NUMBER if allowed is None else allowed):
        limit = "" if allowed is None else f", where {allowed:.2g} would be allowed"
        raise DisagreementError(
            f"the network for {network.runtime} in {network.precision} does not answer what the "
            f"original answers: {agreement}{limit}. Nothing was written."
        )
    if facts.features_tensor and network.precision == "fp32":
        _require_heat_maps(draft, answers[facts.features_tensor])
    return agreement


def _compared(draft: Draft, answers: np.ndarray, precision: Precision) -> Agreement:
    expected = draft.reference[draft.facts.output_tensor]
    if answers.shape != expected.shape:
        raise DisagreementError(
            f"the converted network gives {answers.shape} numbers for {len(expected)} images, the "
            f"original {expected.shape}. Nothing was written."
        )
    allowed = _allowed(draft, precision)
    labels = _labels(draft, expected)
    return Agreement(
        images=len(expected),
        kind=draft.facts.kind,
        largest_difference=_largest(answers, expected),
        allowed_difference=allowed,
        same_labels=int(np.sum(_labels(draft, answers) == labels)),
        is_telling=bool((labels != labels[0]).any())
        if allowed is None
        else float(np.ptp(expected, axis=0).max()) > allowed,
    )


def _allowed(draft: Draft, precision: Precision) -> float | None:
    if precision not in _ALLOWED:
        return None
    share = max(_ALLOWED[precision], _ALLOWED.get(draft.facts.original_precision, 0.0))
    largest = np.abs(draft.reference[draft.facts.output_tensor]).max()
    return share * max(1.0, float(largest))


def _require_heat_maps(draft: Draft, features: np.ndarray) -> None:
    path = draft.folder / HEAT_MAP_FILE
    maps = answers_of(path, "onnxruntime", features, [HEAT_MAP_TENSOR])[HEAT_MAP_TENSOR]
    difference = _largest(maps, draft.reference[HEAT_MAP_TENSOR])
    if not difference <= _ALLOWED_HEAT:
        raise DisagreementError(
            f"the converted heat maps differ by {difference:.2g} from the original's, where "
            f"{_ALLOWED_HEAT:g} would be allowed. Nothing was written."
        )


def _largest(answers: np.ndarray, expected: np.ndarray) -> float:
    """Not a number where one of the two has numbers that are none."""
    return float(np.abs(answers.astype(np.float64) - expected).max())


def _labels(draft: Draft, answers: np.ndarray) -> np.ndarray:
    if answers.shape[1] == 1:
        return np.asarray(answers[:, 0] >= _MIDDLE[draft.facts.kind])
    return np.asarray(answers.argmax(axis=1))
