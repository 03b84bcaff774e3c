"""Networks of the user's own, from a YAML or a Python file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prumo.errors import StudyError, did_you_mean
from prumo.study.document import read_document
from prumo.study.network_program import program_layers
from prumo.study.problem import shown
from prumo.study.text import read_text
from prumo_worker.networks import NetworkError, network
from prumo_worker.networks.definition import read_layers

if TYPE_CHECKING:
    from prumo_worker.networks import Network

_YAML = (".yaml", ".yml")
_PROGRAM = ".py"
_KEYS = ("description", "layers")
_ANY_CLASSES = 2


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
