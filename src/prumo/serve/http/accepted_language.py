"""The language that a browser prefers among those that we have."""

from __future__ import annotations

from prumo.report.language import LANGUAGES

_MOST_CHARACTERS = 1000


def accepted_language(wanted: str, header: str) -> str:
    """The tag of the wanted language, or else of the first that `Accept-Language` names.

    >>> accepted_language("", "fr, pt;q=0.8, en;q=0.5")
    'pt-BR'
    """
    ranges = [_range(part) for part in header[:_MOST_CHARACTERS].split(",")]
    preferred = [tag for weight, tag in sorted(ranges, key=_weight, reverse=True) if weight > 0]
    for tag in (wanted, *preferred):
        for known in LANGUAGES:
            if _family(tag) == _family(known):
                return known
    return LANGUAGES[0]


def _range(part: str) -> tuple[float, str]:
    tag, _, weight = part.partition(";")
    try:
        return float(weight.partition("=")[2] or 1), tag
    except ValueError:
        return 0.0, tag


def _weight(item: tuple[float, str]) -> float:
    return item[0]


def _family(tag: str) -> str:
    """The language without its country: who reads European Portuguese reads Brazilian too."""
    return tag.strip().lower().partition("-")[0]
