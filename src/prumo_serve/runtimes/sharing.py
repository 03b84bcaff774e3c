"""What runtimes have in common: errors in words for a user, a pool of items, fixed batch sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from threading import Condition
from typing import Any, Generic, TypeVar

import numpy as np

from prumo.errors import InputError, PrumoError, UnavailableError
from prumo_serve.runtimes import NetworkError


def imported(module: str, runtime: str, extra: str) -> Any:  # noqa: ANN401 (a module without types)
    """The module of a runtime, or an error that names the extra which brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UnavailableError(
            f"this network needs {runtime}: install it with pip install 'prumo[{extra}]' ({error})"
        ) from error


def loading(path: Path, runtime: str) -> AbstractContextManager[None]:
    """Whatever a runtime raises here says that the file is not a network of its kind."""
    return _failing(InputError, f"{path} is not a network that {runtime} can load")


def answering(runtime: str) -> AbstractContextManager[None]:
    """Whatever a runtime raises here says that the network has no answer."""
    return _failing(NetworkError, f"{runtime} could not compute the network")


@contextmanager
def _failing(kind: type[PrumoError], text: str) -> Iterator[None]:
    try:
        yield
    except PrumoError:
        raise
    except Exception as error:
        lines = str(error).strip().splitlines()
        raise kind(f"{text}: {lines[-1].strip() if lines else type(error).__name__}") from error


def require_outputs(wanted: Iterable[str], known: tuple[str, ...]) -> None:
    """Refuse an output that the network does not give."""
    for name in wanted:
        if name not in known:
            raise NetworkError(f"the network gives no '{name}': it gives {', '.join(known)}")


def closed() -> NetworkError:
    """For a network that is asked after its end."""
    return NetworkError("the network is closed")


Item = TypeVar("Item")


class Pool(Generic[Item]):
    """At most so many items, made when they are first needed, each used by one thread at a time."""

    def __init__(self, make: Callable[[], Item], most: int) -> None:
        self._make = make
        self._change = Condition()
        self._unmade = most - 1
        # The first one is made at once, so that what cannot be made is known at once.
        self._free = [make()]
        self.is_open = True

    @contextmanager
    def one(self) -> Iterator[Item]:
        """Take one; whoever comes when all are in use waits."""
        item = self._taken()
        try:
            yield item
        finally:
            with self._change:
                if self.is_open:
                    self._free.append(item)
                self._change.notify()

    def close(self) -> None:
        """Let all of them go; those in use go when they come back."""
        with self._change:
            self.is_open = False
            self._free.clear()
            self._change.notify_all()

    def _taken(self) -> Item:
        with self._change:
            self._change.wait_for(lambda: self._free or self._unmade or not self.is_open)
            if not self.is_open:
                raise closed()
            if self._free:
                return self._free.pop()
            self._unmade -= 1
        try:
            return self._make()
        except BaseException:
            with self._change:
                self._unmade += 1
                self._change.notify()
            raise


def run_in_pieces(
    run: Callable[[np.ndarray], Mapping[str, np.ndarray]], batch: np.ndarray, size: int | None
) -> Mapping[str, np.ndarray]:
    """Ask with pieces of exactly that size, the last one filled up; None takes any size at once."""
    if size is None or len(batch) == size:
        return run(batch)
    answers = [run(_piece(batch, start, size)) for start in range(0, len(batch), size)]
    return {
        name: np.concatenate([answer[name] for answer in answers])[: len(batch)]
        for name in answers[0]
    }


def _piece(batch: np.ndarray, start: int, size: int) -> np.ndarray:
    piece = batch[start : start + size]
    missing = size - len(piece)
    return np.concatenate([piece, np.repeat(piece[-1:], missing, axis=0)]) if missing else piece
