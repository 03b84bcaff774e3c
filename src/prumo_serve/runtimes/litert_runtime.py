"""LiteRT, once TensorFlow Lite: made for small processors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError
from prumo_serve.runtimes import Pool, Runtime, answering, imported, loading, require_outputs

if TYPE_CHECKING:
    import numpy as np

    from prumo_serve.runtimes import Resources

NAME = "LiteRT"


class LiteRtNetwork:
    """A file that stays mapped into memory; each interpreter works for one thread at a time."""

    def __init__(self, runners: Pool[Any]) -> None:
        self._runners = runners
        with runners.one() as runner:
            self.input_names = tuple(runner.get_input_details())
            self.output_names = tuple(runner.get_output_details())

    @property
    def is_ready(self) -> bool:
        """Until it is closed."""
        return self._runners.is_open

    def run(self, batch: np.ndarray, outputs: Sequence[str]) -> Mapping[str, np.ndarray]:
        """The wanted outputs of a batch; an interpreter makes itself fit the batch's size."""
        require_outputs(outputs, self.output_names)
        with self._runners.one() as runner, answering(NAME):
            values = runner(**{self.input_names[0]: batch})
            return {name: values[name] for name in outputs}

    def close(self) -> None:
        """Let the interpreters go."""
        self._runners.close()


def _runner(module: Any, path: Path, threads: int) -> Any:  # noqa: ANN401 (LiteRT has no types)
    interpreter = module.Interpreter(model_path=str(path), num_threads=threads)
    signatures = list(interpreter.get_signature_list())
    if not signatures:
        raise InputError(f"{path} does not name its inputs and outputs: it has no signature")
    return interpreter.get_signature_runner(signatures[0])


class LiteRt(Runtime):
    """Files that TensorFlow's converter made."""

    endings = (".tflite",)

    def load(self, path: Path, resources: Resources) -> LiteRtNetwork:
        """Load a .tflite file with an interpreter of its own for each caller."""
        interpreter = imported("ai_edge_litert.interpreter", NAME, "litert")
        with loading(path, NAME):
            return LiteRtNetwork(
                Pool(partial(_runner, interpreter, path, resources.threads), resources.callers)
            )


RUNTIME = LiteRt()
