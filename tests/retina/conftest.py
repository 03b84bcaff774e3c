"""What the tests of the retina share: models of real networks, made once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.retina_networks import write_models

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import FrameworkPython


@pytest.fixture(scope="session")
def brightness_models(
    framework_python: FrameworkPython, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The folders `grade` and `referral` with models that judge by brightness alone."""
    folder = tmp_path_factory.mktemp("models")
    write_models(framework_python("tensorflow"), folder)
    return folder
