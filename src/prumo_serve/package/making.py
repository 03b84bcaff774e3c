"""A model becomes a package: where the user wants it, or in the cache to be served as it is."""

from __future__ import annotations

import hashlib
import re
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.cache import discard, made_folder
from prumo.errors import InputError
from prumo.message import Message
from prumo.report.language import language
from prumo.version import __version__
from prumo_serve.manifest import (
    MANIFEST_FILE,
    NORMALIZATIONS,
    SEEN_FILE,
    Manifest,
    NetworkFile,
    Origin,
)
from prumo_serve.package import (
    Package,
    completed,
    is_package,
    open_package,
    require_package_name,
    write_package,
)
from prumo_serve.package.archive import validated
from prumo_serve.package.check import require_working
from prumo_serve.package.terms import MissingSettingsError, PackageRequest, agreed_terms
from prumo_serve.source import ModelMetadata, PackedNetwork, Source, agreed_side, recognized
from prumo_serve.source.onnx_file import (
    checked_model,
    format_versions,
    interface,
    precision_of,
    write_one_file,
)
from prumo_serve.task import task_named

if TYPE_CHECKING:
    from prumo.progress import Progress
    from prumo.report.language import Language


ONNX_FILE = "network.onnx"


def _packed_network(
    source: Source, request: PackageRequest, folder: Path, progress: Progress
) -> PackedNetwork:
    """Put the network of a source into a folder, in the format of the requested runtime."""
    size_pixels, layout = request.size_pixels, request.layout
    if source.format == "onnx" and request.runtime == "onnxruntime":
        model = checked_model(source.path)
        write_one_file(source.path, folder / ONNX_FILE)
        return PackedNetwork(
            NetworkFile(file=ONNX_FILE, runtime="onnxruntime", precision=precision_of(model)),
            interface(model, source.path, layout, size_pixels),
            format_versions(model),
            heat_map=None,
        )
    from prumo_serve.convert import Conversion, converted  # noqa: PLC0415 (ONNX files need none)

    conversion = Conversion(
        source.path, source.format, request.runtime, size_pixels=size_pixels, layout=layout
    )
    made = converted(conversion, folder, progress)
    for side in (made.interface.height, made.interface.width):
        agreed_side(side, size_pixels, source.path)
    return made


_NOTHING_KNOWN = Message(
    "The model came without a card: nobody said what it was trained on and how often it is right. "
    "Judge it on images with known labels before relying on it."
)


def given_card(path: Path) -> str:
    """A card that somebody wrote."""
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the card cannot be read as text: {error}") from error


def _short_card(manifest: Manifest, language: Language) -> Iterator[str]:
    """Paragraphs in Markdown, made of the manifest alone: always the same for the same model."""
    wanted, origin = manifest.input, manifest.origin
    yield f"# {manifest.name}"
    yield f"*{language.say('model card')}*"
    yield language.say(
        Message("Made of {name}, SHA-256 {sha256}.", {"name": origin.name, "sha256": origin.sha256})
    )
    task = task_named(manifest.task)
    yield from (language.say(caution) for caution in task.card_cautions())
    yield language.say(
        Message(
            "It takes images of {width} by {height} pixels and answers with one of these labels:",
            {"width": wanted.width, "height": wanted.height},
        )
    )
    yield "\n".join(f"- {language.say(label)}" for label in manifest.labels)
    if manifest.points:
        yield f"## {language.say('Operating points')}"
        yield "\n".join(f"- {language.say(task.point_message(point))}" for point in manifest.points)
    yield language.say(_NOTHING_KNOWN)


CARD_FILE = "card.md"


def make_package(model: Path, request: PackageRequest, out: Path, progress: Progress) -> Manifest:
    """Package a model as a framework wrote it, and ask it once before anything is written."""
    if model.exists() and is_package(model):
        raise InputError(
            f"{model} is a package already: serve it as it is, see what it is with `prumo model "
            "show`, or make it smaller or for another runtime with `prumo model convert`"
        )
    require_package_name(out)
    progress.show(f"looking through {model}")
    return make_package_of(recognized(model), request, out, progress)


def make_package_of(
    source: Source, request: PackageRequest, out: Path, progress: Progress
) -> Manifest:
    """Package a model that has been recognized."""
    terms = agreed_terms(source, request)
    with tempfile.TemporaryDirectory(prefix="prumo-package-") as temporary:
        content = Path(temporary)
        network = _packed_network(source, request, content, progress)
        manifest = _manifest(source, terms, network)
        short = _short_card(manifest, language(request.language_tag))
        card = terms.card or "\n\n".join(short) + "\n"
        (content / CARD_FILE).write_text(card, encoding="utf-8")
        if source.metadata.seen:
            lines = (f"{digest}\n" for digest in source.metadata.seen)
            (content / SEEN_FILE).write_text("".join(lines), encoding="ascii")
        progress.show("asking the packaged network")
        require_working(Package(content, completed(content, manifest)))
        progress.show(f"writing {out}")
        return write_package(content, manifest, out)


def _manifest(source: Source, terms: ModelMetadata, network: PackedNetwork) -> Manifest:
    if terms.temperature != 1 and network.interface.kind == "probabilities":
        raise InputError(
            f"{source.path} has a temperature of {terms.temperature:.4g}, but its network gives "
            "probabilities, to which none can be applied"
        )
    asked = network.interface
    document = {
        "name": terms.name,
        "created": terms.created,
        "task": terms.task,
        "labels": terms.labels,
        "input": {
            "tensor": asked.input_tensor,
            "height": asked.height,
            "width": asked.width,
            "layout": asked.layout,
            "dtype": asked.dtype,
            "normalization": NORMALIZATIONS[terms.normalization or ""],
            "preprocessing": terms.preprocessing,
        },
        "output": {
            "tensor": asked.output_tensor,
            "kind": asked.kind,
            "activation": asked.activation,
            "temperature": terms.temperature,
        },
        "points": terms.points,
        "point": terms.point,
        "network": network.network,
        "heat_map": network.heat_map,
        "origin": Origin(format=source.format, name=source.path.name, sha256=source.sha256),
        "versions": {"prumo": __version__, **source.versions, **network.versions},
        "card": CARD_FILE,
    }
    return validated(document, f"{source.path} cannot be packaged")


MODELS = "models"
_KEY_DIGITS = 16


def packaged(path: Path, progress: Progress) -> Path:
    """The folder of a package in the cache that holds the model at a path as it is now."""
    source = recognized(path)
    name = re.sub(r"[^\w.-]+", "-", source.metadata.name)
    # Another one for everything that would make another package.
    content = f"{__version__}\n{source.format}\n{source.sha256}\n{source.metadata}"
    key = hashlib.sha256(content.encode()).hexdigest()[:_KEY_DIGITS]
    out = made_folder(MODELS) / f"{name}-{key}"
    if out.is_dir():
        with suppress(InputError):
            open_package(out)
            return out
    _require_described(source, path)
    # What was tampered with or half removed is made again.
    discard(out, MANIFEST_FILE)
    progress.say(f"packaging {path} into {out}; `prumo model package` makes one to keep")
    make_package_of(source, PackageRequest(), out, progress)
    return out


def require_described(path: Path) -> None:
    """Refuse what `packaged` would refuse without having begun, for the same reasons."""
    _require_described(recognized(path), path)


def _require_described(source: Source, path: Path) -> None:
    try:
        agreed_terms(source, PackageRequest())
    except MissingSettingsError as error:
        flags = " ".join(error.missing)
        meanings = "".join(
            f"\n  {flag.split()[0]}: {meaning}" for flag, meaning in error.missing.items()
        )
        raise InputError(
            f"{path} does not tell how it is used. First\n"
            f"  prumo model package {shlex.quote(str(path))} {flags} --out model.tar.gz{meanings}\n"
            "then give model.tar.gz in its place, as in\n"
            "  prumo serve model.tar.gz"
        ) from None
