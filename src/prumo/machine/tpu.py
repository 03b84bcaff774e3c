"""Whether Google's TPUs are attached to the machine."""

from __future__ import annotations

from pathlib import Path

from prumo.machine.kernel import read_text

PCI_DEVICES = Path("/sys/bus/pci/devices")
_GOOGLE = "0x1ae0"
# Google's network cards and disks have its number too. From v2 to 7x, as JAX knows them.
_TPUS = {"0x0027", "0x0056", "0x005e", "0x0062", "0x0063", "0x006f", "0x0076"}


def has_tpu(devices: Path = PCI_DEVICES) -> bool:
    """Look at the devices on the PCI bus."""
    return any(
        read_text(vendor) == _GOOGLE and read_text(vendor.with_name("device")) in _TPUS
        for vendor in devices.glob("*/vendor")
    )
