"""A training log of a library: which run it tells of, and the steps in it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path


NUMBER = r"-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf)"
"""How both libraries print a figure."""

_NAME = re.compile(
    r"train_(?P<network>[A-Za-z0-9_.-]+)_(?P<mode>CPU|GPU)_(?P<batch>\d+)\.log", re.IGNORECASE
)

# A single step is the warm-up: with one more there is a time to speak of.
_FEWEST_STEPS = 2


@dataclass(frozen=True)
class LoggedStep:
    """One step as a log tells it."""

    number: int
    loss: float
    seconds: float | None
    """Of one step; None where the log has no time, or none that can be believed."""
    iterations: int = 1
    """How many steps the line stands for: its own and those since the line before."""


@dataclass(frozen=True)
class LogKind:
    """How one library writes its log."""

    name: str
    """As the command line calls it: `caffe-log`."""
    framework: str
    title: str
    """As people write the library's name."""
    step: Callable[[str], LoggedStep | None]
    """The step that a line tells of; none for every other line."""
    note: str = ""
    """What a reader of the figures must know."""
    device: re.Pattern[str] | None = None
    """What the library prints of its device, cpu or gpu in the first group; none where nothing."""


@dataclass(frozen=True)
class Log:
    """All steps of one training, and what was trained."""

    kind: LogKind
    file: Path
    factors: dict[str, Any]
    steps: tuple[LoggedStep, ...]
    sha256: str

    @property
    def batch_size(self) -> int:
        """Images per step."""
        return int(self.factors["batch_size"])


def read_log(kind: LogKind, file: Path) -> Log:
    """Read a log named `train_NETWORK_MODE_BATCH.log`."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    factors = _factors(kind, file)
    text = content.decode(errors="replace")
    steps = tuple(_steps(kind, text.splitlines()))
    if not steps:
        raise InputError(
            f"{file}: no step with its loss and time is in it; is it a whole "
            f"{kind.name.replace('-', ' ')}?"
        )
    _require_figures(file, steps)
    _require_device(kind, file, text, factors["machine"])
    return Log(kind, file, factors, steps, hashlib.sha256(content).hexdigest())


def _require_figures(file: Path, steps: Iterable[LoggedStep]) -> None:
    timed = sum(step.iterations for step in steps if step.seconds is not None)
    if timed < _FEWEST_STEPS:
        raise InputError(
            f"{file}: the log is cut: it has the loss and time of {timed} "
            f"step{'' if timed == 1 else 's'}, and {_FEWEST_STEPS} are the fewest"
        )


def _require_device(kind: LogKind, file: Path, text: str, device: str) -> None:
    """Refuse a log that says another device than its name; the last training in it counts."""
    said = kind.device.findall(text) if kind.device else []
    if said and said[-1].lower() != device:
        raise InputError(
            f"{file}: the name says {device.upper()}, and the training in it used {said[-1]}"
        )


def _steps(kind: LogKind, lines: Iterable[str]) -> Iterable[LoggedStep]:
    """The steps of the last training in a log; a number that goes back is a new beginning."""
    steps: list[LoggedStep] = []
    for step in filter(None, map(kind.step, lines)):
        if steps and step.number < steps[-1].number:
            steps.clear()
        if steps and step.number == steps[-1].number:
            steps.pop()
        steps.append(step)
    return _with_iterations(steps)


def _with_iterations(steps: list[LoggedStep]) -> Iterator[LoggedStep]:
    """The steps with how many each stands for, as many logs tell only every twentieth."""
    if not steps:
        return
    distances = [after.number - before.number for before, after in pairwise(steps)]
    # A training that goes on from a snapshot does not begin at 0.
    first = max(1, min([steps[0].number, *distances[:1]]))
    for step, iterations in zip(steps, [first, *distances], strict=True):
        yield replace(step, iterations=iterations)


def _factors(kind: LogKind, file: Path) -> dict[str, Any]:
    name = _NAME.fullmatch(file.name)
    if not name or not int(name["batch"]):
        raise InputError(
            f"{file}: the name tells what was trained, so it should be "
            "train_NETWORK_MODE_BATCH.log, as train_alexnet_GPU_064.log"
        )
    return {
        "framework": kind.framework,
        "machine": name["mode"].lower(),
        "network": name["network"],
        "batch_size": int(name["batch"]),
    }


_CAFFE_LINE = re.compile(
    rf"Iteration (?P<step>\d+) \({NUMBER} iter/s, (?P<seconds>{NUMBER})s/(?P<count>\d+) iters\), "
    rf"loss = (?P<loss>{NUMBER})"
)
# `Use CPU.` and `Using GPUs 0, 1`.
_DEVICE = re.compile(r"\] Us(?:e|ing) (CPU|GPU)")


def read_caffe_step(line: str) -> LoggedStep | None:
    """The step of a line; iteration 0 has no time, as nothing has been timed by then."""
    found = _CAFFE_LINE.search(line)
    if not found:
        return None
    number = int(found["step"])
    seconds = float(found["seconds"]) / max(1, int(found["count"]))
    return LoggedStep(number, float(found["loss"]), seconds if number else None)


CAFFE = LogKind(
    name="caffe-log",
    framework="caffe",
    title="Caffe",
    step=read_caffe_step,
    note="iteration 0 is not in the times: what Caffe prints for it is not a time of a step",
    device=_DEVICE,
)


_LINE = re.compile(
    rf"INFO:tensorflow:global step (?P<step>\d+): loss = (?P<loss>{NUMBER}) "
    rf"\((?P<seconds>{NUMBER}) sec/step\)"
)


def read_tensorflow_step(line: str) -> LoggedStep | None:
    """The step of a line."""
    found = _LINE.search(line)
    if not found:
        return None
    return LoggedStep(int(found["step"]), float(found["loss"]), float(found["seconds"]))


TENSORFLOW = LogKind(
    name="tensorflow-log",
    framework="tensorflow",
    title="TensorFlow-Slim",
    step=read_tensorflow_step,
)


KINDS: Mapping[str, LogKind] = MappingProxyType({kind.name: kind for kind in (CAFFE, TENSORFLOW)})
