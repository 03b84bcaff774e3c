"""The sampler beside a run, seen from the controller."""

from __future__ import annotations

import contextlib
import csv
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Self

from prumo.results.record import SamplerCost

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

END_SECONDS = 10.0


def read_column(path: Path, column: str) -> list[float]:
    """One column of a run's samples; cells that a sensor left empty are passed over."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            cells = [row.get(column) for row in csv.DictReader(file)]
    except (OSError, UnicodeDecodeError, csv.Error):
        return []
    numbers = []
    for cell in cells:
        # A sampler that was killed leaves half a number.
        with contextlib.suppress(ValueError):
            numbers.append(float(cell or ""))
    return numbers


class SamplerProcess:
    """Samples a process tree into a file until the `with` block is left."""

    def __init__(self, path: Path, tree_root: int, period_seconds: float) -> None:
        self.cost: SamplerCost | None = None
        self.failure = ""
        """Why there is no account of its cost, when there is none."""
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-P", "-m", "prumo.measure.sampler"),
                *(str(path), str(tree_root), str(period_seconds)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The sampler's process number."""
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            output, complaint = self._process.communicate(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            output, complaint = self._process.communicate()
        try:
            self.cost = SamplerCost.model_validate(json.loads(output))
        except ValueError:
            last_words = complaint.decode(errors="replace").strip().rpartition("\n")[2]
            self.failure = last_words or f"exit code {self._process.returncode}"
