"""Whatever is given as a study becomes a valid plan or a StudyError, and nothing else."""

from __future__ import annotations

import json
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prumo.study import Study, StudyError, fingerprint, load, plan_of
from prumo.study.document import read_document
from support.study_factory import COMMAND, TRAINING, training_study

if TYPE_CHECKING:
    from pathlib import Path

JUNK = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-5, 200),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from(["rede1", "full", "random", "adam", "{a}", "4GiB", "a == 1", "command"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
SECTIONS = st.sampled_from([*Study.model_fields, "unknown"])
SECTION_KEYS = ["kind", "command", "data", "metrics", "keep", "patterns", "size", "base", "seed"]
FACTOR_KEYS = ["a", "batch_size", "network", "machine", "environment", "framework", "images"]
VALUE_KEYS = ["device", "price", "metric", "minimum", "maximum", "memory_bytes", "affinity"]
KEYS = st.sampled_from([*SECTION_KEYS, *FACTOR_KEYS, *VALUE_KEYS, "generators", "pytorch"])


@st.composite
def mutated_studies(draw: st.DrawFn) -> dict[str, Any]:
    """A valid study in which some sections, or keys of sections, are replaced."""
    data = dict(draw(st.sampled_from([TRAINING, COMMAND])))
    for section in draw(st.lists(SECTIONS, min_size=1, max_size=3, unique=True)):
        if draw(st.booleans()):
            data[section] = draw(JUNK)
        else:
            known = data.get(section)
            inner = dict(known) if isinstance(known, dict) else {}
            inner[draw(KEYS)] = draw(st.one_of(JUNK, st.lists(JUNK, max_size=3)))
            data[section] = inner
    return data


VALID_LEVELS: dict[str, st.SearchStrategy[Any]] = {
    "framework": st.sampled_from(["pytorch", "tensorflow@2.14.0", "mxnet", "jax", "caffe"]),
    "dataset": st.sampled_from(["mnist", "fashion_mnist", "cifar10", "generated", "own"]),
    "image_size": st.integers(32, 128),
    "batch_size": st.integers(1, 512),
    "epochs": st.integers(1, 100),
    "images": st.integers(512, 50_000),
    "optimizer": st.sampled_from(["sgd", "adam"]),
    "learning_rate": st.floats(1e-6, 10),
    "momentum": st.floats(0, 0.99),
    "precision": st.sampled_from(["fp32", "bf16", "fp16"]),
    "channels_last": st.booleans(),
    "environment": st.sampled_from(["small", "large"]),
    "seed": st.integers(0, 2**32 - 1),
}


@st.composite
def valid_studies(draw: st.DrawFn) -> dict[str, Any]:
    """A training study in which parameters are factors, fixed, or left out."""
    network = st.sampled_from(["rede1", "rede2", "lenet5"])
    factors = {"network": draw(st.lists(network, min_size=1, max_size=3, unique=True))}
    fixed = {}
    for name, levels in VALID_LEVELS.items():
        role = draw(st.sampled_from(["absent", "absent", "fixed", "factor"]))
        if role == "fixed":
            fixed[name] = draw(levels)
        elif role == "factor":
            factors[name] = draw(st.lists(levels, min_size=1, max_size=2, unique=True))
    return {
        "name": "valid",
        "workload": {"kind": "training", "data": {"own": "own.npz"}},
        "factors": dict(draw(st.permutations(list(factors.items())))),
        "fixed": fixed,
        "machines": {
            "small": {"device": "cpu"},
            "large": {"price": "gcp/n1-standard-4+T4@us-central1"},
        },
        "replications": draw(st.integers(1, 20)),
    }


@settings(deadline=None, max_examples=60)
@given(valid_studies())
def test_a_valid_study_plans_every_combination_and_survives_its_own_text(
    data: dict[str, Any],
) -> None:
    study = Study.from_dict(data)
    scenarios = list(islice(study.scenarios(), 1000))

    assert plan_of(study).scenarios == prod(map(len, data["factors"].values()))
    assert [tuple(scenario.factors.values()) for scenario in scenarios] == list(
        islice(product(*data["factors"].values()), 1000)
    )
    assert read_document(study.text, None).data == json.loads(
        study.model_dump_json(exclude_unset=True)
    )


def plan_or_error(data: Any) -> None:
    try:
        study = Study.from_dict(data)
        scenarios = list(islice(study.scenarios(), 100))
    except StudyError:
        return
    assert scenarios
    assert plan_of(study).runs >= len(scenarios)
    assert all(fingerprint(study, scenario) for scenario in scenarios)
    assert Study.from_dict(study.model_dump(mode="json")).factors == study.factors


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(mutated_studies())
def test_a_mutated_study_is_a_plan_or_an_error(data: dict[str, Any]) -> None:
    plan_or_error(data)


@settings(deadline=None)
@given(JUNK)
def test_junk_is_an_error(data: Any) -> None:
    with pytest.raises(StudyError):
        Study.from_dict(data)


WHOLE_LINES = [
    "name: s\n",
    "workload: {kind: training}\n",
    "factors:\n",
    "  network: [rede1]\n",
    "fixed: {epochs: 2}\n",
    "%YAML 1.1\n",
    "---\n",
]
TAGS = ["!!timestamp ", "!!binary ", "!!set ", "!!int ", "!!", "&a ", "*a", "<<: "]
SIGNS = [*"{}[]'\"\n-?|", ": ", "  ", "\x85", "0o17", "1e999"]
PIECES = st.sampled_from([*WHOLE_LINES, *TAGS, *SIGNS])


@settings(
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.one_of(
        st.binary(max_size=40), st.lists(PIECES, max_size=12).map(lambda p: "".join(p).encode())
    )
)
def test_any_file_is_a_study_or_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "study.yaml"
    path.write_bytes(content)

    try:
        study = load(path)
    except StudyError:
        return
    assert list(study.scenarios())


def test_adaptive_replications_make_a_range_of_runs() -> None:
    goal = {"metric": "train_seconds", "half_width_percent": 5, "minimum": 3, "maximum": 10}
    plan = plan_of(training_study(replications=goal))

    assert (plan.runs_minimum, plan.runs) == (12, 40)


def test_memory_sizes_have_units() -> None:
    sizes = {"4GiB": 4 * 2**30, "512MiB": 2**29, 10_000_000: 10_000_000}

    for written, size in sizes.items():
        study = training_study(measure={"memory_bytes": written})
        assert study.measure.memory_bytes == size
        assert json.loads(study.model_dump_json())["measure"]["memory_bytes"] == size
