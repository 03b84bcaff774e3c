"""What JAX alone does; what every framework does is in test_trainers.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.worker_process import LENET, run_worker, task

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.frameworks


def test_a_run_on_the_processor_opens_no_other_device(
    framework_python: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # JAX would follow, and then have no processor to compute on.
    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    parameters = {**LENET, "framework": "jax", "images": 64, "epochs": 1}
    run = run_worker(str(framework_python("jax")), task(tmp_path, parameters))
    assert run.exit_code == 0, run.log
    assert run.only("ready")["device"] == "cpu"
