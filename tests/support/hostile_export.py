"""A PyTorch export that runs code when PyTorch opens it; a script for PyTorch's environment."""

from __future__ import annotations

import os
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from support.framework_process import arguments, run_script, tell


def write_hostile_export(python: Path, path: Path, mark: Path) -> list[float]:
    """An export that makes the file `mark` when it is opened; its answer to an image of ones."""
    answer: list[float] = run_script(python, __file__, "write", str(path), str(mark))
    return answer


def opened_exports(python: Path, harmless: Path, hostile: Path, mark: Path) -> dict[str, Any]:
    """The answer of one export, and after which of the two `mark` was there."""
    told: dict[str, Any] = run_script(
        python, __file__, "open", str(harmless), str(hostile), str(mark)
    )
    return told


class _Trap:
    """Unpickled, it makes a file."""

    def __init__(self, mark: str) -> None:
        self._mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self._mark,)


def _write(path: str, mark: str) -> None:
    import torch  # noqa: PLC0415 (only in PyTorch's environment)

    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()
    ).eval()
    exported = torch.export.export(
        network,
        (torch.zeros(2, 3, 16, 16),),
        dynamic_shapes=({0: torch.export.Dim("batch")},),
    )
    torch.export.save(exported, f"{path}.good.pt2")
    torch.save((_Trap(mark),), f"{path}.trap")
    with zipfile.ZipFile(f"{path}.good.pt2") as good, zipfile.ZipFile(path, "w") as bad:
        for name in good.namelist():
            is_example = "/sample_inputs/" in name
            content = Path(f"{path}.trap").read_bytes() if is_example else good.read(name)
            bad.writestr(name, content)
    with torch.no_grad():
        tell(network(torch.ones(1, 3, 16, 16))[0].tolist())


def _open(harmless: str, hostile: str, mark: str) -> None:
    import torch  # noqa: PLC0415 (only in PyTorch's environment)

    with torch.no_grad():
        answer = torch.export.load(harmless).module()(torch.ones(1, 3, 16, 16))[0].tolist()
    after_harmless = Path(mark).exists()
    # The trap is no example input, which PyTorch finds out when it is too late.
    with suppress(Exception):
        torch.export.load(hostile)
    after_hostile = Path(mark).exists()
    tell({"answer": answer, "after_harmless": after_harmless, "after_hostile": after_hostile})


if __name__ == "__main__":
    what, *given = arguments()
    (_write if what == "write" else _open)(*given)
