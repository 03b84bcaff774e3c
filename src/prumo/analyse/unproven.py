"""Which comparisons of frameworks no check stands behind. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.message import Message
from prumo.results.equality import ProofState
from prumo.results.trained import trained_architectures

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prumo.results.equality import Equality
    from prumo.results.record import RunRecord


def unproven(records: Iterable[RunRecord], equality: Equality | None) -> list[Message]:
    """The networks that several frameworks trained and were not found equal in, in words."""
    proven = {
        (network.architecture, row.framework)
        for network in (equality.networks if equality else ())
        for row in network.frameworks
        if row.state is ProofState.EQUAL
    }
    return [
        Message(
            "{network} at {size} pixels ({frameworks})",
            {
                "network": architecture.network,
                "size": architecture.image_size,
                "frameworks": " / ".join(frameworks),
            },
        )
        for architecture, frameworks in trained_architectures(records).items()
        if len(frameworks) > 1 and not {(architecture, name) for name in frameworks} <= proven
    ]
