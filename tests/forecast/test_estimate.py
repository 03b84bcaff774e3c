"""Estimates of one training on a machine that is not here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from prumo.forecast.estimate import PassedOver, Training, Unlike, accelerator_of, estimate
from prumo.money.billing import rate_of
from prumo.money.price import Kind, Price, Purchase
from prumo.report.forecast import estimate_sentences
from prumo.results.tables import Results
from prumo_worker.networks import network
from support.result_factory import MACHINE, ResultFactory

if TYPE_CHECKING:
    from pathlib import Path

T4 = Price(
    provider="azure",
    sku="Standard_NC4as_T4_v3",
    region="eastus",
    vcpus=4,
    accelerator="T4",
    accelerator_count=1,
    on_demand=0.526,
    source="a test",
)
CPU = T4.model_copy(update={"sku": "box", "accelerator": "", "accelerator_count": 0, "vcpus": 8})
RATE = rate_of(T4, Purchase.ON_DEMAND)
VGG = Training(network("vgg19", 32, 3, 10), 50_000, 128, 200, "pytorch", "fp32")
REDE = Training(network("rede1", 28, 1, 10), 10_000, 32, 8, "pytorch", "fp32")


def test_without_results_the_data_sheet_bounds_the_time() -> None:
    told = estimate(VGG, T4, RATE, [])

    assert told is not None
    assert told.is_rough
    # No training is quicker than the peak of the card, 8.1 TFLOP/s, allows.
    assert told.seconds.low > VGG.work.training_flops / 8.1e12
    assert told.seconds.high > 5 * told.seconds.low
    assert told.seconds.low < told.seconds.value < told.seconds.high


def test_a_rough_estimate_is_called_so_and_says_what_it_rests_on() -> None:
    told = estimate(VGG, T4, RATE, [])
    assert told is not None

    said = " ".join(map(str, estimate_sentences(VGG, T4, told)))

    assert said.startswith("A rough estimate: to train vgg19 on azure/Standard_NC4as_T4_v3@eastus")
    assert "Nothing was measured on such a machine." in said
    assert "0.81 to 5.26 of its 8.1 TFLOP/s in fp32" in said


@pytest.mark.parametrize(
    ("accelerator", "said"),
    [("A100", "156 TFLOP/s in TF32"), ("tpu-v5litepod-8", "197 TFLOP/s in bf16")],
)
def test_a_peak_is_told_with_the_numbers_it_holds_for(accelerator: str, said: str) -> None:
    price = T4.model_copy(update={"accelerator": accelerator})
    told = estimate(VGG, price, RATE, [])
    assert told is not None

    sentences = " ".join(map(str, estimate_sentences(VGG, price, told)))

    assert said in sentences
    assert "25.0 PFLOP" in sentences


def test_money_is_the_time_at_the_rate() -> None:
    told = estimate(VGG, T4, RATE, [])

    assert told is not None
    assert told.cost is not None
    assert told.cost.value == RATE.cost(told.seconds.value)
    assert told.cost.low < told.cost.value < told.cost.high


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precision_may_be_quicker(precision: str) -> None:
    full = estimate(VGG, T4, RATE, [])
    half = estimate(Training(VGG.network, 50_000, 128, 200, "pytorch", precision), T4, RATE, [])

    assert full is not None
    assert half is not None
    assert half.seconds.low < full.seconds.low


def test_nothing_is_said_of_an_accelerator_without_data() -> None:
    unknown = T4.model_copy(update={"accelerator": "Inferentia"})

    assert accelerator_of(unknown) is None
    assert estimate(VGG, unknown, RATE, []) is None


def test_results_of_such_a_gpu_come_before_the_data_sheet(tmp_path: Path) -> None:
    told = estimate(REDE, T4, RATE, [_results(tmp_path, "Tesla T4", "cuda")])

    assert told is not None
    assert (told.is_rough, told.runs, told.machines) == (False, 8, ("Tesla T4",))
    # 20 s and a few more for four epochs with a batch of 32, and so twice that for eight.
    assert told.seconds.low < 2 * 27.5 < told.seconds.high
    assert told.seconds.high < 4 * told.seconds.low
    assert "It rests on 8 runs measured on such a machine (Tesla T4)" in " ".join(
        map(str, estimate_sentences(REDE, T4, told))
    )


@pytest.mark.parametrize(
    ("name", "device", "unlike"),
    [
        ("Tesla V100", "cuda", Unlike("Tesla V100", "T4")),
        ("Tesla T4", "cpu", Unlike("cpu", "cuda")),
    ],
)
def test_results_of_another_machine_are_not_used(
    tmp_path: Path, name: str, device: str, unlike: Unlike
) -> None:
    told = estimate(REDE, T4, RATE, [_results(tmp_path, name, device)])

    assert told is not None
    assert told.is_rough
    assert told.passed_over == (PassedOver(8, unlike),)


def test_results_of_a_processor_need_the_same_number_of_cores(tmp_path: Path) -> None:
    results = _results(tmp_path, "", "cpu")
    other = CPU.model_copy(update={"vcpus": 64})

    same, different = estimate(REDE, CPU, RATE, [results]), estimate(REDE, other, RATE, [results])

    assert same is not None
    assert different is not None
    assert (same.is_rough, different.is_rough) == (False, True)
    assert same.passed_over == ()
    assert "Given with --from but not counted: 8 runs with 8 cores, not with 64 cores." in [
        str(said) for said in estimate_sentences(REDE, other, different)
    ]


def test_all_accelerators_of_a_machine_are_paid_for() -> None:
    eight = T4.model_copy(update={"accelerator_count": 8.0})
    told = estimate(VGG, eight, RATE, [])
    assert told is not None

    assert "One of its 8 accelerators works; all of them are paid for." in [
        str(said) for said in estimate_sentences(VGG, eight, told)
    ]


def test_serverless_memory_tells_nothing_of_speed() -> None:
    memory = Price(provider="sagemaker", sku="serverless-2gb", region="us", kind=Kind.SERVERLESS)

    assert estimate(VGG, memory, None, []) is None


def _results(path: Path, gpu: str, device: str) -> Results:
    machine: dict[str, Any] = {
        **MACHINE,
        "cpu": {"model": "Xeon", "usable_cores": 8},
        "gpus": {"devices": [{"name": gpu}] if gpu else []},
    }
    factory = ResultFactory(
        path / "demo", factors={"batch_size": [32, 64]}, machine=machine, samples=2
    )
    factory.write_study(4)
    for number, levels in enumerate(factory.scenarios(), start=1):
        for replication in range(1, 5):
            factory.run(
                number,
                replication,
                levels,
                device=device,
                parameters={
                    **levels,
                    "network": "rede1",
                    "framework": "pytorch",
                    "precision": "fp32",
                    "device": device,
                    "epochs": factory.epochs,
                },
            )
    return Results(path / "demo")
