"""A network built in one framework for real, without a study."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.errors import UnavailableError, UnequalError
from prumo.measure.proof import Question, prove
from prumo.measure.worker import Environments
from prumo.results.proof import NoAnswer
from prumo.study.architecture import Architecture
from prumo_worker.networks import NAMES
from prumo_worker.networks.definition import network_documents

if TYPE_CHECKING:
    from prumo.progress import Progress
    from prumo.results.proof import Answer
    from prumo_worker.networks import Network


def build(net: Network, framework: str, progress: Progress) -> Answer:
    """Make the framework build the network and compute with it; an error says why it does not.

    Args:
        net: with all its shapes.
        framework: as in a study: `pytorch`, or `pytorch@2.13.0`.
        progress: hears about what takes long, such as the set-up of an environment.
    """
    channels, image_size, _ = net.input_shape
    architecture = Architecture(net.name, image_size, channels, net.classes)
    layers = None if net.name in NAMES else network_documents(net)
    environment = Environments({}, progress).find(framework)
    with tempfile.TemporaryDirectory(prefix="prumo-check-") as folder:
        answer = prove(Question(framework, architecture, layers), environment, Path(folder))
    if isinstance(answer, NoAnswer):
        raise UnavailableError(f"{framework} does not build {net.name}: {answer.reason}")
    if answer.parameters != net.parameters:
        raise UnequalError(
            f"{framework} builds {net.name} with {answer.parameters:,} parameters, "
            f"not with {net.parameters:,}"
        )
    return answer
