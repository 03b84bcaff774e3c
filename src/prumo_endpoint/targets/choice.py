"""Which kind of target a user's words name."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from prumo.errors import InputError
from prumo_endpoint.targets.container import Container, ImageTarget
from prumo_endpoint.targets.process import CommandTarget
from prumo_endpoint.targets.url import AddressTarget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo_endpoint.targets import Target

URL_MARK = "://"
LOOKS_LIKE_A_SERVER = re.compile(r"(localhost|\d+(\.\d+){3}):\d+")
PATH_BEGINNINGS = ("/", "./", "../")
ANY_CONTAINER = Container()


def chosen_target(
    words: Sequence[str],
    image: str | None = None,
    command: str | None = None,
    port: int | None = None,
    container: Container = ANY_CONTAINER,
) -> Target:
    """An image or a command that is called so, else what the words look like.

    A word with :// is a URL; several words, and a word that is a path, are a command; any other
    word is an image.
    """
    if sum((bool(words), image is not None, command is not None)) != 1:
        raise InputError("give one thing to check: a URL, an image or a command")
    if command is not None:
        words = _split(command)
    elif image is None and len(words) == 1:
        (word,) = words
        if LOOKS_LIKE_A_SERVER.fullmatch(word):
            raise InputError(f"the address of a server begins with http://; right is http://{word}")
        if URL_MARK in word:
            _require_unused("a server that runs already", port, container)
            return AddressTarget(word)
        if " " in word:
            words = _split(word)
        elif not word.startswith(PATH_BEGINNINGS):
            image = word
    if image is not None:
        return ImageTarget(image, container, port)
    _require_unused("a command", None, container)
    return CommandTarget(words, port)


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise InputError(f"the command {command!r} cannot be taken apart: {error}") from error


def _require_unused(what: str, port: int | None, container: Container) -> None:
    """Refuse options that would do nothing."""
    given = {
        "--port": port,
        "--model": container.model,
        "--memory-mb": container.memory_mb,
        "--network": container.network,
    }
    for option, value in given.items():
        if value is not None:
            raise InputError(f"{option} does not fit {what}")
