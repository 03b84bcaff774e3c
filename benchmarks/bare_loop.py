"""A plain hand-written PyTorch training loop: what a user would write without Prumo.

Run by the environment of PyTorch; prints how many seconds its epochs took.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import torch
from torch import nn


def main(settings: dict[str, int]) -> float:
    torch.set_num_threads(settings["threads"])
    random = np.random.default_rng(1)
    images = random.integers(
        0, 256, (settings["images"], 3, settings["image_size"], settings["image_size"]), np.uint8
    )
    labels = random.integers(0, 10, settings["images"])
    side = settings["image_size"] // 4
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(64, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * side * side, 256),
        nn.ReLU(),
        nn.Linear(256, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    size = settings["batch_size"]
    for position in range(settings["warmup_steps"] + settings["epochs"]):
        order = random.permutation(len(labels))
        if position < settings["warmup_steps"]:
            order = order[:size]
        if position == settings["warmup_steps"]:
            began = time.perf_counter()
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            batch = torch.from_numpy(images[chosen].astype(np.float32) / np.float32(127.5) - 1)
            loss = nn.functional.cross_entropy(model(batch), torch.from_numpy(labels[chosen]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return time.perf_counter() - began


if __name__ == "__main__":
    print(main(json.loads(sys.argv[1])))
