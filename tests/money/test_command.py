"""`prumo price` as a user calls it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner, Result
from rich.console import Console

from prumo.cli.price import command
from prumo.errors import InputError
from prumo.money.catalog import load_catalog, own_prices
from prumo.money.lint import Problem
from prumo.money.sources import fetching_sources
from prumo.report.prices import PROBLEM_TEXTS, narrow_table
from support import price_lists as lists

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from support.price_server import Service

TODAY = datetime.now(UTC).date().isoformat()
OWN = "provider,sku,region,on_demand,spot,as_of,source\n"


def price(*words: object) -> Result:
    return CliRunner().invoke(command, [*map(str, words)])


def own_table(folder: Path, *rows: str) -> Path:
    file = folder / "own.csv"
    file.write_text(OWN + "\n".join(rows) + "\n")
    return file


def test_list_shows_each_price_with_its_source_and_date() -> None:
    shown = price("list", "--provider", "azure").stdout
    line = next(line for line in shown.splitlines() if "NC4as_T4_v3@eastus" in line)
    assert line.split() == [
        "azure/Standard_NC4as_T4_v3@eastus", "4", "28", "T4", "0.526", "0.062699", "USD/hour",
        "2024-08-19", "SkyPilot", "catalog,", "Azure",
    ]  # fmt: skip
    assert "aws/" not in shown


def test_list_tells_what_it_does_not_show() -> None:
    shown = price("list", "--limit", 3).stdout
    assert "3 of 70 prices; --limit 0 shows all" in shown
    assert shown.count("@") == 3
    assert price("list", "--limit", 0).stdout.count("@") == 70
    assert len(json.loads(price("list", "--json").stdout)) == 70


def test_list_does_not_take_a_misspelt_word_for_none() -> None:
    assert "did you mean 'azure'" in str(price("list", "--provider", "azur").exception)
    assert "no price fits" in price("list", "--provider", "aws", "--region", "eastus").stdout


def test_a_region_of_another_continent_is_not_taken_for_a_misspelling() -> None:
    told = str(price("find", "--region", "sa-east-1").exception)
    assert "did you mean" not in told
    assert "prumo price update --region sa-east-1" in told
    told = str(price("find", "--provider", "aws", "--region", "us-east1").exception)
    assert "did you mean 'us-east-1'" in told


def test_find_tells_that_it_leaves_out_another_currency(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text(
        "provider,sku,region,on_demand,currency,as_of,source\n"
        f"datacenter,node1,sul,5.40,BRL,{TODAY},contract\n"
    )
    assert price("import", file).exit_code == 0
    told = price("find", "--provider", "datacenter").stdout
    assert "amounts in BRL are left out by --currency USD" in told
    told = price("find", "--provider", "datacenter", "--currency", "BRL").stdout
    assert "node1" in told
    assert "left out" not in told


def test_a_narrow_terminal_breaks_no_name_and_still_shows_source_and_date() -> None:
    console = Console(width=60, file=StringIO(), record=True)
    console.print(narrow_table([load_catalog().named("gcp/n1-standard-4+T4@us-central1")]))
    lines = console.export_text().splitlines()
    assert any("gcp/n1-standard-4+T4@us-" in line and " 0.54 " in line for line in lines)
    words = " ".join(" ".join(lines).split())
    assert "4 vCPUs, 15 GiB, T4; 2026-08-21; SkyPilot catalog, GCP" in words


def test_small_amounts_are_written_out() -> None:
    assert " 0.00002 " in price("find", "--kind", "serverless").stdout


def test_find_begins_with_the_cheapest() -> None:
    found = json.loads(price("find", "--gpu", "T4", "--max", 1.0, "--json").stdout)
    assert found[0]["name"] == "aws/g4dn.xlarge@us-east-1"
    assert [row["on_demand"] for row in found] == sorted(row["on_demand"] for row in found)
    spot = json.loads(price("find", "--gpu", "T4", "--spot", "--json").stdout)
    assert spot[0]["name"] == "azure/Standard_NC4as_T4_v3@eastus"


def test_find_without_an_answer_says_what_to_do() -> None:
    done = price("find", "--gpu", "H100", "--max", 0.01)
    assert done.exit_code == 0
    assert "no price fits; ask for less" in done.stdout


def test_show_tells_all_of_one_price_and_that_it_is_old() -> None:
    words = "show", "azure/Standard_NC4as_T4_v3", "--region", "eastus"
    told = json.loads(price(*words, "--json").stdout)
    assert (told["on_demand"], told["as_of"], told["unit"]) == (0.526, "2024-08-19", "hour")
    assert [finding["problem"] for finding in told["findings"]] == ["stale"]
    shown = price(*words).stdout
    assert "on demand  0.526 USD per hour" in shown
    assert "kept in    the catalog that Prumo ships" in shown
    assert "! stale: fetch a newer one: `prumo price update`" in shown


def test_show_refuses_two_regions() -> None:
    done = price("show", "azure/Standard_F4s_v2@centralus", "--region", "eastus")
    assert done.exit_code == 2
    assert "names a region already: leave --region out" in done.stderr


def test_an_unknown_price_is_an_error_with_the_nearest_name(
    prumo: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = prumo("price", "show", "azure/Standard_NC4as_T4@eastus")
    assert done.returncode == 2
    assert done.stderr.startswith("prumo: no price is known of 'azure/Standard_NC4as_T4'; did you")


def test_lint_tells_the_age_of_the_shipped_catalog_and_is_content() -> None:
    done = price("lint")
    assert done.exit_code == 0
    assert "! shipped catalog: stale, " in done.stdout
    assert "azure/Standard_F4s_v2@eastus " in done.stdout
    assert price("lint", "--max-age", 99999).stdout == "70 prices, 0 findings\n"


def test_lint_of_a_file_with_findings_fails(tmp_path: Path) -> None:
    file = own_table(tmp_path, f"lab,a,here,0,,{TODAY},bill", "lab,b,here,1,2,,bill")
    done = price("lint", file)
    assert done.exit_code == 1
    for title in (
        "zero, once",
        "no date, once",
        "spot above on demand, once",
        "2 prices, 3 findings",
    ):
        assert title in done.stdout
    told = json.loads(price("lint", file, "--json").stdout)
    assert [finding["problem"] for finding in told["findings"]] == [
        "zero",
        "spot_dearer",
        "undated",
    ]
    assert own_prices() == []


def test_lint_of_a_sound_file_is_content(tmp_path: Path) -> None:
    assert price("lint", own_table(tmp_path, f"lab,a,here,1,,{TODAY},bill")).exit_code == 0


def test_lint_fails_for_ones_own_prices_too(tmp_path: Path) -> None:
    price("import", own_table(tmp_path, "lab,a,here,1,,2020-01-01,bill"))
    done = price("lint")
    assert done.exit_code == 1
    assert "! your own prices: stale, once" in done.stdout


def test_a_shipped_price_is_not_called_stale_where_a_newer_one_was_imported(tmp_path: Path) -> None:
    price("import", own_table(tmp_path, f"azure,Standard_F4s_v2,eastus,0.2,,{TODAY},bill"))
    done = price("lint")
    assert done.exit_code == 0
    assert "azure/Standard_F4s_v2@centralus" in done.stdout
    assert "azure/Standard_F4s_v2@eastus" not in done.stdout


def test_an_imported_price_can_be_named_found_and_shown(tmp_path: Path) -> None:
    done = price("import", own_table(tmp_path, f"lab,a+T4,here,1,,{TODAY},bill"))
    assert done.exit_code == 0
    assert f"own.csv: 1 price of {TODAY} → {tmp_path / 'cache/prices/lab.csv'}" in done.stdout
    shown = price("show", "lab/a+T4").stdout
    assert "source     bill" in shown
    assert f"kept in    {tmp_path / 'cache/prices'}" in shown


def test_an_import_tells_what_it_left_out_and_keeps_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "gcp/vms.csv"
    file.parent.mkdir()
    file.write_text(
        lists.skypilot(
            ",tpu-v6e-1,1,,,tpu-v6e-1,2.8,0.7,us-central1,us-central1-b",
            ",tpu-v6e-1,1,,,tpu-v6e-1,700.0,700.0,asia-east1,asia-east1-c",
        )
    )
    done = price("import", file, "--as-of", TODAY)
    assert done.exit_code == 0, done.stderr
    assert "! vms.csv, left out: sentinel, once; the catalog knew no price" in done.stdout
    assert [kept.name for kept in own_prices()] == ["gcp/tpu-v6e-1@us-central1"]
    told = json.loads(price("import", file, "--as-of", TODAY, "--json").stdout)
    assert [len(told["kept"]), len(told["left_out"])] == [1, 1]


def test_an_import_without_a_date_says_how_to_give_one(tmp_path: Path) -> None:
    (tmp_path / "page.json").write_text(lists.EXAMPLES["azure"][1])
    refused = price("import", tmp_path / "page.json").exception
    assert isinstance(refused, InputError)
    assert "no date: 1; say of which day it is: `prumo price import FILE --as-of" in str(refused)
    assert own_prices() == []


def test_a_file_that_is_not_there_is_told() -> None:
    for verb in ("lint", "import"):
        assert isinstance(price(verb, "none.csv").exception, FileNotFoundError)


def test_an_update_tells_what_came_and_what_failed(service: Service) -> None:
    service.pages["/api/retail/prices"] = json.dumps(lists.azure_page(lists.azure_item()))
    words = "update", "--provider", "azure", "--provider", "sagemaker", "--region", "eastus"
    done = price(*words, "--sku", "Standard_NC4as_T4_v3")
    assert done.exit_code == 2
    assert f"azure: 1 price of {TODAY} → " in done.stdout
    assert "prumo: sagemaker: " in done.stderr
    assert "404 Not Found" in done.stderr
    told = json.loads(price(*words, "--sku", "Standard_NC4as_T4_v3", "--json").stdout)
    assert told["azure"]["kept"][0]["on_demand"] == 0.5
    assert "404 Not Found" in told["sagemaker"]["failure"]


def test_the_documentation_names_every_problem_and_service() -> None:
    page = (Path(__file__).parents[2] / "docs/prices.md").read_text()
    assert all(f"| {PROBLEM_TEXTS[problem][0]} |" in page for problem in Problem)
    assert all(f"`{source}`" in page for source in fetching_sources())
