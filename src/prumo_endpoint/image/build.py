"""Building the images of a server: what goes into the folder that an engine builds from."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError, StorageError, UnavailableError, did_you_mean
from prumo.files import file_sha256, write_whole
from prumo.version import __version__
from prumo_endpoint.image.engine import PLATFORMS, Engine, run_followed
from prumo_endpoint.image.layers import saved_image
from prumo_endpoint.infrastructure import IMAGES
from prumo_endpoint.targets.container import model_folder

if TYPE_CHECKING:
    from prumo.progress import Progress

MANIFEST_FILE = "manifest.json"
DEFAULT_BASE = "python:{}.{}-slim".format(*sys.version_info[:2])
_PYTHON_IN_IMAGE = re.compile(r"usr/(?:local/)?bin/python(3\.\d+)")
_OLDEST_PYTHON = (3, 11)
_OWN_PACKAGES = ("prumo", "prumo_serve", "prumo_worker", "prumo_retina")
_HEALTH_CHECK = "healthcheck.py"
_OWN_PLUGINS = {"prumo.commands": ("serve",), "prumo.runtimes": None, "prumo.tasks": None}
"""Group of entry points → those that a server needs of it; None for all."""
_TENSORFLOW = "tensorflow"
_BYTECODE = "__pycache__"
_KEY_DIGITS = 16


@dataclass(frozen=True)
class Variant:
    """One way to put a server into an image."""

    summary: str
    runtimes: Mapping[str, str]
    """What can compute the network → what pip installs for it, beside requirements.txt."""


VARIANTS = {
    "lean": Variant(
        "Prumo's server in one process, without the framework that trained the model",
        {
            "onnxruntime": "onnxruntime>=1.22,<2",
            "openvino": "openvino>=2025.2,<2027",
            "litert": "ai-edge-litert>=2.0,<3",
        },
    ),
    "naive": Variant(
        "a published study's first image: one stage, everything stays", {_TENSORFLOW: ""}
    ),
    "two-stage": Variant("its second: compilers stay behind", {_TENSORFLOW: ""}),
    "reduced": Variant("its third: only what serving needs", {_TENSORFLOW: ""}),
}


@dataclass(frozen=True)
class Plan:
    """What is to be built."""

    variant: str
    runtime: str | None
    """None takes the model's own, or else the variant's first."""
    platform: str
    base: str
    tag: str
    model: Path | None = None
    wheelhouse: Path | None = None
    """A folder of wheels, where pip may not ask an index."""


def build_image(plan: Plan, engine: Engine, progress: Progress) -> None:
    """Build an image; nothing but the image is left."""
    variant = _checked(plan)
    folder = IMAGES / plan.variant
    with nullcontext() if plan.model is None else model_folder(plan.model) as model:
        runtime = _runtime(plan, variant, model)
        engine.require_base(plan.base, plan.platform)
        with (
            saved_image(engine, plan.base, progress) as base,
            tempfile.TemporaryDirectory(prefix="prumo-build-") as temporary,
        ):
            context = Path(temporary)
            python = base_python(base.names(), plan.base)
            try:
                shutil.copy(folder / "Dockerfile", context)
                _copy_model(model, context / "model")
                requirements = [
                    *_lines(folder / "requirements.txt"),
                    *filter(None, [variant.runtimes[runtime]]),
                ]
                pip = _pip_options(plan, python)
                if plan.variant == "lean":
                    _fill_app(context / "app", requirements, pip, python, progress)
                else:
                    _fill_server(context, requirements, pip, progress)
            except OSError as error:
                raise StorageError.on_writing(context, error) from error
            engine.build(context, plan.tag, plan.platform, _arguments(plan, runtime), progress)


def content_key(plan: Plan, base_digest: str) -> str:
    """The same for an image of the same files, base, platform and runtime.

    Packages of others do not count: an image that exists keeps the versions that it has.
    """
    content = hashlib.sha256(f"{plan.variant}\n{plan.runtime}\n{plan.platform}\n".encode())
    content.update(f"{base_digest} {VARIANTS[plan.variant]} {_OWN_PLUGINS}".encode())
    content.update(file_sha256(IMAGES / _HEALTH_CHECK).encode())
    for folder in (IMAGES / plan.variant, *_own_folders().values()):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.parent.name != _BYTECODE:
                content.update(f"{path.relative_to(folder)} {file_sha256(path)}\n".encode())
    return content.hexdigest()[:_KEY_DIGITS]


def base_python(names: set[str], base: str) -> str:
    """The version of the Python that a base image has, such as 3.11."""
    versions = {found[1] for name in names if (found := _PYTHON_IN_IMAGE.fullmatch(name))}
    if not versions:
        raise InputError(
            f"the base image '{base}' has no Python; right is one such as {DEFAULT_BASE}, or "
            "Debian with the package python3"
        )
    version = max(versions, key=_numbers)
    if _numbers(version) < _OLDEST_PYTHON:
        raise InputError(f"the base image '{base}' has Python {version}; Prumo needs 3.11 or newer")
    return version


def model_manifest(folder: Path, model: Path) -> dict[str, Any]:
    """The manifest of a packaged model."""
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST_FILE).read_text("utf-8"))
        str(manifest["network"]["runtime"])
    except FileNotFoundError as error:
        raise InputError(
            f"{model} has no {MANIFEST_FILE}: make a package of the model first, with "
            "`prumo model package`"
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{MANIFEST_FILE} of {model} cannot be used: {error}") from error
    return manifest


def _checked(plan: Plan) -> Variant:
    variant = VARIANTS.get(plan.variant)
    if variant is None:
        hint = did_you_mean(plan.variant, VARIANTS)
        raise InputError(f"there is no variant '{plan.variant}'; {hint}")
    if plan.platform not in PLATFORMS:
        hint = did_you_mean(plan.platform, PLATFORMS)
        raise InputError(f"images cannot be built for '{plan.platform}'; {hint}")
    if plan.runtime is not None and plan.runtime not in variant.runtimes:
        raise InputError(
            f"the variant {plan.variant} has no runtime '{plan.runtime}'; "
            f"{did_you_mean(plan.runtime, variant.runtimes)}"
        )
    if plan.wheelhouse is not None and not plan.wheelhouse.is_dir():
        raise InputError(f"there is no folder of wheels {plan.wheelhouse}")
    if importlib.util.find_spec("pip") is None:
        raise UnavailableError(
            "packages of an image are taken with pip, and this Python has none: "
            f"{sys.executable} -m ensurepip"
        )
    return variant


def _runtime(plan: Plan, variant: Variant, folder: Path | None) -> str:
    if folder is None or plan.model is None:
        return plan.runtime or next(iter(variant.runtimes))
    own = str(model_manifest(folder, plan.model)["network"]["runtime"])
    wanted = plan.runtime or own
    if wanted not in variant.runtimes or wanted != own:
        right = ", ".join(variant.runtimes) if plan.runtime is None else wanted
        raise InputError(
            f"{plan.model} is a model for {own}, and this image computes with {right}; "
            "`prumo model convert` makes another one of it"
        )
    return wanted


def _copy_model(model: Path | None, out: Path) -> None:
    if model is None:
        out.mkdir()
        return
    shutil.copytree(model, out)
    # The server is another user than the one who packaged the model.
    for path in (out, *out.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _pip_options(plan: Plan, python: str) -> list[str]:
    machine = PLATFORMS[plan.platform]
    tags = ["manylinux2014", *(f"manylinux_2_{minor}" for minor in range(5, 37))]
    options = ["--only-binary", ":all:", "--python-version", python, "--implementation", "cp"]
    for tag in tags:
        options += ["--platform", f"{tag}_{machine}"]
    if plan.wheelhouse is not None:
        options += ["--no-index", "--find-links", str(plan.wheelhouse)]
    return options


def _fill_app(
    app: Path, requirements: Sequence[str], options: Sequence[str], python: str, progress: Progress
) -> None:
    """The packages for the image's own platform, Prumo, and their bytecode."""
    pip = [sys.executable, "-m", "pip", "install", "--no-compile", "--target", str(app)]
    run_followed([*pip, *options, *requirements], "downloading packages", progress)
    shutil.rmtree(app / "bin", ignore_errors=True)
    for name, folder in _own_folders().items():
        shutil.copytree(folder, app / name, ignore=shutil.ignore_patterns(_BYTECODE))
    _write_own_metadata(app / f"prumo-{__version__}.dist-info")
    shutil.copy(IMAGES / _HEALTH_CHECK, app)
    if _numbers(python) != sys.version_info[:2]:
        progress.say(f"No bytecode: the base has Python {python}, and this one cannot write its.")
        return
    # Unchecked: nobody edits files of an image, and every start would look at each.
    compiler = ["-m", "compileall", "-q", "-j0", "--invalidation-mode", "unchecked-hash"]
    shorter = ["-s", str(app), "-p", "/opt/prumo"]
    run_followed([sys.executable, *compiler, *shorter, str(app)], "compiling", progress)


def _fill_server(
    context: Path, requirements: Sequence[str], options: Sequence[str], progress: Progress
) -> None:
    """Wheels, and the study's server."""
    (context / "requirements.txt").write_text("".join(f"{line}\n" for line in requirements))
    pip = [sys.executable, "-m", "pip", "download", "--dest", str(context / "wheels")]
    run_followed([*pip, *options, *requirements], "downloading packages", progress)
    shutil.copytree(IMAGES / _TENSORFLOW, context / "server")
    shutil.copy(IMAGES / _HEALTH_CHECK, context / "server")


def _own_folders() -> dict[str, Path]:
    """Package of Prumo → where it is installed."""
    specs = {name: importlib.util.find_spec(name) for name in _OWN_PACKAGES}
    return {
        name: Path(spec.origin).parent
        for name, spec in specs.items()
        if spec is not None and spec.origin is not None
    }


def _write_own_metadata(folder: Path) -> None:
    """What makes Prumo find its own parts, without the packages that it has elsewhere."""
    folder.mkdir()
    text = []
    for group, wanted in _OWN_PLUGINS.items():
        text.append(f"[{group}]")
        text += [
            f"{point.name} = {point.value}"
            for point in entry_points(group=group)
            if point.value.startswith(_OWN_PACKAGES) and (wanted is None or point.name in wanted)
        ]
    write_whole(folder / "entry_points.txt", "\n".join(text) + "\n")
    metadata = (
        f"Metadata-Version: 2.4\nName: prumo\nVersion: {__version__}\n"
        "License-Expression: Apache-2.0\n"
    )
    write_whole(folder / "METADATA", metadata)


def _arguments(plan: Plan, runtime: str) -> dict[str, str]:
    return {
        "BASE": plan.base,
        "BASE_NAME": plan.base,
        "TITLE": f"Prumo {plan.variant}",
        "VERSION": __version__,
        "CREATED": datetime.now(UTC).isoformat(timespec="seconds"),
        "RUNTIME": runtime,
    }


def _lines(requirements: Path) -> list[str]:
    lines = (
        line.partition("#")[0].strip() for line in requirements.read_text("utf-8").splitlines()
    )
    return [line for line in lines if line]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
