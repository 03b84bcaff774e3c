"""Networks: by name or from the user's file, described for people, and as they are trained."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError, StudyError, did_you_mean
from prumo.study.document import read_document, read_text
from prumo.study.section import shown
from prumo_worker.networks import NetworkError, network
from prumo_worker.networks.catalog import CATALOG
from prumo_worker.networks.definition import (
    CLASSES,
    layer_document,
    operation_name,
    read_layers,
    settings,
)
from prumo_worker.networks.network import Layer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prumo_worker.networks import Network

# No other module can have this name, so none is hidden by a file called `numpy.py`.
_MODULE = "prumo network"
_YAML = (".yaml", ".yml")
_PROGRAM = ".py"
_KEYS = ("description", "layers")
_ANY_CLASSES = 2

_USUAL_SHAPE = (224, 3, 1000)
"""Image size, channels and classes of a network that the user defined."""


def find_network(
    name: str,
    image_size: int | None = None,
    channels: int | None = None,
    classes: int | None = None,
) -> Network:
    """The network, for the images and classes that it was made for where none are given."""
    entry = CATALOG.get(name)
    usual = (entry.image_size, entry.channels, entry.classes) if entry else _USUAL_SHAPE
    given = image_size, channels, classes
    size, depth, count = (value or default for value, default in zip(given, usual, strict=True))
    if names_file(name):
        return read_own_network(name, Path()).build(size, depth, count)
    try:
        return network(name, size, depth, count)
    except NetworkError as error:
        raise InputError(str(error)) from None


def program_layers(text: str, file: Path) -> tuple[dict[str, Any], ...]:
    """The layers of the file's network, with the word `classes` where their number goes."""
    try:
        first, second = (_layers(text, file, classes) for classes in _TRIALS)
    except StudyError:
        raise
    except (Exception, SystemExit) as error:
        reason = f"its program failed with {type(error).__name__}: {error}"
        if isinstance(error, NetworkError):
            reason = str(error)
        raise StudyError(reason, file=file, line=_line(error, file)) from error
    if first != second:
        raise StudyError(
            "`classes` can only be given to a layer as it is, as in Dense(classes): the data set "
            "decides about it when the training begins",
            file=file,
        )
    return first


def _layers(text: str, file: Path, classes: _Classes) -> tuple[dict[str, Any], ...]:
    module = ModuleType(_MODULE)
    module.__file__ = str(file)
    # A program may look itself up, as dataclasses do for annotations that are text.
    sys.modules[_MODULE] = module
    try:
        exec(compile(text, str(file), "exec"), module.__dict__)  # noqa: S102 (the user's program)
        function = getattr(module, "layers", None)
        if not callable(function):
            raise StudyError("needs a function `layers(classes)` that yields layers", file=file)
        documents = []
        for layer in function(classes):
            if not isinstance(layer, Layer):
                raise StudyError(f"`layers` gave {layer!r:.50}, which is not a Layer", file=file)
            document = {
                key: CLASSES if isinstance(value, _Classes) else value
                for key, value in layer_document(layer).items()
            }
            documents.append(json.loads(json.dumps(document)))
        return tuple(documents)
    finally:
        del sys.modules[_MODULE]


def _line(error: BaseException, file: Path) -> int | None:
    """The last line of the file that had a part in the error."""
    if isinstance(error, SyntaxError):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(file)]
    return lines[-1] if lines else None


@dataclass(frozen=True)
class OwnNetwork:
    """A network as data, in the form that a worker takes."""

    name: str
    """As the study names it: the path of its file."""
    layers: tuple[Any, ...]
    file: Path | None = None
    lines: tuple[int, ...] = ()
    """Where in the file each layer is; a program has none."""

    def build(self, image_size: int, channels: int, classes: int) -> Network:
        """The network for such images; StudyError names the file and the line."""
        try:
            return network(self.name, image_size, channels, classes, self.layers)
        except NetworkError as error:
            raise self.located(error) from None

    def located(self, error: NetworkError) -> StudyError:
        """The error with the file, and the line of its layer."""
        known = error.position is not None and self.lines
        line = self.lines[error.position or 0] if known else None
        return StudyError(str(error), file=self.file, line=line)


def names_file(network_name: str) -> bool:
    """Whether this is the path of a network's file and not the name of one of Prumo's."""
    return network_name.endswith((*_YAML, _PROGRAM))


def read_own_network(name: str, folder: Path) -> OwnNetwork:
    """Read the file that defines a network; a Python file is run."""
    file = folder / Path(name).expanduser()
    text = read_text(file, "a network")
    if name.endswith(_PROGRAM):
        own = OwnNetwork(name, program_layers(text, file), file)
    else:
        own = _from_yaml(name, text, file)
    try:
        # Well formed, whatever the image.
        read_layers(own.layers, _ANY_CLASSES)
    except NetworkError as error:
        raise own.located(error) from None
    return own


def _from_yaml(name: str, text: str, file: Path) -> OwnNetwork:
    document = read_document(text, file)
    if not isinstance(document.data, dict):
        raise StudyError(
            f"should be a mapping with `layers`, not {shown(document.data)}", file=file
        )
    for key in document.data:
        if key not in _KEYS:
            line = document.lines[key,]
            raise StudyError(
                f"unknown key; {did_you_mean(key, _KEYS)}", file=file, line=line, key=key
            )
    layers = document.data.get("layers")
    if not isinstance(layers, list) or not layers:
        where = document.lines.get(("layers",))
        raise StudyError("should be a list of layers", file=file, line=where, key="layers")
    lines = tuple(document.lines["layers", position] for position in range(len(layers)))
    return OwnNetwork(name, tuple(layers), file, lines)


def network_account(net: Network) -> dict[str, Any]:
    """What there is to say of a network, layer by layer."""
    channels, image_size, _ = net.input_shape
    layers = [
        {
            "name": node.name,
            "operation": operation_name(type(node.operation)),
            "settings": settings(node.operation),
            "inputs": node.inputs,
            "output_shape": node.output_shape,
            "parameters": node.parameters,
            "flops": node.flops,
        }
        for node in net.nodes
    ]
    return {
        "name": net.name,
        "image_size": image_size,
        "channels": channels,
        "classes": net.classes,
        "parameters": net.parameters,
        "trained_parameters": net.trained_parameters,
        "flops": net.flops,
        "auxiliary": net.auxiliary,
        "layers": layers,
    }


@dataclass(frozen=True)
class Architecture:
    """One network for one shape of images and one number of classes."""

    network: str
    image_size: int
    channels: int
    classes: int

    @property
    def title(self) -> str:
        """In words for a person: `rede1 on 3x32x32, 10 classes`."""
        size = self.image_size
        return f"{self.network} on {self.channels}x{size}x{size}, {self.classes} classes"


Frameworks = Mapping[Architecture, Sequence[str]]
"""Architectures, each with the frameworks that train it."""


def built(architecture: Architecture, own: OwnNetwork | None) -> Network:
    """The network itself: of the user's own, or Prumo's."""
    shape = architecture.image_size, architecture.channels, architecture.classes
    return own.build(*shape) if own else network(architecture.network, *shape)


def frameworks_of(
    trainings: Iterable[tuple[Architecture, str]],
) -> dict[Architecture, tuple[str, ...]]:
    """Every architecture of these trainings with its frameworks, each once and in their order."""
    found: dict[Architecture, dict[str, None]] = {}
    for architecture, framework in trainings:
        found.setdefault(architecture, {})[framework] = None
    return {architecture: tuple(frameworks) for architecture, frameworks in found.items()}


def compared_frameworks(planned: Frameworks, trained: Frameworks) -> Frameworks:
    """The planned architectures that, with what was trained before, several frameworks train."""
    together = {
        architecture: tuple(dict.fromkeys([*frameworks, *trained.get(architecture, ())]))
        for architecture, frameworks in planned.items()
    }
    return {architecture: names for architecture, names in together.items() if len(names) > 1}


class _Classes(int):
    """The number of classes, to be found again in the layers that it went into."""


# Far apart, so that a program which decides or computes by their number gives itself away.
_TRIALS = (_Classes(2), _Classes(100_003))
