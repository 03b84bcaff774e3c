"""What goes wrong with photographs of a fundus, done on purpose to good ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np
import simplejpeg

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo_retina.fundus.circle import Circle

    Fault = Callable[[np.ndarray, Circle], "Faulty"]


@dataclass(frozen=True)
class Faulty:
    """A photograph with a fault, and how many columns and rows were cut off at its left and top."""

    pixels: np.ndarray
    left: int = 0
    top: int = 0


def light_times(factor: float) -> Fault:
    return lambda pixels, _circle: Faulty(cv2.convertScaleAbs(pixels, alpha=factor))


def blurred_by(share: float) -> Fault:
    """By a standard deviation that is a share of the radius."""
    return lambda pixels, circle: Faulty(cv2.GaussianBlur(pixels, (0, 0), share * circle.radius))


def grain_of(levels: float) -> Fault:
    """By a standard deviation in levels of brightness; the background has it too."""

    def grainy(pixels: np.ndarray, _circle: Circle) -> Faulty:
        grain = np.random.default_rng(1).normal(0, levels, pixels.shape)
        return Faulty((pixels + grain).clip(0, 255).astype(np.uint8))

    return grainy


def grain_in_fundus(levels: float) -> Fault:
    """The background stays black, as where a camera masks it."""

    def grainy(pixels: np.ndarray, circle: Circle) -> Faulty:
        with_grain = grain_of(levels)(pixels, circle).pixels
        return Faulty(np.where(_in_fundus(pixels, circle), with_grain, pixels))

    return grainy


def noise_alone(pixels: np.ndarray, circle: Circle) -> Faulty:
    """A disc of random levels on black, where the fundus was."""
    noise = np.random.default_rng(1).integers(0, 256, pixels.shape, np.uint8)
    return Faulty(np.where(_in_fundus(pixels, circle), noise, 0).astype(np.uint8))


def out_of_frame(share: float) -> Fault:
    """This share of the diameter is left of the photograph."""

    def shifted(pixels: np.ndarray, circle: Circle) -> Faulty:
        lost = max(0, round(circle.x + (2 * share - 1) * circle.radius))
        return Faulty(np.ascontiguousarray(pixels[:, lost:]), left=lost)

    return shifted


def _untouched(pixels: np.ndarray, _circle: Circle) -> Faulty:
    return Faulty(pixels)


def _compressed(pixels: np.ndarray, _circle: Circle) -> Faulty:
    jpeg = simplejpeg.encode_jpeg(np.ascontiguousarray(pixels), quality=15)
    return Faulty(simplejpeg.decode_jpeg(jpeg))


def _grey_background(pixels: np.ndarray, _circle: Circle) -> Faulty:
    """Black is not black in a scan of a slide."""
    return Faulty(cv2.convertScaleAbs(pixels, alpha=0.85, beta=30))


def _hazy_beside(pixels: np.ndarray, circle: Circle) -> Faulty:
    """Stray light that goes on over the rim, brightest at the right."""
    x, _ = _from_centre(pixels, circle)
    light = 90 * (x.clip(0, 1.3) / 1.3) ** 2
    return Faulty(_lit(pixels, light))


def _reflecting(pixels: np.ndarray, circle: Circle) -> Faulty:
    """A white spot of the lens across the rim."""
    x, y = _from_centre(pixels, circle)
    return Faulty(_lit(pixels, 300 * np.exp(-((x - 0.9) ** 2 + (y - 0.3) ** 2) / 0.02)))


def _annotated(pixels: np.ndarray, circle: Circle) -> Faulty:
    """Lines of white letters in two corners."""
    written, scale = pixels.copy(), circle.radius / 250
    for line, (text, x) in enumerate([("OD 45", -1.25), ("0012345", -1.25), ("12/05", 0.7)]):
        corner = (circle.x + x * circle.radius, circle.y - (0.7 - 0.13 * line) * circle.radius)
        place = (max(0, round(corner[0])), round(corner[1]))
        cv2.putText(
            written, text, place, cv2.FONT_HERSHEY_SIMPLEX, scale, (255,) * 3, round(3 * scale)
        )
    return Faulty(written)


def _shaded(pixels: np.ndarray, circle: Circle) -> Faulty:
    """Light falls to a tenth towards the left rim."""
    x, _ = _from_centre(pixels, circle)
    return Faulty(_dimmed(pixels, 0.1 + 0.9 * ((x + 1) / 1.2).clip(0, 1)))


def _lid(pixels: np.ndarray, circle: Circle) -> Faulty:
    """A lid hides the lower quarter behind a soft edge."""
    _, y = _from_centre(pixels, circle)
    return Faulty(_dimmed(pixels, ((0.5 - y) / 0.1).clip(0, 1)))


def _cropped(pixels: np.ndarray, circle: Circle) -> Faulty:
    """Only the middle of the fundus, with four corners of black."""
    reach = 0.8 * circle.radius
    left, top = max(0, round(circle.x - reach)), max(0, round(circle.y - reach))
    right, bottom = round(circle.x + reach), round(circle.y + reach)
    return Faulty(np.ascontiguousarray(pixels[top:bottom, left:right]), left, top)


def _widened(pixels: np.ndarray, circle: Circle) -> Faulty:
    """Small in a large black photograph."""
    border = round(circle.radius)
    wide = cv2.copyMakeBorder(pixels, border, border, border, border, cv2.BORDER_CONSTANT)
    return Faulty(wide, -border, -border)


FAULTS: dict[str, Fault] = {
    "untouched": _untouched,
    "an eighth of the light": light_times(1 / 8),
    "blurred": blurred_by(0.03),
    "grain": grain_of(12),
    "strongly compressed": _compressed,
    "grey background": _grey_background,
    "haze beside the fundus": _hazy_beside,
    "reflection on the rim": _reflecting,
    "letters in corners": _annotated,
    "dark on one side": _shaded,
    "lid over a quarter": _lid,
    "a fifth out of frame": out_of_frame(0.2),
    "cropped to the middle": _cropped,
    "wide black border": _widened,
}


def _in_fundus(pixels: np.ndarray, circle: Circle) -> np.ndarray:
    x, y = _from_centre(pixels, circle)
    inside: np.ndarray = (x**2 + y**2 <= 1)[..., None]
    return inside


def _from_centre(pixels: np.ndarray, circle: Circle) -> tuple[np.ndarray, np.ndarray]:
    """Columns and rows of pixels, in radii from the centre."""
    height, width = pixels.shape[:2]
    x = (np.arange(width, dtype=np.float32) + 0.5 - circle.x) / circle.radius
    y = (np.arange(height, dtype=np.float32) + 0.5 - circle.y) / circle.radius
    return x[None, :], y[:, None]


def _lit(pixels: np.ndarray, light: np.ndarray) -> np.ndarray:
    lit: np.ndarray = (pixels + light[..., None]).clip(0, 255).astype(np.uint8)
    return lit


def _dimmed(pixels: np.ndarray, share: np.ndarray) -> np.ndarray:
    dimmed: np.ndarray = (pixels * share[..., None]).astype(np.uint8)
    return dimmed
