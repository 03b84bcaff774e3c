"""A predictor whose framework is numpy: a process like a real one, but it starts at once.

A script in the place of an environment's interpreter. What the network's file says is what happens.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

from prumo_worker.predictor import __main__ as predictor
from prumo_worker.predictor.__main__ import LOADERS, Network

if TYPE_CHECKING:
    from pathlib import Path

NAME = "stand-in"
REFUSED = "refused"
"""A file beside the network, there once it could not be loaded."""


def written_interpreter(folder: Path) -> Path:
    """A program that is called like Python and runs this script."""
    program = folder / "interpreter"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {__file__} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return program


def load(path: Path, _threads: int) -> Network:
    """As the predictor wants it of a framework."""
    word = path.read_text("utf-8")
    if word == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if word != "whole":
        path.with_name(REFUSED).touch()
        raise {"absent": ModuleNotFoundError, "large": MemoryError}.get(word, ValueError)(word)
    return Network(["images"], ["answers"], None, lambda batch: {"answers": 2 * batch})


if __name__ == "__main__":
    LOADERS[NAME] = load
    # The first ones are -u -m prumo_worker.predictor.
    sys.exit(predictor.main(sys.argv[4:]))
