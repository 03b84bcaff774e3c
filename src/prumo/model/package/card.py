"""The card of a model: one that was given, or a short one that says what nobody has said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.errors import InputError
from prumo.message import Message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prumo.model.manifest import Manifest
    from prumo.report.language import Language

_DECISION_SUPPORT = Message("It is decision support and no diagnosis: a person decides.")
_OTHER_DISEASES = Message(
    "It does not judge macular oedema, nor glaucoma, occlusions or any other disease of the eye. A "
    "photograph that is not referred may still show one."
)
_NOTHING_TOLD = Message(
    "The model came without a card: nobody said what it was trained on and how often it is right. "
    "Judge it on images with known labels before relying on it."
)


def given_card(path: Path) -> str:
    """A card that somebody wrote."""
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the card cannot be read as text: {error}") from error


def short_card(manifest: Manifest, language: Language) -> str:
    """In Markdown, made of the manifest alone: always the same for the same model."""
    return "\n\n".join(_paragraphs(manifest, language)) + "\n"


def _paragraphs(manifest: Manifest, language: Language) -> Iterator[str]:
    wanted, origin = manifest.input, manifest.origin
    yield f"# {manifest.name}"
    yield f"*{language.say('model card')}*"
    yield language.say(
        Message("Made of {name}, SHA-256 {sha256}.", {"name": origin.name, "sha256": origin.sha256})
    )
    if manifest.task != "classification":
        yield language.say(_DECISION_SUPPORT)
        yield language.say(_OTHER_DISEASES)
    yield language.say(
        Message(
            "It takes images of {width} by {height} pixels and answers with one of these labels:",
            {"width": wanted.width, "height": wanted.height},
        )
    )
    yield "\n".join(f"- {language.say(label)}" for label in manifest.labels)
    if manifest.points:
        yield f"## {language.say('Operating points')}"
        yield "\n".join(
            "- "
            + language.say(
                Message(
                    "{name}: refers from a probability of {threshold:.3f} on",
                    {"name": point.name, "threshold": point.threshold},
                )
            )
            for point in manifest.points
        )
    yield language.say(_NOTHING_TOLD)
