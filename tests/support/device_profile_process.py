"""A trace as a device would leave it, read in the environment of TensorFlow or JAX.

Run as a script: it tells the device's spans in a trace that is given as a protocol buffer's text.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from support.framework_process import arguments, run_script, tell

if TYPE_CHECKING:
    from pathlib import Path


def device_spans(python: Path, framework: str, trace: str) -> list[tuple[str, float]]:
    """The operations of the device in the trace, and their seconds."""
    spans = run_script(python, __file__, framework, trace)
    return [(operation, seconds) for operation, seconds in spans]


def _planes(framework: str, trace: str) -> Any:
    if framework == "jax":
        return import_module("jax").profiler.ProfileData.from_text_proto(trace).planes
    space = import_module("tensorflow.tsl.profiler.protobuf.xplane_pb2").XSpace()
    return import_module("google.protobuf.text_format").Parse(trace, space).planes


def _main(framework: str, trace: str) -> None:
    place = ".profile" if framework == "jax" else ""
    profile = import_module(f"prumo_worker.frameworks.{framework}{place}")
    planes = _planes(framework, trace)
    tell([span for plane in planes for span in profile._device_spans(plane)])


if __name__ == "__main__":
    _main(*arguments())
