"""Settings from flags and from the environment."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

import pytest

from prumo.errors import InputError
from prumo_serve.server.settings import MEBIBYTE, Flags, Limits, Settings, given_settings

MODEL = Path("model.tar.gz")


def test_without_anything_it_is_what_sagemaker_expects() -> None:
    settings = given_settings(Flags(), {})

    assert settings.model == Path("/opt/ml/model")
    assert ip_address(settings.host).is_unspecified
    assert settings.port == 8080
    assert settings.limits.body_bytes == 25 * MEBIBYTE
    assert settings.limits.timeout_seconds < 60


def test_a_model_of_ones_own_is_served_to_this_computer_only() -> None:
    container = Flags(model=Path("/opt/ml/model"))

    assert ip_address(given_settings(Flags(model=MODEL), {}).host).is_loopback
    assert given_settings(Flags(model=MODEL, host="10.0.0.7"), {}).host == "10.0.0.7"
    assert ip_address(given_settings(container, {}).host).is_unspecified


@pytest.mark.parametrize(
    ("variable", "value", "found"),
    [
        ("SM_MODEL_DIR", "/models/one", lambda found: found.model == Path("/models/one")),
        ("SAGEMAKER_BIND_TO_PORT", "9001", lambda found: found.port == 9001),
        ("SAGEMAKER_MODEL_SERVER_WORKERS", "3", lambda found: found.workers == 3),
        ("MODEL_SERVER_WORKERS", "5", lambda found: found.workers == 5),
        (
            "SAGEMAKER_MODEL_SERVER_TIMEOUT",
            "7.5",
            lambda found: found.limits.timeout_seconds == 7.5,
        ),
        ("MODEL_SERVER_TIMEOUT", "8", lambda found: found.limits.timeout_seconds == 8),
        (
            "SAGEMAKER_MAX_PAYLOAD_IN_MB",
            "6",
            lambda found: found.limits.body_bytes == 6 * MEBIBYTE,
        ),
        ("SAGEMAKER_CONTAINER_LOG_LEVEL", "10", lambda found: found.log_level == "debug"),
        ("SAGEMAKER_CONTAINER_LOG_LEVEL", "Warning", lambda found: found.log_level == "warning"),
        ("SAGEMAKER_BIND_TO_PORT", "", lambda found: found.port == 8080),
    ],
)
def test_the_customary_variables_are_heard(variable: str, value: str, found: object) -> None:
    assert callable(found)
    assert found(given_settings(Flags(), {variable: value}))


def test_sagemakers_names_come_before_the_studys() -> None:
    both = {"SAGEMAKER_MODEL_SERVER_WORKERS": "2", "MODEL_SERVER_WORKERS": "7"}

    assert given_settings(Flags(), both).workers == 2


def test_flags_come_before_variables() -> None:
    environment = {
        "SAGEMAKER_BIND_TO_PORT": "9001",
        "MODEL_SERVER_WORKERS": "5",
        "SAGEMAKER_MAX_PAYLOAD_IN_MB": "6",
        "MODEL_SERVER_TIMEOUT": "8",
        "SAGEMAKER_CONTAINER_LOG_LEVEL": "debug",
        "SM_MODEL_DIR": "/models/one",
    }
    flags = Flags(
        model=MODEL, port=0, workers=1, max_body_mb=1, timeout_seconds=2, log_level="error"
    )

    settings = given_settings(flags, environment)

    assert (settings.model, settings.port, settings.workers) == (MODEL, 0, 1)
    assert (settings.limits.body_bytes, settings.limits.timeout_seconds) == (MEBIBYTE, 2)
    assert settings.log_level == "error"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SAGEMAKER_BIND_TO_PORT", "eighty"),
        ("SAGEMAKER_BIND_TO_PORT", "70000"),
        ("SAGEMAKER_MODEL_SERVER_WORKERS", "0"),
        ("MODEL_SERVER_WORKERS", "1.5"),
        ("SAGEMAKER_MODEL_SERVER_TIMEOUT", "-1"),
        ("MODEL_SERVER_TIMEOUT", "nan"),
        ("SAGEMAKER_MAX_PAYLOAD_IN_MB", "much"),
        ("SAGEMAKER_CONTAINER_LOG_LEVEL", "loud"),
    ],
)
def test_a_bad_value_is_an_error_that_names_the_variable(variable: str, value: str) -> None:
    with pytest.raises(InputError, match=f"{variable}={value}: must be"):
        given_settings(Flags(), {variable: value})


def test_workers_and_threads_fill_the_cores_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _process: set(range(8)))
    monkeypatch.setattr("prumo_serve.server.settings.quota_cores", lambda: None)

    shares = [
        (settings.workers, settings.threads)
        for settings in (
            given_settings(Flags(), {}),
            given_settings(Flags(threads=4), {}),
            given_settings(Flags(workers=2), {}),
            given_settings(Flags(workers=20), {}),
            given_settings(Flags(workers=3, threads=5), {}),
        )
    ]

    assert shares == [(8, 1), (2, 4), (2, 4), (20, 1), (3, 5)]


def test_batches_grow_with_the_threads_that_work_on_them() -> None:
    assert given_settings(Flags(workers=1, threads=1), {}).max_batch == 2
    assert given_settings(Flags(workers=1, threads=4), {}).max_batch == 8
    assert given_settings(Flags(workers=1, threads=4, max_batch=1), {}).max_batch == 1


def test_a_containers_quota_counts_as_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _process: set(range(8)))
    monkeypatch.setattr("prumo_serve.server.settings.quota_cores", lambda: 2.5)

    assert given_settings(Flags(), {}).workers == 2


@pytest.mark.parametrize(
    ("quota", "flags", "shares", "may_spin"),
    [
        (None, Flags(), (8, 1, 8), True),
        (None, Flags(workers=2), (2, 4, 8), True),
        (None, Flags(threads=1), (8, 1, 1), True),
        (None, Flags(stack="nginx"), (8, 1, 1), True),
        (0.58, Flags(), (1, 1, 1), False),
        (1.16, Flags(), (1, 1, 2), False),
        (2.5, Flags(), (2, 1, 3), False),
        (64.0, Flags(), (8, 1, 8), True),
    ],
)
def test_a_lone_request_has_all_cores_that_a_quota_leaves(
    monkeypatch: pytest.MonkeyPatch,
    quota: float | None,
    flags: Flags,
    shares: tuple[int, int, int],
    may_spin: bool,
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _process: set(range(8)))
    monkeypatch.setattr("prumo_serve.server.settings.quota_cores", lambda: quota)

    settings = given_settings(flags, {})

    assert (settings.workers, settings.threads, settings.lone_threads) == shares
    assert settings.may_spin is may_spin


def test_there_is_room_for_several_of_the_largest_bodies() -> None:
    limits = given_settings(Flags(max_body_mb=1000), {}).limits

    assert limits.waiting_bytes == 4 * limits.body_bytes


def test_settings_survive_the_way_to_another_process() -> None:
    settings = Settings(
        MODEL, port=1, workers=3, runtime="openvino", limits=Limits(pixels=5, body_seconds=0.5)
    )

    assert Settings.from_json(settings.to_json()) == settings
