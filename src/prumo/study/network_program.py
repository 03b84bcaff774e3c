"""A network that a Python file of the user's defines, as data.

The file has a function `layers(classes)` that yields `Layer`s. It is run here and nowhere else: a
worker gets the layers and needs no file.
"""

from __future__ import annotations

import json
import sys
import traceback
from types import ModuleType
from typing import TYPE_CHECKING, Any

from prumo.errors import StudyError
from prumo_worker.networks import NetworkError
from prumo_worker.networks.definition import CLASSES, layer_document
from prumo_worker.networks.network import Layer

if TYPE_CHECKING:
    from pathlib import Path


# No other module can have this name, so none is hidden by a file called `numpy.py`.
_MODULE = "prumo network"


class _Classes(int):
    """The number of classes, to be found again in the layers that it went into."""


# Far apart, so that a program which decides or computes by their number gives itself away.
_TRIALS = (_Classes(2), _Classes(100_003))


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
