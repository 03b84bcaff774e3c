"""Every text of the page; what stands in braces is filled in by the page itself."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from prumo.message import Message
from prumo.report.language import LANGUAGES, language
from prumo.version import __version__
from prumo_retina.card.wording import told_point
from prumo_retina.fundus.quality import Verdict
from prumo_retina.grade import REFERABLE_FROM
from prumo_retina.referral import Urgency
from prumo_serve.answer import deciding_point

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2 import Template

    from prumo.report.language import Language
    from prumo_serve.manifest import Manifest


_SHARED: Mapping[str, Message] = {
    "drop": Message("Drop photographs here, or"),
    "choose": Message("Choose photographs"),
    "take": Message("Take a photograph"),
    "kinds": Message("JPEG or PNG"),
    "not_stored": Message(
        "Nothing is stored: photographs go to this server, are judged in memory and forgotten. "
        "Closing this page forgets the answers too."
    ),
    "model": Message("Model"),
    "version": Message("version {version}"),
    "language": Message("Language"),
    "progress": Message("{done} of {total} answered"),
    "waiting": Message("waiting"),
    "asking": Message("being judged"),
    "busy": Message("the server is busy; trying again"),
    "probability": Message("Probability"),
    "probabilities": Message("Probabilities"),
    "heat_map": Message("Heat map"),
    "heat_map_loading": Message("Drawing the heat map"),
    "heat_map_failed": Message("The heat map could not be made."),
    "heat_map_of": Message("Heat map of {name}"),
    "heat_map_caption": Message(
        "On the left what the network saw. On the right the same in grey: yellow where the answer "
        "comes from, blue where not."
    ),
    "again": Message("Try again"),
    "again_all": Message("Try all again that have no answer"),
    "remove": Message("Remove"),
    "remove_named": Message("Remove {name}"),
    "clear": Message("Remove all"),
    "print": Message("Print"),
    "save": Message("Save as CSV"),
    "yes": Message("yes"),
    "no": Message("no"),
    "no_answer": Message("no answer"),
    "unreadable": Message("cannot be read"),
    "offline": Message("The server cannot be reached. Is it running, and are you connected?"),
    "late": Message("The server took too long to answer."),
    "overloaded": Message("The server has been too busy for too long."),
    "too_large": Message("The file is larger than the {most} MB that the server takes."),
    "failed": Message("The server answered with an error ({status})."),
    "without_script": Message("This page needs JavaScript, which is switched off here."),
    "loading": Message("The model is being loaded. This page opens by itself in a moment."),
}
_RETINA: Mapping[str, Message] = {
    "title": Message("Photographs of the retina"),
    "caution": Message(
        "Decision support for diabetic retinopathy, not a diagnosis: a health professional "
        "decides. Macular oedema is not judged."
    ),
    "ungradable": Message("A photograph that cannot be judged counts as a referral."),
    "worklist": Message("Worklist, the most urgent first"),
    "grade": Message("Grade"),
    "referral_probability": Message("Probability of a referral"),
    "threat_probability": Message("Severe or proliferative"),
    "threshold": Message("refer from {threshold} on"),
    "threshold_of": Message("refer from {threshold} on ({point})"),
    "quality": Message("Quality"),
    "refer_reason": Message(
        "Referred because the probability of a referral, {probability}, reaches the threshold of "
        "{threshold}, though the most probable single grade would not be referred."
    ),
    "foreign": Message("not a JPEG or PNG photograph"),
}
_PLAIN: Mapping[str, Message] = {
    "title": Message("Images to classify"),
    "caution": Message("The answers come from a model and may be wrong: a person decides."),
    "worklist": Message("Answers"),
}

_COLUMNS = (
    Message("file"),
    Message("quality"),
    Message("reason"),
    Message("grade"),
    Message("grade_title"),
    Message("label"),
    Message("probability"),
    Message("severe_or_proliferative_probability"),
    Message("threshold"),
    Message("refer"),
    Message("urgency"),
    Message("model"),
    Message("model_version"),
)
COLUMNS = tuple(column.text for column in _COLUMNS)
"""Of the table that can be saved; English readers get them as programs know them."""


def page_texts(language: Language, *, is_retina: bool) -> dict[str, str]:
    """Name → text in a language, with the braces still in it."""
    chosen = {**_SHARED, **(_RETINA if is_retina else _PLAIN)}
    return {name: language.say(message.text) for name, message in chosen.items()}


def known_words(language: Language, labels: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Words that answers are made of, by what programs call them, in a language."""
    return {
        "labels": {label: language.say(label) for label in labels},
        "urgencies": {urgency.value: language.say(urgency.label) for urgency in Urgency},
        "verdicts": {verdict.value: language.say(verdict.label) for verdict in Verdict},
    }


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
        loader=PackageLoader("prumo_serve.server.page", "."),
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
    return (files("prumo_serve.server.page") / name).read_text("utf-8")


def _digest(source: str) -> str:
    digest = hashlib.sha256(source.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
