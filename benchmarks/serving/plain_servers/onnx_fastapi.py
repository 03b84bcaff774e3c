"""FastAPI around an ONNX Runtime session with its defaults, images read by Pillow.

uvicorn onnx_fastapi:app

The environment variable NETWORK names an ONNX file.
"""

from __future__ import annotations

import io
import os

import numpy as np
import onnxruntime
from fastapi import FastAPI, Request
from PIL import Image
from starlette.concurrency import run_in_threadpool

SIZE = 224

app = FastAPI()
session = onnxruntime.InferenceSession(os.environ["NETWORK"], providers=["CPUExecutionProvider"])


@app.get("/ping")
def ping() -> dict[str, str]:
    return {"status": "ready"}


@app.post("/invocations")
async def invocations(request: Request) -> dict[str, list[float]]:
    return {"probabilities": await run_in_threadpool(predicted, await request.body())}


def predicted(content: bytes) -> list[float]:
    image = Image.open(io.BytesIO(content)).convert("RGB").resize((SIZE, SIZE))
    pixels = np.asarray(image, np.float32)[None] / 255
    (probabilities,) = session.run(None, {session.get_inputs()[0].name: pixels})
    values: list[float] = probabilities[0].tolist()
    return values
