"""Files of PyTorch's weights read in PyTorch's real environment, many in one process.

Run as a script it is the other half of itself: it reads what `read_all` names and answers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.framework_process import arguments, run_script, tell


def read_all(python: Path, files: dict[str, Path]) -> dict[str, Any]:
    """For each file its arrays, as (type, shape, numbers) by name, or why it was refused."""
    named = {name: str(path) for name, path in files.items()}
    answers: dict[str, Any] = run_script(python, __file__, named)
    return answers


def _answer(path: Path) -> Any:
    from prumo_worker.conversion.pytorch_weights import arrays_of  # noqa: PLC0415
    from prumo_worker.task import DataError  # noqa: PLC0415 (only here is there a PyTorch)

    try:
        arrays = arrays_of(path)
    except DataError as error:
        return str(error)
    return {name: [str(a.dtype), list(a.shape), a.ravel().tolist()] for name, a in arrays.items()}


if __name__ == "__main__":
    (asked,) = arguments()
    tell({name: _answer(Path(path)) for name, path in asked.items()})
