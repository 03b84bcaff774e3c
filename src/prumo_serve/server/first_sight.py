"""What is no model at first sight, found out before anybody is told an address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

# Written out here: what knows them imports pydantic, for which the start of a server cannot wait.
_ARCHIVE_ENDINGS = (".tar.gz", ".tgz")
_MANIFEST_FILE = "manifest.json"
_GZIP = b"\x1f\x8b"


def require_model_at_first_sight(path: Path) -> None:
    """Refuse what cannot be served; whether a package is whole, only loading it can tell.

    Raises:
        InputError: There is nothing, or something else, or a model that must be packaged by hand.
    """
    if not path.exists():
        raise InputError(f"there is no model {path}")
    if path.is_file() and path.name.endswith(_ARCHIVE_ENDINGS):
        _require_gzip(path)
    elif not (path / _MANIFEST_FILE).is_file():
        # It would be packaged first, so that the start takes its time anyway.
        from prumo_serve.package.on_the_fly import require_told  # noqa: PLC0415

        require_told(path)


def _require_gzip(path: Path) -> None:
    try:
        with path.open("rb") as file:
            start = file.read(len(_GZIP))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    if start != _GZIP:
        raise InputError(f"{path} is no package: it is not a gzip archive")
