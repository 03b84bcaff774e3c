"""Which JAX this is, and what of its build decides about speed."""

from __future__ import annotations

import os
from pathlib import Path

import jax
import jaxlib
import numpy as np

_POOL = "tf_XLAEigen"
"""How XLA names the threads that it computes with on the processor."""


def versions(place: jax.Device) -> dict[str, str]:
    """JAX's version, and those of the libraries it computes with."""
    found = {"jax": jax.__version__, "jaxlib": jaxlib.__version__, "numpy": np.__version__}
    if place.platform != "cpu":
        found[place.platform] = place.client.platform_version.replace("\n", "; ")
    return found


def build_facts(place: jax.Device) -> dict[str, str]:
    """What compiles for which device, and with which options of the user's."""
    return {
        "compiler": "XLA",
        "platform": str(place.platform),
        "runtime": str(place.client.runtime_type),
        "matmul_precision": str(jax.config.jax_default_matmul_precision or "default"),
        "xla_flags": os.environ.get("XLA_FLAGS") or "none",
    }


def pool_threads() -> int:
    """The threads in XLA's pool, as the kernel lists them."""
    return sum(
        _thread_name(thread).startswith(_POOL) for thread in Path("/proc/self/task").iterdir()
    )


def _thread_name(thread: Path) -> str:
    try:
        return (thread / "comm").read_text(encoding="utf-8")
    except OSError:
        return ""  # It has ended since it was listed.
