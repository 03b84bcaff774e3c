"""What `prumo retina` needs beyond Prumo itself."""

from __future__ import annotations

from importlib.util import find_spec

from prumo.errors import UnavailableError

_MODULES = ("cv2", "h5py", "onnx", "pydicom", "simplejpeg")


def require_extra() -> None:
    """Say how to install what is missing, before a command begins."""
    missing = [name for name in _MODULES if find_spec(name) is None]
    if missing:
        raise UnavailableError(
            f"prumo retina needs {', '.join(missing)}: install it with pip install 'prumo[retina]'"
        )
