"""Commands of `prumo retina` say what is not installed before they begin."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from prumo.errors import UnavailableError
from prumo_retina.commands import COMMANDS, require_extra

Prumo = Callable[..., subprocess.CompletedProcess[str]]


def test_a_missing_package_is_said_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    require_extra()
    monkeypatch.setitem(sys.modules, "pydicom", None)

    with pytest.raises(UnavailableError, match=r"needs pydicom: .* pip install 'prumo\[retina\]'"):
        require_extra()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_so_before_it_is_imported(
    name: str, prumo_here: Prumo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)

    told = prumo_here("retina", name)

    assert told.returncode == 2
    assert "needs cv2" in told.stderr
