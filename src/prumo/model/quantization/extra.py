"""What quantizing needs beyond Prumo itself."""

from __future__ import annotations

from importlib.util import find_spec

from prumo.errors import UnavailableError

_MODULES = ("onnx", "onnxruntime")


def require_extra() -> None:
    """Say how to install what is missing, before any work begins."""
    missing = [name for name in _MODULES if find_spec(name) is None]
    if missing:
        raise UnavailableError(
            f"quantizing needs {', '.join(missing)}: install it with pip install 'prumo[model]'"
        )
