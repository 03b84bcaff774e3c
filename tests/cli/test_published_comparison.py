"""The published comparison of GPUs and a TPU, held against its own figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Prumo

PUBLISHED = Path(__file__).parent.parent.parent / "studies" / "ufrgs-gpu-tpu"


def test_the_stated_percentage_is_not_that_of_the_stated_means(prumo_here: Prumo) -> None:
    made = prumo_here("import", "csv", PUBLISHED / "mapping.yaml", PUBLISHED)
    assert made.returncode == 0, made.stderr

    told = prumo_here(
        "audit", "results/ufrgs-gpu-tpu-published", PUBLISHED / "claims.yaml", "--json"
    )

    assert told.returncode == 1
    gpus, tpu, percentage, spread = json.loads(told.stdout)
    assert (gpus["verdict"], tpu["verdict"]) == ("agrees", "agrees")
    assert percentage["verdict"] == "differs"
    assert round(percentage["found"], 2) == 35.24
    assert spread["verdict"] == "not supported"
