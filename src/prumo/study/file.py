"""Read a study from its file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from prumo.errors import StudyError
from prumo.study.document import read_document
from prumo.study.model import Origin, Study
from prumo.study.own_network import OwnNetwork
from prumo.study.problem import shown
from prumo.study.text import read_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def load(path: str | Path, networks: Mapping[str, Sequence[Any]] | None = None) -> Study:
    """Read and check a study file; StudyError names the file, the lines and the keys.

    The networks of its own that the study names come from files beside it. Where the layers of
    networks are given, there are no others and no file of a network is read.
    """
    file = Path(path)
    text = read_text(file, "a study")
    document = read_document(text, file)
    if not isinstance(document.data, dict):
        raise StudyError(f"should be a mapping of keys, not {shown(document.data)}", file=file)
    own = {name: OwnNetwork(name, tuple(layers)) for name, layers in (networks or {}).items()}
    origin = Origin(file, text, document.lines, own, reads_networks=networks is None)
    return Study.from_dict(document.data, origin)
