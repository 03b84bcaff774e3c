"""A folder of hand-made wheels that stands in for the indexes of the world, and a listener."""

from __future__ import annotations

import os
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

GATE = "FAKE_TORCH_GATE"

READY = "pytorch@2.13.0+cpu"
"""What the tests find set up; the label makes it the same on machines with a GPU."""

# Its import, the last step of a set-up, waits until the gate's file is there.
_MODULE = f"""
import os, time
gate = os.environ.get("{GATE}")
while gate and not os.path.exists(gate):
    time.sleep(0.02)

class ones:
    def __init__(self, size):
        self.numpy = list
"""


def make_index(folder: Path) -> Path:
    """Every package that the tests install."""
    folder.mkdir()
    for version in ("2.13.0", "2.13.0+cpu", "2.13.0+cu126", "2.13.0+cu130"):
        make_wheel(folder, "torch", version, requires=["filelock"], module=_MODULE)
    make_wheel(folder, "torch", "3.0.0", requires=["filelock"], module=_MODULE)
    make_wheel(folder, "torch", "3.0.0+cpu", requires=["filelock"], module=_MODULE)
    make_wheel(folder, "torch", "4.0.0", module="raise ImportError('numpy is too new')")
    make_wheel(folder, "torch", "4.1.0", module="ones = object()")
    make_wheel(folder, "torch", "5.0.0", requires=["nowhere-to-be-found"])
    make_wheel(folder, "torch", "6.0.0+cpu")
    make_wheel(folder, "tensorflow", "9.0.0")
    make_wheel(folder, "jax", "8.0.0")
    plugin = "jax_cuda13_plugin; extra == 'cuda13'"
    make_wheel(folder, "jax", "9.0.0", requires=[plugin], extras=["cuda13"])
    make_wheel(folder, "jax_cuda13_plugin", "9.0.0")
    for version in ("4.2.10", "99.0"):
        make_wheel(folder, "filelock", version)
    for version in ("2.4.6", "99.0"):
        make_wheel(folder, "numpy", version)
    return folder


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    *,
    requires: Sequence[str] = (),
    extras: Sequence[str] = (),
    module: str = "",
) -> None:
    """Write one wheel; its module knows its own version."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}/__init__.py": f"__version__ = {version!r}\n{module}\n",
        f"{info}/METADATA": "\n".join(
            [
                "Metadata-Version: 2.1",
                f"Name: {name}",
                f"Version: {version}",
                *(f"Provides-Extra: {extra}" for extra in extras),
                *(f"Requires-Dist: {requirement}" for requirement in requires),
                "",
            ]
        ),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for file, content in {**files, f"{info}/RECORD": record}.items():
            wheel.writestr(file, content)


def offline(index: Path, cache: Path) -> dict[str, str]:
    """The variables that make pip see that folder and nothing else."""
    return {
        **os.environ,
        "PRUMO_CACHE": str(cache),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_FIND_LINKS": str(index),
        "PIP_NO_INDEX": "1",
    }
