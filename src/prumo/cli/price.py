"""`prumo price`: what machines and services cost, where, by whom and since when."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from prumo.cli.console import print_json, shown_progress, table_console
from prumo.cli.numbers import FiniteFloat, FiniteFloatRange
from prumo.errors import InputError
from prumo.exit_codes import ExitCode
from prumo.money.sources import fetching_sources
from prumo.money.terms import MAX_AGE_DAYS, Kind, Purchase
from prumo.plugins import PRICE_SOURCES

if TYPE_CHECKING:
    from prumo.money.sources.documents import Origin

_LIMIT = 100

EPILOG = """\b
Examples:
  prumo price find --gpu T4 --max 1.0
  prumo price show azure/Standard_NC4as_T4_v3 --region eastus
  prumo price update --provider azure --region brazilsouth
  prumo price import gcp/vms.csv --as-of 2026-11-14
  prumo price plan plan.json
"""

_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
_limit = click.option(
    "--limit",
    type=click.IntRange(0),
    default=_LIMIT,
    show_default=True,
    help="Maximum number of rows; 0 shows all.",
)


def _origin_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What a file of prices may leave open: the command gets its `source` and its `origin`."""

    @click.option(
        "--from",
        "source",
        type=click.Choice(PRICE_SOURCES.names()),
        help="Kind of price list.  [default: recognised from the start of FILE]",
    )
    @click.option(
        "--provider", default="", help="Provider of the prices, if the file does not say."
    )
    @click.option(
        "--as-of",
        type=click.DateTime(["%Y-%m-%d"]),
        metavar="DATE",
        help="Date of the prices, if the file does not say.",
    )
    @wraps(command)
    def with_origin(
        *, source: str | None, provider: str, as_of: datetime | None, **options: object
    ) -> object:
        from prumo.money.sources.documents import Origin

        origin = Origin(provider, as_of.date() if as_of else None)
        return command(source=source or "", origin=origin, **options)

    return with_origin


@click.group(epilog=EPILOG)
def command() -> None:
    """Search, check and update what machines and services cost.

    Prumo ships a dated catalog. Prices that you import or fetch are kept in the cache, and the
    newest price of each name is used. A study names a price as provider/sku@region.
    """


@command.command("list", epilog="Example:  prumo price list --provider gcp")
@click.option("--provider", default="", help="Only prices of this provider.")
@click.option("--region", default="", help="Only prices in this region.")
@_limit
@_json
def listing(provider: str, region: str, limit: int, as_json: bool) -> None:
    """List the known prices, each with its source and date."""
    from prumo.money.catalog import load_catalog, select
    from prumo.report.prices import price_json, print_prices

    prices = select(load_catalog().prices, provider, region)
    if as_json:
        print_json([price_json(price) for price in prices])
    else:
        print_prices(prices, limit, table_console())
        click.echo("`prumo price lint` shows which of them are old or doubtful")


@command.command("find", epilog="Example:  prumo price find --gpu T4 --max 1.0 --spot")
@click.option("--gpu", default="", help="Accelerator, such as T4, A100 or tpu-v5litepod.")
@click.option("--max", "maximum", type=FiniteFloat(), help="Maximum price per unit.")
@click.option("--provider", default="", help="Only prices of this provider.")
@click.option("--region", default="", help="Only prices in this region.")
@click.option("--vcpus", type=FiniteFloat(), help="Minimum number of vCPUs.")
@click.option("--memory", "memory_gib", type=FiniteFloat(), metavar="GIB", help="Minimum memory.")
@click.option("--spot", is_flag=True, help="Use spot prices.")
@click.option(
    "--kind",
    type=click.Choice([kind.value for kind in Kind]),
    help="Kind of price.  [default: everything that is billed by the hour]",
)
@click.option("--currency", default="USD", show_default=True, help="Only prices in this currency.")
@_limit
@_json
def find_prices(
    *,
    spot: bool,
    kind: str | None,
    limit: int,
    as_json: bool,
    **wanted: Any,  # noqa: ANN401 (the other options are named as the fields of a search)
) -> None:
    """Find machines and services, the cheapest first."""
    from prumo.money.catalog import Search, find, load_catalog, other_currencies
    from prumo.report.prices import price_json, print_prices

    purchase = Purchase.SPOT if spot else Purchase.ON_DEMAND
    search = Search(**wanted, purchase=purchase, kind=Kind(kind) if kind else None)
    prices = load_catalog().prices
    found = find(prices, search)
    if as_json:
        print_json([price_json(price) for price in found])
    else:
        print_prices(found, limit, table_console())
        if others := other_currencies(prices, search):
            left_out = " and ".join(others)
            click.echo(f"amounts in {left_out} are left out by --currency {search.currency}")


@command.command(
    "show", epilog="Example:  prumo price show azure/Standard_NC4as_T4_v3 --region eastus --json"
)
@click.argument("name", metavar="PROVIDER/SKU[@REGION]")
@click.option("--region", default="", help="Region, if the name does not include it.")
@_json
def show(name: str, region: str, as_json: bool) -> None:
    """Show one price and its source."""
    from prumo.money.catalog import load_catalog, own_folder
    from prumo.money.lint import lint
    from prumo.report.prices import finding_json, price_json, print_price

    if region and "@" in name:
        raise click.UsageError(f"'{name}' names a region already: leave --region out")
    catalog = load_catalog()
    price = catalog.named(f"{name}@{region}" if region else name)
    findings = lint([price], _today())
    if as_json:
        found = [finding_json(finding) for finding in findings]
        print_json({**price_json(price), "findings": found})
        return
    kept = str(own_folder()) if price.name in catalog.own else "the catalog that Prumo ships"
    print_price(price, kept, findings, _today())


@command.command("lint", epilog="Example:  prumo price lint gcp/vms.csv --as-of 2026-11-14")
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path))
@_origin_options
@click.option(
    "--max-age",
    "max_age_days",
    type=click.IntRange(0),
    default=MAX_AGE_DAYS,
    show_default=True,
    metavar="DAYS",
    help="Age from which a price is stale.",
)
@_json
def lint_prices(
    files: tuple[Path, ...], source: str, origin: Origin, max_age_days: int, as_json: bool
) -> None:
    """Report what is wrong or doubtful in FILE, or in the catalog.

    Zeros, negative amounts, placeholder amounts, spot above on demand, duplicates, missing or
    old dates, missing sources, unknown currencies.

    Exit codes: 0 nothing is wrong in FILE or in your own prices (old prices in the shipped
    catalog are only reported), 1 something is wrong, 2 it cannot be read.
    """
    from prumo.money.catalog import load_catalog, own_prices
    from prumo.money.lint import lint
    from prumo.money.sources import read_files
    from prumo.report.prices import finding_json, print_findings

    today = _today()
    if files:
        prices = read_files(files, source, origin)
        own, shipped = lint(prices, today, max_age_days), []
        count, title = len(prices), ", ".join(file.name for file in files)
    else:
        brought, catalog = own_prices(), load_catalog()
        delivered = [price for price in catalog.prices if price.name not in catalog.own]
        own, shipped = lint(brought, today, max_age_days), lint(delivered, today, max_age_days)
        count, title = len(brought) + len(delivered), "your own prices"
    if as_json:
        print_json(
            {
                "prices": count,
                "findings": [finding_json(finding) for finding in own],
                "shipped": [finding_json(finding) for finding in shipped],
            }
        )
    else:
        print_findings(shipped, "shipped catalog")
        print_findings(own, title)
        click.echo(f"{count} prices, {len(own) + len(shipped)} findings")
    if own:
        sys.exit(ExitCode.FINDINGS)


@command.command("import", epilog="Example:  prumo price import gcp/vms.csv --as-of 2026-11-14")
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
@_origin_options
@_json
def import_prices(files: tuple[Path, ...], source: str, origin: Origin, as_json: bool) -> None:
    """Import prices from FILE... into your own catalog.

    Reads SkyPilot's catalogs (vms.csv), offer files of the AWS price list (JSON or CSV), pages
    of the Azure Retail Prices API (JSON), plain tables (CSV), and what installed plug-ins can
    read. Unusable rows are left out and reported.
    """
    from prumo.money.sources import read_files
    from prumo.money.update import take_in
    from prumo.report.prices import intake_json, no_usable_price, print_intake

    prices = read_files(files, source, origin)
    intake = take_in(prices, ", ".join(map(str, files)), _today())
    if not intake.kept:
        raise InputError(no_usable_price(intake))
    if as_json:
        print_json(intake_json(intake))
    else:
        print_intake(intake, ", ".join(file.name for file in files))


@command.command(epilog="Example:  prumo price update --provider azure --region brazilsouth")
@click.option("--provider", "providers", multiple=True, help="Only this provider; repeatable.")
@click.option("--region", "regions", multiple=True, help="Only in this region; repeatable.")
@click.option("--sku", "skus", multiple=True, help="Only this machine or service; repeatable.")
@click.option("--all", "every_sku", is_flag=True, help="Every SKU that the provider offers there.")
@click.option(
    "--from",
    "source",
    type=click.Choice(list(fetching_sources())),
    help="Source to ask.  [default: azure for azure, aws for sagemaker, otherwise skypilot]",
)
@_json
def update(
    *,
    source: str | None,
    as_json: bool,
    **wanted: Any,  # noqa: ANN401 (the other options are named as the fields of a request)
) -> None:
    """Fetch prices from public services; no account is needed.

    Without options, updates everything in the catalog, from Azure's Retail Prices API, the AWS
    price list (EC2's is 300 MB per region, without spot prices) and SkyPilot's catalogs on
    GitHub. If a service fails, the known prices stay as they are.
    """
    from prumo.money.update import UpdateRequest
    from prumo.money.update import update as update_prices
    from prumo.report.prices import failure_of, intake_json, print_intake

    request = UpdateRequest(**wanted, source=source or "")
    with shown_progress() as progress:
        outcomes = update_prices(request, progress, _today())
    failures = {outcome.provider: failure_of(outcome) for outcome in outcomes}
    if as_json:
        print_json(
            {
                outcome.provider: intake_json(outcome.intake)
                if outcome.intake and not failures[outcome.provider]
                else {"failure": failures[outcome.provider]}
                for outcome in outcomes
            }
        )
    for outcome in outcomes:
        if failure := failures[outcome.provider]:
            click.echo(f"prumo: {outcome.provider}: {failure}", err=True)
        elif outcome.intake and not as_json:
            print_intake(outcome.intake, outcome.provider)
    if any(failures.values()):
        sys.exit(ExitCode.BAD_INPUT)


@command.command(epilog="Example:  prumo price plan plan.json --answer-seconds 0.36")
@click.argument("file", metavar="PLAN", type=click.Path(path_type=Path))
@click.option("--region", default="", help="Region, if the plan does not say.")
@click.option(
    "--answer-seconds",
    type=FiniteFloatRange(0, min_open=True),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a serverless endpoint computes for one answer.",
)
@click.option(
    "--provisioned-price",
    "provisioned_usd_per_second",
    type=FiniteFloatRange(0),
    metavar="AMOUNT",
    help="Of one provisioned serverless instance per second, in USD.  [default: the catalog's]",
)
@_json
def plan(
    *,
    file: Path,
    as_json: bool,
    **wanted: Any,  # noqa: ANN401 (the other options are named as the fields of a usage)
) -> None:
    """Price a Terraform plan before it costs anything.

    PLAN is what `terraform show -json` or, where Terraform is installed, `terraform plan -out`
    wrote. SageMaker endpoints and EC2 machines are priced from the catalog; what is not priced is
    listed.
    """
    from prumo.money.catalog import load_catalog
    from prumo.money.terraform_plan import Usage, price_plan, read_plan
    from prumo.report.plan_prices import plan_price_json, print_plan_price

    usage = Usage(**wanted)
    price = price_plan(read_plan(file), load_catalog(), usage)
    if as_json:
        print_json(plan_price_json(price, usage))
    else:
        print_plan_price(price, usage, table_console())
    if price.is_unpriced:
        sys.exit(ExitCode.FINDINGS)


def _today() -> date:
    return datetime.now(UTC).date()
