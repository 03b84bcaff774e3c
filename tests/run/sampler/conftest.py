from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.supervisor import Supervisor

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    supervisor = Supervisor()
    yield supervisor
    supervisor.end_unreaped()
    supervisor.reap()
