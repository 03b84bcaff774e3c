"""The modules for Google and Azure use what those providers have, as their bindings list it.

The providers themselves are not run. HashiCorp's Python bindings were generated from their schemas;
pip downloads the two packages, about 50 MB each.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest

from support.terraform import INFRASTRUCTURE

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

BINDINGS = {
    # Of the providers google 6.50.0 and azurerm 4.55.0.
    "google": "cdktf-cdktf-provider-google==16.12.1",
    "azurerm": "cdktf-cdktf-provider-azurerm==14.23.1",
}
MODULES = {"google": "google_cloud_run", "azurerm": "azure_container_apps"}
Block = dict[str, list["Block"]]
"""Argument → the blocks of that name; none for a value."""


@cache
def wheel(provider: str) -> ZipFile:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", BINDINGS[provider]]
    with TemporaryDirectory() as folder:
        done = subprocess.run([*pip, "--dest", folder], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"the bindings cannot be downloaded: {done.stderr.strip()}")
        (path,) = Path(folder).iterdir()
        return ZipFile(path)  # Open: it can be read when the folder is gone.


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
