"""The tree sensor on real processes, both ways of reading it."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import pytest

from prumo.run.sampler import proc_usage, psutil_usage, tree_sensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo.run.sampler.sensors import Sensor
    from support.supervisor import Supervisor

MIB = 1024**2
START_CHILD = (
    "child = subprocess.Popen([sys.executable, '-c', {code!r}], "
    "stdin=subprocess.PIPE, stdout=subprocess.PIPE); child.stdout.readline()"
)
END_CHILD = "child.communicate()"
HOLD = "held = b'x' * (64 << 20); print(flush=True); input()"
BURN = (
    "import sys, time\nwhile time.process_time() < 0.3: pass\nprint(flush=True); sys.stdin.read()"
)


@pytest.fixture(params=[proc_usage, psutil_usage], ids=["proc", "psutil"])
def watch(request: pytest.FixtureRequest) -> Callable[[int], Sensor]:
    """Watch a process on a clock by which one second lies between two looks."""

    def open_watch(root: int) -> Sensor:
        seconds = itertools.count()
        return tree_sensor(request.param(root), lambda: float(next(seconds)))

    return open_watch


def test_memory_is_that_of_the_children(
    watch: Callable[[int], Sensor], supervisor: Supervisor
) -> None:
    tree = watch(supervisor.pid)
    supervisor.do("held = b'x' * (64 << 20)")
    assert math.isnan(tree.read()[1])
    supervisor.do(START_CHILD.format(code=HOLD))
    assert 64 * MIB < tree.read()[1] < 128 * MIB
    supervisor.do(END_CHILD)
    assert math.isnan(tree.read()[1])


def test_a_grandchild_started_by_a_thread_is_in_the_tree(
    watch: Callable[[int], Sensor], supervisor: Supervisor
) -> None:
    tree = watch(supervisor.pid)
    start = "import subprocess, sys, threading\n" + START_CHILD.format(code=HOLD)
    code = (
        f"import threading\nt = threading.Thread(target=exec, args=({start!r}, {{}}))\n"
        "t.start(); t.join(); print(flush=True); input()"
    )
    supervisor.do(START_CHILD.format(code=code))
    assert tree.read()[1] > 64 * MIB
    supervisor.do(END_CHILD)


def test_the_time_of_a_running_child_counts(
    watch: Callable[[int], Sensor], supervisor: Supervisor
) -> None:
    tree = watch(supervisor.pid)
    assert math.isnan(tree.read()[0])
    supervisor.do(START_CHILD.format(code=BURN))
    assert 25.0 < tree.read()[0] < 60.0
    assert tree.read()[0] < 5.0
    supervisor.do(END_CHILD)


def test_the_time_of_a_child_that_came_and_went_counts_once(
    watch: Callable[[int], Sensor], supervisor: Supervisor
) -> None:
    tree = watch(supervisor.pid)
    tree.read()
    supervisor.do(START_CHILD.format(code=BURN))
    supervisor.do(END_CHILD)
    assert 25.0 < tree.read()[0] < 60.0
    assert tree.read()[0] < 5.0


def test_the_supervisors_own_time_does_not_count(
    watch: Callable[[int], Sensor], supervisor: Supervisor
) -> None:
    tree = watch(supervisor.pid)
    tree.read()
    supervisor.do("burn(0.5)")
    assert tree.read()[0] < 5.0


def test_processes_that_vanish_while_they_are_read_are_no_error(
    watch: Callable[[int], Sensor], supervisor: Supervisor
) -> None:
    tree = watch(supervisor.pid)
    churn = "import subprocess\nprint(flush=True)\nfor _ in range(300): subprocess.run(['true'])"
    supervisor.do(START_CHILD.format(code=churn))
    for _ in range(100):
        percent, rss_bytes = tree.read()
        assert not percent < 0
        assert not rss_bytes <= 0
    supervisor.do(END_CHILD)


def test_an_ended_supervisor_that_nobody_waited_for_still_tells_the_time(
    supervisor: Supervisor,
) -> None:
    seconds = itertools.count()
    tree = tree_sensor(proc_usage(supervisor.pid), lambda: float(next(seconds)))
    tree.read()
    supervisor.do(START_CHILD.format(code=BURN))
    supervisor.do(END_CHILD)
    supervisor.end_unreaped()
    percent, rss_bytes = tree.read()
    assert 25.0 < percent < 60.0
    assert math.isnan(rss_bytes)


def test_a_tree_whose_root_is_gone_is_an_error_and_not_zero(
    watch: Callable[[int], Sensor], supervisor: Supervisor
) -> None:
    tree = watch(supervisor.pid)
    supervisor.end_unreaped()
    supervisor.reap()
    with pytest.raises(OSError, match=r".+"):
        tree.read()
