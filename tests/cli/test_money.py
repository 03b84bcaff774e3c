"""`prumo cost`, `prumo reprice`, `prumo advise`, and the prices that `prumo run` keeps."""

from __future__ import annotations

import io
import json
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from click.testing import CliRunner

from prumo.cli import advise, cost, group, reprice, run
from prumo.errors import BusyError, InputError
from prumo.results.folder import ResultsFolder
from support.command_study import write_study
from support.priced_runs import machine_results

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import click

EXCHANGE = ("--currency", "BRL", "--rate", "5.40", "--rate-date", "2026-11-14")


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRUMO_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Unpriced results of two machines that the study names prices of."""
    return machine_results(tmp_path / "results")


@pytest.fixture
def priced_folder(folder: Path) -> Path:
    _told(reprice.command, folder)
    return folder


def test_repricing_takes_the_prices_that_the_study_names(folder: Path) -> None:
    said = _told(reprice.command, folder)
    kept = json.loads((folder / "prices.json").read_text())

    assert "cpu: azure/Standard_F4s_v2@eastus, on demand, $0.169/h as of 2024-08-19" in said
    assert kept["rates"]["gpu"]["amount"] == 0.526
    assert (kept["format"], kept["exchange"], kept["earlier"]) == (1, None, [])


def test_repricing_is_explicit_and_keeps_the_earlier_prices(priced_folder: Path) -> None:
    machine = ("--machine", "gpu=aws/g4dn.xlarge@us-east-1")
    _told(reprice.command, priced_folder, *machine, "--purchase", "spot", *EXCHANGE)
    kept = json.loads((priced_folder / "prices.json").read_text())

    assert kept["rates"]["gpu"]["price"] == "aws/g4dn.xlarge@us-east-1"
    assert kept["rates"]["cpu"]["purchase"] == "spot"
    assert kept["exchange"]["as_of"] == "2026-11-14"
    assert kept["earlier"][0]["rates"]["gpu"]["price"] == "azure/Standard_NC4as_T4_v3@eastus"


def test_an_option_changes_what_it_says_and_leaves_the_rest(priced_folder: Path) -> None:
    _told(reprice.command, priced_folder, "--machine", "gpu=aws/g4dn.xlarge@us-east-1")
    _told(reprice.command, priced_folder, *EXCHANGE)
    _told(reprice.command, priced_folder, "--purchase", "spot")
    kept = json.loads((priced_folder / "prices.json").read_text())

    assert {label: rate["price"] for label, rate in kept["rates"].items()} == {
        "cpu": "azure/Standard_F4s_v2@eastus",
        "gpu": "aws/g4dn.xlarge@us-east-1",
    }
    assert {rate["purchase"] for rate in kept["rates"].values()} == {"spot"}
    assert (kept["exchange"]["currency"], len(kept["earlier"])) == ("BRL", 3)

    _told(reprice.command, priced_folder)
    kept = json.loads((priced_folder / "prices.json").read_text())

    assert kept["rates"]["gpu"]["price"] == "azure/Standard_NC4as_T4_v3@eastus"


def test_one_price_can_hold_for_all_machines_until_another_is_asked_for(folder: Path) -> None:
    price = ("--price", "gcp/n2-standard-4@us-central1")
    told = json.loads(_told(reprice.command, folder, *price, "--json"))
    exchanged = json.loads(_told(reprice.command, folder, *EXCHANGE, "--json"))
    gpu = ("--machine", "gpu=aws/g4dn.xlarge@us-east-1")
    apart = json.loads(_told(reprice.command, folder, *gpu, "--json"))

    assert list(told["rates"]) == list(exchanged["rates"]) == [""]
    assert list(apart["rates"]) == ["", "gpu"]


def test_machines_that_only_a_factor_names_have_prices_too(tmp_path: Path) -> None:
    folder = machine_results(
        tmp_path / "results", workload={"kind": "imported", "source": "a table"}
    )
    study = json.loads((folder / "study.yaml").read_text())
    del study["machines"]
    (folder / "study.yaml").write_text(json.dumps(study))
    _told(reprice.command, folder, "--machine", "gpu=aws/g4dn.xlarge@us-east-1")
    said = _told(cost.command, folder)

    assert "Without a price, and so without a cost: C1, C2." in said
    with pytest.raises(InputError, match="no machine 'tpu': did you mean 'gpu'"):
        _call(reprice.command, folder, "--machine", "tpu=aws/g4dn.xlarge@us-east-1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--price", "azure/Standard_F4s_v3@eastus"], "did you mean"),
        (["--machine", "tpu=azure/Standard_F4s_v2@eastus"], "no machine 'tpu'"),
        (["--machine", "gpu"], "LABEL=PRICE"),
        (["--price", "sagemaker/ml.c5.large@us-east-1", "--purchase", "spot"], "no spot price"),
        (["--currency", "dollars", "--rate", "1", "--rate-date", "2026-11-14"], "three letters"),
    ],
)
def test_what_cannot_be_priced_is_refused_and_nothing_is_written(
    folder: Path, arguments: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        _call(reprice.command, folder, *arguments)
    assert not (folder / "prices.json").exists()


@pytest.mark.parametrize(("currency", "worth"), [("BRL", "nan"), ("BRL", "inf"), ("usd", "2")])
def test_what_is_no_exchange_is_refused(folder: Path, currency: str, worth: str) -> None:
    options = ["--currency", currency, "--rate", worth, "--rate-date", "2026-11-14"]
    done = CliRunner().invoke(reprice.command, [str(folder), *options])

    assert done.exit_code == 2
    assert "Invalid value for --" in done.output.replace("'", "")


def test_an_exchange_needs_its_rate_and_its_date(folder: Path) -> None:
    done = CliRunner().invoke(reprice.command, [str(folder), "--currency", "BRL"])

    assert done.exit_code == 2
    assert "--rate-date 2026-11-14" in done.output


def test_a_price_of_another_region_is_named_with_the_command_that_fetches_it(
    tmp_path: Path,
) -> None:
    price = "sagemaker/ml.m5.large@sa-east-1"
    folder = machine_results(tmp_path / "results")
    study = json.loads((folder / "study.yaml").read_text())
    study["machines"]["cpu"] = {"price": price}
    (folder / "study.yaml").write_text(json.dumps(study))
    for command, *options in (
        (reprice.command,),
        (advise.command, "--budget", "5USD"),
        (advise.command, "--price", price),
    ):
        with pytest.raises(InputError) as raised:
            _call(command, folder, *options)
        told = str(raised.value)
        assert "`prumo price update --provider sagemaker --region sa-east-1` fetches it" in told
        assert "prumo price import FILE" in told
        assert "did you mean" not in told


def test_repricing_waits_for_no_running_study(folder: Path) -> None:
    with ResultsFolder(folder).locked(), pytest.raises(BusyError):
        _call(reprice.command, folder)


def test_the_cost_of_a_study_says_where_its_prices_come_from(priced_folder: Path) -> None:
    said = _told(cost.command, priced_folder)

    assert "Cost of a run (USD)" in said
    assert "Cost per 1,000 images (USD)" in said
    assert "Price: azure/Standard_F4s_v2@eastus, on demand, $0.169/h as of 2024-08-19" in said
    assert "gpu costs 3.2 times less than cpu" in said
    assert "\x1b[" not in said


def test_costs_change_nothing_in_the_folder(priced_folder: Path) -> None:
    before = (priced_folder / "prices.json").read_bytes()
    said = _told(cost.command, priced_folder, "--price", "aws/c5.xlarge@us-east-1")

    assert "What if" in said
    # The GPU's times at the price of a CPU are no amounts of the GPU.
    assert "gpu takes 10.0 times less time than cpu" in said
    assert "gpu costs" not in said
    assert (priced_folder / "prices.json").read_bytes() == before


def test_the_same_runs_are_priced_in_several_regions_side_by_side(folder: Path) -> None:
    prices = [f"--price=gcp/n2-standard-4@{at}" for at in ("us-central1", "southamerica-east1")]
    documents = json.loads(_told(cost.command, folder, *prices, "--json"))["costs"]
    iowa, sao_paulo = (_mean(document, "C1", "cost_usd") for document in documents)

    assert sao_paulo / iowa == pytest.approx(0.30832 / 0.19424)
    assert "southamerica-east1, on demand: Cost of a run (USD)" in _told(
        cost.command, folder, *prices
    )


def test_spot_prices_are_told_beside_their_risk(priced_folder: Path) -> None:
    said = _told(cost.command, priced_folder, "--purchase", "spot")

    assert "A spot machine can be taken away" in said
    assert "$0.01859/h" in said


def test_set_up_idle_time_and_currency_are_reckoned_with(priced_folder: Path) -> None:
    (plain,) = json.loads(_told(cost.command, priced_folder, "--json"))["costs"]
    (full,) = json.loads(
        _told(cost.command, priced_folder, "--json", "--setup", "--idle", "10min", *EXCHANGE)
    )["costs"]
    # The process takes 3.2 seconds more than the training.
    more = _mean(full, "C1", "cost_usd") - _mean(plain, "C1", "cost_usd")

    assert more == pytest.approx(603.2 * 0.169 / 3600)
    assert _mean(full, "C1", "cost_brl") == pytest.approx(5.4 * _mean(full, "C1", "cost_usd"))
    assert (full["billed"], full["exchange"]["rate"]) == ("wall_seconds", 5.4)


def test_costs_as_csv_can_be_piped(priced_folder: Path) -> None:
    table = pl.read_csv(io.StringIO(_told(cost.command, priced_folder, "--csv")))

    assert set(table["metric"]) == {
        "train_seconds",
        "cost_usd",
        "cost_per_epoch_usd",
        "cost_per_1000_images_usd",
    }
    assert table.filter(metric="cost_usd")["n"].to_list() == [3, 3, 3, 3]


def test_energy_is_an_estimate_where_nothing_counted_it(priced_folder: Path) -> None:
    said = _told(cost.command, priced_folder, "--watts-per-core", 8, "--grid", 80)

    assert "Energy, estimated from processor time" in said
    assert "Grid: 80 g/kWh of CO2 (as given)." in said


@pytest.mark.parametrize(
    ("machines", "message"),
    [
        (None, r"`prumo reprice .*` takes those that the study names"),
        ({"cpu": {}, "gpu": {}}, r"its study names none; `prumo reprice .* --price"),
    ],
)
def test_without_prices_cost_says_how_to_name_them(
    tmp_path: Path, machines: dict[str, Any] | None, message: str
) -> None:
    folder = machine_results(tmp_path / "results", machines)

    with pytest.raises(InputError, match=message):
        _call(cost.command, folder)
    with pytest.raises(InputError, match=message):
        _call(advise.command, folder, "--strategy", "cost")


@pytest.mark.parametrize("command", [cost.command, advise.command])
def test_where_no_run_has_ended_that_is_said_and_not_that_prices_are_missing(
    tmp_path: Path, command: click.Command
) -> None:
    folder = machine_results(tmp_path / "results")
    _told(reprice.command, folder)
    rmtree(folder / "runs")
    (folder / "runs").mkdir()

    with pytest.raises(InputError, match="no run has ended"):
        _call(command, folder)


def test_machines_that_were_one_computer_are_not_compared(priced_folder: Path) -> None:
    _change_runs(priced_folder, lambda record: record | {"device": "cpu"})

    for command in (cost.command, advise.command):
        said = _told(command, priced_folder)

        assert "cpu, gpu were measured on the same computer (bench-1: Xeon E5-2690 v4" in said
        assert "alike but for the machine" not in said


def test_machines_whose_runs_used_other_devices_are_compared(priced_folder: Path) -> None:
    def on_its_device(record: dict[str, Any]) -> dict[str, Any]:
        return record | {"device": "cpu" if record["factors"]["machine"] == "cpu" else "cuda"}

    _change_runs(priced_folder, on_its_device)
    said = _told(advise.command, priced_folder)

    assert "gpu costs 3.2 times less than cpu" in said
    assert "same computer" not in said


def test_runs_priced_as_a_machine_with_other_cores_are_named(priced_folder: Path) -> None:
    said = _told(cost.command, priced_folder)

    assert (
        "Measured on a computer with 8 cores, priced as azure/Standard_F4s_v2@eastus with 4: "
        "C1, C2." in said
    )


def test_scenarios_without_a_finished_run_are_counted(priced_folder: Path) -> None:
    for folder in (priced_folder / "runs").glob("C04-*"):
        rmtree(folder)
    (priced_folder / "runs/C03-r1/run.json").write_text("{")

    for command in (cost.command, advise.command):
        said = _told(command, priced_folder)

        assert "not part of this answer: 1 of 4 scenarios (C4)." in said
        assert "1 run folder could not be read and is not in any figure: C03-r1." in said


def test_old_prices_are_told_with_their_age_when_they_were_kept(priced_folder: Path) -> None:
    file = priced_folder / "prices.json"
    kept = json.loads(file.read_text()) | {"made": "2025-09-01"}
    file.write_text(json.dumps(kept))

    assert "azure/Standard_F4s_v2@eastus (378 days)" in _told(cost.command, priced_folder)

    file.write_text(json.dumps(kept | {"made": "2025-08-01"}))

    assert "Prices older" not in _told(cost.command, priced_folder)


def test_the_cost_of_all_runs_is_their_sum(priced_folder: Path) -> None:
    summary = pl.read_csv(io.StringIO(_told(cost.command, priced_folder, "--csv")))
    amounts = summary.filter(pl.col("metric") == "cost_usd")
    total = (amounts["mean"] * amounts["n"]).sum()

    said = _told(cost.command, priced_folder)

    assert "12 finished runs together took " in said
    assert f" and cost ${total:.2f}." in said


def test_a_price_of_data_is_refused_for_runs_that_tell_only_time(folder: Path) -> None:
    with pytest.raises(InputError, match="is a price per GB of data and not of time"):
        _call(cost.command, folder, "--price", "sagemaker/serverless-data@us-east-1")


def test_a_rate_of_the_future_is_refused(folder: Path) -> None:
    options = ["--currency", "BRL", "--rate", "5.40", "--rate-date", "2999-01-01"]
    done = CliRunner().invoke(reprice.command, [str(folder), *options])

    assert done.exit_code == 2
    assert "in the future" in done.output


def test_a_rate_may_have_a_decimal_comma(folder: Path) -> None:
    dated = ("--currency", "BRL", "--rate-date", "2026-11-14", "--json")
    told = json.loads(_told(reprice.command, folder, *dated, "--rate", "5,40"))
    refused = CliRunner().invoke(reprice.command, [str(folder), *dated, "--rate", "5,400"])

    assert told["exchange"]["rate"] == 5.4
    assert "can be read in two ways" in refused.output


def test_amounts_of_nothing_are_explained_and_not_ranked_by(folder: Path) -> None:
    def short(record: dict[str, Any]) -> dict[str, Any]:
        times = {"train_seconds": record["metrics"]["train_seconds"] / 1e4}
        return record | {"metrics": record["metrics"] | times}

    _change_runs(folder, short)
    _told(reprice.command, folder)
    said = _told(advise.command, folder, "--rental", "own")

    assert said.startswith("Several cost nothing, as each ends before the first minute")


def test_advice_names_choice_runner_up_and_how_sure_it_is(priced_folder: Path) -> None:
    said = _told(advise.command, priced_folder, "--deadline", "2h", "--budget", "5USD").splitlines()

    assert said[0].startswith("The cheapest is C3 (gpu · pytorch): ")
    assert "Its next run meets the deadline of 2 h with a probability of more than 99.9 %." in said
    assert "Its next run meets the budget of $5.00 with a probability of more than 99.9 %." in said
    assert any(line.startswith("The runner-up is C4 (gpu · tensorflow): ") for line in said)
    assert any("gpu costs 3.2 times less than cpu" in line for line in said)


def test_advice_for_programs(priced_folder: Path) -> None:
    options = ("--strategy", "balanced", "--json", *EXCHANGE, "--budget", "4BRL")
    told = json.loads(_told(advise.command, priced_folder, *options))
    (answer,) = told["answers"]

    assert (told["currency"], answer["budget"]) == ("BRL", 4.0)
    assert (answer["choice"], answer["runner_up"], answer["strategy"]) == ("C3", "C4", "balanced")
    assert answer["chance_better"] > 0.97
    assert {row["scenario"] for row in answer["others"]} <= {"C1", "C2"}


def test_advice_by_speed_needs_no_price(folder: Path) -> None:
    said = _told(advise.command, folder)

    assert said.startswith("The fastest is C3 (gpu · pytorch): ")
    assert "No price is known of these runs" in said


def test_advice_for_more_epochs_says_what_it_takes_for_granted(priced_folder: Path) -> None:
    said = _told(advise.command, priced_folder, "--epochs", 400, "--deadline", "1h")

    assert "Computed for 400 epochs" in said
    assert said.startswith("No configuration is likely to meet the limits.")


def test_advice_answers_for_every_work_by_itself(tmp_path: Path) -> None:
    folder = machine_results(
        tmp_path / "results", factors={"machine": ["cpu", "gpu"], "network": ["rede1", "rede2"]}
    )
    for record in folder.glob("runs/*/run.json"):
        record.write_text(record.read_text().replace('"framework"', '"network"'))
    said = _told(advise.command, folder, "--strategy", "speed")

    assert "For pytorch:\nThe fastest is C3 (gpu): " in said
    assert "For tensorflow:\nThe fastest is C4 (gpu): " in said


def test_a_factor_that_is_given_is_no_choice(priced_folder: Path) -> None:
    said = _told(advise.command, priced_folder, "--given", "framework")

    assert "For pytorch:\nThe cheapest is C3 (gpu): " in said
    assert "For tensorflow:\nThe cheapest is C4 (gpu): " in said
    with pytest.raises(InputError, match="no factor 'framwork': did you mean 'framework'"):
        _call(advise.command, priced_folder, "--given", "framwork")


def test_a_rule_narrows_the_choice(priced_folder: Path) -> None:
    said = _told(advise.command, priced_folder, "--only", "machine == cpu")

    assert said.startswith("The cheapest is C1 (pytorch): ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--deadline", "2 weeks"], "write it as 2h, 1h30min, 45s or 500ms"),
        (["--deadline", "0s"], "is not a time"),
        (["--budget", "cheap"], "write it as 5USD or 12.50BRL"),
        (["--budget", "0USD"], "is not an amount"),
        (["--strategy", "luck"], "'cost', 'speed', 'balanced'"),
    ],
)
def test_what_is_no_time_or_amount_is_refused(
    priced_folder: Path, arguments: list[str], message: str
) -> None:
    done = CliRunner().invoke(advise.command, [str(priced_folder), *arguments])

    assert done.exit_code == 2
    assert message in done.output


def test_a_budget_in_another_currency_needs_a_dated_rate(priced_folder: Path) -> None:
    with pytest.raises(InputError, match="--currency BRL --rate RATE --rate-date DATE"):
        _call(advise.command, priced_folder, "--budget", "20BRL")


def test_a_study_keeps_the_prices_of_its_machines_when_it_first_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    machines = {
        "small": {"price": "aws/m5.xlarge@us-east-1"},
        "odd": {"price": "aws/m5.xxlarge@us-east-1"},
    }
    study = write_study(
        tmp_path, "true {a}", factors={"machine": ["small", "odd"], "a": [1]}, machines=machines
    )
    told = _told(run.command, study)
    prices = json.loads((tmp_path / "results/quick/prices.json").read_text())

    assert list(prices["rates"]) == ["small"]
    assert "no price for odd: " in told
    assert "prumo reprice results/quick --machine odd=PRICE" in told

    prices["rates"]["small"]["amount"] = 99.0
    (tmp_path / "results/quick/prices.json").write_text(json.dumps(prices))
    _told(run.command, study, "--replications", 2)
    kept = json.loads((tmp_path / "results/quick/prices.json").read_text())

    assert kept["rates"]["small"]["amount"] == 99.0

    _told(reprice.command, tmp_path / "results/quick", "--price", "aws/c5.xlarge@us-east-1")
    _told(run.command, study, "--replications", 3)
    kept = json.loads((tmp_path / "results/quick/prices.json").read_text())

    assert list(kept["rates"]) == [""]


def test_a_study_without_prices_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _told(run.command, write_study(tmp_path, "true {a}", factors={"a": [1]}))

    assert not (tmp_path / "results/quick/prices.json").exists()


@pytest.mark.parametrize("name", ["cost", "reprice", "advise"])
def test_every_command_says_what_it_does_with_an_example(name: str) -> None:
    said = CliRunner().invoke(group, [name, "--help"]).output

    assert f"prumo {name} results/" in said
    assert "--json" in said


def _call(command: click.Command, *arguments: object) -> str:
    """Run a command; errors for people come out as they are."""
    done = CliRunner().invoke(command, list(map(str, arguments)), catch_exceptions=False)
    return done.output


def _change_runs(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    for file in (folder / "runs").glob("*/run.json"):
        file.write_text(json.dumps(change(json.loads(file.read_text()))))


def _told(command: click.Command, *arguments: object) -> str:
    done = CliRunner().invoke(command, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def _mean(document: dict[str, Any], scenario: str, metric: str) -> float:
    (row,) = (
        row for row in document["summary"] if (row["scenario"], row["metric"]) == (scenario, metric)
    )
    return float(row["mean"])
