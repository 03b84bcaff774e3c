"""Operation times out of TensorFlow's own profiler."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import tensorflow as tf
from tensorflow.tsl.profiler.protobuf import xplane_pb2

from prumo_worker.profile import grouped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prumo_worker.profile import OperationTime

_HOST = "/host:CPU"
_DEVICE = "/device:"
# On a GPU the kernels of a stream, on a TPU the operations that XLA made.
_DEVICE_LINES = ("Stream", "XLA Ops")


def operation_times(work: Callable[[], object]) -> list[OperationTime]:
    """What `work` spent in each kind of operation, on the device where there is one."""
    with TemporaryDirectory(prefix="prumo-") as folder:
        options = tf.profiler.experimental.ProfilerOptions(python_tracer_level=0)
        with tf.profiler.experimental.Profile(folder, options):
            work()
        spaces = [_space(path) for path in Path(folder).rglob("*.xplane.pb")]
    planes = [plane for space in spaces for plane in space.planes]
    spans = [span for plane in planes for span in _device_spans(plane)]
    spans = spans or [span for plane in planes for span in _host_spans(plane)]
    return grouped(spans)


def _space(path: Path) -> Any:  # noqa: ANN401 (a protocol buffer)
    space = xplane_pb2.XSpace()
    space.ParseFromString(path.read_bytes())
    return space


def _device_spans(plane: Any) -> Iterator[tuple[str, float]]:  # noqa: ANN401 (a protocol buffer)
    if not plane.name.startswith(_DEVICE):
        return
    for line in plane.lines:
        if line.name.startswith(_DEVICE_LINES):
            for event in line.events:
                yield plane.event_metadata[event.metadata_id].name, event.duration_ps / 1e12


def _host_spans(plane: Any) -> Iterator[tuple[str, float]]:  # noqa: ANN401 (a protocol buffer)
    """The kernels among all that the host tells: `gradient_tape/Relu:ReluGrad` is a ReluGrad."""
    if plane.name != _HOST:
        return
    for line in plane.lines:
        for event in line.events:
            metadata = plane.event_metadata[event.metadata_id]
            kind = metadata.display_name
            if kind and metadata.name.endswith(f":{kind}"):
                yield kind, event.duration_ps / 1e12
