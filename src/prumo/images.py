"""What every reader of JPEG and PNG images has to know, whatever it makes of them.

Readers differ on purpose: a server decodes whole images under the limits of its user, a photograph
of an eye comes at a fraction of its size, and a set of images is brought to one small square. Here
is what must not differ. Pillow and simplejpeg are imported when they are needed: a server's start
does without Pillow, and a benchmark without simplejpeg.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

JPEG_MARK = b"\xff\xd8\xff"
PNG_MARK = b"\x89PNG\r\n\x1a\n"
"""How files begin."""
_SIMPLE_COLOURS = {"RGB", "YCbCr", "Gray"}
"""What simplejpeg turns to RGB as Pillow does; inks are not among them."""
_DEEP_GREY = "I;16"


def simple_jpeg_size(content: bytes) -> tuple[int, int] | None:
    """Width and height of a JPEG that simplejpeg can decode, by its header.

    None for others: Pillow is slower and knows more colours and samplings.
    """
    import simplejpeg  # noqa: PLC0415 (belongs to an extra)

    try:
        height, width, colours, _ = simplejpeg.decode_jpeg_header(content)
    except ValueError:
        return None
    return (width, height) if colours in _SIMPLE_COLOURS else None


def with_8_bits(picture: Image) -> Image:
    """A grey image of 16 bits by its high bytes, as Pillow reads colours; any other as it is.

    Pillow itself would cut grey values at 255 and not scale them.
    """
    if not picture.mode.startswith(_DEEP_GREY):
        return picture
    import numpy as np  # noqa: PLC0415 (few images need it)
    from PIL.Image import fromarray  # noqa: PLC0415 (as above)

    grey = fromarray((np.asarray(picture) >> 8).astype(np.uint8))
    grey.info.update(picture.info)
    return grey
