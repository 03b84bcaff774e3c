"""A packaged model anew: for another runtime, or of smaller numbers."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.errors import InputError
from prumo.model.conversion.variant_network import VariantJob, require_sense, variant_network
from prumo.model.manifest import SEEN_FILE
from prumo.model.package import Package, is_package, open_or_package, write_package
from prumo.model.package.examination import require_working
from prumo.model.package.writing import completed, require_package_name
from prumo.model.quantization import needs_images
from prumo.model.quantization.calibration import drawn_images
from prumo.model.quantization.difference import answer_difference, require_agreement
from prumo.model.source import recognized
from prumo.version import __version__

if TYPE_CHECKING:
    from prumo.model.conversion.converted_network import Agreement, ConvertedNetwork
    from prumo.model.manifest import HeatMap, Manifest, Precision, RuntimeName
    from prumo.model.quantization.calibration import CalibrationImages
    from prumo.model.quantization.difference import Difference
    from prumo.model.source import Source
    from prumo.progress import Progress


@dataclass(frozen=True)
class VariantWish:
    """What is to be made of a model."""

    target: RuntimeName
    precision: Precision = "fp32"
    calibration: Path | None = None
    """A folder of images to learn ranges from."""
    original: Path | None = None
    """The model that a package was made of, where the package does not hold enough."""
    accept_difference: bool = False
    """Whether the labels of calibration images may change, however many do."""


@dataclass(frozen=True)
class Variant:
    """What was written, and how near it is to the original."""

    manifest: Manifest
    agreement: Agreement
    calibration: CalibrationImages | None
    difference: Difference | None
    """Of the answers to calibration images, where there are any."""

    @property
    def nearness(self) -> str:
        """How near, in words that say what they rest on."""
        if self.difference is not None:
            return f"of the calibration images, {self.difference}"
        if self.agreement.allowed_difference is not None:
            return str(self.agreement)
        return (
            f"{self.agreement}. Only {self.agreement.images} drawn images were looked at, and none "
            "such as the model will see: give --calibration, or let `prumo model compare --images` "
            "tell what the smaller numbers cost"
        )


def make_variant(model: Path, wish: VariantWish, out: Path, progress: Progress) -> Variant:
    """Write a model as another package, once its network answers what the model's does.

    `model` is a package, or a model that tells enough about itself to become one.

    Raises:
        InputError: What was given does not go together, or too many calibration images have
            another label than before.
        UnavailableError: There is no way from what the model holds to what is wished for.
    """
    require_package_name(out)
    with ExitStack() as stack:
        package = stack.enter_context(open_or_package(model, progress))
        require_sense(package.manifest.network, wish.target, wish.precision, model)
        if wish.precision == "int8" and wish.calibration is None:
            raise InputError(needs_images(wish.precision))
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="prumo-variant-")))
        calibration = _calibration(package, wish, scratch, progress)
        job = VariantJob(
            package=package,
            shown=model,
            original=_original(model, wish, package.manifest),
            target=wish.target,
            precision=wish.precision,
            calibration=calibration,
        )
        content = scratch / "content"
        content.mkdir()
        network = variant_network(job, content, progress)
        manifest = _manifest(package, network, content)
        progress.show("asking the new package")
        made = Package(content, completed(content, manifest))
        require_working(made)
        difference = answer_difference(package, made, calibration) if calibration else None
        if difference and not wish.accept_difference:
            require_agreement(difference, wish.precision)
        progress.show(f"writing {out}")
        written = write_package(content, manifest, out)
        return Variant(written, network.agreement, calibration, difference)


def _original(model: Path, wish: VariantWish, manifest: Manifest) -> Source | None:
    """The model as its framework wrote it, if it was given."""
    if wish.original is None:
        return None if is_package(model) else recognized(model)
    source = recognized(wish.original)
    if source.sha256 != manifest.origin.sha256:
        raise InputError(
            f"{wish.original} is not what {model} was made of: the package names "
            f"{manifest.origin.name} with the SHA-256 {manifest.origin.sha256}"
        )
    return source


def _calibration(
    package: Package, wish: VariantWish, scratch: Path, progress: Progress
) -> CalibrationImages | None:
    if wish.calibration is None:
        return None
    return drawn_images(wish.calibration, package.manifest, scratch, progress)


def _manifest(package: Package, network: ConvertedNetwork, content: Path) -> Manifest:
    """The package's own, with another network; card, heat map and what it has seen come along."""
    manifest = package.manifest
    for name in {manifest.card, SEEN_FILE} & manifest.files.keys():
        shutil.copyfile(package.folder / name, content / name)
    tensor = {"tensor": network.input_tensor}
    output = {"tensor": network.output_tensor}
    return manifest.model_copy(
        update={
            "network": network.network,
            "heat_map": network.heat_map or _kept_heat_map(package, content),
            "input": manifest.input.model_copy(update=tensor),
            "output": manifest.output.model_copy(update=output),
            "versions": {**manifest.versions, **network.versions, "prumo": __version__},
        }
    )


def _kept_heat_map(package: Package, content: Path) -> HeatMap | None:
    """The package's own: a network keeps all its outputs under their names."""
    heat_map = package.manifest.heat_map
    if heat_map is not None:
        shutil.copyfile(package.folder / heat_map.network.file, content / heat_map.network.file)
    return heat_map
