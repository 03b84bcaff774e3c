"""A card as one HTML page that opens anywhere: styles, figures and pictures inside."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined

from prumo.version import __version__

if TYPE_CHECKING:
    from prumo.retina.card.block import Block, Card, Picture


def html(card: Card) -> str:
    """The text of `card.html`."""
    environment = Environment(
        # The look is that of Prumo's other pages.
        loader=PrefixLoader(
            {"card": PackageLoader("prumo.retina.card"), "report": PackageLoader("prumo.report")}
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["a"] = _is_a
    environment.filters["data_url"] = _data_url
    return environment.get_template("card/card.html").render(card=card, version=__version__)


def _is_a(block: Block, kind: str) -> bool:
    return type(block).__name__ == kind


def _data_url(picture: Picture) -> str:
    return f"data:image/png;base64,{b64encode(picture.png).decode()}"
