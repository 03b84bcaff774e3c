"""The steps of Voets 2019 as one would write them down, on the whole photograph throughout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np

from prumo_retina.fundus.circle import Circle

if TYPE_CHECKING:
    from pathlib import Path


def prepare_plainly(source: Path, target: Path, size: int) -> Circle:
    """Read, find, crop, scale, pad and write one photograph."""
    image = cv2.imread(str(source))
    assert image is not None
    contrast = (255 / 1.3 * (image / (255 / 1.5)) ** 2).clip(0, 255).astype(np.uint8)
    grey = cv2.cvtColor(contrast, cv2.COLOR_BGR2GRAY)
    contours, _ = cv2.findContours(grey, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    largest = max(contours, key=cv2.contourArea)
    _, radius = cv2.minEnclosingCircle(largest)
    moments = cv2.moments(largest)
    circle = Circle(moments["m10"] / moments["m00"], moments["m01"] / moments["m00"], radius)
    left, top = max(0, int(circle.x - radius)), max(0, int(circle.y - radius))
    cropped = image[top : int(circle.y + radius), left : int(circle.x + radius)]
    factor = size / (2 * radius)
    scaled = cv2.resize(cropped, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)
    height, width = scaled.shape[:2]
    above, before = (size - height) // 2, (size - width) // 2
    padded = cv2.copyMakeBorder(
        scaled,
        above,
        size - height - above,
        before,
        size - width - before,
        cv2.BORDER_CONSTANT,
    )
    cv2.imwrite(str(target), padded, [cv2.IMWRITE_JPEG_QUALITY, 100])
    return circle
