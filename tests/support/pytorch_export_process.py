"""Small networks as PyTorch exports them: for any batch, for batches of two, with a named answer.

All but the first are asked by a conversion at once: importing PyTorch takes seconds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.framework_process import arguments, tell


def _main(folder: str) -> None:
    import torch  # noqa: PLC0415 (only in PyTorch's environment)
    from torch import nn  # noqa: PLC0415 (as above)

    torch.manual_seed(2)
    layers = [
        nn.Conv2d(3, 4, 3, stride=2, padding=1),
        nn.BatchNorm2d(4),
        nn.Hardswish(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 5),
    ]
    example = (torch.rand(2, 3, 16, 24),)
    free = {0: torch.export.Dim("images")}
    network = nn.Sequential(*layers, nn.Softmax(dim=1)).eval()
    exported = torch.export.export(network, example, dynamic_shapes=(free,))
    torch.export.save(exported, Path(folder) / "free.pt2")
    fixed = torch.export.export(nn.Sequential(*layers).eval(), example)
    torch.export.save(fixed, Path(folder) / "fixed.pt2")
    named = torch.export.export(_named(nn.Sequential(*layers)).eval(), example)
    torch.export.save(named, Path(folder) / "named.pt2")
    tell({name: _converted(Path(folder), name) for name in ("fixed", "named")})


def _named(network: Any) -> Any:
    from torch import nn  # noqa: PLC0415 (only in PyTorch's environment)

    class Named(nn.Module):  # type: ignore[misc] # PyTorch is not in this environment
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, images: Any) -> dict[str, Any]:
            return {"scores": self.network(images)}

    return Named()


def _converted(folder: Path, name: str) -> dict[str, Any]:
    """What a worker tells, or why it refuses."""
    from prumo_worker.conversion import convert  # noqa: PLC0415 (as above)
    from prumo_worker.journal import Journal  # noqa: PLC0415 (as above)
    from prumo_worker.task import Task  # noqa: PLC0415 (as above)

    data = {"source": str(folder / f"{name}.pt2"), "out": str(folder / name)}
    journal = folder / f"{name}.jsonl"
    parameters = {"origin": "pytorch", "target": "pytorch"}
    task = Task(name, journal, "model_conversion", parameters, data, 0, 1)
    try:
        convert(task, Journal(journal))
    except ValueError as error:
        return {"error": str(error)}
    return {"events": [json.loads(line) for line in journal.read_text().splitlines()]}


if __name__ == "__main__":
    _main(*arguments())
