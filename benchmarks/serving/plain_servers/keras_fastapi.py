"""FastAPI around Keras' `model.predict`.

gunicorn --workers 2 --worker-class uvicorn_worker.UvicornWorker keras_fastapi:app

The environment variable NETWORK names a `.keras` file.
"""

from __future__ import annotations

import io
import os
import time

import keras
import numpy as np
from fastapi import FastAPI, Request
from PIL import Image

SIZE = 224

app = FastAPI()
model = keras.models.load_model(os.environ["NETWORK"])


@app.get("/ping")
def ping() -> dict[str, str]:
    return {"status": "ready"}


@app.post("/invocations")
async def invocations(request: Request) -> dict[str, object]:
    began = time.perf_counter()
    image = Image.open(io.BytesIO(await request.body())).convert("RGB").resize((SIZE, SIZE))
    pixels = np.asarray(image, np.float32)[None] / 255
    asked = time.perf_counter()
    probabilities = model.predict(pixels, verbose=0)[0]
    answered = time.perf_counter()
    return {
        "probabilities": probabilities.tolist(),
        "requestLatency": answered - began,
        "predictionLatency": answered - asked,
    }
