"""What runtimes raise, in words for a user."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError, PrumoError, UnavailableError
from prumo.model.runtimes import NetworkError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


def imported(module: str, runtime: str, extra: str) -> Any:  # noqa: ANN401 (a module without types)
    """The module of a runtime.

    Raises:
        UnavailableError: It is not installed, with the extra that brings it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise UnavailableError(
            f"this network needs {runtime}: install it with pip install 'prumo[{extra}]' ({error})"
        ) from error


@contextmanager
def loading(path: Path, runtime: str) -> Iterator[None]:
    """Whatever a runtime raises here says that the file is not a network of its kind."""
    try:
        yield
    except PrumoError:
        raise
    except Exception as error:
        raise InputError(
            f"{path} is not a network that {runtime} can load: {told(error)}"
        ) from error


@contextmanager
def answering(runtime: str) -> Iterator[None]:
    """Whatever a runtime raises here says that the network has no answer."""
    try:
        yield
    except PrumoError:
        raise
    except Exception as error:
        raise NetworkError(f"{runtime} could not compute the network: {told(error)}") from error


def told(error: BaseException) -> str:
    """The words of an error in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def require_outputs(wanted: Iterable[str], known: tuple[str, ...]) -> None:
    """Refuse an output that the network does not give."""
    for name in wanted:
        if name not in known:
            raise NetworkError(f"the network gives no '{name}': it gives {', '.join(known)}")


def closed() -> NetworkError:
    """For a network that is asked after its end."""
    return NetworkError("the network is closed")
