from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prumo.machine.accelerators import has_tpu

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("vendor", "device", "found"),
    [
        ("0x1ae0", "0x0063", True),
        ("0x1ae0", "0x0042", False),
        ("0x10de", "0x0063", False),
    ],
    ids=["a TPU v5e", "a network card of Google's", "another vendor's device"],
)
def test_a_tpu_is_known_by_its_numbers_on_the_bus(
    tmp_path: Path, vendor: str, device: str, found: bool
) -> None:
    _attach(tmp_path / "0000:00:04.0", "0x8086", "0x7010")
    _attach(tmp_path / "0000:00:05.0", vendor, device)

    assert has_tpu(tmp_path) is found


def test_a_machine_without_such_a_bus_has_none(tmp_path: Path) -> None:
    assert not has_tpu(tmp_path / "devices")


def _attach(folder: Path, vendor: str, device: str) -> None:
    folder.mkdir()
    (folder / "vendor").write_text(f"{vendor}\n")
    (folder / "device").write_text(f"{device}\n")
