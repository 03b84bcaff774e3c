"""Which GPU MXNet computes on, as NVIDIA's own program tells: MXNet itself has no name for it."""

from __future__ import annotations

import os
import subprocess


def gpu_facts() -> dict[str, str]:
    """The `name` and the `driver` of the first GPU that CUDA may use; nothing where none tells."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "").partition(",")[0] or "0"
    query = ["--query-gpu=name,driver_version", "--format=csv,noheader", f"--id={first}"]
    try:
        done = subprocess.run(
            ["nvidia-smi", *query], capture_output=True, text=True, check=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    name, _, driver = done.stdout.strip().rpartition(", ")
    return {"name": name, "driver": driver} if name and driver else {}
