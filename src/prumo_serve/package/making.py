"""A model becomes a package, in a folder or in the cache: its network, card and manifest."""

from __future__ import annotations

import hashlib
import re
import shlex
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from prumo.cache import discard, made_folder
from prumo.errors import InputError
from prumo.message import Message
from prumo.report.language import language
from prumo.version import __version__
from prumo_serve.manifest import MANIFEST_FILE, SEEN_FILE, Manifest, NetworkFile, Origin
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
from prumo_serve.package.terms import MissingSettingsError, PackageRequest, Terms, agreed_terms
from prumo_serve.source import Source, recognized
from prumo_serve.source.onnx_file import checked_model, facts, write_one_file
from prumo_serve.task import task_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo.progress import Progress
    from prumo.report.language import Language
    from prumo_serve.manifest import HeatMap, Layout

ONNX_FILE = "network.onnx"

_NOTHING_KNOWN = Message(
    "The model came without a card: nobody said what it was trained on and how often it is right. "
    "Judge it on images with known labels before relying on it."
)

CARD_FILE = "card.md"
MODELS = "models"
_KEY_DIGITS = 16


def make_package(model: Path, request: PackageRequest, out: Path, progress: Progress) -> Manifest:
    """Package a model as a framework wrote it, and ask it once before anything is written.

    Raises:
        InputError: The model cannot be packaged, or neither it nor the request says how it is used.
        UnavailableError: What converts or runs it is not installed.
    """
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
        network = packed_network(source, request, content, progress)
        manifest = _manifest(source, terms, network)
        card = terms.card or short_card(manifest, language(request.language_tag))
        (content / CARD_FILE).write_text(card, encoding="utf-8")
        if source.metadata.seen:
            lines = (f"{digest}\n" for digest in source.metadata.seen)
            (content / SEEN_FILE).write_text("".join(lines), encoding="ascii")
        progress.show("asking the packaged network")
        require_working(Package(content, completed(content, manifest)))
        progress.show(f"writing {out}")
        return write_package(content, manifest, out)


def _manifest(source: Source, terms: Terms, network: PackedNetwork) -> Manifest:
    if terms.temperature != 1 and network.kind == "probabilities":
        raise InputError(
            f"{source.path} has a temperature of {terms.temperature:.4g}, but its network gives "
            "probabilities, to which none can be applied"
        )
    document = {
        "name": terms.name,
        "created": terms.created,
        "task": terms.task,
        "labels": terms.labels,
        "input": {
            "tensor": network.input_tensor,
            "height": network.height,
            "width": network.width,
            "layout": network.layout,
            "dtype": network.dtype,
            "normalization": terms.normalization,
            "preprocessing": terms.preprocessing,
        },
        "output": {
            "tensor": network.output_tensor,
            "kind": network.kind,
            "activation": network.activation,
            "temperature": terms.temperature,
        },
        "points": terms.points,
        "point": terms.point,
        "network": network.file,
        "heat_map": network.heat_map,
        "origin": Origin(format=source.format, name=source.path.name, sha256=source.sha256),
        "versions": {"prumo": __version__, **source.versions, **network.versions},
        "card": CARD_FILE,
    }
    return validated(document, f"{source.path} cannot be packaged")


def packaged(path: Path, progress: Progress) -> Path:
    """The folder of a package in the cache that holds the model at a path as it is now.

    Raises:
        InputError: It is no model, or does not tell how it is used; then how to package it.
    """
    source = recognized(path)
    name = re.sub(r"[^\w.-]+", "-", source.metadata.name)
    out = made_folder(MODELS) / f"{name}-{_key(source)}"
    if _is_whole(out):
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


def _key(source: Source) -> str:
    """Another one for everything that would make another package."""
    content = f"{__version__}\n{source.format}\n{source.sha256}\n{source.metadata}"
    return hashlib.sha256(content.encode()).hexdigest()[:_KEY_DIGITS]


def _is_whole(folder: Path) -> bool:
    if not folder.is_dir():
        return False
    try:
        open_package(folder)
    except InputError:
        return False
    return True


@dataclass(frozen=True)
class PackedNetwork:
    """A network's files in a package's folder, and how they are asked."""

    file: NetworkFile
    input_tensor: str
    height: int
    width: int
    layout: Layout
    dtype: Literal["float32", "uint8"]
    output_tensor: str
    kind: Literal["scores", "probabilities"]
    activation: Literal["softmax", "sigmoid"]
    versions: dict[str, str]
    heat_map: HeatMap | None = None


def packed_network(
    source: Source, request: PackageRequest, folder: Path, progress: Progress
) -> PackedNetwork:
    """Put the network of a source into a folder, in the format of the requested runtime."""
    if source.format == "onnx" and request.runtime == "onnxruntime":
        return _copied(source, request, folder)
    return _converted(source, request, folder, progress)


def _copied(source: Source, request: PackageRequest, folder: Path) -> PackedNetwork:
    model = checked_model(source.path)
    network_facts = facts(model, source.path, request.layout)
    write_one_file(source.path, folder / ONNX_FILE)
    return PackedNetwork(
        file=NetworkFile(file=ONNX_FILE, runtime="onnxruntime", precision=network_facts.precision),
        input_tensor=network_facts.input_tensor,
        height=_side(network_facts.height, request, source.path),
        width=_side(network_facts.width, request, source.path),
        layout=network_facts.layout,
        dtype=network_facts.dtype,
        output_tensor=network_facts.output_tensor,
        kind=network_facts.kind,
        activation=network_facts.activation,
        versions=network_facts.versions,
    )


def _converted(
    source: Source, request: PackageRequest, folder: Path, progress: Progress
) -> PackedNetwork:
    from prumo_serve.convert import converted  # noqa: PLC0415 (ONNX files need none of it)

    made = converted(
        source.path,
        source.format,
        request.runtime,
        folder,
        progress,
        size_pixels=request.size_pixels,
        layout=request.layout,
    )
    return PackedNetwork(
        file=made.network,
        input_tensor=made.input_tensor,
        height=_side(made.height, request, source.path),
        width=_side(made.width, request, source.path),
        layout=made.layout,
        dtype=made.dtype,
        output_tensor=made.output_tensor,
        kind=made.kind,
        activation=made.activation,
        versions=made.versions,
        heat_map=made.heat_map,
    )


def _side(network_pixels: int | None, request: PackageRequest, path: Path) -> int:
    if network_pixels is None and request.size_pixels is None:
        raise InputError(f"{path} takes images of any size: give --size, such as --size 224")
    if network_pixels is not None and request.size_pixels not in {None, network_pixels}:
        raise InputError(
            f"{path} takes images with sides of {network_pixels} pixels, not {request.size_pixels}"
        )
    return network_pixels or request.size_pixels or 0


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
