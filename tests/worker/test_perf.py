"""Functions by Linux's own profiler, where it is on the machine and may look."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prumo_worker.profile import function_times
from prumo_worker.task import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prumo_worker.profile import OperationTime


def sampled(work: Callable[[], None]) -> list[OperationTime]:
    try:
        return function_times(work)
    except Unavailable as reason:
        pytest.skip(f"absent hardware: no counters to sample with: {reason}")


def multiply() -> None:
    matrix = np.ones((1200, 1200))
    for _ in range(8):
        matrix @ matrix


def test_the_longest_function_of_a_matrix_product_is_one() -> None:
    times = sampled(multiply)
    longest = max(times, key=lambda time: time.seconds)
    assert "gemm" in longest.operation
    assert longest.operation.endswith(")")
    assert sum(time.seconds for time in times) > 0


REPORT = """\
# Samples  Symbol  Shared Object
   499\t[.] 0x000000000001d3a2\tlibgomp.so.1.0.0
   998\t[.] sgemm_kernel\tlibopenblas.so.0
   499\t[.] 0x000000000001d3a8\tlibgomp.so.1.0.0
   499\t[k] 0xffffffffa2c01e36\t[unknown]
"""
# It carries out every order, as perf does, and has sampled what is above.
STAND_IN = """\
#!/bin/sh
if [ "$1" = report ]; then exec cat "$(dirname "$0")/report"; fi
for word; do case "$word" in fifo:*) pipes="${word#fifo:}";; esac; done
while read -r order; do echo ack > "${pipes#*,}"; done < "${pipes%,*}"
"""


def test_addresses_without_a_symbol_are_one_function_of_their_library(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "report").write_text(REPORT)
    (tmp_path / "perf").write_text(STAND_IN)
    (tmp_path / "perf").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    times = {time.operation: time.seconds for time in function_times(lambda: None)}
    assert times == {
        "unnamed (libgomp.so.1.0.0)": 2.0,
        "sgemm_kernel (libopenblas.so.0)": 2.0,
        "unnamed ([unknown])": 1.0,
    }


def test_what_the_work_raises_is_raised_and_perf_is_gone() -> None:
    def fail() -> None:
        raise ValueError("no step")

    sampled(multiply)
    with pytest.raises(ValueError, match="no step"):
        function_times(fail)
    assert function_times(multiply)


def test_without_perf_the_work_is_not_done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done: list[int] = []
    with pytest.raises(Unavailable, match="perf is not on this machine"):
        function_times(lambda: done.append(1))
    assert not done


def test_a_perf_that_refuses_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    refusing = tmp_path / "perf"
    refusing.write_text(
        "#!/bin/sh\necho 'Access to performance monitoring is limited' >&2\nexit 255\n"
    )
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    done: list[int] = []
    with pytest.raises(Unavailable, match="Access to performance monitoring is limited"):
        function_times(lambda: done.append(1))
    assert not done
