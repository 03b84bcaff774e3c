"""Caffe's own profiler, the program `caffe time`, which times every layer both ways."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from google.protobuf.text_format import MessageToString

from prumo_worker.failure import Unavailable
from prumo_worker.operation_time import OperationTime

if TYPE_CHECKING:
    from caffe.proto.caffe_pb2 import NetParameter

_LAYER = re.compile(r"\]\s+(?P<layer>\S+)\s+(?P<way>forward|backward): (?P<milliseconds>\S+) ms\.")


def layer_times(
    net: NetParameter, folder: Path, *, iterations: int, threads: int
) -> list[OperationTime]:
    """Time a net as it is described, on zeros and without updates of its weights."""
    file = folder / "timed.prototxt"
    file.write_text(MessageToString(net), encoding="utf-8")
    command = [_program(), "time", f"-model={file}", f"-iterations={iterations}", "-logtostderr"]
    variables = {"GLOG_minloglevel": "0", "OPENBLAS_NUM_THREADS": str(threads)}
    done = subprocess.run(
        command, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"caffe time failed: {done.stderr.strip().splitlines()[-1]}")
    kinds = {layer.name: layer.type for layer in net.layer}
    return [
        OperationTime(
            # What Caffe puts in by itself copies a blob for several readers.
            f"{kinds.get(found['layer'], 'Split')} {found['layer']} {found['way']}",
            iterations,
            float(found["milliseconds"]) / 1e3 * iterations,
        )
        for found in _LAYER.finditer(done.stderr)
    ]


def _program() -> str:
    """The program that came with this Python, or else the user's own."""
    beside = Path(sys.prefix).parent.parent / "bin" / "caffe"
    found = str(beside) if beside.is_file() else shutil.which("caffe")
    if found is None:
        raise Unavailable("no profile: the program `caffe` is not here")
    return found
