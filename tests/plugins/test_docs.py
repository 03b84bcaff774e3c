"""The code in docs/plugins.md is that of the stranger's package, which other tests run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from prumo import plugins, testing

PAGE = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text("utf-8")
STRANGER = Path(__file__).parent / "stranger"
BLOCKS = re.findall(r"^```(?:python|toml)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
POINTS = [value for value in vars(plugins).values() if isinstance(value, plugins.PluginPoint)]


@pytest.mark.parametrize("block", BLOCKS)
def test_an_example_is_code_that_is_run(block: str) -> None:
    files = [*STRANGER.rglob("*.py"), STRANGER / "pyproject.toml"]

    assert any(block.strip() in file.read_text("utf-8") for file in files)


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.noun)
def test_every_point_is_described_with_prumos_own_plugins(point: plugins.PluginPoint) -> None:
    (row,) = re.findall(rf"^\| `{point.group}` .*$", PAGE, re.MULTILINE)

    own = {name for name in point.names() if _is_own(point, name)}
    assert own == set(row.split("|")[3].strip().split(", "))
    assert row.split("`")[-2] in testing.__all__
    assert f'entry-points."{point.group}"' in PAGE


def _is_own(point: plugins.PluginPoint, name: str) -> bool:
    owner = point._entries[name].dist
    return owner is not None and owner.name == "prumo"
