"""MXNet's errors, told in the one line that says what happened."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from mxnet.base import MXNetError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def plain_errors() -> Iterator[None]:
    """Leave out the calls of MXNet's own code, which its errors bring along before their end."""
    try:
        yield
    except MXNetError as error:
        raise MXNetError(str(error).strip().rpartition("\n")[2]) from error
