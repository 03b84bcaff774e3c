from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prumo.results.record import trained_architectures
from prumo.results.tables import Results
from prumo.study.network import Architecture
from support.result_factory import ResultFactory

if TYPE_CHECKING:
    from pathlib import Path


def test_an_architecture_has_the_frameworks_that_trained_it(tmp_path: Path) -> None:
    factors: dict[str, list[Any]] = {"framework": ["pytorch", "jax"], "image_size": [28]}
    results = Results(ResultFactory(tmp_path / "demo", factors=factors).study_of(2).path)

    assert trained_architectures(results.records) == {
        Architecture("rede1", 28, 1, 10): ("pytorch", "jax")
    }


def test_a_program_that_names_no_framework_trained_nothing_that_can_be_compared(
    tmp_path: Path,
) -> None:
    factory = ResultFactory(tmp_path / "demo", factors={"image_size": [28, 32]}).study_of(1)

    assert trained_architectures(Results(factory.path).records) == {}
