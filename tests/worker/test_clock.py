"""The clocks of trainers, by themselves and in every framework's real environment."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from prumo_worker.frameworks import CompletionClock, HostClock
from support.clock_process import time_passes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_a_mark_on_the_host_comes_after_what_it_waits_for() -> None:
    clock, waited = HostClock(), []
    marks = [clock.mark(), clock.mark(lambda: waited.append("all work"))]
    assert waited == ["all work"]
    (span,) = clock.spans(marks)
    assert span > 0


def test_a_mark_of_a_device_does_not_wait_and_its_span_does() -> None:
    clock, done = CompletionClock(), threading.Event()
    marks = [clock.mark(), clock.mark(done.wait), clock.mark()]
    assert not marks[1].done()
    done.set()
    spans = clock.spans(marks)
    assert len(spans) == 2
    assert min(spans) >= 0


def test_what_goes_wrong_on_the_device_is_raised_where_the_spans_are_read() -> None:
    def fail() -> None:
        raise MemoryError("the device is full")

    clock = CompletionClock()
    marks = [clock.mark(), clock.mark(fail)]
    with pytest.raises(MemoryError, match="the device is full"):
        clock.spans(marks)


@pytest.mark.parametrize(
    ("framework", "as_on_a_device"),
    [
        pytest.param("pytorch", False, marks=pytest.mark.torch),
        pytest.param("tensorflow", False, marks=pytest.mark.frameworks),
        pytest.param("tensorflow@2.14.0", False, marks=pytest.mark.frameworks),
        pytest.param("jax", False, marks=pytest.mark.frameworks),
        pytest.param("mxnet", False, marks=pytest.mark.frameworks),
        pytest.param("caffe", False, marks=pytest.mark.frameworks),
        pytest.param("tensorflow", True, marks=pytest.mark.frameworks),
        pytest.param("jax", True, marks=pytest.mark.frameworks),
        pytest.param("mxnet", True, marks=pytest.mark.frameworks),
    ],
)
def test_spans_cover_all_work_and_leave_none_for_later(
    framework: str, as_on_a_device: bool, framework_python: Callable[[str], Path]
) -> None:
    python = framework_python(framework)
    for timed in time_passes(python, framework, as_on_a_device=as_on_a_device):
        assert timed.left_seconds < timed.spans_seconds / 2
        assert timed.observed_seconds / 2 < timed.spans_seconds <= timed.observed_seconds
