"""Prices in a cache of the test's own, and public services that stand on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prumo.http import RetryPolicy
from prumo.money.sources import aws, azure, documents, skypilot
from support.price_server import Service, served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("PRUMO_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """All public services at one address, which need not be waited for."""
    with served() as running:
        for variable in (azure.URL_VARIABLE, aws.URL_VARIABLE, skypilot.URL_VARIABLE):
            monkeypatch.setenv(variable, running.url)
        monkeypatch.setenv(skypilot.COMMITS_URL_VARIABLE, f"{running.url}/commits")
        monkeypatch.setattr(documents, "RETRIES", RetryPolicy(first_wait_seconds=0.001))
        yield running
