"""Where the instructions of a compiled program came from.

XLA fuses what it compiles and gives the pieces names of its own, such as `ynn_fusion.3`; the text
of the program tells which JAX operation a piece computes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMPUTATION = re.compile(r"^(?:ENTRY )?%(?P<name>[\w.-]+) \(")
_INSTRUCTION = re.compile(
    r"^\s+(?:ROOT )?%(?P<name>[\w.-]+) = (?:\(.*?\)|\S+) (?P<kind>[\w-]+)\((?P<rest>.*)"
)
_ORIGIN = re.compile(r'op_name="(?P<path>[^"]+)"')
_CALLED = re.compile(r"calls=%(?P<name>[\w.-]+)")
_PRODUCTS = {"convolution": "conv_general_dilated", "dot": "dot_general"}


def origins(program: str) -> dict[str, str]:
    """For each instruction the name of its JAX operation: `dot_general`, `dot_general backward`.

    An instruction without an origin is a `convolution` or `dot` if it computes one, which the
    gradients of kernels do; else it goes without a name here.
    """
    products = dict(_products(program))
    found = {}
    for line in program.splitlines():
        if match := _INSTRUCTION.match(line):
            called = _CALLED.search(match["rest"])
            product = products.get(called["name"] if called else "", match["kind"])
            if origin := _ORIGIN.search(match["rest"]):
                found[match["name"]] = _operation(origin["path"], product)
            elif product in _PRODUCTS:
                found[match["name"]] = product
    return found


def _products(program: str) -> Iterator[tuple[str, str]]:
    """The computations that hold a matrix product or a convolution, and which of them."""
    computation = ""
    for line in program.splitlines():
        if match := _COMPUTATION.match(line):
            computation = match["name"]
        elif (match := _INSTRUCTION.match(line)) and match["kind"] in _PRODUCTS:
            yield computation, match["kind"]


def _operation(path: str, kind: str) -> str:
    """The last word of `jit(step)/transpose(jvp())/dot_general`, which is of the way back."""
    name = _PRODUCTS.get(kind, path.rpartition("/")[2])
    return f"{name} backward" if "transpose(" in path else name
