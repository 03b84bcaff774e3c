"""How long one training will take on a machine that is not here. Pure.

Measured results of such a machine are scaled to the training, as a forecast does. Without them the
data sheet has to do: peak speed times a range of what trainings reach of it, and the memory's
bandwidth, which gives a wide interval that is called a rough estimate.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING

from prumo.forecast.document import Span
from prumo.forecast.observation import (
    Kind,
    Observation,
    Subject,
    Work,
    observation_of,
    training_work,
)
from prumo.forecast.simulation import simulate, span_of_draws
from prumo.money.study_prices import machine_label

if TYPE_CHECKING:
    from prumo.money.billing import Rate
    from prumo.money.price import Price
    from prumo.results.record import RunRecord
    from prumo.results.tables import Results
    from prumo.study import Study
    from prumo_worker.networks import Network

T, G = 1e12, 1e9
NVIDIA = "nvidia.com"
AMAZON = "aws.amazon.com/ec2/instance-types/g5"
GOOGLE = "cloud.google.com/tpu/docs"
CORE_FLOPS = 96 * G
"""Two fused multiply-adds of eight numbers in each cycle (AVX2) at 3 GHz."""
CORE_BYTES_PER_SECOND = 5 * G
"""A core's share of the memory channels of a server."""

VECTOR_USE = (0.10, 0.65)
"""Of the peak in fp32: 24 CPU trainings of small networks reached 0.2 to 0.6 of that of 2 cores."""
MATRIX_USE = (0.03, 0.40)
"""Of the peak of matrix units. ResNet-50 in mixed precision reaches 0.21 on an A100 with 2,600
images/s (github.com/huggingface/pytorch-image-models/issues/1491) and 0.25 on a V100 with 1,270
(github.com/NVIDIA/DeepLearningExamples/issues/837); small networks reach far less."""
PASSES = (3, 10)
"""How often the activations go through the memory in a step: forward, backward, and the layers
between convolutions, which a compiler may merge."""
LAYER_SECONDS = (10e-6, 200e-6)
"""Of starting the operations of one layer in one step, forward and backward."""
START_SECONDS = (3.0, 60.0)


def estimate(
    training: Training, price: Price, rate: Rate | None, earlier: Sequence[Results]
) -> Estimated | None:
    """Estimate a training on a priced machine; None where neither runs nor data are known of it."""
    accelerator = accelerator_of(price)
    device = accelerator.device if accelerator else "cuda"
    kind = Kind(framework=training.framework, device=device, precision=training.precision)
    taught, machines, passed_over = _taught(kind, price, earlier)
    if taught:
        seconds = _from_runs(training, kind, taught)
    elif accelerator:
        seconds = _from_data_sheet(training, accelerator)
    else:
        return None
    return Estimated(
        seconds=seconds,
        # A bill never falls with time, so the ends of the time are the ends of the money.
        cost=Span(**{end: rate.cost(value) for end, value in seconds}) if rate else None,
        rate=rate,
        runs=len(taught),
        machines=tuple(machines),
        accelerator=accelerator,
        passed_over=tuple(passed_over),
    )


@dataclass(frozen=True)
class Training:
    """One training to be estimated."""

    network: Network
    images: int
    batch_size: int
    epochs: int
    framework: str
    precision: str

    @property
    def work(self) -> Work:
        """Its sizes, without a rehearsal."""
        return training_work(
            self.network, images=self.images, batch_size=self.batch_size, epochs=self.epochs
        )


@dataclass(frozen=True)
class Accelerator:
    """One device; speeds in floating-point operations per second."""

    name: str
    device: str
    """What frameworks call it: `cuda`, `tpu` or `cpu`."""
    fp32_flops: float
    half_flops: float
    """In fp16 or bf16, by the matrix units."""
    bytes_per_second: float
    tf32_flops: float | None = None
    """Where fp32 may be computed by the matrix units, with shorter factors."""
    source: str = ""

    def peak_flops(self, precision: str) -> tuple[float, float]:
        """The least and the most that its maker promises in a precision."""
        if precision != "fp32":
            return self.half_flops, self.half_flops
        return self.fp32_flops, self.tf32_flops or self.fp32_flops

    def peak_format(self, precision: str) -> str:
        """The numbers that the most is promised for, which need not be those of the precision."""
        if self.device == "cpu":
            return "fp32"
        if self.device == "tpu":
            return "bf16"
        return "TF32" if precision == "fp32" and self.tf32_flops else precision


@dataclass(frozen=True)
class Unlike:
    """In what a measured run differs from the training to be estimated."""

    was: str | int
    """A name, or a number of cores."""
    wanted: str | int


@dataclass(frozen=True)
class PassedOver:
    """Measured runs that do not count."""

    runs: int
    unlike: Unlike | None
    """None where they do not tell the time of a training."""


@dataclass(frozen=True)
class Estimated:
    """The time and the money of one training."""

    seconds: Span
    cost: Span | None
    rate: Rate | None
    runs: int
    """Measured runs that it rests on; 0 for a rough estimate from a data sheet."""
    machines: tuple[str, ...]
    """The machines of these runs."""
    accelerator: Accelerator | None
    """Whose data sheet it rests on where nothing was measured."""
    passed_over: tuple[PassedOver, ...] = ()
    """Runs that were given and do not count."""

    @property
    def is_rough(self) -> bool:
        """Whether nothing of the kind was measured."""
        return self.runs == 0


ACCELERATORS = (
    Accelerator("T4", "cuda", 8.1 * T, 65 * T, 320 * G, source=NVIDIA),
    Accelerator("V100", "cuda", 15.7 * T, 125 * T, 900 * G, source=NVIDIA),
    Accelerator("A100", "cuda", 19.5 * T, 312 * T, 1555 * G, 156 * T, NVIDIA),
    Accelerator("A100-80GB", "cuda", 19.5 * T, 312 * T, 1935 * G, 156 * T, NVIDIA),
    Accelerator("H100", "cuda", 60 * T, 835 * T, 3350 * G, 417 * T, NVIDIA),
    Accelerator("L4", "cuda", 30.3 * T, 121 * T, 300 * G, 60 * T, NVIDIA),
    Accelerator("A10G", "cuda", 35 * T, 70 * T, 600 * G, source=AMAZON),
    Accelerator("tpu-v2", "tpu", 22.5 * T, 22.5 * T, 300 * G, source=GOOGLE),
    Accelerator("tpu-v3", "tpu", 61.5 * T, 61.5 * T, 450 * G, source=GOOGLE),
    Accelerator("tpu-v4", "tpu", 275 * T, 275 * T, 1200 * G, source=GOOGLE),
    Accelerator("tpu-v5litepod", "tpu", 197 * T, 197 * T, 819 * G, source=GOOGLE),
    Accelerator("tpu-v5p", "tpu", 459 * T, 459 * T, 2765 * G, source=GOOGLE),
    Accelerator("tpu-v6e", "tpu", 918 * T, 918 * T, 1638 * G, source=GOOGLE),
)
BY_NAME = {accelerator.name.lower(): accelerator for accelerator in ACCELERATORS}


def find_accelerator(name: str) -> Accelerator | None:
    """The accelerator that a price or a driver names; None where its data are not known.

    >>> find_accelerator("tpu-v5litepod-8").name, find_accelerator("Tesla T4").name
    ('tpu-v5litepod', 'T4')
    """
    words = name.lower()
    if words.startswith("tpu"):
        return BY_NAME.get(re.sub(r"-\d+$", "", words))
    named = [key for key in BY_NAME if re.search(rf"(?<![a-z0-9]){key}(?![a-z0-9])", words)]
    longest = max(named, key=len, default="")
    return BY_NAME.get("a100-80gb" if longest == "a100" and "80gb" in words else longest)


def processor(cores: float) -> Accelerator:
    """A processor of so many cores."""
    flops, bandwidth = cores * CORE_FLOPS, cores * CORE_BYTES_PER_SECOND
    return Accelerator("cpu", "cpu", flops, flops, bandwidth, source="AVX2 at 3 GHz")


def accelerator_of(price: Price) -> Accelerator | None:
    """What a machine computes with; None for an accelerator that nothing is known of."""
    if price.accelerator:
        return find_accelerator(price.accelerator)
    return processor(price.vcpus) if price.vcpus else None


def reached_flops(accelerator: Accelerator, precision: str) -> tuple[float, float]:
    """The least and the most operations per second that a training is taken to reach."""
    slow, fast = accelerator.peak_flops(precision)
    by_matrices = accelerator.device == "tpu" or (
        accelerator.device == "cuda" and precision != "fp32"
    )
    least, most = MATRIX_USE if by_matrices else VECTOR_USE
    return slow * least, fast * (MATRIX_USE[1] if fast > slow else most)


def _from_runs(training: Training, kind: Kind, taught: Sequence[Observation]) -> Span:
    work = training.work
    subject = Subject(
        scenario="",
        kind=kind,
        place=(training.network.name, work.flops, training.batch_size),
        replications=1,
        work=work,
    )
    simulation = simulate([subject], taught)
    return span_of_draws(float(simulation.wall_seconds[0]), simulation.wall_draws)


def _from_data_sheet(training: Training, accelerator: Accelerator) -> Span:
    """Between all going well and all adding up; in the middle by ratio."""
    work, precision = training.work, training.precision
    slow, fast = reached_flops(accelerator, precision)
    moved = work.activation_bytes * work.images / accelerator.bytes_per_second
    moved *= 1.0 if precision == "fp32" else 0.5
    started = work.layers * work.steps
    parts = [
        (work.training_flops / flops, passes * moved, seconds * started)
        for flops, passes, seconds in zip((fast, slow), PASSES, LAYER_SECONDS, strict=True)
    ]
    low, high = START_SECONDS[0] + max(parts[0]), sum(parts[1], START_SECONDS[1])
    return Span(value=sqrt(low * high), low=low, high=high)


def _taught(
    kind: Kind, price: Price, earlier: Sequence[Results]
) -> tuple[list[Observation], list[str], list[PassedOver]]:
    """The measured runs of this framework, precision and kind of machine, and the others."""
    taught, machines, others = [], dict[str, None](), list[Unlike | None]()
    for results in earlier:
        for record in results.records:
            observation = observation_of(record, results.study)
            if observation is None or observation.work is None:
                others.append(None)
                continue
            if unlike := _unlike(observation.kind, kind) or _unlike_machine(
                record, results.study, price
            ):
                others.append(unlike)
                continue
            # The place as far as a single training knows it.
            known, batch_size = record.parameters["network"], record.parameters["batch_size"]
            place = (known, observation.work.flops, batch_size)
            taught.append(replace(observation, kind=kind, place=place))
            machines[_machine_words(record)] = None
    passed_over = [PassedOver(runs, unlike) for unlike, runs in Counter(others).items()]
    return taught, list(machines), passed_over


def _unlike(seen: Kind, wanted: Kind) -> Unlike | None:
    """The first thing in which a run differs from what is asked for, apart from the machine."""
    for name in ("framework", "device", "precision"):
        if (was := getattr(seen, name)) != (asked := getattr(wanted, name)):
            return Unlike(was, asked)
    return None


def _unlike_machine(record: RunRecord, study: Study | None, price: Price) -> Unlike | None:
    """What tells the machine of a run from this kind: its GPU or its number of cores."""
    if not price.accelerator:
        cores, vcpus = record.machine.get("cpu", {}).get("usable_cores") or 0, price.vcpus or 0
        if cores and cores == vcpus:
            return None
        return Unlike(cores, int(vcpus))
    if record.device == "tpu":
        # A TPU does not tell its version, so the study's own word for the machine has to do.
        machine = study.machines.get(machine_label(record.parameters)) if study else None
        sku = ((machine and machine.price) or "tpu").partition("@")[0]
        asked = f"{price.provider}/{price.sku}"
        return None if sku == asked else Unlike(sku, asked)
    wanted, names = find_accelerator(price.accelerator), _gpu_names(record)
    if wanted is not None and any(find_accelerator(name) == wanted for name in names):
        return None
    return Unlike(names[0] if names else record.device or "cpu", price.accelerator)


def _machine_words(record: RunRecord) -> str:
    cpu, names = record.machine.get("cpu", {}), _gpu_names(record)
    if record.device == "cpu" or not names:
        return f"{cpu.get('model') or 'CPU'} ({cpu.get('usable_cores')})"
    return names[0]


def _gpu_names(record: RunRecord) -> list[str]:
    devices = record.machine.get("gpus", {}).get("devices", [])
    return [str(device.get("name", "")) for device in devices]
