"""Figures are found in a journal, also in one that was cut off."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from prumo.run.journal import (
    GrowingJournal,
    facts_of,
    journal_metrics,
    not_finite,
    read_events,
)

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, *events: object, end: str = "") -> Path:
    path.write_text("".join(json.dumps(event) + "\n" for event in events) + end)
    return path


def epoch(number: int, seconds: float, **fields: float) -> dict[str, object]:
    return {"event": "epoch", "epoch": number, "seconds": seconds, **fields}


def test_a_cut_or_foreign_line_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path / "j", epoch(1, 2.0), [1], {"no": "event"}, end='{"event": "ep')
    assert [event["epoch"] for event in read_events(path)] == [1]


def test_an_absent_journal_has_no_events(tmp_path: Path) -> None:
    assert read_events(tmp_path / "absent") == []


def test_epochs_give_time_and_throughput(tmp_path: Path) -> None:
    path = write(
        tmp_path / "j",
        epoch(1, 2.0, images=100, loss=2.0),
        epoch(2, 3.0, images=100, loss=1.0, accuracy=0.5),
    )
    metrics = journal_metrics(read_events(path))
    assert metrics["train_seconds"] == 5.0
    assert metrics["seconds_per_epoch"] == 2.5
    assert metrics["images_per_second"] == 40.0
    assert (metrics["loss"], metrics["accuracy"]) == (1.0, 0.5)


def test_steps_of_the_warm_up_are_not_counted(tmp_path: Path) -> None:
    steps = [{"event": "step", "epoch": e, "seconds": s} for e, s in [(0, 9.0), (1, 1.0), (1, 3.0)]]
    assert journal_metrics(read_events(write(tmp_path / "j", *steps))) == {
        "step_seconds_median": 2.0
    }


def test_what_the_worker_states_itself_comes_first(tmp_path: Path) -> None:
    path = write(
        tmp_path / "j",
        epoch(1, 2.0),
        {"event": "metric", "time": 5.0, "top5": 0.8},
        {"event": "metric", "time": 6.0, "top5": 0.9},
        {"event": "finished", "metrics": {"train_seconds": 1.9, "word": "no", "flag": True}},
    )
    metrics = journal_metrics(read_events(path))
    assert metrics == {"train_seconds": 1.9, "seconds_per_epoch": 2.0, "top5": 0.9}


def test_a_growing_journal_is_read_as_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = GrowingJournal(path)
    assert journal.news() == []
    write(path, epoch(1, 1.0), end='{"event": "epoch"')
    assert [event["epoch"] for event in journal.news()] == [1]
    with path.open("a") as file:
        file.write(', "epoch": 2}\n')
    assert [event["epoch"] for event in journal.news()] == [2]


def test_a_growing_journal_tells_each_event_once_whatever_stands_between(tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_bytes(b'10 %\r20 %\n{"event": "epoch"}\r\n{"event":')
    journal = GrowingJournal(path)
    assert journal.news() == [{"event": "epoch"}]
    assert journal.news() == []
    with path.open("ab") as file:
        file.write(b' "finished"}\n')
    assert journal.news() == [{"event": "finished"}]


@pytest.mark.parametrize("field", ["seconds", "images", "loss"])
def test_words_where_numbers_belong_do_no_harm(tmp_path: Path, field: str) -> None:
    path = write(tmp_path / "j", {"event": "epoch", "epoch": 1, field: "many"})
    assert journal_metrics(read_events(path)) == {}


def test_facts_of_the_wrong_kind_are_left_out(tmp_path: Path) -> None:
    ready = {"event": "ready", "versions": {"cuda": 12.1}, "data": "words", "build": [1]}
    facts = facts_of(read_events(write(tmp_path / "j", ready)))
    assert facts["versions"] == {"cuda": "12.1"}
    assert (facts["data"], facts["build"], facts["device"]) == ({}, {}, "")


@pytest.mark.parametrize("names", [None, "loss", [1], {"loss": 1}])
def test_a_malformed_list_of_names_does_no_harm(tmp_path: Path, names: object) -> None:
    path = write(tmp_path / "j", {"event": "step", "epoch": 1, "not_finite": names})
    assert not_finite(read_events(path)) == set()


def test_a_number_too_large_for_any_figure_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "j", {"event": "metric", "huge": 10**400, "fine": 1})
    assert journal_metrics(read_events(path)) == {"fine": 1.0}
