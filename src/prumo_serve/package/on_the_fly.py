"""A model that is to be served as it is: packaged into the cache, once for each content."""

from __future__ import annotations

import hashlib
import re
import shlex
from typing import TYPE_CHECKING

from prumo.cache import discard, made_folder
from prumo.errors import InputError
from prumo.version import __version__
from prumo_serve.manifest import MANIFEST_FILE
from prumo_serve.package import open_package
from prumo_serve.package.making import make_package_of
from prumo_serve.package.terms import UntoldError, Wish, agreed_terms
from prumo_serve.source import Source, recognized

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.progress import Progress

MODELS = "models"
_KEY_DIGITS = 16


def packaged(path: Path, progress: Progress) -> Path:
    """The folder of a package in the cache that holds the model at a path as it is now.

    Raises:
        InputError: It is no model, or does not tell how it is used; then how to package it.
    """
    source = recognized(path)
    name = re.sub(r"[^\w.-]+", "-", source.told.name)
    out = made_folder(MODELS) / f"{name}-{_key(source)}"
    if _is_whole(out):
        return out
    _require_told(source, path)
    # What was tampered with or half removed is made again.
    discard(out, MANIFEST_FILE)
    progress.say(f"packaging {path} into {out}; `prumo model package` makes one to keep")
    make_package_of(source, Wish(), out, progress)
    return out


def require_told(path: Path) -> None:
    """Refuse what `packaged` would refuse without having begun, for the same reasons."""
    _require_told(recognized(path), path)


def _require_told(source: Source, path: Path) -> None:
    try:
        agreed_terms(source, Wish())
    except UntoldError as error:
        flags = " ".join(error.missing)
        meanings = "".join(
            f"\n  {flag.split()[0]}: {meaning}" for flag, meaning in error.missing.items()
        )
        raise InputError(
            f"{path} does not tell how it is used. First\n"
            f"  prumo model package {shlex.quote(str(path))} {flags} --out model.tar.gz{meanings}\n"
            "then give model.tar.gz in its place, as in\n"
            "  prumo serve model.tar.gz"
        ) from None


def _key(source: Source) -> str:
    """Another one for everything that would make another package."""
    content = f"{__version__}\n{source.format}\n{source.sha256}\n{source.told}"
    return hashlib.sha256(content.encode()).hexdigest()[:_KEY_DIGITS]


def _is_whole(folder: Path) -> bool:
    if not folder.is_dir():
        return False
    try:
        open_package(folder)
    except InputError:
        return False
    return True
