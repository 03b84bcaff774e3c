"""BentoML around an ONNX Runtime session: one thread for each worker.

bentoml serve onnx_bentoml:Classifier

The environment variable NETWORK names an ONNX file, WORKERS says how many processes.
"""

from __future__ import annotations

import os

import bentoml
import numpy as np
import onnxruntime
from PIL.Image import Image  # noqa: TC002 (BentoML reads the annotation when it starts)

SIZE = 224
WORKERS = int(os.environ["WORKERS"])


@bentoml.service(workers=WORKERS)
class Classifier:
    """What BentoML serves."""

    def __init__(self) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            os.environ["NETWORK"], options, providers=["CPUExecutionProvider"]
        )

    @bentoml.api(route="/invocations")
    def classify(self, image: Image, /) -> dict[str, list[float]]:
        """The answer to one image."""
        pixels = np.asarray(image.convert("RGB").resize((SIZE, SIZE)), np.float32)[None] / 255
        (probabilities,) = self.session.run(None, {self.session.get_inputs()[0].name: pixels})
        return {"probabilities": probabilities[0].tolist()}
