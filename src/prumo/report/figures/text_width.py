"""Text of figures that is as wide as it was laid out, whichever fonts the reader has."""

from __future__ import annotations

import re
from html import unescape
from unicodedata import normalize

# In thousandths of the size, of Liberation Sans; Arial and Helvetica are as wide.
_SIGNS = {
    200: "\N{NARROW NO-BREAK SPACE}", 278: " \N{NO-BREAK SPACE},./\\I", 333: "()-`·²³",
    400: "°", 549: "±≤≥", 556: "#$0123456789_\N{EN DASH}€", 576: "µ",
    584: "+<=>~\N{MULTIPLICATION SIGN}\N{MINUS SIGN}", 778: "GOQ", 833: "M", 944: "W",
    1000: "—…→‰",
}  # fmt: skip
_REGULAR = {
    191: "'", 222: "ijl", 260: "|", 278: "!:;[]ft", 333: "r", 334: "{}", 355: '"', 389: "*",
    469: "^", 500: "Jcksvxyz", 556: "?Labdeghnopqu", 611: "FTZøß", 667: "&ABEKPSVXY",
    722: "CDHNRUw", 833: "m", 889: "%æ", 1015: "@",
}  # fmt: skip
_BOLD = {
    238: "'", 278: "ijl", 280: "|", 333: "!:;[]ft", 389: "*r{}", 474: '"', 500: "z",
    556: "Jaceksvxy", 584: "^", 611: "?FLTZbdghnopquøß", 667: "EPSVXY", 722: "&ABCDHKNRU",
    778: "w", 889: "%mæ", 975: "@",
}  # fmt: skip
_WIDTHS = {
    is_bold: {
        letter: width
        for table in (_SIGNS, own)
        for width, letters in table.items()
        for letter in letters
    }
    for is_bold, own in ((False, _REGULAR), (True, _BOLD))
}
_TEXT = re.compile(r'<text (?P<marks>[^>]*font-size="(?P<size>[\d.]+)px"[^>]*)>(?P<words>[^<]+)<')


def text_pixels(text: str, size: float, *, is_bold: bool = False) -> float | None:
    """How wide a line is drawn; None with letters of which that is not known.

    >>> text_pixels("1,024", 12)
    30.024
    """
    # Letters with accents are as wide as without.
    letters = [normalize("NFD", letter)[0] for letter in text]
    try:
        return size * sum(_WIDTHS[is_bold][letter] for letter in letters) / 1000
    except KeyError:
        return None


def keep_widths(svg: str) -> str:
    """The drawing with the width of every text, to which a viewer with other fonts adapts."""
    return _TEXT.sub(_with_width, svg)


def _with_width(found: re.Match[str]) -> str:
    words, marks = found["words"], found["marks"]
    width = text_pixels(unescape(words), float(found["size"]), is_bold='weight="bold"' in marks)
    if not width:
        return found[0]
    return f'<text {marks} textLength="{width:.1f}" lengthAdjust="spacingAndGlyphs">{words}<'
