"""The widths of text that figures are laid out with."""

from __future__ import annotations

import re
from html import escape

import pytest
import vl_convert

from prumo.report.figures.figure import FONT
from prumo.report.figures.text_width import keep_widths, text_pixels

SENTENCES = [
    "The quick brown fox jumps over the lazy dog",
    "SPHINX OF BLACK QUARTZ, JUDGE MY VOW",
    "C12: rede1 · 2gb \N{MULTIPLICATION SIGN} 0123456789 [µs] ±5 % (n < 64)",
    "requisições até à máquina: média, não há",
    "#$&'*+-./;=>?@^_`{|}~ €°≤≥—…→",
]


@pytest.mark.parametrize("weight", ["normal", "bold"])
@pytest.mark.parametrize("text", SENTENCES)
def test_text_is_as_wide_as_the_layout_takes_it(text: str, weight: str) -> None:
    axis = {"labelLimit": 10**6, "ticks": False, "domain": False, "labelPadding": 0}
    style = {"labelFontSize": 100, "labelFontWeight": weight, "title": None}
    chart = {
        "width": 10,
        "height": 10,
        "padding": 0,
        "data": {"values": [{"text": text}]},
        "mark": "point",
        "encoding": {"y": {"field": "text", "axis": {**axis, **style}}},
        "config": {"font": FONT},
    }
    laid_out = float(
        re.findall(r'<svg[^>]* width="([\d.]+)"', vl_convert.vegalite_to_svg(chart))[0]
    )

    # Pairs of letters such as AV stand closer together.
    assert text_pixels(text, 100, is_bold=weight == "bold") == pytest.approx(
        laid_out - 10, rel=0.02
    )


def test_a_drawing_keeps_the_widths_of_its_texts() -> None:
    text = f'<text font-size="10px" fill="red">{escape("a < b")}</text>'

    assert keep_widths(text) == text.replace(
        'red">', 'red" textLength="22.5" lengthAdjust="spacingAndGlyphs">'
    )


def test_text_in_letters_of_unknown_width_is_left_as_it_is() -> None:
    text = '<text font-size="10px">速度</text>'

    assert text_pixels("速度", 10) is None
    assert keep_widths(text) == text
