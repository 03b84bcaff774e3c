"""A software bill of materials (CycloneDX 1.5) from the package records inside an image."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.message import Message
from email.parser import HeaderParser
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from prumo.version import __version__

if TYPE_CHECKING:
    from prumo_endpoint.image.layers import SavedImage

_RECORDS = re.compile(r"(.*\.dist-info/METADATA)|(var/lib/dpkg/status(\.d/[^/]+)?)")
_INSTALLED = "install ok installed"


def bill_of_materials(image: SavedImage, name: str) -> dict[str, Any]:
    """The Debian and Python packages of an image, as CycloneDX JSON."""
    components = {
        component["purl"]: component for component in _components(image.contents(_RECORDS))
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
            "tools": {
                "components": [{"type": "application", "name": "prumo", "version": __version__}]
            },
            "component": {"type": "container", "name": name, "bom-ref": name},
        },
        "components": [components[purl] for purl in sorted(components)],
    }


def _components(records: Mapping[str, bytes]) -> Iterator[dict[str, Any]]:
    for path, content in sorted(records.items()):
        text = content.decode("utf-8", "replace")
        if path.endswith("/METADATA"):
            yield _python_package(HeaderParser().parsestr(text))
            continue
        for paragraph in text.split("\n\n"):
            fields = HeaderParser().parsestr(paragraph.strip())
            # Records of distroless images have no status.
            if fields["Package"] and fields.get("Status", _INSTALLED) == _INSTALLED:
                yield _debian_package(fields)


def _python_package(fields: Message) -> dict[str, Any]:
    name, version = str(fields["Name"]), str(fields["Version"])
    normal = re.sub(r"[-_.]+", "-", name).lower()
    found = _component(name, version, f"pkg:pypi/{normal}@{quote(version)}")
    if expression := fields["License-Expression"]:
        found["licenses"] = [{"expression": str(expression)}]
    return found


def _debian_package(fields: Message) -> dict[str, Any]:
    name, version = str(fields["Package"]), str(fields["Version"])
    machine = fields["Architecture"]
    return _component(name, version, f"pkg:deb/debian/{name}@{quote(version)}?arch={machine}")


def _component(name: str, version: str, purl: str) -> dict[str, Any]:
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
