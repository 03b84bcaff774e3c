"""The page for people: one HTML document with its styles and its script inside."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from prumo.model.answer import deciding_point
from prumo.report.language import LANGUAGES, language
from prumo.retina.card.wording import told_point
from prumo.retina.grade import REFERABLE_FROM
from prumo.retina.prediction.urgency import Urgency
from prumo.serve.page.texts import COLUMNS, known_words, page_texts
from prumo.version import __version__

if TYPE_CHECKING:
    from jinja2 import Template

    from prumo.model.manifest import Manifest

_SCRIPT = ("language", "server", "worklist", "card", "heat_map", "table", "page")
"""The files of the script in the order in which they build on each other."""


@dataclass(frozen=True)
class Served:
    """What the page must know of the server."""

    manifest: Manifest
    has_heat_maps: bool
    most_bytes: int
    """Of one photograph."""


def page(served: Served, tag: str) -> str:
    """The page in a language; it has the others with it."""
    manifest = served.manifest
    is_retina = manifest.task != "classification"
    return _template("page.html").render(
        tag=tag,
        languages=LANGUAGES,
        text=page_texts(language(tag), is_retina=is_retina),
        model=manifest,
        is_retina=is_retina,
        data=_data(served, is_retina=is_retina),
        style=_source("page.css"),
        script=_script(),
        prumo_version=__version__,
    )


def waiting_page(tag: str) -> str:
    """What is shown until the model is loaded; it asks again by itself."""
    text = page_texts(language(tag), is_retina=False)
    return _template("waiting.html").render(tag=tag, text=text, style=_source("page.css"))


@cache
def content_security_policy() -> str:
    """Allows the page its own style, script and server, and nothing else."""
    script, style = _digest(_script()), _digest(_source("page.css"))
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src '{script}'",
            f"style-src '{style}'",
            "img-src blob: data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    )


def _data(served: Served, *, is_retina: bool) -> dict[str, Any]:
    """What the script reads."""
    manifest = served.manifest
    threshold, point = deciding_point(manifest)
    return {
        "task": manifest.task,
        "labels": manifest.labels,
        "model": {"name": manifest.name, "version": manifest.version},
        "threshold": threshold if is_retina else None,
        "referableFrom": int(REFERABLE_FROM),
        "hasHeatMaps": served.has_heat_maps,
        "mostBytes": served.most_bytes,
        "urgencies": [urgency.value for urgency in Urgency],
        "languages": {
            tag: {
                "texts": page_texts(language(tag), is_retina=is_retina),
                "columns": {name: language(tag).say(name) for name in COLUMNS},
                "words": known_words(language(tag), manifest.labels),
                "point": told_point(point, language(tag)),
            }
            for tag in LANGUAGES
        },
    }


def _template(name: str) -> Template:
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("prumo.serve.page", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _script() -> str:
    return "\n".join(_source(f"script/{name}.js") for name in _SCRIPT)


@cache
def _source(name: str) -> str:
    return (files("prumo.serve.page") / name).read_text("utf-8")


def _digest(source: str) -> str:
    digest = hashlib.sha256(source.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
