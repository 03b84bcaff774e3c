"""The published study's application: a SavedModel behind FastAPI, loaded once in each worker."""

import io
import json
import os
import time
from pathlib import Path

import numpy as np
import tensorflow as tf
from fastapi import FastAPI, HTTPException, Request, Response
from PIL import Image, UnidentifiedImageError

FOLDER = Path(os.environ.get("SM_MODEL_DIR", "/opt/ml/model"))
ATTRIBUTES = "X-Amzn-SageMaker-Custom-Attributes"
MOST_BYTES = int(os.environ.get("SAGEMAKER_MAX_PAYLOAD_IN_MB", "25")) << 20

manifest = json.loads((FOLDER / "manifest.json").read_text("utf-8"))
wanted = manifest["input"]
labels = manifest["labels"]
normalization = wanted.get("normalization") or {}
offset = np.array(normalization.get("offset", (0, 0, 0)), np.float32)
scale = np.array(normalization.get("scale", (1, 1, 1)), np.float32)
network = tf.saved_model.load(str(FOLDER / manifest["network"]["file"]))
predict = network.signatures["serving_default"]
input_name = next(iter(predict.structured_input_signature[1]))
output_name = manifest["output"]["tensor"]


def probabilities(pixels: np.ndarray) -> np.ndarray:
    """The probability of each label."""
    answers = predict(**{input_name: tf.constant(pixels[None])})
    scores = answers.get(output_name, next(iter(answers.values())))
    is_ready = manifest["output"]["kind"] == "probabilities"
    return np.asarray(scores if is_ready else tf.nn.softmax(scores))[0]


probabilities(np.zeros((wanted["height"], wanted["width"], 3), np.float32))
app = FastAPI()


@app.get("/ping")
def ping() -> dict[str, str]:
    """Answer once the model is loaded: the worker accepts no connection before."""
    return {"status": "ready"}


@app.post("/invocations")
async def invocations(request: Request, response: Response) -> dict[str, object]:
    """Classify one image."""
    began = time.perf_counter()
    content = await request.body()
    if len(content) > MOST_BYTES:
        raise HTTPException(413, f"at most {MOST_BYTES} bytes")
    try:
        picture = Image.open(io.BytesIO(content)).convert("RGB")
    except (UnidentifiedImageError, OSError, ValueError) as error:
        raise HTTPException(400, "this is no image that can be read") from error
    size = (wanted["width"], wanted["height"])
    if picture.size != size:
        picture = picture.resize(size, Image.Resampling.BILINEAR)
    pixels = (np.asarray(picture, np.float32) - offset) / scale
    asked = time.perf_counter()
    found = probabilities(pixels)
    answered = time.perf_counter()
    if ATTRIBUTES in request.headers:
        response.headers[ATTRIBUTES] = request.headers[ATTRIBUTES]
    return {
        "label": labels[int(found.argmax())],
        "probabilities": dict(zip(labels, found.tolist(), strict=True)),
        "requestLatency": answered - began,
        "predictionLatency": answered - asked,
    }
