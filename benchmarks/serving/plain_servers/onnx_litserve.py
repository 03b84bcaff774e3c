"""LitServe around an ONNX Runtime session: one thread for each worker.

python onnx_litserve.py PORT

The environment variable NETWORK names an ONNX file, WORKERS says how many processes; bodies are
JSON with the image in base64.
"""

from __future__ import annotations

import base64
import io
import os
import sys

import litserve
import numpy as np
import onnxruntime
from PIL import Image

SIZE = 224
WORKERS = int(os.environ["WORKERS"])


class Classifier(litserve.LitAPI):
    """What LitServe asks: make ready, read, predict, answer."""

    def setup(self, _device: str) -> None:
        """Load the network, once for each worker."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            os.environ["NETWORK"], options, providers=["CPUExecutionProvider"]
        )

    def decode_request(self, request: dict[str, str]) -> np.ndarray:
        """What the network takes."""
        content = base64.b64decode(request["image"])
        image = Image.open(io.BytesIO(content)).convert("RGB").resize((SIZE, SIZE))
        return np.asarray(image, np.float32) / 255

    def predict(self, pixels: np.ndarray) -> np.ndarray:
        """What it gives."""
        (probabilities,) = self.session.run(None, {self.session.get_inputs()[0].name: pixels[None]})
        row: np.ndarray = probabilities[0]
        return row

    def encode_response(self, output: np.ndarray) -> dict[str, list[float]]:
        """The same as JSON."""
        return {"probabilities": output.tolist()}


if __name__ == "__main__":
    server = litserve.LitServer(
        Classifier(api_path="/invocations"), accelerator="cpu", workers_per_device=WORKERS
    )
    server.run(port=int(sys.argv[1]), generate_client_file=False, log_level="warning")
