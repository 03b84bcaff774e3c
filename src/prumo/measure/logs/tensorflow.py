"""The log of a TensorFlow-Slim training.

INFO:tensorflow:global step 20: loss = 6.9078 (0.192 sec/step)
"""

from __future__ import annotations

import re

from prumo.measure.logs.log import NUMBER, LoggedStep, LogKind

_LINE = re.compile(
    rf"INFO:tensorflow:global step (?P<step>\d+): loss = (?P<loss>{NUMBER}) "
    rf"\((?P<seconds>{NUMBER}) sec/step\)"
)


def read_step(line: str) -> LoggedStep | None:
    """The step of a line."""
    found = _LINE.search(line)
    if not found:
        return None
    return LoggedStep(int(found["step"]), float(found["loss"]), float(found["seconds"]))


TENSORFLOW = LogKind(
    name="tensorflow-log", framework="tensorflow", title="TensorFlow-Slim", step=read_step
)
