"""A model becomes a package, where the user wants it or in the cache to be served as it is.

How it must be used is what it says itself, and what whoever packages it adds.
"""

from __future__ import annotations

import hashlib
import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.cache import discard, made_folder
from prumo.errors import InputError, did_you_mean
from prumo.message import Message
from prumo.report.language import language
from prumo.version import __version__
from prumo_serve.manifest import (
    MANIFEST_FILE,
    NORMALIZATIONS,
    SEEN_FILE,
    ImagePreprocessing,
    Manifest,
    NetworkFile,
    OperatingPoint,
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
from prumo_serve.source import (
    ModelMetadata,
    PackedNetwork,
    Source,
    agreed_side,
    onnx_file,
    recognized,
)
from prumo_serve.task import task_named

if TYPE_CHECKING:
    from prumo.progress import Progress
    from prumo.report.language import Language
    from prumo_serve.choices import Fit, Layout, RuntimeName


ONNX_FILE = "network.onnx"


class MissingSettingsError(InputError):
    """Neither the model nor its user says how it is used."""

    def __init__(self, path: Path, missing: Mapping[str, str]) -> None:
        flags = "".join(f"\n  {flag} ({meaning})" for flag, meaning in missing.items())
        super().__init__(f"{path} does not tell how it is used; give also{flags}")
        self.missing = missing
        """Flags with an example, and what each of them means."""


@dataclass(frozen=True)
class PackageRequest:
    """What a user says about a model; empty or None where the model itself is to say it."""

    name: str = ""
    task: str | None = None
    labels: tuple[str, ...] = ()
    size_pixels: int | None = None
    """Side of the square that the network takes, where it would take any."""
    normalization: str | None = None
    layout: Layout | None = None
    fit: Fit | None = None
    points: tuple[str, ...] = ()
    """`NAME=THRESHOLD`, or the name of a point that the model has; the first decides."""
    card: str = ""
    language_tag: str = "en"
    """Of the short card that a model gets which brings none."""
    runtime: RuntimeName = "onnxruntime"


def agreed_terms(source: Source, request: PackageRequest) -> ModelMetadata:
    """What model and user say together; an error names all that neither of them says."""
    metadata = source.metadata
    _require_silence(source, request)
    task = metadata.task or request.task or "classification"
    meaning = task_named(task)
    labels = metadata.labels or request.labels or meaning.labels
    normalization = metadata.normalization or request.normalization or ""
    points, point = _points(metadata, request)
    missing = {}
    if not labels:
        missing["--labels red,green,blue"] = "the classes in the order of its outputs"
    if not normalization:
        missing["--normalization NAME"] = f"its pixels: {', '.join(NORMALIZATIONS)}"
    if meaning.point_meaning and not point:
        missing["--point NAME=THRESHOLD"] = meaning.point_meaning
    if missing:
        raise MissingSettingsError(source.path, missing)
    _require_as_many(labels, source)
    if normalization not in NORMALIZATIONS:
        known = did_you_mean(normalization, NORMALIZATIONS)
        raise InputError(f"no normalization '{normalization}': {known}")
    return replace(
        metadata,
        name=request.name or metadata.name,
        task=task,
        labels=labels,
        normalization=normalization,
        preprocessing=metadata.preprocessing or ImagePreprocessing(fit=request.fit or "stretch"),
        points=points,
        point=point,
        card=request.card or metadata.card,
    )


def _require_silence(source: Source, request: PackageRequest) -> None:
    """Refuse a request about what the model itself says."""
    metadata = source.metadata
    spoken = {
        "--task": metadata.task and request.task and metadata.task != request.task,
        "--labels": metadata.labels and request.labels,
        "--fit": metadata.preprocessing and request.fit,
        "--normalization": metadata.normalization
        and request.normalization
        and NORMALIZATIONS.get(request.normalization, ...)
        != NORMALIZATIONS[metadata.normalization],
    }
    for flag, contradicts in spoken.items():
        if contradicts:
            raise InputError(f"{source.path} says itself how it is used: leave {flag} out")


def _require_as_many(labels: tuple[str, ...], source: Source) -> None:
    """Refuse another number of labels than the network has outputs, before it is converted."""
    outputs = source.metadata.outputs
    # One number can stand for two labels: the probability of the second.
    if outputs is None or len(labels) == outputs or (outputs, len(labels)) == (1, 2):
        return
    raise InputError(
        f"{source.path} gives {outputs} numbers for each image, but there are {len(labels)} "
        "labels: give --labels one for each, in the order of its outputs"
    )


def _points(
    metadata: ModelMetadata, request: PackageRequest
) -> tuple[tuple[OperatingPoint, ...], str]:
    """All points, and the name of the one that decides."""
    points = {point.name: point for point in metadata.points}
    names = []
    for text in request.points:
        name, equals, threshold = text.partition("=")
        if equals:
            try:
                points[name] = OperatingPoint(name=name, threshold=float(threshold))
            except ValueError:
                raise InputError(
                    f"--point {text}: give a name without slashes, and as the threshold a "
                    "probability from 0 to 1"
                ) from None
        elif name not in points:
            known = did_you_mean(name, points) if points else "give a threshold too: NAME=0.5"
            raise InputError(f"the model has no operating point '{name}': {known}")
        names.append(name)
    return tuple(points.values()), names[0] if names else metadata.point


def given_labels(text: str) -> tuple[str, ...]:
    """Names with commas between, or those in the lines of a file.

    >>> given_labels("cat, dog")
    ('cat', 'dog')
    """
    path = Path(text)
    try:
        is_file = bool(text) and path.is_file()
        parts = path.read_text("utf-8").splitlines() if is_file else text.split(",")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{text[:80]}: labels cannot be read: {error}") from error
    labels = tuple(part.strip() for part in parts if part.strip())
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise InputError(f"two classes have the same label: {', '.join(twice)}")
    return labels


def _packed_network(
    source: Source, request: PackageRequest, folder: Path, progress: Progress
) -> PackedNetwork:
    """Put the network of a source into a folder, in the format of the requested runtime."""
    size_pixels, layout = request.size_pixels, request.layout
    if source.format == "onnx" and request.runtime == "onnxruntime":
        model = onnx_file.checked_model(source.path)
        onnx_file.write_one_file(source.path, folder / ONNX_FILE)
        return PackedNetwork(
            NetworkFile(
                file=ONNX_FILE, runtime="onnxruntime", precision=onnx_file.precision_of(model)
            ),
            onnx_file.interface(model, source.path, layout, size_pixels),
            onnx_file.format_versions(model),
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
    require_described(source, path)
    # What was tampered with or half removed is made again.
    discard(out, MANIFEST_FILE)
    progress.say(f"packaging {path} into {out}; `prumo model package` makes one to keep")
    make_package_of(source, PackageRequest(), out, progress)
    return out


def require_described(source: Source, path: Path) -> None:
    """Refuse a model that neither `packaged` nor a server can use without being told how."""
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
