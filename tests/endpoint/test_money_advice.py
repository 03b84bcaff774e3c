"""What to choose at a traffic: `prumo advise`, the report, and the billing of requests."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from prumo.money.cost import cost_settings
from prumo.money.price import Kind
from prumo.report.language import Language
from prumo.results.tables import Results
from prumo_endpoint.deploy.bill import bill_of
from prumo_endpoint.deploy.deployment import Settings
from prumo_endpoint.keep_warm.tournament import Prices
from prumo_endpoint.money.choices import DEPLOYMENT, Choice
from prumo_endpoint.money.offers import Answers, Serverless
from prumo_endpoint.report.money import _lines
from support.request_results import Asked, write_request_results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conftest import Prumo

SERVER = Path(__file__).parent.parent / "support" / "endpoint_server.py"
MEANS = {"1gb": 1.88, "2gb": 0.86, "3gb": 0.68}
PRICES = {name: f"sagemaker/serverless-{name}@us-east-1" for name in MEANS}
INSTANCE = {"c5": "sagemaker/ml.c5.large@us-east-1"}


def times(mean: float, count: int = 200) -> list[float]:
    return [float(each) for each in np.random.default_rng(1).gamma(40, mean / 40, count)]


def memory_runs(count: int = 200) -> list[Asked]:
    runs = [Asked(name, "warm-up", times(mean, count)) for name, mean in MEANS.items()]
    return runs + [Asked(name, "cold-start", times(12.5, 10)) for name in MEANS]


def advice(prumo: Prumo, *options: str) -> dict[str, Any]:
    told = prumo("advise", "results", "--json", *options)
    assert told.returncode == 0, told.stderr
    document: dict[str, Any] = json.loads(told.stdout)
    return document


def write_priced(
    prumo: Prumo, path: Path, runs: Sequence[Asked], prices: dict[str, str], **sections: Any
) -> None:
    write_request_results(path / "results", runs, prices, **sections)
    priced = prumo("reprice", "results")
    assert priced.returncode == 0, priced.stderr


def test_long_names_do_not_make_the_answers_wider_than_a_terminal(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    runs = [
        replace(run, machine=f"an-instance-with-a-long-name-{run.machine}", network=network)
        for network in ("dr_mobilenet", "dr_vgg19")
        for run in [*memory_runs(), Asked("c5", "real-time", times(0.3))]
    ]
    prices = {f"an-instance-with-a-long-name-{key}": price for key, price in PRICES.items()}
    prices |= {f"an-instance-with-a-long-name-{key}": price for key, price in INSTANCE.items()}
    write_priced(prumo_here, tmp_path, runs, prices)

    told = prumo_here("advise", "results", "--p95", "1s", "--requests-per-day", "2000").stdout
    reported = prumo_here("report", "results").stdout.partition("Cost at ")[2]

    table = reported.partition("Latency of requests")[0]
    assert "runner-up" in told
    assert "ping every" in table
    assert all(len(line) <= 80 for line in [*told.splitlines(), *table.splitlines()[1:15]])


def test_five_lines_say_what_to_choose(prumo_here: Prumo, tmp_path: Path) -> None:
    runs = [*memory_runs(), Asked("c5", "real-time", times(0.3))]
    runs.append(Asked("c5", "ramp", times(0.3), metrics={"highest_rate": 6.5}))
    write_priced(prumo_here, tmp_path, runs, PRICES | INSTANCE)
    told = prumo_here("advise", "results", "--p95", "1s", "--requests-per-day", "2000")

    assert told.returncode == 0, told.stderr
    lines = told.stdout.strip().splitlines()
    assert len(lines) == 5
    assert all(len(line) <= 80 for line in lines)
    # 2 GB is cheaper, but too many of its answers take longer than a second.
    assert lines[0].startswith("At 2,000 requests a day: choose 3gb: $")
    assert "within 1 s with a chance of" in lines[1]
    assert lines[2].startswith("Runner-up: c5, $74.46 a month")
    assert lines[3].startswith("From ")
    assert "c5 is cheaper" in lines[3]
    assert "start cold" in lines[4]
    found = advice(prumo_here, "--requests-per-day", "2000")
    (answer,) = found["answers"]
    assert answer["choice"] == "2gb"
    amounts = {one["name"]: one for one in answer["choices"]}
    assert amounts["2gb"]["per_month"]["low"] < amounts["2gb"]["per_month"]["value"]
    assert amounts["2gb"]["per_1000"]["value"] == pytest.approx(
        1000 * amounts["2gb"]["per_answer"]["value"]
    )
    # Requests of 100 bytes at 0.016 USD a GB.
    assert amounts["2gb"]["data_per_1000"] == pytest.approx(1e5 * 0.016 / 2**30)
    assert amounts["c5"]["data_per_1000"] is None
    assert answer["without_data_price"] == []
    assert amounts["c5"]["capacity_per_second"] == 6.5
    assert amounts["c5"]["holds_traffic"] is True
    assert answer["break_even"]["low_requests_per_day"] < 72_000
    assert answer["break_even"]["high_requests_per_day"] > 60_000


def test_another_traffic_and_goal_have_another_answer(prumo_here: Prumo, tmp_path: Path) -> None:
    runs = [*memory_runs(), Asked("c5", "closed-loop", times(0.3))]
    write_priced(prumo_here, tmp_path, runs, PRICES | INSTANCE)

    def choice(*options: str) -> Any:
        return advice(prumo_here, *options)["answers"][0]["choice"]

    # So few requests find a warm instance only if something keeps it warm.
    rare = advice(prumo_here, "--requests-per-day", "100")["answers"][0]
    assert rare["choice"] == "2gb, ping every 5 min"
    assert choice("--requests-per-day", "100", "--p95", "10s") == "2gb, ping every 5 min"
    assert choice("--requests-per-day", "2000", "--p95", "450ms") == "c5"
    assert choice("--requests-per-day", "2000", "--p95", "1ms") is None
    told = prumo_here("advise", "results", "--p95", "1ms", "--lang", "pt-BR").stdout
    start = "Com 1.000 requisições por dia (supostas), é improvável que alguma opção cumpra"
    assert told.startswith(start)


def test_the_closest_to_a_goal_is_the_fastest_and_not_the_cheapest(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    runs = [Asked(name, "warm-up", times(mean, 20)) for name, mean in MEANS.items()]
    write_priced(prumo_here, tmp_path, runs, PRICES)
    told = prumo_here("advise", "results", "--p95", "10ms", "--requests-per-day", "2000").stdout

    assert "closest is 3gb: $" in " ".join(told.split())


def test_times_of_another_machine_are_the_first_caution(prumo_here: Prumo, tmp_path: Path) -> None:
    write_priced(prumo_here, tmp_path, [Asked("c5", "real-time", times(0.3))], INSTANCE)
    options = ("--p95", "500ms", "--requests-per-day", "2000")
    here = advice(prumo_here, *options)["answers"][0]
    there = advice(prumo_here, *options, "--price", "sagemaker/ml.m5.xlarge@us-east-1")
    (answer,) = there["answers"]

    assert answer["choices"][0]["is_measured_elsewhere"] is True
    assert answer["sentences"][-1].startswith("Caution: measured on another machine")
    # It holds the traffic: nothing to be cautious about.
    assert here["choices"][0]["is_measured_elsewhere"] is False
    assert not any("Caution" in sentence for sentence in here["sentences"])


@pytest.mark.parametrize(
    ("parameters", "price", "is_elsewhere"),
    [
        ({"target": "serverless", "memory_mb": 2048}, PRICES["2gb"], True),
        ({"target": "sagemaker", "memory_mb": 2048}, PRICES["2gb"], False),
        ({"target": "sagemaker", "memory_mb": 2048}, PRICES["3gb"], True),
        ({"target": "sagemaker", "instance_type": "ml.c5.large"}, INSTANCE["c5"], False),
        ({"target": "url"}, "aws/c5.xlarge@us-east-1", False),
    ],
)
def test_what_was_measured_where_follows_from_target_and_price(
    prumo_here: Prumo, tmp_path: Path, parameters: dict[str, Any], price: str, is_elsewhere: bool
) -> None:
    write_request_results(tmp_path / "results", [Asked("m", "warm-up", times(0.3))], {"m": price})
    (record,) = (tmp_path / "results" / "runs").glob("*/run.json")
    content = json.loads(record.read_text())
    content["parameters"] |= parameters
    record.write_text(json.dumps(content))
    assert prumo_here("reprice", "results").returncode == 0
    (choice,) = (one for one in advice(prumo_here)["answers"][0]["choices"] if one["name"] == "m")

    assert choice["is_measured_elsewhere"] is is_elsewhere


def test_a_serverless_endpoint_holds_as_much_as_its_concurrency(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    write_priced(prumo_here, tmp_path, [Asked("2gb", "warm-up", [0.5] * 200)], PRICES)
    told = prumo_here("advise", "results", "--requests-per-day", "1000000").stdout
    choice = advice(prumo_here, "--requests-per-day", "2000")["answers"][0]["choices"][0]

    assert told.splitlines()[0] == (
        "At 1,000,000 requests a day: none of the measured choices holds this traffic."
    )
    assert "2gb holds 10/s with 5 instances at once" in " ".join(told.split())
    assert (choice["max_concurrency"], choice["capacity_per_second"]) == (5, 10)
    assert choice["holds_traffic"] is True
    assert "yes, 5\N{MULTIPLICATION SIGN}2/s" in prumo_here("report", "results").stdout


def test_long_sentences_keep_units_beside_numbers_in_five_lines(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    long = "a-rather-long-name-of-an-endpoint-{}"
    runs = [replace(run, machine=long.format(run.machine)) for run in memory_runs()]
    runs.append(Asked(long.format("c5"), "real-time", times(0.3)))
    prices = {long.format(name): price for name, price in (PRICES | INSTANCE).items()}
    write_priced(prumo_here, tmp_path, runs, prices)
    for language in ("en", "pt-BR"):
        options = ("--p95", "1s", "--requests-per-day", "2000", "--lang", language)
        lines = prumo_here("advise", "results", *options).stdout.splitlines()
        assert len(lines) <= 5
        assert all(len(line) <= 80 for line in lines)
        assert not any(line.lstrip().startswith(("%", "s ", "ms ")) for line in lines)
        assert not any(line[-1].isdigit() for line in lines)


def test_what_was_not_measured_has_a_price_and_no_time(prumo_here: Prumo, tmp_path: Path) -> None:
    provisioned = {
        "ready": "own/serverless-2gb-provisioned@us-east-1",
        "ready-work": "own/serverless-2gb-provisioned-work@us-east-1",
    }
    own = "provider,sku,region,kind,on_demand,unit,currency,as_of\n" + "".join(
        f"own,{sku},us-east-1,serverless,{amount},second,USD,2026-11-01\n"
        for sku, amount in (
            ("serverless-2gb", 0.00004),
            ("serverless-2gb-provisioned", 0.00001),
            ("serverless-2gb-provisioned-work", 0.00002),
        )
    )
    (tmp_path / "own.csv").write_text(own)
    assert prumo_here("price", "import", "own.csv").returncode == 0
    runs = [one for one in memory_runs() if one.machine == "2gb"]
    prices = {"2gb": "own/serverless-2gb@us-east-1", **provisioned, **INSTANCE}
    write_priced(prumo_here, tmp_path, runs, prices)
    found = advice(prumo_here, "--requests-per-day", "2000")["answers"][0]
    choices = {one["name"]: one for one in found["choices"]}

    assert found["without_data_price"] == ["2gb"]
    assert choices["2gb"]["data_per_1000"] is None
    assert choices["c5"]["is_measured"] is False
    assert choices["c5"]["percentiles_seconds"]["p95"] is None
    assert choices["c5"]["holds_traffic"] is None
    assert choices["c5"]["per_month"]["value"] == pytest.approx(74.46)
    assert found["break_even"]["second_is_measured"] is False
    assert "One c5 (not measured) costs as much as" in found["sentences"][3]
    ready = choices["2gb, one instance provisioned"]["per_month"]["value"]
    # The reserve alone is 26.28 USD, and work on it costs half.
    assert 26.28 < ready < 26.28 + choices["2gb"]["per_month"]["value"]


def test_serverless_stands_beside_itself_with_provisioned_concurrency(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    write_priced(prumo_here, tmp_path, memory_runs(), PRICES)
    found = advice(prumo_here, "--requests-per-day", "2000")["answers"][0]
    amounts = {one["name"]: one["per_month"]["value"] for one in found["choices"]}
    page = tmp_path / "results" / "report.html"

    assert amounts["2gb, one instance provisioned"] > 26.28 > amounts["2gb"]
    assert "3gb, one instance provisioned" not in amounts
    assert found["without_provisioned_price"] == ["1gb", "3gb"]
    assert prumo_here("report", "results").returncode == 0
    assert "No price of provisioned concurrency is known for 1gb, 3gb" in page.read_text()


@pytest.mark.parametrize(("memory_mb", "idle"), [(2048, 0.072), (3072, None)])
def test_an_endpoint_that_is_kept_ready_costs_while_idle(
    memory_mb: int, idle: float | None
) -> None:
    settings = Settings(
        "eyes", "us-east-1", None, "x",
        memory_mb=memory_mb, max_concurrency=4, provisioned_concurrency=2,
    )  # fmt: skip
    bill = bill_of(settings)
    said = bill.sentences(settings)[0]

    assert bill.idle_per_hour == (None if idle is None else pytest.approx(idle))
    if idle is None:
        assert "no price of sagemaker/serverless-3gb-provisioned@us-east-1" in said
    else:
        assert "$0.072 an hour while idle" in said
        assert bill.worst_per_hour == pytest.approx(0.072 + 4 * 0.144)


def test_few_requests_give_a_break_even_without_an_interval(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    runs = [Asked("2gb", "warm-up", times(0.8, 5)), Asked("c5", "real-time", times(0.1, 5))]
    write_priced(prumo_here, tmp_path, runs, PRICES | INSTANCE)
    found = advice(prumo_here, "--requests-per-day", "2000")["answers"][0]

    assert found["break_even"]["at_requests_per_day"] > 0
    assert found["break_even"]["low_requests_per_day"] is None
    assert "requests a day on, c5 is cheaper" in found["sentences"][3]


def test_networks_are_no_choice_and_times_under_load_are_said(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    runs = [
        Asked("c5", "closed-loop", times(mean), network)
        for network, mean in (("vgg19", 0.3), ("mobilenet", 0.1))
    ]
    write_priced(prumo_here, tmp_path, runs, INSTANCE)
    told = prumo_here("advise", "results", "--requests-per-day", "500")

    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines()[:2] == [
        "At 500 requests a day: choose c5 for vgg19, mobilenet: $74.46 a month.",
        "Caution: times are under load.",
    ]


@pytest.mark.parametrize("count", [2, 6])
def test_several_networks_have_one_answer_in_five_lines_and_a_table(
    prumo_here: Prumo, tmp_path: Path, count: int
) -> None:
    runs = [
        replace(run, network=f"net{number}", seconds=[each / number for each in run.seconds])
        for number in range(1, count + 1)
        for run in [*memory_runs(), Asked("c5", "real-time", times(0.3))]
    ]
    write_priced(prumo_here, tmp_path, runs, PRICES | INSTANCE)
    told = prumo_here("advise", "results", "--p95", "500ms", "--requests-per-day", "2000")
    found = advice(prumo_here, "--p95", "500ms", "--requests-per-day", "2000")

    assert told.returncode == 0, told.stderr
    lines, table = told.stdout.splitlines(), told.stdout
    lines = lines[: lines.index(next(line for line in lines if not line.strip()))]
    shown = [one for one in found["summary"] if one in " ".join(lines)]
    assert " ".join(lines) == " ".join(shown)
    assert 2 < len(lines) <= 5
    assert lines[0].startswith("At 2,000 requests a day: choose ")
    assert any(line.startswith("Least sure is net") for line in found["summary"])
    assert lines[-1].startswith("Caution: up to ")
    assert all(len(line) <= 80 for line in told.stdout.splitlines())
    for number, answer in enumerate(found["answers"], start=1):
        assert 3 <= len(answer["sentences"]) <= 5
        (row,) = (line for line in table.splitlines() if line.split()[:1] == [f"net{number}"])
        assert row.split()[1] == answer["choice"].split(",")[0]


def test_the_same_endpoint_in_two_regions_is_two_choices(prumo_here: Prumo, tmp_path: Path) -> None:
    runs = [
        replace(Asked("2gb", "warm-up", times(mean)), region=region)
        for region, mean in (("us-east-1", 0.8), ("sa-east-1", 0.4))
    ]
    write_priced(prumo_here, tmp_path, runs, PRICES)
    answer = advice(prumo_here, "--requests-per-day", "2000")["answers"][0]

    assert [one["name"] for one in answer["choices"]] == ["us-east-1", "sa-east-1"]
    assert answer["choice"] == "sa-east-1"
    assert answer["runner_up"] == "us-east-1"
    assert answer["chance_runner_up_is_cheaper"] == 0
    assert {"region", "max_concurrency", "keep_warm"} <= DEPLOYMENT


def test_an_endpoint_with_several_prices_is_named(prumo_here: Prumo, tmp_path: Path) -> None:
    runs = [
        replace(Asked(machine, "warm-up", times(0.8)), region=region)
        for region, machine in (
            ("us-east-1", "2gb"),
            ("sa-east-1", "1gb"),
            ("sa-east-1", "3gb"),
        )
    ]
    # What the machine is follows from no factor.
    factors = {"experiment": ["warm-up"], "region": ["us-east-1", "sa-east-1"]}
    write_priced(prumo_here, tmp_path, runs, PRICES, factors=factors)
    answer = advice(prumo_here, "--requests-per-day", "2000")["answers"][0]
    report = prumo_here("report", "results")

    assert answer["choice"] == "us-east-1"
    assert answer["left_out"] == ["sa-east-1"]
    assert "left out for its several prices: sa-east-1" in answer["sentences"][-1]
    assert report.returncode == 0, report.stderr
    page = (tmp_path / "results" / "report.html").read_text()
    assert "Left out, because its runs have several prices: sa-east-1." in page


def test_the_band_of_a_figure_has_the_confidence_of_the_report() -> None:
    warm = np.array(times(0.8, 50))
    answers = Answers(warm, warm[:0], warm, warm[:0])
    choice = Choice("a", "a", Kind.SERVERLESS, Serverless(answers, Prices(4e-05)), answers)

    narrow, wide = (
        _lines([choice], np.array([1000.0]), confidence, Language("en")).row(0, named=True)
        for confidence in (0.5, 0.95)
    )
    assert wide["low"] < narrow["low"] < narrow["value"] < narrow["high"] < wide["high"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--p95", "500"], "is not a time; write it as 2h, 1h30min, 45s or 500ms"),
        (["--p95", "0ms"], "is not a time"),
        (["--requests-per-day", "0"], "0"),
        (["--requests-per-day", "nan"], "nan"),
        (["--requests-per-day", "2.000"], "'2.000' is not a whole number"),
        (["--requests-per-day", "2,000"], "'2,000' is not a whole number"),
        (["--p95", "1s", "--deadline", "50ms"], "are about single runs"),
        (["--p95", "1s", "--given", "netwrok"], "did you mean 'network'"),
    ],
)
def test_bad_questions_are_refused(
    prumo_here: Prumo, tmp_path: Path, options: list[str], message: str
) -> None:
    write_priced(prumo_here, tmp_path, memory_runs(20), PRICES)
    told = prumo_here("advise", "results", *options)

    assert told.returncode == 2
    assert message in told.stderr
    assert "Traceback" not in told.stderr


def test_a_deadline_in_milliseconds_is_understood(prumo_here: Prumo, tmp_path: Path) -> None:
    write_priced(prumo_here, tmp_path, memory_runs(20), PRICES)
    told = prumo_here("advise", "results", "--deadline", "50ms", "--strategy", "speed")

    assert told.returncode == 0, told.stderr
    assert "No configuration is likely to meet the limits" in told.stdout


def test_traffic_needs_prices_and_requests(prumo_here: Prumo, tmp_path: Path) -> None:
    write_request_results(tmp_path / "results", memory_runs(20), PRICES)
    told = prumo_here("advise", "results", "--requests-per-day", "10")
    assert told.returncode == 2
    assert "prumo reprice" in told.stderr
    study = tmp_path / "study.yaml"
    study.write_text(
        "name: quick\nworkload: {kind: command, command: ['true']}\nfactors: {a: [1]}\n"
    )
    assert prumo_here("run", study, "--results", "other").returncode == 0
    for command in (["advise", "other", "--p95", "1s"], ["report", "other"]):
        told = prumo_here(*command, "--requests-per-day", "10")
        assert told.returncode == 2
        assert "sends no requests" in told.stderr


def test_a_report_shows_the_choices_at_a_traffic(prumo_here: Prumo, tmp_path: Path) -> None:
    runs = [*memory_runs(), Asked("c5", "real-time", times(0.3))]
    runs.append(Asked("c5", "ramp", times(0.3), metrics={"highest_rate": 6.5}))
    write_priced(prumo_here, tmp_path, runs, PRICES | INSTANCE)
    told = prumo_here("report", "results")
    page = (tmp_path / "results" / "report.html").read_text()
    document = json.loads(
        prumo_here("report", "results", "--json", "--requests-per-day", "2e7").stdout
    )

    assert "Cost at 1,000 requests a day" in told.stdout
    traffic = page.partition('id="traffic-title"')[2].partition("</svg>")[0]
    # In both panels: the traffic of the table, and the break-even.
    assert (traffic.count('stroke-dasharray="4,3"'), traffic.count('stroke-dasharray="1,2"')) == (
        2,
        2,
    )
    assert "Dotted: the break-even of serverless and instance." in page
    # The first bullet is the advice, and amounts are per 1,000 answers.
    first = page.partition("<ul")[2].partition("<li>")[2]
    assert first.startswith("At 1,000 requests a day (assumed): choose 2gb")
    assert "[USD/1000]" in page
    assert "e-0" not in page.partition("<body")[2].replace("date-0", "")
    assert page.partition("<ul")[2].partition("</ul>")[0].count("have a single run") == 1
    choices = {one["name"]: one for one in document["traffic"]["choices"]}
    assert document["traffic"]["requests_per_day"] == 2e7
    # More than five of them would be answered at once.
    assert choices["1gb"]["holds_traffic"] is False


@pytest.mark.parametrize(
    ("cost", "of", "metric"),
    [
        ({}, "inference", "billed_seconds"),
        ({"purchase": "spot"}, "inference", "billed_seconds"),
        ({"metric": "wall_seconds"}, "inference", "wall_seconds"),
        ({"of": "training"}, "training", "billed_seconds"),
        ({"setup": True}, "training", None),
    ],
)
def test_requests_are_billed_by_the_time_of_answers_unless_the_study_says_otherwise(
    tmp_path: Path, cost: dict[str, Any], of: str, metric: str | None
) -> None:
    write_request_results(tmp_path / "results", memory_runs(20), PRICES, cost=cost)
    settings = cost_settings(Results(tmp_path / "results"))

    assert (settings.of, settings.metric) == (of, metric)


def test_runs_without_an_answer_can_be_reported(prumo_here: Prumo, tmp_path: Path) -> None:
    write_priced(prumo_here, tmp_path, [Asked("2gb", "warm-up", [])], PRICES)

    assert prumo_here("report", "results").returncode == 0
    told = prumo_here("advise", "results", "--requests-per-day", "10")
    assert told.returncode == 2
    assert "no finished run has answered requests" in told.stderr


@pytest.mark.slow
def test_a_serverless_endpoint_is_measured_and_priced(prumo_here: Prumo, tmp_path: Path) -> None:
    study = {
        "name": "asked",
        "workload": {"kind": "requests"},
        "factors": {"experiment": ["warm-up", "cold-start"], "machine": ["1gb", "2gb"]},
        "fixed": {
            "target": "serverless",
            "address": f"{sys.executable} {SERVER}",
            "requests": 8,
            "interval_seconds": 0,
            "most_lateness_share": 100,
        },
        "machines": {name: {"price": PRICES[name]} for name in ("1gb", "2gb")}
        | {name: {"price": price} for name, price in INSTANCE.items()},
        "measure": {"sample_seconds": 0.5},
    }
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    done = prumo_here("run", "study.yaml", "--results", "results")

    assert done.returncode == 0, done.stdout + done.stderr
    answer = advice(prumo_here, "--p95", "5s", "--requests-per-day", "2000")["answers"][0]
    assert answer["choice"].startswith("1gb")
    for one in answer["choices"]:
        if one["kind"] == "serverless":
            assert (one["warm_requests"], one["cold_requests"]) == (8, 8)
            assert one["per_month"]["low"] is not None
    report = json.loads(prumo_here("report", "results", "--json").stdout)
    assert {row["metric"] for row in report["summary"]} >= {"cost_per_inference_usd"}
