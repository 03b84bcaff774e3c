"""What a request wants beside the answer itself: a language, a heat map."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from prumo.report.language import LANGUAGES, Language, english, language
from prumo.serve.http.refusal import wrong_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prumo.serve.work.engine import Engine

_ANSWERS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True)
class Wish:
    """How an answer is to be told."""

    language: Language
    heat_map: bool


async def wish_of(query: Mapping[str, str], engine: Engine) -> Wish:
    """The wish in the query of an address.

    Raises:
        Refusal: It wants what there is not.
    """
    heat_map = query.get("heat_map", "false").lower()
    if heat_map not in _ANSWERS:
        raise wrong_values("heat_map must be true or false")
    tag = query.get("lang", "en")
    if tag.lower() not in {known.lower() for known in LANGUAGES}:
        raise wrong_values(f"lang must be one of {', '.join(LANGUAGES)}")
    # The first time, reading translations takes longer than a request may hold up others.
    told = english() if tag == "en" else await engine.call(partial(language, tag))
    return Wish(told, _ANSWERS[heat_map])
