"""What is known of accelerators."""

from __future__ import annotations

import pytest

from prumo.forecast.estimate import ACCELERATORS, find_accelerator, processor


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("T4", "T4"),
        ("Tesla T4", "T4"),
        ("NVIDIA A100-SXM4-40GB", "A100"),
        ("NVIDIA A100-SXM4-80GB", "A100-80GB"),
        ("A100-80GB", "A100-80GB"),
        ("NVIDIA A10G", "A10G"),
        ("NVIDIA L4", "L4"),
        ("tpu-v5litepod-8", "tpu-v5litepod"),
        ("tpu-v6e-1", "tpu-v6e"),
    ],
)
def test_a_device_is_found_as_a_price_or_a_driver_names_it(name: str, found: str) -> None:
    accelerator = find_accelerator(name)

    assert accelerator is not None
    assert accelerator.name == found


@pytest.mark.parametrize("name", ["NVIDIA L40S", "Inferentia2", "tpu-v9-8", "A10", ""])
def test_a_device_that_is_not_known_is_not_guessed(name: str) -> None:
    assert find_accelerator(name) is None


def test_no_device_is_slower_in_half_precision() -> None:
    for accelerator in ACCELERATORS:
        least, most = accelerator.peak_flops("fp32")
        assert least <= most <= accelerator.peak_flops("fp16")[0]
        assert accelerator.source


def test_more_cores_compute_more() -> None:
    assert processor(8).peak_flops("fp32")[0] == 2 * processor(4).peak_flops("fp32")[0]
