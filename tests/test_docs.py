"""What the documentation shows works as shown."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from prumo.study import Study
from prumo.study.workload import installed_workloads

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


def test_the_example_for_python_runs(tmp_path: Path) -> None:
    text = (ROOT / "docs/python.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    check = "\nassert results.summary().height and set(results.runs()['verdict']) == {'finished'}\n"
    subprocess.run([sys.executable, "-c", example + check], cwd=tmp_path, check=True)
    assert (tmp_path / "results/sorting/runs/C02-r3/run.json").exists()


@pytest.mark.parametrize("page", ["README.md", "docs/data.md"])
def test_the_study_that_a_page_begins_with_is_whole(page: str, tmp_path: Path) -> None:
    example = re.search(r"```yaml\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert example
    (tmp_path / "study.yaml").write_text(example[1])
    assert list(Study.load(tmp_path / "study.yaml").scenarios())


def test_the_contract_of_study_files_names_every_parameter() -> None:
    text = (ROOT / "docs/contracts.md").read_text()

    for kind, workload in installed_workloads().items():
        assert f"`{kind}` workload**" in text
        names = workload.parameters.model_fields if workload.parameters else ()
        assert [name for name in names if f"`{name}`" not in text] == [], kind


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
