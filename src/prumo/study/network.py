"""Networks: by name or from the user's file, described for people, and as they are trained."""

from __future__ import annotations

import json
import sys
import traceback
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
    from collections.abc import Callable, Iterable, Mapping

    from prumo.study.scenario import Scenario
    from prumo.study.section import Level
    from prumo_worker.networks import Network
    from prumo_worker.networks.network import Node

# No other module can have this name, so none is hidden by a file called `numpy.py`.
_MODULE = "prumo network"
_YAML = (".yaml", ".yml")
_PROGRAM = ".py"
_KEYS = ("description", "layers")
_ANY_CLASSES = 2

_IMAGE_SIZE, _CHANNELS, _CLASSES = 224, 3, 1000


def find_network(
    name: str,
    image_size: int | None = None,
    channels: int | None = None,
    classes: int | None = None,
) -> Network:
    """The network, for the images and classes that it was made for where none are given."""
    entry = CATALOG.get(name)
    image_size = image_size or (entry.image_size if entry else _IMAGE_SIZE)
    channels = channels or (entry.channels if entry else _CHANNELS)
    classes = classes or (entry.classes if entry else _CLASSES)
    if names_file(name):
        return read_own_network(name, Path()).build(image_size, channels, classes)
    try:
        return network(name, image_size, channels, classes)
    except NetworkError as error:
        raise InputError(str(error)) from None


def program_layers(text: str, file: Path) -> tuple[dict[str, Any], ...]:
    """The layers of the file's network, with the word `classes` where their number goes."""
    try:
        first, second = (_layers(text, file, classes) for classes in _TRIALS)
    except StudyError:
        raise
    except (Exception, SystemExit) as error:
        raise StudyError(_reason(error), file=file, line=_line(error, file)) from error
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
        return tuple(_document(layer, file) for layer in function(classes))
    finally:
        del sys.modules[_MODULE]


def _document(layer: object, file: Path) -> dict[str, Any]:
    if not isinstance(layer, Layer):
        raise StudyError(f"`layers` gave {layer!r:.50}, which is not a Layer", file=file)
    document = {
        key: CLASSES if isinstance(value, _Classes) else value
        for key, value in layer_document(layer).items()
    }
    plain: dict[str, Any] = json.loads(json.dumps(document))
    return plain


def _reason(error: BaseException) -> str:
    if isinstance(error, NetworkError):
        return str(error)
    return f"its program failed with {type(error).__name__}: {error}"


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
            raise self._wrong(error) from None

    def check_layers(self) -> None:
        """Refuse layers that are not well formed, whatever the image."""
        try:
            read_layers(self.layers, _ANY_CLASSES)
        except NetworkError as error:
            raise self._wrong(error) from None

    def _wrong(self, error: NetworkError) -> StudyError:
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
    own.check_layers()
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
    return {
        "name": net.name,
        "image_size": image_size,
        "channels": channels,
        "classes": net.classes,
        "parameters": net.parameters,
        "trained_parameters": net.trained_parameters,
        "flops": net.flops,
        "auxiliary": net.auxiliary,
        "layers": [_layer_account(node) for node in net.nodes],
    }


def _layer_account(node: Node) -> dict[str, Any]:
    return {
        "name": node.name,
        "operation": operation_name(type(node.operation)),
        "settings": settings(node.operation),
        "inputs": node.inputs,
        "output_shape": node.output_shape,
        "parameters": node.parameters,
        "flops": node.flops,
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


def architectures(
    scenarios: Iterable[Scenario], shape_of: Callable[[Mapping[str, Level]], tuple[int, int]]
) -> dict[Architecture, tuple[str, ...]]:
    """Every architecture of these trainings, with the frameworks that train it, in their order.

    `shape_of` finds from a scenario's parameters the channels and the classes of its data.
    """
    found: dict[Architecture, dict[str, None]] = {}
    for scenario in scenarios:
        parameters = scenario.parameters
        channels, classes = shape_of(parameters)
        architecture = Architecture(
            network=str(parameters["network"]),
            image_size=int(parameters["image_size"]),
            channels=channels,
            classes=classes,
        )
        found.setdefault(architecture, {})[str(parameters["framework"])] = None
    return {architecture: tuple(frameworks) for architecture, frameworks in found.items()}


class _Classes(int):
    """The number of classes, to be found again in the layers that it went into."""


# Far apart, so that a program which decides or computes by their number gives itself away.
_TRIALS = (_Classes(2), _Classes(100_003))
