"""A trainer over Caffe's solvers: versions, threads, steps, clock and profile."""

from __future__ import annotations

import ctypes
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import caffe
import numpy as np
from google.protobuf.text_format import MessageToString

from prumo_worker.frameworks import Trainer
from prumo_worker.frameworks.caffe.network import LABELS, count, describe, load, solver_parameter
from prumo_worker.networks.network import IMAGE
from prumo_worker.profile import OperationTime
from prumo_worker.task import Unavailable

if TYPE_CHECKING:
    from caffe.proto.caffe_pb2 import NetParameter

    from prumo_worker.networks import Network
    from prumo_worker.recipe import Recipe

_LAYER = re.compile(r"\]\s+(?P<layer>\S+)\s+(?P<way>forward|backward): (?P<milliseconds>\S+) ms\.")


class Caffe(Trainer):
    """A trainer that computes in this process and is done when it returns.

    Caffe's Adam adds epsilon before it corrects the deviation for the early steps, which other
    frameworks do afterwards; it matters to gradients of about 1e-6 and less.
    """

    layout = "NCHW"

    def __init__(self, network: Network, recipe: Recipe, threads: int) -> None:
        caffe.set_mode_cpu()
        # Loaded long since, by numpy and by Caffe, which itself has one thread.
        blas = ctypes.CDLL("libopenblas.so.0")
        blas.openblas_set_num_threads(threads)
        self.threads = int(blas.openblas_get_num_threads())
        self.versions = {"caffe": str(caffe.__version__), "numpy": str(np.__version__)}
        for text in (blas.openblas_get_config, blas.openblas_get_corename):
            text.restype = ctypes.c_char_p
        # The second is the processor that OpenBLAS takes this one for.
        self.build = {
            "blas": blas.openblas_get_config().decode(),
            "cpu": blas.openblas_get_corename().decode(),
        }
        self._network = network
        self._description = describe(network, dropout=recipe.dropout)
        self._files = TemporaryDirectory(prefix="prumo-caffe-")
        self._net_file = self._write("net.prototxt", self._description.net)
        self._solver_file = self._write("solver.prototxt", solver_parameter(recipe, self._net_file))
        self._loss = math.nan
        self._start()
        self.parameters = count(network, self._net)

    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        """Copy the weights into a new solver, which remembers no step."""
        self._start()
        load(self._network, self._net, weights)

    def set_learning_rate(self, rate: float) -> None:
        """Of the policy `fixed`, which asks for it anew in every iteration."""
        self._solver.param.base_lr = rate

    def batch(self, images: np.ndarray, labels: np.ndarray) -> Batch:
        """Copy a batch into the net's own memory."""
        batch = Batch(images, labels)
        self._place(batch)
        return batch

    def step(self, batch: Batch) -> tuple[float, int]:
        """One iteration of the solver; it stays where it is once the loss is not finite."""
        self._place(batch)
        with suppress(FloatingPointError):
            self._solver.step(1)
        right = self._net.blobs[self._description.scores].data.argmax(axis=1) == batch.labels
        return self._loss, int(right.sum())

    def scores(self, images: np.ndarray) -> np.ndarray:
        """Scores of a net in Caffe's testing phase, over the same weights."""
        net = caffe.Net(self._net_file, caffe.TEST)
        net.share_with(self._net)
        _resize(net, self._description.inputs, len(images))
        net.blobs[IMAGE].data[...] = images
        net.forward()
        answer: np.ndarray = net.blobs[self._description.scores].data.copy()
        return answer

    def profile(self, batches: Sequence[Batch]) -> list[OperationTime]:
        """Layers by the program `caffe time`, which computes as many times on zeros.

        It makes a net of its own; this one is given back first, so that memory holds one of them,
        and made anew when weights are loaded.
        """
        del self._solver, self._net
        return layer_times(
            self._description.for_batch(len(batches[0].labels)),
            Path(self._files.name),
            iterations=len(batches),
            threads=self.threads,
        )

    def _start(self) -> None:
        self._solver = caffe.get_solver(self._solver_file)
        self._placed = _NOTHING
        # Asked anew, the solver would wrap its net anew and look up every blob again.
        self._net = self._solver.net
        self._last_layer = len(self._net.layers) - 1
        self._net.before_backward(self._meet_loss)

    def _meet_loss(self, layer: int) -> None:
        """Take the loss between forward and backward, and end there if it is not finite.

        Among values that are not numbers Caffe's pooling finds no largest, and backwards it then
        writes outside of its memory.
        """
        if layer != self._last_layer:
            return
        self._loss = sum(
            weight * _cross_entropy(self._net.blobs[head].data, self._placed.labels)
            for head, weight in self._description.heads.items()
        )
        if not math.isfinite(self._loss):
            raise FloatingPointError("the loss is not finite")

    def _place(self, batch: Batch) -> None:
        """Copy a batch into the net, unless it is the one that lies there."""
        if batch is self._placed:
            return
        _resize(self._net, [LABELS, *self._description.inputs], len(batch.labels))
        self._net.blobs[IMAGE].data[...] = batch.images
        self._net.blobs[LABELS].data[...] = batch.labels
        self._placed = batch

    def _write(self, name: str, message: Any) -> str:  # noqa: ANN401 (protobuf has no types)
        file = Path(self._files.name, name)
        file.write_text(MessageToString(message), encoding="utf-8")
        return str(file)


def _resize(net: caffe.Net, inputs: Sequence[str], images: int) -> None:
    """Make room for a batch in all that is put into a net."""
    for name in inputs:
        blob = net.blobs[name]
        blob.reshape(images, *list(blob.shape)[1:])


def _cross_entropy(scores: np.ndarray, labels: np.ndarray) -> float:
    """The mean loss of a head; Caffe's own ends at 87, where a probability leaves its floats."""
    with np.errstate(invalid="ignore"):
        shifted = scores.astype(np.float64) - scores.max(axis=1, keepdims=True)
        right = shifted[np.arange(len(labels)), labels]
        return float((np.log(np.exp(shifted).sum(axis=1)) - right).mean())


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


class Batch(NamedTuple):
    """Images and labels as Caffe takes them."""

    images: np.ndarray
    labels: np.ndarray


_NOTHING = Batch(np.empty(0), np.empty(0))
