"""Arrival times from CSV files: what is read, and what is refused with its line."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from prumo.errors import InputError
from prumo_endpoint import trace_table, traces
from prumo_endpoint.load.schedule import OpenLoop
from prumo_endpoint.traces import Trace

if TYPE_CHECKING:
    from pathlib import Path

MINUTES = ",".join(map(str, range(1, 1441)))


def written(folder: Path, text: str, name: str = "trace.csv") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def minute_table(*rows: tuple[str, str, dict[int, int]]) -> str:
    """Functions of apps with their calls in some minutes of a day."""
    lines = [f"HashOwner,HashApp,HashFunction,Trigger,{MINUTES}"]
    for app, function, calls in rows:
        counts = ",".join(str(calls.get(minute, 0)) for minute in range(1, 1441))
        lines.append(f"owner,{app},{function},http,{counts}")
    return "\n".join(lines)


def test_seconds_of_a_plain_table_are_taken_as_they_are(tmp_path: Path) -> None:
    file = written(tmp_path, "call,arrival_seconds\na,0.5\nb, 2 \nc,2\n\n")

    assert list(Trace(file)) == [0.5, 2.0, 2.0]
    assert Trace(file).arrivals().length_seconds == 2.0


def test_requests_of_an_earlier_run_come_in_the_order_in_which_they_were_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path, "request,due_seconds,end_seconds\n1,1.5,2\n0,0,9\n2,30,31\n")

    assert list(Trace(file)) == [0.0, 1.5, 30.0]
    assert Trace(file).arrivals().seconds.tolist() == [0.0, 1.5, 30.0]
    monkeypatch.setattr(traces, "LARGEST_SORTED_BYTES", 8)
    with pytest.raises(InputError, match=":3: due_seconds is earlier than in the line before"):
        list(Trace(file))


def test_a_file_that_begins_before_the_one_before_it_ends_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "due_seconds\n5\n2\n", "a.csv")
    written(tmp_path, "due_seconds\n4\n9\n", "b.csv")

    with pytest.raises(InputError, match=r"b\.csv: begins before the file before it ends"):
        Trace(tmp_path).arrivals()


def test_a_sped_up_trace_feeds_an_open_loop(tmp_path: Path) -> None:
    schedule = OpenLoop(Trace(written(tmp_path, "seconds\n60\n120\n"), speed_up=60))

    assert schedule.due() == 1.0
    schedule.take()
    assert schedule.due() == 2.0


@pytest.mark.parametrize(
    "cells",
    [
        ("2026-11-14T12:00:00Z", "2026-11-14T12:00:01.5Z"),
        ("2026-11-14 12:00:00", "2026-11-14 12:00:01.500"),
        ("2026-11-14T14:00:00+02:00", "2026-11-14T14:00:01.5+02:00"),
        ("1794657600", "1794657601.5"),
    ],
)
def test_a_clocks_times_count_from_the_first_call_and_keep_the_time_of_day(
    cells: tuple[str, str], tmp_path: Path
) -> None:
    found = Trace(written(tmp_path, "timestamp\n" + "\n".join(cells))).arrivals()

    assert found.seconds.tolist() == [0.0, 1.5]
    assert found.second_of_day == 12 * 3600


def test_calls_per_minute_are_spread_within_their_minutes_by_a_seed(tmp_path: Path) -> None:
    file = written(tmp_path, minute_table(("app", "one", {1: 3, 1440: 1}), ("app", "two", {1: 2})))

    found = Trace(file).arrivals()

    assert np.bincount((found.seconds // 60).astype(int), minlength=1440)[
        [0, 1, 1439]
    ].tolist() == [
        5,
        0,
        1,
    ]
    assert (np.diff(found.seconds) > 0).all()
    assert found.length_seconds == 86_400
    assert "spread at random" in found.remark
    assert list(Trace(file)) == list(Trace(file)) != list(Trace(file, seed=2))


def test_the_files_of_a_folder_are_successive_days(tmp_path: Path) -> None:
    written(tmp_path, minute_table(("app", "one", {1: 1})), "d01.csv")
    written(tmp_path, minute_table(("app", "one", {2: 1})), "d02.csv")

    found = Trace(tmp_path).arrivals()

    assert (found.seconds // 60).tolist() == [0, 1441]
    assert found.length_seconds == 2 * 86_400


def test_a_call_of_2021_arrived_its_duration_before_its_end(tmp_path: Path) -> None:
    table = "app,func,end_timestamp,duration\na1,f1,10,9\na1,f2,6,0.5\nb2,f3,3,4\n"

    assert list(Trace(written(tmp_path, table))) == [0.0, 1.0, 5.5]


@pytest.mark.parametrize(("name", "calls"), [("a1", 2), ("f3", 1), ("f1", 1)])
def test_one_function_or_app_is_chosen_by_the_beginning_of_its_name(
    name: str, calls: int, tmp_path: Path
) -> None:
    table = "app,func,end_timestamp,duration\na1x,f1x,10,9\na1x,f2x,6,0.5\nb2x,f3x,3,4\n"
    minutes = minute_table(("a1x", "f1x", {1: 1}), ("a1x", "f2x", {2: 1}), ("b2x", "f3x", {3: 1}))

    assert len(list(Trace(written(tmp_path, table), function=name))) == calls
    assert len(list(Trace(written(tmp_path, minutes), function=name))) == calls


@pytest.mark.parametrize(
    ("name", "message"),
    [("z", "no function or app begins with 'z'; there is, for example, f1"), ("f", "more letters")],
)
def test_a_name_that_fits_none_or_several_is_refused(
    name: str, message: str, tmp_path: Path
) -> None:
    table = "app,func,end_timestamp,duration\na1,f1,10,9\na1,f2,6,0.5\n"

    with pytest.raises(InputError, match=message):
        Trace(written(tmp_path, table), function=name).arrivals()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; the first line names the columns"),
        ("arrival_seconds\n", "has no calls"),
        ("arrival_seconds\n1\n-2\n", ":3: arrival_seconds is '-2'; no time is before the start"),
        ("arrival_seconds\n1\nsoon\n", ":3: arrival_seconds is 'soon'; give seconds"),
        ("arrival_seconds\n1\n\n2\n", ":3: arrival_seconds is ''"),
        ("arrival_seconds\n1\nnan\n", ":3: arrival_seconds is 'nan'"),
        ("arrival_seconds\n3\n2\n", ":3: arrival_seconds is earlier than in the line before"),
        ("arrival_seconds\n1794657600000\n", "give seconds, not milliseconds"),
        ("time\n2026-11-14T12:00:00Z\nnoon\n", ":3: time is 'noon'; give seconds, or a time as"),
        ("time\n04/11/2026 12:00:00\n", ":2: time is '04/11/2026 12:00:00'; give seconds, or a"),
        ("time\n04-11-2026 12:00:00\n", ":2: time is '04-11-2026 12:00:00'; give seconds, or a"),
        ("seconds;user\n1;2\n", ":1: has semicolons, commas expected"),
        ("12.5\n13\n", ":1: the first line must name the columns"),
        ("user,size\n1,2\n", ":1: has none of the columns arrival_seconds"),
        ("user,seconds\n1,2\n1,2,3\n", ":3: has 3 cells where the header has 2"),
        ("seconds,seconds\n1,2\n", ":1: column 'seconds' is named twice"),
        ("app,func,end_timestamp,duration\na,f,1,-1\n", ":2: duration is '-1'"),
        ("app,func,end_timestamp,duration\na,f,1,1\na,f,late,1\n", ":3: end_timestamp is 'late'"),
        ("app,func,end_timestamp,duration\n", "has no calls"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    file = written(tmp_path, text)

    with pytest.raises(InputError) as error:
        Trace(file).arrivals()

    assert str(error.value).startswith(str(file))
    assert message in str(error.value)


@pytest.mark.parametrize("count", ["-1", "1.5", "many", ""])
def test_a_wrong_number_of_calls_is_said_with_its_line_and_minute(
    count: str, tmp_path: Path
) -> None:
    good = minute_table(("app", "one", {1: 7}), ("app", "two", {3: 7}))
    file = written(tmp_path, good[::-1].replace(",7,", f",{count[::-1]},", 1)[::-1])

    with pytest.raises(InputError, match=f":3: minute 3 is '{count}'; give a number of calls"):
        Trace(file).arrivals()


def test_files_that_are_missing_or_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.csv").write_bytes(b"seconds\n\xff\xfe\x00\n")
    (tmp_path / "letters.csv").write_bytes(b"\x1f\x8b\x08\n" + b"\xff" * 200_000)
    # More than a cell of the csv module may have, and no UTF-8.
    (tmp_path / "cell.csv").write_bytes(b"seconds\n1\n" + b"\xff" * 200_000)

    for path, message in [
        (tmp_path / "none.csv", "cannot be read: No such file"),
        (tmp_path / "binary.csv", "is not text; give a CSV file in UTF-8"),
        (tmp_path / "letters.csv", "is not text; give a CSV file in UTF-8"),
        (tmp_path / "cell.csv", "cell.csv: is not CSV in UTF-8 after line 2: field larger"),
    ]:
        with pytest.raises(InputError, match=message):
            Trace(path).arrivals()
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="has no CSV files"):
        Trace(tmp_path / "folder").arrivals()


@pytest.mark.parametrize("speed_up", [0, -1, float("inf"), float("nan")])
def test_a_speed_that_no_clock_has_is_refused(speed_up: float, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be sped up"):
        list(Trace(written(tmp_path, "seconds\n1\n"), speed_up=speed_up))


def test_lines_are_counted_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_table, "BLOCK_BYTES", 64)
    lines = [*map(str, range(100)), "oops"]
    file = written(tmp_path, "seconds\n" + "\n".join(lines))

    with pytest.raises(InputError, match=":102: seconds is 'oops'"):
        list(Trace(file))


def test_more_calls_than_memory_holds_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "MOST_CALLS", 3)

    with pytest.raises(InputError, match="more than 3 calls; choose one function"):
        Trace(written(tmp_path, "seconds\n1\n2\n3\n4\n")).arrivals()


@pytest.mark.slow
def test_ten_million_rows_pass_in_little_memory(tmp_path: Path) -> None:
    file = tmp_path / "long.csv"
    pl.DataFrame({"seconds": np.arange(10_000_000) / 8}).write_csv(file)
    tracemalloc.start()

    count = sum(len(batch) for batch in Trace(file).batches())

    assert count == 10_000_000
    assert tracemalloc.get_traced_memory()[1] < 10 * trace_table.BLOCK_BYTES
    tracemalloc.stop()
