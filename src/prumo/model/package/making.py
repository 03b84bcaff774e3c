"""A package made of a model: its network in a runtime's format, and all that it needs besides."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.errors import InputError
from prumo.model.manifest import SEEN_FILE, Manifest, Origin
from prumo.model.package import Package, is_package
from prumo.model.package.card import short_card
from prumo.model.package.examination import require_working
from prumo.model.package.manifest_file import validated
from prumo.model.package.network import packed_network
from prumo.model.package.terms import Terms, Wish, agreed_terms
from prumo.model.package.writing import completed, require_package_name, write_package
from prumo.model.source import recognized
from prumo.report.language import language
from prumo.version import __version__

if TYPE_CHECKING:
    from prumo.model.package.network import PackedNetwork
    from prumo.model.source import Source
    from prumo.progress import Progress

CARD_FILE = "card.md"


def make_package(model: Path, wish: Wish, out: Path, progress: Progress) -> Manifest:
    """Package a model as a framework wrote it, and ask it once before anything is written.

    Raises:
        InputError: The model cannot be packaged, or neither it nor the wish says how it is used.
        UnavailableError: What converts or runs it is not installed.
    """
    if model.exists() and is_package(model):
        raise InputError(
            f"{model} is a package already: serve it as it is, see what it is with `prumo model "
            "show`, or make it smaller or for another runtime with `prumo model convert`"
        )
    require_package_name(out)
    progress.show(f"looking through {model}")
    return make_package_of(recognized(model), wish, out, progress)


def make_package_of(source: Source, wish: Wish, out: Path, progress: Progress) -> Manifest:
    """Package a model that has been recognized."""
    terms = agreed_terms(source, wish)
    with tempfile.TemporaryDirectory(prefix="prumo-package-") as temporary:
        content = Path(temporary)
        network = packed_network(source, wish, content, progress)
        manifest = _manifest(source, terms, network)
        card = terms.card or short_card(manifest, language(wish.language_tag))
        (content / CARD_FILE).write_text(card, encoding="utf-8")
        if source.told.seen:
            lines = (f"{digest}\n" for digest in source.told.seen)
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
