"""What a predictor needs of a framework."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

import numpy as np

Compute = Callable[[np.ndarray], "dict[str, np.ndarray]"]


@dataclass(frozen=True)
class Network:
    """A loaded network and what it computes of a batch."""

    inputs: list[str]
    outputs: list[str]
    batch_size: int | None
    """None where it takes batches of any size."""
    compute: Compute
