"""The log of `caffe train`.

I1222 10:11:12.345678  1234 solver.cpp:239] Iteration 20 (5.2 iter/s, 0.192s/1 iters), loss = 6.9
"""

from __future__ import annotations

import re

from prumo.measure.logs.log import NUMBER, LoggedStep, LogKind

_LINE = re.compile(
    rf"Iteration (?P<step>\d+) \({NUMBER} iter/s, (?P<seconds>{NUMBER})s/(?P<count>\d+) iters\), "
    rf"loss = (?P<loss>{NUMBER})"
)
# `Use CPU.` and `Using GPUs 0, 1`.
_DEVICE = re.compile(r"\] Us(?:e|ing) (CPU|GPU)")


def read_step(line: str) -> LoggedStep | None:
    """The step of a line; iteration 0 has no time, as nothing has been timed by then."""
    found = _LINE.search(line)
    if not found:
        return None
    number = int(found["step"])
    seconds = float(found["seconds"]) / max(1, int(found["count"]))
    return LoggedStep(number, float(found["loss"]), seconds if number else None)


CAFFE = LogKind(
    name="caffe-log",
    framework="caffe",
    title="Caffe",
    step=read_step,
    note="iteration 0 is not in the times: what Caffe prints for it is not a time of a step",
    device=_DEVICE,
)
