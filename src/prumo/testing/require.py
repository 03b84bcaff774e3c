"""What all contracts use to say what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def require(holds: object, contract: str) -> None:
    """Fail with the sentence of the contract unless it holds."""
    if not holds:
        raise AssertionError(contract)


@contextmanager
def refusal(*errors: type[BaseException], contract: str) -> Iterator[None]:
    """Fail unless the block raises one of these errors."""
    try:
        yield
    except errors as error:
        require(str(error).strip(), f"{contract}, with a message")
    except Exception as error:
        raise AssertionError(f"{contract}, not {type(error).__name__}: {error}") from error
    else:
        raise AssertionError(contract)


def derives_from(kind: object, base: str) -> bool:
    """Whether this is a class derived from another one, named as `module.Class`."""
    return isinstance(kind, type) and any(
        f"{each.__module__}.{each.__qualname__}" == base for each in kind.__mro__[1:]
    )


def modules_loaded_by(module: str) -> set[str]:
    """The packages and modules that a new Python has loaded after importing this module."""
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    require(done.returncode == 0, f"a new Python can import {module}:\n{done.stderr}")
    return set(done.stdout.split())
