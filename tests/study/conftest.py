from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prumo.study import StudyError, load
from support.study_factory import Refusal, StudyMaker, command_study, training_study

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def training() -> StudyMaker:
    return training_study


@pytest.fixture
def command() -> StudyMaker:
    return command_study


@pytest.fixture
def refusal(tmp_path: Path) -> Refusal:
    def refuse(text: str) -> StudyError:
        path = tmp_path / "study.yaml"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(StudyError) as caught:
            load(path)
        return caught.value

    return refuse
