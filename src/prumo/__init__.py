"""How fast and at what cost a neural network trains and answers, and how certain that is.

The same as the command line, from Python:

    import prumo

    study = prumo.Study.load("study.yaml")
    results = prumo.run(study)
    results.summary()
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from prumo.version import __version__

if TYPE_CHECKING:
    from prumo.errors import PrumoError
    from prumo.notebook import Results, run
    from prumo.study import Study

__all__ = ["PrumoError", "Results", "Study", "__version__", "run"]

# Imported when first used: `prumo --version` must not wait for pydantic or polars.
_HOMES = {
    "PrumoError": "prumo.errors",
    "Results": "prumo.notebook",
    "Study": "prumo.study",
    "run": "prumo.notebook",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'prumo' has no attribute '{name}'")
