from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from prumo.environments.pip import offered_versions
from prumo.environments.session import Session
from prumo.errors import SetupError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prumo.environments.store import Environment

UNREACHABLE = "http://127.0.0.1:9/simple"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    reservation = os.open(tmp_path / "reservation", os.O_CREAT)
    with (tmp_path / "log").open("w") as log:
        yield Session(log, tmp_path / "log", reservation)
    os.close(reservation)


@pytest.mark.usefixtures("cache")
def test_every_build_that_pip_could_install_is_offered(
    session: Session, ready: Environment
) -> None:
    offered = offered_versions(session, ready.python, "torch")

    assert {"2.13.0", "2.13.0+cpu", "2.13.0+cu126", "2.13.0+cu130"} <= set(offered)


@pytest.mark.usefixtures("cache")
def test_a_quiet_pip_answers_all_the_same(
    session: Session, ready: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_QUIET", "3")

    assert "2.13.0" in offered_versions(session, ready.python, "torch")


@pytest.mark.usefixtures("cache")
def test_a_package_that_no_index_has_is_not_available(session: Session, ready: Environment) -> None:
    with pytest.raises(UnavailableError, match="pip finds no nowhere-to-be-found"):
        offered_versions(session, ready.python, "nowhere-to-be-found")


@pytest.mark.usefixtures("cache")
def test_a_network_out_of_reach_is_told_with_its_own_reason(
    session: Session, ready: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "0")
    monkeypatch.setenv("PIP_INDEX_URL", UNREACHABLE)
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_RETRIES", "1")

    with pytest.raises(SetupError) as caught:
        offered_versions(session, ready.python, "torch")

    assert "is the network, a proxy or an index" in str(caught.value)
    assert "Connection refused" in str(caught.value)
    assert str(session.log_path) in str(caught.value)
