"""The modules for Google and Azure use what those providers have, as their bindings list it.

The providers themselves are not run. HashiCorp's bindings on PyPI were generated from their
schemas; of each wheel only the modules that are needed are fetched, 0.5 MB instead of 50.
"""

from __future__ import annotations

import ast
import io
import re
import urllib.request
from functools import cache
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest

from support.terraform import INFRASTRUCTURE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _typeshed import WriteableBuffer

pytestmark = pytest.mark.slow

WHEELS = {
    # google 6.50.0
    "google": "1b/85/6fae846070b7d78775d782f1b519a2aefd1c04877a6ad07f9e5b0584eebb/"
    "cdktf_cdktf_provider_google-16.12.1-py3-none-any.whl",
    # azurerm 4.55.0
    "azurerm": "cf/2a/ee02e71fcbfdf49597a31df2ac1d14da6d5023233f66b5d70344b074f578/"
    "cdktf_cdktf_provider_azurerm-14.23.1-py3-none-any.whl",
}
MODULES = {"google": "google_cloud_run", "azurerm": "azure_container_apps"}
Block = dict[str, list["Block"]]
"""Argument → the blocks of that name; none for a value."""


class RemoteFile(io.RawIOBase):
    """A file on a web server, of which only the parts are fetched that are read."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._place = 0
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD")) as answer:  # noqa: S310 (a constant)
            self._size = int(answer.headers["Content-Length"])

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._place}.get(whence, self._size)
        return self._place

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        end = min(self._place + len(view), self._size)
        if end <= self._place:
            return 0
        wanted = {"Range": f"bytes={self._place}-{end - 1}"}
        with urllib.request.urlopen(urllib.request.Request(self._url, headers=wanted)) as answer:  # noqa: S310 (a constant)
            assert answer.status == 206, "no parts of files here"
            part = answer.read()
        view[: len(part)] = part
        self._place += len(part)
        return len(part)


@cache
def wheel(provider: str) -> ZipFile:
    url = f"https://files.pythonhosted.org/packages/{WHEELS[provider]}"
    try:
        return ZipFile(io.BufferedReader(RemoteFile(url), 1 << 16))
    except OSError as error:
        pytest.skip(f"the bindings cannot be fetched: {error}")


@cache
def arguments(provider: str, module: str) -> dict[str, dict[str, bool]]:
    """Class of a module of the bindings → argument → whether it must be given."""
    path = f"cdktf_cdktf_provider_{provider}/{module}/__init__.py"
    classes = [
        each
        for each in ast.parse(wheel(provider).read(path)).body
        if isinstance(each, ast.ClassDef)
    ]
    return {
        each.name: {
            argument.arg.rstrip("_"): default is None
            for argument, default in zip(made.args.kwonlyargs, made.args.kw_defaults, strict=True)
        }
        for each in classes
        for made in each.body
        if isinstance(made, ast.FunctionDef) and made.name == "__init__"
    }


def blocks(text: str) -> Iterator[tuple[str, str, Block]]:
    """The resources and providers of a formatted file: keyword, type, and what is in them."""
    stack: list[Block] = []
    for line in text.splitlines():
        if found := re.match(r'(resource|provider) "(\w+)".* {(})?$', line):
            stack = [{}]
            yield found[1], found[2], stack[0]
        elif not stack or line.strip() == "content {":
            stack += stack[-1:]
        elif found := re.match(r' +(?:dynamic ")?(\w+)"? {(})?$', line):
            inner: Block = {}
            stack[-1].setdefault(found[1], []).append(inner)
            stack += [] if found[2] else [inner]
        elif found := re.match(r" +(\w+) += ", line):
            stack[-1].setdefault(found[1], [])
        elif line.strip() == "}":
            stack.pop()


def wrong_arguments(provider: str, text: str) -> list[str]:
    """The arguments that a resource has not, and those that it lacks."""
    wrong: list[str] = []

    def compare(known: dict[str, dict[str, bool]], name: str, block: Block, path: str) -> None:
        dynamic = {"for_each"} if block.keys() >= {"for_each"} else set()
        wrong.extend(f"{path}.{each}" for each in block.keys() - known[name].keys() - dynamic)
        needed = {each for each, must in known[name].items() if must}
        wrong.extend(f"{path} without {each}" for each in needed - block.keys())
        for argument, inner in block.items():
            for each in inner if argument in known[name] else ():
                compare(known, name + _camel(argument), each, f"{path}.{argument}")

    for keyword, kind, block in list(blocks(text)):
        module = kind.removeprefix(f"{provider}_") if keyword == "resource" else "provider"
        name = _camel(module) if keyword == "resource" else f"{_camel(provider)}Provider"
        compare(arguments(provider, module), name, block, kind)
    return wrong


@pytest.mark.parametrize("provider", MODULES)
def test_every_argument_is_one_of_the_provider(provider: str) -> None:
    text = (INFRASTRUCTURE / MODULES[provider] / "main.tf").read_text()

    assert wrong_arguments(provider, text) == []
    path, misspelt = "template.container", text.replace("image ", "picture ")
    wrong = sorted(
        each.partition(path)[2].lstrip("s") for each in wrong_arguments(provider, misspelt)
    )
    assert wrong == [" without image", ".picture"]


def _camel(name: str) -> str:
    return "".join(word.title() for word in name.split("_"))
