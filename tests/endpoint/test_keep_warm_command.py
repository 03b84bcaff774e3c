"""`prumo endpoint keep-warm` as a user calls it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from prumo.report.figures.pareto import LETTER_PIXELS, LINE_PIXELS
from prumo.results.folder import write_results
from prumo.results.record import Verdict
from prumo_endpoint.keep_warm.figure import pareto_figure
from prumo_endpoint.keep_warm.ping import Ping
from prumo_endpoint.keep_warm.times import AnswerTimes
from prumo_endpoint.keep_warm.tournament import Endpoint, Prices, compared
from prumo_endpoint.load.request_table import COUNTED, REQUESTS_FILE, UNCOUNTED, RequestTable
from prumo_endpoint.load.sent import Outcome, Sent
from prumo_endpoint.traces import Arrivals
from support.record_factory import run_record
from support.request_results import Asked, write_request_results

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Prumo

TIMES = ("--cold", "12.5", "--warm", "0.36")


def write_requests(file: Path, cold: float) -> None:
    """A cold and a warm answer that count, and others that do not."""
    file.parent.mkdir(exist_ok=True)
    with RequestTable(file, [("a.jpg", 100)], starts_on_demand=True) as table:
        table.phase = UNCOUNTED
        table.record(answer(0, 70.0, b'{"boot_id": "first"}'))
        table.record(answer(1, 7.0, b'{"boot_id": "first"}'))
        table.phase = COUNTED
        table.record(answer(2, cold, b'{"boot_id": "second"}'))
        table.record(answer(3, 0.5, b'{"boot_id": "second"}'))
        table.record(answer(4, 7.0, b"of an unknown boot"))
        late = answer(5, 60.0, b'{"boot_id": "second"}')
        table.record(replace(late, outcome=Outcome.LATE))


def answer(number: int, seconds: float, body: bytes) -> Sent:
    due = 100.0 * number
    end = due + seconds
    return Sent(number, 0, due, due, due, end, end, status=200, body=body)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    noise = np.random.default_rng(1)
    days = [day * 86_400 + 8 * 3600 + noise.random(40) * 36_000 for day in range(10)]
    file = tmp_path / "calls.csv"
    pl.DataFrame({"arrival_seconds": np.sort(np.concatenate(days))}).write_csv(file)
    return file


def test_the_answer_comes_first_and_the_table_fits_a_terminal(
    trace: Path, prumo_here: Prumo
) -> None:
    done = prumo_here(
        "endpoint", "keep-warm", trace, *TIMES, "--provisioned-price", "0.00001", "--provisioned=3"
    )

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    table = next(place for place, line in enumerate(lines) if line.startswith("policy"))
    assert table <= 5
    assert lines[0].startswith("Nothing kept warm: ")
    assert "of 400 answers are cold" in lines[0]
    assert lines[1].startswith("Fewest cold: ")
    assert max(map(len, lines)) <= 80
    assert "p99" not in lines[table]
    assert "No p99: n = 400 < 662." in done.stdout.replace("\n", " ")
    rows = lines[table : table + 10]
    assert [row.split("  ")[0].rstrip(" *") for row in rows[2:]] == [
        "never",
        "ping 5 min",
        "ping 9 min",
        "schedule 8-18 h",
        "hybrid histogram",
        "forecast 10 %",
        "forecast 50 %",
        "provisioned 3",
    ]
    assert "95 % intervals by bootstrap over 10 days" in done.stdout.replace("\n", " ")


def test_a_program_reads_everything_as_json(trace: Path, prumo_here: Prumo) -> None:
    done = prumo_here("endpoint", "keep-warm", trace, *TIMES, "--ping", "3min", "--json")

    document = json.loads(done.stdout)

    assert document["format"] == 1
    assert document["times"]["cold"] == {"n": 1, "mean_seconds": 12.5}
    assert document["prices"]["per_second"] == 0.00004
    assert document["intervals"]["blocks"] == 10
    policies = {entry["policy"]: entry for entry in document["policies"]}
    assert "ping 3 min" in policies
    assert document["prices"]["reserved_per_second"] == 0.00001
    assert policies["provisioned 1"]["monthly_cost"]["value"] > 26.28
    assert any("serverless-2gb-provisioned@us-east-1" in said for said in document["remarks"])
    never = policies["never"]
    assert never["avoided_share"]["value"] == 0.0
    assert never["cold_share"]["low"] < never["cold_share"]["value"]
    assert never["warm_instance_seconds"] > 0


def test_a_missing_price_of_provisioned_concurrency_is_named(
    trace: Path, prumo_here: Prumo
) -> None:
    asked = ["endpoint", "keep-warm", trace, *TIMES[:4], "--memory-gb", "3", "--json"]
    document = json.loads(prumo_here(*asked).stdout)
    given = json.loads(prumo_here(*asked, "--provisioned-price", "0.00002").stdout)

    assert "provisioned 1" not in {entry["policy"] for entry in document["policies"]}
    (said,) = (remark for remark in document["remarks"] if "left out" in remark)
    assert "sagemaker/serverless-3gb-provisioned@us-east-1 is not known" in said
    assert "--provisioned-price 0.00001 gives it, in USD per second" in said
    assert "provisioned 1" in {entry["policy"] for entry in given["policies"]}
    assert prumo_here(*asked, "--provisioned-price", "-1").returncode == 2


def test_times_come_from_the_requests_of_a_results_folder(
    trace: Path, tmp_path: Path, prumo_here: Prumo
) -> None:
    runs = {"C01-r1": 9.0, "C02-r1": 3.0, "C02-r2": 5.0, "C02-r3": 50.0}
    records = [
        run_record(
            run,
            Verdict.CRASHED if run == "C02-r3" else Verdict.FINISHED,
            factors={"memory_mb": 1024 * int(run[2])},
            parameters={"memory_mb": 1024 * int(run[2])},
        )
        for run in runs
    ]
    write_results(tmp_path / "results", "name: memory\n", {}, records)
    for run, cold in runs.items():
        write_requests(tmp_path / "results" / "runs" / run / REQUESTS_FILE, cold)
    # A run that was killed has requests and no record.
    write_requests(tmp_path / "results" / "runs" / "C02-r4" / REQUESTS_FILE, 50.0)
    words = ("endpoint", "keep-warm", trace, "--results", tmp_path / "results", "--json")

    chosen = prumo_here(*words, "--scenario", "C2")
    open_ = prumo_here(*words)

    document = json.loads(chosen.stdout)
    assert document["times"] == {
        "cold": {"n": 2, "mean_seconds": 4.0},
        "warm": {"n": 2, "mean_seconds": 0.5},
    }
    assert any("serverless-2gb@us-east-1" in remark for remark in document["remarks"])
    assert open_.returncode == 2
    assert "has 2 endpoints: 1024 (C1); 2048 (C2). Choose one" in open_.stderr
    assert "as --scenario C1" in open_.stderr


def test_cold_and_warm_times_and_the_price_are_those_of_one_endpoint(
    trace: Path, tmp_path: Path, prumo_here: Prumo
) -> None:
    prices = {size: f"sagemaker/serverless-{size}@us-east-1" for size in ("1gb", "2gb")}
    runs = [Asked(size, "warm-up", [0.5, 0.75]) for size in prices]
    runs += [Asked("1gb", "cold-start", [8.0, 10.0]), Asked("1gb", "closed-loop", [3.0])]
    write_request_results(tmp_path / "results", runs, prices)
    assert prumo_here("reprice", "results").returncode == 0
    words = ("endpoint", "keep-warm", trace, "--results", "results", "--json")

    for scenario in ("C1", "C3"):
        found = json.loads(prumo_here(*words, "--scenario", scenario).stdout)
        assert found["times"]["cold"] == {"n": 2, "mean_seconds": 9.0}
        assert found["times"]["warm"] == {"n": 2, "mean_seconds": 0.625}
        assert found["prices"]["per_second"] == 0.00002
        assert "Times: cold from C3, warm from C1." in found["remarks"]

    other_size = prumo_here(*words, "--scenario", "C1", "--memory-gb", "2")
    assert other_size.returncode == 2
    assert "--memory-gb 2 is not what was measured: 1 GB" in other_size.stderr
    other = json.loads(prumo_here(*words, "--scenario", "C1", "--price", prices["2gb"]).stdout)
    assert other["prices"]["per_second"] == 0.00004
    assert any(f"The results keep {prices['1gb']}" in remark for remark in other["remarks"])

    without_cold = prumo_here(*words, "--scenario", "C2")
    assert without_cold.returncode == 2
    assert "no request to C2 was answered cold" in without_cold.stderr
    assert "or give --cold too" in without_cold.stderr
    given = json.loads(prumo_here(*words, "--scenario", "C2", "--cold", "1200ms").stdout)
    assert given["times"]["cold"] == {"n": 1, "mean_seconds": 1.2}
    assert given["times"]["warm"] == {"n": 2, "mean_seconds": 0.625}


def test_times_come_from_two_tables(trace: Path, tmp_path: Path, prumo_here: Prumo) -> None:
    (tmp_path / "cold.csv").write_text(",requestLatency,fullLatency\n0,9,12\n1,9,14\n")
    (tmp_path / "warm.csv").write_text("seconds\n0.3\n")

    done = prumo_here(
        "endpoint", "keep-warm", trace, "--cold=cold.csv", "--warm=warm.csv", "--json"
    )

    assert json.loads(done.stdout)["times"]["cold"] == {"n": 2, "mean_seconds": 13.0}


@pytest.mark.parametrize(("name", "begin"), [("a.svg", b"<svg"), ("a.png", b"\x89PNG")])
def test_the_picture_is_drawn_as_its_name_says(
    name: str, begin: bytes, trace: Path, tmp_path: Path, prumo_here: Prumo
) -> None:
    done = prumo_here("endpoint", "keep-warm", trace, *TIMES, "--figure", f"pictures/{name}")

    assert done.returncode == 0, done.stderr
    assert f"Figure: pictures/{name}" in done.stdout
    assert (tmp_path / "pictures" / name).read_bytes().startswith(begin)


def test_the_picture_names_every_policy_and_rings_the_front() -> None:
    hourly = Arrivals(np.arange(0, 864_000, 3600.0), 864_000)
    endpoint = Endpoint(AnswerTimes([5.0], [0.5]), Prices(0.001), 600.0)
    # Many points in one heap.
    pings = [Ping(60.0 * minutes) for minutes in (9, 8, 7, 6, 5, 4, 3, 2, 1, 1)]
    tournament = compared(pings, [hourly], endpoint)

    figure = pareto_figure(tournament, "USD")

    names = {"never", "ping 1 min and 1 alike", *(f"ping {n} min" for n in range(2, 10))}
    found = re.findall(
        r'transform="translate\(([\d.-]+),([\d.-]+)\)"[^>]*>([^<]+)</text>', figure.svg
    )
    places = {name: (float(x), float(y)) for x, y, name in found if name in names}
    assert places.keys() == names
    for (one, (x, y)), (other, (x2, y2)) in combinations(places.items(), 2):
        half_widths = LETTER_PIXELS * (len(one) + len(other)) / 2
        assert abs(y - y2) >= LINE_PIXELS or abs(x - x2) >= half_widths, (one, other)
    assert "cost per month [USD]" in figure.svg
    assert "The axis of cost is logarithmic." in figure.caption


def test_the_picture_shows_a_cost_that_may_be_nothing(tmp_path: Path, prumo_here: Prumo) -> None:
    # Calls on two days of ten: without them nothing is paid.
    seconds = ["10", *(str(3600 * hour) for hour in range(1, 20)), "864000"]
    (tmp_path / "rare.csv").write_text("\n".join(["arrival_seconds", *seconds]))

    done = prumo_here(
        *("endpoint", "keep-warm", "rare.csv", *TIMES), *("--ping", "1min", "--figure", "rare.svg")
    )

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "rare.svg").read_text().startswith("<svg")


def test_a_results_folder_without_finished_runs_of_requests_is_refused(
    trace: Path, tmp_path: Path, prumo_here: Prumo
) -> None:
    record = run_record("C01-r1", Verdict.CRASHED)
    write_results(tmp_path / "results", "name: memory\n", {}, [record])
    write_requests(tmp_path / "results" / "runs" / "C01-r1" / REQUESTS_FILE, 5.0)

    done = prumo_here("endpoint", "keep-warm", trace, "--results", "results")

    assert done.returncode == 2
    assert "no finished run has a requests.csv" in done.stderr


def test_the_shortest_idle_timeout_has_its_pings(tmp_path: Path, prumo_here: Prumo) -> None:
    # A ping every second: an hour of calls instead of days.
    trace = tmp_path / "hour.csv"
    pl.DataFrame({"arrival_seconds": [61.0 * call for call in range(60)]}).write_csv(trace)

    done = prumo_here("endpoint", "keep-warm", trace, *TIMES, "--idle-timeout", "1s", "--json")

    assert done.returncode == 0, done.stderr
    pings = {one["policy"]: one["pings_per_day"] for one in json.loads(done.stdout)["policies"]}
    assert pings["ping 1 s"] == 86_400
    assert pings["ping 5 min"] == 288


def test_cautions_come_first(tmp_path: Path, prumo_here: Prumo) -> None:
    (tmp_path / "few.csv").write_text("seconds\n60\n7000\n")
    (tmp_path / "one.csv").write_text("seconds\n10\n")

    few = prumo_here("endpoint", "keep-warm", "few.csv", "--cold", "37ms", "--warm", "1.2s")
    one = prumo_here("endpoint", "keep-warm", "one.csv", *TIMES)

    lines = few.stdout.splitlines()
    assert lines[0].startswith("Caution: only 2 calls and 117 min of traffic; a month needs a day")
    assert lines[1] == "Caution: cold answers (37 ms) are faster than warm ones (1.20 s); swapped?"
    assert lines[2].startswith("Nothing kept warm: 2 of 2 answers are cold")
    assert max(map(len, lines)) <= 80
    assert next(line for line in lines if line.startswith("ping 5 min")).endswith(" 288")
    assert one.returncode == 2
    assert "a trace of 10 s says nothing about a month; give at least 100 min" in one.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--cold", "12"), "give --cold and --warm, or --results"),
        (("--cold", "slow", "--warm", "1"), "'slow' is neither a time, such as 12.5 (seconds)"),
        (("--cold", "binary.csv", "--warm", "1"), "binary.csv: is not text; give a CSV file"),
        ((*TIMES, "--scenario", "C1"), "--scenario C1 needs the --results that it is of"),
        (("--cold", "0", "--warm", "1"), "a cold time is not above zero"),
        ((*TIMES, "--figure", "a.pdf"), "--figure draws .svg or .png"),
        ((*TIMES, "--hours", "8-30"), "is not a part of the day; write it as 8-18"),
        ((*TIMES, "--idle-timeout", "2d"), "at most a day"),
        ((*TIMES, "--idle-timeout", "0.001s"), "give at least 1 s"),
        ((*TIMES, "--ping", "0.001s"), "pings every 0.001 s cannot be simulated; give at least 1"),
        ((*TIMES, "--price", "aws/t3.large@us-east-1"), "price"),
        ((*TIMES, "--function", "f1"), "has no functions to choose 'f1' from"),
        (("--results", "nowhere"), "is not a results folder"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_line(
    words: tuple[str, ...], message: str, trace: Path, prumo_here: Prumo
) -> None:
    trace.with_name("binary.csv").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    done = prumo_here("endpoint", "keep-warm", trace, *words)

    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_trace_with_a_wrong_cell_is_refused_with_its_line(
    tmp_path: Path, prumo_here: Prumo
) -> None:
    (tmp_path / "bad.csv").write_text("arrival_seconds\n1\n-5\n")

    done = prumo_here("endpoint", "keep-warm", "bad.csv", *TIMES)

    assert done.returncode == 2
    assert "bad.csv:3: arrival_seconds is '-5'; no time is before the start" in done.stderr
