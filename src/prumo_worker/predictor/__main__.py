"""The process: `python -m prumo_worker.predictor tensorflow|pytorch PATH THREADS`.

It says what the network takes and gives, then answers batch after batch until its input ends.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

from prumo_worker.failure import kind_of
from prumo_worker.predictor.frames import Frame, read_frame, write_frame
from prumo_worker.predictor.network import LOADERS

if TYPE_CHECKING:
    from prumo_worker.predictor.network import Network


def main(arguments: list[str]) -> int:
    """Serve one network; 1 when it could not be loaded."""
    framework, path, threads = arguments
    incoming, outgoing = _own_pipes()
    try:
        network: Network = LOADERS[framework](Path(path), int(threads))
    except Exception as error:  # noqa: BLE001 (whatever it is, the controller must hear of it)
        kind = "unavailable" if isinstance(error, ModuleNotFoundError) else kind_of(error)
        write_frame(outgoing, Frame({"failed": kind, "message": _words(error)}))
        return 1
    about = {
        "inputs": network.inputs,
        "outputs": network.outputs,
        "batch_size": network.batch_size,
    }
    write_frame(outgoing, Frame(about))
    _answer_all(network, incoming, outgoing)
    return 0


def _answer_all(network: Network, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
    while True:
        asked = read_frame(incoming)
        if asked is None:
            return
        write_frame(outgoing, _answer(network, asked))


def _answer(network: Network, asked: Frame) -> Frame:
    try:
        values = network.compute(asked.arrays["batch"])
    except Exception as error:  # noqa: BLE001 (one bad batch must not end the process)
        return Frame({"failed": kind_of(error), "message": _words(error)})
    return Frame({}, {name: values[name] for name in asked.document["outputs"]})


def _own_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Standard input and output for messages only: what a framework prints goes to the log."""
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return incoming, outgoing


def _words(error: Exception) -> str:
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
