"""Operation times out of JAX's own profiler."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax

from prumo_worker.profile import OperationTime, device_events, grouped

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


def operation_times(work: Callable[[], object], programs: Sequence[str]) -> list[OperationTime]:
    """What `work` spent in each kind of operation, on the device where there is one.

    `programs` are the texts of the compiled programs that `work` runs.
    """
    with TemporaryDirectory(prefix="prumo-") as folder:
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0
        with jax.profiler.trace(folder, profiler_options=options):
            work()
        files = [str(path) for path in Path(folder).rglob("*.xplane.pb")]
        planes = [
            plane for file in files for plane in jax.profiler.ProfileData.from_file(file).planes
        ]
        spans = [span for plane in planes for span in _device_spans(plane)]
        spans = spans or [span for plane in planes for span in _host_spans(plane)]
    names = {name: origin for program in programs for name, origin in origins(program).items()}
    return grouped(
        (names.get(instruction) or re.sub(r"\.\d+$", "", instruction), seconds)
        for instruction, seconds in spans
    )


def _device_spans(plane: Any) -> Iterator[tuple[str, float]]:  # noqa: ANN401 (JAX's own type)
    for event in device_events(plane):
        yield str(dict(event.stats).get("hlo_op", event.name)), event.duration_ns / 1e9


def _host_spans(plane: Any) -> Iterator[tuple[str, float]]:  # noqa: ANN401 (JAX's own type)
    """From the begin of an instruction to its end, which another thread may tell."""
    if plane.name != "/host:CPU":
        return
    events = [(event, dict(event.stats)) for line in plane.lines for event in line.events]
    ends = {
        stats["_c"]: event.start_ns
        for event, stats in events
        if event.name.startswith("end: ") and "_c" in stats
    }
    for event, stats in events:
        if "hlo_op" in stats:
            end_ns = ends.get(stats.get("_p"), event.end_ns)
            yield str(stats["hlo_op"]), (end_ns - event.start_ns) / 1e9
