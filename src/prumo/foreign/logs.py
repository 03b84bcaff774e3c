"""Logs of trainings that others made, and how they are read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from prumo.errors import InputError

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
    line: re.Pattern[str]
    """A line that reports a step: its number, its loss and the seconds of `count` steps or one."""
    first_timed: int = 0
    """The first step with a time that can be believed."""
    note: str = ""
    """What a reader of the figures must know."""
    device: re.Pattern[str] | None = None
    """What the library prints of its device, cpu or gpu in the first group; none where nothing."""

    def step(self, line: str) -> LoggedStep | None:
        """The step that a line reports; none for every other line."""
        found = self.line.search(line)
        if not found:
            return None
        number, count = int(found["step"]), int(found.groupdict().get("count", 1))
        seconds = float(found["seconds"]) / max(1, count)
        is_timed = number >= self.first_timed
        return LoggedStep(number, float(found["loss"]), seconds if is_timed else None)


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
    timed = sum(step.iterations for step in steps if step.seconds is not None)
    if timed < _FEWEST_STEPS:
        raise InputError(
            f"{file}: the log is cut: it has the loss and time of {timed} "
            f"step{'' if timed == 1 else 's'}, and {_FEWEST_STEPS} are the fewest"
        )
    # The last training in a log counts.
    said = kind.device.findall(text) if kind.device else []
    if said and said[-1].lower() != factors["machine"]:
        device = factors["machine"].upper()
        raise InputError(f"{file}: the name says {device}, and the training in it used {said[-1]}")
    return Log(kind, file, factors, steps, hashlib.sha256(content).hexdigest())


def _steps(kind: LogKind, lines: Iterable[str]) -> Iterator[LoggedStep]:
    """The steps of the last training in a log; a number that goes back is a new beginning.

    Each has the number of steps that it stands for, as many logs report only every twentieth.
    """
    steps: list[LoggedStep] = []
    for step in filter(None, map(kind.step, lines)):
        if steps and step.number < steps[-1].number:
            steps.clear()
        if steps and step.number == steps[-1].number:
            steps.pop()
        steps.append(step)
    distances = [after.number - before.number for before, after in pairwise(steps)]
    # A training that goes on from a snapshot does not begin at 0.
    first = max(1, min([*(step.number for step in steps[:1]), *distances[:1]], default=1))
    for step, iterations in zip(steps, [first, *distances], strict=False):
        yield replace(step, iterations=iterations)


def _factors(kind: LogKind, file: Path) -> dict[str, Any]:
    name = _NAME.fullmatch(file.name)
    if not name or not int(name["batch"]):
        raise InputError(
            f"{file}: the file name must say what was trained: "
            "train_NETWORK_MODE_BATCH.log, such as train_alexnet_GPU_064.log"
        )
    return {
        "framework": kind.framework,
        "machine": name["mode"].lower(),
        "network": name["network"],
        "batch_size": int(name["batch"]),
    }


CAFFE = LogKind(
    name="caffe-log",
    framework="caffe",
    title="Caffe",
    line=re.compile(
        rf"Iteration (?P<step>\d+) \({NUMBER} iter/s, "
        rf"(?P<seconds>{NUMBER})s/(?P<count>\d+) iters\), loss = (?P<loss>{NUMBER})"
    ),
    first_timed=1,
    note="iteration 0 is not in the times: what Caffe prints for it is not a time of a step",
    # `Use CPU.` and `Using GPUs 0, 1`.
    device=re.compile(r"\] Us(?:e|ing) (CPU|GPU)"),
)
TENSORFLOW = LogKind(
    name="tensorflow-log",
    framework="tensorflow",
    title="TensorFlow-Slim",
    line=re.compile(
        rf"INFO:tensorflow:global step (?P<step>\d+): loss = (?P<loss>{NUMBER}) "
        rf"\((?P<seconds>{NUMBER}) sec/step\)"
    ),
)
KINDS = {kind.name: kind for kind in (CAFFE, TENSORFLOW)}
