"""What a deployment uploads: a model's package and an image, made where they are not given."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.errors import InputError
from prumo.files import file_sha256
from prumo.plugins import COMMANDS
from prumo_endpoint.deploy.push import image_tag
from prumo_endpoint.image.build import (
    MANIFEST_FILE,
    VARIANTS,
    Plan,
    build_image,
    content_key,
    model_manifest,
)
from prumo_endpoint.image.engine import chosen_engine
from prumo_endpoint.sagemaker.deployment import architecture_of
from prumo_endpoint.targets.container import model_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.progress import Progress
    from prumo_endpoint.deploy.deployment import Settings

PACKAGE_FILE = "model.tar.gz"
_VARIANT = "lean"
_HASH_LENGTH = 16
_ARCHIVES = (".tar.gz", ".tgz")


def is_package(model: Path) -> bool:
    """Whether it is used as it is; anything else is packaged first."""
    return model.name.endswith(_ARCHIVES)


def require_model(model: Path, words: Sequence[str]) -> None:
    """Refuse what is no model, before anything is asked or made."""
    if is_package(model):
        _runtime(model)
        if words:
            raise InputError(f"{model} is a package already: leave out {' '.join(words)}")
    elif not model.exists():
        raise InputError(f"no such model: {model}")
    elif (model / MANIFEST_FILE).is_file():
        raise InputError(
            f"{model} is a package in a folder, and an endpoint takes one in a file: "
            f"`prumo model package MODEL --out {PACKAGE_FILE}` writes one"
        )


def packaged_model(model: Path, words: Sequence[str], folder: Path) -> Path:
    """The package of a model in one file: itself, or a new one in the deployment's folder.

    The words are options of `prumo model package`. The same model always gives the same bytes, so
    that nothing changes the second time.
    """
    if is_package(model):
        return model.absolute()
    # Another run may package another model for the same deployment at this moment.
    out = folder / f"{os.getpid()}-{PACKAGE_FILE}"
    group = COMMANDS.load("model")
    if not isinstance(group, click.Command):
        raise InputError(f"`prumo model package` is not installed; give a {PACKAGE_FILE}")
    try:
        # Its own line would be taken for an outcome of this command.
        with redirect_stdout(io.StringIO()):
            group.main(["package", str(model), "--out", str(out), *words], standalone_mode=False)
    except (InputError, click.UsageError) as error:
        text = error.format_message() if isinstance(error, click.UsageError) else str(error)
        raise InputError(
            f"{text}\nOptions of `prumo model package` follow after --, as in\n"
            f"  prumo endpoint deploy {model} ... -- --normalization 0..1"
        ) from error
    return out.replace(folder / f"{file_sha256(out)[:_HASH_LENGTH]}-{PACKAGE_FILE}").absolute()


def built_image(settings: Settings, progress: Progress) -> str:
    """The lean image for a packaged model, named by its content; built unless it is here."""
    base, model = str(settings.base), Path(str(settings.model))
    runtime, known = _runtime(model), VARIANTS[_VARIANT].runtimes
    if runtime not in known:
        raise InputError(
            f"{model} is computed by {runtime}, and the image that Prumo builds has "
            f"{', '.join(known)}: give --image, or another model by `prumo model convert`"
        )
    engine, platform = chosen_engine(), f"linux/{architecture_of(settings.instance_type)}"
    engine.require_base(base, platform)
    plan = Plan(_VARIANT, runtime, platform, base, tag="")
    tag = f"prumo-{_VARIANT}:{runtime}-{content_key(plan, image_tag(base))}"
    if engine.facts(tag) is None:
        build_image(replace(plan, tag=tag), engine, progress)
    return tag


def _runtime(package: Path) -> str:
    with model_folder(package) as folder:
        return str(model_manifest(folder, package)["network"]["runtime"])
