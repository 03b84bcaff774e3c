"""`manifest.json` in a package's folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from prumo.errors import InputError
from prumo.model.manifest import FORMAT, MANIFEST_FILE, Manifest

if TYPE_CHECKING:
    from pathlib import Path

_MAX_BYTES = 4 * 1024 * 1024
"""Ours: a thousand labels take 30 kB."""
_REASONS = {
    "string_pattern_mismatch": "it is empty or too long, or has characters that it may not have"
}
"""By pydantic's names, where its own words would show people a regular expression."""


def read_manifest(folder: Path, shown: Path) -> Manifest:
    """What a folder's manifest says; errors name the package as `shown`, as the user knows it."""
    document = _document(folder / MANIFEST_FILE, shown)
    version = document.get("format") if isinstance(document, dict) else None
    if isinstance(version, int) and version > FORMAT:
        raise InputError(
            f"{shown}: {MANIFEST_FILE} has format {version}, which is newer than this Prumo, "
            f"which reads {FORMAT}: update Prumo"
        )
    return validated(document, f"{shown}: {MANIFEST_FILE} is no manifest of a model")


def manifest_text(manifest: Manifest) -> str:
    """As it stands in the file: the same manifest, the same bytes."""
    return manifest.model_dump_json(indent=1) + "\n"


def validated(document: Any, complaint: str) -> Manifest:  # noqa: ANN401 (any JSON value)
    """A manifest that makes sense, or an error that tells its first mistake after a complaint."""
    try:
        return Manifest.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        reason = _REASONS.get(first["type"]) or first["msg"].removeprefix("Value error, ")
        told = f"{place}: {reason}" if place else reason
        raise InputError(f"{complaint}: {told}") from error


def _document(path: Path, shown: Path) -> Any:  # noqa: ANN401 (any JSON value)
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(f"{shown}: {MANIFEST_FILE} is too large to be a manifest")
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(
            f"{shown} is no package: it has no {MANIFEST_FILE}. "
            "`prumo model package` makes one of a model."
        ) from None
    except OSError as error:
        raise InputError(f"{shown}: {MANIFEST_FILE} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{shown}: {MANIFEST_FILE} is not JSON: {error}") from error
