"""What Caffe alone does; what every framework does is in test_trainers.py."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from support.worker_process import SOURCES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.frameworks

FIND = """
import sys
sys.prefix = "/usr"
from prumo_worker.frameworks.caffe.trainer import _program
print(_program())
"""


def test_a_caffe_of_the_system_has_its_profiler_on_the_path(
    framework_python: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "caffe").write_text("#!/bin/sh\n")
    (tmp_path / "caffe").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        [framework_python("caffe"), "-c", FIND],
        env={**os.environ, "PATH": path, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in {str(tmp_path / "caffe"), "/bin/caffe"}
