"""The page for people, where images are dropped and their answers listed.

What is the same for every model stands here; its task adds texts, a script and a style of its own.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from prumo.message import Message
from prumo.report.language import LANGUAGES, language
from prumo.version import __version__
from prumo_serve.task import TaskPage, task_named

if TYPE_CHECKING:
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
"""Every text that is the same for all tasks; what stands in braces is filled in by the script."""

_BEFORE_TASK = ("language", "server")
_AFTER_TASK = ("worklist", "card", "heat_map", "table", "page")
"""The files of the script in the order in which they build on each other."""


class Page(NamedTuple):
    """A document, and what a browser may do with it."""

    html: str
    content_security_policy: str


def page(manifest: Manifest, tag: str, *, has_heat_maps: bool, most_bytes: int) -> Page:
    """The page in a language; it has the others with it. An image has so many bytes at most."""
    part = task_named(manifest.task).page(manifest)
    before, after = (
        [_source(f"script/{name}.js") for name in names] for names in (_BEFORE_TASK, _AFTER_TASK)
    )
    script = "\n".join([*before, part.script, *after])
    style = _source("page.css") + part.style
    html = (
        _environment()
        .get_template("page.html")
        .render(
            tag=tag,
            languages=LANGUAGES,
            text=_texts(language(tag), part.texts),
            model=manifest,
            footnote=part.footnote,
            data={
                "labels": manifest.labels,
                "model": {"name": manifest.name, "version": manifest.version},
                "hasHeatMaps": has_heat_maps,
                "mostBytes": most_bytes,
                "task": dict(part.data),
                "columns": [column.text for column in part.columns],
                "languages": {tag: _spoken(manifest, part, language(tag)) for tag in LANGUAGES},
            },
            style=style,
            script=script,
            prumo_version=__version__,
        )
    )
    return Page(html, _policy(script, style))


def waiting_page(tag: str) -> Page:
    """What is shown until the model is loaded; it asks again by itself."""
    style = _source("page.css")
    text = _texts(language(tag), {})
    html = _environment().get_template("waiting.html").render(tag=tag, text=text, style=style)
    return Page(html, _policy("", style))


def classification_page() -> TaskPage:
    """The part of the task `classification`."""
    return TaskPage(
        texts={
            "title": Message("Images to classify"),
            "caution": Message("The answers come from a model and may be wrong: a person decides."),
            "worklist": Message("Answers"),
        },
        script=_source("script/classification.js"),
        columns=(Message("file"), Message("label"), Message("probability"), Message("reason")),
    )


_MODEL_COLUMNS = (Message("model"), Message("model_version"))


def _spoken(manifest: Manifest, part: TaskPage, language: Language) -> dict[str, Any]:
    kinds = {"labels": {label: label for label in manifest.labels}, **part.words}
    return {
        "texts": _texts(language, part.texts),
        # English readers get the names that programs know.
        "columns": {
            column.text: language.say(column.text) for column in (*part.columns, *_MODEL_COLUMNS)
        },
        "words": {
            kind: {name: language.say(word) for name, word in words.items()}
            for kind, words in kinds.items()
        },
    }


def _texts(language: Language, more: Mapping[str, Message]) -> dict[str, str]:
    """Name → text in a language, with the braces still in it."""
    chosen = {**_SHARED, **more}
    return {name: language.say(message.text) for name, message in chosen.items()}


def _policy(script: str, style: str) -> str:
    """Allows the page its own style, script and server, and nothing else."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_digest(script)}'",
            f"style-src '{_digest(style)}'",
            "img-src blob: data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    )


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
def _source(name: str) -> str:
    return (files("prumo_serve.server.page") / name).read_text("utf-8")


def _digest(source: str) -> str:
    digest = hashlib.sha256(source.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
